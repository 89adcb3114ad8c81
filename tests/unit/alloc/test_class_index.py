"""Which class serves a resource, while classes come, change and go."""

import pytest

from apportion.alloc.class_index import ClassIndex
from apportion.api.resource import DeviceClass, DeviceClassSpec
from apportion.api.view import ObjectMeta

GPU, OTHER = "example.com/gpu", "example.com/other"
IMPLICIT = "deviceclass.resource.kubernetes.io/"


def device_class(name: str, resource: str | None = GPU, created: str = "2026-01-01T00:00:00Z") -> DeviceClass:
    return DeviceClass(
        ObjectMeta(name=name, creation_timestamp=created), DeviceClassSpec(extended_resource_name=resource)
    )


def serving(index: ClassIndex, resource: str = GPU) -> str | None:
    found = index.find_for_resource(resource)
    return None if found is None else found.metadata.name


def test_a_class_that_is_added_serves_both_names() -> None:
    index = ClassIndex()
    assert serving(index) is None and index.apply(device_class("a"))
    assert (serving(index), serving(index, f"{IMPLICIT}a"), serving(index, OTHER)) == ("a", "a", None)


def test_a_class_without_name_of_a_resource_serves_its_own() -> None:
    index = ClassIndex()
    index.apply(device_class("a", None))
    assert (serving(index), serving(index, f"{IMPLICIT}a"), serving(index, f"{IMPLICIT}b")) == (None, "a", None)


def test_a_class_that_changes_its_resource_serves_the_new_one() -> None:
    index = ClassIndex()
    index.apply(device_class("a"))
    before = index.names_version
    assert index.apply(device_class("a", OTHER)) and index.names_version > before
    assert (serving(index), serving(index, OTHER), serving(index, f"{IMPLICIT}a")) == (None, "a", "a")
    index.apply(device_class("a", None))
    assert (serving(index, OTHER), serving(index, f"{IMPLICIT}a")) == (None, "a")


def test_what_is_the_same_changes_nothing() -> None:
    index = ClassIndex()
    index.apply(device_class("a"))
    before = (index.version, index.names_version)
    assert not index.apply(device_class("a")) and not index.remove("b")
    assert (index.version, index.names_version) == before


@pytest.mark.parametrize("order", [("old", "new", "new-too"), ("new-too", "new", "old")])
def test_the_newest_serves_then_the_first_by_name_then_who_is_left(order: tuple[str, ...]) -> None:
    index = ClassIndex()
    for name in order:
        index.apply(device_class(name, created=f"202{5 if name == 'old' else 6}-01-01T00:00:00Z"))
    found = [serving(index)]
    for name in ("new", "new-too", "old"):
        index.remove(name)
        found.append(serving(index))
    assert found == ["new", "new-too", "old", None]
    assert serving(index, f"{IMPLICIT}new") is None
