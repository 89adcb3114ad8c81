"""Why a pod is pending and what would help. See README.md."""

from apportion.sched.explain.advice import advise
from apportion.sched.explain.judgement import Judgement, NodeScores, judge, status_json

__all__ = ["Judgement", "NodeScores", "advise", "judge", "status_json"]
