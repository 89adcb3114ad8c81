"""Descriptions of devices become the slices that drivers would publish."""

from pathlib import Path
from typing import Any

import pytest

from apportion.base import InputError
from apportion.sim.devices import Devices, expand, read_devices


def read(folder: Path, text: str) -> Devices:
    path = folder / "devices.yaml"
    path.write_text(text)
    return read_devices(str(path))


def devices_of(found: Devices, node: str = "node-0") -> list[dict[str, Any]]:
    return [d for s in found.slices(node) for d in s["spec"].get("devices", ())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu", ["gpu"]),
        ("gpu-[0-2]", ["gpu-0", "gpu-1", "gpu-2"]),
        ("gpu-[08-10]-x", ["gpu-08-x", "gpu-09-x", "gpu-10-x"]),
        ("a[0-1]b[5-6]", ["a0b5", "a0b6", "a1b5", "a1b6"]),
    ],
)
def test_ranges(text: str, expected: list[str]) -> None:
    assert expand(text, "f") == [(name, i) for i, name in enumerate(expected)]


@pytest.mark.parametrize("text", ["[3-1]", "[0-99999]", "[0-999][0-999]"])
def test_ranges_that_go_nowhere_or_too_far_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="a range goes upwards and has at most 10000 values"):
        expand(text, "f")


def test_the_number_of_the_device_fills_its_values(tmp_path: Path) -> None:
    text = """
drivers:
- driver: d.example.com
  devices:
  - name: gpu-[0-3]
    attributes:
      index: "{i}"
      numa: "{i/2}"
      side: "{i%2}"
      root: "pci0000:{i/2}0"
      model: H100
      ready: true
      version: {version: "1.0.{i}"}
    capacity: {memory: 80Gi, shares: {value: 4}}
    taints: [{key: k, effect: NoSchedule}]
"""
    last = devices_of(read(tmp_path, text))[-1]
    assert last["name"] == "gpu-3"
    assert last["attributes"] == {
        "index": {"int": 3},
        "numa": {"int": 1},
        "side": {"int": 1},
        "root": {"string": "pci0000:10"},
        "model": {"string": "H100"},
        "ready": {"bool": True},
        "version": {"version": "1.0.3"},
    }
    assert last["capacity"] == {"memory": {"value": "80Gi"}, "shares": {"value": 4}}
    assert last["taints"] == [{"key": "k", "effect": "NoSchedule"}]


def test_many_devices_are_split_into_slices_of_one_pool(tmp_path: Path) -> None:
    slices = list(read(tmp_path, "drivers: [{driver: d, devices: [{name: 'x-[0-299]'}]}]").slices("n", "uid-n"))
    assert [len(s["spec"]["devices"]) for s in slices] == [128, 128, 44]
    assert {s["spec"]["pool"]["resourceSliceCount"] for s in slices} == {3}
    assert len({s["metadata"]["name"] for s in slices}) == 3
    assert slices[0]["metadata"]["ownerReferences"][0]["uid"] == "uid-n"


def test_nodes_and_classes(tmp_path: Path) -> None:
    found = read(tmp_path, "drivers: [{driver: d, nodes: 'gpu-[0-1]', deviceClass: c, devices: [{name: x}]}]")
    assert found.list_nodes() == ["gpu-0", "gpu-1"]
    assert len(devices_of(found, "gpu-1")) == 1 and not devices_of(found, "node-0")
    (made,) = found.classes()
    assert made["spec"]["selectors"][0]["cel"]["expression"] == 'device.driver == "d"'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("drivers: [{devices: []}]", "drivers[0]: Object missing required field `driver`"),
        ("drivers: [{driver: d, devices: [{}]}]", "drivers[0].devices[0].name: write a name such as gpu-[0-7]"),
        ("drivers: [{driver: d, devices: [], color: red}]", "Object contains unknown field `color`"),
        ("drivers: {", "not valid YAML"),
        ("[]", "Expected `object`, got `array`"),
        ("", "expected one document with the key drivers"),
    ],
)
def test_what_is_wrong_is_said(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert complaint in str(caught.value)
