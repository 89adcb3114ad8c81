"""What a store promises: one counter of revisions, one writer, changes that can be read again."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from apportion.base import ApportionError

# The empty beginning of every store. No object ever carries it, whatever revision a store starts counting from.
BEGINNING: Final = 1
MUST_NOT_EXIST: Final = 0

# Gets the revision that the value will be stored under, so that the value can carry it.
Encode: TypeAlias = Callable[[int], bytes]


class Key(NamedTuple):
    """Where a value lives. Parts are kept apart, so that no text of a user can point somewhere else."""

    resource: str
    namespace: str
    name: str


class Entry(NamedTuple):
    """A value and the revision of its last change."""

    key: Key
    revision: int
    value: bytes


class ChangeType(Enum):
    """What happened to a key; the values are the words of the Kubernetes watch protocol."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(Struct, frozen=True):
    """One commit. ``value`` of a deletion is the last state, under the revision of the deletion."""

    revision: int
    type: ChangeType
    key: Key
    value: bytes
    previous: bytes | None


class StoreError(ApportionError):
    """The store cannot do what was asked."""


class RevisionConflictError(StoreError):
    """The key is not at the revision that the writer expected; nothing was changed."""

    def __init__(self, key: Key, expected: int, found: int) -> None:
        super().__init__(f"{'/'.join(key)} is at revision {found or 'none'}, not at {expected or 'none'}")
        self.found = found


class CompactedError(StoreError):
    """The history before ``oldest`` is gone, or belongs to another store; list again."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {revision} ({oldest})")
        self.oldest = oldest


class StoreFailedError(StoreError):
    """The disk refuses writes; what was not durable was taken back. Reading goes on, and so does writing one day."""


class Store(Protocol):
    """Values by key, every change numbered. One thread calls; each commit is one revision.

    A revision is *durable* once it would survive a crash. Readers of ``changes`` see durable revisions only, and
    an answer may leave the process only when ``durable_revision`` has reached what it tells.
    """

    @property
    def revision(self) -> int:
        """The revision of the last commit."""
        ...

    @property
    def durable_revision(self) -> int:
        """The last revision that a crash cannot take back."""
        ...

    @property
    def compacted_revision(self) -> int:
        """Changes up to and including this one cannot be read any more."""
        ...

    @property
    def heads(self) -> Mapping[str, int]:
        """The revision of the newest change by resource, durable or not; live, not to be changed."""
        ...

    def find(self, key: Key) -> Entry | None:
        """Return the current entry of a key."""
        ...

    def list_entries(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        """Return the current entries of a resource by (namespace, name); "" means all namespaces."""
        ...

    def list_entries_at(self, resource: str, namespace: str, revision: int) -> Sequence[Entry]:
        """Return the entries as they were at a revision, at the cost of the changes since then.

        Raises CompactedError.
        """
        ...

    def put(self, key: Key, encode: Encode, expected: int | None = None) -> Entry:
        """Commit a value. ``expected`` is the key's revision (``MUST_NOT_EXIST`` for none), None for any.

        Raises RevisionConflictError and StoreFailedError; then nothing has changed.
        """
        ...

    def delete(self, key: Key, encode: Encode, expected: int | None = None) -> Entry:
        """Commit a deletion, with the last state as value. Raises RevisionConflictError, StoreFailedError."""
        ...

    def read_changes(self, resource: str, after: int) -> Sequence[Change]:
        """Return the durable changes of a resource after a revision, in order.

        Raises CompactedError when some of them are gone. Costs the changes returned, not the history.
        """
        ...

    def compact(self, revision: int) -> None:
        """Forget changes up to a durable revision; the current entries stay."""
        ...

    def recover(self) -> int:
        """Take back the commits that the disk refused, if there are any; returns how often that was needed so far.

        To be called where nobody relies on what was read before: at the start of a request.
        """
        ...

    def find_loss(self, revision: int, losses: int) -> str | None:
        """Return why a revision was taken back after ``recover`` had returned ``losses``; None when it was not.

        Revisions that were taken back come again for other commits, so being durable is not enough.
        """
        ...

    def subscribe(self, on_durable: Callable[[], None]) -> Callable[[], None]:
        """Call ``on_durable`` whenever revisions became durable or were lost; returns what ends the subscription.

        It may be called from another thread and inside a commit: it must do no more than wake somebody up.
        """
        ...

    def close(self) -> None:
        """Write what is pending and let go of all resources."""
        ...
