"""Evicts pods whose devices have a NoExecute taint that their claims do not tolerate, or no longer.

Behaviour: kube-controller-manager's device-taint-eviction-controller (KEP-5055).
"""

from collections import OrderedDict
from typing import Final, Literal

import orjson

from apportion.api.decode import decode_as
from apportion.api.resource import DeviceTaintRule, ResourceSlice
from apportion.base import Clock, Rng
from apportion.client import STRATEGIC_MERGE_PATCH, Request, Task, Transport
from apportion.controllers.claim_views import DECODE_POD, PodView
from apportion.controllers.controller import Controller
from apportion.controllers.device_taints import NO_EXECUTE, ClaimView, DeviceTaints, Eviction, PoolKey, merge
from apportion.controllers.event_recorder import EventRecorder, Subject
from apportion.controllers.object_cache import ObjectCache
from apportion.controllers.steps import Steps
from apportion.controllers.taint_rule_status import STATUS_PAUSE_S, RuleStatusWriter
from apportion.controllers.times import format_time

COMPONENT: Final = "device-taint-eviction-controller"
EVICTED_MAX: Final = 500
_REASON: Final = "DeviceTaintManagerEviction"
Key = tuple[Literal["pod", "rule"], str]


class DeviceTaintEvictionController(Controller[Key]):
    """Works on pods (``namespace/name``) and on the status of taint rules."""

    def __init__(self, transport: Transport, clock: Clock, rng: Rng, has_rules: bool = True) -> None:
        super().__init__(transport, clock)
        self._clock = clock
        self._has_rules = has_rules
        self._recorder = EventRecorder(clock, rng, COMPONENT)
        self._taints = DeviceTaints()
        self._claims: ObjectCache[ClaimView] = ObjectCache(
            self._transport, "resourceclaims", lambda raw: decode_as(ClaimView, bytes(raw))
        )
        self._pods: ObjectCache[PodView] = ObjectCache(self._transport, "pods", DECODE_POD)
        self._slices: ObjectCache[ResourceSlice] = ObjectCache(
            self._transport, "resourceslices", lambda raw: decode_as(ResourceSlice, bytes(raw))
        )
        self._rules: ObjectCache[DeviceTaintRule] = ObjectCache(
            self._transport, "devicetaintrules", lambda raw: decode_as(DeviceTaintRule, bytes(raw))
        )
        self._by_pool: dict[PoolKey, dict[str, None]] = {}  # allocated claims
        self._announced: dict[str, str] = {}  # pods that are to go later: key -> uid
        self._evicted: OrderedDict[str, Eviction] = OrderedDict()  # by pod uid, the last ones
        self._status = RuleStatusWriter(clock, self._taints)
        self._claims.listen(self._on_claim)
        self._pods.listen(self._on_pod)
        self._slices.listen(self._on_slice)
        self._rules.listen(self._on_rule)

    def start(self) -> None:
        """Watch what can taint devices. Claims and pods are watched once anything does: most clusters have no taint."""
        self._slices.start()
        if self._has_rules:
            self._rules.start()

    def _watch_users(self) -> None:
        """Watch claims and pods from now on; what pods refer to first."""
        self._claims.start()
        self._pods.start()

    # ---- what the API says --------------------------------------------------------------------------------

    def _on_claim(self, old: ClaimView | None, new: ClaimView | None) -> None:
        key = next(c.metadata.key for c in (old, new) if c is not None)
        for pool in old.pools if old is not None else ():
            users = self._by_pool.get(pool, {})
            users.pop(key, None)
            if not users:
                self._by_pool.pop(pool, None)
        for pool in new.pools if new is not None else ():
            self._by_pool.setdefault(pool, {})[key] = None
        for claim in (old, new):
            if claim is not None:
                self._look_at_users(claim)

    def _on_pod(self, old: PodView | None, new: PodView | None) -> None:
        if new is not None and (new.spec.resource_claims or new.extended_claim):
            self.queue.add(("pod", new.metadata.key))
        elif new is None and old is not None and self._announced.pop(old.metadata.key, None) is not None:
            self._look_at_rules()

    def _on_slice(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        if old is not None:
            self._taints.remove_slice(old.metadata.name)
        if new is not None:
            self._taints.set_slice(new)
            if any(taint.effect == NO_EXECUTE for device in new.spec.devices for taint in device.taints):
                self._watch_users()
        for view in (old, new):
            if view is not None:
                self._look_at_pool((view.spec.driver, view.spec.pool.name))

    def _on_rule(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        name = next(r.metadata.name for r in (old, new) if r is not None)
        if new is not None:
            self._watch_users()
            self._taints.rules[name] = new
            if old is not None and old.metadata.uid == new.metadata.uid and old.spec == new.spec:
                return
            self.queue.add(("rule", name))  # before the pods: whoever made the rule sees what it will do
        else:
            self._taints.rules.pop(name, None)
            self._status.forget(name)
        for pool in list(self._by_pool):
            self._look_at_pool(pool)

    def _look_at_pool(self, pool: PoolKey) -> None:
        for key in self._by_pool.get(pool, ()):
            self._look_at_users(self._claims.objects[key])

    def _look_at_users(self, claim: ClaimView) -> None:
        for user in claim.status.reserved_for:
            if user.resource == "pods" and not user.api_group:
                self.queue.add(("pod", f"{claim.metadata.namespace}/{user.name}"))

    def _look_at_rules(self) -> None:
        for name in self._taints.rules:
            self.queue.add(("rule", name))

    # ---- the work -----------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Task:
        kind, name = key
        return self._sync_rule(name) if kind == "rule" else self._sync_pod(name)

    def _sync_rule(self, name: str) -> Task:
        rule = self._taints.rules.get(name)
        if rule is None:
            return None
        wait_s = self._status.find_pause_s(name)
        if wait_s > 0:
            self.queue.add_after(("rule", name), min(wait_s, STATUS_PAUSE_S))
            return None
        waiting = []
        for pod in self._pods.objects.values():
            eviction = self._find_eviction(pod, rule)
            is_open = pod.metadata.deletion_timestamp is None and pod.metadata.uid not in self._evicted
            if eviction is not None and rule.metadata.uid in eviction.rules and is_open:
                waiting.append(pod.metadata.namespace)
        evicted = sum(rule.metadata.uid in e.rules for e in self._evicted.values())
        allocations = [c.allocation for c in self._claims.objects.values() if c.allocation is not None]
        return (yield from self._status.write(rule, waiting, evicted, allocations))

    def _find_eviction(self, pod: PodView, extra: DeviceTaintRule | None = None) -> Eviction | None:
        """Return when a pod has to go, None when it may stay."""
        if not pod.spec.node_name or pod.is_done:
            return None
        found = []
        for claim in self._list_claims(pod):
            eviction = self._taints.find_eviction(claim.allocation, extra) if claim.allocation is not None else None
            if eviction is not None:
                found.append(eviction)
        return merge(found)

    def _list_claims(self, pod: PodView) -> list[ClaimView]:
        """Return the claims that the pod uses rightly."""
        generated = {e.name for e in pod.spec.resource_claims if e.resource_claim_name is None}
        named = [(e.resource_claim_name, False) for e in pod.spec.resource_claims]
        named += [(s.resource_claim_name, True) for s in pod.status.resource_claim_statuses if s.name in generated]
        named.append((pod.extended_claim, True))
        found = []
        for name, is_owned in named:
            claim = self._claims.find(pod.metadata.namespace, name) if name else None
            owner = claim.metadata.controller if claim is not None else None
            if claim is None or (is_owned and (owner is None or owner.uid != pod.metadata.uid)):
                continue
            if any(r.uid == pod.metadata.uid for r in claim.status.reserved_for):
                found.append(claim)
        return found

    def _sync_pod(self, key: str) -> Task:
        pod = self._pods.objects.get(key)
        if pod is None or pod.metadata.uid in self._evicted or pod.metadata.deletion_timestamp is not None:
            return None
        eviction = self._find_eviction(pod)
        if eviction is None:
            if self._announced.pop(key, None) == pod.metadata.uid:
                yield from self._tell(pod, "Cancelling deletion")
                self._look_at_rules()
            return None
        delay_s = eviction.due_s - self._clock.now()
        if delay_s > 0:
            self._announced[key] = pod.metadata.uid
            self.queue.add_after(("pod", key), delay_s)
            return None
        return (yield from self._evict(pod, eviction))

    def _evict(self, pod: PodView, eviction: Eviction) -> Task:
        meta = pod.metadata
        found = yield Request("get", "pods", meta.namespace, meta.name)
        if found.code == 404:
            return None
        if found.code >= 300:
            return found.message or "the pod cannot be read"
        current = DECODE_POD(found.body)
        if current.metadata.uid != meta.uid or current.metadata.deletion_timestamp is not None:
            return None
        yield from self._tell(pod, "Marking for deletion")
        marked = yield self._mark(pod)
        if marked.code >= 300 and marked.code != 404:
            return marked.message or "the pod cannot be marked"
        body = orjson.dumps({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": meta.uid}})
        deleted = yield Request("delete", "pods", meta.namespace, meta.name, body)
        if deleted.code >= 300 and deleted.code not in (404, 409):
            return deleted.message or "the pod cannot be deleted"
        self._announced.pop(meta.key, None)
        self._evicted[meta.uid] = eviction
        if len(self._evicted) > EVICTED_MAX:
            self._evicted.popitem(last=False)
        self._look_at_rules()
        return None

    def _mark(self, pod: PodView) -> Request:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByDeviceTaintManager",
            "message": "Device Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": format_time(self._clock.now()),
        }
        body = orjson.dumps({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}})
        meta = pod.metadata
        return Request("patch", "pods", meta.namespace, meta.name, body, "status", STRATEGIC_MERGE_PATCH)

    def _tell(self, pod: PodView, message: str) -> Steps[None]:
        meta = pod.metadata
        subject = Subject("v1", "Pod", meta.namespace, meta.name, meta.uid, meta.resource_version)
        return self._recorder.record(subject, "Normal", _REASON, message)
