"""CEL for devices: compile a selector once, evaluate it over many devices, explain what it said."""

from apportion.cel.derivation import Derivation, compile_derivation
from apportion.cel.device import DeviceFacts, device_facts
from apportion.cel.errors import CompileError
from apportion.cel.library.environment import CelFeatures
from apportion.cel.lookups import Lookup
from apportion.cel.run.frame import COST_LIMIT
from apportion.cel.selector import Selector, check_expressions, compile_selector, find_expression_problem
from apportion.cel.summary import Presence, Summary, summarize
from apportion.cel.trace import Clause, Trace
from apportion.cel.values import Failure as DerivationFailure
from apportion.cel.verdict import Verdict

__all__ = [
    "COST_LIMIT",
    "CelFeatures",
    "Clause",
    "CompileError",
    "Derivation",
    "DerivationFailure",
    "DeviceFacts",
    "Lookup",
    "Presence",
    "Selector",
    "Summary",
    "Trace",
    "Verdict",
    "check_expressions",
    "compile_derivation",
    "compile_selector",
    "device_facts",
    "find_expression_problem",
    "summarize",
]
