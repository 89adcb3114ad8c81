"""Small random worlds, made so that conflicts are frequent: few devices, few values, tight counters."""

from typing import Any

from apportion.base import Rng
from unit.alloc.alloc_worlds import (
    DRIVER,
    Tree,
    ask,
    claim_tree,
    class_tree,
    counter_set,
    device,
    draws,
    first_of,
    request,
    slice_tree,
)

FEATURES = (
    "AdminAccess",
    "ConsumableCapacity",
    "DeviceTaints",
    "ListTypeAttributes",
    "PartitionableDevices",
    "PrioritizedList",
)
_MODEL = f'device.attributes["{DRIVER}"].model'
_CLASSES = (class_tree("any"), class_tree("a", f'{_MODEL} == "a"'), class_tree("b", f'{_MODEL} == "b"'))


class WorldMaker:
    """Draws one world after the other from a seeded generator."""

    def __init__(self, seed: int) -> None:
        self._rng = Rng(seed)

    def _pick(self, *options: Any) -> Any:
        return options[self._rng.below(len(options))]

    def _happens(self, percent: int) -> bool:
        return self._rng.below(100) < percent

    def make(self) -> Tree:
        """Return a world in the form of the recorded problems, without an expectation."""
        with_counters, with_shares = self._happens(50), self._happens(50)
        devices = [self._device(i, with_counters, with_shares) for i in range(1 + self._rng.below(5))]
        slices = [slice_tree(*devices, count=2 if with_counters else 1)]
        if with_counters:
            sets = [counter_set(mem=self._pick("2", "3", "4"))]
            slices.append(slice_tree(name="counters", count=2, sharedCounters=sets))
        if self._happens(30):
            slices.append(slice_tree(self._device(9, False, with_shares), node=None, pool="net", allNodes=True))
        return {
            "id": "random",
            "node": {"metadata": {"name": "n1"}},
            "slices": slices,
            "classes": list(_CLASSES),
            "features": list(FEATURES),
            "claims": [self._claim(i) for i in range(1 + self._rng.below(2))],
            "allocated": [],
        }

    def _device(self, i: int, with_counters: bool, with_shares: bool) -> Tree:
        more: Tree = {}
        if with_counters and self._happens(70):
            more["consumesCounters"] = draws(mem=self._pick("1", "2"))
        if with_shares and self._happens(60):
            more["allowMultipleAllocations"] = True
            policy = {"default": "1", "validRange": {"min": "1", "step": "2"}}
            more["capacity"] = {"bw": self._pick({"value": "4"}, {"value": "4", "requestPolicy": policy})}
        if self._happens(20):
            more["taints"] = [{"key": "t", "effect": self._pick("NoSchedule", "None")}]
        numa = self._pick(0, 1, [0, 1], [1, 2])
        attributes = {"model": self._pick("a", "b"), "numa": numa, "slot": i % 3}
        if self._happens(15):
            del attributes["numa"]
        return device(f"d{i}", attributes=attributes, **more)

    def _claim(self, i: int) -> Tree:
        requests = [self._request(f"r{k}") for k in range(1 + self._rng.below(2))]
        names = [r["name"] for r in requests]
        constraints: Tree = {}
        if self._happens(40):
            where = self._pick([], names[:1])
            constraints[self._pick("match", "match", "distinct")] = [(self._pick("numa", "slot"), where)]
        return claim_tree(f"c{i}", *requests, **constraints)

    def _request(self, name: str) -> Tree:
        if self._happens(30):
            return first_of(name, *(self._asked() for _ in range(2)))
        asked = self._asked()
        if self._happens(15):
            asked["adminAccess"] = True
        return request(name, asked)

    def _asked(self) -> Tree:
        more: Tree = {}
        if self._happens(25):
            more["tolerations"] = [{"key": "t", "operator": "Exists"}]
        if self._happens(15):
            more["capacity"] = {"bw": self._pick("1", "2", "3")}
        count = self._pick(1, 1, 1, 2, 2, "All")
        return ask(self._pick("any", "any", "a", "b"), count, **more)
