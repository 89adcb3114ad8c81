"""A QueueSort plugin decides which pod is tried first."""

from pathlib import Path
from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

from apportion.base import ConfigError
from apportion.sched.framework.config import read_config
from apportion.sched.queue.sort import SortKey

PLUGIN = """
class ByLabel:
    name = "ByLabel"

    def __init__(self, handle):
        pass

    def sort_key(self, pod, timestamp_s):
        return int(pod.labels["turn"])
"""


def bench_with(tmp_path: Path, **queue_sort: Any) -> Bench:
    file = tmp_path / "by_label.py"
    file.write_text(PLUGIN)
    enabled = {"enabled": [{"name": f"{file}:ByLabel"}], **queue_sort}
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"queueSort": enabled}}],
    }
    return Bench(read_config(tree, "test"))


def popped(bench: Bench) -> list[str]:
    names = []
    while (entity := bench.scheduler.queue.pop()) is not None:
        names.append(entity.pod.name)
        bench.scheduler.queue.done(entity.uid)
    return names


def test_pods_are_tried_in_the_plugins_order(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, disabled=[{"name": "*"}])
    for name, turn in (("c", "3"), ("a", "1"), ("b", "2"), ("a2", "1")):
        bench.put("pods", pod_tree(name, labels={"turn": turn}, priority=int(turn)))
    assert popped(bench) == ["a", "a2", "b", "c"]


def test_a_changed_pod_changes_its_place(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, disabled=[{"name": "PrioritySort"}])
    bench.put("pods", *(pod_tree(name, labels={"turn": turn}) for name, turn in (("a", "1"), ("b", "2"))))
    bench.put("pods", pod_tree("a", labels={"turn": "3"}))
    assert popped(bench) == ["b", "a"]


def test_pods_of_which_the_plugin_knows_no_key_come_last_and_are_tried(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, disabled=[{"name": "*"}])
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", pod_tree("odd"), pod_tree("a", labels={"turn": "9"}))
    assert popped(bench) == ["a", "odd"]


def test_two_orders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only one queue sort plugin is possible, found PrioritySort, ByLabel"):
        bench_with(tmp_path)


def test_keys_that_cannot_be_compared_count_as_equal() -> None:
    number, text = (SortKey(lambda pod, time_s: pod, value, 0.0) for value in (1, "1"))
    assert number == text
    assert not number < text
    assert not text < number
