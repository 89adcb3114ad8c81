"""Pods as the scheduler keeps them: what many pods share is parsed once.

Three levels. A ``PodTemplate`` is what one pod spec means; pods of one workload share it. A ``PodKind`` adds
namespace, labels and controller: what plugins read of a pod, without its name. A ``PodInfo`` is one pod.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final
from weakref import WeakValueDictionary

import msgspec
from msgspec import Raw

from apportion.api.core import PodSpec, PodStatus
from apportion.api.extended_resources import is_extended_name
from apportion.api.node_allocatable import sum_footprints
from apportion.api.pod_requests import list_pod_level, nonzero_requests, pod_requests, scored_requests
from apportion.api.view import Condition, OwnerReference, View
from apportion.sched.state.counts import LabelGroup, LabelGroups
from apportion.sched.state.ports import host_ports

TEMPLATES_MAX: Final = 20_000
_NODE_NAME: Final = b'"nodeName":"'


class Usage:
    """What a pod takes from a node: ``amounts`` is ((resource id, amount), ...) in column units, zeros left out.

    ``nonzero`` is (cpu milli, memory bytes) as counted for pods on a node when scoring, with defaults for
    containers without requests; ``scored`` is the same as assumed for the pod that is being placed.
    """

    __slots__ = ("amounts", "id", "nonzero", "requests", "scored")

    def __init__(
        self,
        id: int,
        requests: tuple[tuple[str, int], ...],
        amounts: tuple[tuple[int, int], ...],
        nonzero: tuple[int, int],
        scored: tuple[int, int],
    ) -> None:
        self.id = id
        self.requests = requests
        self.amounts = amounts
        self.nonzero = nonzero
        self.scored = scored


class PodTemplate:
    """One distinct pod spec, without the node name."""

    __slots__ = ("extended_resources", "facts", "host_ports", "id", "spec", "usage")

    def __init__(self, id: int, spec: PodSpec, usage: Usage) -> None:
        self.id = id
        self.spec = spec
        self.usage = usage
        # names of resources that devices may have to serve
        self.extended_resources = tuple(name for name, _ in usage.requests if is_extended_name(name))
        self.host_ports = host_ports(spec)
        self.facts: dict[str, object] = {}  # what plugins parsed out of the spec, by plugin name


class PodKind:
    """A template in a namespace with a label set and a controller: everything plugins read but the name.

    ``plan`` belongs to the framework: how to judge pods of this kind, kept until ``plan_epoch`` is out of date.
    """

    __slots__ = ("__weakref__", "group", "id", "namespace", "owner", "plan", "plan_epoch", "template")

    def __init__(self, id: int, template: PodTemplate, group: LabelGroup, owner: tuple[str, str]) -> None:
        self.id = id
        self.template = template
        self.group = group
        self.namespace = group.namespace
        self.owner = owner
        self.plan: object = None
        self.plan_epoch = -1


class PodInfo:
    """One pod. Never changed after it was read, except for ``row`` while it is assumed or bound."""

    __slots__ = (
        "claim_statuses",
        "condition",
        "creation",
        "generation",
        "key",
        "kind",
        "name",
        "namespace",
        "node_name",
        "nominated_node_name",
        "phase",
        "priority",
        "resource_version",
        "row",
        "scheduler_name",
        "spec_hash",
        "start_time",
        "terminating",
        "uid",
        "usage",
    )

    def __init__(self, head: "PodHead", kind: PodKind, usage: Usage, node_name: str, spec_hash: int) -> None:
        meta, spec = head.metadata, kind.template.spec
        self.uid = meta.uid
        self.namespace = meta.namespace
        self.name = meta.name
        self.key = f"{meta.namespace}/{meta.name}"
        self.kind = kind
        self.usage = usage
        self.priority = spec.priority or 0
        self.scheduler_name = spec.scheduler_name
        self.node_name = node_name
        self.row = -1
        self.spec_hash = spec_hash  # of its bytes
        self.resource_version = meta.resource_version
        self.creation = meta.creation_timestamp or ""
        self.generation = meta.generation
        self.terminating = meta.deletion_timestamp is not None
        status = head.status
        self.phase = status.phase
        self.start_time = status.start_time
        self.nominated_node_name = status.nominated_node_name
        self.claim_statuses = status.resource_claim_statuses
        # why it was not scheduled, as the API has it; of no interest once it has a node
        self.condition = None if node_name else _find_scheduled(status.conditions)

    def says(self, head: "PodHead") -> bool:
        """Return whether a head of the same spec, labels and owner says nothing else than this pod with a node."""
        meta, status = head.metadata, head.status
        return (
            status.phase == self.phase
            and (meta.deletion_timestamp is not None) == self.terminating
            and status.start_time == self.start_time
            and meta.generation == self.generation
            and status.nominated_node_name == self.nominated_node_name
            and status.resource_claim_statuses == self.claim_statuses
        )

    @property
    def spec(self) -> PodSpec:
        """The spec that this pod shares with the others of its template; it names no node."""
        return self.kind.template.spec

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pod."""
        return self.kind.group.labels

    @property
    def is_terminal(self) -> bool:
        """Whether the pod has ended; such a pod holds nothing any more."""
        return self.phase in ("Succeeded", "Failed")

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


def _find_scheduled(conditions: tuple[Condition, ...]) -> Condition | None:
    for condition in conditions:
        if condition.type == "PodScheduled":
            return condition
    return None


class PodMeta(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class PodHead(View):
    """A pod whose spec is left as bytes, to be looked up among those met before."""

    metadata: PodMeta = PodMeta()
    spec: Raw = Raw(b"{}")
    status: PodStatus = PodStatus()


class _SpecHead(View):
    node_name: str = ""


_NO_OWNER: Final = ("", "")
_DECODE_HEAD: Final = msgspec.json.Decoder(PodHead).decode
_DECODE_SPEC: Final = msgspec.json.Decoder(PodSpec).decode
_DECODE_SPEC_HEAD: Final = msgspec.json.Decoder(_SpecHead).decode


def _cut_node_name(raw: bytes, name: str) -> bytes:
    """Return the spec without its node name, so that a bound pod finds the template of its pending self.

    Only a key for looking up: when the bytes are laid out otherwise, or say the like elsewhere, they stay as they are,
    and the spec is decoded and compared instead.
    """
    start = raw.find(_NODE_NAME)
    end = start + len(_NODE_NAME) + len(name) + 1
    if raw[start + len(_NODE_NAME) : end] != b'%b"' % name.encode() or raw.find(_NODE_NAME, end) >= 0:
        return raw
    if raw[end : end + 1] == b",":
        return raw[:start] + raw[end + 1 :]
    return raw[: start - 1] + raw[end:] if raw[start - 1 : start] == b"," else raw[:start] + raw[end:]


class PodReader:
    """Turns pods in JSON into ``PodInfo``; about 5 µs for a pod whose spec bytes were met before."""

    def __init__(self, resource_id: Callable[[str], int], groups: LabelGroups) -> None:
        self._resource_id = resource_id
        self._groups = groups
        self._by_bytes: OrderedDict[bytes, PodTemplate] = OrderedDict()
        self._by_content: dict[bytes, PodTemplate] = {}
        self._kinds: WeakValueDictionary[tuple[int, int, tuple[str, str]], PodKind] = WeakValueDictionary()
        self._kind_ids = 0
        self._usages: dict[object, Usage] = {}
        self._template_ids = 0

    def read(self, raw: bytes | Raw) -> PodInfo:
        """Return the pod that ``raw`` describes. Raises msgspec.ValidationError for a wrong type."""
        return self.from_head(_DECODE_HEAD(raw))

    def read_tree(self, tree: Mapping[str, object]) -> PodInfo:
        """Return the pod of a tree (JSON values in Python form)."""
        return self.read(msgspec.json.encode(tree))

    def from_head(self, head: PodHead, known: PodInfo | None = None) -> PodInfo:
        """Return the pod of a decoded head. ``known``: the pod as the API had it before.

        Most changes are of its status; what follows from the rest is then taken from ``known``. When nothing that is
        read of a pod with a node has changed ``known`` itself is returned, with the new resource version.
        """
        spec = bytes(head.spec)
        spec_hash = hash(spec)
        if known is not None and known.spec_hash == spec_hash and _is_same_kind(head.metadata, known):
            usage = self._usage_of(known.kind.template, head.status)
            if known.node_name and usage is known.usage and known.says(head):
                known.resource_version = head.metadata.resource_version
                return known
            return PodInfo(head, known.kind, usage, known.node_name, spec_hash)
        node_name = ""
        if _NODE_NAME in spec:
            node_name = _DECODE_SPEC_HEAD(spec).node_name
            spec = _cut_node_name(spec, node_name)
        template = self._by_bytes.get(spec) or self._read_template(spec, head.spec)
        meta = head.metadata
        group = self._groups.group(meta.namespace, meta.labels)
        owner = _controller(meta.owner_references) if meta.owner_references else _NO_OWNER
        key = (template.id, group.id, owner)
        kind = self._kinds.get(key)
        if kind is None:
            kind = PodKind(self._kind_ids, template, group, owner)
            self._kind_ids += 1
            self._kinds[key] = kind
        return PodInfo(head, kind, self._usage_of(template, head.status), node_name, spec_hash)

    def _usage_of(self, template: PodTemplate, status: PodStatus) -> Usage:
        footprints = status.node_allocatable_resource_claim_statuses
        if footprints or status.container_statuses or status.init_container_statuses:
            return self._resized_usage(template, status)
        return template.usage

    def _read_template(self, key: bytes, raw: bytes | Raw) -> PodTemplate:
        spec = msgspec.structs.replace(_DECODE_SPEC(raw), node_name="")
        spec = msgspec.structs.replace(
            spec,
            volumes=tuple(v for v in spec.volumes if v.matters),
        )
        content = msgspec.json.encode(spec)
        template = self._by_content.get(content)
        if template is None:
            if len(self._by_content) >= TEMPLATES_MAX:
                self._by_content.clear()  # only sharing is lost: templates in use live on in their pods
            template = PodTemplate(self._template_ids, spec, self._usage(spec, None))
            self._template_ids += 1
            self._by_content[content] = template
        self._by_bytes[key] = template
        if len(self._by_bytes) > TEMPLATES_MAX:
            self._by_bytes.popitem(last=False)
        return template

    def _resized_usage(self, template: PodTemplate, status: PodStatus) -> Usage:
        """Return what a running pod takes: the kubelet's allocation counts while a resize is under way."""
        footprints = status.node_allocatable_resource_claim_statuses
        is_resized = any(c.resources or c.allocated_resources for c in status.container_statuses)
        if not is_resized and not footprints:
            return template.usage
        return self._usage(template.spec, status if is_resized else None, sum_footprints(footprints))

    def add_to_usage(self, template: PodTemplate, extra: Mapping[str, int]) -> Usage:
        """Return what a pod takes together with what its devices take of the node (amounts in column units)."""
        return self._usage(template.spec, None, extra)

    def _usage(self, spec: PodSpec, status: PodStatus | None, extra: Mapping[str, int] | None = None) -> Usage:
        total = pod_requests(spec, status)
        nonzero, scored = nonzero_requests(spec, status), scored_requests(spec, status)
        if extra:
            whole = list_pod_level(spec)  # what the pod asks for as a whole covers what its devices take
            extra = {name: amount for name, amount in extra.items() if name not in whole}
            nonzero = (nonzero[0] + extra.get("cpu", 0), nonzero[1] + extra.get("memory", 0))
            total |= {name: total.get(name, 0) + amount for name, amount in extra.items()}
        requests = tuple(sorted((n, v) for n, v in total.items() if v))
        key = (requests, nonzero, scored)
        usage = self._usages.get(key)
        if usage is None:
            amounts = tuple((self._resource_id(name), value) for name, value in requests if name != "pods")
            usage = self._usages[key] = Usage(len(self._usages), requests, amounts, nonzero, scored)
        return usage


def _is_same_kind(meta: PodMeta, known: PodInfo) -> bool:
    owner = _controller(meta.owner_references) if meta.owner_references else _NO_OWNER
    return (known.namespace, known.kind.owner) == (meta.namespace, owner) and known.labels == meta.labels


def _controller(owners: tuple[OwnerReference, ...]) -> tuple[str, str]:
    for owner in owners:
        if owner.controller:
            return owner.kind, owner.name
    return _NO_OWNER
