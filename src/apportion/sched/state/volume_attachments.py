"""VolumeAttachments by node and by volume."""

from typing import TypeVar

from apportion.api.storage import VolumeAttachment

T = TypeVar("T")


class VolumeAttachments:
    """Which volumes the API says are attached where; those without a persistent volume are left out."""

    def __init__(self) -> None:
        self._views: dict[str, VolumeAttachment] = {}
        self._volumes: dict[str, dict[str, str]] = {}  # node -> attachment -> volume
        self._nodes: dict[str, dict[str, str]] = {}  # volume -> attachment -> node

    def volumes_on(self, node_name: str) -> list[str]:
        """Return the names of the volumes attached to a node."""
        return list(self._volumes.get(node_name, {}).values())

    def nodes_of(self, volume_name: str) -> list[str]:
        """Return the names of the nodes that a volume is attached to."""
        return list(self._nodes.get(volume_name, {}).values())

    def apply(self, name: str, view: VolumeAttachment | None) -> VolumeAttachment | None:
        """Store an attachment, None when it is gone. Returns what was known before."""
        before = self._views.pop(name, None)
        if before is not None:
            drop_entry(self._volumes, before.spec.node_name, name)
            drop_entry(self._nodes, before.spec.source.persistent_volume_name or "", name)
        if view is not None:
            self._views[name] = view
            volume = view.spec.source.persistent_volume_name
            if volume:
                self._volumes.setdefault(view.spec.node_name, {})[name] = volume
                self._nodes.setdefault(volume, {})[name] = view.spec.node_name
        return before


def drop_entry(index: dict[str, dict[str, T]], key: str, name: str) -> None:
    """Remove an entry of an index of indexes, and what is empty after that."""
    entries = index.get(key)
    if entries is not None:
        entries.pop(name, None)
        if not entries:
            del index[key]
