"""The doing: commands become API requests, watch events become calls of the scheduler. See README.md."""

from apportion.sched.shell.extender_calls import BlockingCalls, ExtenderCalls, OnAnswer, ThreadedCalls
from apportion.sched.shell.requests import request_of
from apportion.sched.shell.shell import WATCHED, Shell

__all__ = ["WATCHED", "BlockingCalls", "ExtenderCalls", "OnAnswer", "Shell", "ThreadedCalls", "request_of"]
