"""What a binding may wait for besides the outcome of a command: somebody's word, a point in time, several tasks."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from apportion.sched.framework.commands import Command
from apportion.sched.framework.status import Status


class Wait:
    """A task that yields it goes on with the value that somebody resolves it with; with None at its deadline.

    ``deadline_s`` is a time of the scheduler's clock. The first word counts.
    """

    __slots__ = ("_on_resolved", "_value", "deadline_s", "is_resolved")

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.is_resolved = False
        self._value: object = None
        self._on_resolved: Callable[[object], None] | None = None

    def resolve(self, value: object) -> None:
        """Let the task go on, at once or as soon as it yields this wait."""
        if self.is_resolved:
            return
        self.is_resolved = True
        self._value = value
        if self._on_resolved is not None:
            self._on_resolved(value)

    def call_when_resolved(self, listener: Callable[[object], None]) -> None:
        """Call ``listener`` with the value; at once when it is known already."""
        if self.is_resolved:
            listener(self._value)
        else:
            self._on_resolved = listener


@dataclass(frozen=True, slots=True)
class Together:
    """A task that yields it goes on, with the list of what they returned, when all of ``tasks`` have ended."""

    tasks: Sequence["CommandGenerator"]


Step: TypeAlias = Command | Wait | Together
# Yields steps; is resumed with the outcome of a command, the value of a wait or the results of tasks. Returns a
# status when something failed or was rejected.
CommandGenerator: TypeAlias = Generator[Step, Any, Status | None]
