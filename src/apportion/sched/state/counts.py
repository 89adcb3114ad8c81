"""How many pods match a selector: per row, and per value of a topology key. Never a walk over pods.

Pods are grouped by namespace and label set. Which groups a selector matches is decided once per group; adding a
pod then costs one increment for each selector that matches its group.
"""

from collections.abc import Callable, Mapping
from typing import Final
from weakref import WeakValueDictionary, ref

import numpy as np
import numpy.typing as npt

from apportion.api.selectors import LabelMatcher
from apportion.sched.state.labels import Bools, LabelColumn
from apportion.sched.state.nodes import Int64s, NodeTable
from apportion.sched.state.selector_index import SelectorIndex

Int32Row = npt.NDArray[np.int32]
_COUNTERS_MIN: Final = 256  # fewer are not worth looking for those that nobody reads any more


class NamespaceScope:
    """Which namespaces a term looks at: listed names, and those whose labels match a selector."""

    __slots__ = ("key", "names", "selector")

    def __init__(self, names: frozenset[str], selector: LabelMatcher | None) -> None:
        self.names = names
        self.selector = selector
        self.key = (tuple(sorted(names)), selector.key if selector is not None else None)

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether a pod in ``namespace``, which carries ``labels``, is looked at."""
        return namespace in self.names or (self.selector is not None and self.selector.matches(labels))


# One condition on a pod: it lies in the scope and its labels match.
Clause = tuple[NamespaceScope, LabelMatcher]


class LabelGroup:
    """The pods of one namespace with one label set: how many of them are on each row."""

    __slots__ = ("__weakref__", "all", "counters", "facts", "id", "labels", "live", "namespace")

    def __init__(self, id: int, namespace: str, labels: dict[str, str]) -> None:
        self.id = id
        self.namespace = namespace
        self.labels = labels
        self.all: dict[int, int] = {}
        self.live: dict[int, int] = {}
        self.counters: list[PodCounter] = []
        self.facts: dict[str, object] = {}  # what others derived from namespace and labels


class DomainCounter:
    """Matching pods per value of one topology key, over the rows of a mask (all rows when None).

    ``all`` and ``live`` are [value id] int64 with a last slot that stays 0 for rows without the key; ``live``
    leaves terminating pods out. ``current`` must be called before they are read.
    """

    __slots__ = ("__weakref__", "_nodes", "_pods", "_seen", "all", "column", "live", "mask", "present")

    def __init__(self, pods: "PodCounter", nodes: NodeTable, column: LabelColumn, mask: Bools | None) -> None:
        """Count from now on, for as long as somebody holds on to this."""
        self._pods = pods
        self._nodes = nodes
        self.column = column
        self.mask = mask
        self.recount(mask)
        pods.attach(self)

    def current(self) -> "DomainCounter":
        """Return itself, counted again if Node objects changed since: one pass over the rows then."""
        if self._seen != self._nodes.changes.head:
            self.recount(self.mask)
        return self

    def recount(self, mask: Bools | None) -> None:
        """Count again from the per-row counts, over the rows of ``mask``. One pass over the rows."""
        self.mask = mask
        self._seen = self._nodes.changes.head
        ids = self.column.ids
        counted = ids >= 0 if mask is None else (ids >= 0) & mask
        size = len(self.column.values) + 17
        rows = np.flatnonzero(counted)
        self._pods.ensure(len(ids))
        self.present = np.unique(ids[rows])  # the domains that have an eligible node
        self.all = self._sum(ids[rows], self._pods.all[rows], size)
        self.live = self._sum(ids[rows], self._pods.live[rows], size)

    @property
    def version(self) -> int:
        """Rises with every change of the counts."""
        return self._pods.version

    @staticmethod
    def _sum(ids: Int32Row, counts: Int32Row, size: int) -> Int64s:
        # float64 weights are exact here: counts stay far below 2^53
        return np.bincount(ids, weights=counts, minlength=size).astype(np.int64)

    def add(self, row: int, everyone: int, live: int) -> None:
        """Add pods on ``row``."""
        if self.mask is not None and not self.mask[row]:
            return
        value = self.column.ids[row]
        if value < 0 or not self._nodes.valid[row]:
            return  # a recount follows when the node appears
        if value + 1 >= len(self.all):
            self._grow()
        self.all[value] += everyone
        self.live[value] += live

    def _grow(self) -> None:
        size = 2 * len(self.column.values) + 17
        for name in ("all", "live"):
            old = getattr(self, name)
            grown = np.zeros(size, np.int64)
            grown[: len(old)] = old
            setattr(self, name, grown)


class PodCounter:
    """Counts the pods that meet every clause: ``all`` and ``live`` are [row] int32 (at least ``rows`` long).

    Those who count its pods by domain are kept weakly: a counter that has none any more is of no use.
    """

    __slots__ = ("_domains", "all", "clauses", "live", "total", "version")

    def __init__(self, clauses: tuple[Clause, ...], rows: int) -> None:
        self.clauses = clauses
        self.all: Int32Row = np.zeros(rows + 16, np.int32)
        self.live: Int32Row = np.zeros(rows + 16, np.int32)
        self.total = 0
        self.version = 0  # rises with every change of the counts
        self._domains: list[ref[DomainCounter]] = []

    def attach(self, domain: DomainCounter) -> None:
        """Have pods counted by ``domain`` too."""
        self._domains = [known for known in self._domains if known() is not None]
        self._domains.append(ref(domain))

    def list_domains(self) -> list[DomainCounter]:
        """Return those who count by domain."""
        return [domain for known in self._domains if (domain := known()) is not None]

    def matches(self, namespace: str, namespace_labels: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        """Return whether a pod with these labels meets every clause."""
        return all(
            scope.matches(namespace, namespace_labels) and matcher.matches(labels) for scope, matcher in self.clauses
        )

    def ensure(self, rows: int) -> None:
        """Make the row arrays at least ``rows`` long."""
        if len(self.all) < rows:
            for name in ("all", "live"):
                old = getattr(self, name)
                grown = np.zeros(2 * rows, np.int32)
                grown[: len(old)] = old
                setattr(self, name, grown)

    def add(self, row: int, everyone: int, live: int) -> None:
        """Add pods on ``row``."""
        if row >= len(self.all):
            self.ensure(row + 1)
        self.all[row] += everyone
        self.live[row] += live
        self.total += everyone
        self.version += 1
        for known in self._domains:
            domain = known()
            if domain is not None:
                domain.add(row, everyone, live)

    def add_group(self, group: LabelGroup, sign: int) -> None:
        """Add (or with sign -1 take away) all pods of a group."""
        for row, count in group.all.items():
            self.add(row, sign * count, sign * group.live.get(row, 0))


class LabelGroups:
    """All groups and all counters, kept in step."""

    def __init__(self, nodes: NodeTable, namespace_labels: Callable[[str], Mapping[str, str]]) -> None:
        self._nodes = nodes
        self._namespace_labels = namespace_labels
        # weak: a group lives as long as some pod of it does
        self._groups: WeakValueDictionary[tuple[str, frozenset[tuple[str, str]]], LabelGroup] = WeakValueDictionary()
        self._group_ids = 0
        self._counters: dict[tuple[object, ...], PodCounter] = {}
        self._by_label: SelectorIndex[PodCounter] = SelectorIndex()  # the same
        self._counters_max = _COUNTERS_MIN

    def group(self, namespace: str, labels: dict[str, str]) -> LabelGroup:
        """Return the group of a namespace and label set; a new one is matched once against the counters that look for
        any of its labels.
        """
        key = (namespace, frozenset(labels.items()))
        found = self._groups.get(key)
        if found is None:
            found = LabelGroup(self._group_ids, namespace, labels)
            self._group_ids += 1
            self._groups[key] = found
            found.counters = self._find_counters(found)
        return found

    def _find_counters(self, group: LabelGroup) -> list[PodCounter]:
        return [c for c in self._by_label.find(group.labels) if self._matches(c, group)]

    def _matches(self, counter: PodCounter, group: LabelGroup) -> bool:
        return counter.matches(group.namespace, self._namespace_labels(group.namespace), group.labels)

    def counter(self, clauses: tuple[Clause, ...]) -> PodCounter:
        """Return the counter of these clauses; a new one is filled from the groups, not from the pods."""
        key = tuple((scope.key, matcher.key) for scope, matcher in clauses)
        found = self._counters.get(key)
        if found is None:
            if len(self._counters) >= self._counters_max:
                self._drop_unused()
            found = self._counters[key] = PodCounter(clauses, self._nodes.rows)
            self._by_label.add([matcher for _, matcher in clauses], found)
            for group in self._find_groups(found):
                group.counters.append(found)
                found.add_group(group, 1)
        return found

    def _drop_unused(self) -> None:
        """Forget the counters that nobody reads any more; next time when there are twice as many as are left."""
        self._counters = {key: c for key, c in self._counters.items() if c.list_domains()}
        self._counters_max = max(_COUNTERS_MIN, 2 * len(self._counters))
        self._by_label = SelectorIndex()
        for counter in self._counters.values():
            self._by_label.add([matcher for _, matcher in counter.clauses], counter)
        used = set(map(id, self._counters.values()))
        for group in list(self._groups.values()):
            group.counters = [c for c in group.counters if id(c) in used]

    def _find_groups(self, counter: PodCounter) -> list[LabelGroup]:
        """Return the groups that a counter counts. One look at each group, and no more unless a label fits."""
        groups = list(self._groups.values())
        for _, matcher in counter.clauses:
            pairs = matcher.find_pairs()
            if pairs is not None:
                wanted = dict.fromkeys(pairs)
                label = pairs[0][0] if pairs else ""
                groups = [g for g in groups if (label, g.labels.get(label)) in wanted]
        return [g for g in groups if self._matches(counter, g)]

    def domain(self, clauses: tuple[Clause, ...], topology_key: str) -> DomainCounter:
        """Return the counter of these clauses by value of a topology key, over all nodes."""
        counter = self.counter(clauses)
        column = self._nodes.label_column(topology_key)
        for domain in counter.list_domains():
            if domain.column is column and domain.mask is None:
                return domain
        return DomainCounter(counter, self._nodes, column, None)

    def add_pod(self, group: LabelGroup, row: int, sign: int, live: bool) -> None:
        """Add one pod of ``group`` on ``row``, or with sign -1 take one away."""
        group.all[row] = group.all.get(row, 0) + sign
        if live:
            group.live[row] = group.live.get(row, 0) + sign
        if sign < 0 and not group.all[row]:
            del group.all[row]
            group.live.pop(row, None)
        for counter in group.counters:
            counter.add(row, sign, sign if live else 0)

    def namespace_changed(self, namespace: str) -> None:
        """Match the groups of a namespace again after its labels changed."""
        for group in list(self._groups.values()):
            if group.namespace != namespace:
                continue
            now = self._find_counters(group)
            for counter in group.counters:
                if counter not in now:
                    counter.add_group(group, -1)
            for counter in now:
                if counter not in group.counters:
                    counter.add_group(group, 1)
            group.counters = now
