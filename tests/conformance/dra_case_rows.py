"""Rows of the case table: a small notation for slices, claims and what is held, and how a row is run.

A row: ``name``; ``slices``, ``classes``, ``held``, ``nodes``, ``claims``, ``features`` make the problem; ``node``
(n1) is asked. Expected is one of ``gives`` (device names by claim; with ``pools`` the pool names), ``none``,
``refuses`` (part of the text). ``results`` are parts of the results, ``config`` and ``selector`` the rest of the
allocation. ``check`` names the check of the allocator without which the row does not hold.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from apportion.alloc import Allocator, ClaimInput, DeviceTable, Features
from apportion.alloc.features import STORED_EXPRESSIONS
from apportion.api.decode import decode_as
from apportion.api.resource import (
    AllocationResult,
    Device,
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from apportion.cel import CelFeatures, CompileError, compile_selector, device_facts

Tree = dict[str, Any]
FOLDER = Path(__file__).parent / "dra_cases"
REGION = "region"


def read_rows(file: str) -> list[Tree]:
    """Return the rows of a file; ``common`` of a group is part of each of its rows."""
    rows: list[Tree] = []
    for group in yaml.safe_load((FOLDER / file).read_text()):
        rows += [{**group.get("common", {}), **row, "section": group["section"]} for row in group["rows"]]
    return rows


# ---- notation ---------------------------------------------------------------------------------------------


def _attribute(value: Any) -> Tree:
    if isinstance(value, dict):
        return value
    items = value if isinstance(value, list) else [value]
    kind = {bool: "bool", int: "int", str: "string"}[type(items[0])]
    return {f"{kind}s": items} if isinstance(value, list) else {kind: value}


def _capacity(value: Any) -> Tree:
    """A value, or value with policy: ``{value, default, values}`` or ``{value, default, min, max, step}``."""
    if not isinstance(value, dict):
        return {"value": str(value)}
    policy: Tree = {"default": str(value["default"])} if "default" in value else {}
    if "values" in value:
        policy["validValues"] = [str(v) for v in value["values"]]
    if "min" in value:
        policy["validRange"] = {k: str(value[k]) for k in ("min", "max", "step") if k in value}
    return {"value": str(value["value"]), "requestPolicy": policy}


def _taint(text: str) -> Tree:
    key, _, effect = text.partition(":")
    return {"key": key, "effect": effect}


def _selector(labels: Any) -> Tree:
    if "nodeSelectorTerms" in labels:
        return dict(labels)
    terms = [{"key": k, "operator": "In", "values": [v]} for k, v in labels.items()]
    return {"nodeSelectorTerms": [{"matchExpressions": terms}]}


def _device(given: Any) -> Tree:
    if isinstance(given, str):
        return {"name": given}
    ((name, short),) = given.items()
    tree: Tree = {"name": name}
    tree["attributes"] = {k: _attribute(v) for k, v in short.get("has", {}).items()}
    tree["capacity"] = {k: _capacity(v) for k, v in short.get("cap", {}).items()}
    tree["consumesCounters"] = [
        {
            "counterSet": name,
            "counters": {k: {"value": str(v)} for k, v in counters.items()},
            "compatibilityGroups": short.get("groups", []),
        }
        for name, counters in short.get("uses", {}).items()
    ]
    tree["taints"] = [_taint(t) for t in short.get("taints", [])]
    tree["bindingConditions"] = short.get("binds", [])
    tree["bindingFailureConditions"] = short.get("fails", [])
    tree["allowMultipleAllocations"] = short.get("multi", False)
    for field, key in (("nodeName", "node"), ("allNodes", "all"), ("bindsToNode", "pin")):
        if key in short:
            tree[field] = short[key]
    if "near" in short:
        tree["nodeSelector"] = _selector(short["near"])
    if "takes" in short:
        tree["nodeAllocatableResources"] = {name: _node_allocatable(t) for name, t in short["takes"].items()}
    return tree


def _node_allocatable(short: Tree) -> Tree:
    """``each`` device, or ``of`` a capacity so many ``times``; and what each ``pod`` and ``container`` costs beside."""
    mapping = {"deviceMultiplier": str(short["each"])} if "each" in short else {}
    if "of" in short:
        mapping = {"capacityKey": short["of"], "capacityMultiplier": str(short["times"])}
    overhead = {f: str(short[k]) for f, k in (("perPod", "pod"), ("perContainer", "container")) if k in short}
    return {"mapping": mapping, "overhead": overhead}


def _slice(given: Tree, position: int) -> Tree:
    driver, node = given.get("driver", "a"), given.get("node", "n1")
    elsewhere = {"all", "near", "each"} & given.keys()
    pool = given.get("pool", "net" if elsewhere else node)
    spec: Tree = {
        "driver": driver,
        "pool": {"name": pool, "generation": given.get("gen", 1), "resourceSliceCount": given.get("count", 1)},
        "devices": [_device(d) for d in given.get("devices", [])],
        "sharedCounters": [
            {"name": name, "counters": {k: {"value": str(v)} for k, v in counters.items()}}
            for name, counters in given.get("counters", {}).items()
        ],
        "skipNodeOperations": given.get("skip", []),
    }
    if not elsewhere:
        spec["nodeName"] = node
    if "near" in given:
        spec["nodeSelector"] = _selector(given["near"])
    if "all" in given:
        spec["allNodes"] = True
    if "each" in given:
        spec["perDeviceNodeSelection"] = True
    return {"metadata": {"name": given.get("name", f"s{position}")}, "spec": spec}


def _ask(given: Any) -> Tree:
    """``class``, ``class*count``, ``class*All``, or a map with class, count, where, admin, tolerates, cap, derived."""
    short = {"class": given} if isinstance(given, str) else dict(given)
    name, _, amount = short.get("class", "a").partition("*")
    count = short.get("count", amount or 1)
    tree: Tree = {"deviceClassName": name}
    if count == "All":
        tree["allocationMode"] = "All"
    elif isinstance(count, str) and not count.isdigit():
        tree["allocationMode"] = count
    else:
        tree |= {"allocationMode": "ExactCount", "count": int(count)}
    where = short.get("where", [])
    where = [where] if isinstance(where, str) else where
    tree["selectors"] = [{"cel": {"expression": e}} if e is not None else {} for e in where]
    if "admin" in short:
        tree["adminAccess"] = short["admin"]
    tree["tolerations"] = [
        {"key": k, "operator": "Exists", "effect": e}
        for k, _, e in (t.partition(":") for t in short.get("tolerates", []))
    ]
    if "cap" in short:
        tree["capacity"] = {"requests": {k: str(v) for k, v in short["cap"].items()}}
    tree["derivedAttributes"] = [{"name": k, "expression": v} for k, v in short.get("derived", {}).items()]
    return tree


def _request(given: Any, position: int) -> Tree:
    name = f"r{position}"
    if isinstance(given, list):
        return {"name": name, "firstAvailable": [{"name": f"s{i}", **_ask(g)} for i, g in enumerate(given)]}
    return {"name": name, "exactly": _ask(given)}


def _constraint(kind: str, given: Any) -> Tree:
    attribute, requests = (given, []) if isinstance(given, str) else given
    return {kind: attribute, "requests": requests}


def _claim(given: Any, position: int) -> Tree:
    short = {"ask": given} if isinstance(given, list) else {"ask": [given]} if isinstance(given, str) else dict(given)
    constraints = [_constraint("matchAttribute", g) for g in short.get("match", [])]
    constraints += [_constraint("distinctAttribute", g) for g in short.get("distinct", [])]
    constraints += short.get("constraints", [])
    config = [_config(c) for c in short.get("config", [])]
    devices = {
        "requests": [_request(g, i) for i, g in enumerate(short["ask"])],
        "constraints": constraints,
        "config": config,
    }
    return {
        "metadata": {"name": f"c{position}", "namespace": "default", "uid": f"uid-c{position}"},
        "spec": {"devices": devices},
    }


def _config(given: Any) -> Tree:
    text, requests = (given, []) if isinstance(given, str) else given
    return {"requests": requests, "opaque": {"driver": "a", "parameters": {"is": text}}}


def _class(name: str, given: Any) -> Tree:
    short = {"where": given} if isinstance(given, list | str) else dict(given)
    where = short.get("where", [])
    where = [where] if isinstance(where, str) else where
    spec = {
        "selectors": [{"cel": {"expression": e}} for e in where],
        "config": [{"opaque": _config(c)["opaque"]} for c in short.get("config", [])],
    }
    if "serves" in short:
        spec["extendedResourceName"] = short["serves"]
    return {"metadata": {"name": name}, "spec": spec}


def _read(tree: Tree, view: type[Any]) -> Any:
    return decode_as(view, msgspec.json.encode(tree))


# ---- running ----------------------------------------------------------------------------------------------


def build(row: Mapping[str, Any], features: Features | None = None) -> tuple[Allocator, list[ClaimInput]]:
    """Return the allocator over the world of a row, and its claims; ``features`` instead of those of the row."""
    table = DeviceTable(features or Features(**row.get("features", {})))
    classes = {"a": 'device.driver == "a"', "b": 'device.driver == "b"', **row.get("classes", {})}
    for name, given in classes.items():
        if given is not None:
            table.apply_class(_read(_class(name, given), DeviceClass))
    for i, given in enumerate(row.get("slices", [])):
        table.apply_slice(_read(_slice(given, i), ResourceSlice))
    for name, rule in row.get("rules", {}).items():
        spec = {"deviceSelector": rule["selects"], "taint": _taint(rule["taint"])}
        table.apply_taint_rule(_read({"metadata": {"name": name}, "spec": spec}, DeviceTaintRule))
    for name, labels in {"n1": {REGION: "r1"}, "n2": {REGION: "r2"}, **row.get("nodes", {})}.items():
        table.set_node(name, labels, row.get("declares", ("DRAOptionalNodeOperations",)))
    for i, given in enumerate(row.get("held", [])):
        table.take(f"holder-{i}", _read(_held(given), AllocationResult))
    specs: dict[bytes, int] = {}
    claims = []
    for i, given in enumerate(row.get("claims", [])):
        view = _read(_claim(given, i), ResourceClaim)
        spec_id = specs.setdefault(msgspec.json.encode(view.spec), len(specs))
        claims.append(ClaimInput(view.metadata.uid, "default", view.metadata.name, view.spec, spec_id))
    return Allocator(table, row.get("steps", 50_000)), claims


def _held(given: Any) -> Tree:
    """``pool/device``, or a map with ``device``, ``share`` and ``cap`` (what the share consumes)."""
    short = {"device": given} if isinstance(given, str) else given
    pool, device = short["device"].split("/")
    result: Tree = {"request": "r", "driver": short.get("driver", "a"), "pool": pool, "device": device}
    if "cap" in short or short.get("share"):
        result["shareID"] = "11111111-1111-4111-8111-111111111111"
        result["consumedCapacity"] = {k: str(v) for k, v in short.get("cap", {}).items()}
    if short.get("admin"):
        result["adminAccess"] = True
    return {"devices": {"results": [result]}}


def find_problems(row: Mapping[str, Any], features: Features | None = None) -> list[str]:
    """Run a row; return what is not as expected."""
    allocator, claims = build(row, features)
    node = row.get("node", "n1")
    problem = allocator.prepare(claims)
    answer = allocator.judge(problem, node)
    if "gives" not in row:
        wanted = row.get("refuses", "cannot allocate all claims")
        return [] if not answer.fits and wanted in answer.reason else [f"expected {wanted!r}, got {answer}"]
    if not answer.fits:
        return [f"expected {row['gives']}, got {answer.reason!r}"]
    shares = (f"00000000-0000-4000-8000-{i:012}" for i in range(1000))
    return list(_compare(row, allocator.allocate(problem, node, lambda: next(shares)), answer.score))


def _compare(row: Mapping[str, Any], allocations: tuple[AllocationResult, ...], score: int) -> Iterator[str]:
    def check(what: str, found: object) -> Iterator[str]:
        if what in row and row[what] != found:
            yield f"{what}: expected {row[what]}, got {found}"

    results = [a.devices.results for a in allocations]
    yield from check("gives", [[r.device for r in own] for own in results])
    yield from check("pools", [[r.pool for r in own] for own in results])
    yield from check("serves", [[r.request for r in own] for own in results])
    yield from check("score", score)
    for wanted, result in zip(row.get("results", []), [r for own in results for r in own], strict=False):
        tree = msgspec.json.decode(msgspec.json.encode(result))
        for key, value in wanted.items():
            if key == "shared":
                if (result.share_id is not None) != value:
                    yield f"{result.device}: shareID is {result.share_id}"
            elif (tree.get(key) or None) != (value or None):
                yield f"{result.device}: {key} is {tree.get(key)}, expected {value}"
    config = [[c.source, list(c.requests), _words(c)] for a in allocations for c in a.devices.config]
    yield from check("config", config)
    selectors = [_terms(a) for a in allocations]
    yield from check("selector", selectors[0] if len(selectors) == 1 else selectors)


def _words(config: Any) -> str:
    return str(msgspec.json.decode(config.opaque.parameters)["is"])


def _terms(allocation: AllocationResult) -> dict[str, list[str]] | None:
    """Return the requirements of the one term by key, None without selector."""
    if allocation.node_selector is None:
        return None
    (term,) = allocation.node_selector.node_selector_terms
    return {r.key: list(r.values) for r in (*term.match_expressions, *term.match_fields)}


# ---- rows about expressions and amounts -------------------------------------------------------------------


# what is stored is understood whatever the gates; what is new, by the gates
ENVIRONMENTS = {
    "stored": STORED_EXPRESSIONS,
    "new": CelFeatures(list_type_attributes=False, consumable_capacity=False),
    "new-lists": CelFeatures(list_type_attributes=True, consumable_capacity=False),
    "new-shares": CelFeatures(list_type_attributes=False, consumable_capacity=True),
    "new-both": CelFeatures(list_type_attributes=True, consumable_capacity=True),
}


def _facts(short: Tree) -> Any:
    has = {k: {"ints": list(range(v["numbers"]))} if isinstance(v, dict) and "numbers" in v else v
           for k, v in short.get("has", {}).items()}  # fmt: skip
    tree = _device({"d": {**short, "has": has}})
    return device_facts(short.get("driver", "a"), _read(tree, Device))


def find_expression_problems(row: Mapping[str, Any]) -> list[str]:
    """Run a row about an expression: ``gives`` and ``cost``, ``fails`` at run time, or ``refuses`` to compile.

    ``max`` is the estimate that the API server makes; ``in`` names an environment, see `ENVIRONMENTS`.
    """
    features = CelFeatures(list_type_attributes=row.get("lists", False), consumable_capacity=row.get("shares", True))
    features = ENVIRONMENTS[row["in"]] if "in" in row else features
    try:
        selector = compile_selector(row["expr"], features)
    except CompileError as error:
        return [] if row.get("refuses") and row["refuses"] in str(error) else [str(error)]
    if "refuses" in row or row.get("max", selector.max_cost) != selector.max_cost:
        return [f"compiled, with an estimate of {selector.max_cost}"]
    verdict = selector.evaluate(_facts(row["device"]))
    if "fails" in row:
        return [] if verdict.error is not None and row["fails"] in verdict.error else [str(verdict)]
    found = (verdict.match, row.get("cost") and verdict.cost)
    wanted = (row.get("gives"), row.get("cost") and row["cost"])
    return [] if found == wanted else [f"expected {wanted}, got {verdict}"]


def find_amount_problems(row: Mapping[str, Any]) -> list[str]:
    """Run a row about what one share takes of a capacity."""
    ask: Any = {"cap": {"m": row["asked"]}} if "asked" in row else "a"
    expected: Tree = {"none": True}
    if not row.get("none"):
        expected = {"gives": [["d"]], "results": [{"consumedCapacity": {"m": row["gives"]}}]}
    slices = [{"devices": [{"d": {"multi": True, "cap": {"m": row["policy"]}}}]}]
    return find_problems({"slices": slices, "claims": [[ask]], "held": row.get("held", []), **expected})


def find_taint_problems(row: Mapping[str, Any]) -> list[str]:
    """Run a row of events about slices and taint rules; ``taints`` are those of every device at the end."""
    table = DeviceTable(Features())
    for i, event in enumerate(row["events"]):
        if "slice" in event:
            table.apply_slice(_read(_slice(event["slice"], i), ResourceSlice))
        elif "rule" in event:
            spec = {"deviceSelector": event["selects"], "taint": _taint(event["taint"])}
            table.apply_taint_rule(_read({"metadata": {"name": event["rule"]}, "spec": spec}, DeviceTaintRule))
        elif "drop-rule" in event:
            table.remove_taint_rule(event["drop-rule"])
        else:
            table.remove_slice(event["drop-slice"])
    found = {
        name: [f"{t.key}:{t.effect}" for t in signature.blocking_taints]
        for pool in table.get_pools()
        for name, signature in (pool.content.devices if pool.content is not None else {}).items()
    }
    return [] if found == row["taints"] else [f"expected {row['taints']}, got {found}"]
