"""What a watch shows of the pods that a workload created: which were attempted, which have a node, which are gone."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

_HAS_NODE: Final = b'"nodeName":"'
_ATTEMPTED: Final = b'"PodScheduled"'
_DELETED: Final = b'{"type":"DELETED"'


class _Meta(msgspec.Struct, gc=False):
    name: str
    namespace: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta


class _Frame(msgspec.Struct, gc=False):
    object: _Object


_DECODE: Final = msgspec.json.Decoder(_Frame).decode


@dataclass(slots=True)
class PodGroup:
    """The pods of one operation; ``pending`` counts those that neither have a node nor are gone."""

    pending: int = 0


@dataclass(slots=True, eq=False)
class PodEntry:
    """One pod. Pods of a churn have no group: nobody waits for them and nothing counts them."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    group: PodGroup | None = None
    is_gated: bool = False
    is_bound: bool = False
    is_attempted: bool = False
    is_gone: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether nothing more is expected of it."""
        return self.is_bound or self.is_gone

    def has_labels(self, wanted: Mapping[str, str]) -> bool:
        """Return whether it has all these labels."""
        return wanted.items() <= self.labels.items()


@dataclass(slots=True)
class PodBoard:
    """All pods by namespace and name; ``on_bound`` hears of each pod once, when it has a node."""

    entries: dict[tuple[str, str], PodEntry] = field(default_factory=dict)
    listeners: list[Callable[[PodEntry], None]] = field(default_factory=list)

    def add(self, entry: PodEntry) -> None:
        """Expect a pod that is about to be created."""
        self.entries[entry.namespace, entry.name] = entry
        if entry.group is not None:
            entry.group.pending += 1

    def on_frame(self, frame: bytes) -> None:
        """Take a watch event of a pod. Only those that tell something new are decoded."""
        has_node, is_deleted = _HAS_NODE in frame, frame.startswith(_DELETED)
        if not (has_node or is_deleted or _ATTEMPTED in frame):
            return
        meta = _DECODE(frame).object.metadata
        entry = self.entries.get((meta.namespace, meta.name))
        if entry is None:
            return
        entry.is_attempted = True
        if has_node and not entry.is_bound:
            self._settle(entry)
            entry.is_bound = True
            for listener in self.listeners:
                listener(entry)
        if is_deleted:
            self._settle(entry)
            entry.is_gone = True
            del self.entries[meta.namespace, meta.name]

    def _settle(self, entry: PodEntry) -> None:
        if not entry.is_settled and entry.group is not None:
            entry.group.pending -= 1

    def select(self, namespaces: Iterable[str], labels: Mapping[str, str]) -> Iterator[PodEntry]:
        """Yield the pods with all the labels in any of the namespaces; in all when none is given."""
        wanted = set(namespaces)
        for entry in self.entries.values():
            if (not wanted or entry.namespace in wanted) and entry.has_labels(labels):
                yield entry
