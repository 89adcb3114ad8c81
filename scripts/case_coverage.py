"""Prints which scenarios of the case table of device allocation have a row or a test, by section.

Usage: python scripts/case_coverage.py. Exit status 1 when the inventory names a row or test that does not exist, or has
fewer scenarios in a section than Kubernetes' own table has cases.
"""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

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


def find_state(scenario: str, where: Any, rows: set[str]) -> str:
    """Return ``row``, ``test``, ``out``, ``none``, or ``broken`` for a name of something that does not exist."""
    if where is None:
        return "none"
    if isinstance(where, dict):
        return "out" if where.get("out") else "broken"
    if where == "row":
        return "row" if scenario in rows else "broken"
    if where in rows:
        return "row"
    return "test" if exists(where) else "broken"


def print_section(section: str, content: dict[str, Any], states: dict[str, str]) -> None:
    """Print one line of counts, then what is out of scope, and why, and what has nothing yet."""
    counts = Counter(states.values())
    upstream = str(content.get("of", ""))
    cells = f"{upstream:>10}{len(states):>10}{counts['row']:>6}{counts['test']:>7}{counts['out']:>6}{counts['none']:>6}"
    print(f"{section:<12}{cells}  {content['title']}")
    reasons: dict[str, list[str]] = {}
    for name, state in states.items():
        if state == "out":
            reasons.setdefault(content["scenarios"][name]["out"], []).append(name)
    for reason, names in reasons.items():
        print(f"{'':<12}out of scope, {reason}: {', '.join(names)}")
    missing = [name for name, state in states.items() if state == "none"]
    if missing:
        print(f"{'':<12}without: {', '.join(missing)}")


def find_narrowness(section: str, content: dict[str, Any]) -> list[str]:
    """Return whether a section names fewer scenarios than Kubernetes' own table has cases."""
    found, wanted = len(content["scenarios"]), content.get("of", 0)
    return [f"{section}: {found} scenarios of {wanted}"] if found < wanted else []


def main() -> int:
    """Print the table."""
    rows = read_row_names()
    problems: list[str] = []
    totals: Counter[str] = Counter()
    heads = f"{'upstream':>10}{'scenarios':>10}{'rows':>6}{'tests':>7}{'out':>6}{'none':>6}"
    print(f"{'section':<12}{heads}  title")
    for section, content in yaml.safe_load(INVENTORY.read_text()).items():
        states = {name: find_state(name, where, rows) for name, where in content["scenarios"].items()}
        totals.update(states.values())
        problems += find_narrowness(section, content)
        problems += [f"{section}: {name} is not there" for name, state in states.items() if state == "broken"]
        print_section(section, content, states)
    sums = f"{'':>10}{totals.total():>10}{totals['row']:>6}{totals['test']:>7}{totals['out']:>6}{totals['none']:>6}"
    print(f"{'all':<12}{sums}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
