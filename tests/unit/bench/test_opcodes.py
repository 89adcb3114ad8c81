"""Operations: parameters, unknown fields, durations; and the files they come from."""

from pathlib import Path
from typing import Any

import pytest

from apportion.base import InputError
from apportion.bench.measurement import BenchError
from apportion.bench.opcodes import fill_in, find_problems, parse_duration_s, resolve
from apportion.bench.perf_files import OWN_FILES, read_workloads, select_workloads
from apportion.bench.runner import find_obstacle, read_gates


@pytest.mark.parametrize(
    ("value", "meaning"),
    [("$count", 5), ("$missing|2", 2), ("$missing|", None), ("plain", "plain"), (7, 7), ("$count|9", 5)],
)
def test_parameters(value: Any, meaning: Any) -> None:
    assert resolve(value, {"count": 5}) == meaning


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(InputError, match="parameter 'nodes' is missing"):
        fill_in({"opcode": "createNodes", "countParam": "$nodes"}, 0, {})


def test_fields_are_filled_in() -> None:
    fields = {
        "opcode": "createPods", "countParam": "$groups", "countMultiplierParam": "$size",
        "durationParam": "$time", "templateParams": {"a": "$size", "b": "$none|x"},
    }  # fmt: skip
    operation = fill_in(fields, 3, {"groups": 4, "size": 3, "time": "1m30s"})
    assert (operation.count, operation.duration_s, operation.namespace) == (12, 90.0, "namespace-3")
    assert operation.get("templateParams") == {"a": 3, "b": "x"}


def test_unknown_opcodes_and_fields_are_named() -> None:
    assert find_problems({"opcode": "fly"}) == ["opcode 'fly' is not known"]
    assert find_problems({"opcode": "sleep", "speed": 1}) == ["field 'speed' of opcode sleep is not known"]
    inner = {"opcode": "createPodSets", "count": 1, "createPodsOp": {"opcode": "createPods", "wings": 2}}
    assert find_problems(inner) == ["field 'wings' of opcode createPods is not known"]


@pytest.mark.parametrize(("text", "seconds"), [("10s", 10), ("500ms", 0.5), ("1m30s", 90), ("0", 0), (3, 3)])
def test_durations(text: Any, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


def test_what_is_no_duration() -> None:
    with pytest.raises(InputError, match="is not a duration"):
        parse_duration_s("10 s")


_FILE = """
- name: Case
  featureGates: {DRAAdminAccess: true}
  labels: [short]
  colour: blue
  workloadTemplate: [{opcode: createNodes, countParam: $n}]
  workloads:
  - {name: small, labels: [integration-test], params: {n: 1}}
  - {name: large, labels: [performance], threshold: {dra: 56}, params: {n: 9}, featureGates: {DRADeviceTaints: false}}
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "performance-config.yaml").write_text(_FILE)
    small, large = read_workloads([str(tmp_path)])
    assert (small.name, small.labels, small.threshold, small.rate) == (
        "Case/small", {"short", "integration-test"}, None, 56.0,
    )  # fmt: skip
    assert (large.threshold, large.gates) == (56.0, {"DRAAdminAccess": True, "DRADeviceTaints": False})
    assert large.problems == ("field 'colour' of the test case is not known",)
    with pytest.raises(BenchError, match="'colour'"):
        find_obstacle(large)
    assert select_workloads([small, large], "^Case/l", ["performance"]) == [large]
    assert select_workloads([small, large], "", ["performance", "integration-test"]) == []


def test_a_locked_gate_is_left_alone_and_an_unknown_one_refused() -> None:
    _, notes = read_gates({"NodeDeclaredFeatures": False, "DRADeviceTaints": True})
    assert notes == ["gate NodeDeclaredFeatures is always on"]
    with pytest.raises(BenchError, match="NoSuchGate"):
        read_gates({"NoSuchGate": True})


def test_own_workloads_are_sound() -> None:
    workloads = read_workloads([str(OWN_FILES)])
    for workload in workloads:
        find_obstacle(workload)
        for index, fields in enumerate(workload.operations):
            fill_in(fields, index, workload.params)
    for label in ("integration-test", "short", "performance"):
        assert len(select_workloads(workloads, "", [label])) >= 16
