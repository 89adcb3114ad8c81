"""What is measured at the border to the API: how long events take to be taken in, and calls to be answered.

Behaviour: pkg/scheduler/metrics upstream, with the same names, labels and buckets.
"""

from collections import Counter as Tally
from collections.abc import Callable
from typing import Final

from apportion.base.metrics import Counter, Histogram, Reading, exponential
from apportion.sched.framework import BindPod, ClearNomination, Command, NominatePod, PatchPodCondition

_EVENT_S: Final = exponential(0.0001, 2, 12)
_CALL_S: Final = exponential(0.001, 2, 15)
# the calls that upstream knows as such
_CALL_TYPES: Final[dict[type, str]] = {
    BindPod: "pod_binding",
    PatchPodCondition: "pod_status_patch",
    NominatePod: "pod_status_patch",
    ClearNomination: "pod_status_patch",
}
_KINDS: Final = {
    "nodes": "Node",
    "namespaces": "Namespace",
    "resourceclaims": "ResourceClaim",
    "resourceslices": "ResourceSlice",
    "deviceclasses": "DeviceClass",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "storageclasses": "StorageClass",
    "csinodes": "CSINode",
    "csidrivers": "CSIDriver",
    "csistoragecapacities": "CSIStorageCapacity",
    "volumeattachments": "VolumeAttachment",
}
_ACTIONS: Final = {b"A": "Add", b"M": "Update", b"D": "Delete"}
_TYPE_AT: Final = len(b'{"type":"')
_HAS_NODE: Final = b'"nodeName":"'


class ApiMeter:
    """Is told of events and calls; counts those that upstream counts."""

    def __init__(self, perf: Callable[[], float]) -> None:
        self._perf = perf
        self._under_way: dict[int, tuple[str, float]] = {}  # by number: type and when it was sent
        self.event_s = Histogram(
            "scheduler_event_handling_duration_seconds", "How long events of the API take to be taken in.",
            _EVENT_S, ("event",),
        )  # fmt: skip
        self.calls = Counter(
            "scheduler_async_api_call_execution_total", "API calls that were answered.", ("call_type", "result")
        )
        self.call_s = Histogram(
            "scheduler_async_api_call_execution_duration_seconds", "From sending an API call to its answer.",
            _CALL_S, ("call_type", "result"),
        )  # fmt: skip
        self.pending = Reading(
            "scheduler_pending_async_api_calls", "API calls that wait for their answers.", ("call_type",),
            lambda: {(kind,): float(n) for kind, n in Tally(kind for kind, _ in self._under_way.values()).items()},
        )  # fmt: skip

    def watch(self, resource: str, sink: Callable[[bytes], None]) -> Callable[[bytes], None]:
        """Return a sink for the events of a resource that notes how long each takes."""

        def timed(frame: bytes) -> None:
            begun_s = self._perf()
            sink(frame)
            self.event_s.observe(self._perf() - begun_s, (f"{kind}{_ACTIONS.get(frame[_TYPE_AT : _TYPE_AT + 1], '')}",))

        def timed_pod(frame: bytes) -> None:
            begun_s = self._perf()
            sink(frame)
            whose = "AssignedPod" if _HAS_NODE in frame else "UnscheduledPod"
            self.event_s.observe(
                self._perf() - begun_s, (f"{whose}{_ACTIONS.get(frame[_TYPE_AT : _TYPE_AT + 1], '')}",)
            )

        if resource == "pods":
            return timed_pod
        kind = _KINDS.get(resource)
        return sink if kind is None else timed

    def sent(self, number: int, command: Command) -> None:
        """A command leaves for the API."""
        kind = _CALL_TYPES.get(type(command))
        if kind is not None:
            self._under_way[number] = kind, self._perf()

    def answered(self, number: int, is_ok: bool) -> None:
        """The outcome of a command is known."""
        found = self._under_way.pop(number, None)
        if found is not None:
            labels = (found[0], "success" if is_ok else "failure")
            self.calls.add(labels)
            self.call_s.observe(self._perf() - found[1], labels)
