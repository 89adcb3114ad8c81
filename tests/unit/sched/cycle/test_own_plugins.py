"""Own plugins at every extension point, named in the configuration."""

from pathlib import Path
from typing import Any

import pytest
from builders import Bench, Tree, node_tree, pod_tree

from apportion.base import ConfigError
from apportion.sched.framework.config import read_config

HERE = Path(__file__).parent / "own_plugins.py"


def bench_with(*plugins: str, args: dict[str, Any] | None = None, disabled: tuple[str, ...] = ()) -> Bench:
    names = [f"{HERE}:{p}" for p in plugins]
    multi_point = {"enabled": [{"name": n} for n in names], "disabled": [{"name": n} for n in disabled]}
    profile = {"plugins": {"multiPoint": multi_point}, "pluginConfig": [{"name": n, "args": args or {}} for n in names]}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    bench = Bench(read_config({**kind, "profiles": [profile]}, "test"))
    for name in ("n1", "n2"):
        bench.put("nodes", node_tree(name))
    return bench


def told_of(bench: Bench) -> list[str]:
    plugins = bench.scheduler.profiles["default-scheduler"].permits
    told: list[str] = plugins[0].told  # type: ignore[attr-defined]
    return told


def wait(bench: Bench, seconds: float) -> None:
    bench.clock.advance_to(bench.clock.now() + seconds)
    bench.scheduler.flush()
    bench.shell.send()
    bench.run()


# ---- nodes one by one -------------------------------------------------------------------------------------


def test_a_node_plugin_filters_and_scores() -> None:
    bench = bench_with("Picky", args={"best": "n2"})
    bench.put("pods", pod_tree("free"))
    bench.put("pods", pod_tree("bound", labels={"node": "n1"}), pod_tree("none", labels={"node": "x"}))
    bench.run()
    assert (bench.node_of("free"), bench.node_of("bound"), bench.node_of("none")) == ("n2", "n1", "")
    assert bench.message_of("none") == "0/2 nodes are available: 2 is not x."


def test_its_answers_follow_the_pods_on_the_nodes_and_events_wake_its_pods() -> None:
    bench = bench_with("Crowd")
    bench.put("pods", *(pod_tree(f"p{i}") for i in range(5)))
    bench.run()
    placed = [bench.node_of(f"p{i}") for i in range(5)]
    assert sorted(placed) == ["", "n1", "n1", "n2", "n2"]
    late = f"p{placed.index('')}"
    assert bench.message_of(late) == "0/2 nodes are available: 2 crowded."
    bench.transport.remove("pods", "default", next(f"p{i}" for i in range(5) if placed[i] == "n2"))
    bench.deliver()
    wait(bench, 5)
    assert bench.node_of(late) == "n2"


def test_a_plugin_hears_of_changes_that_nobody_else_reads() -> None:
    bench = bench_with("Listener")
    running = pod_tree("r", node="n1")
    bench.put("pods", running, pod_tree("w", labels={"waits": "yes"}))
    bench.run()
    attempts = dict(bench.scheduler.attempts)
    wait(bench, 5)
    assert bench.scheduler.attempts == attempts
    bench.put("pods", {**running, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    wait(bench, 5)
    assert bench.scheduler.attempts["unschedulable"] == attempts["unschedulable"] + 1


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("raise", "plugin Broken failed on node n1: ValueError: oh"),
        ("nonsense", "plugin Broken failed: filter returned 5, not a reason or None"),
        ("score", "plugin Broken failed: score returned 101, not 0 to 100"),
    ],
)
def test_a_plugin_that_fails_costs_its_pod_alone(fault: str, text: str) -> None:
    bench = bench_with("Broken")
    bench.put("pods", pod_tree("bad", labels={"fault": fault}), pod_tree("good"))
    bench.run()
    assert bench.node_of("good") and not bench.node_of("bad")
    assert bench.message_of("bad") == text


# ---- the way to the node ----------------------------------------------------------------------------------


def test_the_points_are_asked_in_order() -> None:
    bench = bench_with("Gatekeeper")
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert told_of(bench) == ["reserve p", "pre_bind p", f"post_bind p {bench.node_of('p')}"]


def held(bench: Bench) -> Any:
    bench.put("pods", pod_tree("p", labels={"permit": "hold"}))
    bench.run()
    (waiting,) = bench.scheduler.waiting_pods
    return waiting


def test_a_held_pod_keeps_its_room_and_goes_on_when_it_is_allowed() -> None:
    bench = bench_with("Gatekeeper")
    waiting = held(bench)
    assert waiting.held_by == ["Gatekeeper"] and not bench.node_of("p") and len(bench.state.assumed) == 1
    tree = bench.transport.find("pods", "default", "p")
    assert tree is not None and tree["status"]["nominatedNodeName"] == waiting.pod.node_name
    waiting.allow("Gatekeeper")
    bench.shell.send()
    bench.run()
    assert bench.node_of("p") and not len(bench.scheduler.waiting_pods)


def test_a_held_pod_is_rejected_by_word_or_by_time() -> None:
    bench = bench_with("Gatekeeper")
    waiting = held(bench)
    waiting.reject("Gatekeeper", "not today")
    bench.shell.send()
    bench.run()
    assert bench.message_of("p") == "0/2 nodes are available: 1 not today."
    assert told_of(bench)[-1] == "unreserve p" and not bench.state.assumed

    bench = bench_with("Gatekeeper")
    held(bench)
    wait(bench, 59)
    assert len(bench.scheduler.waiting_pods) == 1
    wait(bench, 2)
    text = "rejected due to timeout after waiting 60s at plugin Gatekeeper"
    assert bench.message_of("p") == f"0/2 nodes are available: 1 {text}."
    (entry,) = bench.scheduler.queue.dump()
    assert (entry["where"], entry["unschedulable_plugins"]) == ("unschedulable", ["Gatekeeper"])


def test_a_held_pod_that_is_deleted_gives_everything_back_and_nothing_is_told_of_it() -> None:
    bench = bench_with("Gatekeeper")
    held(bench)
    bench.transport.remove("pods", "default", "p")
    bench.deliver()
    assert told_of(bench)[-1] == "unreserve p"
    assert (len(bench.scheduler.waiting_pods), bench.scheduler.binding_count, bench.state.assumed) == (0, 0, {})
    assert not bench.scheduler.outbox


def test_a_held_pod_that_is_preempted_is_tried_again_and_not_deleted() -> None:
    bench = bench_with("Gatekeeper")
    bench.put("nodes", {**node_tree("n2"), "spec": {"unschedulable": True}})
    bench.put("pods", pod_tree("low", cpu="4", priority=0, labels={"permit": "hold"}))
    bench.run()
    assert len(bench.scheduler.waiting_pods) == 1
    bench.put("pods", pod_tree("high", cpu="4", priority=10))
    bench.run()
    wait(bench, 3)
    assert bench.node_of("high") == "n1"
    assert bench.transport.find("pods", "default", "low") is not None
    notes = [e["note"] for e in bench.transport.events if e["reason"] == "Preempted"]
    assert [n.endswith("(in kube-scheduler memory).") for n in notes] == [True]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"permit": "reject"}, "0/2 nodes are available: 1 not allowed."),
        ({"permit": "raise"}, "plugin Gatekeeper failed: RuntimeError: no"),
        ({"prebind": "fail"}, "cannot prepare"),
    ],
)
def test_what_fails_on_the_way_is_taken_back(labels: dict[str, str], message: str) -> None:
    bench = bench_with("Gatekeeper")
    bench.put("pods", pod_tree("p", labels=labels))
    bench.run()
    assert (bench.node_of("p"), bench.message_of("p")) == ("", message)
    assert told_of(bench)[-1] == "unreserve p" and not bench.state.assumed


def test_binding_goes_to_the_first_plugin_that_does_not_pass() -> None:
    bench = bench_with("Passing")
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p")
    bench = bench_with("Passing", disabled=("DefaultBinder",))
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.message_of("p") == "no Bind plugin of the profile binds this pod"


# ---- loading ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"{HERE}:Nothing", "has no class Nothing"),
        ("nowhere.py:Thing", "nowhere.py cannot be loaded: FileNotFoundError"),
        ("no_such_module:Thing", "no_such_module cannot be loaded: ModuleNotFoundError"),
        (
            f"{HERE}:Unfinished",
            "has pre_bind but lacks allows_parallel_pre_bind, pre_bind_pre_flight",
        ),
        ("Unknown", "there is no plugin 'Unknown'"),
    ],
)
def test_what_cannot_be_loaded_is_named(name: str, text: str) -> None:
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    tree: Tree = {**kind, "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": name}]}}}]}
    with pytest.raises(ConfigError) as caught:
        Bench(read_config(tree, "test"))
    assert text in str(caught.value)


def test_two_plugins_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two plugins are called 'Crowd'"):
        Bench(_config_with_twins())


def _config_with_twins() -> Any:
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    twins = [{"name": f"{HERE}:Crowd"}, {"name": f"{HERE.parent}/../cycle/own_plugins.py:Crowd"}]
    return read_config({**kind, "profiles": [{"plugins": {"multiPoint": {"enabled": twins}}}]}, "test")
