from builders import Bench, node_tree, pod_tree


def _wait(bench: Bench, seconds: float = 5) -> None:
    bench.clock.advance_to(bench.clock.now() + seconds)
    bench.scheduler.queue.flush()
    bench.run()


def test_a_pod_of_higher_priority_gets_the_place_of_a_lower_one() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="4"))
    bench.put("pods", pod_tree("low", cpu="3", node="n1", priority=1), pod_tree("kept", cpu="1", node="n1", priority=2))
    bench.put("pods", pod_tree("high", cpu="3", priority=10))
    bench.run()
    assert bench.transport.find("pods", "default", "low") is None
    assert bench.transport.find("pods", "default", "kept") is not None
    _wait(bench)
    assert bench.node_of("high") == "n1"
    reasons = [(e["reason"], e["regarding"]["name"]) for e in bench.transport.events]
    assert ("Preempted", "low") in reasons and ("Scheduled", "high") in reasons


def test_the_place_is_kept_for_the_pod_that_made_it() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="4"))
    bench.put("pods", pod_tree("low", cpu="4", node="n1", priority=1))
    bench.put("pods", pod_tree("high", cpu="4", priority=10))
    bench.run()
    found = bench.transport.find("pods", "default", "high")
    assert found is not None and found["status"]["nominatedNodeName"] == "n1"
    bench.put("pods", pod_tree("thief", cpu="1", priority=5))  # fits, but not beside the pod that is expected
    bench.run()
    assert bench.node_of("thief") == ""
    assert bench.message_of("thief") == "0/1 nodes are available: 1 Insufficient cpu."
    _wait(bench)
    assert bench.node_of("high") == "n1"
    bench.put("pods", pod_tree("vip", cpu="1", priority=20))
    bench.run()
    assert bench.transport.find("pods", "default", "high") is None  # higher still: it may take the place


def test_nobody_is_evicted_in_vain() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="4"), node_tree("n2", cpu="4", unschedulable=True))
    bench.put(
        "pods", pod_tree("low", cpu="3", node="n1", priority=1), pod_tree("same", cpu="1", node="n1", priority=10)
    )
    bench.put("pods", pod_tree("high", cpu="4", priority=10))  # would not fit without "low" either
    bench.put("pods", pod_tree("never", cpu="2", priority=10, preemptionPolicy="Never"))
    bench.run()
    assert bench.transport.find("pods", "default", "low") is not None
    assert not bench.state.assumed
    found = bench.transport.find("pods", "default", "never")
    assert found is not None
    assert found["status"]["conditions"][0]["message"].endswith("not eligible due to preemptionPolicy=Never.")


def test_a_trial_leaves_no_trace() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="4"))
    bench.put("pods", pod_tree("low", cpu="3", node="n1", priority=1, labels={"a": "b"}))
    before = (bench.state.nodes.requested.tolist(), bench.state.nodes.pod_count.tolist())
    pod = next(iter(bench.state.pods.values()))
    with bench.state.trial() as trial:
        trial.remove(pod, pod.row)
        assert bench.state.nodes.pod_count.tolist() == [0]
        trial.add(pod, pod.row)
        trial.add(pod, pod.row)
    assert (bench.state.nodes.requested.tolist(), bench.state.nodes.pod_count.tolist()) == before
