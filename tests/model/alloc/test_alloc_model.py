"""The allocator against brute force and against the rules, in small random worlds."""

import pytest

from model.alloc.brute_force import find_any_allocation
from model.alloc.random_worlds import WorldMaker
from model.alloc.validity import Rules
from unit.alloc.alloc_worlds import Tree, World, load_recorded, to_trees

WORLDS_PER_SEED = 60


def _hold_something(world: Tree, loaded: World, seed: int) -> None:
    """Give some devices to claims from earlier on, by allocating for the claims of another world."""
    for i, claim in enumerate(WorldMaker(seed + 1_000_000).make()["claims"]):
        claim["metadata"]["uid"] = f"held-{i}"
        if not loaded.fits(claim):
            continue
        (result,) = loaded.allocate(claim)
        loaded.table.take(f"held-{i}", result)
        trees = to_trees([result])[0]
        for tree, own in zip(trees, result.devices.results, strict=True):
            if own.share_id:
                tree["shareID"] = own.share_id
        world["allocated"].append({"status": {"allocation": {"devices": {"results": trees}}}})


@pytest.mark.parametrize("seed", range(8))
def test_never_a_wrong_yes_and_never_a_wrong_no(seed: int) -> None:
    maker = WorldMaker(seed)
    answers = {True: 0, False: 0}
    for i in range(WORLDS_PER_SEED):
        world = maker.make()
        loaded = load_recorded(world)
        if i % 2:
            _hold_something(world, loaded, seed * WORLDS_PER_SEED + i)
        answer = loaded.judge(*world["claims"])
        if answer.fits:
            results = to_trees(loaded.allocate(*world["claims"]))
            assert Rules(world).find_violation(world["claims"], results) is None
        elif "claim constraint would not be satisfied" not in answer.reason:  # All stops there, as upstream
            assert find_any_allocation(world) is None, world
        answers[answer.fits] += 1
    assert min(answers.values()) > WORLDS_PER_SEED // 10


@pytest.mark.parametrize("seed", range(4))
def test_giving_back_leaves_no_trace(seed: int) -> None:
    """After any takes and returns, the table answers as one that never saw them."""
    maker = WorldMaker(seed + 500)
    for _ in range(20):
        world = maker.make()
        used, fresh = load_recorded(world), load_recorded(world)
        taken = [c for c in world["claims"] if used.fits(c)]
        for claim in taken:
            if used.fits(claim):
                used.take(claim)
        for claim in taken:
            used.table.give_back(claim["metadata"]["uid"])
        assert used.judge(*world["claims"]) == fresh.judge(*world["claims"])
        assert used.table.totals() == fresh.table.totals()
