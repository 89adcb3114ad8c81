"""The queue against a slow, obvious reference: commands chosen by Hypothesis, and long even-handed walks."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from queue_pair import (
    BACKOFFS,
    CLAIM_UPDATE,
    EVENTS,
    GATES,
    PLUGINS,
    POD_COUNT,
    PROFILES,
    UPDATES,
    WAITS_S,
    Pair,
)

from apportion.sched.queue import NODE_DELETE, ClusterEvent, QueueConfig

numbers = st.integers(0, POD_COUNT - 1)
picks = st.integers(0, 99)
priorities = st.integers(0, 2)
plugin_sets = st.sets(st.sampled_from(PLUGINS), max_size=2)
event_objects = st.frozensets(numbers, max_size=6)


class QueueMachine(RuleBasedStateMachine):
    @initialize(
        pop_from_backoff=st.booleans(),
        backoff=st.sampled_from(BACKOFFS),
        pods=st.lists(st.tuples(priorities, st.sampled_from(PROFILES)), min_size=3, max_size=6),
    )
    def start(self, pop_from_backoff: bool, backoff: tuple[float, float], pods: list[tuple[int, str]]) -> None:
        self.pair = Pair(QueueConfig(*backoff, pop_from_backoff=pop_from_backoff))
        for number, (priority, profile) in enumerate(pods):
            self.pair.add(number, priority, profile)

    @rule(number=numbers, priority=priorities, profile=st.sampled_from(PROFILES))
    def add(self, number: int, priority: int, profile: str) -> None:
        self.pair.add(number, priority, profile)

    @rule(pick=picks, priority=priorities, events=st.lists(st.sampled_from(UPDATES), max_size=2))
    def update(self, pick: int, priority: int, events: Sequence[ClusterEvent]) -> None:
        self.pair.update(pick, priority, events)

    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        self.pair.delete(pick)

    @rule(number=numbers, plugin=st.sampled_from(GATES))
    def turn_gate(self, number: int, plugin: str) -> None:
        self.pair.turn_gate(number, plugin)

    @rule()
    def pop(self) -> None:
        self.pair.pop()

    @rule(pick=picks, unschedulable=plugin_sets, pending=plugin_sets)
    def fail(self, pick: int, unschedulable: set[str], pending: set[str]) -> None:
        self.pair.fail(pick, unschedulable, pending)

    @rule(pick=picks)
    def succeed(self, pick: int) -> None:
        self.pair.succeed(pick)

    @rule(event=st.sampled_from(EVENTS), new=event_objects, excluded=st.none() | priorities)
    def happen(self, event: ClusterEvent, new: frozenset[int], excluded: int | None) -> None:
        self.pair.happen(event, new, excluded)

    @rule(pick=picks)
    def activate(self, pick: int) -> None:
        self.pair.activate(pick)

    @rule(by_s=st.sampled_from(WAITS_S))
    def wait(self, by_s: float) -> None:
        self.pair.wait(by_s)

    @rule()
    def wait_for_wakeup(self) -> None:
        self.pair.wait_for_wakeup()
        self.pair.flush()

    @rule()
    def flush(self) -> None:
        self.pair.flush()

    @invariant()
    def is_same(self) -> None:
        self.pair.check()


TestQueueMachine = pytest.mark.slow(QueueMachine.TestCase)
TestQueueMachine.settings = settings(max_examples=40, stateful_step_count=40, deadline=None, derandomize=True)


def walk(pair: Pair, rng: random.Random, steps: int) -> None:
    """Take steps at random. Attempts are as frequent as all else together, or few pods would ever fail."""

    def some_plugins(most: int) -> set[str]:
        return set(rng.sample(PLUGINS, rng.randint(0, most)))

    def some_numbers() -> frozenset[int]:
        return frozenset(rng.sample(range(POD_COUNT), rng.randint(0, POD_COUNT)))

    def pick() -> int:
        return rng.randrange(100)

    commands = [
        lambda: pair.add(rng.randrange(POD_COUNT), rng.randrange(3), rng.choice(PROFILES)),
        lambda: pair.update(pick(), rng.randrange(3), rng.sample(UPDATES, rng.randint(0, 2))),
        lambda: pair.delete(pick()),
        lambda: pair.turn_gate(rng.randrange(POD_COUNT), rng.choice(GATES)),
        lambda: pair.succeed(pick()),
        lambda: pair.activate(pick()),
        lambda: pair.wait(rng.choice(WAITS_S)),
        pair.wait_for_wakeup,
        pair.flush,
        *[pair.pop] * 4,
        *[lambda: pair.fail(pick(), some_plugins(2), some_plugins(rng.randint(0, 1)))] * 3,
        *[lambda: pair.happen(rng.choice(EVENTS), some_numbers(), rng.choice((None, None, 0)))] * 3,
    ]
    for _ in range(steps):
        rng.choice(commands)()
        pair.check()


@pytest.mark.slow
@pytest.mark.parametrize("pop_from_backoff", [True, False])
@pytest.mark.parametrize("backoff", BACKOFFS)
def test_walk(backoff: tuple[float, float], pop_from_backoff: bool) -> None:
    rng = random.Random(f"{backoff} {pop_from_backoff}")
    for _ in range(5):
        walk(Pair(QueueConfig(*backoff, pop_from_backoff=pop_from_backoff)), rng, steps=200)


@pytest.mark.slow
@pytest.mark.parametrize("plugin", ["Fit", "Affinity"])
def test_pods_that_are_asked_about_together(plugin: str) -> None:
    rng = random.Random(plugin)
    for _ in range(60):
        pair = Pair(QueueConfig(0.5, 1.0))
        for number in range(POD_COUNT):
            pair.add(number, rng.randrange(3), rng.choice(PROFILES))
            pair.pop()
            pair.fail(0, {plugin}, set())
        for _ in range(6):
            some = frozenset(rng.sample(range(3), rng.randint(0, 2)))
            what = rng.choice(("happen", "happen", "update", "delete"))
            if what == "happen":
                pair.happen(rng.choice((NODE_DELETE, CLAIM_UPDATE)), some, rng.choice((None, None, 0)))
            elif what == "update":
                pair.update(rng.randrange(100), rng.randrange(3), ())
            else:
                pair.delete(rng.randrange(100))
            pair.check()
