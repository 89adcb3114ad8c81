"""Pod affinity terms: compiled once per template and namespace, and counted for pods that run.

The terms of running pods are kept per distinct term: how many pods with that term are on each row and in each
domain. A pending pod asks which distinct terms match its namespace and labels, never which pods have them.
"""

from dataclasses import dataclass
from typing import Final

from apportion.api.core import PodAffinity, PodAffinityTerm
from apportion.api.selectors import LabelMatcher, compile_label_selector
from apportion.sched.state.counts import DomainCounter, LabelGroup, NamespaceScope, PodCounter
from apportion.sched.state.nodes import NodeTable
from apportion.sched.state.pods import PodKind
from apportion.sched.state.selector_index import SelectorIndex

REQUIRED, REQUIRED_ANTI, PREFERRED, PREFERRED_ANTI = "affinity", "antiAffinity", "preferred", "preferredAnti"
_FACT: Final = "affinityTerms"
_TERMS_MIN: Final = 256  # fewer are not worth looking for those that no pod has any more


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """One compiled term. ``weight`` is 0 for required terms."""

    scope: NamespaceScope
    matcher: LabelMatcher
    topology_key: str
    weight: int

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for terms that mean the same."""
        return self.scope.key, self.matcher.key, self.topology_key, self.weight

    def matches_kind(self, kind: PodKind, namespace_labels: dict[str, str]) -> bool:
        """Return whether pods of this kind are what the term looks for."""
        return self.scope.matches(kind.namespace, namespace_labels) and self.matcher.matches(kind.group.labels)


@dataclass(frozen=True, slots=True)
class PodTerms:
    """All pod affinity terms of one template in one namespace."""

    required: tuple[AffinityTerm, ...]
    required_anti: tuple[AffinityTerm, ...]
    preferred: tuple[AffinityTerm, ...]
    preferred_anti: tuple[AffinityTerm, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is no term at all."""
        return not (self.required or self.required_anti or self.preferred or self.preferred_anti)


NO_TERMS: Final = PodTerms((), (), (), ())


def _compile_term(term: PodAffinityTerm, weight: int, namespace: str) -> AffinityTerm:
    selector = None if term.namespace_selector is None else compile_label_selector(term.namespace_selector)
    names = frozenset(term.namespaces)
    if not names and selector is None:
        names = frozenset((namespace,))
    matcher = compile_label_selector(term.label_selector)
    return AffinityTerm(NamespaceScope(names, selector), matcher, term.topology_key, weight)


def _compile_side(affinity: PodAffinity | None, ns: str) -> tuple[tuple[AffinityTerm, ...], tuple[AffinityTerm, ...]]:
    if affinity is None:
        return (), ()
    required = tuple(_compile_term(t, 0, ns) for t in affinity.required)
    preferred = tuple(_compile_term(w.pod_affinity_term, w.weight, ns) for w in affinity.preferred if w.weight)
    return required, preferred


def get_terms(kind: PodKind) -> PodTerms:
    """Return the compiled terms of a kind; parsed once per template and namespace."""
    affinity = kind.template.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    facts = kind.template.facts
    key = f"{_FACT}/{kind.namespace}"
    found = facts.get(key)
    if found is None:
        required, preferred = _compile_side(affinity.pod_affinity, kind.namespace)
        anti, preferred_anti = _compile_side(affinity.pod_anti_affinity, kind.namespace)
        found = facts[key] = PodTerms(required, anti, preferred, preferred_anti)
    assert isinstance(found, PodTerms)
    return found


class RunningTerm:
    """A distinct term that pods on nodes have: ``pods`` counts those pods, ``domain`` sums them by topology value.

    No two have had the same ``number``.
    """

    __slots__ = ("domain", "number", "pods", "role", "term")

    def __init__(self, number: int, role: str, term: AffinityTerm, nodes: NodeTable) -> None:
        self.number = number
        self.role = role
        self.term = term
        self.pods = PodCounter((), nodes.rows)
        self.domain = DomainCounter(self.pods, nodes, nodes.label_column(term.topology_key), None)


class RunningTerms:
    """All distinct terms of the pods on nodes. ``epoch`` rises when a new one appears, or old ones are forgotten."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._terms: dict[tuple[object, ...], RunningTerm] = {}
        self._by_label: SelectorIndex[RunningTerm] = SelectorIndex()  # the same
        self._terms_max = _TERMS_MIN
        self._count = 0
        self.epoch = 0

    def add_pod(self, kind: PodKind, row: int, sign: int) -> None:
        """Count the terms of a pod of ``kind`` on ``row`` (sign -1: no longer)."""
        terms = get_terms(kind)
        if terms is NO_TERMS:
            return
        for role, group in (
            (REQUIRED, terms.required),
            (REQUIRED_ANTI, terms.required_anti),
            (PREFERRED, terms.preferred),
            (PREFERRED_ANTI, terms.preferred_anti),
        ):
            for term in group:
                self._get(role, term).pods.add(row, sign, sign)

    def _get(self, role: str, term: AffinityTerm) -> RunningTerm:
        key = (role, *term.key)
        found = self._terms.get(key)
        if found is None:
            if len(self._terms) >= self._terms_max:
                self._drop_unused()
            self._count += 1
            found = self._terms[key] = RunningTerm(self._count, role, term, self._nodes)
            self._by_label.add([term.matcher], found)
            self.epoch += 1
        return found

    def _drop_unused(self) -> None:
        """Forget the terms that no pod on a node has any more; next time when there are twice as many as are left."""
        self._terms = {key: t for key, t in self._terms.items() if t.pods.total}
        self._terms_max = max(_TERMS_MIN, 2 * len(self._terms))
        self._by_label = SelectorIndex()
        for running in self._terms.values():
            self._by_label.add([running.term.matcher], running)

    def matching(self, group: LabelGroup, namespace_labels: dict[str, str], epoch: int) -> tuple[RunningTerm, ...]:
        """Return the distinct terms that look for pods of ``group``; remembered until ``epoch`` changes."""
        remembered = group.facts.get(_FACT)
        if isinstance(remembered, tuple) and remembered[0] == epoch:
            found: tuple[RunningTerm, ...] = remembered[1]
            return found
        found = tuple(
            t
            for t in self._by_label.find(group.labels)
            if t.term.scope.matches(group.namespace, namespace_labels) and t.term.matcher.matches(group.labels)
        )
        group.facts[_FACT] = (epoch, found)
        return found
