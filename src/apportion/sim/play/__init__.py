"""Scenarios in virtual time through the whole control plane. The format stands in docs/play.md."""

from apportion.sim.play.player import Player, StepResult
from apportion.sim.play.reading import read_scenario
from apportion.sim.play.scenario import Scenario, ScenarioError

__all__ = ["Player", "Scenario", "ScenarioError", "StepResult", "read_scenario"]
