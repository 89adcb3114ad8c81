"""What does not compile, with the reason and the place."""

import pytest

from apportion.cel import CelFeatures, CompileError, compile_selector, find_expression_problem

OPERANDS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
# what may stand instead of the end, as the original's grammar has it
BEGUN = {
    "": "{'[', '{', '(', '.', '-', '!', ",
    "1 +": "{'[', '{', '(', '.', '-', '!', ",
    "(": "{'[', '{', '(', '.', '-', '!', ",
    "f(": "{'[', '{', '(', ')', '.', '-', '!', ",
    "f(1,": "{'[', '{', '(', '.', '-', '!', ",
    "[": "{'[', ']', '{', '(', '.', ',', '-', '!', '?', ",
    "{": "{'[', '{', '}', '(', '.', ',', '-', '!', '?', ",
}


@pytest.mark.parametrize("source", BEGUN)
def test_what_may_follow_is_listed(source: str) -> None:
    problem = find_expression_problem(source) or ""
    assert problem.split("\n")[0].endswith(f"mismatched input '<EOF>' expecting {BEGUN[source]}{OPERANDS}")


def test_an_empty_expression_has_no_place_to_show() -> None:
    problem = find_expression_problem("") or ""
    assert problem.startswith("compilation failed: ERROR: <input>:1:0: Syntax error") and "\n" not in problem


BROKEN = {
    "": (1, 1, "Syntax error: mismatched input '<EOF>'"),
    "1 +": (1, 4, "Syntax error: mismatched input '<EOF>'"),
    "(true": (1, 6, "Syntax error: mismatched input '<EOF>' expecting ')'"),
    "true)": (1, 5, "Syntax error: extraneous input ')' expecting <EOF>"),
    "[1, 2": (1, 6, "Syntax error"),
    "a.f(1,) == 1": (1, 7, "mismatched input ')' expecting {'[', '{', '(', '.', '-', '!', 'true'"),
    "true = false": (1, 6, "token recognition error"),
    "'a": (1, 1, "no closing quote"),
    r"'\q' == ''": (1, 2, "unknown escape"),
    "99999999999999999999 > 0": (1, 1, "invalid int literal"),
    "9223372036854775808 > 0": (1, 1, "invalid int literal"),
    "99999999999999999999u > 0u": (1, 1, "invalid uint literal"),
    "9" * 5000 + " > 0": (1, 1, "invalid int literal"),
    "1e400 > 0.0": (1, 1, "invalid double literal"),
    "for == 1": (1, 1, "reserved identifier: for"),
    "true &&\n  nosuch": (2, 3, "undeclared reference to 'nosuch'"),
    "device.nosuch == 1": (1, 7, "undefined field 'nosuch'"),
    "device.driver.x == 1": (1, 14, "type 'string' does not support field selection"),
    "device.driver.nosuch()": (1, 21, "undeclared reference to 'nosuch'"),
    "nosuch(1)": (1, 7, "undeclared reference to 'nosuch'"),
    "1 + 'a' == 2": (1, 3, "found no matching overload for '_+_' applied to '(int, string)'"),
    "'a'.contains(1)": (1, 13, "found no matching overload for 'contains' applied to 'string.(int)'"),
    "device.driver == 1": (1, 15, "found no matching overload for '_==_' applied to '(string, int)'"),
    "[1]['a'] == 1": (1, 4, "found no matching overload for '_[_]' applied to '(list(int), string)'"),
    "[1, 'a'].size() == 2": (1, 5, "expected type 'int' but found 'string'"),
    "{'a': 1, 'b': true}.size() == 2": (1, 15, "expected type 'int' but found 'bool'"),
    "1 && true": (1, 1, "expected type 'bool' but found 'int'"),
    "true ? 1 : 'a'": (1, 6, "found no matching overload for '_?_:_'"),
    "'yes'": (1, 1, "must evaluate to bool or the unknown type, not string"),
    "device": (1, 1, "must evaluate to bool or the unknown type, not kubernetes.DRADevice"),
    "1.exists(x, true)": (1, 1, "cannot be range of a comprehension"),
    "[1].all(1, true)": (1, 9, "argument 1 of all() must be a simple name"),
    "[1].all(x, x, true)": (1, 12, "the two variables of all() must differ"),
    "[1].exists(x, x == 1) && x == 1": (1, 26, "undeclared reference to 'x'"),
    "has(device)": (1, 5, "invalid argument to has() macro"),
    "device.driver.matches('(')": (1, 23, "invalid matches argument"),
    "duration('x') > duration('1s')": (1, 10, "invalid duration argument"),
    "timestamp('x') > timestamp(0)": (1, 11, "invalid timestamp argument"),
    "int('x') == 1": (1, 5, "program instantiation failed"),
    "[?1] == [1]": (1, 3, "expected type 'optional_type' but found 'int'"),
    "int == null": (1, 5, "found no matching overload"),
    "math.greatest(1, 2) == 2": (1, 1, "undeclared reference to 'math'"),
    "sign(1) == 1": (1, 5, "found no matching overload for 'sign' applied to '(int)'"),
}


@pytest.mark.parametrize("expression", BROKEN)
def test_compile_error_has_reason_and_place(expression: str) -> None:
    line, column, text = BROKEN[expression]
    with pytest.raises(CompileError) as caught:
        compile_selector(expression)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert text in caught.value.text
    assert f"<input>:{line}:{column}: " in str(caught.value) or not expression


def test_features_decide_what_exists() -> None:
    lists, plain = CelFeatures(list_type_attributes=True), CelFeatures()
    for expression in (
        'device.attributes["d"].x.exists(v, v == 1)',
        'device.attributes["d"].x.includes(1)',
    ):
        assert compile_selector(expression, lists).expression == expression
        with pytest.raises(CompileError):
            compile_selector(expression, plain)
    shared = "device.allowMultipleAllocations"
    assert compile_selector(shared).expression == shared
    with pytest.raises(CompileError, match="undefined field"):
        compile_selector(shared, CelFeatures(consumable_capacity=False))


def test_limits_on_what_a_user_can_grow() -> None:
    fits = "true || " * 1279 + "true    "
    assert len(fits) == 10 * 1024
    assert compile_selector(fits).max_cost == 0
    with pytest.raises(CompileError, match="10240 are allowed"):
        compile_selector(fits + " ")
    for deep in ("(" * 70 + "true" + ")" * 70, "[" * 65, "true ? true : " * 70 + "true"):
        with pytest.raises(CompileError, match="nests deeper"):
            compile_selector(deep)
    assert compile_selector("(" * 60 + "true" + ")" * 60).max_cost == 0
    assert compile_selector(" + ".join(["1"] * 140) + " == 140").max_cost == 140
    with pytest.raises(CompileError, match="deeper than"):
        compile_selector(" + ".join(["1"] * 200) + " == 200")


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(CompileError, match="not valid Unicode"):
        compile_selector("'\ud800' == ''")


def test_expression_problem_covers_compilation_and_cost() -> None:
    assert find_expression_problem("true") is None
    assert "undeclared reference" in str(find_expression_problem("x"))
    all_pairs = "M.all(a, M.all(b, M.all(c, M.all(d, a != b))))".replace("M", "device.attributes")
    assert "exceeds cost limit" in str(find_expression_problem(all_pairs))


def test_compiled_expressions_are_shared_and_failures_are_not_kept() -> None:
    assert compile_selector("1 == 1") is compile_selector("1 == 1")
    assert compile_selector("1 == 1") is not compile_selector("1 == 1", CelFeatures(list_type_attributes=True))


def test_the_oldest_compiled_expression_goes_first() -> None:
    first, second = compile_selector("0 == 0"), compile_selector("1 == 1")
    for number in range(2, 1024):
        compile_selector(f"{number} == {number}")
    assert compile_selector("0 == 0") is first  # used again, so that the second is the oldest now
    compile_selector("1024 == 1024")
    assert compile_selector("0 == 0") is first and compile_selector("1 == 1") is not second


def test_an_expression_that_fails_is_compiled_anew() -> None:
    for _ in range(2):
        with pytest.raises(CompileError):
            compile_selector("this is wrong")
