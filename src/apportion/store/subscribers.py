"""Who wants to hear that revisions became durable."""

from collections.abc import Callable


class Subscribers:
    """Callbacks in the order in which they came; each is called once per announcement."""

    __slots__ = ("_callbacks", "_next")

    def __init__(self) -> None:
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Add a callback; returns what removes it again."""
        number, self._next = self._next, self._next + 1
        self._callbacks[number] = callback

        def remove() -> None:
            self._callbacks.pop(number, None)

        return remove

    def announce(self) -> None:
        for callback in tuple(self._callbacks.values()):
            callback()
