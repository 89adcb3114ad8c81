"""Objects for tests, as short as they can be."""

from collections.abc import Callable
from typing import Any

import orjson

from apportion.api.core import Node
from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import ExtenderCalls, Shell
from apportion.sched.state import ClusterState, PodInfo, decode_node

Tree = dict[str, Any]


def node_tree(name: str, cpu: str = "4", memory: str = "8Gi", pods: str = "10", **more: Any) -> Tree:
    """Return a node; ``labels``, ``taints``, ``unschedulable`` and ``extra`` resources may be given."""
    room = {"cpu": cpu, "memory": memory, "pods": pods, **more.pop("extra", {})}
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": more,
        "status": {"allocatable": room},
    }


def make_node(name: str, **more: Any) -> Node:
    """Return the view of a node."""
    return decode_node(orjson.dumps(node_tree(name, **more)))


def pod_tree(name: str, cpu: str = "1", memory: str = "1Gi", node: str = "", **more: Any) -> Tree:
    """Return a pod; ``labels``, ``namespace``, ``uid``, ``status`` and any field of the spec may be given."""
    namespace = more.pop("namespace", "default")
    meta: Tree = {"name": name, "namespace": namespace, "uid": more.pop("uid", f"uid-{namespace}-{name}")}
    if "labels" in more:
        meta["labels"] = more.pop("labels")
    for field in ("deletionTimestamp", "ownerReferences", "annotations"):
        if field in more:
            meta[field] = more.pop(field)
    status = more.pop("status", {})
    requests = {"cpu": cpu, "memory": memory}
    spec: Tree = {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}], **more}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def read_pod(state: ClusterState, name: str, **more: Any) -> PodInfo:
    """Return a pod as the state reads it."""
    return state.reader.read_tree(pod_tree(name, **more))


class Bench:
    """A scheduler over objects in memory, driven by hand."""

    def __init__(
        self,
        config: SchedulerConfig | None = None,
        seed: int = 0,
        extender_calls: ExtenderCalls | None = None,
        perf: Callable[[], float] | None = None,
    ) -> None:
        self.clock = VirtualClock()
        self.transport = MemoryTransport()
        self.state = ClusterState()
        self.scheduler: Scheduler = build_scheduler(
            config or SchedulerConfig(), self.state, FeatureGates.parse(""), self.clock, Rng(seed), perf=perf
        )
        self.shell = Shell(self.scheduler, self.transport, self.clock, extender_calls)
        self.shell.start()

    def put(self, resource: str, *trees: Tree) -> None:
        """Store objects and let the scheduler hear of them."""
        for tree in trees:
            self.transport.put(resource, tree)
        self.deliver()

    def deliver(self) -> None:
        """Hand out everything that lies ready."""
        while self.transport.deliver():
            pass

    def run(self) -> None:
        """Schedule until nothing moves."""
        while True:
            moved = self.scheduler.schedule_one()
            self.shell.send()
            while self.transport.deliver():
                moved = True
                self.shell.send()
            if not moved:
                return

    def node_of(self, name: str, namespace: str = "default") -> str:
        """Return the node that the API shows for a pod."""
        tree = self.transport.find("pods", namespace, name)
        assert tree is not None
        node: str = tree["spec"].get("nodeName", "")
        return node

    def message_of(self, name: str, namespace: str = "default") -> str:
        """Return the message of the pod's PodScheduled condition, without what preemption adds to it."""
        tree = self.transport.find("pods", namespace, name)
        assert tree is not None
        conditions = tree["status"].get("conditions", [])
        message = next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")
        return str(message).split(" preemption:")[0]
