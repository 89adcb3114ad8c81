"""What the controllers share: a queue of keys, and one task for each key that is due."""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Raw

from apportion.base import Clock
from apportion.client import Task, Transport, Watches, run_task
from apportion.controllers.work_queue import WorkQueue

K = TypeVar("K", bound=Hashable)


class Frame(msgspec.Struct, gc=False):
    """A watch event; the object is left as it came."""

    type: str
    object: Raw


decode_frame: Final = msgspec.json.Decoder(Frame).decode


class Controller(Generic[K]):
    """Watches, and works on one key at a time; a key whose task names a problem comes back later.

    It does not work before its watches have delivered what exists.
    """

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = Watches(transport)
        self.queue: WorkQueue[K] = WorkQueue(clock)

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the start is known."""
        return self._transport.has_synced

    def start(self) -> None:
        """Begin to watch."""
        raise NotImplementedError

    def work(self) -> bool:
        """Start the work on one key. False when none is due."""
        key = self.queue.take() if self.has_synced else None
        if key is None:
            return False
        run_task(self._transport, self._sync(key), lambda problem: self.queue.finish(key, problem is not None))
        return True

    def _sync(self, key: K) -> Task:
        """Bring one object to where it should be; returns what went wrong."""
        raise NotImplementedError
