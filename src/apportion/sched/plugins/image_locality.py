"""ImageLocality: prefers nodes that have the pod's images already, weighed by how widely they are spread."""

import numpy as np

from apportion.api.core import PodSpec
from apportion.sched.framework.columns import MAX_NODE_SCORE, Scored
from apportion.sched.plugins.handle import Handle
from apportion.sched.state import ClusterState, PodInfo

_MIB = 1 << 20
_SMALLEST = 23 * _MIB
_LARGEST_PER_ITEM = 1000 * _MIB
_COLUMNS_MAX = 1024


def image_name(name: str) -> str:
    """Return the name with its tag: "latest" when it has none."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


class ImageLocality:
    """Columns are shared by pods with the same images. Behaviour: plugins/imagelocality."""

    name = "ImageLocality"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._columns: dict[tuple[str, ...], ImageScore] = {}

    def pre_score(self, pod: PodInfo, state: object) -> "ImageScore":
        """Return the column for the images of all containers and image volumes."""
        images = _images(pod.kind.template.spec)
        column = self._columns.get(images)
        if column is None:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            column = self._columns[images] = ImageScore(self._state, images)
        return column


def _images(spec: PodSpec) -> tuple[str, ...]:
    containers = [image_name(c.image) for c in (*spec.init_containers, *spec.containers)]
    volumes = [image_name(v.image.reference) for v in spec.volumes if v.image is not None]
    return (*containers, *volumes)


class ImageScore(Scored):
    """The sizes of the images present, each times the share of nodes that have it, scaled to 0..100."""

    __slots__ = ("_images", "_seen", "_state")

    def __init__(self, state: ClusterState, images: tuple[str, ...]) -> None:
        super().__init__(pointwise=True)
        self._state = state
        self._images = images
        self._compute()

    def _compute(self) -> None:
        nodes = self._state.nodes
        self._seen = nodes.changes.head
        total = np.zeros(nodes.rows, np.int64)
        for image in self._images:
            use = self._state.images.find(image)
            if use is not None:
                rows = np.fromiter(use.rows, np.int64, len(use.rows))
                total[rows] += int(use.size_bytes * (len(rows) / nodes.count))
        largest = max(1, len(self._images)) * _LARGEST_PER_ITEM
        total = np.clip(total, _SMALLEST, largest)
        self.raw = MAX_NODE_SCORE * (total - _SMALLEST) // (largest - _SMALLEST)
        self.constant = None if self.raw.any() else 0
        self.stamp += 1  # one node more changes the share on all rows

    def refresh(self) -> None:
        """Bring ``raw`` up to date; free while no Node object changed."""
        if self._seen != self._state.nodes.changes.head:
            self._compute()
