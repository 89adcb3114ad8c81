"""Why a pod is pending and what would help. See README.md."""

from apportion.sched.explain.advice import advise
from apportion.sched.explain.judgement import Judgement, NodeScores, Preemption, judge, status_json

__all__ = ["Judgement", "NodeScores", "Preemption", "advise", "judge", "status_json"]
