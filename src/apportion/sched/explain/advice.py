"""What would have to change for a pending pod, in a sentence or two for each plugin that rejects nodes."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from apportion.alloc import Allocator, Problem
from apportion.sched.cycle import Scheduler
from apportion.sched.explain.device_evictions import tell_who_holds_devices
from apportion.sched.explain.judgement import Judgement
from apportion.sched.framework import Status
from apportion.sched.plugins.claim_lookup import find_claims
from apportion.sched.plugins.extended_claims import ExtendedProblems, ExtendedRequests
from apportion.sched.state import CPU, HARD_EFFECTS, PodInfo, find_untolerated

_NODES_SHOWN_MAX: Final = 3
_DETAILS_MAX: Final = 3
_SEARCHES_MAX: Final = 4


def advise(scheduler: Scheduler, pod: PodInfo, judgement: Judgement) -> list[str]:
    """Return sentences, the plugin that rejects most nodes first. Reads the state, changes nothing."""
    rejected: dict[str, list[str]] = {}
    for name, found in judgement.nodes.items():
        if isinstance(found, Status):
            rejected.setdefault(found.plugin, []).append(name)
    advice: list[str] = []
    for plugin, names in sorted(rejected.items(), key=lambda r: (-len(r[1]), r[0])):
        speak = _SPEAKERS.get(plugin)
        if speak is not None:
            advice.extend(speak(scheduler, pod, sorted(names)))
    return advice


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_NODES_SHOWN_MAX])
    return shown if len(names) <= _NODES_SHOWN_MAX else f"{shown} and {len(names) - _NODES_SHOWN_MAX} more"


def _resources(scheduler: Scheduler, pod: PodInfo, names: list[str]) -> Iterator[str]:
    """Compare each request with the most that any of the nodes has free."""
    nodes = scheduler.state.nodes
    rows = np.array([nodes.row_of[n] for n in names])
    by_devices = {nodes.resource_id(n) for n in scheduler.state.list_device_resources(pod)}
    for resource, amount in pod.usage.amounts:
        if resource in by_devices and not nodes.allocatable[resource, rows].any():
            continue  # DynamicResources has its own word on it
        free = nodes.allocatable[resource, rows] - nodes.requested[resource, rows]
        best = int(free.argmax())
        if free[best] < amount:
            name = nodes.resources.items[resource]
            most = _amount(resource, int(free[best]))
            yield f"asks for {_amount(resource, amount)} {name}; the most that is free is {most}, on {names[best]}"
    if (nodes.pod_count[rows] >= nodes.allowed_pods[rows]).all():
        yield f"every place for pods is taken on {_listed(names)}"


def _amount(resource: int, amount: int) -> str:
    if resource == CPU:
        return f"{amount / 1000:g}"
    for suffix, size in (("Gi", 1 << 30), ("Mi", 1 << 20)):
        if amount and amount % (size // 1024) == 0 and amount >= size:
            return f"{amount / size:g}{suffix}"
    return str(amount)


def _taints(scheduler: Scheduler, pod: PodInfo, names: list[str]) -> Iterator[str]:
    nodes = scheduler.state.nodes
    by_taint: dict[str, list[str]] = {}
    for name in names:
        taints = nodes.taint_sets.items[nodes.taint_set[nodes.row_of[name]]]
        taint = find_untolerated(taints, pod.spec.tolerations, HARD_EFFECTS)
        if taint is not None:
            text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
            by_taint.setdefault(text, []).append(name)
    for text, tainted in sorted(by_taint.items()):
        yield f"a toleration of {text} would open {_listed(tainted)}"


def _node_affinity(scheduler: Scheduler, pod: PodInfo, names: list[str]) -> Iterator[str]:
    nodes = scheduler.state.nodes
    for key, value in sorted(pod.spec.node_selector.items()):
        having = [n for n in nodes.row_of if nodes.labels(nodes.row_of[n]).get(key) == value]
        if not having:
            yield f"no node has the label {key}={value} that nodeSelector wants"
    if pod.spec.affinity and pod.spec.affinity.node_affinity and pod.spec.affinity.node_affinity.required:
        yield f"required node affinity leaves out {_listed(names)}"


def _cordoned(scheduler: Scheduler, pod: PodInfo, names: list[str]) -> Iterator[str]:
    yield f"uncordon {_listed(names)}"


def _devices(scheduler: Scheduler, pod: PodInfo, names: list[str]) -> Iterator[str]:
    """Say what the allocator found on the nodes, nodes with the same finding together."""
    state = scheduler.state
    if state.claims.find_extended(pod.uid) is not None:
        yield "the claim that an earlier attempt made for extended resources has to go first"
        return
    claims = [c.input for c in find_claims(state, pod).claims if c.allocation is None]
    extended = ExtendedRequests(state).find(pod)
    if not claims and extended is None:
        yield f"an allocated claim of the pod cannot be used on {_listed(names)}"
        return
    allocator = Allocator(state.devices)
    problems = None if extended is None else ExtendedProblems(allocator, claims, pod.namespace, extended)

    def problem_at(name: str) -> Problem | None:
        return allocator.prepare(claims) if problems is None else problems.at(state.nodes.row_of[name])

    details: dict[str, list[str]] = {}
    for name in names:
        if allocator.work > _SEARCHES_MAX * allocator.steps_max:
            break  # a claim made to be expensive is explained on some nodes only
        problem = problem_at(name)
        if problem is not None:
            details.setdefault(allocator.explain(problem, name).detail, []).append(name)
    ordered = sorted(details.items(), key=lambda d: (-len(d[1]), d[0]))
    for detail, where in ordered[:_DETAILS_MAX]:
        yield f"on {_listed(where)}: {detail}"
    yield from tell_who_holds_devices(state, pod, names, allocator, problem_at)


_SPEAKERS: Final[dict[str, Callable[[Scheduler, PodInfo, list[str]], Iterator[str]]]] = {
    "NodeResourcesFit": _resources,
    "TaintToleration": _taints,
    "NodeAffinity": _node_affinity,
    "NodeUnschedulable": _cordoned,
    "DynamicResources": _devices,
}
