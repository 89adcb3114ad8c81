"""Trying things on the live columns: what is done in a trial is undone at its end. Nothing is cloned."""

from collections.abc import Callable
from types import TracebackType

from apportion.sched.state.pods import PodInfo

CountFn = Callable[[PodInfo, int, int], None]


class Trial:
    """Takes pods off their rows, or puts pods on rows, until the ``with`` block ends.

    Only the columns change: who is on which node, as ``pods_on`` tells it, stays. Values return, and the change log
    has grown, so columns that were read meanwhile are brought up to date again. A trial inside another must end first.
    """

    def __init__(self, count: CountFn) -> None:
        self._count = count
        self._done: list[tuple[PodInfo, int, int]] = []

    def __enter__(self) -> "Trial":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pod, row, sign in reversed(self._done):
            self._count(pod, row, -sign)
        self._done.clear()

    def remove(self, pod: PodInfo, row: int) -> None:
        """Take a pod off ``row``."""
        self._apply(pod, row, -1)

    def add(self, pod: PodInfo, row: int) -> None:
        """Put a pod on ``row``."""
        self._apply(pod, row, 1)

    def _apply(self, pod: PodInfo, row: int, sign: int) -> None:
        self._count(pod, row, sign)
        self._done.append((pod, row, sign))
