"""Reads manifests and cluster dumps: files, folders or standard input, YAML or JSON, lists or single objects.

Each object is brought into its preferred version, gets its defaults and is validated. What cannot be used is
listed with file, document, object, field and reason; everything else still loads.
"""

import gc
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from apportion.api.conversion import convert_to_preferred
from apportion.api.defaults import set_defaults
from apportion.api.kinds import KINDS, Kind, Tree, describe_object, find_kind_of
from apportion.api.validation import CheckCEL, validate
from apportion.base import InputError, LimitError, ValidationError
from apportion.sim.documents import TEMPLATE_REASON, read_documents

FILE_BYTES_MAX: Final = 1 << 30
OBJECTS_MAX: Final = 1_000_000
STDIN: Final = "-"
_EXTENSIONS: Final = (".yaml", ".yml", ".json")
_KINDS_BY_NAME: Final = {name: [k for k in KINDS if k.name == name] for name in {k.name for k in KINDS}}


@dataclass(frozen=True, slots=True)
class SourcedObject:
    """A valid object, with defaults, and where it stood: file, document and position in a list, from 0."""

    tree: Tree
    file: str
    document: int
    index: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something in the input that cannot be used. ``object`` is its description, ``field`` the field path."""

    file: str
    document: int
    object: str
    field: str
    reason: str


@dataclass(slots=True)
class Loaded:
    """All that the input holds; each object stands in exactly one of the first three lists, in input order."""

    objects: list[SourcedObject] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    not_understood: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def load_paths(paths: Sequence[str], stdin: BinaryIO | None = None, check_cel: CheckCEL | None = None) -> Loaded:
    """Read files, folders (sorted, recursive) and ``-`` (``stdin``); ``check_cel`` judges CEL expressions.

    Raises InputError when a path does not exist or cannot be read, LimitError when there are too many
    objects. Cost: about 200 µs a pod from JSON, ten times that from YAML.
    """
    intake = _Intake(check_cel)
    collecting = gc.isenabled()
    gc.disable()  # nothing becomes garbage here, and looking for it costs more than parsing
    try:
        for path in _list_files(paths):
            intake.read_file(path, _read_bytes(path, stdin))
    finally:
        if collecting:
            gc.enable()
    return intake.loaded


def load_bytes(raw: bytes, name: str = STDIN, check_cel: CheckCEL | None = None) -> Loaded:
    """Read manifests from memory; ``name`` stands for the file in what is reported."""
    intake = _Intake(check_cel)
    intake.read_file(name, raw)
    return intake.loaded


def _list_files(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        if path == STDIN or not os.path.isdir(path):
            yield path
            continue
        for folder, folders, files in os.walk(path):
            folders.sort()
            yield from (os.path.join(folder, f) for f in sorted(files) if f.endswith(_EXTENSIONS))


def _read_bytes(path: str, stdin: BinaryIO | None) -> bytes:
    if path == STDIN:
        if stdin is None:
            raise InputError("'-' was given, but there is no standard input to read")
        raw = stdin.read(FILE_BYTES_MAX + 1)
    else:
        try:
            with open(path, "rb") as file:
                raw = file.read(FILE_BYTES_MAX + 1)
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None
    if len(raw) > FILE_BYTES_MAX:
        raise LimitError(f"{path} is larger than {FILE_BYTES_MAX >> 20} MiB; split it")
    return raw


class _Intake:
    """Sorts what is read into one ``Loaded``."""

    def __init__(self, check_cel: CheckCEL | None) -> None:
        self.loaded = Loaded()
        self._check_cel = check_cel
        self._first: dict[tuple[str, str, str], SourcedObject] = {}

    def read_file(self, file: str, raw: bytes) -> None:
        for document in read_documents(raw):
            if document.reason:
                self._reject(file, document.index, "", "", document.reason)
                continue
            for index, item in enumerate(_flatten(document.content)):
                self._take(file, document.index, index, item)

    def _reject(self, file: str, document: int, what: str, path: str, reason: str) -> None:
        self.loaded.rejected.append(Rejected(file, document, what, path, reason))

    def _take(self, file: str, document: int, index: int, item: Any) -> None:
        if len(self.loaded.objects) >= OBJECTS_MAX:
            raise LimitError(f"more than {OBJECTS_MAX} objects in the input; load it in parts")
        shape = _find_shape_problem(item)
        if shape:
            self._reject(file, document, f"item {index}", *shape)
            return
        tree = self._complete_type(item)
        what = describe_object(tree)
        kind = find_kind_of(tree) if tree["apiVersion"] else None
        if kind is None:
            entry = Rejected(file, document, what, "kind", _explain_unknown(tree))
            self.loaded.not_understood.append(entry)
            return
        if not isinstance(tree.get("metadata"), dict):
            self._reject(file, document, what, "metadata", f"{tree['kind']} has no metadata")
            return
        tree, problems = self._complete(tree, kind)
        if problems and "{{" in str(tree):
            self._reject(file, document, what, "", TEMPLATE_REASON)
            return
        for problem in problems:
            self._reject(file, document, describe_object(tree), problem.field, problem.detail)
        if not problems:
            self._add(SourcedObject(tree, file, document, index), kind)

    def _complete(self, tree: Tree, kind: Kind) -> tuple[Tree, list[ValidationError]]:
        """Return the object converted and with defaults, and what is wrong with it."""
        try:
            tree = set_defaults(convert_to_preferred(tree, kind), kind)
        except ValidationError as error:
            return tree, [error]
        except InputError as error:
            return tree, [ValidationError("", str(error))]
        return tree, validate(tree, self._check_cel)

    def _complete_type(self, tree: Tree) -> Tree:
        """Guess an apiVersion that is missing when only one group has such a kind."""
        if tree.get("apiVersion"):
            return tree
        candidates = _KINDS_BY_NAME.get(tree["kind"], [])
        if len(candidates) != 1:
            return {**tree, "apiVersion": ""}
        self.loaded.warnings.append(f"{describe_object(tree)} has no apiVersion; read as {candidates[0].api_version}")
        return {**tree, "apiVersion": candidates[0].api_version}

    def _add(self, entry: SourcedObject, kind: Kind) -> None:
        meta = entry.tree["metadata"]
        if meta.get("name"):
            key = (kind.qualified_name, meta.get("namespace") or "", meta["name"])
            first = self._first.setdefault(key, entry)
            if first is not entry:
                if first.tree != entry.tree:
                    reason = f"defined before in {first.file}, document {first.document}; the first one counts"
                    self._reject(entry.file, entry.document, describe_object(entry.tree), "metadata.name", reason)
                return
        self.loaded.objects.append(entry)


def _flatten(content: Any) -> Iterator[Any]:
    """Yield the objects of a document: itself, or the items of a list, which may leave out their type."""
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in content:
        yield content
        return
    typed = kind != "List"
    for item in content["items"] or ():
        if typed and isinstance(item, dict) and "kind" not in item:
            item = {"apiVersion": content.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        if isinstance(item, dict) and str(item.get("kind")).endswith("List"):
            yield from _flatten(item)
        else:
            yield item


def _find_shape_problem(item: Any) -> tuple[str, str] | None:
    """Return (field, reason) when this cannot be an API object at all."""
    if not isinstance(item, dict):
        return "", f"not a Kubernetes object: the top level is {_name_type(item)}, expected a mapping"
    if not isinstance(item.get("kind"), str) or not item["kind"]:
        return "kind", "not a Kubernetes object: it has no kind"
    if not isinstance(item.get("apiVersion", ""), str | None):
        return "apiVersion", "must be text"
    return None


def _name_type(value: Any) -> str:
    names = {list: "a list", str: "text", int: "a number", float: "a number", bool: "a boolean"}
    return names.get(type(value), type(value).__name__)


def _explain_unknown(tree: Tree) -> str:
    if not tree["apiVersion"]:
        return "it has no apiVersion, and the kind alone does not tell which one is meant"
    start = f"kind {tree['kind']} of {tree['apiVersion']} is not known here"
    if has_pod_template(tree):
        return f"{start}; it has a pod template, and its pods are NOT part of the result"
    return f"{start} and is left out"


def has_pod_template(value: Any) -> bool:
    """Return whether there is a list of containers anywhere in the object."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get("containers"), list):
                return True
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return False
