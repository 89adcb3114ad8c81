"""Discovery: which groups, versions and resources there are, in the old and in the aggregated form."""

from base64 import b64encode
from hashlib import sha256
from typing import Final

import orjson

from apportion.api import Tree
from apportion.server.resources import RESOURCES, Resource

_AGGREGATED: Final = "as=APIGroupDiscoveryList"
AGGREGATED_TYPE: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_CHANGE: Final = ("get", "patch", "update")
# subresource -> its kind's group, version and name (None: those of the object), verbs
_SUBRESOURCES: Final[dict[str, tuple[tuple[str, str, str] | None, tuple[str, ...]]]] = {
    "binding": (("", "v1", "Binding"), ("create",)),
    "eviction": (("policy", "v1", "Eviction"), ("create",)),
    "resize": (None, _CHANGE),
    "finalize": (None, ("update",)),
    "scale": (("autoscaling", "v1", "Scale"), _CHANGE),
    "status": (None, _CHANGE),
}
# Where the original stores objects in another version than we do; the hash is a name for clients, no more.
_KEPT_IN_ETCD_AS: Final = {"DeviceTaintRule": "v1beta2"}
VERSION: Final = {
    "major": "1",
    "minor": "37",
    "emulationMajor": "1",
    "emulationMinor": "37",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "36",
    "gitVersion": "v1.37.0+apportion",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "any",
}


def list_groups() -> dict[str, list[str]]:
    """Return the versions of each group, the preferred one first; the core group is ""."""
    groups: dict[str, list[str]] = {}
    for resource in RESOURCES:
        versions = groups.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)
    return {g: sorted(v, key=_rank_version) for g, v in groups.items()}


def _rank_version(version: str) -> tuple[int, str]:
    """Stable before beta before alpha, the newer first."""
    maturity = 2 if "alpha" in version else 1 if "beta" in version else 0
    return maturity, "".join(chr(255 - ord(c)) for c in version)


def find_discovery(path: str, accept: str) -> tuple[bytes, str] | None:
    """Return the document under a path and its content type, or None when the path is none of discovery's."""
    parts = path.strip("/").split("/")
    if parts in (["api"], ["apis"]) and _AGGREGATED in accept:
        return orjson.dumps(_aggregate(parts[0])), AGGREGATED_TYPE
    document = _find_document(parts)
    return None if document is None else (orjson.dumps(document), "application/json")


def _find_document(parts: list[str]) -> Tree | None:
    groups = list_groups()
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if parts == ["apis"]:
        listed = [_describe_group(g, v) for g, v in groups.items() if g]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
    if len(parts) == 2 and parts[0] == "apis" and parts[1] in groups and parts[1]:
        return {"kind": "APIGroup", "apiVersion": "v1", **_describe_group(parts[1], groups[parts[1]])}
    if parts == ["api", "v1"]:
        return {"kind": "APIResourceList", "groupVersion": "v1", "resources": _list_resources("", "v1")}
    if len(parts) == 3 and parts[0] == "apis" and parts[2] in groups.get(parts[1], ()):
        head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{parts[1]}/{parts[2]}"}
        return {**head, "resources": _list_resources(parts[1], parts[2])}
    return None


def _describe_group(group: str, versions: list[str]) -> Tree:
    described = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
    return {"name": group, "versions": described, "preferredVersion": described[0]}


def _of_version(group: str, version: str) -> list[Resource]:
    found = (r for r in RESOURCES if r.group == group and r.version == version)
    return sorted(found, key=lambda r: r.plural)


def _list_resources(group: str, version: str) -> list[Tree]:
    listed: list[Tree] = []
    for r in _of_version(group, version):
        entry: Tree = {"name": r.plural, "singularName": r.kind.name.lower(), "namespaced": r.kind.namespaced}
        entry.update({"kind": r.kind.name, "verbs": r.verbs, **_describe_names(r)})
        entry["storageVersionHash"] = _hash_storage_version(r)
        listed.append(entry)
        for name in r.subresources:
            kind, verbs = _SUBRESOURCES[name]
            other = {} if kind is None else {k: v for k, v in zip(("group", "version"), kind, strict=False) if v}
            if kind is not None and kind[0] == "":
                other = {}
            part: Tree = {"name": f"{r.plural}/{name}", "singularName": "", "namespaced": r.kind.namespaced, **other}
            listed.append({**part, "kind": r.kind.name if kind is None else kind[2], "verbs": verbs})
    return listed


def _hash_storage_version(resource: Resource) -> str:
    """Source: StorageVersionHash in apiserver/pkg/endpoints/discovery."""
    version = _KEPT_IN_ETCD_AS.get(resource.kind.name, resource.storage_version.rpartition("/")[2])
    stored = f"{resource.group}/{version}/{resource.kind.name}"
    return b64encode(sha256(stored.encode()).digest()[:8]).decode()


def _describe_names(resource: Resource) -> Tree:
    names: Tree = {}
    if resource.short_names:
        names["shortNames"] = resource.short_names
    if resource.categories:
        names["categories"] = resource.categories
    return names


def _aggregate(root: str) -> Tree:
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {"version": v, "resources": [_aggregate_one(r) for r in _of_version(group, v)], "freshness": "Current"}
                for v in versions
            ],
        }
        for group, versions in list_groups().items()
        if bool(group) is (root == "apis")
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregate_one(resource: Resource) -> Tree:
    own = {"group": resource.group, "version": resource.version, "kind": resource.kind.name}
    parts = []
    for name in resource.subresources:
        kind, verbs = _SUBRESOURCES[name]
        response = own if kind is None else dict(zip(("group", "version", "kind"), kind, strict=True))
        parts.append({"subresource": name, "responseKind": response, "verbs": verbs})
    entry: Tree = {
        "resource": resource.plural,
        "responseKind": own,
        "scope": "Namespaced" if resource.kind.namespaced else "Cluster",
        "singularResource": resource.kind.name.lower(),
        "verbs": resource.verbs,
        **_describe_names(resource),
    }
    return {**entry, "subresources": parts} if parts else entry
