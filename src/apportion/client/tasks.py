"""Work that needs several requests in a row, written as a generator and run over a transport."""

from collections.abc import Callable, Generator
from typing import TypeAlias

from apportion.client.transport import Request, Response, Transport

# Yields requests, is resumed with the responses, returns what went wrong (None: nothing).
Task: TypeAlias = Generator[Request, Response, str | None]


def run_task(transport: Transport, task: Task, on_end: Callable[[str | None], None]) -> None:
    """Run ``task``, one request at a time; ``on_end`` gets what it returned; its exceptions pass through."""
    _advance(transport, task, on_end, None)


def _advance(transport: Transport, task: Task, on_end: Callable[[str | None], None], response: Response | None) -> None:
    try:
        request = next(task) if response is None else task.send(response)
    except StopIteration as end:
        on_end(end.value)
        return
    transport.submit(request, lambda answer: _advance(transport, task, on_end, answer))
