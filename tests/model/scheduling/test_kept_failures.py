"""What is kept between failures and preemptions against the same worked out anew, while random things change."""

import random
from typing import Any

import numpy as np
import pytest
from builders import Bench
from random_clusters import NAMESPACES, Maker
from reference_objects import Tree

from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework import ranking
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.plugins.default_preemption import DefaultPreemption
from apportion.sched.state import PodInfo

WORLDS, STEPS, SORTS = 16, 64, 5


class Changing:
    """A cluster to which random things happen; pods that are judged are never put into it."""

    def __init__(self, seed: int) -> None:
        self.bench = Bench()
        self._maker = Maker(seed)
        self._r = random.Random(seed)
        self._put: dict[tuple[str, str, str], None] = {}
        self._nominated: list[PodInfo] = []
        for name in NAMESPACES:
            self.bench.put("namespaces", self._maker.namespace(name))
        for i in range(self._r.randint(3, 7)):
            self._store("nodes", self._maker.node(i))
        for _ in range(14):
            self._add_pod()
        self.judged = [self._read(self._make_pod()) for _ in range(SORTS)]

    def _read(self, tree: Tree) -> PodInfo:
        return self.bench.state.reader.read_tree(tree)

    def _store(self, plural: str, tree: Tree) -> None:
        meta = tree["metadata"]
        self._put[plural, meta.get("namespace", ""), meta["name"]] = None
        self.bench.put(plural, tree)

    def _make_pod(self, node: str = "") -> Tree:
        """Return a pod, more often than not one about which only its requests and tolerations are special."""
        tree = self._maker.pod(node)
        tree["spec"]["priority"] = self._r.choice([0, 1, 2, 3])
        if self._r.random() < 0.6:
            for field in ("affinity", "topologySpreadConstraints"):
                tree["spec"].pop(field, None)
        tree["status"]["startTime"] = f"2026-01-01T00:00:0{self._r.randint(0, 9)}Z"
        return tree

    def _add_pod(self) -> None:
        self._store("pods", self._make_pod(f"n{self._r.randint(0, 7)}"))

    def _remove(self, plural: str) -> None:
        found = [key for key in self._put if key[0] == plural]
        if found:
            key = self._r.choice(found)
            del self._put[key]
            self.bench.transport.remove(*key)
            self.bench.deliver()

    def _nominate(self) -> None:
        nominator = self.bench.scheduler.queue.nominator
        if self._nominated and self._r.random() < 0.4:
            nominator.delete(self._nominated.pop(self._r.randrange(len(self._nominated))))
            return
        # now and then a pod that is judged is itself expected somewhere
        pod = self._r.choice([*self.judged, *(self._read(self._make_pod()) for _ in range(4))])
        nominator.add(pod, f"n{self._r.randint(0, 7)}")
        self._nominated = [p for p in self._nominated if p.uid != pod.uid] + [pod]

    def _budget(self) -> None:
        meta = {"name": f"b{self._r.randint(0, 2)}", "namespace": self._r.choice(NAMESPACES)}
        selector = {"matchLabels": {"tier": self._r.choice(["1", "2"])}}
        status = {"disruptionsAllowed": self._r.randint(0, 2)}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta}
        self._store("poddisruptionbudgets", {**budget, "spec": {"selector": selector}, "status": status})

    def step(self) -> None:
        """Change something, or several things before anybody looks."""
        for _ in range(self._r.choice([0, 1, 1, 1, 3])):
            changes = [self._add_pod, self._nominate, lambda: self._remove("pods"), self._budget]
            changes += [lambda: self._store("nodes", self._maker.node(self._r.randint(0, 7)))]
            changes += [lambda: self._remove("nodes")]
            self._r.choices(changes, [6, 5, 6, 1, 2, 1])[0]()


def _answer(scheduler: Scheduler, pod: PodInfo) -> dict[str, Any]:
    """Return everything that a failure leads to."""
    search = scheduler.search
    before = search.find_totals(search.look(pod))
    look = search.look(pod)
    totals = search.find_totals(look)  # with nothing changed
    assert np.array_equal(before, totals)
    diagnosis = search.diagnose(look)
    asked = look.probe
    found = search.post_filter(look, diagnosis)
    (plugin,) = (p for p in scheduler.profiles["default-scheduler"].post_filters if isinstance(p, DefaultPreemption))
    candidates = plugin.list_candidates(pod, diagnosis, asked)
    return {
        "feasible": totals is not None and (totals >= 0).tolist(),
        "rejections": {row: s for s, rows in diagnosis.groups for row in rows.tolist()},
        "message": diagnosis.message(),
        "one by one": [asked.find_rejection(row) for row in range(scheduler.state.nodes.rows)],
        "post filter": found and (found.status, found.nominated_node_name, [v.uid for v in found.victims]),
        "candidates": [(c.row, [v.uid for v in c.victims], c.violations) for c in candidates],
    }


def _answer_afresh(warm: Scheduler, pod: PodInfo, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Ask a scheduler that has just been made over the same state, and judge nodes on the columns themselves."""
    cold = build_scheduler(SchedulerConfig(), warm.state, FeatureGates.parse(""), warm.queue._clock, Rng(0))
    for name in warm.queue.nominator.node_names():
        for nominated in warm.queue.nominator.for_node(name):
            cold.queue.nominator.add(nominated, name)
    plan, epoch = pod.kind.plan, pod.kind.plan_epoch
    pod.kind.plan_epoch = -1  # the columns of the other scheduler must not be met
    with patch.context() as patched:
        patched.setattr(ranking, "can_open", lambda columns: False)
        found = _answer(cold, pod)
    pod.kind.plan, pod.kind.plan_epoch = plan, epoch
    return found


@pytest.mark.parametrize("seed", range(WORLDS))
def test_warm_answers_are_those_of_cold_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = Changing(seed)
    scheduler = world.bench.scheduler
    preempting = 0
    for number in range(STEPS):
        world.step()
        found = [_answer(scheduler, pod) for pod in world.judged]
        preempting += sum(bool(f["candidates"]) for f in found)
        if number % 4 == 3:  # not every time: the trials of a cold answer are changes to those who remember
            assert found == [_answer_afresh(scheduler, pod, monkeypatch) for pod in world.judged]
    assert preempting
    assert sum(v.hits for v in scheduler.search._verdicts.values()) > STEPS
    assert sum(c.hits for c in scheduler.search._contested_by_sort.values()) > STEPS
