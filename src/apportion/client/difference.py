"""What a watch that missed something has to tell: the difference between what it told last and what is there now.

Behaviour: client-go's DeltaFIFO.Replace. Unlike there, an object that was deleted and made again under its name is
told as both, and deletions come first: what they free may be taken by what follows.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
K = TypeVar("K")


class Stamp(NamedTuple):
    """Which object it is, and in which version."""

    uid: str
    version: str


class _Meta(msgspec.Struct, rename="camel", gc=False):
    uid: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta


_DECODE: Final = msgspec.json.Decoder(_Object).decode


def read_stamp(raw: bytes | Raw) -> Stamp:
    """Return the stamp of an object in JSON; raises msgspec.DecodeError."""
    meta = _DECODE(raw).metadata
    return Stamp(meta.uid, meta.resource_version)


def list_steps(before: Stamp | None, now: Stamp) -> tuple[str, ...]:
    """Return the types of the events that lead from an object told before, if any, to the one that is there."""
    if before is None:
        return (ADDED,)
    if before.uid != now.uid:
        return (DELETED, ADDED)
    return () if before.version == now.version else (MODIFIED,)


def list_difference(before: Mapping[K, bytes], now: Mapping[K, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield (type, object) from what was told to what is there, both by key; deletions have the object last told."""
    for key, raw in before.items():
        if key not in now:
            yield DELETED, raw
    for key, raw in now.items():
        told = before.get(key)
        if told == raw:
            continue
        for step in list_steps(None if told is None else read_stamp(told), read_stamp(raw)):
            yield step, told if step == DELETED and told is not None else raw
