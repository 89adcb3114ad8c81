"""Whatever happens, the columns equal those of a state built afresh from what is there in the end."""

from typing import Any

import numpy as np
from builders import make_node, pod_tree
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from apportion.api.selectors import compile_label_selector
from apportion.api.view import LabelSelector
from apportion.sched.state import ClusterState, NamespaceScope

NODES = ["n0", "n1", "n2"]
PODS = [f"p{i}" for i in range(6)]
ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
        ]
    }
}


def _counter(state: ClusterState) -> Any:
    clause = (
        NamespaceScope(frozenset({"default"}), None),
        compile_label_selector(LabelSelector(match_labels={"app": "a"})),
    )
    return state.groups.domain((clause,), "zone").current()


def _picture(state: ClusterState) -> dict[str, Any]:
    """Return everything that decisions read, by node name and label value instead of row and id."""
    nodes = state.nodes
    domain = _counter(state)
    rows = {
        nodes.name(r): r
        for r in range(nodes.rows)
        if nodes.names[r] is not None and (nodes.valid[r] or nodes.pod_count[r])
    }
    values = domain.column.values
    terms = {}
    for term in state.terms._terms.values():
        counts = term.domain.current().all
        terms.update({(term.term.topology_key, values[i]): int(c) for i, c in enumerate(counts[: len(values)]) if c})
    return {
        "allocatable": {n: nodes.allocatable[:, r].tolist() for n, r in rows.items()},
        "requested": {n: nodes.requested[:, r].tolist() for n, r in rows.items()},
        "nonzero": {n: nodes.nonzero[:, r].tolist() for n, r in rows.items()},
        "pods": {n: int(nodes.pod_count[r]) for n, r in rows.items()},
        "valid": {n: bool(nodes.valid[r]) for n, r in rows.items()},
        "all": {values[i]: int(c) for i, c in enumerate(domain.all[: len(values)]) if c},
        "live": {values[i]: int(c) for i, c in enumerate(domain.live[: len(values)]) if c},
        "terms": terms,
    }


class StateMachine(RuleBasedStateMachine):
    """Adds, changes and removes nodes and pods, assumes and forgets; compares with a fresh state after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState()
        self.nodes: dict[str, Any] = {}
        self.pods: dict[str, dict[str, Any]] = {}
        _counter(self.state)

    @rule(name=st.sampled_from(NODES), zone=st.sampled_from(["x", "y", None]), cpu=st.integers(1, 9))
    def set_node(self, name: str, zone: str | None, cpu: int) -> None:
        self.nodes[name] = make_node(name, cpu=str(cpu), labels={"zone": zone} if zone else {})
        self.state.apply_node(self.nodes[name])

    @rule(name=st.sampled_from(NODES))
    def remove_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.state.remove_node(name)

    @rule(
        name=st.sampled_from(PODS),
        node=st.sampled_from(NODES),
        app=st.sampled_from(["a", "b"]),
        cpu=st.integers(1, 3),
        anti=st.booleans(),
        terminating=st.booleans(),
    )
    def add_pod(self, name: str, node: str, app: str, cpu: int, anti: bool, terminating: bool) -> None:
        more: dict[str, Any] = {"affinity": ANTI} if anti else {}
        if terminating:
            more["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.pods[name] = pod_tree(name, cpu=str(cpu), node=node, labels={"app": app}, **more)
        self.state.add_pod(self.state.reader.read_tree(self.pods[name]))

    @rule(name=st.sampled_from(PODS))
    def remove_pod(self, name: str) -> None:
        self.pods.pop(name, None)
        self.state.remove_pod(f"uid-default-{name}")

    @rule(name=st.sampled_from(PODS), node=st.sampled_from(NODES), confirm=st.booleans())
    def assume(self, name: str, node: str, confirm: bool) -> None:
        if name in self.pods or node not in self.nodes:
            return
        tree = pod_tree(name, labels={"app": "a"}, affinity=ANTI)
        pod = self.state.reader.read_tree(tree)
        self.state.assume(pod, self.state.nodes.row_of[node])
        if confirm:
            tree["spec"]["nodeName"] = node
            self.pods[name] = tree
            self.state.add_pod(self.state.reader.read_tree(tree))
            assert not self.state.forget(pod)
        else:
            assert self.state.forget(pod)

    @invariant()
    def equals_a_fresh_state(self) -> None:
        fresh = ClusterState()
        for node in self.nodes.values():
            fresh.apply_node(node)
        for tree in self.pods.values():
            fresh.add_pod(fresh.reader.read_tree(tree))
        assert _picture(self.state) == _picture(fresh)
        assert not self.state.assumed
        assert self.state.nodes.count == int(np.count_nonzero(self.state.nodes.valid))


TestState = StateMachine.TestCase
TestState.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
