"""Semantic versions: ``semver()``, ``isSemver()`` and their members.

Behaviour follows k8s.io/apiserver/pkg/cel/library/semverlib.go on top of blang/semver: build metadata plays
no part in comparisons.
"""

import re
from functools import lru_cache, total_ordering
from typing import ClassVar, Final

from apportion.cel.values import Failure

_NUMBER: Final = re.compile(r"[0-9]+")
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]+")
_NAMES: Final = ("Major", "Minor", "Patch")


@total_ordering
class Semver:
    """A version; ``pre`` holds the pre-release identifiers, ``text`` the spelling it was read from."""

    __slots__ = ("_rank", "numbers", "pre", "text")
    REFUSES_OTHERS: ClassVar = True

    def __init__(self, numbers: tuple[int, ...], pre: tuple[int | str, ...], text: str) -> None:
        self.numbers = numbers
        self.pre = pre
        self.text = text
        # A release ranks above its pre-releases; numeric identifiers rank below others.
        ranks = tuple((0, p, "") if isinstance(p, int) else (1, 0, p) for p in pre)
        self._rank = (numbers, not pre, ranks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._rank == other._rank

    def __lt__(self, other: "Semver") -> bool:
        return self._rank < other._rank

    def __hash__(self) -> int:
        return hash(self._rank)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4096)
def parse_semver(text: str, normalize: bool = False) -> Semver | Failure:
    """Return the version that ``text`` denotes, or a Failure that says what is wrong with it.

    ``normalize`` lets a leading ``v``, missing minor or patch numbers and leading zeros pass.
    """
    if not text:
        return Failure("Version string empty")
    core, plus, build = _normalize(text).partition("+") if normalize else text.partition("+")
    core, dash, pre = core.partition("-")
    numbers = core.split(".", 2)
    if len(numbers) != 3:
        return Failure("No Major.Minor.Patch elements found")
    for name, number in zip(_NAMES, numbers, strict=True):
        if not _NUMBER.fullmatch(number):
            return Failure(f"Invalid character(s) found in {name.lower()} number {number!r}")
        if number[0] == "0" and len(number) > 1:
            return Failure(f"{name} number must not contain leading zeroes {number!r}")
        if not _fits(number):
            return Failure(f"{name} number {number!r} does not fit into 64 bits")
    parts = pre.split(".") if dash else []
    for part in parts:
        if not _IDENTIFIER.fullmatch(part):
            return Failure(f"Invalid character(s) found in prerelease {part!r}")
        if _NUMBER.fullmatch(part) and part[0] == "0" and len(part) > 1:
            return Failure(f"Numeric PreRelease version must not contain leading zeroes {part!r}")
        if _NUMBER.fullmatch(part) and not _fits(part):
            return Failure(f"Numeric PreRelease version {part!r} does not fit into 64 bits")
    if plus and not all(_IDENTIFIER.fullmatch(b) for b in build.split(".")):
        return Failure(f"Invalid character(s) found in build meta data {build!r}")
    identifiers = tuple(int(p) if _NUMBER.fullmatch(p) else p for p in parts)
    return Semver(tuple(int(n) for n in numbers), identifiers, text)


def _fits(digits: str) -> bool:
    return len(digits) <= 20 and int(digits) < 1 << 64


def _normalize(text: str) -> str:
    text = text.removeprefix("v")
    split = re.search(r"[-+]", text)
    core, rest = (text[: split.start()], text[split.start() :]) if split else (text, "")
    numbers = [n.lstrip("0") or ("0" if n else "") for n in core.split(".", 2)]
    return ".".join(numbers + ["0"] * (3 - len(numbers))) + rest


def compare(left: Semver, right: Semver) -> int:
    """Return -1, 0 or 1."""
    return (left > right) - (left < right)
