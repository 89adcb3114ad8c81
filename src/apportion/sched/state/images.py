"""Which nodes have which container images."""

from apportion.api.core import Node


class ImageUse:
    """One image name: its size in bytes, as the first node said that had it, and the rows that have it."""

    __slots__ = ("rows", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.rows: set[int] = set()


class ImageTable:
    """An index over node.status.images; a node whose list changed costs one step per image name."""

    def __init__(self) -> None:
        self._images: dict[str, ImageUse] = {}
        self._listed: dict[int, tuple[tuple[str, int], ...]] = {}

    def set_node(self, row: int, node: Node | None) -> None:
        """Replace what ``row`` has; None when the node is gone."""
        listed = () if node is None else tuple((n, i.size_bytes) for i in node.status.images for n in i.names)
        before = self._listed.get(row, ())
        if listed == before:
            return
        for name, size in listed:
            self._images.setdefault(name, ImageUse(size)).rows.add(row)
        kept = {name for name, _ in listed}
        for name in {name for name, _ in before} - kept:
            use = self._images[name]
            use.rows.discard(row)
            if not use.rows:
                del self._images[name]
        if listed:
            self._listed[row] = listed
        else:
            self._listed.pop(row, None)

    def find(self, name: str) -> ImageUse | None:
        """Return who has the image; None when no node does."""
        return self._images.get(name)
