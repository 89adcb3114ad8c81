"""Answers ResourcePoolStatusRequests: once for each, then the answer stays. Behaviour: KEP-5677 (alpha)."""

from typing import Final

import orjson

from apportion.api import Tree
from apportion.api.decode import decode_as
from apportion.api.resource import ResourcePoolStatusRequest, ResourceSlice
from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task, Transport
from apportion.controllers.controller import Controller
from apportion.controllers.device_taints import ClaimView
from apportion.controllers.object_cache import ObjectCache
from apportion.controllers.pool_status import PoolUse, collect_use, describe_pool, find_problem
from apportion.controllers.times import format_time

REQUESTS: Final = "resourcepoolstatusrequests"
LOOKS_MAX: Final = 5  # at pools that are being published, before the answer says so
LOOK_DELAY_S: Final = 1.0


class ResourcePoolStatusController(Controller[str]):
    """Works on the names of requests."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._clock = clock
        self._looks: dict[str, int] = {}
        self._slices: ObjectCache[ResourceSlice] = ObjectCache(
            self._transport, "resourceslices", lambda raw: decode_as(ResourceSlice, bytes(raw))
        )
        self._claims: ObjectCache[ClaimView] = ObjectCache(
            self._transport, "resourceclaims", lambda raw: decode_as(ClaimView, bytes(raw))
        )
        self._requests: ObjectCache[ResourcePoolStatusRequest] = ObjectCache(
            self._transport, REQUESTS, lambda raw: decode_as(ResourcePoolStatusRequest, bytes(raw))
        )
        self._requests.listen(self._on_request)

    def start(self) -> None:
        """Watch requests; slices and claims once there is one, and before it is answered."""
        self._requests.start()

    def _on_request(self, old: ResourcePoolStatusRequest | None, new: ResourcePoolStatusRequest | None) -> None:
        if new is not None and new.status is None:
            self._slices.start()
            self._claims.start()
            self.queue.add(new.metadata.name)
        elif new is None and old is not None:
            self._looks.pop(old.metadata.name, None)

    def _sync(self, key: str) -> Task:
        request = self._requests.objects.get(key)
        if request is None or request.status is not None:
            return None
        pools = self._find_pools(request)
        looks = self._looks[key] = self._looks.get(key, 0) + 1
        if looks <= LOOKS_MAX and any(find_problem(slices) for slices in pools):
            self.queue.add_after(key, LOOK_DELAY_S)
            return None
        self._looks.pop(key, None)
        meta = request.metadata
        body = {"metadata": {"uid": meta.uid}, "status": self._describe(request, pools)}
        response = yield Request("patch", REQUESTS, "", meta.name, orjson.dumps(body), "status", MERGE_PATCH)
        return None if response.code < 300 or response.code in (404, 409) else response.message or "refused"

    def _find_pools(self, request: ResourcePoolStatusRequest) -> list[list[ResourceSlice]]:
        """Return the slices of each pool that is asked for, of the newest generation, in the order of the answer."""
        spec = request.spec
        found: dict[str, list[ResourceSlice]] = {}
        for view in self._slices.objects.values():
            if view.spec.driver == spec.driver and spec.pool_name in (None, view.spec.pool.name):
                found.setdefault(view.spec.pool.name, []).append(view)
        newest = {name: max(s.spec.pool.generation for s in slices) for name, slices in found.items()}
        return [
            sorted((s for s in found[n] if s.spec.pool.generation == newest[n]), key=lambda s: s.metadata.name)
            for n in sorted(found)
        ]

    def _describe(self, request: ResourcePoolStatusRequest, pools: list[list[ResourceSlice]]) -> Tree:
        use = collect_use(c.allocation for c in self._claims.objects.values() if c.allocation is not None)
        entries = [
            describe_pool(
                slices,
                use.get((slices[0].spec.driver, slices[0].spec.pool.name), PoolUse()),
                request.spec.default_partition_type_attribute,
            )
            for slices in pools[: request.spec.limit]
        ]
        condition = {
            "type": "Complete",
            "status": "True",
            "reason": "CalculationComplete",
            "message": f"{len(pools)} pools found, {len(entries)} reported",
            "lastTransitionTime": format_time(self._clock.now()),
        }
        return {"poolCount": len(pools), "pools": entries, "conditions": [condition]}
