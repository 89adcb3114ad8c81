"""Cuts a stream of bytes into lines. What is left at the end was cut off on the way, and is no line."""

from typing import Final

from apportion.base import LimitError

# an object has at most 1.5 MB in etcd; as JSON, with the bytes escaped, it may be several times as long
LINE_BYTES_MAX: Final = 32 * 1024 * 1024


class Lines:
    """Collects chunks; a chunk may hold many lines, or a part of one."""

    def __init__(self, bytes_max: int = LINE_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that are complete now, without their ends; raises LimitError."""
        head, end, rest = chunk.partition(b"\n")
        self._parts.append(head)
        self._size += len(head)
        if self._size > self._bytes_max:
            raise LimitError(f"a line of the stream is longer than {self._bytes_max} bytes")
        if not end:
            return []
        first = b"".join(self._parts)
        *lines, last = rest.split(b"\n")
        self._parts, self._size = [last], len(last)
        return [line for line in (first, *lines) if line.strip()]
