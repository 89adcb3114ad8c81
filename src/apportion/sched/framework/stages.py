"""One node with other pods on it than there are: on paper where that suffices, on the live columns otherwise."""

from types import TracebackType
from typing import Protocol, Self

import numpy as np

from apportion.sched.framework.columns import FilterColumn, RowLedger
from apportion.sched.framework.status import Status
from apportion.sched.state import ClusterState, PodInfo


class Stage(Protocol):
    """One node on which pods are tried out until the ``with`` block ends."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put everything back."""
        ...

    def add(self, pod: PodInfo) -> None:
        """Put a pod on the node."""
        ...

    def remove(self, pod: PodInfo) -> None:
        """Take a pod off the node."""
        ...

    def ask(self) -> Status | None:
        """Return why the node is rejected, None if it is not: the first column in profile order that objects."""
        ...


class PaperStage:
    """Nothing changes but ledgers; for columns of which each has one or does not read pods (see ``can_open``)."""

    __slots__ = ("_fixed", "_ledgers")

    def __init__(self, columns: tuple[FilterColumn, ...], row: int, are_fresh: bool = False) -> None:
        """``are_fresh``: nothing has happened since the columns were brought up to date."""
        self._ledgers: list[RowLedger] = []
        self._fixed: Status | None = None  # what a column says that does not read pods; those after it have no say
        for column in columns:
            open_row = getattr(column, "open_row", None)
            if open_row is not None:
                self._ledgers.append(open_row(row))
                continue
            if not are_fresh:
                column.refresh()
            if not column.ok[row]:
                self._fixed = column.statuses(np.array([row], np.int64))[0][0]
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was changed."""

    def add(self, pod: PodInfo) -> None:
        """Put a pod on the node."""
        for ledger in self._ledgers:
            ledger.add(pod)

    def remove(self, pod: PodInfo) -> None:
        """Take a pod off the node."""
        for ledger in self._ledgers:
            ledger.remove(pod)

    def ask(self) -> Status | None:
        """Return why the node is rejected, None if it is not."""
        for ledger in self._ledgers:
            rejection = ledger.find_rejection()
            if rejection is not None:
                return rejection
        return self._fixed


class LiveStage:
    """The columns themselves change, in a trial; what was read of them meanwhile is brought up to date again."""

    __slots__ = ("_columns", "_row", "_trial")

    def __init__(self, state: ClusterState, columns: tuple[FilterColumn, ...], row: int) -> None:
        self._columns = columns
        self._row = row
        self._trial = state.trial()

    def __enter__(self) -> Self:
        self._trial.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._trial.__exit__(kind, error, trace)

    def add(self, pod: PodInfo) -> None:
        """Put a pod on the node."""
        self._trial.add(pod, self._row)

    def remove(self, pod: PodInfo) -> None:
        """Take a pod off the node."""
        self._trial.remove(pod, self._row)

    def ask(self) -> Status | None:
        """Return why the node is rejected, None if it is not."""
        row = self._row
        for column in self._columns:
            column.refresh()
            if not column.ok[row]:
                return column.statuses(np.array([row], np.int64))[0][0]
        return None
