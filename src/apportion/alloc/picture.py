"""Which pools each node sees; kept until a pool or the node changes."""

from collections.abc import Mapping

from apportion.alloc.pool import Pool
from apportion.alloc.pool_view import PoolView, ShapeIndex

PoolKey = tuple[str, str]
_NO_LABELS: Mapping[str, str] = {}


class _Picture:
    __slots__ = ("ordered", "stale", "views")

    def __init__(self) -> None:
        self.views: dict[PoolKey, PoolView] = {}
        self.stale: set[PoolKey] = set()  # pools to look at again
        self.ordered: tuple[PoolView, ...] = ()


class NodePictures:
    """Pool views by node; nodes that see the same devices of a pool share one view."""

    def __init__(self, pools: Mapping[PoolKey, Pool]) -> None:
        self._pools = pools
        self._labels: dict[str, dict[str, str]] = {}
        self._pictures: dict[str, _Picture] = {}
        self._views: dict[PoolKey, dict[object, PoolView]] = {}
        self._local: dict[str, set[PoolKey]] = {}  # node -> pools that only the publishing nodes see
        self._homes: dict[PoolKey, frozenset[str]] = {}  # pool -> those nodes
        self._shared: set[PoolKey] = set()
        self._shapes = ShapeIndex()

    def set_labels(self, node: str, labels: dict[str, str]) -> bool:
        """Return whether the labels are new."""
        if self._labels.get(node) == labels:
            return False
        self._labels[node] = dict(labels)
        self._pictures.pop(node, None)
        return True

    def drop_node(self, node: str) -> bool:
        """Return whether the node was known."""
        self._pictures.pop(node, None)
        return self._labels.pop(node, None) is not None

    def forget_pool(self, key: PoolKey, nodes: frozenset[str] | None) -> None:
        """Look at the pool again: its slices changed, which concerns ``nodes`` (None: any)."""
        self._views.pop(key, None)
        self._index(key)
        if nodes is None:
            pictures = list(self._pictures.values())
        else:
            pictures = [self._pictures[n] for n in nodes if n in self._pictures]
        for picture in pictures:
            picture.stale.add(key)

    def _index(self, key: PoolKey) -> None:
        for node in self._homes.pop(key, ()):
            self._local[node].discard(key)
            if not self._local[node]:
                del self._local[node]
        self._shared.discard(key)
        homes = self._pools[key].find_home_nodes()
        if homes is None:
            self._shared.add(key)
        elif homes:
            self._homes[key] = homes
            for node in homes:
                self._local.setdefault(node, set()).add(key)

    def forget_state(self, key: PoolKey) -> None:
        """Read the use of the pool again: somebody took or returned devices."""
        for view in self._views.get(key, {}).values():
            view.forget_state()

    def get_views(self, node: str) -> tuple[PoolView, ...]:
        """Return the node's pools; O(1) when nothing changed, else O(slices of the changed pools)."""
        picture = self._pictures.get(node)
        if picture is None:
            picture = self._pictures[node] = _Picture()
            picture.stale.update(self._local.get(node, ()), self._shared)
        if picture.stale:
            self._refresh(node, picture)
        return picture.ordered

    def _refresh(self, node: str, picture: _Picture) -> None:
        for key in picture.stale:
            view = self._find_view(key, node)
            if view is None:
                picture.views.pop(key, None)
            else:
                picture.views[key] = view
        picture.stale.clear()
        picture.ordered = tuple(sorted(picture.views.values(), key=lambda v: (v.has_binding_conditions, v.pool.key)))

    def _find_view(self, key: PoolKey, node: str) -> PoolView | None:
        pool = self._pools.get(key)
        targets = pool.find_targets(node, self._labels.get(node, _NO_LABELS)) if pool else ()
        if pool is None or not targets:
            return None
        views = self._views.setdefault(key, {})
        aim = tuple((s.name, mask) for s, mask in targets)
        view = views.get(aim)
        if view is None:
            view = views[aim] = PoolView(pool, targets, self._shapes)
        return view
