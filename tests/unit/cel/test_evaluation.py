"""Evaluation over devices: facts, absorption of errors, costs and the limit on them."""

import pytest

from apportion.api.resource import Device, DeviceAttribute, DeviceCapacity
from apportion.cel import CelFeatures, DeviceFacts, compile_selector, device_facts

LISTS = CelFeatures(list_type_attributes=True)
NO_KEY = 'device.attributes["d"].missing == 1'


def make_facts(**attributes: DeviceAttribute) -> DeviceFacts:
    device = Device(name="x", attributes=attributes, capacity={"memory": DeviceCapacity(value="40Gi")})
    return device_facts("d", device)


PLAIN = make_facts(
    model=DeviceAttribute(string_value="A100"),
    index=DeviceAttribute(int_value=3),
    healthy=DeviceAttribute(bool_value=False),
    version=DeviceAttribute(version_value="1.5.1"),
)


def evaluate(expression: str, facts: DeviceFacts = PLAIN) -> bool | str | None:
    verdict = compile_selector(expression, LISTS).evaluate(facts)
    return verdict.match if verdict.error is None else verdict.error.partition(". consider")[0]


ABSORBED = {
    f"{NO_KEY} || true": True,
    f"true || {NO_KEY}": True,
    f"{NO_KEY} && false": False,
    f"false && {NO_KEY}": False,
    f"{NO_KEY} || false": "no such key: missing",
    f"{NO_KEY} && true": "no such key: missing",
    f"{NO_KEY} && 1 / 0 == 1": "no such key: missing",
    f"1 / 0 == 1 || {NO_KEY}": "division by zero",
    f"!({NO_KEY})": "no such key: missing",
    f"true ? true : {NO_KEY}": True,
    f"false ? {NO_KEY} : true": True,
    f"({NO_KEY}) ? true : true": "no such key: missing",
    "[1, 0, 2].exists(x, 4 / x == 4)": True,
    "[0, 1].exists(x, 1 / x == 1)": True,
    "[0, 2].exists(x, 1 / x == 1)": "division by zero",
    "[0, 2].all(x, 1 / x > 1)": False,
    "[0, 1].all(x, 1 / x == 1)": "division by zero",
    "[0, 1].exists_one(x, 1 / x == 1)": "division by zero",
    "[0, 1].map(x, 1 / x).size() == 2": "division by zero",
    "cel.bind(x, 1 / 0, true)": True,
    "cel.bind(x, 1 / 0, x == 1 || true)": True,
    "[1 / 0].size() == 1": "division by zero",
    "has({'a': 1 / 0}.a)": "division by zero",
    'device.attributes["d"].model > 3': "no such overload",
    'device.attributes["d"].model': (
        "CEL result of type string could not be converted to bool: unsupported type conversion from 'string' to bool"
    ),
    'device.attributes["d"].healthy': False,
}


@pytest.mark.parametrize("expression", ABSORBED)
def test_errors_are_absorbed_as_cel_does(expression: str) -> None:
    assert evaluate(expression) == ABSORBED[expression]


def test_domains_never_fail_and_names_do() -> None:
    assert evaluate('"d" in device.attributes && !("e" in device.attributes)') is True
    assert evaluate('size(device.attributes["e"]) == 0 && device.attributes.e.size() == 0') is True
    assert evaluate('has(device.attributes["e"].x)') is False
    assert evaluate('device.attributes["e"].x == 1') == "no such key: x"
    assert evaluate('device.attributes["e"]["x"] == 1') == "no such key: x"
    assert evaluate('device.attributes[device.driver].model == "A100"') is True
    assert evaluate('cel.bind(d, device, d.driver == "d" && d.attributes["d"].index == 3)') is True
    assert evaluate('device.attributes.exists(a, b, a == "d" && b.exists(k, k == "model"))') is True


def test_missing_key_comes_with_a_hint_once() -> None:
    error = compile_selector(NO_KEY).evaluate(PLAIN).error
    assert error is not None
    assert error.startswith("no such key: missing. consider using CEL optional chaining")
    assert error.count("has()") == 1
    assert "guard" not in str(compile_selector("1 / 0 == 1").evaluate(PLAIN).error)


@pytest.mark.parametrize(
    ("expression", "has_hint"),
    [
        ('device.attributes["d"].missing == 1', True),
        ('device.capacity["d"]["missing"].isInteger()', True),
        ('{"a": 1}["b"] == 1', True),
        ("[1][2] == 1", False),
        ('quantity("x").isInteger()', False),
    ],
)
def test_only_a_missing_key_comes_with_a_hint(expression: str, has_hint: bool) -> None:
    error = compile_selector(expression).evaluate(PLAIN).error
    assert error is not None and ("orValue()" in error) is has_hint


def test_an_answer_comes_without_a_hint() -> None:
    assert compile_selector("true").evaluate(PLAIN).error is None


def test_qualified_names_and_list_values() -> None:
    facts = device_facts(
        "d",
        Device(
            attributes={
                "other.io/rack": DeviceAttribute(string_value="k7"),
                "cpus": DeviceAttribute(int_values=(0, 2)),
                "flags": DeviceAttribute(bool_values=(True,)),
                "names": DeviceAttribute(string_values=("a",)),
                "versions": DeviceAttribute(version_values=("1.0.0", "2.1.0")),
                "empty": DeviceAttribute(string_values=()),
            },
            allow_multiple_allocations=True,
        ),
    )
    assert evaluate('device.attributes["other.io"].rack == "k7"', facts) is True
    assert evaluate('cel.bind(a, device.attributes["d"], 2 in a.cpus && a.flags[0] && a.names == ["a"])', facts) is True
    assert evaluate('device.attributes["d"].versions.exists(v, v.major() == 2)', facts) is True
    assert evaluate('device.attributes["d"].empty.size() == 0 && device.allowMultipleAllocations', facts) is True


@pytest.mark.parametrize(
    ("attribute", "error"),
    [
        (DeviceAttribute(), "attribute bad: unsupported attribute value"),
        (DeviceAttribute(version_value="550.127.08"), "must not contain leading zeroes"),
        (DeviceAttribute(version_values=("1.0.0", "x")), "No Major.Minor.Patch elements found"),
    ],
)
def test_unreadable_attribute_fails_every_expression(attribute: DeviceAttribute, error: str) -> None:
    verdict = compile_selector("true").evaluate(make_facts(bad=attribute))
    assert verdict.match is None
    assert error in str(verdict.error)


def test_unreadable_capacity_fails_every_expression() -> None:
    facts = device_facts("d", Device(capacity={"memory": DeviceCapacity(value="40Gib")}))
    assert "capacity memory: '40Gib' is not a quantity" in str(compile_selector("true").evaluate(facts).error)


COSTS = {
    "true": 0,
    '"d" in device.attributes': 3,
    'device.driver == "d"': 3,
    'device.attributes["d"].model': 4,
    'device.attributes["d"].index == 3': 5,
    'device.attributes["d"].version.isGreaterThan(semver("0.0.1"))': 6,
    'device.capacity["d"].memory.isGreaterThan(quantity("1"))': 6,
    'has(device.attributes["d"].model) && device.attributes["d"].model == "A100"': 8,
    "[1, 2, 3].all(x, x > 0)": 16,
    "[1, 2].map(x, x * 2) == [2, 4]": 30,
    "(true ? device.driver : device.driver) == 'd'": 2,
    "[1].exists_one(x, true)": 4,
    "{1: 2}[1] == 2": 3,
    "[device.driver].size() == 1": 14,
    "[1, 2].transformList(i, v, v).size() == 2": 29,
}


@pytest.mark.parametrize("expression", COSTS)
def test_cost(expression: str) -> None:
    assert compile_selector(expression).evaluate(PLAIN).cost == COSTS[expression]


@pytest.mark.parametrize(
    "expression",
    [
        "lists.range(300).all(a, lists.range(300).all(b, lists.range(300).all(c, a + b + c >= 0)))",
        "sets.contains(lists.range(100000), lists.range(100000))",
        "lists.range(2000).distinct().size() == 2000",
        "cel.bind(a, lists.range(99), cel.bind(b, a + a + a, b.all(x, b.all(y, b.all(z, x + y + z >= 0)))))",
        "cel.bind(a, 'xxxxxxxxxxxxxxxxxxxxxx'.replace('', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'),"
        " a.replace('', a).replace('', a).replace('', a) == '')",
    ],
)
def test_run_away_expression_is_stopped(expression: str) -> None:
    verdict = compile_selector(expression).evaluate(PLAIN)
    assert verdict.match is None
    assert "actual cost limit exceeded" in str(verdict.error)


def test_evaluations_do_not_influence_each_other() -> None:
    selector = compile_selector(
        "cel.bind(x, device.driver, [1, 2].map(i, x + string(i)).filter(s, s == 'd2').size() == 1)"
    )
    other = device_facts("e", Device())
    assert [selector.evaluate(f).match for f in (PLAIN, other, PLAIN, other)] == [True, False, True, False]
