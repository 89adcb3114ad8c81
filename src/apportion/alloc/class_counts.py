"""How many devices of a class a node has, and how many of them are in use: for scores, not for decisions."""

from weakref import WeakKeyDictionary

from apportion.alloc.matching import Matcher
from apportion.alloc.pool_view import PoolView, Shape
from apportion.alloc.table import DeviceTable
from apportion.api.resource import DeviceClass


class ClassCounts:
    """Counts for one class as it is now. Tainted devices count, and those of pools that cannot be used.

    Behaviour: calculateDRAResourceTotals of plugins/noderesources, for the newest generation of each pool.
    """

    def __init__(self, table: DeviceTable, device_class: DeviceClass) -> None:
        self._table = table
        self._matcher = Matcher(device_class.metadata.name, device_class.spec.selectors, ())
        self._masks: WeakKeyDictionary[Shape, int | None] = WeakKeyDictionary()

    def count(self, node: str) -> tuple[int, int]:
        """Return (devices, those in use); (0, 0) when a selector fails on one. Cost O(pools that were met before)."""
        devices = used = 0
        for view in self._table.get_pools_at(node):
            mask = self._find_mask(view)
            if mask is None:
                return 0, 0
            devices += mask.bit_count()
            used += (self._find_used(view) & mask).bit_count()
        return devices, used

    def _find_mask(self, view: PoolView) -> int | None:
        """Return the bitmap of the devices that match, None when that cannot be told."""
        if view.fault is not None:
            return self._match(view)
        if view.shape not in self._masks:
            self._masks[view.shape] = self._match(view)
        return self._masks[view.shape]

    def _match(self, view: PoolView) -> int | None:
        mask = 0
        for i, device in enumerate(view.published):
            match = self._matcher.match(device.signature)
            if not isinstance(match, bool):
                return None
            mask |= match << i
        return mask

    def _find_used(self, view: PoolView) -> int:
        if view.fault is None:
            state = view.state
            return state.taken | sum(1 << i for i in {i for i, _ in state.shares})
        return sum(1 << i for i, d in enumerate(view.published) if view.pool.usage.is_used(d.name))
