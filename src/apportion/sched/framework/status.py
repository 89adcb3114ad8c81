"""What a plugin answers: a code, the reasons, and which plugin said so. A status is data, an exception is a fault."""

from enum import IntEnum
from typing import Final

from msgspec import Struct


class Code(IntEnum):
    """Status codes with upstream's meaning (pkg/scheduler/framework)."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def text(self) -> str:
        """The name that Kubernetes prints."""
        return _TEXTS[self]

    @property
    def is_rejected(self) -> bool:
        """Whether the pod was turned down, as opposed to an error."""
        return self in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


_TEXTS: Final = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Status(Struct, frozen=True):
    """An answer other than plain success."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def message(self) -> str:
        """The reasons as one text."""
        return ", ".join(self.reasons)


def unschedulable(plugin: str, *reasons: str) -> Status:
    """Rejected; removing pods could help."""
    return Status(Code.UNSCHEDULABLE, reasons, plugin)


def unresolvable(plugin: str, *reasons: str) -> Status:
    """Rejected; removing pods cannot help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, plugin)


def error(plugin: str, reason: str) -> Status:
    """Something failed that should not; the pod is tried again after a backoff."""
    return Status(Code.ERROR, (reason,), plugin)
