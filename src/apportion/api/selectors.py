"""Label selectors, node selectors and tolerations: compiled once, matched often.

Follows ``apimachinery/pkg/labels`` and ``component-helpers/scheduling/corev1/nodeaffinity``. Selectors that
mean the same have the same ``key``, so that whoever counts matching pods counts them once.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from apportion.api.core import Taint, Toleration
from apportion.api.resource import DeviceTaint
from apportion.api.view import LabelSelector, LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from apportion.base import ValidationError

# (label key, operator, values sorted and unique)
RequirementKey: TypeAlias = tuple[str, str, tuple[str, ...]]
_Test: TypeAlias = Callable[[str | None], bool]

_LABEL_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS: Final = (*_LABEL_OPERATORS, "Gt", "Lt")
_INTEGER: Final = re.compile(r"[+-]?\d+")
_CACHE_MAX: Final = 16384


class _Requirement:
    """One compiled requirement; ``test`` gets the label's value, or None when the label is absent."""

    __slots__ = ("key", "label", "test")

    def __init__(self, key: RequirementKey) -> None:
        self.label, operator, values = key
        self.key = key
        self.test = _compile_test(operator, values)

    def describe(self) -> str:
        label, operator, values = self.key
        if operator == "In" and len(values) == 1:
            return f"{label}={values[0]}"
        if operator in ("In", "NotIn"):
            return f"{label} {operator.lower()} ({','.join(values)})"
        if operator in ("Gt", "Lt"):
            return f"{label}{'>' if operator == 'Gt' else '<'}{values[0]}"
        return label if operator == "Exists" else f"!{label}"


def _parse_int64(text: str) -> int | None:
    number = int(text) if len(text) <= 20 and _INTEGER.fullmatch(text) else None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None


def _compile_test(operator: str, values: tuple[str, ...]) -> _Test:
    if operator == "In":
        return frozenset(values).__contains__
    if operator == "NotIn":
        banned = frozenset(values)
        return lambda value: value not in banned
    if operator == "Exists":
        return lambda value: value is not None
    if operator == "DoesNotExist":
        return lambda value: value is None
    return _compile_comparison(operator == "Gt", _parse_int64(values[0]))


def _compile_comparison(greater: bool, bound: int | None) -> _Test:
    # The API server accepts a bound that is no integer; such a term then matches no node, and so does a label
    # that is no integer.
    def compare(value: str | None) -> bool:
        number = None if value is None else _parse_int64(value)
        if number is None or bound is None:
            return False
        return number > bound if greater else number < bound

    return compare


def _get_requirement_key(r: LabelSelectorRequirement, allowed: tuple[str, ...], field: str) -> RequirementKey:
    if r.operator not in allowed:
        raise ValidationError(f"{field}.operator", f'Invalid value: "{r.operator}": not a valid selector operator')
    if r.operator in ("In", "NotIn") and not r.values:
        raise ValidationError(f"{field}.values", "Required value: must be specified when `operator` is 'In' or 'NotIn'")
    if r.operator in ("Exists", "DoesNotExist") and r.values:
        raise ValidationError(
            f"{field}.values", "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        )
    if r.operator in ("Gt", "Lt") and len(r.values) != 1:
        raise ValidationError(
            f"{field}.values",
            "Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
        )
    return r.key, r.operator, tuple(sorted(set(r.values)))


# ---- label selectors --------------------------------------------------------------------------------------


class LabelMatcher:
    """A compiled label selector; its ``key`` is None when it matches nothing, () when it matches all."""

    __slots__ = ("_requirements", "key")

    def __init__(self, key: tuple[RequirementKey, ...] | None) -> None:
        self.key = key
        self._requirements = tuple(_Requirement(k) for k in key or ())

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with ``labels`` is selected."""
        if self.key is None:
            return False
        get = labels.get
        return all(r.test(get(r.label)) for r in self._requirements)

    def find_pairs(self) -> tuple[tuple[str, str], ...] | None:
        """Return (label, value) pairs, of which every object has one that is selected; None when nothing can be said.

        Of several requirements the one with the fewest values is taken, and then that with the longest: names and
        hashes, which few objects share, are longer than the rest.
        """
        if self.key is None:
            return ()
        found = [(label, values) for label, operator, values in self.key if operator == "In"]
        if not found:
            return None
        label, values = min(found, key=lambda r: (len(r[1]), -max(map(len, r[1]))))
        return tuple((label, value) for value in values)

    def describe(self) -> str:
        """Return the selector in kubectl's notation (``app=web,tier in (a,b),!legacy``)."""
        if self.key is None:
            return "<nothing>"
        return ",".join(r.describe() for r in self._requirements) or "<everything>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelMatcher) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=_CACHE_MAX)
def _intern_label_matcher(key: tuple[RequirementKey, ...] | None) -> LabelMatcher:
    return LabelMatcher(key)


def compile_label_selector(selector: LabelSelector | None, field: str = "labelSelector") -> LabelMatcher:
    """Compile a label selector: None matches nothing, an empty one everything.

    Raises ValidationError with a path below ``field`` for an operator or values that Kubernetes does not
    accept.
    """
    if selector is None:
        return _intern_label_matcher(None)
    keys: set[RequirementKey] = {(k, "In", (v,)) for k, v in selector.match_labels.items()}
    for i, requirement in enumerate(selector.match_expressions):
        keys.add(_get_requirement_key(requirement, _LABEL_OPERATORS, f"{field}.matchExpressions[{i}]"))
    return _intern_label_matcher(tuple(sorted(keys)))


# ---- node selectors ---------------------------------------------------------------------------------------

_TermKey: TypeAlias = tuple[tuple[RequirementKey, ...], tuple[RequirementKey, ...]]


class NodeTermMatcher:
    """One compiled node selector term; a term without any requirement matches nothing."""

    __slots__ = ("_fields", "_labels", "key", "label_keys")

    def __init__(self, key: _TermKey) -> None:
        self.key = key
        self._labels = tuple(_Requirement(k) for k in key[0])
        self._fields = tuple(_Requirement(k) for k in key[1])
        self.label_keys = tuple(sorted({r.label for r in self._labels}))

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether the node called ``name`` with ``labels`` is selected."""
        if not self._labels and not self._fields:
            return False
        get = labels.get
        return all(r.test(get(r.label)) for r in self._labels) and all(r.test(name) for r in self._fields)

    def describe(self) -> str:
        """Return the requirements in kubectl's notation, joined by a comma (all must hold)."""
        return ",".join(r.describe() for r in self._labels + self._fields) or "<nothing>"


class NodeMatcher:
    """A compiled node selector: any of its terms suffices."""

    __slots__ = ("key", "label_keys", "terms")

    def __init__(self, terms: tuple[NodeTermMatcher, ...]) -> None:
        self.terms = terms
        self.key = tuple(sorted({t.key for t in terms}))
        self.label_keys = tuple(sorted({k for t in terms for k in t.label_keys}))

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether the node called ``name`` with ``labels`` is selected."""
        return any(t.matches(name, labels) for t in self.terms)

    def describe(self) -> str:
        """Return the terms in kubectl's notation, joined by ``or``."""
        return " or ".join(t.describe() for t in self.terms) or "<nothing>"


@lru_cache(maxsize=_CACHE_MAX)
def _intern_term(key: _TermKey) -> NodeTermMatcher:
    return NodeTermMatcher(key)


def _get_field_key(r: LabelSelectorRequirement, field: str) -> RequirementKey:
    if r.key != "metadata.name":
        raise ValidationError(f"{field}.key", f'Invalid value: "{r.key}": not a valid field selector key')
    if r.operator not in ("In", "NotIn"):
        raise ValidationError(f"{field}.operator", f'Invalid value: "{r.operator}": not a valid selector operator')
    if len(r.values) != 1:
        raise ValidationError(
            f"{field}.values",
            "Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    return r.key, r.operator, r.values


def compile_node_selector_term(term: NodeSelectorTerm, field: str = "nodeSelectorTerms[0]") -> NodeTermMatcher:
    """Compile one term: all its label and field requirements must hold.

    Raises ValidationError with a path below ``field``. A field requirement knows ``metadata.name`` with one
    value.
    """
    labels = {
        _get_requirement_key(r, _NODE_OPERATORS, f"{field}.matchExpressions[{i}]")
        for i, r in enumerate(term.match_expressions)
    }
    fields = {_get_field_key(r, f"{field}.matchFields[{i}]") for i, r in enumerate(term.match_fields)}
    return _intern_term((tuple(sorted(labels)), tuple(sorted(fields))))


def compile_node_selector(selector: NodeSelector, field: str = "nodeSelector") -> NodeMatcher:
    """Compile a node selector; raises ValidationError with a path below ``field``."""
    terms = enumerate(selector.node_selector_terms)
    return NodeMatcher(tuple(compile_node_selector_term(t, f"{field}.nodeSelectorTerms[{i}]") for i, t in terms))


# ---- tolerations ------------------------------------------------------------------------------------------


def tolerates(toleration: Toleration, taint: Taint | DeviceTaint, comparison_operators: bool = False) -> bool:
    """Return whether the toleration covers the taint of a node or device (upstream ``ToleratesTaint``).

    ``comparison_operators`` is the gate TaintTolerationComparisonOperators: Gt and Lt compare the taint's
    value with the toleration's, both as int64.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if toleration.operator in ("Gt", "Lt") and comparison_operators:
        return _compile_comparison(toleration.operator == "Gt", _parse_int64(toleration.value))(taint.value)
    return toleration.operator == "Exists"
