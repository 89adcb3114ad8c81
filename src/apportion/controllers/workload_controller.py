"""What the workload controllers share: which key an event concerns, whose pods are whose, and writing the status."""

import logging
from typing import ClassVar, Final, TypeVar

import orjson

from apportion.api import Tree
from apportion.api.view import ObjectMeta, OwnerReference
from apportion.base import Clock, Rng
from apportion.client import MERGE_PATCH, Request, Task
from apportion.controllers.controller import Controller
from apportion.controllers.event_recorder import EventRecorder
from apportion.controllers.informers import Informers
from apportion.controllers.object_cache import Item, ObjectCache
from apportion.controllers.pod_control import PodControl, patch_owner
from apportion.controllers.steps import Refused, Steps, make_merge_patch, send
from apportion.controllers.workload_objects import Pod, Workload, decode_workload, make_owner_reference

T = TypeVar("T", Pod, Workload)
_log: Final = logging.getLogger(__name__)
BURST_MAX: Final = 500  # pods created or deleted in one look at a workload


class WorkloadController(Controller[str]):
    """Works on ``namespace/name`` of one kind. Driven by ``work``, see `Controller`."""

    kind: ClassVar[str]
    resource: ClassVar[str]
    component: ClassVar[str]
    pod_finalizers: ClassVar[tuple[str, ...]] = ()

    def __init__(self, informers: Informers, clock: Clock, rng: Rng) -> None:
        super().__init__(informers.transport, clock)
        self._clock = clock
        self._informers = informers
        self._owners = informers.get(self.resource)
        self._pods = informers.pods
        self._recorder = EventRecorder(clock, rng.fork("events"), self.component)
        self._pod_control = PodControl(informers.pods, self._recorder, rng.fork("pods"))
        self._owners.listen(self._on_owner)
        self._listen()

    def _listen(self) -> None:
        """Listen to what the workloads own."""
        self._pods.listen(self._on_dependent)

    def start(self) -> None:
        """Watch."""
        self._pods.start()
        self._owners.start()

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the start is known."""
        return self._informers.transport.has_synced

    # ---- what the API says --------------------------------------------------------------------------------

    def _on_owner(self, old: Workload | None, new: Workload | None) -> None:
        owner = new or old
        if owner is not None:
            self.queue.add(owner.key)

    def _on_dependent(self, old: Item | None, new: Item | None) -> None:
        """Have a look at whoever owns an object, owned it, or may adopt it."""
        for item in (old, new):
            owner = item.metadata.controller if item is not None else None
            if item is not None and owner is not None:
                self._wake_owner(item.metadata, owner)
        if new is not None and new.metadata.controller is None and new.metadata.deletion_timestamp is None:
            if old is not None and old.metadata.labels == new.metadata.labels and old.metadata.controller is None:
                return  # nobody wanted it as it is
            for candidate in self._owners.in_namespace(new.metadata.namespace):
                if candidate.matcher.matches(new.metadata.labels):
                    self.queue.add(candidate.key)

    def _wake_owner(self, meta: ObjectMeta, reference: OwnerReference) -> None:
        if reference.kind != self.kind:
            return
        owner = self._owners.find(meta.namespace, reference.name)
        if owner is not None and owner.uid == reference.uid:
            self.queue.add(owner.key)

    # ---- one key ------------------------------------------------------------------------------------------

    def _sync(self, key: str) -> Task:
        owner = self._owners.objects.get(key)
        if owner is None:
            self._forget(key)
            return None
        try:
            yield from self._reconcile(owner)
        except Refused as refusal:
            return None if refusal.is_namespace_ending else str(refusal)
        except Exception as fault:  # parks this key, and costs the others nothing
            _log.error("%s %s: %r", self.kind, key, fault, exc_info=True)
            return repr(fault)
        return None

    def _reconcile(self, owner: Workload) -> Steps[None]:
        """Bring one workload to where it should be; raises Refused."""
        raise NotImplementedError

    def _forget(self, key: str) -> None:
        """Drop what is remembered of a workload that is gone."""

    # ---- whose is whose -----------------------------------------------------------------------------------

    def _claim_pods(self, owner: Workload) -> Steps[list[Pod]]:
        """Return the pods of a workload, after adopting what it selects and releasing what it does not any more."""
        yield from self._claim(owner, self._pods, self.pod_finalizers)
        return self._list_pods(owner)

    def _list_pods(self, owner: Workload) -> list[Pod]:
        """Return the pods of a workload as they are known now."""
        matcher = owner.matcher
        return [p for p in self._pods.owned_by(owner.uid) if p.is_selected_by(matcher)]

    def _claim(self, owner: Workload, cache: ObjectCache[T], finalizers: tuple[str, ...] = ()) -> Steps[list[T]]:
        claimed: list[T] = []
        others: list[T] = []
        matcher = owner.matcher
        for item in cache.open_of(owner.uid):
            (claimed if item.is_selected_by(matcher) else others).append(item)
        for item in others if not owner.is_deleted else ():
            yield from self._release(owner, cache, item, finalizers)
        if owner.is_deleted:
            return claimed
        orphans = cache.find_orphans(owner.namespace, owner.matcher)
        wanted = [o for o in orphans if o.metadata.deletion_timestamp is None and self._may_adopt(owner, o)]
        if wanted and (yield from self._still_exists(owner)):
            for item in wanted:
                adopted = yield from self._adopt(owner, cache, item, finalizers)
                claimed += [adopted] if adopted is not None else []
        return claimed

    def _may_adopt(self, owner: Workload, item: Item) -> bool:
        return True

    def _still_exists(self, owner: Workload) -> Steps[bool]:
        """Ask the API itself: who adopts on behalf of a deleted owner takes objects from the next one."""
        response = yield from send(Request("get", self.resource, owner.namespace, owner.name), 404)
        if response.code == 404:
            return False
        now = decode_workload(response.body)
        return now.uid == owner.uid and not now.is_deleted

    def _adopt(self, owner: Workload, cache: ObjectCache[T], item: T, finalizers: tuple[str, ...]) -> Steps[T | None]:
        reference = make_owner_reference(owner)
        response = yield from patch_owner(cache.resource, item, reference, add=finalizers)
        return cache.confirm(response.body) if response is not None else None

    def _release(self, owner: Workload, cache: ObjectCache[T], item: T, finalizers: tuple[str, ...]) -> Steps[None]:
        reference = {"$patch": "delete", "uid": owner.uid}
        response = yield from patch_owner(cache.resource, item, reference, remove=finalizers)
        if response is not None:
            cache.confirm(response.body)

    # ---- writing ------------------------------------------------------------------------------------------

    def _write_status(self, owner: Workload, status: Tree) -> Steps[Workload]:
        """Write what changed of the status; fields that are None are left out. Returns the owner as it is now."""
        patch = make_merge_patch(owner.status, {n: v for n, v in status.items() if v is not None})
        return (yield from self._patch(owner, {"status": patch}, "status")) if patch else owner

    def _patch(self, owner: Workload, patch: Tree, subresource: str = "") -> Steps[Workload]:
        meta = {**patch.get("metadata", {}), "uid": owner.uid}
        body = orjson.dumps({**patch, "metadata": meta})
        request = Request("patch", self.resource, owner.namespace, owner.name, body, subresource, MERGE_PATCH)
        response = yield from send(request, 404)
        return self._owners.confirm(response.body) if response.code < 300 else owner

    def _wake_when_available(self, owner: Workload, pods: list[Pod]) -> None:
        """Have another look when the next ready pod has been ready for long enough."""
        now_s, min_ready_s = self._clock.now(), owner.min_ready_s
        left = [w for p in pods if (w := p.get_available_in_s(min_ready_s, now_s))] if min_ready_s else []
        if left:
            self.queue.add_after(owner.key, min(left))
