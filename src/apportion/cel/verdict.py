"""The answer of one evaluation and the texts of its errors."""

from dataclasses import dataclass
from typing import Final

from apportion.cel.library.declare import name_type
from apportion.cel.run.frame import COST_LIMIT, Frame
from apportion.cel.values import Failure, Value

# As users of Kubernetes see it.
_KEY_HINT: Final = (
    ". consider using CEL optional chaining (.? followed by orValue())"
    " or guarding the check with has() for optional fields"
)
_NO_KEY: Final = "no such key"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one device: ``match`` is None exactly when there is an ``error``; cost in CEL units."""

    match: bool | None
    error: str | None
    cost: int


def make_verdict(frame: Frame, value: Value) -> Verdict:
    """Return the verdict on the final value of an evaluation."""
    if frame.cost > COST_LIMIT:
        return Verdict(None, "operation cancelled: actual cost limit exceeded", frame.cost)
    if isinstance(value, bool):
        return Verdict(value, None, frame.cost)
    return Verdict(None, describe_failure(value), frame.cost)


def describe_failure(value: Value) -> str:
    """Return the error text for a value that is no answer; a missing key comes with a hint."""
    if not isinstance(value, Failure):
        name = name_type(value)
        return (
            f"CEL result of type {name} could not be converted to bool: "
            f"unsupported type conversion from '{name}' to bool"
        )
    return value.message + _KEY_HINT if _NO_KEY in value.message else value.message
