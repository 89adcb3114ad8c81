"""Whole control plane: every phase of a recorded episode ends in the state that was recorded."""

from functools import cache
from pathlib import Path

import pytest
from episodes import Tree, normalize, observe, read_episodes, to_scenario

from apportion.sim.play import Player

GOLDEN = Path(__file__).parents[1] / "golden" / "episodes.jsonl.gz"
EPISODES = (
    "template-claim",
    "template-claim-deleted-running",
    "shared-claim",
    "no-device-then-released",
    "class-missing-then-created",
    "claim-missing-then-created",
    "template-missing-then-created",
    "claim-of-another-pod",
    "gates-then-scheduled",
    "bound-by-hand",
    "slice-arrives",
    "prioritized-list",
    "reasons",
    "preemption",
    "binding-conditions",
    "device-taint-eviction",
    "extended-resource",
    "consumable",
    "admin-access",
    "job-with-claims",
)
# Which of two equal pods had to go differed from run to run; so did the second pod's first attempt in shared-claim.
_EQUALS = {"preemption": (("low0", "low*"), ("low1", "low*"))}


@cache
def _read() -> dict[str, Tree]:
    return read_episodes(GOLDEN)


@pytest.mark.parametrize("name", EPISODES)
def test_every_phase_ends_as_recorded(name: str) -> None:
    scenario, ends = to_scenario(_read()[name])
    player = Player(scenario)
    reached = 0
    for result in player.play():
        assert result.is_ok, result.problems
        phase = ends.get(result.index)
        if phase is not None:
            recorded = normalize(phase["after"], _EQUALS.get(name, ()))
            ours = normalize(observe(player.world, _read()[name]["namespace"]), _EQUALS.get(name, ()))
            assert ours == recorded, phase["note"]
            reached += 1
    assert reached == len(ends)
