"""What shares consume of a device, added up and taken back."""

from apportion.alloc.usage import Hold, PoolUsage

NANO = 10**9


def share(number: int, **consumed: int) -> Hold:
    return Hold("d", "p", "dev", f"s{number}", {name: amount * NANO for name, amount in consumed.items()})


def test_shares_are_added_and_subtracted_until_nothing_is_left() -> None:
    usage = PoolUsage()
    for amount in (1, 2, 3):
        usage.add(share(amount, m=amount))
    left = []
    for amount in (2, 1, 3):
        left.append(usage.sum_consumed_nano("dev"))
        usage.remove(share(amount, m=amount))
    assert left == [{"m": 6 * NANO}, {"m": 4 * NANO}, {"m": 3 * NANO}]
    assert not usage and usage.sum_consumed_nano("dev") == {}


def test_three_capacities_are_counted_apart() -> None:
    usage = PoolUsage()
    usage.add(share(1, a=1, b=2))
    usage.add(share(2, b=3, c=4))
    assert usage.sum_consumed_nano("dev") == {"a": NANO, "b": 5 * NANO, "c": 4 * NANO}
    usage.remove(share(1, a=1, b=2))
    assert usage.sum_consumed_nano("dev") == {"b": 3 * NANO, "c": 4 * NANO}
