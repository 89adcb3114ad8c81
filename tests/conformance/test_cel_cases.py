"""Reported problems around device selectors: what users ran into, and what they should see."""

from apportion.api.resource import Device, DeviceAttribute, DeviceCapacity
from apportion.cel import compile_selector, device_facts, summarize


def test_a24_missing_attribute_names_the_key_and_the_remedy() -> None:
    """kubernetes#136709, #125826: "no such key" alone helps nobody."""
    facts = [device_facts("g", Device(name=f"d{i}")) for i in range(64)]
    selector = compile_selector('device.attributes["g"].mode == "x"')
    error = str(selector.evaluate(facts[0]).error)
    assert error.startswith("no such key: mode")
    assert "has()" in error
    assert "orValue()" in error
    assert "attribute mode exists on 0 of 64 devices" in summarize(selector, facts).list_lines()


def test_a25_poorer_slice_of_another_driver_version_shows_what_is_missing() -> None:
    """run-ai/fake-gpu-operator#189: the class asks for an attribute that the fake driver does not publish."""
    attributes = {"model": DeviceAttribute(string_value="x"), "uuid": DeviceAttribute(string_value="u")}
    facts = device_facts("g", Device(name="d0", attributes=attributes))
    selector = compile_selector("device.driver == 'g' && device.attributes['g'].type == 'gpu'")
    trace = selector.trace(facts)
    assert [clause.text for clause in trace.deciding] == ["device.attributes['g'].type == 'gpu'"]
    assert [(lookup.name, exists) for lookup, exists in trace.lookups] == [("type", False)]


def test_f03_fractions_are_compared_exactly() -> None:
    """kubernetes#13867: Value() rounds 100m up to 1, comparisons must not."""
    facts = device_facts("g", Device(name="d0", capacity={"cores": DeviceCapacity(value="100m")}))
    cores = 'device.capacity["g"].cores'
    for expression in (
        f'{cores}.isLessThan(quantity("1"))',
        f'{cores}.compareTo(quantity("0.1")) == 0',
        f"!{cores}.isInteger()",
        f"{cores}.asApproximateFloat() < 0.2",
    ):
        assert compile_selector(expression).evaluate(facts).match is True


def test_f05_driver_version_with_leading_zero_is_no_semver() -> None:
    """NVIDIA/k8s-nim-operator#638: 550.127.08 cannot be a version attribute, as a string it compares well."""
    as_version = device_facts("g", Device(attributes={"v": DeviceAttribute(version_value="550.127.08")}))
    as_text = device_facts("g", Device(attributes={"v": DeviceAttribute(string_value="550.127.08")}))
    selector = compile_selector('device.attributes["g"].v == "550.127.08"')
    assert selector.evaluate(as_text).match is True
    error = str(selector.evaluate(as_version).error)
    assert "leading zeroes '08'" in error
    assert "as a string instead" in error
    assert compile_selector('isSemver("550.127.08")').evaluate(as_text).match is False
    assert compile_selector('semver("550.127.08", true).patch() == 8').evaluate(as_text).match is True
