"""Every decision, score and message of kube-scheduler 1.37 on the recorded clusters, with caches cold and warm."""

from typing import Any

import pytest
from golden_world import World, read_golden

from apportion.sched.explain import judge

GROUPS = [
    "basic",
    "resources",
    "nodeaffinity",
    "taints",
    "podaffinity",
    "spread",
    "defaultspread",
    "ports",
    "volumes",
    "mixed",
    "dra",
]


def _compare(found: dict[str, Any], expect: dict[str, Any]) -> list[str]:
    problems = []
    for name, wanted in expect.get("nodes", {}).items():
        got = found["nodes"].get(name, {})
        if "rejected" in wanted and wanted["rejected"]["plugin"] == "PreFilter":
            same = got.get("rejected", {}).get("plugin") == "PreFilter"
        elif "rejected" in wanted and wanted["rejected"]["code"] == "Error":
            # kube-scheduler gives up the whole attempt here; we reject the node with the same text and go on
            texts = [
                r.removeprefix('running "DynamicResources" filter plugin: ') for r in wanted["rejected"]["reasons"]
            ]
            code = "UnschedulableAndUnresolvable"
            same = got.get("rejected") == {"plugin": "DynamicResources", "code": code, "reasons": texts}
        else:
            same = got == wanted
        if not same:
            problems.append(f"{name}: recorded {wanted}, found {got}")
    for field in ("message", "unschedulablePlugins", "preFilter", "preFilterNodes"):
        if field in expect and found.get(field) != expect[field]:
            problems.append(f"{field}: recorded {expect[field]}, found {found.get(field)}")
    return problems


@pytest.mark.parametrize("group", GROUPS)
def test_decisions_are_as_recorded(group: str) -> None:
    problems = []
    judged = 0
    for record in read_golden(f"filter-score-{group}"):
        world = World()
        world.put(record["objects"])
        for tree, expect in zip(record["pending"], record["expect"], strict=True):
            found = judge(world.scheduler, world.read_pod(tree)).to_json()
            judged += 1
            problems += [f"{record['id']} {expect['pod']} {p}" for p in _compare(found, expect)]
    assert judged > 200
    assert problems == []


@pytest.mark.parametrize("group", GROUPS)
def test_warm_caches_give_the_same_totals(group: str) -> None:
    """Rankings are kept while the cluster fills up pod by pod; in the end they must hold the recorded totals."""
    problems = []
    hits = 0
    for record in read_golden(f"filter-score-{group}"):
        world = World()
        pods = [o for o in record["objects"] if o["kind"] == "Pod"]
        world.put([o for o in record["objects"] if o["kind"] != "Pod"])
        scheduler = world.scheduler
        search = scheduler.search
        pending = [world.read_pod(tree) for tree in record["pending"]]
        for tree in pods:
            for pod in pending:
                search.choose(search.look(pod))
            world.put([tree])
        for pod, expect in zip(pending, record["expect"], strict=True):
            look = search.look(pod)
            search.choose(look)
            ranking = look.plan.ranking
            assert ranking is not None
            hits += ranking.hits
            for name, wanted in expect.get("nodes", {}).items():
                total = int(ranking.ranked[scheduler.state.nodes.row_of[name]])
                if total != wanted.get("total", -1):
                    problems.append(f"{record['id']} {expect['pod']} {name}: {total} for {wanted}")
    assert hits >= 10  # where most pods carry affinity terms, most of them change all rows
    assert problems == []
