"""The operations of workload files: which there are, which fields they have, and how parameters fill them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from apportion.base import InputError

_COUNTED: Final = {"count", "countParam"}
_PODS: Final = {
    *_COUNTED, "countMultiplierParam", "collectMetrics", "namespace", "podTemplatePath", "templateParams",
    "persistentVolumeTemplatePath", "persistentVolumeClaimTemplatePath", "skipWaitToCompletion",
    "steadyState", "steadyStateParam", "duration", "durationParam", "signatureBatchSize", "signatureBatchSizeParam",
}  # fmt: skip
FIELDS: Final[Mapping[str, set[str]]] = {
    "createNodes": {
        *_COUNTED, "nodeTemplatePath", "templateParams", "labelNodePrepareStrategy", "uniqueNodeLabelStrategy",
        "nodeAllocatableStrategy",
    },
    "createNamespaces": {*_COUNTED, "prefix", "namespaceTemplatePath"},
    "createPods": _PODS,
    "createPodSets": {*_COUNTED, "namespacePrefix", "createPodsOp"},
    "createPodGroups": {*_COUNTED, "namespace", "templatePath", "templateParams"},
    "createAny": {*_COUNTED, "namespace", "templatePath", "templateParams"},
    "updateAny": {*_COUNTED, "namespace", "templatePath", "templateParams", "updatePerSecond", "subresources"},
    "deletePods": {"namespace", "labelSelector", "deletePodsPerSecond", "skipWaitToCompletion"},
    "churn": {"mode", "number", "intervalMilliseconds", "namespace", "templatePaths"},
    "barrier": {"namespaces", "labelSelector", "stageRequirement"},
    "sleep": {"duration", "durationParam"},
    "allocResourceClaims": {"namespace"},
    "startCollectingMetrics": {"name", "namespaces", "labelSelector"},
    "stopCollectingMetrics": set(),
}  # fmt: skip
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|s|m|h)")
_UNITS_S: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation with its parameters filled in. ``index`` is its place among those of the workload."""

    opcode: str
    index: int
    fields: Mapping[str, Any]

    @property
    def count(self) -> int:
        """How many objects; times the multiplier when there is one."""
        return int(self.fields.get("count", 1)) * int(self.fields.get("countMultiplier", 1))

    @property
    def namespace(self) -> str:
        """The namespace of the objects; an operation that names none has one of its own."""
        return str(self.fields.get("namespace") or f"namespace-{self.index}")

    def get(self, field: str, default: Any = None) -> Any:
        """Return a field."""
        return self.fields.get(field, default)

    @property
    def duration_s(self) -> float:
        """The duration in seconds. Raises InputError when it is none."""
        return parse_duration_s(self.fields.get("duration", 0))


def find_problems(operation: Mapping[str, Any]) -> list[str]:
    """Return which opcode or field of an operation is not known."""
    opcode = str(operation.get("opcode"))
    if opcode not in FIELDS:
        return [f"opcode {opcode!r} is not known"]
    known = {*FIELDS[opcode], "opcode"}
    unknown = [f"field {f!r} of opcode {opcode} is not known" for f in operation if f not in known]
    inner = operation.get("createPodsOp")
    return unknown + (find_problems(inner) if isinstance(inner, Mapping) else [])


def fill_in(operation: Mapping[str, Any], index: int, params: Mapping[str, Any]) -> Operation:
    """Return the operation with every ``...Param`` and template parameter resolved.

    Raises InputError naming a parameter that the workload does not have.
    """
    fields: dict[str, Any] = {}
    for name, value in operation.items():
        if name.endswith("Param"):
            fields[name.removesuffix("Param")] = resolve(value, params)
        elif name == "templateParams":
            fields[name] = {k: resolve(v, params) for k, v in (value or {}).items()}
        elif name != "opcode":
            fields[name] = value
    return Operation(operation["opcode"], index, fields)


def resolve(value: Any, params: Mapping[str, Any]) -> Any:
    """Return what ``$name`` or ``$name|default`` stands for; other values stand for themselves.

    Raises InputError when there is neither a parameter nor a default.
    """
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    name, bar, default = value[1:].partition("|")
    if name in params:
        return params[name]
    if bar:
        return yaml.safe_load(default) if default else None
    raise InputError(f"parameter {name!r} is missing")


def parse_duration_s(value: Any) -> float:
    """Return a duration as Go writes it (``1m30s``, ``10s``, 0) in seconds. Raises InputError."""
    if isinstance(value, int | float):
        return float(value)
    text = str(value)
    found = _DURATION.findall(text)
    if text != "0" and "".join(n + u for n, u in found) != text:
        raise InputError(f"{text!r} is not a duration")
    return sum(float(number) * _UNITS_S[unit] for number, unit in found)
