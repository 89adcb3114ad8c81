"""What admission adds to a new pod: priority, overhead, tolerations, and label keys merged into its
selectors.

Source: plugin/pkg/admission/{priority,runtimeclass,defaulttolerationseconds} and the pod strategy
(pkg/registry/core/pod/strategy.go) upstream.
"""

from collections.abc import Mapping
from typing import Any, Final

from apportion.api.core import PriorityClass
from apportion.api.kinds import Tree
from apportion.api.quantity import parse_quantity
from apportion.api.validation import SYSTEM_PRIORITY_CLASSES
from apportion.base import ValidationError

NOT_READY_TAINT: Final = "node.kubernetes.io/not-ready"
UNREACHABLE_TAINT: Final = "node.kubernetes.io/unreachable"
TOLERATION_SECONDS: Final = 300
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def is_live(tree: Tree) -> bool:
    """Return whether the object comes from a cluster, so that admission has been through with it."""
    return bool(tree["metadata"].get("uid"))


# ---- priority ---------------------------------------------------------------------------------------------


class PriorityTable:
    """All priority classes, the two of Kubernetes itself included."""

    def __init__(self, classes: Mapping[str, PriorityClass]) -> None:
        self._classes = {n: (v, "PreemptLowerPriority") for n, v in SYSTEM_PRIORITY_CLASSES.items()}
        self._classes.update({n: (c.value, c.preemption_policy) for n, c in classes.items()})
        defaults = sorted((c.value, n) for n, c in classes.items() if c.global_default)
        self._default = defaults[0][1] if defaults else None  # upstream takes the lowest of several

    def admit(self, spec: Tree, live: bool) -> Tree:
        """Return the pod's spec with priority, class name and preemption policy.

        What a pod from a cluster (``live``) brings along is kept. Raises ValidationError for an unknown
        class, and for a new pod that sets another value than its class has.
        """
        name = spec.get("priorityClassName") or ""
        if live and spec.get("priority") is not None:
            return {"preemptionPolicy": "PreemptLowerPriority", **spec}
        name, value, policy = self.resolve(name)
        _check_given("spec.priority", "integer value of priority", spec.get("priority"), value)
        given = spec.get("preemptionPolicy")
        _check_given("spec.preemptionPolicy", "string value of PreemptionPolicy", given, policy)
        return {
            **spec,
            **({"priorityClassName": name} if name else {}),
            "priority": value,
            "preemptionPolicy": policy,
        }

    def resolve(self, name: str) -> tuple[str, int, str]:
        """Return name, value and preemption policy of a class, "" being the default one.

        Raises ValidationError for an unknown class.
        """
        if not name and self._default is not None:
            name = self._default
        if name and name not in self._classes:
            raise ValidationError(
                "spec.priorityClassName", f"no PriorityClass with name {name} was found; add it to the input"
            )
        return name, *self._classes.get(name, (0, "PreemptLowerPriority"))


def _check_given(field: str, what: str, given: Any, computed: Any) -> None:
    if given is not None and given != computed:
        raise ValidationError(
            field,
            f"the {what} ({given}) must not be provided in pod spec; priority admission controller computed "
            f"{computed} from the given PriorityClass name",
        )


# ---- runtime class ----------------------------------------------------------------------------------------


def apply_runtime_class(spec: Tree, runtime_classes: Mapping[str, Tree], live: bool) -> Tree:
    """Return the spec with the overhead, node selector and tolerations of its RuntimeClass.

    Raises ValidationError when the class is unknown, or when the pod says otherwise than its class.
    """
    name = spec.get("runtimeClassName")
    overhead = spec.get("overhead")
    if live and (overhead or name not in runtime_classes):
        return spec
    if not name:
        if overhead:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise ValidationError("spec.overhead", why)
        return spec
    runtime_class = runtime_classes.get(name)
    if runtime_class is None:
        why = f'pod rejected: RuntimeClass "{name}" not found; add it to the input'
        raise ValidationError("spec.runtimeClassName", why)
    fixed = (runtime_class.get("overhead") or {}).get("podFixed") or {}
    if overhead and not _is_same_amounts(overhead, fixed):
        why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise ValidationError("spec.overhead", why)
    return _apply_runtime_scheduling({**spec, **({"overhead": fixed} if fixed else {})}, runtime_class)


def _is_same_amounts(one: Tree, other: Tree) -> bool:
    return {n: parse_quantity(v) for n, v in one.items()} == {n: parse_quantity(v) for n, v in other.items()}


def _apply_runtime_scheduling(spec: Tree, runtime_class: Tree) -> Tree:
    scheduling = runtime_class.get("scheduling") or {}
    selector = scheduling.get("nodeSelector") or {}
    own = spec.get("nodeSelector") or {}
    for key, value in selector.items():
        if own.get(key, value) != value:
            why = f"the RuntimeClass wants {key}={value}, the pod {key}={own[key]}"
            raise ValidationError("spec.nodeSelector", f"pod rejected: conflict: {why}")
    if selector:
        spec = {**spec, "nodeSelector": {**own, **selector}}
    tolerations = list(spec.get("tolerations") or ())
    extra = [t for t in scheduling.get("tolerations") or () if t not in tolerations]
    return {**spec, "tolerations": tolerations + extra} if extra else spec


# ---- tolerations ------------------------------------------------------------------------------------------


def add_default_tolerations(spec: Tree) -> Tree:
    """Return the spec with tolerations of 300 s for unready and unreachable nodes, unless it has its own."""
    tolerations = spec.get("tolerations") or []
    missing = [key for key in (NOT_READY_TAINT, UNREACHABLE_TAINT) if not _covers(tolerations, key)]
    if not missing:
        return spec
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS}
        for key in missing
    ]
    return {**spec, "tolerations": [*tolerations, *added]}


def _covers(tolerations: list[Tree], key: str) -> bool:
    return any(t.get("key", "") in ("", key) and t.get("effect", "") in ("", "NoExecute") for t in tolerations)


# ---- matchLabelKeys ---------------------------------------------------------------------------------------


def merge_label_keys(spec: Tree, labels: Mapping[str, str]) -> Tree:
    """Return the spec with matchLabelKeys and mismatchLabelKeys written out into the selectors beside them.

    A key that the pod has no label for adds nothing; a requirement that is there already is not added again.
    """
    affinity = spec.get("affinity")
    if affinity:
        merged = {n: _merge_side(side, labels) if n != "nodeAffinity" else side for n, side in affinity.items()}
        if merged != affinity:
            spec = {**spec, "affinity": merged}
    constraints = spec.get("topologySpreadConstraints")
    if constraints and any(c.get("matchLabelKeys") for c in constraints):
        spec = {**spec, "topologySpreadConstraints": [_merge_term(c, labels) for c in constraints]}
    return spec


def _merge_side(side: Any, labels: Mapping[str, str]) -> Any:
    if not isinstance(side, dict):
        return side
    side = dict(side)
    if side.get(_REQUIRED):
        side[_REQUIRED] = [_merge_term(t, labels) for t in side[_REQUIRED]]
    if side.get(_PREFERRED):
        side[_PREFERRED] = [
            {**w, "podAffinityTerm": _merge_term(w.get("podAffinityTerm") or {}, labels)} for w in side[_PREFERRED]
        ]
    return side


def _merge_term(term: Tree, labels: Mapping[str, str]) -> Tree:
    selector = term.get("labelSelector")
    keys = [(k, "In") for k in term.get("matchLabelKeys") or ()]
    keys += [(k, "NotIn") for k in term.get("mismatchLabelKeys") or ()]
    if selector is None or not keys:
        return term
    expressions = list(selector.get("matchExpressions") or ())
    for key, operator in keys:
        requirement = {"key": key, "operator": operator, "values": [labels.get(key)]}
        if key in labels and requirement not in expressions:
            expressions.append(requirement)
    if not expressions:
        return term
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}
