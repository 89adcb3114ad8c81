"""Where the time of a measurement went, as plain text: by room, and by function."""

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_ROOT: Final = str(Path(__file__).parent.parent) + "/"
_FUNCTIONS_MAX: Final = 40
_ELSEWHERE: Final = "(elsewhere)"
_Function = tuple[str, int, str]  # file, line, name
Seconds = defaultdict[str, float]
# primitive calls, calls, own time, time with callees, and the same by caller
_Figures = tuple[int, int, float, float, dict[_Function, tuple[int, int, float, float]]]


def describe_profile(profile: cProfile.Profile, title: str) -> str:
    """Return the report. Time in libraries and built-in functions counts for the room that called them."""
    stats: Mapping[_Function, _Figures] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    own, borrowed = _by_room(stats)
    total_s = sum(own.values()) + sum(borrowed.values())
    lines = [title, "=" * len(title), "", f"{total_s:.3f} s in all, under the profiler (which slows calls down)", ""]
    lines += [f"{'room':<24}{'s':>9}{'share':>8}  of which in libraries"]
    for room in sorted({*own, *borrowed}, key=lambda r: -(own[r] + borrowed[r])):
        room_s = own[room] + borrowed[room]
        lines.append(f"{room:<24}{room_s:>9.3f}{_share(room_s, total_s)}  {borrowed[room]:.3f}")
    lines += ["", f"{'own s':>8}{'with callees':>14}{'calls':>10}  function"]
    ordered = sorted(stats.items(), key=lambda item: -item[1][2])
    for function, (_, calls, own_s, with_s, _) in ordered[:_FUNCTIONS_MAX]:
        lines.append(f"{own_s:>8.3f}{with_s:>14.3f}{calls:>10}  {_name(function)}")
    return "\n".join(lines) + "\n"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:>8.1%}" if whole else f"{'':>8}"


def _by_room(stats: Mapping[_Function, _Figures]) -> tuple[Seconds, Seconds]:
    """Return the seconds of each room: in its own functions, and in what those called outside of our code."""
    own: Seconds = defaultdict(float)
    borrowed: Seconds = defaultdict(float)
    for function, (_, _, own_s, _, callers) in stats.items():
        if _is_ours(function):
            own[_room(function)] += own_s
        elif not callers:
            borrowed[_ELSEWHERE] += own_s
        for caller, figures in {} if _is_ours(function) else callers.items():
            borrowed[_room(caller)] += figures[2]
    return own, borrowed


def _is_ours(function: _Function) -> bool:
    return function[0].startswith(_ROOT)


def _room(function: _Function) -> str:
    """Return the package of a function: two names deep in the scheduler, one elsewhere."""
    if not _is_ours(function):
        return _ELSEWHERE
    parts = function[0].removeprefix(_ROOT).split("/")[:-1]
    return ".".join(parts[: 2 if parts[:1] == ["sched"] else 1]) or "apportion"


def _name(function: _Function) -> str:
    file, line, name = function
    if _is_ours(function):
        return f"{file.removeprefix(_ROOT)}:{line} {name}"
    return name if file == "~" else f"{'/'.join(file.split('/')[-2:])}:{line} {name}"


class Profiler:
    """Profiles while a collection goes on; does nothing when it is not wanted.

    With ``in_sections`` only what lies between ``enter`` and ``leave`` meanwhile.
    """

    def __init__(self, is_wanted: bool, in_sections: bool) -> None:
        self._profile: Any = cProfile.Profile() if is_wanted else None
        self._in_sections = in_sections
        self._is_active = False

    def start(self) -> None:
        """Begin."""
        self._is_active = self._profile is not None
        if self._is_active and not self._in_sections:
            self._profile.enable()

    def stop(self) -> None:
        """Pause."""
        if self._is_active:
            self._profile.disable()
        self._is_active = False

    def enter(self) -> None:
        """A section that counts begins."""
        if self._is_active:
            self._profile.enable()

    def leave(self) -> None:
        """It ends."""
        if self._is_active:
            self._profile.disable()

    def describe(self, title: str) -> str:
        """Return the report, "" when none is wanted."""
        return describe_profile(self._profile, title) if self._profile is not None else ""
