"""What one evaluation carries along, and the steps that a planned expression is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from apportion.cel.values import Value

if TYPE_CHECKING:
    from apportion.cel.device import DeviceFacts

# resource.k8s.io CELSelectorExpressionMaxCost.
COST_LIMIT: Final = 1_000_000


class CostExceeded(Exception):
    """The evaluation was stopped: it cost more than COST_LIMIT. Nothing absorbs this."""


class Frame:
    """The state of one evaluation: the device, the local variables and what was spent."""

    __slots__ = ("cost", "facts", "locals", "log")

    def __init__(self, facts: "DeviceFacts", local_count: int, log: dict[int, Value] | None = None) -> None:
        self.facts = facts
        self.cost = 0
        self.locals: list[Value] = [None] * local_count
        # Values of the clauses that a trace watches.
        self.log = log

    def charge(self, amount: int) -> None:
        """Add to the cost; raises CostExceeded above the limit, before the work is done."""
        self.cost += amount
        if self.cost > COST_LIMIT:
            raise CostExceeded


def read_device(frame: Frame) -> Value:
    """Return the device; planned paths compare with this function to find out that they start there."""
    return frame.facts


Run: TypeAlias = Callable[[Frame], Value]
NOT_CONSTANT: Final = object()


@dataclass(frozen=True, slots=True)
class Step:
    """A planned node. ``constant`` is its value when known already; evaluating it still costs ``charge``."""

    run: Run
    constant: Value = NOT_CONSTANT
    charge: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether the value is known while planning."""
        return self.constant is not NOT_CONSTANT


def make_constant(value: Value, charge: int = 0) -> Step:
    """Return the step that yields ``value`` and costs ``charge``."""

    def run_free(_: Frame) -> Value:
        return value

    def run_charged(frame: Frame) -> Value:
        frame.cost += charge
        return value

    return Step(run_charged if charge else run_free, value, charge)
