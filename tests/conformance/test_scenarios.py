"""Every scenario holds, with two seeds: chance may decide where pods go, never whether expectations hold."""

from pathlib import Path

import pytest

from apportion.sim.play import Player, read_scenario

SCENARIOS = sorted((Path(__file__).parent / "scenarios").rglob("*.yaml"))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda p: p.stem)
def test_the_scenario_holds(path: Path, seed: int) -> None:
    player = Player(read_scenario(str(path)), seed)
    for result in player.play():
        assert result.is_ok, "\n".join([f"line {result.line}", *result.problems, *result.story])
    assert player.world.faults.count_left() == 0


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 8
