"""An object as it would come back from the API server: known fields only, right types, one notation.

kube-apiserver decodes into typed structures and encodes them again. What that does to an object is done here by
walking it along its shape: null and empty collections go, quantities get their canonical form, a field that
nobody knows is dropped and named, a value of the wrong type is an error.
"""

import re
from typing import Any, Final

from apportion.api import parse_quantity
from apportion.base import InputError
from apportion.server.schema.shapes import ANY, LIST, MAP, OBJECT, Shape

_GO_TYPES: Final = {"s": "string", "i": "int32", "n": "float64", "b": "bool", "t": "Time", "y": "[]uint8"}
_QUANTITY_TEXT: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_FOUR: Final = "[A-Za-z0-9+/]"
_BASE64: Final = re.compile(f"(?:{_FOUR}{{4}})*(?:{_FOUR}{{2}}==|{_FOUR}{{3}}=)?")
_UNKNOWN_MAX: Final = 100


class DecodeError(InputError):
    """A value does not have the type of its field."""


def canonicalize(value: Any, shape: Shape, kind: str, unknown: list[str], known: Any = None) -> Any:
    """Return a canonical copy; paths of unknown fields are added to ``unknown`` (the first hundred of them).

    Raises DecodeError. Costs about 1 µs for each field; what is one and the same in ``known``, a canonical object,
    is taken over as it is.
    """
    return _Walk(kind, unknown).walk(value, shape, "", known)


class _Walk:
    __slots__ = ("_kind", "_unknown")

    def __init__(self, kind: str, unknown: list[str]) -> None:
        self._kind = kind
        self._unknown = unknown

    def walk(self, value: Any, shape: Shape, path: str, known: Any = None) -> Any:
        code = shape.code
        if code == OBJECT:
            return self._walk_object(value, shape, path, known)
        if code == MAP:
            return self._walk_map(value, shape, path)
        if code == LIST:
            if not isinstance(value, list):
                raise self._wrong_type(value, path, "[]" + _name_type(shape.item))
            assert shape.item is not None
            return [self.walk(v, shape.item, f"{path}[{i}]") for i, v in enumerate(value)]
        return value if code == ANY else self._check_scalar(value, code, path)

    def _walk_object(self, value: Any, shape: Shape, path: str, known: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong_type(value, path, shape.type_name)
        fields = shape.fields
        out: dict[str, Any] = {}
        known = known if isinstance(known, dict) else {}
        for name, child in value.items():
            before = known.get(name)
            if before is child and child is not None:
                out[name] = child
                continue
            part = fields.get(name)
            here = f"{path}.{name}" if path else name
            if part is None:
                if len(self._unknown) < _UNKNOWN_MAX:
                    self._unknown.append(here)
                continue
            if child is None:
                continue
            walked = self.walk(child, part, here, before)
            if walked or part.code not in (LIST, MAP) or name in shape.required:
                out[name] = walked
        for name in shape.always:
            out.setdefault(name, None)
        return out

    def _walk_map(self, value: Any, shape: Shape, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong_type(value, path, f"map[string]{_name_type(shape.item)}")
        assert shape.item is not None
        item = shape.item
        return {k: self.walk(v, item, path) for k, v in value.items() if v is not None}

    def _check_scalar(self, value: Any, code: str, path: str) -> Any:
        if code == "q":
            return self._canonicalize_quantity(value, path)
        if code in ("s", "t", "y"):
            fits = isinstance(value, str)
        elif code == "b":
            fits = isinstance(value, bool)
        elif code == "x":
            fits = isinstance(value, str | int) and not isinstance(value, bool)
        else:
            fits = isinstance(value, int | float if code == "n" else int) and not isinstance(value, bool)
        if not fits:
            raise self._wrong_type(value, path, _GO_TYPES.get(code, "IntOrString"))
        if code == "y":
            _check_base64(value)
        return value

    def _canonicalize_quantity(self, value: Any, path: str) -> str:
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise self._wrong_type(value, path, "Quantity")
        try:
            return str(parse_quantity(value))
        except InputError:
            raise DecodeError(_QUANTITY_TEXT) from None

    def _wrong_type(self, value: Any, path: str, wanted: str) -> DecodeError:
        field = f"{self._kind}.{path}" if path else self._kind
        return DecodeError(f"json: cannot unmarshal {_name_json(value)} into Go struct field {field} of type {wanted}")


def _check_base64(text: str) -> None:
    """Raise DecodeError for what Go's decoder does not take; it overlooks line breaks."""
    plain = text.replace("\n", "").replace("\r", "")
    found = _BASE64.match(plain)
    assert found is not None
    if found.end() != len(plain):
        raise DecodeError(f"illegal base64 data at input byte {found.end()}")


def _name_type(shape: Shape | None) -> str:
    return "" if shape is None else shape.type_name or _GO_TYPES.get(shape.code, shape.code)


def _name_json(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"
