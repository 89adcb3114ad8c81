"""Random plain expressions against the evaluator of the CEL project (cel-expr-python)."""

import re
from random import Random

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from apportion.api.resource import Device
from apportion.cel import compile_selector, device_facts

FACTS = device_facts("d", Device(name="x"))
LEAVES = {
    "int": ("0", "1", "2", "7", "-1", "9223372036854775807"),
    "uint": ("0u", "1u", "5u"),
    "double": ("0.5", "1.5", "-2.0", "1e30"),
    "bool": ("true", "false"),
    "string": ('"a"', '"ab"', '"abc"', '"ñb"'),
    "list": ("[1, 2]", "[0]", "[3, 1, 2]"),
    "map": ('{"a": 1, "b": 2}',),
    "dyn": ("dyn(1)", 'dyn("a")', "dyn(1.0)", "dyn(true)", "dyn(1u)"),
}
# Upper case stands for a sub-expression of that type.
SHAPES = {
    "int": (
        *(f"(INT {op} INT)" for op in "+-*/%"),
        *("size(STRING)", "LIST[INT]", "(BOOL ? INT : INT)", "MAP.a", "MAP.c", "LIST.size()", "(-(INT))"),
        *("STRING.indexOf(STRING)", "MAP.?c.orValue(INT)", "cel.bind(v, INT, v + v)"),
    ),
    "uint": tuple(f"(UINT {op} UINT)" for op in "+-*/%"),
    "double": (*(f"(DOUBLE {op} DOUBLE)" for op in "+-*"), "double(INT)"),
    "bool": (
        *("(BOOL && BOOL)", "(BOOL || BOOL)", "(!BOOL)", "(DYN && BOOL)", "(BOOL || DYN)", "(DYN ? BOOL : BOOL)"),
        *(f"({kind} {op} {kind})" for kind in ("INT", "UINT", "DOUBLE", "STRING") for op in ("<", "<=", "==", "!=")),
        *("(DYN == DYN)", "(DYN != DYN)", "(DYN < DYN)", "(LIST == LIST)", "(INT in LIST)", '("c" in MAP)'),
        *("LIST.all(x, INT > x)", "LIST.exists(x, INT / x == 1)", "LIST.exists_one(x, x == INT)", "has(MAP.c)"),
        *("STRING.contains(STRING)", "STRING.startsWith(STRING)", "STRING.endsWith(STRING)", "(type(DYN) == int)"),
    ),
    "string": (
        *("(STRING + STRING)", "STRING.substring(INT)", "string(INT)", "STRING.replace(STRING, STRING)"),
        *("STRING.upperAscii()", "STRING.charAt(INT)", "STRING.trim()", "string(BOOL)"),
    ),
    "list": ("(LIST + LIST)", "LIST.map(x, x + INT)", "LIST.filter(x, x < INT)", "[INT, INT]"),
    "map": ('{"a": INT, "c": INT}',),
    "dyn": ("dyn(INT)", "dyn(STRING)", "dyn(LIST)", "dyn(BOOL)"),
}
HOLE = re.compile(r"\b[A-Z]{2,}\b")


def grow(rng: Random, kind: str, depth: int) -> str:
    if depth == 0:
        return rng.choice(LEAVES[kind])
    return HOLE.sub(lambda hole: grow(rng, hole.group().lower(), depth - 1), rng.choice(SHAPES[kind]))


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_the_reference_evaluator(seed: int) -> None:
    rng = Random(seed)
    extensions = [ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_bindings.ExtBindings()]
    reference = cel.NewEnv(variables={}, extensions=extensions)
    answers = set()
    for _ in range(150):
        expression = grow(rng, "bool", rng.choice((1, 2, 3)))
        value = reference.compile(expression).eval(data={}).value()
        expected = value if isinstance(value, bool) else None
        assert (expression, compile_selector(expression).evaluate(FACTS).match) == (expression, expected)
        answers.add(expected)
    assert answers == {True, False, None}
