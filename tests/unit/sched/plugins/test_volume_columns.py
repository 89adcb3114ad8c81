"""Columns that live through many changes answer as those of a scheduler that starts with the outcome."""

from random import Random
from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree
from volume_trees import (
    ZONE,
    attachment_tree,
    claim_tree,
    class_tree,
    csi_node_tree,
    csi_volume_tree,
    mounting,
)

from apportion.sched.explain import judge

HOST = "kubernetes.io/hostname"
ZONES = ["a", "b", "c"]
Change = tuple[str, dict[str, Any]]


def _change(rng: Random) -> Change:
    number = rng.randrange(6)
    kind = rng.choice(["node", "volume", "volume", "claim", "claim", "pod", "pod", "csi", "attachment", "class"])
    if kind == "node":
        return "nodes", node_tree(f"n{number}", labels={ZONE: rng.choice(ZONES)})
    if kind == "volume":
        return "persistentvolumes", _volume(rng, number)
    if kind == "claim":
        volume = f"v{rng.randrange(6)}" if rng.random() < 0.5 else ""
        modes = [rng.choice(["ReadWriteOnce", "ReadWriteOncePod"])]
        return "persistentvolumeclaims", claim_tree(f"c{number}", f"{rng.choice([5, 20])}Gi", volume, modes=modes)
    if kind == "pod":
        phase = rng.choice(["Running", "Succeeded"])
        claims = mounting(*(f"c{i}" for i in rng.sample(range(6), 2)))
        where = f"n{rng.randrange(6)}"
        return "pods", pod_tree(f"used{number}", "0", node=where, volumes=claims, status={"phase": phase})
    if kind == "csi":
        return "csinodes", csi_node_tree(f"n{number}", rng.choice([None, 1, 2, 3]))
    if kind == "attachment":
        return "volumeattachments", attachment_tree(f"a{number}", f"n{rng.randrange(6)}", f"v{rng.randrange(6)}")
    return "storageclasses", class_tree("local", rng.choice(["csi.example.com", "kubernetes.io/no-provisioner"]))


def _volume(rng: Random, number: int) -> dict[str, Any]:
    at = rng.choice([None, (HOST, [f"n{rng.randrange(6)}"]), (ZONE, rng.sample(ZONES, 2))])
    ref = {"namespace": "default", "name": f"c{rng.randrange(6)}"}
    return csi_volume_tree(
        f"v{number}",
        size=f"{rng.choice([10, 20, 40])}Gi",
        at=at,
        labels=rng.choice([{}, {ZONE: "a__b"}]),
        phase=rng.choice(["Available", "Bound"]),
        **({"claimRef": ref} if rng.random() < 0.2 else {}),
    )


def _answers(bench: Bench) -> list[dict[str, Any]]:
    found = []
    for claims in (["c0"], ["c1", "c2"], ["c3", "c4"], ["c5", "c0"]):
        pod = bench.state.reader.read_tree(pod_tree("asked", volumes=mounting(*claims)))
        found.append(judge(bench.scheduler, pod).to_json())
    return found


@pytest.mark.parametrize("seed", range(8))
def test_columns_in_use_answer_like_fresh_ones(seed: int) -> None:
    rng = Random(seed)
    bench = Bench()
    latest: dict[tuple[str, str], Change] = {}
    for step in range(120):
        resource, tree = _change(rng)
        key = (resource, tree["metadata"]["name"])
        if resource == "pods" and key in latest and latest[key][1]["status"]["phase"] == "Running":
            tree = {**latest[key][1], "status": tree["status"]}  # a pod keeps its node and its volumes
        latest[key] = (resource, tree)
        bench.put(resource, tree)
        if step % 10 == 9:
            fresh = Bench()
            for other, content in latest.values():
                fresh.put(other, content)
            assert _answers(bench) == _answers(fresh), f"after step {step}"
