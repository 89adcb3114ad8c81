"""DaemonSets beside a real API server; pods are bound as the scheduler would bind them."""

from typing import Any

import pytest
from workload_rig import APPS, AT_ONCE, PODS, Rig, Tree, workload

PATH, REVISIONS, NODES = f"{APPS}/daemonsets", f"{APPS}/controllerrevisions", "/api/v1/nodes"
HASH = "controller-revision-hash"


def add_node(rig: Rig, name: str, **labels: str) -> None:
    rig.call("POST", NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
    rig.patch(f"{NODES}/{name}", {"spec": {"taints": None}})


def make(nodes: int = 3, spec: Tree | None = None, **more: Any) -> Rig:
    rig = Rig()
    for i in range(nodes):
        add_node(rig, f"n{i}", disk="ssd" if i == 0 else "hdd")
    tree = workload("DaemonSet", "agent", **more)
    tree["spec"]["template"]["spec"].update(spec or {})
    rig.kubelet = lambda pod: run_pod(rig, pod)
    rig.call("POST", PATH, tree)
    rig.settle()
    return rig


def target_of(pod: Tree) -> str:
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    (field,) = term["matchFields"]
    assert (field["key"], field["operator"]) == ("metadata.name", "In") and "matchExpressions" not in term
    (node,) = field["values"]
    return str(node)


def run_pod(rig: Rig, pod: Tree) -> Tree | None:
    """Bind a pod to the node it was made for, and have it ready unless its image is broken."""
    if not pod["spec"].get("nodeName"):
        rig.bind(pod["metadata"]["name"], target_of(pod))
        return {}
    if any(c["type"] == "Ready" for c in pod["status"]["conditions"]) or image_of(pod) == "broken":
        return None
    return rig.ready_status()


def image_of(pod: Tree) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def places(rig: Rig) -> list[tuple[str, str]]:
    return sorted((target_of(p), image_of(p)) for p in rig.pods())


def nodes_of(rig: Rig) -> list[str]:
    return [node for node, _ in places(rig)]


def set_image(rig: Rig, image: str) -> None:
    spec = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
    rig.patch(f"{PATH}/agent", spec)
    rig.settle()


def status(rig: Rig) -> Tree:
    found: Tree = rig.get(f"{PATH}/agent")["status"]
    return found


def taint(rig: Rig, node: str, effect: str | None, key: str = "team") -> None:
    rig.patch(f"{NODES}/{node}", {"spec": {"taints": [{"key": key, "effect": effect}] if effect else None}})
    rig.settle()


def test_every_node_gets_a_pod_that_tolerates_what_befalls_nodes() -> None:
    rig = make(3)
    assert nodes_of(rig) == ["n0", "n1", "n2"]
    pod = rig.pods()[0]
    (revision,) = rig.items(REVISIONS)
    revision_hash = revision["metadata"]["labels"][HASH]
    assert pod["metadata"]["labels"] == {"app": "agent", HASH: revision_hash, "pod-template-generation": "1"}
    assert pod["metadata"]["generateName"] == "agent-"
    tolerated = [(t["key"].rpartition("/")[2], t["effect"]) for t in pod["spec"]["tolerations"]]
    assert tolerated == [
        ("not-ready", "NoExecute"), ("unreachable", "NoExecute"), ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"), ("pid-pressure", "NoSchedule"), ("unschedulable", "NoSchedule"),
    ]  # fmt: skip
    assert revision["metadata"]["name"] == f"agent-{revision_hash}" and revision["revision"] == 1
    assert status(rig) == {
        "observedGeneration": 1, "desiredNumberScheduled": 3, "currentNumberScheduled": 3, "numberMisscheduled": 0,
        "numberReady": 3, "updatedNumberScheduled": 3, "numberAvailable": 3,
    }  # fmt: skip


def test_nodes_come_and_go() -> None:
    rig = make(1)
    add_node(rig, "n1")
    rig.settle()
    assert nodes_of(rig) == ["n0", "n1"] and status(rig)["desiredNumberScheduled"] == 2
    rig.delete(f"{NODES}/n1")
    rig.settle()
    assert status(rig)["desiredNumberScheduled"] == 1


def test_a_pod_for_a_node_that_went_before_it_was_bound_goes() -> None:
    rig = make(1)
    rig.kubelet = None
    add_node(rig, "n1")
    rig.settle()
    rig.delete(f"{NODES}/n1")
    rig.settle()
    assert nodes_of(rig) == ["n0"]


def test_selectors_and_affinity_choose_the_nodes() -> None:
    rig = make(3, spec={"nodeSelector": {"disk": "ssd"}})
    assert nodes_of(rig) == ["n0"]
    rig.patch(f"{NODES}/n1", {"metadata": {"labels": {"disk": "ssd"}}})
    rig.patch(f"{NODES}/n0", {"metadata": {"labels": {"disk": "hdd"}}})
    rig.settle()
    assert nodes_of(rig) == ["n1"]
    term = {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["ssd"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert nodes_of(make(3, spec={"affinity": {"nodeAffinity": required}})) == ["n1", "n2"]


def test_taints_keep_pods_away_and_those_that_evict_remove_them() -> None:
    rig = make(2)
    taint(rig, "n1", "NoSchedule")
    assert nodes_of(rig) == ["n0", "n1"] and status(rig)["numberMisscheduled"] == 1
    name = next(p["metadata"]["name"] for p in rig.pods() if target_of(p) == "n1")
    rig.delete(f"{PODS}/{name}", AT_ONCE)
    rig.settle()
    assert nodes_of(rig) == ["n0"]
    taint(rig, "n0", "NoExecute")
    assert nodes_of(rig) == []
    taint(rig, "n0", None)
    taint(rig, "n1", "NoSchedule", "node.kubernetes.io/unschedulable")
    assert nodes_of(rig) == ["n0", "n1"]


def test_a_deleted_pod_comes_back_when_it_is_gone() -> None:
    rig = make(1)
    (name,) = rig.names()
    rig.kubelet = None
    rig.delete(f"{PODS}/{name}")
    rig.settle()
    assert rig.names() == [name], "not beside the one that terminates"
    rig.delete(f"{PODS}/{name}", AT_ONCE)
    rig.settle()
    assert rig.names() != [name] and len(rig.names()) == 1


def test_a_pod_that_fails_is_replaced_later_and_later() -> None:
    rig = make(1)
    replaced = []
    for _ in range(4):
        (name,) = rig.names()
        started = rig.clock.now()
        rig.finish(name, "Failed", 1)
        rig.settle()
        while rig.names() == [name]:
            rig.run(1)
        replaced.append(rig.clock.now() - started)
    assert replaced == [0, 1, 2, 4]
    assert len(rig.events("FailedDaemonPod")) == 4


def test_a_rolling_update_replaces_as_many_as_may_be_missing() -> None:
    rig = make(4)
    set_image(rig, "broken")
    assert [image for _, image in places(rig)].count("broken") == 1
    assert status(rig)["numberUnavailable"] == 1
    set_image(rig, "img:3")
    assert {image for _, image in places(rig)} == {"img:3"}
    assert status(rig)["updatedNumberScheduled"] == 4


def test_several_may_be_missing() -> None:
    rig = make(4, updateStrategy={"rollingUpdate": {"maxUnavailable": "50%"}})
    set_image(rig, "broken")
    assert [image for _, image in places(rig)].count("broken") == 2


def test_with_surge_the_new_pod_gets_ready_beside_the_old_one() -> None:
    rig = make(3, updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    set_image(rig, "broken")
    images = [image for _, image in places(rig)]
    assert images.count("img:1") == 3 and images.count("broken") == 1
    set_image(rig, "img:3")
    assert places(rig) == [("n0", "img:3"), ("n1", "img:3"), ("n2", "img:3")]


def test_on_delete_only_what_is_deleted_changes() -> None:
    rig = make(2, updateStrategy={"type": "OnDelete"})
    set_image(rig, "img:2")
    assert {image for _, image in places(rig)} == {"img:1"}
    rig.delete(f"{PODS}/{rig.names()[0]}", AT_ONCE)
    rig.settle()
    assert sorted(image for _, image in places(rig)) == ["img:1", "img:2"]
    assert status(rig)["updatedNumberScheduled"] == 1


def test_revisions_are_used_again_and_cleaned_up() -> None:
    rig = make(1, revisionHistoryLimit=1)
    set_image(rig, "img:2")
    set_image(rig, "img:1")
    assert sorted(r["revision"] for r in rig.items(REVISIONS)) == [2, 3]
    set_image(rig, "img:4")
    assert sorted(r["revision"] for r in rig.items(REVISIONS)) == [3, 4]
    newest = max(rig.items(REVISIONS), key=lambda r: r["revision"])
    assert newest["data"]["spec"]["template"]["$patch"] == "replace"
    assert newest["data"]["spec"]["template"]["spec"]["containers"][0]["image"] == "img:4"


def test_available_comes_after_the_minimum_of_ready_seconds() -> None:
    rig = make(1, minReadySeconds=20)
    assert status(rig)["numberReady"] == 1 and status(rig)["numberUnavailable"] == 1
    rig.run(20)
    assert status(rig)["numberAvailable"] == 1


@pytest.mark.parametrize("steps", range(2, 60, 7))
def test_a_controller_that_starts_anew_in_the_middle_makes_nothing_twice(steps: int) -> None:
    rig = Rig()
    for i in range(4):
        add_node(rig, f"n{i}")
    rig.call("POST", PATH, workload("DaemonSet", "agent"))
    for _ in range(steps):
        rig.step()
    rig.restart()
    rig.settle()
    assert nodes_of(rig) == ["n0", "n1", "n2", "n3"] and len(rig.items(REVISIONS)) == 1
    assert not rig.events("SuccessfulDelete")


@pytest.mark.parametrize("resource", ["pods", "controllerrevisions", "daemonsets"])
def test_a_late_watch_makes_nothing_twice(resource: str) -> None:
    rig = make(2)
    rig.transport.late = resource
    set_image(rig, "img:2")
    add_node(rig, "n2")
    rig.settle()
    rig.transport.release()
    rig.settle()
    assert places(rig) == [(f"n{i}", "img:2") for i in range(3)] and len(rig.items(REVISIONS)) == 2
