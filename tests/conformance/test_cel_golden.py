"""Device selectors against the recorded answers of Kubernetes 1.37.2 (tests/golden/cel.jsonl.gz)."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from apportion.api.resource import Device
from apportion.cel import CelFeatures, CompileError, Verdict, compile_selector, device_facts

GOLDEN = Path(__file__).parents[1] / "golden" / "cel.jsonl.gz"
# Iterates over a map and stops early: upstream's order, and so its cost, is random.
RANDOM_COST = 'device.attributes["gpu.example.com"].exists(k, k == "model")'


def read_cases() -> list[dict[str, Any]]:
    with gzip.open(GOLDEN) as file:
        return [json.loads(line) for line in file]


CASES = read_cases()
COMPILED = [case for case in CASES if "compileError" not in case["expect"]]


def evaluate(case: dict[str, Any]) -> Verdict:
    features = CelFeatures(list_type_attributes=case["listTypeAttributes"])
    tree = {"name": case["deviceName"], **case["device"]}
    if case["allowMultipleAllocations"] is not None:
        tree["allowMultipleAllocations"] = case["allowMultipleAllocations"]
    facts = device_facts(case["driver"], msgspec.convert(tree, Device))
    return compile_selector(case["expr"], features).evaluate(facts)


def case_id(case: dict[str, Any]) -> str:
    return f"{case['id']}-{case['deviceName']}"


def test_the_recording_is_complete() -> None:
    assert (len(CASES), len(COMPILED)) == (556, 496)


@pytest.mark.parametrize("case", COMPILED, ids=case_id)
def test_match_error_and_costs(case: dict[str, Any]) -> None:
    expected, verdict = case["expect"], evaluate(case)
    assert verdict.match == expected.get("match")
    assert (verdict.error is not None) == ("error" in expected)
    assert str(verdict.error).startswith(expected.get("error", "None"))
    if case["expr"] != RANDOM_COST:
        assert verdict.cost == expected.get("cost", 0)
    selector = compile_selector(case["expr"], CelFeatures(list_type_attributes=True))
    assert selector.max_cost == expected.get("maxCost", 0)
    assert selector.max_cost >= verdict.cost


@pytest.mark.parametrize("expression", sorted({c["expr"] for c in CASES if "compileError" in c["expect"]}))
def test_compile_errors(expression: str) -> None:
    recorded = next(c["expect"]["compileError"] for c in CASES if c["expr"] == expression)
    with pytest.raises(CompileError) as caught:
        compile_selector(expression, CelFeatures(list_type_attributes=True))
    place = f"<input>:{caught.value.line}:{caught.value.column}:"
    # Of several errors we report the first.
    assert place in recorded or "must evaluate to bool" in recorded
