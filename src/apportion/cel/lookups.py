"""Finds the attributes and capacities that an expression names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from apportion.cel.device import DeviceFacts
from apportion.cel.language.ast import Bind, Call, Const, Expr, Ident, Index, Select, list_children
from apportion.cel.library.environment import DEVICE_VARIABLE

_Path: TypeAlias = tuple[str, ...]
_KINDS: Final = {"attributes": "attribute", "capacity": "capacity"}


@dataclass(frozen=True, slots=True)
class Lookup:
    """One name that the expression asks for; ``kind`` is ``attribute`` or ``capacity``."""

    kind: str
    domain: str
    name: str

    def is_in(self, facts: DeviceFacts) -> bool:
        """Return whether the device has it."""
        domains = facts.attributes if self.kind == "attribute" else facts.capacity
        return self.name in domains.get(self.domain, {})


def find_lookups(root: Expr) -> tuple[Lookup, ...]:
    """Return the lookups with constant names, each once, in source order."""
    found = dict.fromkeys(_iterate(root, {DEVICE_VARIABLE: ()}))
    return tuple(Lookup(_KINDS[field], domain, name) for field, domain, name in found)


def _iterate(node: Expr, roots: Mapping[str, _Path]) -> Iterator[tuple[str, str, str]]:
    """Yield field, domain and name; ``roots`` holds the path behind each variable that stands for one."""
    if isinstance(node, Bind):
        yield from _iterate(node.init, roots)
        path = _follow(node.init, roots)
        kept = {k: v for k, v in roots.items() if k != node.name}
        yield from _iterate(node.result, kept if path is None else {**kept, node.name: path})
        return
    for child in list_children(node):
        yield from _iterate(child, roots)
    path = _follow(node, roots)
    if path is not None and len(path) == 3 and path[0] in _KINDS:
        yield path


def _follow(node: Expr, roots: Mapping[str, _Path]) -> tuple[str, ...] | None:
    match node:
        case Ident():
            return roots.get(node.name)
        case Select():
            return _extend(node.operand, node.field, roots)
        case Index(key=Const(value=str() as name)):
            return _extend(node.operand, name, roots)
        case Call(function="@in", args=[Const(value=str() as name), holder]):
            return _extend(holder, name, roots)
    return None


def _extend(operand: Expr, name: str, roots: Mapping[str, _Path]) -> _Path | None:
    path = _follow(operand, roots)
    return None if path is None else (*path, name)
