"""Pods share what their specs have in common, whatever node they are on, and nothing else."""

from builders import Bench, read_pod


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
