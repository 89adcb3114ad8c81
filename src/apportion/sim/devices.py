"""Devices of stand-in nodes: a short description becomes the ResourceSlices that drivers would publish.

The format stands in docs/devices.md. Ranges (``gpu-[0-7]``) stand for several devices; ``{i}``, ``{i/4}`` and
``{i%2}`` in a text stand for the number of the device, its quotient and its remainder.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from apportion.base import InputError
from apportion.sim.documents import read_documents

Tree = dict[str, Any]
FILE_BYTES_MAX: Final = 16 << 20
RANGE_MAX: Final = 10_000
DEVICES_PER_SLICE: Final = 128
# with taints or counters a slice may hold fewer devices
_DEVICES_PER_HEAVY_SLICE: Final = 64
_RANGE: Final = re.compile(r"\[(\d+)-(\d+)\]")
_NUMBER: Final = re.compile(r"\{i(?:([/%])(\d+))?\}")


class _Driver(Struct, rename="camel", forbid_unknown_fields=True):
    driver: str
    devices: list[Tree]
    nodes: str = ""
    device_class: str = ""
    shared_counters: list[Tree] = []


class _File(Struct, rename="camel", forbid_unknown_fields=True):
    drivers: list[_Driver]


class Devices:
    """What a devices file describes."""

    def __init__(self, drivers: list[_Driver], source: str) -> None:
        self._drivers = drivers
        self._source = source

    def classes(self) -> Iterator[Tree]:
        """Yield the device classes that the file asks for; each selects the devices of its driver."""
        for driver in self._drivers:
            if driver.device_class:
                selector = {"cel": {"expression": f'device.driver == "{driver.driver}"'}}
                meta = {"name": driver.device_class}
                yield {**_head("DeviceClass", meta), "spec": {"selectors": [selector]}}

    def list_nodes(self) -> list[str]:
        """Return the nodes that the file names."""
        return [name for d in self._drivers if d.nodes for name, _ in expand(d.nodes, self._source)]

    def slices(self, node: str, uid: str = "", is_stand_in: bool = True) -> Iterator[Tree]:
        """Yield the slices of a node; ``uid`` makes the node their owner.

        A driver that names no nodes has devices on every stand-in node.
        """
        for driver in self._drivers:
            if driver.nodes:
                has_devices = node in (name for name, _ in expand(driver.nodes, self._source))
            else:
                has_devices = is_stand_in
            if has_devices:
                yield from self._publish(driver, node, uid)

    def _publish(self, driver: _Driver, node: str, uid: str) -> Iterator[Tree]:
        devices = [d for entry in driver.devices for d in _make_devices(entry, self._source)]
        is_heavy = any("taints" in d or "consumesCounters" in d for d in devices)
        size = _DEVICES_PER_HEAVY_SLICE if is_heavy else DEVICES_PER_SLICE
        chunks: list[Tree] = [{"devices": devices[i : i + size]} for i in range(0, len(devices), size)]
        if driver.shared_counters:  # counters stand in a slice of their own
            chunks.append({"sharedCounters": driver.shared_counters})
        pool = {"name": node, "generation": 1, "resourceSliceCount": len(chunks)}
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
        for number, chunk in enumerate(chunks):
            meta: Tree = {"name": f"{node}-{driver.driver}-{number}"}
            if uid:
                meta["ownerReferences"] = [owner]
            spec = {"driver": driver.driver, "nodeName": node, "pool": pool, **chunk}
            yield {**_head("ResourceSlice", meta), "spec": spec}


def _head(kind: str, metadata: Tree) -> Tree:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata}


def read_devices(path: str) -> Devices:
    """Return what a devices file describes. Raises InputError naming the file, the field and what to do."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"--devices {path}: {error.strerror}") from None
    if len(raw) > FILE_BYTES_MAX:
        raise InputError(f"--devices {path}: larger than {FILE_BYTES_MAX >> 20} MiB")
    documents = list(read_documents(raw))
    if len(documents) != 1 or documents[0].reason:
        reason = next((d.reason for d in documents if d.reason), "expected one document with the key drivers")
        raise InputError(f"--devices {path}: {reason}")
    try:
        drivers = msgspec.convert(documents[0].content, _File).drivers
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        where = place.strip("`.")
        raise InputError(f"--devices {path}: {f'{where}: ' if where else ''}{message}") from None
    for i, driver in enumerate(drivers):
        for j, entry in enumerate(driver.devices):
            if not isinstance(entry.get("name"), str):
                raise InputError(f"--devices {path}: drivers[{i}].devices[{j}].name: write a name such as gpu-[0-7]")
    return Devices(drivers, path)


def expand(text: str, source: str) -> list[tuple[str, int]]:
    """Return the texts that a range stands for with their numbers, counted from 0; several ranges multiply."""
    found = [""]
    position = 0
    for match in _RANGE.finditer(text):
        first, last = int(match[1]), int(match[2])
        if first > last or (last - first + 1) * len(found) > RANGE_MAX:
            raise InputError(f"--devices {source}: {text}: a range goes upwards and has at most {RANGE_MAX} values")
        width = len(match[1]) if match[1].startswith("0") else 0
        numbers = [str(n).zfill(width) for n in range(first, last + 1)]
        found = [f"{start}{text[position : match.start()]}{n}" for start in found for n in numbers]
        position = match.end()
    return [(start + text[position:], i) for i, start in enumerate(found)]


def _make_devices(entry: Tree, source: str) -> Iterator[Tree]:
    for name, number in expand(entry["name"], source):
        device = {k: _fill(v, number) for k, v in entry.items()}
        device["name"] = name
        if isinstance(entry.get("attributes"), dict):
            device["attributes"] = {k: _type_attribute(_fill(v, number)) for k, v in entry["attributes"].items()}
        if isinstance(entry.get("capacity"), dict):
            device["capacity"] = {k: _type_capacity(_fill(v, number)) for k, v in entry["capacity"].items()}
        yield device


def _fill(value: Any, number: int) -> Any:
    """Put the number of the device in the place of ``{i}``; a text that is nothing else becomes a number."""
    if isinstance(value, dict):
        return {k: _fill(v, number) for k, v in value.items()}
    if isinstance(value, list):
        return [_fill(v, number) for v in value]
    if not isinstance(value, str):
        return value
    alone = _NUMBER.fullmatch(value)
    return _work_out(alone, number) if alone else _NUMBER.sub(lambda m: str(_work_out(m, number)), value)


def _work_out(match: re.Match[str], number: int) -> int:
    if not match[1]:
        return number
    divisor = int(match[2]) or 1
    return number // divisor if match[1] == "/" else number % divisor


def _type_attribute(value: Any) -> Any:
    """Return the API's form of an attribute; a mapping is in that form already."""
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    return value if isinstance(value, dict) else {"string": str(value)}


def _type_capacity(value: Any) -> Any:
    return value if isinstance(value, dict) else {"value": str(value)}
