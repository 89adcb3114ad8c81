"""Rows about the scheduler with claims: a small cluster in memory, and where its pods and claims end.

A row: ``nodes`` (n1), ``slices`` and ``classes`` as in ``dra_case_rows``; ``claims`` by name with ``ask``, ``has``
(pool/device that it has), ``users``, ``for`` (the pod it was made for); ``pods`` by name with ``uses`` (claims by name)
or ``made`` (entry of the spec: claim), ``wants`` (extended resources) or ``whole`` (requests of the pod as a whole);
``room`` is what nodes list beside cpu and memory. ``meanwhile`` is what somebody makes of a claim just before the
scheduler first writes it, ``refuses`` how often a kind of write is forbidden. Expected: ``then`` (node, or part of the
message), ``told`` (an earlier event), ``held-back`` (the text of PreEnqueue), ``devices``, ``users``, ``finalizers``,
``timed`` by claim, ``scores`` (``normal``: of 100), ``takes`` and ``footprint`` (node-allocatable resources) by pod,
``writes``: how often claims are written, ``left``: how many claims there are at the end.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dra_case_rows import Tree, _claim, _class, _slice

from apportion.alloc import Features
from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport, OnDone, Request, Response
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.explain import judge
from apportion.sched.explain.judgement import NodeScores
from apportion.sched.framework.config import SchedulerConfig, read_config
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "sched"))
from builders import Bench, node_tree, pod_tree

WRITES = {
    "claim": ("create", "resourceclaims", ""),
    "finalizer": ("patch", "resourceclaims", ""),
    "allocation": ("patch", "resourceclaims", "status"),
    "pod status": ("patch", "pods", "status"),
    "binding": ("create", "pods", "binding"),
}


class RowTransport(MemoryTransport):
    """Refuses writes, or has somebody else write first, as a row says."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        super().__init__()
        self.keep_events = True
        self.claim_writes = 0
        self._refuses = {WRITES[what]: count for what, count in row.get("refuses", {}).items()}
        self._meanwhile: dict[str, Tree] = dict(row.get("meanwhile", {}))

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request, or refuse it."""
        is_condition = b"PodScheduled" in request.body
        what = (request.verb, request.resource, request.subresource)
        if request.resource == "resourceclaims" and request.verb == "patch":
            self.claim_writes += 1
            short = self._meanwhile.pop(request.name, None)
            if short is not None:
                self.put("resourceclaims", _make_claim(request.name, short, 0))
        if self._refuses.get(what, 0) and not is_condition:
            self._refuses[what] -= 1
            self._answers.append((on_done, Response(403, message="not allowed")))
        else:
            super().submit(request, on_done)


class RowBench(Bench):
    """A bench with the gates and arguments of a row."""

    transport: RowTransport

    def __init__(self, row: Mapping[str, Any]) -> None:
        gates = FeatureGates.parse(row.get("gates", ""))
        self.clock = VirtualClock()
        self.transport = RowTransport(row)
        self.state = ClusterState(Features.from_gates(gates.as_dict()))
        self.scheduler = build_scheduler(_config(row), self.state, gates, self.clock, Rng(0))
        self.shell = Shell(self.scheduler, self.transport, self.clock)
        self.shell.start()


def _config(row: Mapping[str, Any]) -> SchedulerConfig:
    if "args" not in row:
        return SchedulerConfig()
    profile = {"pluginConfig": [{"name": "DynamicResources", "args": row["args"]}]}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return read_config({**kind, "profiles": [profile]}, "row")


def _make_claim(name: str, short: Tree, position: int) -> Tree:
    ask = short["ask"]
    is_whole = isinstance(ask, dict) and "ask" in ask
    claim = _claim(ask if is_whole else [ask] if isinstance(ask, dict) else ask, position)
    meta: Tree = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    if "for" in short:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": short["for"], "uid": f"uid-default-{short['for']}"}
        meta["ownerReferences"] = [{**owner, "controller": True}]
    if short.get("deleted"):
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    meta["finalizers"] = short.get("finalizers", [])
    return {"metadata": meta, "spec": claim["spec"], "status": _make_status(short)}


def _make_status(short: Tree) -> Tree:
    if "has" not in short:
        return {}
    pool, device = short["has"].split("/")
    place = {"driver": "a", "pool": pool, "device": device}
    result: Tree = {"request": "r0", **place}
    for field, key in (("bindingConditions", "binds"), ("bindingFailureConditions", "fails")):
        if key in short:
            result[field] = short[key]
    if short.get("admin"):
        result["adminAccess"] = True
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [short.get("pinned", pool)]}]}
    allocation: Tree = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [term]}}
    if "since" in short:
        allocation["allocationTimestamp"] = short["since"]
    said = [{"type": c, "status": "True"} for c in short.get("says", {}).get(device, [])]
    users = [{"resource": "pods", "name": u, "uid": f"uid-default-{u}"} for u in short.get("users", [])]
    return {"allocation": allocation, "reservedFor": users, "devices": [{**place, "conditions": said}] if said else []}


def _make_pod(name: str, short: Tree) -> Tree:
    entries: list[Tree] = [{"name": f"g{i}", "resourceClaimName": c} for i, c in enumerate(short.get("uses", []))]
    entries += [{"name": entry, "resourceClaimTemplateName": "t"} for entry in short.get("made", {})]
    made = [{"name": entry, "resourceClaimName": claim} for entry, claim in short.get("made", {}).items()]
    status = {"resourceClaimStatuses": made}
    more = {"resources": {"requests": short["whole"]}} if "whole" in short else {}
    requests = {"cpu": "1", **short.get("wants", {})}
    containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
    return pod_tree(name, resourceClaims=entries, status=status, containers=containers, **more)


def find_plugin_problems(row: Mapping[str, Any]) -> list[str]:
    """Run a row; return what is not as expected."""
    bench = RowBench(row)
    bench.put("nodes", *(node_tree(name, extra=row.get("room", {})) for name in row.get("nodes", ["n1"])))
    classes = {"a": 'device.driver == "a"', **row.get("classes", {})}
    bench.put("deviceclasses", *(_class(name, given) for name, given in classes.items()))
    bench.put("resourceslices", *(_slice(given, i) for i, given in enumerate(row.get("slices", []))))
    bench.put("resourceclaims", *(_make_claim(n, c, i) for i, (n, c) in enumerate(row.get("claims", {}).items())))
    pods = {name: _make_pod(name, short) for name, short in row["pods"].items()}
    problems = list(_compare_scores(row, bench, pods))
    bench.put("pods", *pods.values())
    for _ in range(3):
        bench.run()
        bench.clock.advance_to(bench.clock.now() + 2)
        bench.scheduler.flush()
    counts = {"writes": bench.transport.claim_writes, "left": len(list(bench.transport.trees("resourceclaims")))}
    problems += [f"{what}: {found}" for what, found in counts.items() if row.get(what, found) != found]
    return [*problems, *_compare_pods(row, bench), *_compare_claims(row, bench)]


def _compare_scores(row: Mapping[str, Any], bench: Bench, pods: Mapping[str, Tree]) -> Iterator[str]:
    for what in ("scores", "normal"):
        for name, wanted in row.get(what, {}).items():
            judged = judge(bench.scheduler, bench.state.reader.read_tree(pods[name])).nodes
            scores = {n: j for n, j in judged.items() if isinstance(j, NodeScores)}
            weight = 1 if what == "scores" else 2  # the weight of the plugin in the default profile
            parts = {n: (j.raw if what == "scores" else j.weighted)["DynamicResources"] for n, j in scores.items()}
            found = {n: part // weight for n, part in parts.items()}
            if found != wanted:
                yield f"{what} of {name}: {found}"


def _compare_pods(row: Mapping[str, Any], bench: Bench) -> Iterator[str]:
    for name, wanted in row.get("then", {}).items():
        node, message = bench.node_of(name), bench.message_of(name)
        if node != wanted and (node or wanted not in message):
            yield f"{name}: on {node!r}, {message!r}"
    for name, wanted in row.get("told", {}).items():
        notes = [e["note"] for e in bench.transport.events if e["regarding"]["name"] == name]
        if not any(wanted in note for note in notes):
            yield f"{name} was told {notes}"
    yield from _compare_footprints(row, bench)
    for name, wanted in row.get("held-back", {}).items():
        pod = bench.scheduler.pending[f"uid-default-{name}"]
        status = bench.scheduler.profiles["default-scheduler"].pre_enqueue(pod)
        if status is None or wanted not in status.message:
            yield f"{name} is held back by {status}"


def _compare_footprints(row: Mapping[str, Any], bench: Bench) -> Iterator[str]:
    for name in {**row.get("takes", {}), **row.get("footprint", {})}:
        status = (bench.transport.find("pods", "default", name) or {})["status"]
        found = status.get("nodeAllocatableResourceClaimStatuses") or [{}]
        amounts = {a["name"]: a["quantity"] for a in found[0].get("mapping", [])} or None
        if name in row.get("takes", {}) and row["takes"][name] != amounts:
            yield f"{name} takes {amounts}"
        if not row.get("footprint", {}).get(name, {}).items() <= found[0].items():
            yield f"footprint of {name}: {found}"


def _compare_claims(row: Mapping[str, Any], bench: Bench) -> Iterator[str]:
    for name in row.get("claims", {}):
        tree = bench.transport.find("resourceclaims", "default", name) or {}
        status = tree.get("status") or {}
        allocation = status.get("allocation") or {}
        found = {
            "devices": [r["device"] for r in allocation.get("devices", {}).get("results", [])],
            "users": [u["name"] for u in status.get("reservedFor") or []],
            "finalizers": tree["metadata"].get("finalizers", []),
            "timed": "allocationTimestamp" in allocation,
        }
        for what, value in found.items():
            if name in row.get(what, {}) and row[what][name] != value:
                yield f"{what} of {name}: {value}"
