"""The objects of the workload controllers: pods with what the controllers ask of them, and everything else as trees."""

from functools import cached_property
from typing import Any, Final

import msgspec
import orjson
from msgspec import Raw

from apportion.api import Tree, compile_label_selector, decode_as
from apportion.api.selectors import LabelMatcher
from apportion.api.view import Condition, LabelSelector, ObjectMeta, View
from apportion.controllers.times import parse_time

DONE: Final = ("Succeeded", "Failed")
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


class Terminated(View):
    exit_code: int = 0
    finished_at: str | None = None


class _ContainerState(View):
    terminated: Terminated | None = None


class ContainerStatus(View):
    name: str = ""
    restart_count: int = 0
    state: _ContainerState = _ContainerState()


class _PodSpec(View):
    node_name: str = ""
    restart_policy: str = "Always"
    affinity: Raw = Raw(b"null")
    volumes: Raw = Raw(b"[]")
    hostname: str = ""
    subdomain: str = ""


class _PodStatus(View):
    phase: str = "Pending"
    reason: str = ""
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class _PodView(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


_POD: Final = msgspec.json.Decoder(_PodView).decode


class Pod:
    """A pod, with the answers to what is asked at every look worked out once."""

    __slots__ = (
        "_selector", "is_active", "is_ready", "is_terminating", "metadata", "phase", "ready_since", "spec", "status",
    )  # fmt: skip

    def __init__(self, view: _PodView) -> None:
        self.metadata = view.metadata
        self.spec = view.spec
        self.status = view.status
        self._selector: LabelMatcher | None = None  # the last that matched
        self.phase = view.status.phase
        is_deleted = view.metadata.deletion_timestamp is not None
        self.is_active = self.phase not in DONE and not is_deleted
        self.is_terminating = self.phase not in DONE and is_deleted
        ready = self.find_condition("Ready")
        self.is_ready = ready is not None and ready.status == "True"
        self.ready_since = (ready.last_transition_time or "") if ready is not None and self.is_ready else ""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def is_deleted(self) -> bool:
        """Whether somebody has deleted the pod, finished or not."""
        return self.metadata.deletion_timestamp is not None

    @property
    def deletion_cost(self) -> int:
        """What others say about which pod should go first; 0 when they say nothing that is a number."""
        text = self.metadata.annotations.get(DELETION_COST, "0")
        try:
            return int(text)
        except ValueError:
            return 0

    @property
    def restarts(self) -> int:
        """How often the container that was restarted most often was restarted."""
        return max((s.restart_count for s in self.status.container_statuses), default=0)

    def is_selected_by(self, matcher: LabelMatcher) -> bool:
        """Return whether a selector selects the pod; asking again costs nothing."""
        if self._selector is matcher:
            return True
        if not matcher.matches(self.metadata.labels):
            return False
        self._selector = matcher
        return True

    def find_condition(self, name: str) -> Condition | None:
        """Return a condition of the status."""
        return next((c for c in self.status.conditions if c.type == name), None)

    def get_available_in_s(self, min_ready_s: int, now_s: float) -> float | None:
        """Return in how many seconds a ready pod counts as available, 0 when it does; None when it is not ready."""
        if not self.is_ready:
            return None
        if not min_ready_s:
            return 0.0
        if not self.ready_since:
            return None
        return max(parse_time(self.ready_since) + min_ready_s - now_s, 0.0)

    def is_available(self, min_ready_s: int, now_s: float) -> bool:
        """Return whether the pod has been ready for long enough."""
        return self.get_available_in_s(min_ready_s, now_s) == 0.0


def decode_pod(raw: bytes | Raw) -> Pod:
    """Return the pod in a piece of JSON."""
    return Pod(_POD(raw))


def is_settled(pod: Pod) -> bool:
    """Return whether nothing is left to happen to a pod: it has ended and nobody waits for it."""
    return pod.phase in DONE and not pod.metadata.finalizers


class _Meta(msgspec.Struct, gc=False):
    metadata: ObjectMeta


_META: Final = msgspec.json.Decoder(_Meta).decode


class Workload:
    """An object that owns others, or a revision of one; ``tree`` is not to be changed."""

    def __init__(self, metadata: ObjectMeta, tree: Tree) -> None:
        self.metadata = metadata
        self.tree = tree

    @property
    def key(self) -> str:
        return self.metadata.key

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def spec(self) -> Tree:
        spec: Tree = self.tree.get("spec") or {}
        return spec

    @property
    def status(self) -> Tree:
        status: Tree = self.tree.get("status") or {}
        return status

    @property
    def replicas(self) -> int:
        replicas = self.spec.get("replicas")
        return 1 if replicas is None else int(replicas)

    @property
    def min_ready_s(self) -> int:
        return int(self.spec.get("minReadySeconds") or 0)

    @property
    def is_deleted(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @cached_property
    def matcher(self) -> LabelMatcher:
        """The compiled selector. A ReplicationController's is a plain map of labels, and without it selects nothing."""
        selector = self.spec.get("selector")
        if self.tree.get("kind") == "ReplicationController":
            selector = {"matchLabels": selector} if selector else None
        return compile_label_selector(None if selector is None else decode_as(LabelSelector, orjson.dumps(selector)))

    def is_selected_by(self, matcher: LabelMatcher) -> bool:
        """Return whether a selector selects the object."""
        return matcher.matches(self.metadata.labels)

    def count(self, field: str) -> int:
        """Return a number of the status."""
        return int(self.status.get(field) or 0)


def decode_workload(raw: bytes | Raw) -> Workload:
    """Return the object in a piece of JSON."""
    data = bytes(raw)
    return Workload(_META(data).metadata, orjson.loads(data))


def make_owner_reference(owner: Workload) -> dict[str, Any]:
    """Return the reference by which ``owner`` controls another object."""
    return {
        "apiVersion": owner.tree["apiVersion"],
        "kind": owner.tree["kind"],
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
