"""Pods share what their specs have in common, whatever node they are on, and nothing else."""

import msgspec
from builders import Bench, pod_tree, read_pod

from apportion.sched.state import PodHead, PodInfo


def test_a_bound_pod_has_the_template_of_its_pending_self() -> None:
    state = Bench().state
    pending, bound = read_pod(state, "p"), read_pod(state, "p", node="n1")
    assert bound.node_name == "n1" and bound.kind.template is pending.kind.template


def test_a_label_of_nodes_may_be_named_like_the_field() -> None:
    state = Bench().state
    pods = [read_pod(state, "p", nodeSelector={"nodeName": name}) for name in ("a", "b", "a")]
    assert [pod.spec.node_selector for pod in pods] == [{"nodeName": "a"}, {"nodeName": "b"}, {"nodeName": "a"}]
    bound = [read_pod(state, "p", node=node, nodeSelector={"nodeName": "a"}) for node in ("a", "b")]
    assert [pod.node_name for pod in bound] == ["a", "b"]
    assert {pod.kind.template for pod in (pods[0], *bound)} == {pods[0].kind.template}


def test_a_pod_whose_status_changes_keeps_the_rest_and_one_that_changes_itself_does_not() -> None:
    state = Bench().state

    def read(known: PodInfo | None, **more: object) -> PodInfo:
        tree = pod_tree("p", node="n1", **more)
        return state.reader.from_head(msgspec.json.decode(msgspec.json.encode(tree), type=PodHead), known)

    known = read(None)
    condition = {"type": "DisruptionTarget", "status": "True"}
    assert read(known, status={"conditions": [condition]}) is known  # nothing that is read of a pod with a node
    running = read(known, status={"phase": "Running"})
    assert (running.phase, running.node_name, running.kind) == ("Running", "n1", known.kind)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    for more in ({"labels": {"a": "b"}}, {"cpu": "3"}, {"priority": 7}, {"ownerReferences": [owner]}):
        changed = read(known, **more)
        assert changed.kind is not known.kind
        fresh = read(None, **more)
        assert (changed.kind, changed.usage, changed.node_name) == (fresh.kind, fresh.usage, fresh.node_name)
