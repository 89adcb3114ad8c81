"""Objects as the API showed them, overlaid with what the scheduler assumes of them."""

from typing import Generic, Protocol, TypeVar

from apportion.api.view import ObjectMeta
from apportion.base import InvariantError


class _Named(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


V = TypeVar("V", bound=_Named)


class AssumedViews(Generic[V]):
    """Objects by key, each as the API showed it or as the scheduler assumes that it will soon look.

    Behaviour: util/assumecache. An assumption ends when it is taken back or when the API shows another version.
    """

    __slots__ = ("_actual", "latest")

    def __init__(self) -> None:
        self.latest: dict[str, V] = {}
        self._actual: dict[str, V] = {}  # of the assumed ones

    def find_actual(self, key: str) -> V | None:
        """Return the object as the API showed it last."""
        return self._actual.get(key) or self.latest.get(key)

    def apply(self, key: str, view: V | None) -> V | None:
        """Store what the API shows, None for an object that is gone. Returns what it showed before."""
        before = self.find_actual(key)
        if view is None:
            self.latest.pop(key, None)
            self._actual.pop(key, None)
        elif key in self._actual and before is not None and _version(before) == _version(view):
            self._actual[key] = view  # nothing new: the assumption stands
        else:
            self._actual.pop(key, None)
            self.latest[key] = view
        return before

    def assume(self, key: str, view: V) -> None:
        """Show ``view`` to readers until the API shows a newer version. Raises InvariantError for an unknown object."""
        if key not in self.latest:
            raise InvariantError(f"cannot assume a change of {key}: there is no such object")
        self._actual.setdefault(key, self.latest[key])
        self.latest[key] = view

    def restore(self, key: str) -> bool:
        """Take an assumption back; False when there is none."""
        actual = self._actual.pop(key, None)
        if actual is None:
            return False
        self.latest[key] = actual
        return True


def _version(view: _Named) -> str:
    return view.metadata.resource_version
