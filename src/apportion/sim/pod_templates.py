"""What all workloads share: reading a pod template, and making pods and child workloads from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from apportion.api.defaults import set_template_defaults
from apportion.api.kinds import Tree
from apportion.api.validation import validate_pod_template
from apportion.base import InputError, ValidationError

_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193
_SAFE_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
COUNT_MAX: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Child:
    """An object that a workload makes. A name that ends in ``-`` is a prefix, to which five characters are
    added.

    A prefix stands for ``count`` objects, from which those that exist already are subtracted; a full name for
    one, unless it exists. ``node`` is the node that a daemon pod is for.
    """

    tree: Tree
    name: str
    count: int = 1
    node: str = ""


class InvalidTemplateError(ValidationError):
    """A workload cannot be expanded; ``problems`` lists every field that is wrong."""

    def __init__(self, problems: list[ValidationError]) -> None:
        super().__init__(problems[0].field, problems[0].detail)
        self.problems = problems


def read_object(tree: Tree, *path: str) -> Tree:
    """Return the object at ``path``, {} when a part is absent; ValidationError when one is no object."""
    for i, name in enumerate(path):
        child = tree.get(name)
        if child is None:
            return {}
        if not isinstance(child, dict):
            raise ValidationError(".".join(path[: i + 1]), "must be an object")
        tree = child
    return tree


def read_list(tree: Tree, *path: str) -> list[Tree]:
    """Return the list of objects at ``path``, empty when absent; raises ValidationError for another type."""
    value = read_object(tree, *path[:-1]).get(path[-1])
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise ValidationError(".".join(path), "must be a list of objects")
    return value


def read_count(spec: Tree, name: str, default: int, path: str = "spec") -> int:
    """Return a number of replicas; raises ValidationError unless it is an integer from 0 to 2^31 - 1."""
    value = spec.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= COUNT_MAX:
        raise ValidationError(f"{path}.{name}", f"Invalid value: {value!r}: must be an integer of 0 or more")
    return value


def read_template(owner: Tree, template: Any, path: str) -> Tree:
    """Return the pod template with defaults; raises InvalidTemplateError with all that is wrong with it."""
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        raise ValidationError(path, f"Required value: {owner['kind']} needs a pod template with a spec")
    try:
        completed = set_template_defaults(template)
    except InputError as error:
        raise ValidationError(path, str(error)) from None
    problems = validate_pod_template(completed, path)
    if problems:
        raise InvalidTemplateError(problems)
    return completed


def owner_of(tree: Tree) -> Tree:
    """Return the controller reference that children of ``tree`` carry."""
    return {
        "apiVersion": tree["apiVersion"],
        "kind": tree["kind"],
        "name": tree["metadata"]["name"],
        "uid": tree["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def make_pod(
    owner: Tree,
    template: Tree,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Tree:
    """Return a pod without a name: the template's, with the given labels, annotations and spec fields over
    it.

    The parts of its spec are shared with the template; nobody changes a tree in place.
    """
    metadata = _metadata_of(template, labels, annotations)
    metadata["namespace"] = owner["metadata"]["namespace"]
    metadata["ownerReferences"] = [owner_of(owner)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**template["spec"], **spec} if spec else template["spec"],
        "status": {"phase": "Pending"},
    }


def label_template(template: Tree, labels: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> Tree:
    """Return the template with more labels and annotations on its pods."""
    return {**template, "metadata": _metadata_of(template, labels, annotations)}


def _metadata_of(
    template: Tree, labels: Mapping[str, str] | None, annotations: Mapping[str, str] | None
) -> dict[str, Any]:
    own = template.get("metadata") or {}
    metadata: dict[str, Any] = {}
    all_labels = {**(own.get("labels") or {}), **(labels or {})}
    all_annotations = {**(own.get("annotations") or {}), **(annotations or {})}
    if all_labels:
        metadata["labels"] = all_labels
    if all_annotations:
        metadata["annotations"] = all_annotations
    return metadata


def make_workload(
    owner: Tree, api_version: str, kind: str, spec: Tree, labels: Mapping[str, str] | None = None
) -> Tree:
    """Return a workload without a name that ``owner`` controls."""
    metadata: dict[str, Any] = {
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [owner_of(owner)],
    }
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def hash_template(template: Tree) -> str:
    """Return a short hash in the alphabet of pod-template-hash; equal templates have equal hashes."""
    value = _FNV_OFFSET
    for byte in orjson.dumps(template, option=orjson.OPT_SORT_KEYS):
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return "".join(_SAFE_ALPHABET[ord(c) % len(_SAFE_ALPHABET)] for c in str(value))


def check_selector(spec: Tree, template: Tree) -> None:
    """Raise ValidationError unless the pods of the template match the workload's own selector."""
    wanted = read_object(spec, "selector", "matchLabels")
    labels = read_object(template, "metadata", "labels")
    if any(labels.get(k) != v for k, v in wanted.items()):
        printed = orjson.dumps(labels).decode()
        raise ValidationError(
            "spec.template.metadata.labels",
            f"Invalid value: {printed}: `selector` does not match template `labels`",
        )
