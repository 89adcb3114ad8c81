"""The resources that are served: one row for each kind and version, with what discovery says of it."""

from dataclasses import dataclass, field
from functools import cache
from typing import Final

from apportion.api import KINDS, Kind
from apportion.server.schema import Shape, find_shape, list_versions

_ALL: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SHORT_NAMES: Final = {
    "configmaps": ("cm",), "endpoints": ("ep",), "events": ("ev",), "limitranges": ("limits",),
    "namespaces": ("ns",), "nodes": ("no",), "persistentvolumeclaims": ("pvc",), "persistentvolumes": ("pv",),
    "pods": ("po",), "replicationcontrollers": ("rc",), "resourcequotas": ("quota",),
    "serviceaccounts": ("sa",), "services": ("svc",), "daemonsets": ("ds",), "deployments": ("deploy",),
    "replicasets": ("rs",), "statefulsets": ("sts",), "cronjobs": ("cj",), "poddisruptionbudgets": ("pdb",),
    "priorityclasses": ("pc",), "storageclasses": ("sc",), "ingresses": ("ing",), "networkpolicies": ("netpol",),
    "horizontalpodautoscalers": ("hpa",),
}  # fmt: skip
_IN_ALL: Final = frozenset({
    "pods", "replicationcontrollers", "services", "daemonsets", "deployments", "replicasets", "statefulsets",
    "cronjobs", "jobs", "horizontalpodautoscalers",
})  # fmt: skip
_SCALED: Final = frozenset({"deployments", "replicasets", "statefulsets", "replicationcontrollers"})
_WITHOUT_STATUS: Final = frozenset({("", "Event")})
# Who answers a deletion with the object instead of with a Status.
_RETURNS_DELETED: Final = frozenset({"pods", "services", "serviceaccounts", "persistentvolumes", "podtemplates",
                                     "persistentvolumeclaims", "resourcequotas", "replicationcontrollers"})  # fmt: skip
_RETURNING_GROUPS: Final = frozenset({"resource.k8s.io", "storage.k8s.io"})


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one served version. ``storage`` names its objects in the store, whatever the version."""

    kind: Kind
    version: str
    shape: Shape
    storage: str
    subresources: tuple[str, ...]
    api_version: str = field(init=False)
    is_preferred: bool = field(init=False)  # whether objects are stored in this version

    @property
    def path(self) -> tuple[str, str]:
        """What names the resource in this version."""
        return self.api_version, self.kind.plural

    @property
    def group(self) -> str:
        return self.kind.group

    @property
    def plural(self) -> str:
        return self.kind.plural

    def __post_init__(self) -> None:
        api_version = f"{self.kind.group}/{self.version}" if self.kind.group else self.version
        # asked for with every request
        object.__setattr__(self, "api_version", api_version)
        object.__setattr__(self, "is_preferred", api_version == self.storage_version)

    @property
    def storage_version(self) -> str:
        return "v1" if self.kind.name == "Event" else self.kind.api_version

    @property
    def verbs(self) -> tuple[str, ...]:
        # the original does not offer to delete all namespaces at once
        return tuple(v for v in _ALL if v != "deletecollection" or self.plural not in ("namespaces", "services"))

    @property
    def short_names(self) -> tuple[str, ...]:
        return _SHORT_NAMES.get(self.plural, ())

    @property
    def categories(self) -> tuple[str, ...]:
        return ("all",) if self.plural in _IN_ALL else ()

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources

    @property
    def returns_deleted(self) -> bool:
        return self.plural in _RETURNS_DELETED or self.group in _RETURNING_GROUPS


def _list_subresources(kind: Kind, shape: Shape) -> tuple[str, ...]:
    found = []
    if kind.plural == "pods":
        found += ["binding", "eviction", "resize"]
    if kind.plural == "namespaces":
        found.append("finalize")
    if kind.plural in _SCALED:
        found.append("scale")
    if "status" in shape.fields and (kind.group, kind.name) not in _WITHOUT_STATUS:
        found.append("status")
    return tuple(found)


def _list_resources() -> tuple[Resource, ...]:
    found = []
    for kind in KINDS:
        known = list_versions(kind.group, kind.name)
        for version in (v for v in kind.versions if v in known):
            shape = find_shape(f"{kind.group}/{version}" if kind.group else version, kind.name)
            assert shape is not None
            # core and events.k8s.io show the same events
            storage = "events" if kind.name == "Event" else f"{kind.plural}.{kind.group}".rstrip(".")
            found.append(Resource(kind, version, shape, storage, _list_subresources(kind, shape)))
    return tuple(found)


RESOURCES: Final = _list_resources()
_GROUP_VERSIONS: Final = frozenset((r.group, r.version) for r in RESOURCES)
_BY_PATH: Final = {(r.group, r.version, r.plural): r for r in RESOURCES}


def find_resource(group: str, version: str, plural: str) -> Resource | None:
    """Return what is served under a path, or None."""
    return _BY_PATH.get((group, version, plural))


@cache
def get_resource(name: str) -> Resource:
    """Return the resource of a plural in the version in which it is stored, or of ``plural.group`` as kubectl has it.

    Raises KeyError when it is not served.
    """
    plural, _, group = name.partition(".")
    for resource in RESOURCES:
        if resource.plural == plural and (resource.group == group if group else resource.is_preferred):
            return resource
    raise KeyError(name)


def has_group_version(group: str, version: str) -> bool:
    return (group, version) in _GROUP_VERSIONS
