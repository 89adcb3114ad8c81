"""HTTP extenders in the cycle, with a fake in their place: who is asked what, and what the answers lead to."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from builders import Bench, node_tree, pod_tree

from apportion.client import Response
from apportion.sched.framework import CallExtender
from apportion.sched.framework.config import read_config
from apportion.sched.shell import OnAnswer

Answer = Callable[[CallExtender, Any], Any]
VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1}


class Fake:
    """Answers from functions by action; while ``is_slow`` it keeps its answers back."""

    def __init__(self, **answers: Answer) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, Any]] = []
        self.is_slow = False
        self.waiting: list[Callable[[], None]] = []

    def call(self, command: CallExtender, body: bytes, on_answer: OnAnswer) -> None:
        sent = orjson.loads(body)
        self.asked.append((command.extender.url_prefix, command.action, sent))
        answer = self.answers[command.action](command, sent)
        response = answer if isinstance(answer, Response) else Response(200, orjson.dumps(answer))
        if self.is_slow:
            self.waiting.append(lambda: on_answer(response))
        else:
            on_answer(response)


def bench_with(fake: Fake, *extenders: dict[str, Any], nodes: int = 3) -> Bench:
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": f"http://e{i}", **e} for i, e in enumerate(extenders)],
    }
    bench = Bench(read_config(tree, "test"), extender_calls=fake)
    bench.put("nodes", *(node_tree(f"n{i}", extra={"example.com/foo": "2"}) for i in range(nodes)))
    return bench


def only(*names: str) -> Answer:
    """Leave these nodes."""
    return lambda command, sent: {"NodeNames": [n for n in command.node_names if n in names]}


def no_scores(command: CallExtender, sent: Any) -> Any:
    return []


def refuse(command: CallExtender, sent: Any) -> Response:
    return Response(500, b"", "code 500")


# ---- filter and prioritize --------------------------------------------------------------------------------


def test_a_pod_goes_where_the_extender_lets_it() -> None:
    fake = Fake(filter=only("n2"))
    bench = bench_with(fake, {"filterVerb": "filter", "nodeCacheCapable": True})
    bench.put("pods", pod_tree("p", labels={"app": "a"}))
    bench.run()
    assert bench.node_of("p") == "n2"
    ((_, action, sent),) = fake.asked
    assert (action, sent["NodeNames"], sent["Nodes"]) == ("filter", ["n0", "n1", "n2"], None)
    assert sent["Pod"]["metadata"]["labels"] == {"app": "a"}


def test_an_extender_without_a_cache_gets_and_answers_whole_nodes() -> None:
    fake = Fake(filter=lambda command, sent: {"nodes": {"items": sent["Nodes"]["items"][:1]}})
    bench = bench_with(fake, {"filterVerb": "filter"})
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p") == "n0"
    sent = fake.asked[0][2]
    assert sent["NodeNames"] is None
    assert [n["metadata"]["labels"]["kubernetes.io/hostname"] for n in sent["Nodes"]["items"]] == ["n0", "n1", "n2"]


def test_scores_of_extenders_add_to_those_of_plugins() -> None:
    scores: Answer = lambda command, sent: [{"Host": n, "Score": 10 if n == "n1" else 0} for n in command.node_names]  # noqa: E731
    fake = Fake(prioritize=scores)
    bench = bench_with(fake, {"prioritizeVerb": "prioritize", "weight": 5, "nodeCacheCapable": True})
    bench.put("pods", *(pod_tree(f"p{i}") for i in range(4)))
    bench.run()
    assert [bench.node_of(f"p{i}") for i in range(4)] == ["n1"] * 4


def test_nobody_scores_a_single_node_and_failing_scores_do_not_count() -> None:
    fake = Fake(filter=only("n1"), prioritize=refuse)
    bench = bench_with(fake, {**VERBS, "nodeCacheCapable": True})
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert [action for _, action, _ in fake.asked] == ["filter"]
    fake.answers["filter"] = only("n0", "n1")
    bench.put("pods", pod_tree("q"))
    bench.run()
    assert [action for _, action, _ in fake.asked] == ["filter", "filter", "prioritize"]
    assert bench.node_of("q") in ("n0", "n1")


def test_extenders_are_asked_one_after_the_other_and_those_that_may_fail_last() -> None:
    fake = Fake(filter=only("n1", "n2"))
    bench = bench_with(
        fake,
        {"filterVerb": "filter", "nodeCacheCapable": True, "ignorable": True},
        {"filterVerb": "filter", "nodeCacheCapable": True},
    )
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert [(url, sent["NodeNames"]) for url, _, sent in fake.asked] == [
        ("http://e1", ["n0", "n1", "n2"]),
        ("http://e0", ["n1", "n2"]),
    ]


def test_reasons_of_the_extender_are_told_and_any_event_wakes_the_pod() -> None:
    def nothing(command: CallExtender, sent: Any) -> Any:
        return {"NodeNames": [], "FailedNodes": {"n0": "no licence"}, "FailedAndUnresolvableNodes": {"n1": "too old"}}

    fake = Fake(filter=nothing)
    bench = bench_with(fake, {"filterVerb": "filter", "nodeCacheCapable": True})
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.message_of("p") == "0/3 nodes are available: 1 no licence, 1 too old."
    (entry,) = bench.scheduler.queue.dump()
    assert entry["unschedulable_plugins"] == ["Extender"]
    fake.answers["filter"] = only("n0")
    bench.put("namespaces", {"metadata": {"name": "any"}})
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.flush()
    bench.run()
    assert bench.node_of("p") == "n0"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (refuse, "failed filter with extender at URL http://e0/filter, code 500"),
        (lambda command, sent: {"Error": "out of order"}, "out of order"),
        (lambda command, sent: {"NodeNames": ["other"]}, 'claims a filtered node "other" which is not found'),
        (lambda command, sent: Response(200, b"<html>"), "answered what is not JSON"),
        (lambda command, sent: [1], "where an object is expected"),
    ],
)
def test_a_failing_extender_costs_an_attempt_unless_it_may_fail(answer: Answer, text: str) -> None:
    fake = Fake(filter=answer)
    bench = bench_with(fake, {"filterVerb": "filter", "nodeCacheCapable": True})
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p") == ""
    assert text in bench.message_of("p")
    assert bench.scheduler.attempts["error"] == 1
    bench = bench_with(fake, {"filterVerb": "filter", "nodeCacheCapable": True, "ignorable": True})
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p") != ""


# ---- who is asked -----------------------------------------------------------------------------------------


def test_pods_without_a_managed_resource_are_none_of_its_business() -> None:
    fake = Fake(filter=only("n1"))
    managed = [{"name": "example.com/foo", "ignoredByScheduler": True}]
    bench = bench_with(fake, {"filterVerb": "filter", "nodeCacheCapable": True, "managedResources": managed})
    bench.put("pods", pod_tree("plain"))
    bench.run()
    assert fake.asked == []
    greedy = pod_tree("greedy")  # more than any node has: the extender alone looks at that
    greedy["spec"]["containers"][0]["resources"]["limits"] = {"example.com/foo": "5"}
    greedy["spec"]["containers"][0]["resources"]["requests"]["example.com/foo"] = "5"
    bench.put("pods", greedy)
    bench.run()
    assert bench.node_of("greedy") == "n1"


# ---- while it is asked ------------------------------------------------------------------------------------


def test_nothing_happens_while_an_extender_is_being_asked() -> None:
    fake = Fake(filter=only("n0", "n1"))
    fake.is_slow = True
    bench = bench_with(fake, {"filterVerb": "filter", "nodeCacheCapable": True}, nodes=2)
    bench.put("pods", pod_tree("p"), pod_tree("q"))
    bench.run()
    assert len(fake.waiting) == 1
    bench.transport.remove("nodes", "", "n0")
    bench.deliver()
    assert bench.state.nodes.count == 2
    assert not bench.scheduler.schedule_one()
    assert bench.scheduler.next_wakeup_s() is None
    fake.is_slow = False
    fake.waiting.pop()()
    assert bench.state.nodes.count == 1
    bench.run()
    assert bench.node_of("q") == "n1"


# ---- bind and preempt -------------------------------------------------------------------------------------


def test_an_extender_binds_in_place_of_the_bind_plugins() -> None:
    fake = Fake(bind=lambda command, sent: {})
    bench = bench_with(fake, {"bindVerb": "bind"}, nodes=1)
    bench.put("pods", pod_tree("p"))
    bench.run()
    ((_, _, sent),) = fake.asked
    assert sent == {"PodName": "p", "PodNamespace": "default", "PodUID": "uid-default-p", "Node": "n0"}
    assert bench.node_of("p") == ""  # binding is the extender's affair
    assert bench.scheduler.attempts["scheduled"] == 1
    assert "uid-default-p" in bench.state.pods


def test_a_binding_that_the_extender_refuses_is_taken_back_or_done_by_the_plugin() -> None:
    fake = Fake(bind=lambda command, sent: {"error": "no"})
    bench = bench_with(fake, {"bindVerb": "bind"}, nodes=1)
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert (bench.message_of("p"), bench.state.pods) == ("no", {})
    bench = bench_with(fake, {"bindVerb": "bind", "ignorable": True}, nodes=1)
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p") == "n0"


def test_extenders_choose_among_the_candidates_for_preemption() -> None:
    def last(command: CallExtender, sent: Any) -> Any:
        victims = sent["NodeNameToMetaVictims"]
        return {"nodeNameToMetaVictims": {"n2": victims["n2"]}}

    fake = Fake(preempt=last)
    bench = bench_with(fake, {"preemptVerb": "preempt", "nodeCacheCapable": True})
    bench.put("pods", *(pod_tree(f"low-{i}", cpu="4", node=f"n{i}", priority=i) for i in range(3)))
    bench.put("pods", pod_tree("high", cpu="4", priority=10))
    bench.run()
    assert sorted(fake.asked[0][2]["NodeNameToMetaVictims"]) == ["n0", "n1", "n2"]
    assert bench.transport.find("pods", "default", "low-2") is None
    assert bench.transport.find("pods", "default", "low-0") is not None


def test_without_a_candidate_left_nobody_is_evicted() -> None:
    fake = Fake(preempt=lambda command, sent: {"NodeNameToMetaVictims": {}})
    bench = bench_with(fake, {"preemptVerb": "preempt"}, nodes=1)
    bench.put("pods", pod_tree("low", cpu="4", node="n0"), pod_tree("high", cpu="4", priority=10))
    bench.run()
    assert fake.asked[0][2]["NodeNameToVictims"]["n0"]["Pods"][0]["metadata"]["name"] == "low"
    assert bench.transport.find("pods", "default", "low") is not None
