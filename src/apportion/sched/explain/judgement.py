"""One pod judged against the state as it is: every node's scores, or the plugin that rejects it and why."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from apportion.sched.cycle import Look, Scheduler
from apportion.sched.framework import PRE_FILTER, Diagnosis, Plan, Status
from apportion.sched.state import Bools, Int64s, PodInfo


@dataclass(slots=True)
class NodeScores:
    """The scores of one feasible node by plugin, and their weighted sum."""

    raw: dict[str, int]
    weighted: dict[str, int]
    total: int


@dataclass(slots=True)
class Preemption:
    """What preemption would do for a pod that fits nowhere: the node it would get, and who would have to go."""

    nominated: str | None
    victims: list[str]
    message: str


@dataclass(slots=True)
class Judgement:
    """What was found for one pod. ``nodes`` has every node exactly once unless PreFilter rejected the pod."""

    pod: str
    pre_filter: Status | None = None
    pre_filter_nodes: list[str] | None = None
    nodes: dict[str, Status | NodeScores] = field(default_factory=dict)
    message: str | None = None
    unschedulable_plugins: list[str] = field(default_factory=list)
    preemption: Preemption | None = None

    @property
    def feasible(self) -> list[str]:
        """The names of the nodes that fit, best first, then by name."""
        scored = {n: s.total for n, s in self.nodes.items() if isinstance(s, NodeScores)}
        return sorted(scored, key=lambda n: (-scored[n], n))

    def to_json(self) -> dict[str, Any]:
        """Return the form that is documented in the reference."""
        result: dict[str, Any] = {"pod": self.pod}
        if self.pre_filter is not None:
            result["preFilter"] = status_json(self.pre_filter)
        if self.pre_filter_nodes is not None:
            result["preFilterNodes"] = self.pre_filter_nodes
        result["nodes"] = {name: _node_json(found) for name, found in sorted(self.nodes.items())}
        if self.message is not None:
            result["message"] = self.message
            result["unschedulablePlugins"] = self.unschedulable_plugins
        preemption = self.preemption
        result["preemption"] = preemption and {
            "nominated": preemption.nominated,
            "victims": preemption.victims,
            "message": preemption.message,
        }
        return result


def status_json(status: Status) -> dict[str, Any]:
    """Return a rejection: plugin, code and sorted reasons."""
    reasons = [] if status.plugin == PRE_FILTER else sorted(status.reasons)
    return {"plugin": status.plugin, "code": status.code.text, "reasons": reasons}


def _node_json(found: Status | NodeScores) -> dict[str, Any]:
    if isinstance(found, Status):
        return {"rejected": status_json(found)}
    return {"raw": found.raw, "weighted": found.weighted, "total": found.total}


def judge(scheduler: Scheduler, pod: PodInfo) -> Judgement:
    """Judge ``pod`` without changing anything. Cost: a full pass over all nodes for every plugin."""
    state = scheduler.state
    look = scheduler.search.look(pod)
    plan = look.plan
    judgement = Judgement(pod.key)
    if plan.node_names is not None:
        judgement.pre_filter_nodes = sorted(plan.node_names)
    if plan.rejected is not None:
        judgement.pre_filter = plan.rejected
        ok: Bools = np.zeros(state.nodes.rows, np.bool_)
    else:
        ok = _judge_nodes(scheduler, look, judgement)
    if not ok.any():
        diagnosis = scheduler.search.diagnose(look)
        judgement.message = diagnosis.message()
        judgement.unschedulable_plugins = sorted(diagnosis.unschedulable_plugins())
        judgement.preemption = _preempt(scheduler, look, diagnosis)
    return judgement


def _preempt(scheduler: Scheduler, look: Look, diagnosis: Diagnosis) -> Preemption | None:
    result = scheduler.search.post_filter(look, diagnosis)
    if result is None:
        return None
    if result.commands:
        return Preemption(None, [], result.status.message)
    victims = sorted(v.key for v in result.victims)
    return Preemption(result.nominated_node_name or None, victims, f"preemption: {result.status.message}")


def _judge_nodes(scheduler: Scheduler, look: Look, judgement: Judgement) -> Bools:
    nodes = scheduler.state.nodes
    diagnosis = scheduler.search.diagnose(look)
    ok: Bools = nodes.valid.copy()
    for status, rows in diagnosis.groups:
        ok[rows] = False
        for row in rows.tolist():
            judgement.nodes[nodes.name(row)] = status
    raw, weighted = _scores(look.plan, ok)
    for row in np.flatnonzero(ok).tolist():
        own = {name: int(scores[row]) for name, scores in weighted.items()}
        before = {name: int(scores[row]) for name, scores in raw.items()}
        judgement.nodes[nodes.name(row)] = NodeScores(before, own, sum(own.values()))
    return ok


def _scores(plan: Plan, ok: Bools) -> tuple[dict[str, Int64s], dict[str, Int64s]]:
    raw: dict[str, Int64s] = {}
    weighted: dict[str, Int64s] = {}
    for _, name, weight, column in sorted(plan.scores, key=lambda s: s[1]):
        column.refresh()
        if not column.skip:
            raw[name] = column.raw_scores(ok)
            weighted[name] = weight * column.normalized(ok)
    return raw, weighted
