"""What is known of claims before any node is asked, and when answers are shared."""

import pytest

from unit.alloc.alloc_worlds import (
    DRIVER,
    Tree,
    World,
    ask,
    claim_tree,
    class_tree,
    device,
    first_of,
    request,
    slice_tree,
)


def _one(*args: object, **fields: object) -> Tree:
    return claim_tree("c", request("r", ask(*args, **fields)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tree", "fault", "reason"),
    [
        (
            claim_tree("c", request("r", ask("gone"))),
            "request r: device class gone does not exist",
            "claim default/c, request r: could not retrieve device class gone",
        ),
        (
            claim_tree("c", first_of("r", ask(), ask("gone"))),
            "request r/s1: device class gone does not exist",
            "claim default/c, request s1: could not retrieve device class gone",
        ),
        (
            claim_tree("c", request("r", {**ask(), "allocationMode": "Some"})),
            None,
            "claim default/c, request r: unsupported count mode Some",
        ),
        (
            claim_tree("c", request("r", ask()), constraints=[{}]),
            None,
            "claim default/c, constraint #0: empty constraint (unsupported constraint type?)",
        ),
        (
            claim_tree("c", request("r", {**ask(), "selectors": [{}]})),
            None,
            "claim default/c, request r: selector #0: CEL expression empty (unsupported selector type?)",
        ),
    ],
)
def test_claims_that_no_node_can_serve(tree: Tree, fault: str | None, reason: str) -> None:
    world = World(slice_tree(device("d0")))
    assert world.prepare(tree).fault == fault
    assert world.judge(tree).reason == reason


@pytest.mark.parametrize(
    ("tree", "feature", "text"),
    [
        (claim_tree("c", first_of("r", ask())), "prioritized_list", "has subrequests"),
        (_one(adminAccess=True), "admin_access", "admin access is requested"),
        (_one(capacity={"bw": "1"}), "consumable_capacity", "request has capacity requests"),
    ],
)
def test_switched_off_features_are_named(tree: Tree, feature: str, text: str) -> None:
    world = World(slice_tree(device("d0", {"bw": "1"})), **{feature: False})
    assert text in world.judge(tree).reason


def test_equal_specs_share_a_problem_until_a_claim_must_be_named() -> None:
    model = f'device.attributes["{DRIVER}"].model == "a"'
    world = World(slice_tree(device("d0", attributes={"model": "a"})))
    claims = [claim_tree(n, request("r", ask("any", 1, model))) for n in ("a", "b")]
    first = world.prepare(claims[0])
    assert world.judge(claims[0]).fits
    assert world.prepare(claims[1]) is first
    world.publish(slice_tree(device("d0")))
    assert "claim default/a:" in world.judge(claims[0]).reason
    assert "claim default/b:" in world.judge(claims[1]).reason


def test_a_changed_class_changes_the_answers() -> None:
    world = World(slice_tree(device("d0")), classes=[class_tree("k", "false")])
    assert not world.fits(_one("k"))
    replaced = World(classes=[class_tree("k", "true")]).table.find_class("k")
    assert replaced is not None
    world.table.apply_class(replaced)
    assert world.fits(_one("k"))
