"""From a file to a scenario. Every complaint names the line."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from apportion.sim.documents import read_documents
from apportion.sim.play.scenario import (
    STEPS_MAX,
    Action,
    Apply,
    Delete,
    Expect,
    Fault,
    Mark,
    Patch,
    Print,
    RawRequest,
    Restart,
    Run,
    Scenario,
    ScenarioError,
    Step,
    Tree,
    read_item,
)

FILE_BYTES_MAX: Final = 64 << 20
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def parse_duration(text: Any) -> float:
    """Return seconds for a duration like ``1m30s``; raises msgspec.ValidationError."""
    if not isinstance(text, str) or not _DURATION.fullmatch(text):
        raise msgspec.ValidationError(f"{text!r} is not a duration; write 500ms, 30s, 1m30s or 2h")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def read_scenario(path: str) -> Scenario:
    """Return the scenario in a file, with the files that it names read. Raises ScenarioError."""
    raw = _read(path, path)
    documents = list(read_documents(raw))
    if len(documents) != 1:
        raise ScenarioError(f"{path}: a scenario is one document, here are {len(documents)}")
    if documents[0].reason:
        raise ScenarioError(f"{path}: {documents[0].reason}")
    return _Reader(path, raw).read(documents[0].content)


def _read(path: str, scenario: str) -> bytes:
    try:
        with open(path, "rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ScenarioError(f"{scenario}: cannot read {path}: {error.strerror}") from None
    if len(raw) > FILE_BYTES_MAX:
        raise ScenarioError(f"{scenario}: {path} is larger than {FILE_BYTES_MAX >> 20} MiB")
    return raw


class _Reader:
    """Reads one file; keeps the positions, so that what is wrong can be found."""

    def __init__(self, path: str, raw: bytes) -> None:
        self._path = path
        self._root = yaml.compose(raw.decode("utf-8-sig"), yaml.CSafeLoader)

    def read(self, content: Any) -> Scenario:
        self._check_top(content)
        gates = content.get("featureGates") or {}
        for name, value in gates.items():
            if not isinstance(value, bool):
                raise self._error(("featureGates", name), f"feature gate {name} must be true or false")
        steps = [self._read_step(i, tree) for i, tree in enumerate(content["steps"])]
        return Scenario(steps, gates, content.get("config"), content.get("kubelets", "stand-in") != "none")

    def _check_top(self, content: Any) -> None:
        known = {"featureGates": dict, "config": dict, "kubelets": str, "steps": list}
        if not isinstance(content, dict):
            raise self._error((), "a scenario is a mapping with the key steps")
        for name, value in content.items():
            if name not in known:
                raise self._error((name,), f"unknown key {name!r}; known are {', '.join(known)}")
            if not isinstance(value, known[name]) and (value is not None or name == "steps"):
                raise self._error(
                    (name,), f"{name} must be a {'list' if known[name] is list else known[name].__name__}"
                )
        if content.get("kubelets") not in (None, "stand-in", "none"):
            raise self._error(("kubelets",), "kubelets must be stand-in or none")
        if not content.get("steps"):
            raise self._error((), "a scenario needs steps")
        if len(content["steps"]) > STEPS_MAX:
            raise self._error(("steps",), f"more than {STEPS_MAX} steps")

    def _read_step(self, index: int, tree: Any) -> Step:
        place = ("steps", index)
        if not isinstance(tree, dict) or len(tree) != 1:
            raise self._error(place, f"a step is a mapping with one key out of {', '.join(_STEPS)}")
        kind, body = next(iter(tree.items()))
        if kind not in _STEPS:
            raise self._error(place, f"unknown step {kind!r}; known are {', '.join(_STEPS)}")
        if kind == "expect":
            action: Action = Expect([self._read_item((*place, kind), i, t) for i, t in enumerate(_listed(body))])
        else:
            action = self._convert((*place, kind), body, _STEPS[kind])
        if isinstance(action, Apply):
            action = self._load_files((*place, kind), action)
        return Step(kind, self._line(place), action)

    def _read_item(self, place: tuple[str | int, ...], index: int, tree: Any) -> Any:
        return self._convert((*place, index), tree, read_item)

    def _convert(self, place: tuple[str | int, ...], body: Any, read: Callable[[Any], Any]) -> Any:
        try:
            return read(body)
        except msgspec.ValidationError as error:
            message, _, inner = str(error).partition(" - at `$")
            at = inner.strip("`.")
            raise self._error((*place, *_split(at)), f"{at}: {message}" if at else message) from None

    # ---- files that a step names --------------------------------------------------------------------------

    def _load_files(self, place: tuple[str | int, ...], apply: Apply) -> Apply:
        """Return the step with the objects of its files in it: files by name, whatever the order of the list."""
        objects: list[Tree] = list(apply.objects)
        for name in sorted(set(self._list_files(place, apply.files))):
            for document in read_documents(_read(name, self._path)):
                if document.reason:
                    raise self._error(place, f"{name}: document {document.index}: {document.reason}")
                objects.extend(_expand(document.content))
        for i, tree in enumerate(objects):
            if not isinstance(tree, dict) or not isinstance(tree.get("kind"), str):
                raise self._error(place, f"object {i} has no kind")
        return Apply(objects, [], apply.refused)

    def _list_files(self, place: tuple[str | int, ...], names: Sequence[str]) -> list[str]:
        found: list[str] = []
        for name in names:
            path = Path(self._path).parent / name
            if path.is_dir():
                found.extend(str(p) for p in path.rglob("*") if p.suffix in (".yaml", ".yml", ".json"))
            elif path.exists():
                found.append(str(path))
            else:
                raise self._error(place, f"there is no file {name} beside the scenario")
        return found

    # ---- positions ----------------------------------------------------------------------------------------

    def _error(self, place: tuple[str | int, ...], text: str) -> ScenarioError:
        where = ".".join(str(p) for p in place[:2]).replace("steps.", "step ")
        return ScenarioError(f"{self._path}: line {self._line(place)}: {where}{': ' if where else ''}{text}")

    def _line(self, place: tuple[str | int, ...]) -> int:
        """Return the line of a place, or of the last part of its path that exists; from 1."""
        node = self._root
        line: int = node.start_mark.line + 1 if node is not None else 1
        for part in place:
            found = None
            if isinstance(node, yaml.MappingNode):
                found = next(((k, v) for k, v in node.value if k.value == str(part)), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                found = (node.value[part], node.value[part])
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        return line


def _split(path: str) -> list[str | int]:
    """Return the parts of a path like ``objects[3].kind``."""
    return [int(p) if p.isdecimal() else p for p in re.split(r"[.\[\]]+", path) if p]


def _listed(body: Any) -> list[Any]:
    return body if isinstance(body, list) else [body]


def _expand(content: Any) -> list[Any]:
    """Return the objects of a document: one, those of a List, or those of a plain list."""
    if isinstance(content, list):
        return content
    is_list = isinstance(content, dict) and str(content.get("kind")).endswith("List")
    return list(content["items"]) if is_list and isinstance(content.get("items"), list) else [content]


def _read_run(body: Any) -> Run:
    return Run(None if body == "idle" else parse_duration(body))


def _read_fault(body: Any) -> Fault:
    if isinstance(body, dict):  # "on" is one of YAML's names for true
        body = {"on" if key is True else key: value for key, value in body.items()}
    return msgspec.convert(body, Fault)


def _read_print(body: Any) -> Print:
    return Print(msgspec.convert(_listed(body), list[str]))


_STEPS: Final[dict[str, Callable[[Any], Any]]] = {
    "apply": lambda body: msgspec.convert(body, Apply),
    "patch": lambda body: msgspec.convert(body, Patch),
    "delete": lambda body: msgspec.convert(body, Delete),
    "request": lambda body: msgspec.convert(body, RawRequest),
    "run": _read_run,
    "restart": lambda body: msgspec.convert({"component": body}, Restart),
    "fault": _read_fault,
    "mark": lambda body: msgspec.convert({"name": body}, Mark),
    "expect": lambda body: body,
    "print": _read_print,
}
