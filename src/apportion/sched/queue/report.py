"""What the queue shows to people and to metrics. Reads only."""

from collections import Counter
from typing import Any, Literal, TypeAlias

from apportion.sched.queue.entity import QueuedPod
from apportion.sched.queue.hints import EventIndex
from apportion.sched.queue.in_flight import InFlightList
from apportion.sched.queue.places import Places

# The label values of the metric ``pending_pods``; both backoff heaps count as one.
QueueName: TypeAlias = Literal["active", "backoff", "unschedulable", "gated"]


def count_pending(places: Places[Any], queue: QueueName) -> int:
    """Return how many pods wait in a queue; gated pods do not count as unschedulable."""
    if queue == "active":
        return len(places.active)
    if queue == "backoff":
        return len(places.plain_backoff) + len(places.error_backoff)
    gated = places.parked.gated
    return gated if queue == "gated" else len(places.parked) - gated


def count_rejected(places: Places[Any]) -> dict[tuple[str, str], int]:
    """Return how many queued pods each plugin rejected last, by (plugin, profile)."""
    counts = Counter((plugin, pod.scheduler_name) for pod in places.pods.values() for plugin in pod.rejectors)
    return dict(sorted(counts.items()))


def describe(
    places: Places[Any], in_flight: InFlightList[Any], events: EventIndex, now_s: float
) -> list[dict[str, object]]:
    """Return one dict for each pod that is queued or in flight, sorted by key, then uid."""
    pods = [*places.pods.values(), *in_flight.entities]
    pods.sort(key=lambda pod: (pod.pod.key, pod.uid))
    return [_describe_pod(pod, events, now_s) for pod in pods]


def _describe_pod(pod: QueuedPod[Any], events: EventIndex, now_s: float) -> dict[str, object]:
    """Return plain values; ``wakes_on`` and ``backoff_left_s`` only where they mean something."""
    is_parked = pod.place == "unschedulable"
    where = "gated" if is_parked and pod.gating_plugin else pod.place or "in flight"
    is_backing_off = pod.place in ("backoff", "error backoff")
    return {
        "pod": pod.pod.key,
        "uid": pod.uid,
        "where": where,
        "since_s": pod.timestamp_s,
        "priority": pod.priority,
        "attempts": pod.attempts,
        "unschedulable_plugins": sorted(pod.unschedulable_plugins),
        "pending_plugins": sorted(pod.pending_plugins),
        "gate": pod.gating_plugin,
        "gate_reasons": list(pod.gate_reasons),
        "wakes_on": events.get_labels(pod.scheduler_name, frozenset(pod.holders)) if is_parked else [],
        "backoff_left_s": max(0.0, pod.backoff_expiry_s - now_s) if is_backing_off else 0.0,
    }
