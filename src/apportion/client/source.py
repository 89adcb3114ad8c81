"""What a reflector needs of the wire: pages and streams. Nothing calls back before the call has returned."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

Stop: TypeAlias = Callable[[], None]


class Reply(NamedTuple):
    """The end of a call. Code 200 with a watch: the stream ended in an orderly way."""

    code: int
    body: bytes = b""
    message: str = ""
    retry_after_s: float = 0.0
    was_sent: bool = True  # False: nothing of the request has left


class Source(Protocol):
    """One resource of an API server. Each call returns what ends it; after that it calls nothing back."""

    def list_page(self, limit: int, token: str, on_done: Callable[[Reply], None]) -> Stop:
        """Ask for a page; limit 0 is all, ``token`` continues a list."""
        ...

    def open_watch(
        self, version: str, timeout_s: int, on_line: Callable[[bytes], None], on_end: Callable[[Reply], None]
    ) -> Stop:
        """Ask for the changes after a version; ``on_line`` gets whole lines only, ``on_end`` comes last."""
        ...
