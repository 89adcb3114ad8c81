"""The caches that the workload controllers share: each resource is watched and decoded once for all of them."""

from apportion.api.core import Node
from apportion.api.decode import decode_as
from apportion.client import Transport, Watches
from apportion.controllers.object_cache import ObjectCache
from apportion.controllers.workload_objects import Pod, Workload, decode_pod, decode_workload, is_settled


class Informers:
    """Caches by resource; nothing is watched before ``start`` of a cache."""

    def __init__(self, transport: Transport) -> None:
        self.transport = Watches(transport)
        self.pods: ObjectCache[Pod] = ObjectCache(self.transport, "pods", decode_pod, is_settled)
        self._workloads: dict[str, ObjectCache[Workload]] = {}
        self.nodes: ObjectCache[Node] = ObjectCache(self.transport, "nodes", lambda raw: decode_as(Node, bytes(raw)))

    def get(self, resource: str) -> ObjectCache[Workload]:
        """Return the cache of a resource whose objects are kept as trees."""
        if resource not in self._workloads:
            self._workloads[resource] = ObjectCache(self.transport, resource, decode_workload)
        return self._workloads[resource]
