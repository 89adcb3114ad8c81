"""Pods that a Permit plugin holds between Reserve and the binding."""

from collections.abc import Iterator, Mapping

from apportion.base import Clock
from apportion.sched.framework.status import Status, error, unschedulable
from apportion.sched.framework.waits import Wait
from apportion.sched.state import PodInfo

TIMEOUT_MAX_S = 900.0  # upstream's limit


class WaitingPod:
    """One pod that waits; it goes on when every plugin that holds it has allowed it.

    Behaviour: runtime/waiting_pods_map.go.
    """

    def __init__(self, pod: PodInfo, timeouts_s: Mapping[str, float], now_s: float) -> None:
        self.pod = pod
        self._held_by = {plugin: now_s + min(timeout_s, TIMEOUT_MAX_S) for plugin, timeout_s in timeouts_s.items()}
        self._timeouts_s = timeouts_s
        self.wait = Wait(min(self._held_by.values()))

    @property
    def held_by(self) -> list[str]:
        """The plugins that have not allowed it yet."""
        return sorted(self._held_by)

    def allow(self, plugin: str) -> None:
        """Say yes for a plugin; the last one lets the pod go."""
        self._held_by.pop(plugin, None)
        if not self._held_by:
            self.wait.resolve(True)

    def reject(self, plugin: str, message: str) -> None:
        """Send the pod back; it counts as rejected by ``plugin``."""
        self.wait.resolve(unschedulable(plugin, message))

    def preempt(self, message: str) -> None:
        """Send the pod back to make room; it is not marked unschedulable and is tried again after its backoff."""
        self.wait.resolve(error("", message))

    def settle(self, answer: object) -> Status | None:
        """Return what became of the wait: None when the pod may go on."""
        if answer is True:
            return None
        if isinstance(answer, Status):
            return answer
        plugin = min(self._held_by, key=lambda name: (self._held_by[name], name))
        waited = min(self._timeouts_s[plugin], TIMEOUT_MAX_S)
        return unschedulable(plugin, f"rejected due to timeout after waiting {waited:g}s at plugin {plugin}")


class WaitingPods:
    """The pods that wait now; Permit plugins look here for pods that they may allow or reject."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def find(self, uid: str) -> WaitingPod | None:
        """Return the waiting pod with a uid."""
        return self._pods.get(uid)

    def add(self, pod: PodInfo, timeouts_s: Mapping[str, float]) -> WaitingPod:
        """Hold a pod for the plugins in ``timeouts_s``, each for so many seconds at most."""
        waiting = self._pods[pod.uid] = WaitingPod(pod, timeouts_s, self._clock.now())
        return waiting

    def remove(self, uid: str) -> None:
        """Forget a pod."""
        self._pods.pop(uid, None)
