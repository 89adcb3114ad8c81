"""Runs what takes several commands: bindings, and writes that are tried again. Nothing here blocks."""

import heapq
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from apportion.base import Clock
from apportion.sched.framework import Command, CommandGenerator, Outcome, Status, Together, Wait, error

_log = logging.getLogger(__name__)
OnEnd: TypeAlias = Callable[[Status | None], None]
OnDone: TypeAlias = Callable[[Outcome], None]


class TaskRunner:
    """Commands go into ``outbox`` with a number; their outcomes come back through ``resume``, in any order."""

    def __init__(self, clock: Clock) -> None:
        self.outbox: deque[tuple[int, Command]] = deque()
        self._clock = clock
        self._waiting: dict[int, OnDone] = {}  # by command number: what goes on with the outcome
        self._deadlines: list[tuple[float, int, Wait]] = []
        self._count = 0

    @property
    def is_idle(self) -> bool:
        """Whether no command waits to be sent, and no task for an outcome."""
        return not self.outbox and not self._waiting

    def send(self, command: Command, on_done: OnDone | None = None) -> None:
        """Have a command carried out."""
        self._count += 1
        if on_done is not None:
            self._waiting[self._count] = on_done
        self.outbox.append((self._count, command))

    def is_awaited(self, number: int) -> bool:
        """Return whether anything goes on with the outcome of a command."""
        return number in self._waiting

    def resume(self, number: int, outcome: Outcome) -> None:
        """Hand over the outcome of a command."""
        on_done = self._waiting.pop(number, None)
        if on_done is not None:
            on_done(outcome)
        elif not outcome.is_ok:
            _log.warning("command %d failed: %s", number, outcome.message)

    def run(self, task: CommandGenerator, on_end: OnEnd) -> None:
        """Run a task to its end; a fault of it ends it with an error."""
        self._advance(task, on_end, None)

    def _advance(self, task: CommandGenerator, on_end: OnEnd, value: Any) -> None:
        try:
            step = task.send(value)
        except StopIteration as end:
            on_end(end.value)
            return
        except Exception as fault:
            _log.error("a task failed: %r", fault, exc_info=_log.isEnabledFor(logging.DEBUG))
            on_end(error("", f"{type(fault).__name__}: {fault}"))
            return

        def go_on(answer: Any) -> None:
            self._advance(task, on_end, answer)

        if isinstance(step, Together):
            self._run_together(step, go_on)
        elif isinstance(step, Wait):
            self._wait(step, go_on)
        else:
            self.send(step, go_on)

    def _run_together(self, step: Together, go_on: Callable[[Any], None]) -> None:
        results: dict[int, Status | None] = {}

        def ended(index: int) -> OnEnd:
            def note(status: Status | None) -> None:
                results[index] = status
                if len(results) == len(step.tasks):
                    go_on([results[i] for i in range(len(results))])

            return note

        for index, task in enumerate(step.tasks):
            self.run(task, ended(index))

    # ---- time ---------------------------------------------------------------------------------------------

    def _wait(self, wait: Wait, go_on: Callable[[Any], None]) -> None:
        self._count += 1
        heapq.heappush(self._deadlines, (wait.deadline_s, self._count, wait))
        wait.call_when_resolved(go_on)

    def next_deadline_s(self) -> float | None:
        """Return when the next wait ends by itself."""
        while self._deadlines and self._deadlines[0][2].is_resolved:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def expire(self) -> None:
        """End the waits whose time has come."""
        now_s = self._clock.now()
        while (due_s := self.next_deadline_s()) is not None and due_s <= now_s:
            heapq.heappop(self._deadlines)[2].resolve(None)
