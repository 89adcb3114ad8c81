"""How a library declares a function: a signature as text, the Python function and a cost rule."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from apportion.api.quantity import Quantity
from apportion.cel.language import types
from apportion.cel.language.types import Type
from apportion.cel.library.net import Cidr, Ip, Url
from apportion.cel.library.semver import Semver
from apportion.cel.values import (
    DomainMap,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Value,
)

_NAMED: Final = {
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
    "quantity": types.QUANTITY,
    "semver": types.SEMVER,
    "ip": types.IP,
    "cidr": types.CIDR,
    "url": types.URL,
    "null": types.NULL,
    "optional": Type("optional_type"),
}
_CLASSES: Final[dict[str, tuple[type, ...]]] = {
    types.BOOL.name: (bool,),
    types.INT.name: (int,),
    types.UINT.name: (Uint,),
    types.DOUBLE.name: (float,),
    types.STRING.name: (str,),
    types.BYTES.name: (bytes,),
    types.NULL.name: (type(None),),
    "list": (tuple,),
    "map": (dict, DomainMap),
    "optional_type": (Optional,),
    "type": (TypeValue,),
    types.DURATION.name: (Duration,),
    types.TIMESTAMP.name: (Timestamp,),
    types.QUANTITY.name: (Quantity,),
    types.SEMVER.name: (Semver,),
    types.IP.name: (Ip,),
    types.CIDR.name: (Cidr,),
    types.URL.name: (Url,),
}
_NAME_OF_CLASS: Final = {cls: name for name, classes in _CLASSES.items() for cls in classes}


def name_type(value: Value) -> str:
    """Return the CEL name of the type of ``value``."""
    return _NAME_OF_CLASS.get(value.__class__, types.DEVICE.name)


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One signature; ``params`` start with the receiver of a ``member``, ``cost`` names a rule."""

    function: str
    member: bool
    params: tuple[Type, ...]
    result: Type
    run: Callable[..., Value]
    cost: str

    def accepts(self, classes: tuple[type, ...]) -> bool:
        """Return whether values of these Python classes fit the parameters."""
        return len(classes) == len(self.params) and all(
            p.is_variable or types.is_dynamic(p) or c in _CLASSES[p.name]
            for p, c in zip(self.params, classes, strict=True)
        )


def declare(function: str, signature: str, run: Callable[..., Value], cost: str = "one") -> Overload:
    """Return an overload from text such as ``string.(int, list<A>) -> bool``; ``A`` is a type variable."""
    match = re.fullmatch(r"(?:([\w<>, ]+)\.)?\((.*)\) -> (.+)", signature)
    assert match is not None, signature
    receiver, params, result = match.groups()
    parsed = _read_types(params)
    if receiver:
        parsed = [*_read_types(receiver), *parsed]
    return Overload(function, bool(receiver), tuple(parsed), _read_types(result)[0], run, cost)


def _read_types(text: str) -> list[Type]:
    found, rest = _read_list(re.findall(r"\w+|[<>]", text))
    assert not rest, text
    return found


def _read_list(tokens: list[str]) -> tuple[list[Type], list[str]]:
    found: list[Type] = []
    while tokens and tokens[0] != ">":
        name, tokens = tokens[0], tokens[1:]
        params: list[Type] = []
        if tokens and tokens[0] == "<":
            params, tokens = _read_list(tokens[1:])
            tokens = tokens[1:]
        known = _NAMED.get(name, Type(f"~{name}" if len(name) == 1 else name))
        found.append(Type(known.name, tuple(params)))
    return found, tokens
