"""CEL types and the unifier that the checker matches arguments against parameters with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """A type name with parameters; a type variable has a name that starts with ``~``."""

    name: str
    params: tuple["Type", ...] = ()

    @property
    def is_variable(self) -> bool:
        """Whether this stands for a type that the checker has yet to find."""
        return self.name.startswith("~")

    def __str__(self) -> str:
        if not self.params:
            return self.name.removeprefix("~")
        return f"{self.name}({', '.join(str(p) for p in self.params)})"


DYN = Type("dyn")
# What an attribute is without list-typed attributes: like dyn, but not something to iterate over.
ANY = Type("any")
BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type")
DURATION = Type("google.protobuf.Duration")
TIMESTAMP = Type("google.protobuf.Timestamp")
QUANTITY = Type("kubernetes.Quantity")
SEMVER = Type("kubernetes.Semver")
IP = Type("net.IP")
CIDR = Type("net.CIDR")
URL = Type("kubernetes.URL")
DEVICE = Type("kubernetes.DRADevice")

_SCALARS = frozenset((BOOL, INT, UINT, DOUBLE, DURATION, TIMESTAMP))
_NEVER_NULL = frozenset((BOOL, INT, UINT, DOUBLE, STRING, BYTES))


def list_of(element: Type) -> Type:
    """Return ``list(element)``."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return ``map(key, value)``."""
    return Type("map", (key, value))


def optional_of(inner: Type) -> Type:
    """Return ``optional_type(inner)``."""
    return Type("optional_type", (inner,))


def type_of(inner: Type) -> Type:
    """Return ``type(inner)``, the type of a type."""
    return Type("type", (inner,))


def is_dynamic(type_: Type) -> bool:
    """Return whether values of ``type_`` are known only at run time."""
    return type_ in (DYN, ANY)


def is_scalar(type_: Type) -> bool:
    """Return whether all values of ``type_`` have the size 1 for the cost estimate."""
    if type_.name == "optional_type":
        return is_scalar(type_.params[0])
    return type_ in _SCALARS


class Unifier:
    """Binds type variables so that arguments fit parameters; one per checked expression."""

    __slots__ = ("_bound", "_next")

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._next = 0

    def fresh(self) -> Type:
        """Return a type variable that nothing else uses."""
        self._next += 1
        return Type(f"~{self._next}")

    def instantiate(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """Return ``types`` with their variables replaced by fresh ones, the same variable by the same one."""
        renamed: dict[Type, Type] = {}

        def rename(type_: Type) -> Type:
            if type_.is_variable:
                return renamed.setdefault(type_, self.fresh())
            return Type(type_.name, tuple(rename(p) for p in type_.params)) if type_.params else type_

        return tuple(rename(t) for t in types)

    def assign_all(self, expected: tuple[Type, ...], actual: tuple[Type, ...]) -> bool:
        """Bind variables so that every ``actual`` fits its ``expected``; bind nothing when one does not."""
        before = dict(self._bound)
        if all(self._assign(e, a) for e, a in zip(expected, actual, strict=True)):
            return True
        self._bound = before
        return False

    def resolve(self, type_: Type, unbound: Type | None = None) -> Type:
        """Return ``type_`` with bound variables replaced, and unbound ones by ``unbound`` if given."""
        if type_.is_variable:
            bound = self._bound.get(type_)
            if bound is None:
                return unbound or type_
            return self.resolve(bound, unbound)
        if not type_.params:
            return type_
        return Type(type_.name, tuple(self.resolve(p, unbound) for p in type_.params))

    def join(self, left: Type, right: Type) -> Type | None:
        """Return the more general of two types that fit together, or None."""
        if not self.assign_all((left,), (right,)):
            return None
        return left if self._is_general(left, right) else right

    def _assign(self, expected: Type, actual: Type) -> bool:
        if expected == actual:
            return True
        if actual.is_variable:
            return self._bind(actual, expected)
        if expected.is_variable:
            return self._bind(expected, actual)
        if is_dynamic(expected) or is_dynamic(actual):
            return True
        if NULL in (expected, actual):
            other = expected if actual == NULL else actual
            return other not in _NEVER_NULL and other.name not in ("list", "map", "type")
        if expected.name != actual.name or len(expected.params) != len(actual.params):
            return expected.name == actual.name == "type"
        return all(self._assign(e, a) for e, a in zip(expected.params, actual.params, strict=True))

    def _bind(self, variable: Type, other: Type) -> bool:
        bound = self._bound.get(variable)
        if bound is None:
            if self._mentions(other, variable):
                return False
            self._bound[variable] = other
            return True
        if not self._assign(bound, other):
            return False
        if self._is_general(other, bound):
            self._bound[variable] = other
        return True

    def _mentions(self, type_: Type, variable: Type) -> bool:
        resolved = self.resolve(type_)
        return resolved == variable or any(self._mentions(p, variable) for p in resolved.params)

    def _is_general(self, left: Type, right: Type) -> bool:
        left, right = self.resolve(left), self.resolve(right)
        if is_dynamic(left) or left.is_variable:
            return True
        if is_dynamic(right) or right.is_variable or len(left.params) != len(right.params):
            return False
        return all(self._is_general(a, b) for a, b in zip(left.params, right.params, strict=True))
