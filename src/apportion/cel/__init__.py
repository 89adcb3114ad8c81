"""CEL for devices: compile a selector once, evaluate it over many devices, explain what it said."""

from apportion.cel.device import DeviceFacts, device_facts
from apportion.cel.errors import CompileError
from apportion.cel.library.environment import CelFeatures
from apportion.cel.lookups import Lookup
from apportion.cel.selector import Selector, compile_selector, find_expression_problem
from apportion.cel.summary import Presence, Summary, summarize
from apportion.cel.trace import Clause, Trace
from apportion.cel.verdict import Verdict

__all__ = [
    "CelFeatures",
    "Clause",
    "CompileError",
    "DeviceFacts",
    "Lookup",
    "Presence",
    "Selector",
    "Summary",
    "Trace",
    "Verdict",
    "compile_selector",
    "device_facts",
    "find_expression_problem",
    "summarize",
]
