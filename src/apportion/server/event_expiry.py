"""Events go after an hour without news, and the oldest when there are very many.

Behaviour: kube-apiserver's --event-ttl, which starts anew with each write of an event.
"""

from collections import OrderedDict
from typing import Final

import orjson

from apportion.base import Clock
from apportion.server.versions import encode
from apportion.store import Key, Store

TTL_S: Final = 3600.0
EVENTS_MAX: Final = 200_000
STORAGE: Final = "events"


class EventExpiry:
    """Knows when each event was last written. A write pays for those that have to go by then."""

    def __init__(self, store: Store, clock: Clock, ttl_s: float) -> None:
        self._store = store
        self._clock = clock
        self._ttl_s = ttl_s
        # what an earlier life left gets another hour
        self._written = OrderedDict.fromkeys((e.key for e in store.list_entries(STORAGE)), clock.now())

    def touch(self, key: Key) -> None:
        """Take note of a write, and remove what is too old."""
        now_s = self._clock.now()
        self._written[key] = now_s
        self._written.move_to_end(key)
        while True:
            oldest, written_s = next(iter(self._written.items()))
            if written_s + self._ttl_s > now_s and len(self._written) <= EVENTS_MAX:
                return
            del self._written[oldest]
            self._remove(oldest)

    def forget(self, key: Key) -> None:
        """Take note that an event was deleted."""
        self._written.pop(key, None)

    def _remove(self, key: Key) -> None:
        entry = self._store.find(key)
        if entry is None:
            return
        tree = orjson.loads(entry.value)

        def encode_last(revision: int) -> bytes:
            return encode({**tree, "metadata": {**tree["metadata"], "resourceVersion": str(revision)}})

        self._store.delete(key, encode_last)
