"""What counts as the same output of kubectl.

Blanked is only what differs from run to run: ages and durations, times, uids, versions, random parts of names (and
with them the order of lines that begin alike), addresses, and the folders of temporary files. Columns are as wide as
their longest cell, so runs of spaces count as two.
"""

import re

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_BLANKED = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| [+-]\d{4})"), "<time>"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"https?://(?:127\.0\.0\.1|localhost):\d+"), "<server>"),
    (re.compile(r"\b10\.96\.\d+\.\d+\b"), "<service address>"),
    (re.compile(r'("?resource ?version"?: +"?)\d+', re.IGNORECASE), r"\1<version>"),
    (re.compile(r"(?:/[\w.-]+)*/?\b(LIVE|MERGED)(?:-\d+)?/"), r"\1/"),
    (re.compile(rf"-[{_LETTERS}]{{8,10}}(?:-[{_LETTERS}]{{5}})?\b"), "-<random>"),
    (re.compile(rf"-[{_LETTERS}]{{5}}\b"), "-<random>"),
    (re.compile(r"(?<!for )\b(?:\d+m)?\d+s\b"), "<age>"),
    (re.compile(r"[ \t]{2,}"), "  "),
)
# Written in columns, whose last cell may be empty.
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def normalise(text: str) -> list[str]:
    """Return the lines of an output with what is random blanked."""
    for pattern, blank in _BLANKED:
        text = pattern.sub(blank, text)
    return _sort_random(_TRAILING.sub("", text).splitlines())


def _sort_random(lines: list[str]) -> list[str]:
    """Sort neighbouring lines with random names: they stand in the order of what was blanked."""
    out: list[str] = []
    block: list[str] = []
    for line in lines:
        if "<random>" in line:
            block.append(line)
            continue
        out += [*sorted(block), line]
        block = []
    return out + sorted(block)
