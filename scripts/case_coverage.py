"""Prints which scenarios of the case table of device allocation have a row or a test, by section.

Usage: python scripts/case_coverage.py. Exit status 1 when the inventory names a row or test that does not exist.
"""

import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "conformance" / "dra_cases"
INVENTORY = FOLDER / "inventory.yaml"


def read_row_names() -> set[str]:
    """Return the names of all rows."""
    files = [path for path in sorted(FOLDER.glob("*.yaml")) if path != INVENTORY]
    groups = [group for path in files for group in yaml.safe_load(path.read_text())]
    return {row["name"] for group in groups for row in group["rows"]}


def exists(where: str) -> bool:
    """Return whether ``path::test`` or ``path`` is there."""
    path, _, test = where.partition("::")
    file = ROOT / path
    return file.is_file() and (not test or re.search(rf"^def {test}\(", file.read_text(), re.M) is not None)


def find_state(scenario: str, where: str | None, rows: set[str]) -> str:
    """Return ``row``, ``test``, ``none``, or ``broken`` for a name of something that does not exist."""
    if where is None:
        return "none"
    if where == "row":
        return "row" if scenario in rows else "broken"
    if where in rows:
        return "row"
    return "test" if exists(where) else "broken"


def main() -> int:
    """Print the table."""
    rows = read_row_names()
    broken: list[str] = []
    totals = {"row": 0, "test": 0, "none": 0, "broken": 0}
    print(f"{'section':<12}{'scenarios':>10}{'rows':>6}{'tests':>7}{'none':>6}  title")
    for section, content in yaml.safe_load(INVENTORY.read_text()).items():
        states = {name: find_state(name, where, rows) for name, where in content["scenarios"].items()}
        counts = {state: list(states.values()).count(state) for state in totals}
        for state, count in counts.items():
            totals[state] += count
        broken += [f"{section}: {name}" for name, state in states.items() if state == "broken"]
        cells = f"{len(states):>10}{counts['row']:>6}{counts['test']:>7}{counts['none']:>6}"
        print(f"{section:<12}{cells}  {content['title']}")
        missing = [name for name, state in states.items() if state == "none"]
        if missing:
            print(f"{'':<12}without: {', '.join(missing)}")
    print(f"{'all':<12}{sum(totals.values()):>10}{totals['row']:>6}{totals['test']:>7}{totals['none']:>6}")
    for name in broken:
        print(f"not there: {name}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
