"""What is known of the objects of one resource: what the watch said, and what was written since.

A watch can be late. What a controller wrote is therefore put into the cache with the answer, so that the next look
sees it: no pod is created twice for want of an event (upstream calls its counters for this *expectations*). Resource
versions tell which of two states of an object is newer (KEP-5504).
"""

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeAlias, TypeVar

from msgspec import Raw

from apportion.api.selectors import LabelMatcher
from apportion.api.view import ObjectMeta
from apportion.client import Transport
from apportion.controllers.controller import decode_frame


class Item(Protocol):
    """Something with metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""
        ...


T = TypeVar("T", bound=Item)
_Keys: TypeAlias = dict[str, None]
_Owner: TypeAlias = tuple[str, bool]  # uid, whether the owned objects are settled
_Label: TypeAlias = tuple[str, str, str]  # namespace, name, value; empty name and value: the whole namespace


class ObjectCache(Generic[T]):
    """Objects by ``namespace/name``, by the uid of their controller, and those without one by their labels."""

    def __init__(
        self,
        transport: Transport,
        resource: str,
        decode: Callable[[bytes | Raw], T],
        is_settled: Callable[[T], bool] = lambda _: False,
    ) -> None:
        self._transport = transport
        self.resource = resource
        self._decode = decode
        self._is_settled = is_settled
        self.objects: dict[str, T] = {}
        self._owned: dict[_Owner, _Keys] = {}
        self._orphans: dict[_Label, _Keys] = {}
        self._namespaces: dict[str, _Keys] = {}
        self._listeners: list[Callable[[T | None, T | None], None]] = []
        self._seen = 0  # the newest version that the watch has told
        self._is_watching = False

    def listen(self, listener: Callable[[T | None, T | None], None]) -> None:
        """Have ``listener`` called with the old and the new state at every event of the watch."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Watch; once is enough."""
        if not self._is_watching:
            self._is_watching = True
            self._transport.watch(self.resource, self._on_frame)

    # ---- reading ------------------------------------------------------------------------------------------

    def find(self, namespace: str, name: str) -> T | None:
        """Return one object."""
        return self.objects.get(f"{namespace}/{name}" if namespace else name)

    def owned_by(self, uid: str) -> list[T]:
        """Return the objects with this controller, in the order in which they appeared, settled ones last."""
        return [self.objects[key] for settled in (False, True) for key in self._owned.get((uid, settled), ())]

    def open_of(self, uid: str) -> list[T]:
        """Return the objects with this controller that something can still happen to."""
        return [self.objects[key] for key in self._owned.get((uid, False), ())]

    def in_namespace(self, namespace: str) -> list[T]:
        """Return the objects of a namespace."""
        return [self.objects[key] for key in self._namespaces.get(namespace, ())]

    def find_orphans(self, namespace: str, matcher: LabelMatcher) -> list[T]:
        """Return the objects without controller that a selector selects; walks those that share a label with it."""
        keys = self._orphans.get(_get_narrowest(namespace, matcher), {})
        return [o for o in (self.objects[key] for key in keys) if matcher.matches(o.metadata.labels)]

    # ---- writing ------------------------------------------------------------------------------------------

    def confirm(self, body: bytes) -> T:
        """Take over the object in an answer, unless the watch is further than that; returns the object."""
        item = self._decode(body)
        version = _get_version(item)
        known = self.objects.get(item.metadata.key)
        if version > self._seen and (known is None or version > _get_version(known)):
            self._replace(known, item)
        return item

    def forget(self, item: T) -> None:
        """Take note that an object does not exist any more, as the API said before the watch did."""
        known = self.objects.get(item.metadata.key)
        if known is not None and known.metadata.uid == item.metadata.uid:
            self._replace(known, None)

    def _on_frame(self, frame: bytes) -> None:
        event = decode_frame(frame)
        if event.type not in ("ADDED", "MODIFIED", "DELETED"):
            return
        item = self._decode(event.object)
        meta = item.metadata
        version = int(meta.resource_version)
        self._seen = max(self._seen, version)
        known = self.objects.get(meta.key)
        is_deleted = event.type == "DELETED"
        if known is not None and version < _get_version(known) and not (is_deleted and known.metadata.uid == meta.uid):
            return  # what we wrote is newer
        self._replace(known, None if is_deleted else item)
        old = item if known is None and is_deleted else known
        for listener in self._listeners:
            listener(old, None if is_deleted else item)

    def _replace(self, old: T | None, new: T | None) -> None:
        if old is not None and (new is None or self._get_place(old) != self._get_place(new)):
            self._remove(old)
            old = None
        if new is not None:
            self.objects[new.metadata.key] = new
            if old is None:
                self._insert(new)

    def _insert(self, item: T) -> None:
        meta = item.metadata
        self._namespaces.setdefault(meta.namespace, {})[meta.key] = None
        owner = meta.controller
        if owner is not None:
            self._owned.setdefault((owner.uid, self._is_settled(item)), {})[meta.key] = None
            return
        for label in _list_labels(meta):
            self._orphans.setdefault(label, {})[meta.key] = None

    def _remove(self, item: T) -> None:
        meta = item.metadata
        del self.objects[meta.key]
        _discard(self._namespaces, meta.namespace, meta.key)
        owner = meta.controller
        if owner is not None:
            _discard(self._owned, (owner.uid, self._is_settled(item)), meta.key)
            return
        for label in _list_labels(meta):
            _discard(self._orphans, label, meta.key)

    def _get_place(self, item: T) -> tuple[str, str | None, bool, dict[str, str] | None]:
        """Return what decides where an object stands in the indexes."""
        meta = item.metadata
        owner = meta.controller
        return meta.uid, owner.uid if owner else None, self._is_settled(item), None if owner else meta.labels


K = TypeVar("K")


def _discard(index: dict[K, _Keys], name: K, key: str) -> None:
    keys = index.get(name, {})
    keys.pop(key, None)
    if not keys:
        index.pop(name, None)


def _get_version(item: Item) -> int:
    return int(item.metadata.resource_version)


def _list_labels(meta: ObjectMeta) -> Iterable[_Label]:
    yield (meta.namespace, "", "")
    for name, value in meta.labels.items():
        yield (meta.namespace, name, value)


def _get_narrowest(namespace: str, matcher: LabelMatcher) -> _Label:
    for label, operator, values in matcher.key or ():
        if operator == "In" and len(values) == 1:
            return (namespace, label, values[0])
    return (namespace, "", "")
