"""What waiting pods look for, found by labels, against the hint functions that are asked about each of them."""

from itertools import product

import pytest
from builders import Bench
from random_clusters import NAMESPACES, Maker

from apportion.sched.queue import Hint, Registration
from apportion.sched.state import PodInfo

WORLDS, PODS = 12, 24


def make_pods(bench: Bench, seed: int) -> list[PodInfo]:
    maker = Maker(seed)
    for name in NAMESPACES:
        bench.put("namespaces", maker.namespace(name))
    return [bench.state.reader.read_tree(maker.pod("n1" if i % 2 else "")) for i in range(PODS)]


def find_narrow(bench: Bench, plugin: str) -> Registration:
    registrations = bench.scheduler.profiles["default-scheduler"].registrations
    (found,) = (r for r in registrations if r.plugin == plugin and r.narrow is not None)
    return found


@pytest.mark.parametrize("plugin", ["InterPodAffinity", "PodTopologySpread"])
def test_whoever_an_event_helps_is_found(plugin: str) -> None:
    helped = spared = 0
    for seed in range(WORLDS):
        bench = Bench()
        pods = make_pods(bench, seed)
        registration = find_narrow(bench, plugin)
        assert registration.hint is not None and registration.narrow is not None
        interests = {pod.uid: bench.scheduler.profiles["default-scheduler"].interests(pod) for pod in pods}
        for old, new in product([None, *pods], repeat=2):
            named = registration.narrow(old, new)
            for pod in pods:
                is_found = named is None or not set(named).isdisjoint(interests[pod.uid])
                is_helped = registration.hint(pod, old, new) is Hint.QUEUE
                assert is_found or not is_helped, (pod.key, old, new)
                helped += is_helped
                spared += not is_found
    assert helped > 100 and spared > 100
