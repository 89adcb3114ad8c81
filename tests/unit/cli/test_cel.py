"""The command ``apportion cel``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from apportion.cli.cel import cel

SLICE = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: n
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - name: a
    attributes: {model: {string: A100}}
  - name: b
    attributes: {model: {string: L4}}
  - name: c
"""
MODEL = 'device.attributes["gpu.example.com"].model == "A100"'


@pytest.fixture
def slice_path(tmp_path: Path) -> str:
    path = tmp_path / "slice.yaml"
    path.write_text(SLICE)
    return str(path)


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cel, list(args), input=stdin)


def test_json_lists_every_device(slice_path: str) -> None:
    result = run(MODEL, "-f", slice_path, "--output", "json")
    assert result.exit_code == 0
    devices = json.loads(result.stdout)["devices"]
    assert [(d["driver"], d["pool"], d["device"], d["match"], d["cost"]) for d in devices] == [
        ("gpu.example.com", "p", "a", True, 5),
        ("gpu.example.com", "p", "b", False, 5),
        ("gpu.example.com", "p", "c", None, 5),
    ]
    assert [bool(d["error"]) for d in devices] == [False, False, True]


def test_table_says_what_decided_and_what_exists() -> None:
    result = run(f'device.driver != "x" && {MODEL}', "-f", "-", stdin=SLICE)
    assert result.exit_code == 0
    assert f'device.driver != "x" and {MODEL}' in result.stdout
    assert f"{MODEL}: no such key: model" in result.stdout
    assert "attribute model exists on 2 of 3 devices" in result.stdout


def test_compile_error_is_json_and_exit_1() -> None:
    result = run("device.nosuch == 1", "--output", "json")
    assert result.exit_code == 1
    assert "1:7: undefined field 'nosuch'" in json.loads(result.stdout)["compileError"]
    assert "compilation failed" in run("1 +").stderr


def test_input_errors_are_json_and_exit_1(slice_path: str, tmp_path: Path) -> None:
    result = run("true", "-f", str(tmp_path / "none"), "--output", "json")
    assert (result.exit_code, list(json.loads(result.stdout))) == (1, ["error"])
    assert "unknown feature gate 'Foo'" in run("true", "--feature-gates", "Foo=true").stderr
    (tmp_path / "bad.yaml").write_text(SLICE.replace("name: s", "name: bad").replace("nodeName: n", "nodeNam: n"))
    result = run("true", "-f", str(tmp_path), "--output", "json")
    assert (result.exit_code, len(json.loads(result.stdout)["devices"])) == (1, 3)
    assert "ResourceSlice bad" in result.stderr


def test_list_attributes_are_on_unless_turned_off() -> None:
    expression = 'device.attributes["d"].x.exists(v, v == 1)'
    assert run(expression).exit_code == 0
    assert run(expression, "--feature-gates", "DRAListTypeAttributes=true").exit_code == 0
    assert run(expression, "--feature-gates", "DRAListTypeAttributes=false").exit_code == 1
    assert run("device.allowMultipleAllocations", "--feature-gates", "DRAConsumableCapacity=false").exit_code == 1


def test_an_expression_that_the_api_server_refuses_is_reported() -> None:
    nested = "M.all(a, M.all(b, M.all(c, M.all(d, a != b))))".replace("M", "device.attributes")
    assert "the API server refuses this expression" in run(nested).stdout


@pytest.mark.parametrize("expression", ["-1 < 0", "--1 > 0", "-device.driver.size() < 0", "!(1 > 2)"])
def test_expression_may_start_with_an_operator(expression: str, slice_path: str) -> None:
    for args in ([expression, "-f", slice_path, "-o", "json"], ["-f", slice_path, "-o", "json", "--", expression]):
        result = run(*args)
        assert [d["match"] for d in json.loads(result.stdout)["devices"]] == [True] * 3
