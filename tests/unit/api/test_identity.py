import pytest

from apportion.api.identity import NameGenerator, derive_uid, fill_identity
from apportion.api.kinds import Tree, get_kind
from apportion.base import Rng, ValidationError

POD = get_kind("", "Pod")
NOW = "2026-01-01T00:00:00Z"


def filled(names: NameGenerator, **metadata: str) -> Tree:
    metadata_tree: Tree = fill_identity({"metadata": {"namespace": "n", **metadata}}, POD, names, NOW)["metadata"]
    return metadata_tree


def test_uid_is_a_function_of_the_object() -> None:
    assert derive_uid("Pod", "n", "a") == derive_uid("Pod", "n", "a")
    assert len({derive_uid("Pod", "n", "a"), derive_uid("Pod", "n", "b"), derive_uid("Job.batch", "n", "a")}) == 3


def test_absent_parts_are_filled_and_given_ones_kept() -> None:
    names = NameGenerator(Rng(1))
    meta = filled(names, name="p")
    assert meta["uid"] == derive_uid("Pod", "n", "p")
    assert meta["creationTimestamp"] == NOW
    given = {"name": "p", "uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z"}
    assert filled(names, **given) == {"namespace": "n", **given}


def test_generated_names_never_repeat_and_avoid_reserved_ones() -> None:
    first = NameGenerator(Rng(7)).generate("Pod", "n", "web-")
    names = NameGenerator(Rng(7))
    names.reserve("Pod", "n", first)
    drawn = [names.generate("Pod", "n", "web-") for _ in range(2000)]
    assert len({*drawn, first}) == 2001
    assert all(n.startswith("web-") and len(n) == 9 for n in drawn)


def test_names_of_one_prefix_do_not_depend_on_the_others() -> None:
    one, other = NameGenerator(Rng(3)), NameGenerator(Rng(3))
    other.generate("Pod", "n", "noise-")
    assert one.generate("Pod", "n", "a-") == other.generate("Pod", "n", "a-")
    assert one.generate("Pod", "n", "a-") != one.generate("Pod", "m", "a-")


def test_long_prefix_is_cut_like_upstream() -> None:
    assert len(filled(NameGenerator(Rng(1)), generateName="x" * 80)["name"]) == 63


def test_object_without_any_name_is_refused() -> None:
    with pytest.raises(ValidationError, match="name or generateName is required"):
        filled(NameGenerator(Rng(1)))
