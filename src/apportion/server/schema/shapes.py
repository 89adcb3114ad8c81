"""The table of fields, decoded once and linked type by type when one is first asked for."""

from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

import orjson

OBJECT: Final = "object"
LIST: Final = "list"
MAP: Final = "map"
ANY: Final = "*"


@dataclass(slots=True)
class Shape:
    """What may stand in one place. ``code`` is a letter of the table for scalars, else OBJECT, LIST, MAP or ANY.

    ``merge_key`` belongs to lists: None when a strategic merge patch replaces the list, "" when it merges plain
    items, else the field that identifies an item.
    """

    code: str
    type_name: str = ""
    fields: dict[str, "Shape"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    item: "Shape | None" = None
    merge_key: str | None = None
    always: tuple[str, ...] = ()  # fields that are null rather than absent


_SCALARS: Final = {code: Shape(code) for code in "sinbqxty*"}
# The table does not tell bytes, which are base64 in JSON, from text.
_BYTES: Final = {"core.v1.ConfigMap": "binaryData", "core.v1.Secret": "data"}
# The table does not tell apart the two types that can be anything.
_RAW: Final = Shape(ANY, "runtime.RawExtension")
_ANYTHING: Final = {"fieldsV1": Shape(ANY, "meta.v1.FieldsV1")}


@cache
def _load() -> dict[str, Any]:
    raw = resources.files(__package__).joinpath("table.json").read_bytes()
    table: dict[str, Any] = orjson.loads(raw)
    return table


@cache
def find_shape(api_version: str, kind: str) -> Shape | None:
    """Return the shape of a kind in one version, or None when it is not in the table."""
    name = _load()["kinds"].get(f"{api_version}/{kind}")
    return None if name is None else get_type(name)


def list_versions(group: str, kind: str) -> list[str]:
    """Return the versions of a kind that the table knows, in no particular order."""
    kinds = _load()["kinds"]
    if not group:
        return ["v1"] if f"v1/{kind}" in kinds else []
    parts = (k.split("/") for k in kinds)
    return [p[1] for p in parts if len(p) == 3 and p[0] == group and p[2] == kind]


def get_document(field_name: str) -> str:
    """Return the text that Kubernetes documents a field with; raises KeyError when the table lacks it."""
    text: str = _load()["docs"][field_name]
    return text


_TYPES: Final[dict[str, Shape]] = {}
# Times that Go keeps as a value and not behind a pointer are written as null when they are not set.
_ALWAYS_WRITTEN: Final = {
    "PodCondition": ("lastProbeTime", "lastTransitionTime"),
    "PersistentVolumeClaimCondition": ("lastProbeTime", "lastTransitionTime"),
    "NodeCondition": ("lastHeartbeatTime", "lastTransitionTime"),
    "NamespaceCondition": ("lastTransitionTime",),
    "ReplicationControllerCondition": ("lastTransitionTime",),
    "ReplicaSetCondition": ("lastTransitionTime",),
    "StatefulSetCondition": ("lastTransitionTime",),
    "DaemonSetCondition": ("lastTransitionTime",),
    "DeploymentCondition": ("lastUpdateTime", "lastTransitionTime"),
    "JobCondition": ("lastProbeTime", "lastTransitionTime"),
    "ContainerStateRunning": ("startedAt",),
    "ContainerStateTerminated": ("startedAt", "finishedAt"),
}


def get_type(name: str) -> Shape:
    """Return the shape of a type by its name in the table; raises KeyError when the table lacks it."""
    known = _TYPES.get(name)
    if known is not None:
        return known
    entry = _load()["types"][name]
    if entry == ANY:
        return _TYPES.setdefault(name, Shape(ANY, name))
    fields, required = entry
    always = _ALWAYS_WRITTEN.get(name.rpartition(".")[2], ())
    # before its fields: types recur
    shape = _TYPES[name] = Shape(OBJECT, name, required=frozenset(required), always=always)
    if name in _BYTES:
        fields = {**fields, _BYTES[name]: ["{", "y"]}
    shape.fields.update({n: _ANYTHING.get(n, _RAW) if f == ANY else _link(f) for n, f in fields.items()})
    return shape


@cache
def _load_numbers() -> dict[str, dict[str, str]]:
    raw = resources.files(__package__).joinpath("protobuf.json").read_bytes()
    table: dict[str, dict[str, str]] = orjson.loads(raw)["types"]
    return table


def find_field(type_name: str, number: int) -> tuple[str, str]:
    """Return the JSON name and the flags of a protobuf field of a type; two empty texts when there is none.

    The flags are explained in ``scripts/generate_protobuf.py``.
    """
    name, _, flags = _load_numbers().get(type_name, {}).get(str(number), "").partition(":")
    return name, flags


def _link(entry: Any) -> Shape:
    if isinstance(entry, str):
        return get_type(entry[1:]) if entry[0] == "@" else _SCALARS[entry]
    if entry[0] == "{":
        return Shape(MAP, item=_link(entry[1]))
    return Shape(LIST, item=_link(entry[1]), merge_key=entry[2])
