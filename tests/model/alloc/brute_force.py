"""The slow, obvious answer: try every way to deal out the devices and ask the rules about each."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

from apportion.api.quantity import Quantity
from model.alloc.validity import Key, Rules, Tree


def find_any_allocation(world: Tree) -> list[list[Tree]] | None:
    """Return some valid allocation of ``world["claims"]``, None when there is none."""
    rules = Rules(world)
    claims = world["claims"]
    slots = [(i, r) for i, c in enumerate(claims) for r in c["spec"]["devices"]["requests"]]
    for choice in product(*(list(_list_choices(rules, r)) for _, r in slots)):
        results: list[list[Tree]] = [[] for _ in claims]
        for (claim, _), own in zip(slots, choice, strict=True):
            results[claim] += own
        if rules.find_violation(claims, results) is None:
            return results
    return None


def _list_choices(rules: Rules, request: Tree) -> Iterator[list[Tree]]:
    """Every set of devices that satisfies the request when nothing else is asked for."""
    alternatives: list[tuple[str, Any]]
    if "exactly" in request:
        alternatives = [(request["name"], request["exactly"])]
    else:
        alternatives = [(f"{request['name']}/{a['name']}", a) for a in request["firstAvailable"]]
    for name, asked in alternatives:
        matching = sorted(k for k in rules.devices if rules.matches(k, asked))
        size = len(matching) if asked["allocationMode"] == "All" else asked["count"]
        for keys in combinations(matching, size) if size else ():
            yield [_to_result(rules, name, key, asked) for key in keys]


def _to_result(rules: Rules, name: str, key: Key, asked: Tree) -> Tree:
    result: Tree = {"request": name, "driver": key[0], "pool": key[1], "device": key[2]}
    if asked.get("adminAccess"):
        result["adminAccess"] = True
    if rules.is_multi(key):
        amounts = rules.amounts(key, asked) or {}
        result["consumedCapacity"] = {n: str(Quantity(a)) for n, a in amounts.items()}
    return result
