"""The columns of VolumeBinding: where bound volumes can be reached and unbound claims served."""

from typing import Final

import numpy as np

from apportion.sched.framework.columns import RowGroups, Scored
from apportion.sched.framework.status import unresolvable
from apportion.sched.plugins.volume_affinity import LabelValue, VolumeAffinity
from apportion.sched.plugins.volume_matching import BIND_CONFLICT, ClaimMatcher, Match
from apportion.sched.state import Bools, ClusterState, Int64s, NodeTable

NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
VOLUME_MISSING: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_TOUCHED_MAX: Final = 64  # beyond this many rows it is cheaper to look at all


class NodeGroups:
    """Nodes with the same values of some labels, which are therefore judged alike; one pass over the nodes."""

    __slots__ = ("_of_value", "labels", "of_row", "rows")

    def __init__(self, nodes: NodeTable, keys: tuple[str, ...]) -> None:
        numbers: dict[tuple[str | None, ...], int] = {}
        self.labels: list[dict[str, str]] = []
        self.of_row: Int64s = np.zeros(nodes.rows, np.int64)
        members: list[list[int]] = []
        for row in np.flatnonzero(nodes.valid).tolist():
            labels = nodes.labels(row)
            values = tuple(labels.get(key) for key in keys)
            number = numbers.setdefault(values, len(members))
            if number == len(members):
                members.append([])
                self.labels.append({k: v for k, v in zip(keys, values, strict=True) if v is not None})
            members[number].append(row)
            self.of_row[row] = number
        self.rows = [np.array(found, np.int64) for found in members]
        self._of_value: dict[LabelValue, list[int]] = {}
        for number, of_group in enumerate(self.labels):
            for value in of_group.items():
                self._of_value.setdefault(value, []).append(number)

    def with_value(self, value: LabelValue) -> list[int]:
        """Return the numbers of the groups whose nodes carry a label."""
        return self._of_value.get(value, [])


class BindingColumn:
    """One combination of bound volumes' affinities and unbound claims' needs.

    ``is_missing`` says that a claim is bound to a volume that does not exist. Nodes are judged again when their labels
    change or a volume changes that matters to them. ``_admitted`` is [row] bool: what holds whatever the matches are.
    """

    __slots__ = (
        "_admitted",
        "_groups",
        "_is_missing",
        "_matcher",
        "_matches",
        "_reached",
        "_seen",
        "_selected",
        "_state",
        "affinities",
        "ok",
        "score",
        "stamp",
    )  # fmt: skip
    keeps_reasons = True
    reads_pods = False

    def __init__(
        self,
        state: ClusterState,
        affinities: tuple[VolumeAffinity, ...],
        is_missing: bool,
        matcher: ClaimMatcher | None,
        selected: frozenset[str],
    ) -> None:
        self._state = state
        self.affinities = affinities
        self._is_missing = is_missing
        self._matcher = matcher
        self._selected = selected
        self.stamp = 0
        self.score = BindingScore(self)
        self._compute()

    def _compute(self) -> None:
        nodes = self._state.nodes
        self._seen = nodes.changes.head
        self._reached: Bools = nodes.valid.copy()
        for affinity in self.affinities:
            self._reached &= affinity.mask(nodes)
        self._admitted: Bools = self._reached & (not self._is_missing)
        for row in np.flatnonzero(self._admitted).tolist() if self._selected else ():
            self._admitted[row] = self._is_selected(row)
        self.ok: Bools = self._admitted.copy()
        self.score.raw = np.zeros(nodes.rows, np.int64)
        if self._matcher is not None:
            self._groups = NodeGroups(nodes, self._matcher.label_keys())
            self._matches: list[Match] = [Match()] * len(self._groups.rows)
            for number in range(len(self._groups.rows)):
                self._judge(number)
        self.stamp += 1

    def _is_selected(self, row: int) -> bool:
        """Return whether all claims that are already on their way to a node are on their way to this one."""
        return self._selected <= {self._state.nodes.name(row)}

    def _judge(self, number: int) -> Int64s:
        assert self._matcher is not None
        match = self._matches[number] = self._matcher.judge(self._groups.labels[number])
        rows = self._groups.rows[number]
        self.ok[rows] = self._admitted[rows] & (not match.reason)
        self.score.raw[rows] = match.score
        return rows

    def refresh(self) -> None:
        """Bring ``ok`` and the scores up to date; work is proportional to the nodes that a change matters to."""
        nodes = self._state.nodes
        if self._seen != nodes.changes.head or len(self.ok) != nodes.rows:
            if self._matcher is not None:
                self._matcher.update()
            self._compute()
            return
        if self._matcher is None or self._matcher.is_current:
            return
        keys = self._matcher.label_keys()
        affected = self._matcher.update()
        if affected is None or keys != self._matcher.label_keys():
            self._compute()
            return
        numbers = dict.fromkeys(number for value in affected for number in self._groups.with_value(value))
        self._note([row for number in numbers for row in self._judge(number).tolist()])

    def _note(self, rows: list[int]) -> None:
        """Tell whoever reads this column which rows to look at."""
        if len(rows) > _TOUCHED_MAX:
            self.stamp += 1
            return
        for row in rows:
            self._state.nodes.touch_usage(row)

    def match(self, row: int) -> Match:
        """Return what the node in ``row`` offers to the unbound claims."""
        return Match() if self._matcher is None else self._matches[self._groups.of_row[row]]

    def statuses(self, rows: Int64s) -> RowGroups:
        """All reasons of each row; rows with the same ones together."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for row in rows.tolist():
            groups.setdefault(self._reasons(row), []).append(row)
        return [
            (unresolvable("VolumeBinding", *reasons), np.array(found, np.int64)) for reasons, found in groups.items()
        ]

    def _reasons(self, row: int) -> tuple[str, ...]:
        reasons = [] if self._reached[row] else [NODE_CONFLICT]
        if self._selected and not self._is_selected(row):
            reasons.append(BIND_CONFLICT)
        elif self.match(row).reason:
            reasons.append(self.match(row).reason)
        if self._is_missing and self._reached[row]:
            reasons.append(VOLUME_MISSING)
        return tuple(reasons)


class BindingScore(Scored):
    """How well the storage fits; not normalised."""

    __slots__ = ("_column",)

    def __init__(self, column: BindingColumn) -> None:
        super().__init__(pointwise=True)
        self._column = column

    def refresh(self) -> None:
        """The filter column brings ``raw`` up to date."""
        self._column.refresh()
        self.stamp = self._column.stamp
