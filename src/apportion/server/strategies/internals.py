"""Values as the original prints its internal structures: Go's names of fields, all of them, in their order."""

from typing import Any, Final

import msgspec
import orjson

from apportion.api import View

_NAMES: Final = {"cel": "CEL"}


def print_internal(view: View, **before: Any) -> str:
    """Return JSON of a view under Go's names, after the fields of ``before`` as they are; what is empty is null."""
    return orjson.dumps({**before, **_convert(view)}).decode()


def _convert(value: Any) -> Any:
    if isinstance(value, View):
        fields = msgspec.structs.fields(value)
        return {_name(f.encode_name): _convert(getattr(value, f.name)) for f in fields}
    if isinstance(value, tuple):
        return [_convert(v) for v in value] or None
    if isinstance(value, dict):
        return {k: _convert(v) for k, v in value.items()} or None
    return orjson.Fragment(bytes(value)) if isinstance(value, msgspec.Raw) else value


def _name(name: str) -> str:
    return _NAMES.get(name, name[:1].upper() + name[1:])
