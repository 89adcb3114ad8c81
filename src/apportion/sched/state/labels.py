"""One column of interned values for each node label key that a selector or a topology key has named."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class LabelColumn:
    """The values of one label key over all rows.

    ``ids`` is [row] int32: the value's id, -1 where the node lacks the key. Arrays indexed by value id keep their
    last slot for "lacks the key", so ``array.take(ids)`` reads that slot for -1.
    """

    __slots__ = ("_ids", "_value_ids", "ids", "key", "values")

    def __init__(self, key: str, rows: int) -> None:
        self.key = key
        self.values: list[str] = []
        self._value_ids: dict[str, int] = {}
        self._ids: Int32s = np.full(max(rows, 16), -1, np.int32)
        self.ids: Int32s = self._ids[:rows]

    def set(self, row: int, labels: Mapping[str, str]) -> None:
        """Store the value that ``labels`` has for this key in ``row``."""
        value = labels.get(self.key)
        self.ids[row] = -1 if value is None else self.intern(value)

    def intern(self, value: str) -> int:
        """Return the id of ``value``."""
        found = self._value_ids.get(value)
        if found is None:
            found = self._value_ids[value] = len(self.values)
            self.values.append(value)
        return found

    def resize(self, rows: int) -> None:
        """Make the column ``rows`` long; new rows lack the key."""
        if rows > len(self._ids):
            grown = np.full(max(rows, 2 * len(self._ids)), -1, np.int32)
            grown[: len(self._ids)] = self._ids
            self._ids = grown
        self.ids = self._ids[:rows]

    def has(self) -> Bools:
        """Return [row] bool: the node has the key. Cost: one pass over the rows."""
        return self.ids >= 0

    def is_unique(self) -> bool:
        """Return whether no two nodes share a value, as with host names. One pass over the rows."""
        present = self.ids[self.ids >= 0]
        return len(np.unique(present)) == len(present)

    def test(self, accepts: Callable[[str | None], bool]) -> Bools:
        """Return [row] bool for a test on the value (None: lacks the key), run once for each distinct value."""
        table = np.fromiter((accepts(v) for v in self.values), np.bool_, len(self.values))
        return np.append(table, accepts(None)).take(self.ids)
