"""Which objects a watch has shown to be gone, so that nobody has to ask the API about them."""

from typing import Final

UIDS_MAX: Final = 10_000


class SeenUids:
    """The last uids that were added; a uid never comes back. Behaviour: upstream's uid and absent owner caches."""

    __slots__ = ("_most", "_uids")

    def __init__(self, most: int = UIDS_MAX) -> None:
        self._most = most
        self._uids: dict[str, None] = {}

    def add(self, uid: str) -> None:
        """Remember a uid, and forget the oldest one when there are too many."""
        self._uids[uid] = None
        if len(self._uids) > self._most:
            del self._uids[next(iter(self._uids))]

    def __contains__(self, uid: object) -> bool:
        return uid in self._uids
