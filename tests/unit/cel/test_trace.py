"""Traces and summaries: which clause said what, which one decided, what exists."""

from apportion.api.resource import Device, DeviceAttribute
from apportion.cel import Clause, DeviceFacts, Lookup, Trace, compile_selector, device_facts, summarize

EXPRESSION = """device.driver == "d" &&
  (device.attributes["d"].model == "A100" || device.attributes["o"].size > 3)"""


def make_facts(driver: str = "d", **texts: str) -> DeviceFacts:
    attributes = {name: DeviceAttribute(string_value=text) for name, text in texts.items()}
    return device_facts(driver, Device(attributes=attributes))


def trace(expression: str, facts: DeviceFacts) -> Trace:
    return compile_selector(expression).trace(facts)


def texts(clauses: tuple[Clause, ...]) -> list[str]:
    return [clause.text for clause in clauses]


def test_clauses_carry_their_source_and_value() -> None:
    root = trace(EXPRESSION, make_facts(model="A100")).root
    assert root.text == EXPRESSION[: EXPRESSION.rindex(")") + 1]
    assert (root.kind, root.value) == ("and", True)
    driver, inner = root.children
    assert (driver.text, driver.value) == ('device.driver == "d"', True)
    assert inner.text == 'device.attributes["d"].model == "A100" || device.attributes["o"].size > 3'
    model, size = inner.children
    assert (model.value, size.evaluated) == (True, False)


def test_the_clause_that_stopped_the_evaluation_decides() -> None:
    assert texts(trace(EXPRESSION, make_facts("e")).deciding) == ['device.driver == "d"']
    matched = trace(EXPRESSION, make_facts(model="A100"))
    assert texts(matched.deciding) == ['device.driver == "d"', 'device.attributes["d"].model == "A100"']
    failed = trace(EXPRESSION, make_facts())
    assert failed.verdict.match is None
    assert [(c.text, str(c.error)[:21]) for c in failed.deciding] == [
        ('device.attributes["d"].model == "A100"', "no such key: model. c")
    ]
    wrong = trace("1 == 1 && (1 == 2 || 2 == 3)", make_facts())
    assert texts(wrong.deciding) == ["1 == 2", "2 == 3"]


def test_choice_not_and_bind_are_taken_apart() -> None:
    chosen = trace("1 == 1 ? 1 == 2 : 1 == 3", make_facts())
    assert texts(chosen.deciding) == ["1 == 1", "1 == 2"]
    assert texts(trace("!(1 == 2)", make_facts()).deciding) == ["1 == 2"]
    bound = trace('cel.bind(a, device.attributes["d"], a.x == "1" && a.y == "2")', make_facts(x="1", y="1"))
    assert texts(bound.deciding) == ['a.y == "2"']
    assert bound.root.kind == "bind"


def test_trace_and_evaluation_agree() -> None:
    selector = compile_selector(EXPRESSION)
    for facts in (make_facts(), make_facts("e"), make_facts(model="A100"), make_facts(model="x")):
        assert selector.trace(facts).verdict == selector.evaluate(facts)


def test_lookups_are_found_in_every_spelling() -> None:
    expression = """cel.bind(a, device.attributes["d"], a.m == "1" && "n" in a) && has(device.attributes.d.k)
        && device.capacity["o"].mem == quantity("1") && device.attributes["d"].m == "1" """
    found = trace(expression, make_facts(n="x")).lookups
    assert found == (
        (Lookup("attribute", "d", "m"), False),
        (Lookup("attribute", "d", "n"), True),
        (Lookup("attribute", "d", "k"), False),
        (Lookup("capacity", "o", "mem"), False),
    )


def test_broken_device_has_an_error_and_no_clauses() -> None:
    found = trace("true", device_facts("d", Device(attributes={"x": DeviceAttribute()})))
    assert found.verdict.match is None
    assert not found.root.evaluated


def test_summary_counts_devices_names_and_clauses() -> None:
    facts = [make_facts(model="A100"), make_facts(model="L4"), make_facts(other="1")]
    summary = summarize(compile_selector('device.attributes["d"].model == "A100" && 1 == 1'), facts)
    assert (summary.total, summary.matched, summary.failed) == (3, 1, 1)
    assert summary.list_lines() == [
        "1 of 3 devices match, 1 with an error",
        "attribute model exists on 2 of 3 devices",
        'device.attributes["d"].model == "A100" is false on 1 of 3 devices',
        'device.attributes["d"].model == "A100" fails on 1 of 3 devices',
    ]
    mixed = summarize(compile_selector('has(device.attributes["d"].model)'), [make_facts(), make_facts("e")])
    assert "attribute d/model exists on 0 of 2 devices" in mixed.list_lines()
