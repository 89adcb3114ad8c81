"""The log of which nodes changed, read by whoever keeps per-node answers."""

from collections import deque
from typing import Final

ENTRIES_MAX: Final = 8192


class ChangeLog:
    """The last changes; ``cursor`` rises by one with each."""

    def __init__(self, entries_max: int = ENTRIES_MAX) -> None:
        self.cursor = 0
        self._entries: deque[frozenset[str] | None] = deque(maxlen=entries_max)

    def add(self, nodes: frozenset[str] | None) -> None:
        """Note a change of the picture of ``nodes``; None stands for any node."""
        self.cursor += 1
        self._entries.append(nodes)

    def changed_nodes(self, since: int) -> frozenset[str] | None:
        """Return the union of the changes after ``since``, None when that may be any node.

        A cursor too old for the log also gives None. Cost O(changes since).
        """
        count = self.cursor - since
        if count <= 0:
            return frozenset()
        if count > len(self._entries):
            return None
        union: set[str] = set()
        for i in range(len(self._entries) - count, len(self._entries)):
            nodes = self._entries[i]
            if nodes is None:
                return None
            union |= nodes
        return frozenset(union)
