"""Checks an allocation against the rules, straight from the trees and without any code of the allocator."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from apportion.api.quantity import parse_quantity
from apportion.api.resource import Device
from apportion.cel import CelFeatures, compile_selector, device_facts

Tree = dict[str, Any]
Key = tuple[str, str, str]
_CEL = CelFeatures(list_type_attributes=True, consumable_capacity=True)


class Rules:
    """The rules for one node of one world (a record with slices, classes, allocated, features)."""

    def __init__(self, world: Tree) -> None:
        self.features = set(world["features"])
        self.node = world["node"]["metadata"]["name"]
        self.classes = {c["metadata"]["name"]: c["spec"] for c in world["classes"]}
        self.slices = world["slices"]
        self.devices: dict[Key, Tree] = dict(self._list_devices())
        self.held: list[tuple[Key, Tree]] = [
            ((r["driver"], r["pool"], r["device"]), r)
            for c in world["allocated"]
            for r in c["status"]["allocation"]["devices"]["results"]
            if not r.get("adminAccess")
        ]

    def _list_devices(self) -> Iterator[tuple[Key, Tree]]:
        """Devices for the node from pools that are published completely."""
        sizes = Counter((s["spec"]["driver"], s["spec"]["pool"]["name"]) for s in self.slices)
        for tree in self.slices:
            spec = tree["spec"]
            pool = spec["driver"], spec["pool"]["name"]
            here = spec.get("allNodes") or spec.get("nodeName") == self.node
            if here and sizes[pool] == spec["pool"]["resourceSliceCount"]:
                for d in spec.get("devices", ()):
                    yield (*pool, d["name"]), d

    # ---- single devices ------------------------------------------------------------------------------------

    def is_multi(self, key: Key) -> bool:
        on = "ConsumableCapacity" in self.features
        return on and bool(self.devices[key].get("allowMultipleAllocations"))

    def matches(self, key: Key, asked: Tree) -> bool:
        tree = self.devices[key]
        selectors = [*self.classes[asked["deviceClassName"]].get("selectors", ()), *asked.get("selectors", ())]
        facts = _read_facts(key[0], msgspec.json.encode(tree))
        for selector in selectors:
            verdict = compile_selector(selector["cel"]["expression"], _CEL).evaluate(facts)
            if not verdict.match:
                return False
        return "ConsumableCapacity" not in self.features or self.amounts(key, asked) is not None

    def amounts(self, key: Key, asked: Tree) -> dict[str, int] | None:
        """Nano units that one allocation takes by capacity; None when the device can never give them."""
        capacity = self.devices[key].get("capacity", {})
        wanted = (asked.get("capacity") or {}).get("requests", {})
        if set(wanted) - set(capacity):
            return None
        taken = {name: _round(c, wanted.get(name)) for name, c in capacity.items()}
        fits = all(a is not None and a <= _nano(capacity[n]["value"]) for n, a in taken.items())
        return taken if fits else None  # type: ignore[return-value]

    def is_tainted(self, key: Key, asked: Tree) -> bool:
        if "DeviceTaints" not in self.features:
            return False
        blocking = [t for t in self.devices[key].get("taints", ()) if t["effect"] in ("NoSchedule", "NoExecute")]
        return not all(any(_tolerates(x, t) for x in asked.get("tolerations", ())) for t in blocking)

    def values(self, key: Key, attribute: str) -> set[tuple[str, Any]] | None:
        attributes = self.devices[key].get("attributes", {})
        domain, _, bare = attribute.partition("/")
        found = attributes.get(attribute) or (attributes.get(bare) if domain == key[0] else None)
        if not found:
            return None
        ((kind, value),) = found.items()
        if isinstance(value, list):
            return {(kind.rstrip("s"), v) for v in value} if "ListTypeAttributes" in self.features else set()
        return {(kind, value)}

    # ---- whole allocations ---------------------------------------------------------------------------------

    def find_violation(self, claims: list[Tree], results: list[list[Tree]]) -> str | None:
        """Return the first rule that the results break, None when they are valid."""
        for claim, own in zip(claims, results, strict=True):
            problem = self._check_claim(claim["spec"]["devices"], own)
            if problem:
                return problem
        picks = [(_key(r), r) for own in results for r in own]
        return self._check_exclusive(picks) or self._check_capacity(picks) or self._check_counters(picks)

    def _check_claim(self, spec: Tree, results: list[Tree]) -> str | None:
        if len(results) > 32:
            return "more than 32 devices"
        whole = Counter(_key(r) for r in results if not self.is_multi(_key(r)))
        if whole and max(whole.values()) > 1:
            return "a device twice in one claim"
        for request in spec["requests"]:
            own = [r for r in results if r["request"].partition("/")[0] == request["name"]]
            problem = self._check_request(request, own)
            if problem:
                return f"{request['name']}: {problem}"
        for constraint in spec.get("constraints", ()):
            if not self._is_met(constraint, results):
                return f"constraint {constraint}"
        return None

    def _check_request(self, request: Tree, own: list[Tree]) -> str | None:
        if len({r["request"] for r in own}) != 1:
            return "no devices, or of several alternatives"
        asked = get_asked(request, own[0]["request"])
        keys = [_key(r) for r in own]
        if len(set(keys)) < len(keys):
            return "a device twice"
        if asked.get("allocationMode") == "All":
            if set(keys) != {k for k in self.devices if self.matches(k, asked)}:
                return "not all devices"
        elif len(keys) != asked.get("count", 1):
            return "wrong count"
        for key, result in zip(keys, own, strict=True):
            if not self.matches(key, asked) or self.is_tainted(key, asked):
                return f"{key} does not match or is tainted"
            if bool(result.get("adminAccess")) != bool(asked.get("adminAccess")):
                return "admin access not as asked"
            amounts = self.amounts(key, asked) if self.is_multi(key) else {}
            if {n: _nano(q) for n, q in result.get("consumedCapacity", {}).items()} != amounts:
                return f"{key} consumes {result.get('consumedCapacity')}, not {amounts}"
        return None

    def _is_met(self, constraint: Tree, results: list[Tree]) -> bool:
        named = constraint.get("requests") or ()
        covered = [r for r in results if not named or {r["request"], r["request"].partition("/")[0]} & set(named)]
        match = constraint.get("matchAttribute")
        values = [self.values(_key(r), match or constraint["distinctAttribute"]) for r in covered]
        if any(v is None for v in values):
            return False
        if match:
            return len(values) < 2 or bool(set.intersection(*values))  # type: ignore[arg-type]
        return all(
            a and b and not a & b
            for i, a in enumerate(values)
            for b in values[:i]  # type: ignore[operator]
        )

    def _check_exclusive(self, picks: list[tuple[Key, Tree]]) -> str | None:
        whole = [k for k, r in self.held if not r.get("shareID")]
        whole += [k for k, r in picks if not r.get("adminAccess") and not self.is_multi(k)]
        for key, count in Counter(whole).items():
            if count > 1 and any(k == key and not r.get("adminAccess") for k, r in picks):
                return f"{key} is taken"
        for key, result in picks:
            if self.is_multi(key) and key in whole and not result.get("adminAccess"):
                return f"{key} is taken as a whole"
        return None

    def _check_capacity(self, picks: list[tuple[Key, Tree]]) -> str | None:
        for key in {k for k, _ in picks if self.is_multi(k)}:
            for name, capacity in self.devices[key].get("capacity", {}).items():
                parts = [r.get("consumedCapacity", {}).get(name, 0) for k, r in [*self.held, *picks] if k == key]
                if sum(map(_nano, parts)) > _nano(capacity["value"]):
                    return f"{key} has not enough {name}"
        return None

    def _check_counters(self, picks: list[tuple[Key, Tree]]) -> str | None:
        # A shared device draws with its first user only.
        in_use = {k for k, _ in self.held}
        drawing = {
            k for k, _ in picks if self.devices[k].get("consumesCounters") and not (self.is_multi(k) and k in in_use)
        }
        for pool in {k[:2] for k in drawing}:
            left = self._sum_counters(pool, picks)
            if min(left.values()) < 0:
                return f"pool {pool} has not enough counters"
        return None

    def _sum_counters(self, pool: tuple[str, str], picks: list[tuple[Key, Tree]]) -> dict[tuple[str, str], int]:
        slices = [s["spec"] for s in self.slices if (s["spec"]["driver"], s["spec"]["pool"]["name"]) == pool]
        left = {
            (c["name"], name): _nano(q["value"])
            for s in slices
            for c in s.get("sharedCounters", ())
            for name, q in c["counters"].items()
        }
        users = list({k for k, _ in self.held}) + [
            k for k, _ in picks if not self.is_multi(k) or k not in {h for h, _ in self.held}
        ]
        once = {k for k in users if k in self.devices and self.is_multi(k)}
        for key in [k for k in users if k not in once] + sorted(once):
            if key[:2] == pool and key in self.devices:
                for draw in self.devices[key].get("consumesCounters", ()):
                    for name, q in draw["counters"].items():
                        left[(draw["counterSet"], name)] -= _nano(q["value"])
        return left


def get_asked(request: Tree, reference: str) -> Tree:
    """The request itself, or the alternative that ``reference`` (parent/sub) names."""
    if "exactly" in request:
        return request["exactly"]  # type: ignore[no-any-return]
    sub = reference.partition("/")[2]
    return next(a for a in request["firstAvailable"] if a["name"] == sub)  # type: ignore[no-any-return]


def _key(result: Tree) -> Key:
    return result["driver"], result["pool"], result["device"]


def _nano(raw: Any) -> int:
    return parse_quantity(raw).nano


@cache
def _read_facts(driver: str, tree: bytes) -> Any:
    return device_facts(driver, msgspec.json.decode(tree, type=Device))


def _round(capacity: Tree, wanted: Any) -> int | None:
    """The amount for a request of ``wanted`` (None: no request); None when the policy forbids it."""
    policy = capacity.get("requestPolicy") or {}
    if wanted is None:
        return _nano(policy.get("default", capacity["value"]))
    amount = _nano(wanted)
    if "validValues" in policy:
        return min((_nano(v) for v in policy["validValues"] if _nano(v) >= amount), default=None)
    if "validRange" in policy:
        bounds = policy["validRange"]
        low = _nano(bounds["min"])
        amount = max(amount, low)
        if "step" in bounds:
            step = _nano(bounds["step"])
            amount = low + -(-(amount - low) // step) * step
        if "max" in bounds and amount > _nano(bounds["max"]):
            return None
    return amount


def _tolerates(toleration: Tree, taint: Tree) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    is_any = toleration.get("operator") == "Exists"
    return is_any or toleration.get("value", "") == taint.get("value", "")
