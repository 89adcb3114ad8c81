"""Which nodes a node affinity admits and which taints are tolerated, as [row] bool columns shared by plugins."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Final

import numpy as np

from apportion.api.core import NodeAffinity, PodSpec, Taint, Toleration
from apportion.api.selectors import compile_node_selector_term, tolerates
from apportion.api.view import LabelSelectorRequirement, NodeSelectorTerm
from apportion.sched.state.labels import Bools, LabelColumn
from apportion.sched.state.nodes import Int64s, NodeTable, TaintSet

MASKS_MAX: Final = 2048
HARD_EFFECTS: Final = ("NoSchedule", "NoExecute")


class NodeMask:
    """A test of Node objects, kept up to date: ``ok`` is [row] bool. A row's answer depends on its node alone."""

    __slots__ = ("_compute", "_nodes", "_seen", "ok", "stamp")

    def __init__(self, nodes: NodeTable, compute: Callable[[], Bools]) -> None:
        self._nodes = nodes
        self._compute = compute
        self.stamp = 0
        self.ok = compute()
        self._seen = nodes.changes.head

    def refresh(self) -> None:
        """Bring ``ok`` up to date; free while no Node object changed, a few passes over the rows otherwise."""
        if self._seen != self._nodes.changes.head:
            self.ok = self._compute()
            self._seen = self._nodes.changes.head


class ValueTest:
    """A test on the values of one label key, run once for each distinct value ever seen."""

    __slots__ = ("_accepts", "_column", "_missing", "_table")

    def __init__(self, column: LabelColumn, accepts: Callable[[str | None], bool]) -> None:
        self._column = column
        self._accepts = accepts
        self._table: list[bool] = []
        self._missing = accepts(None)

    def mask(self) -> Bools:
        """Return [row] bool."""
        values = self._column.values
        self._table.extend(self._accepts(v) for v in values[len(self._table) :])
        return np.array([*self._table, self._missing], np.bool_).take(self._column.ids)


class TaintTest:
    """A number for each distinct taint set, looked up by row."""

    __slots__ = ("_measure", "_nodes", "_table")

    def __init__(self, nodes: NodeTable, measure: Callable[[TaintSet], int]) -> None:
        self._nodes = nodes
        self._measure = measure
        self._table: list[int] = []

    def values(self) -> Int64s:
        """Return [row] int64."""
        sets = self._nodes.taint_sets.items
        self._table.extend(self._measure(s) for s in sets[len(self._table) :])
        return np.array(self._table, np.int64).take(self._nodes.taint_set)


class NodeMasks:
    """Masks by what they test; bounded, least recently used goes first."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._masks: OrderedDict[Hashable, NodeMask] = OrderedDict()

    def _get(self, key: Hashable, build: Callable[[], Callable[[], Bools]]) -> NodeMask:
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = NodeMask(self._nodes, build())
            if len(self._masks) > MASKS_MAX:
                self._masks.popitem(last=False)
        else:
            self._masks.move_to_end(key)
            mask.refresh()
        return mask

    def tolerated(self, tolerations: tuple[Toleration, ...], comparison: bool = False) -> NodeMask:
        """Return where every NoSchedule and NoExecute taint is tolerated."""

        def build() -> Callable[[], Bools]:
            test = TaintTest(self._nodes, lambda s: find_untolerated(s, tolerations, HARD_EFFECTS, comparison) is None)
            return lambda: test.values() != 0

        return self._get(("tolerated", tolerations, comparison), build)

    def admitted(self, spec: PodSpec) -> NodeMask | None:
        """Return where nodeSelector and required node affinity hold; None when the pod has neither."""
        affinity = spec.affinity.node_affinity if spec.affinity else None
        required = affinity.required if affinity else None
        if not spec.node_selector and required is None:
            return None
        terms = required.node_selector_terms if required is not None else None
        key = ("admitted", tuple(sorted(spec.node_selector.items())), terms)
        return self._get(key, lambda: self._build_admitted(spec.node_selector, terms))

    def term(self, term: NodeSelectorTerm) -> NodeMask:
        """Return where one node selector term holds."""
        return self._get(("term", term), lambda: self._build_term(term))

    def _build_admitted(
        self, node_selector: Mapping[str, str], terms: tuple[NodeSelectorTerm, ...] | None
    ) -> Callable[[], Bools]:
        pairs = tuple(
            LabelSelectorRequirement(key=k, operator="In", values=(v,)) for k, v in sorted(node_selector.items())
        )
        fixed = self._build_requirements(pairs)
        alternatives = None if terms is None else [self._build_term(t) for t in terms]

        def compute() -> Bools:
            ok = fixed()
            if alternatives is not None:
                some = np.zeros(self._nodes.rows, np.bool_)
                for alternative in alternatives:
                    some |= alternative()
                ok &= some
            return ok

        return compute

    def _build_requirements(self, requirements: tuple[LabelSelectorRequirement, ...]) -> Callable[[], Bools]:
        tests = [self._value_test(r) for r in requirements]

        def compute() -> Bools:
            ok = self._nodes.valid.copy()
            for test in tests:
                ok &= test.mask()
            return ok

        return compute

    def _value_test(self, requirement: LabelSelectorRequirement) -> ValueTest:
        matcher = compile_node_selector_term(NodeSelectorTerm(match_expressions=(requirement,)))
        key = requirement.key
        return ValueTest(self._nodes.label_column(key), lambda v: matcher.matches("", {} if v is None else {key: v}))

    def _build_term(self, term: NodeSelectorTerm) -> Callable[[], Bools]:
        if not term.match_expressions and not term.match_fields:
            return lambda: np.zeros(self._nodes.rows, np.bool_)  # an empty term selects nothing
        labels = self._build_requirements(term.match_expressions)
        if not term.match_fields:
            return labels
        fields = compile_node_selector_term(NodeSelectorTerm(match_fields=term.match_fields))
        # the answer for a name depends on the lists that hold it, so all names that no list holds share one
        named = sorted({name for field in term.match_fields for name in field.values})
        others = fields.matches("", {})

        def compute() -> Bools:
            ok = labels()
            found = ok if others else np.zeros(len(ok), np.bool_)
            for name in named:
                row = self._nodes.row_of.get(name)
                if row is not None:
                    found[row] = ok[row] and fields.matches(name, {})
            return found

        return compute


def find_untolerated(
    taints: TaintSet, tolerations: tuple[Toleration, ...], effects: tuple[str, ...], comparison: bool = False
) -> Taint | None:
    """Return the first taint with one of the effects that no toleration covers."""
    for taint in taints:
        if taint.effect in effects and not any(tolerates(t, taint, comparison) for t in tolerations):
            return taint
    return None


def node_names_of(affinity: NodeAffinity | None) -> frozenset[str] | None:
    """Return the nodes that required terms name by metadata.name; None unless every term does (daemon sets)."""
    if affinity is None or affinity.required is None or not affinity.required.node_selector_terms:
        return None
    names: set[str] = set()
    for term in affinity.required.node_selector_terms:
        named: set[str] | None = None
        for field in term.match_fields:
            if field.key == "metadata.name" and field.operator == "In":
                named = set(field.values) if named is None else named & set(field.values)
        if named is None:
            return None
        names |= named
    return frozenset(names)
