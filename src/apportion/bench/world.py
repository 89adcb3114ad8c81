"""Where operations take effect: the same for both modes, so that a workload is the same in both."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from apportion.api.kinds import Kind
from apportion.bench.board import PodBoard
from apportion.client import Request

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """An object to create or to update; it has a name, and a namespace when its kind has one."""

    kind: Kind
    tree: Tree

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.tree["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Its namespace, "" for kinds without."""
        return str(self.tree["metadata"].get("namespace", ""))


class World(Protocol):
    """A scheduler and whatever feeds it. Coroutines return when the effect is there."""

    board: PodBoard
    latencies_ns: list[int]  # one entry for each decision

    async def create(self, items: Iterable[Item]) -> None:
        """Create objects; raises BenchError when one is refused."""
        ...

    def create_soon(self, item: Item) -> None:
        """Begin to create an object; one that is refused is no error."""
        ...

    def delete_soon(self, kind: Kind, namespace: str, name: str) -> None:
        """Begin to delete an object, without a grace period."""
        ...

    async def update(self, items: Iterable[Item], subresource: str) -> None:
        """Replace objects, status included; raises BenchError when that is refused."""
        ...

    async def send(self, requests: Iterable[Request]) -> None:
        """Carry out requests; raises BenchError when one is refused."""
        ...

    async def wait(self, is_done: Callable[[], bool], what: str) -> None:
        """Let everything go on until ``is_done``; raises BenchError naming ``what`` when that does not come."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Let everything go on for a while."""
        ...

    def every(self, interval_s: float, tick: Callable[[], bool]) -> None:
        """Call ``tick`` again and again while everything goes on, until it returns False."""
        ...

    async def settle(self) -> None:
        """Wait until what was created is known and new nodes may be used."""
        ...

    def elapsed_s(self) -> float:
        """Return the time that counts, from any beginning."""
        ...

    def cpu_s(self) -> float:
        """Return the processor time that counts: what other programs take of the machine does not change it."""
        ...

    def trees(self, plural: str) -> list[Tree]:
        """Return the objects of a kind as they are stored."""
        ...
