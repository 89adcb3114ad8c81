"""Those who wait for an object to change."""

from collections.abc import Callable


class Listeners:
    """Functions by the key of the object that they wait for."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[str, list[Callable[[], None]]] = {}

    def add(self, key: str, listener: Callable[[], None]) -> None:
        """Have ``listener`` called when the API shows another version of an object, or none any more."""
        self._by_key.setdefault(key, []).append(listener)

    def remove(self, key: str, listener: Callable[[], None]) -> None:
        """Undo `add`."""
        self._by_key[key].remove(listener)
        if not self._by_key[key]:
            del self._by_key[key]

    def tell(self, key: str) -> None:
        """Call those who wait for an object; they may add and remove listeners."""
        for listener in tuple(self._by_key.get(key, ())):
            listener()
