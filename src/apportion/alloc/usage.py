"""Who holds which devices of one pool.

A device is held either exclusively or in shares (allowMultipleAllocations), each share with the capacity it
consumes. Wrong data may name a device for several holders; then it stays in use until the last one is gone.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from apportion.alloc.signature import read_nano
from apportion.api.resource import DeviceRequestAllocationResult


class Hold(Struct, frozen=True):
    """One allocation result as the ledger keeps it."""

    driver: str
    pool: str
    device: str
    share_id: str | None
    consumed_nano: Mapping[str, int]

    @classmethod
    def from_result(cls, result: DeviceRequestAllocationResult, shares: bool) -> "Hold":
        """Read a result; without ``shares`` (consumable capacity off) every hold is exclusive.

        Raises ValidationError for a consumed capacity that is not a quantity.
        """
        share_id = result.share_id if shares else None
        consumed = (
            {name: read_nano(amount, f"consumedCapacity[{name}]") for name, amount in result.consumed_capacity.items()}
            if share_id is not None
            else {}
        )
        return cls(result.driver, result.pool, result.device, share_id, consumed)


class _DeviceUse:
    __slots__ = ("exclusive_count", "shares")

    def __init__(self) -> None:
        self.exclusive_count = 0
        self.shares: list[Hold] = []

    @property
    def is_idle(self) -> bool:
        return not self.exclusive_count and not self.shares


class PoolUsage:
    """The holds on the devices of one pool; a device without a hold has no entry."""

    __slots__ = ("_uses",)

    def __init__(self) -> None:
        self._uses: dict[str, _DeviceUse] = {}

    def __bool__(self) -> bool:
        return bool(self._uses)

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices in use, also of those that are no longer published."""
        return tuple(self._uses)

    def without(self, holds: Iterable[Hold]) -> "PoolUsage":
        """Return what would be left if these holds were gone; this one stays as it is."""
        left = PoolUsage()
        for name, use in self._uses.items():
            copied = left._uses[name] = _DeviceUse()
            copied.exclusive_count, copied.shares = use.exclusive_count, list(use.shares)
        for hold in holds:
            left.remove(hold)
        return left

    def add(self, hold: Hold) -> None:
        use = self._uses.setdefault(hold.device, _DeviceUse())
        if hold.share_id is None:
            use.exclusive_count += 1
        else:
            use.shares.append(hold)

    def remove(self, hold: Hold) -> None:
        """Undo ``add`` of an equal hold."""
        use = self._uses[hold.device]
        if hold.share_id is None:
            use.exclusive_count -= 1
        else:
            use.shares.remove(hold)
        if use.is_idle:
            del self._uses[hold.device]

    def is_used(self, device: str) -> bool:
        return device in self._uses

    def is_exclusive(self, device: str) -> bool:
        """Return whether somebody holds the whole device."""
        use = self._uses.get(device)
        return use is not None and use.exclusive_count > 0

    def sum_consumed_nano(self, device: str) -> dict[str, int]:
        """Add up what the shares of the device consume, by capacity name."""
        total: dict[str, int] = {}
        use = self._uses.get(device)
        for share in use.shares if use else ():
            for name, amount in share.consumed_nano.items():
                total[name] = total.get(name, 0) + amount
        return total
