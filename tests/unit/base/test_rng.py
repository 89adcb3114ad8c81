from apportion.base import Rng


def test_the_same_seed_gives_the_same_numbers() -> None:
    rng = Rng(7)
    assert [rng.next_u64() for _ in range(2)] == [Rng(7).next_u64(), rng_second(7)]
    assert Rng(0).next_u64() == 0xE220A8397B1DCDAF  # the published first output of SplitMix64


def rng_second(seed: int) -> int:
    rng = Rng(seed)
    rng.next_u64()
    return rng.next_u64()


def test_below_stays_below_and_reaches_everything() -> None:
    rng = Rng(1)
    assert {rng.below(3) for _ in range(100)} == {0, 1, 2}


def test_a_fork_is_named_and_leaves_its_parent_alone() -> None:
    rng = Rng(3)
    assert rng.fork("a").next_u64() != rng.fork("b").next_u64()
    assert rng.fork("a").next_u64() == Rng(3).fork("a").next_u64()
    assert rng.next_u64() == Rng(3).next_u64()


def test_uids_are_version_4_uuids() -> None:
    uid = Rng(5).uid()
    assert len(uid) == 36 and uid[14] == "4" and uid[19] in "89ab"
