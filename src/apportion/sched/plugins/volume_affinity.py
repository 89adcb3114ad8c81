"""From which nodes a volume can be reached."""

from functools import lru_cache
from typing import Final

import numpy as np

from apportion.api.selectors import compile_node_selector_term
from apportion.api.storage import PersistentVolume
from apportion.api.view import NodeSelectorTerm
from apportion.base import ValidationError
from apportion.sched.state import Bools, NodeTable

_CACHE_MAX: Final = 65536
LabelValue = tuple[str, str]  # key and value of a node label


class VolumeAffinity:
    """The node affinity of a volume, which reads nothing but labels.

    ``label_keys`` are those it reads. ``values`` are set when it is no more than "one label has one of these values",
    as it nearly always is: then volumes can be looked up by the labels of a node. Behaviour:
    storage/volume.CheckNodeAffinity, which leaves node fields out; a term that cannot be parsed matches nothing.
    """

    __slots__ = ("_terms", "label_keys", "values")

    def __init__(self, terms: tuple[NodeSelectorTerm, ...]) -> None:
        self.label_keys = tuple(sorted({r.key for t in terms for r in t.match_expressions}))
        self.values: tuple[LabelValue, ...] | None = None
        expressions = terms[0].match_expressions if len(terms) == 1 else ()
        if len(expressions) == 1 and expressions[0].operator == "In":
            self.values = tuple((expressions[0].key, value) for value in dict.fromkeys(expressions[0].values))
        self._terms = [_Term(t) for t in terms]

    def matches(self, labels: dict[str, str]) -> bool:
        """Return whether a node with these labels can reach the volume."""
        return any(term.matches(labels) for term in self._terms)

    def mask(self, nodes: NodeTable) -> Bools:
        """Return [row] bool. Cost: a few passes over the rows, a test of each row for an unusual affinity."""
        if self.values:
            accepted = {value for _, value in self.values}
            return nodes.valid & nodes.label_column(self.values[0][0]).test(lambda value: value in accepted)
        reached = (self.matches(nodes.labels(row)) for row in range(nodes.rows))
        return nodes.valid & np.fromiter(reached, np.bool_, nodes.rows)


class _Term:
    __slots__ = ("_matcher", "_matches_all")

    def __init__(self, term: NodeSelectorTerm) -> None:
        self._matches_all = bool(term.match_fields) and not term.match_expressions
        self._matcher = None
        try:
            self._matcher = compile_node_selector_term(NodeSelectorTerm(match_expressions=term.match_expressions))
        except ValidationError:
            self._matches_all = False

    def matches(self, labels: dict[str, str]) -> bool:
        return self._matches_all or (self._matcher is not None and self._matcher.matches("", labels))


@lru_cache(maxsize=_CACHE_MAX)
def _intern(terms: tuple[NodeSelectorTerm, ...]) -> VolumeAffinity:
    return VolumeAffinity(terms)


def affinity_of(volume: PersistentVolume) -> VolumeAffinity | None:
    """Return what a node must have to reach ``volume``; None when every node can. Equal affinities are one object."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    return _intern(affinity.required.node_selector_terms)
