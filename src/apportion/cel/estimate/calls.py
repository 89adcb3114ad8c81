"""The worst-case cost of one call, by the name of the cost rule in its declaration.

The amounts follow cel-go (checker/cost.go, ext/*.go) and Kubernetes (apiserver/pkg/cel/library/cost.go).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from apportion.cel.estimate.sizes import UNKNOWN, UNKNOWN_SIZE, Size, saturate, scale
from apportion.cel.language import types
from apportion.cel.language.types import Type
from apportion.cel.values import Value

_SCAN: Final = 0.1
_PATTERN: Final = 0.25
_NEW_LIST: Final = 10
_ADDRESS_BYTES_MAX: Final = 16
_FREELY_COMPARED: Final = frozenset((types.QUANTITY, types.SEMVER, types.IP, types.CIDR))
_NO_CONSTANT: Final = object()


@dataclass(frozen=True, slots=True)
class Operand:
    """What is known of one operand; ``constant`` is its value when it is a literal."""

    type: Type
    size: Size
    constant: Value = _NO_CONSTANT


@dataclass(frozen=True, slots=True)
class CallCost:
    """The most a call costs, without its operands, and how large its result is when that can be told."""

    most: int
    size: Size | None = None

    def union(self, other: "CallCost") -> "CallCost":
        """Return what holds when either of two overloads may run."""
        sizes = [s for s in (self.size, other.size) if s is not None]
        size = sizes[0].union(sizes[-1]) if sizes else None
        return CallCost(max(self.most, other.most), size)


_Rule: TypeAlias = Callable[[list[Operand]], CallCost]


def estimate_call(rule: str, operands: list[Operand]) -> CallCost:
    """Return the worst case of a call under ``rule``; the receiver is the first operand."""
    return _RULES[rule](operands)


def _scan(operands: list[Operand], factor: float = _SCAN) -> int:
    return scale(operands[0].size.most, factor)


def _traverse(operands: list[Operand]) -> CallCost:
    holder = operands[0]
    if not holder.type.params:
        return CallCost(scale(holder.size.most, _SCAN))
    # Elements that are texts are walked as well, and nothing bounds their length.
    each = 1 + (scale(UNKNOWN, _SCAN) if holder.type.params[0] in (types.STRING, types.BYTES) else 0)
    return CallCost(saturate(holder.size.most * each))


def _replace(operands: list[Operand]) -> CallCost:
    text, old, new = (o.size for o in operands[:3])
    if old.least == 0:
        most = saturate(saturate(text.most + 1) * new.most + text.most)
    elif new.most <= old.least:
        most = text.most
    else:
        most = saturate(-(-text.most // old.least) * new.most)
    return CallCost(_scan(operands, 2 * _SCAN), Size(0, most))


def _join(operands: list[Operand]) -> CallCost:
    parts = operands[0].size
    total = parts.times(UNKNOWN_SIZE)
    if len(operands) > 1:
        total = total.plus(operands[1].size.times(Size(max(parts.least - 1, 0), max(parts.most - 1, 0))))
    return CallCost(scale(total.most, _SCAN), total)


def _pattern_cost(operands: list[Operand]) -> int:
    text = scale(saturate(operands[0].size.most + 1), _SCAN)
    return saturate(text * scale(operands[1].size.most, _PATTERN))


def _compare(operands: list[Operand]) -> CallCost:
    left, right = operands
    if left.type == right.type and left.type in _FREELY_COMPARED:
        return CallCost(1)
    return CallCost(scale(min(left.size.most, right.size.most), _SCAN))


def _concat(operands: list[Operand]) -> CallCost:
    total = operands[0].size.plus(operands[1].size)
    return CallCost(scale(total.most, _SCAN), total)


def _product(times: int) -> _Rule:
    def estimate(operands: list[Operand]) -> CallCost:
        pairs = operands[0].size.times(operands[1].size)
        return CallCost(saturate(pairs.most * times + 1))

    return estimate


def _contains(operands: list[Operand]) -> CallCost:
    return CallCost(saturate(_scan(operands) * scale(operands[1].size.most, _SCAN)))


def _range(operands: list[Operand]) -> CallCost:
    count = operands[0].constant
    most = count if isinstance(count, int) and count >= 0 else UNKNOWN
    return CallCost(saturate(most + _NEW_LIST + 1), Size(0, most))


def _copy(operands: list[Operand]) -> CallCost:
    size = operands[0].size
    return CallCost(saturate(size.most + _NEW_LIST + 1), Size(0, size.most))


def _pairs(operands: list[Operand]) -> CallCost:
    size = operands[0].size
    return CallCost(saturate(size.most * size.most + _NEW_LIST + 1), Size(0, size.most))


def _address(walks: int, extra: int, text: bool) -> _Rule:
    def estimate(operands: list[Operand]) -> CallCost:
        compared = scale(2 * _ADDRESS_BYTES_MAX, _SCAN) + scale((walks - 2) * _ADDRESS_BYTES_MAX, _SCAN)
        parsed = scale(operands[1].size.most, _SCAN) if text else 0
        return CallCost(saturate(compared + extra + parsed))

    return estimate


def _scan_to(widest: Callable[[int], int] | None) -> _Rule:
    """Return the rule of a scan whose result is at most ``widest(size)`` long."""

    def estimate(operands: list[Operand]) -> CallCost:
        most = operands[0].size.most
        return CallCost(scale(most, _SCAN), Size(0, saturate(widest(most))) if widest else None)

    return estimate


_RULES: Final[dict[str, _Rule]] = {
    "one": lambda _: CallCost(1),
    "traverse": _traverse,
    "includes": lambda ops: CallCost(ops[0].size.most),
    "scan": _scan_to(None),
    "scan_same": lambda ops: CallCost(_scan(ops), ops[0].size),
    "scan_twice": lambda ops: CallCost(_scan(ops, 2 * _SCAN)),
    "format": _scan_to(None),
    "quote": _scan_to(lambda most: 2 * most + 2),
    "encode": _scan_to(lambda most: 4 * most),
    "decode": _scan_to(lambda most: most),
    "replace": _replace,
    "split": lambda ops: CallCost(_scan(ops, 2 * _SCAN), Size(0, ops[0].size.most)),
    "join": _join,
    "find": lambda ops: CallCost(_pattern_cost(ops), Size(0, ops[0].size.most)),
    "matches": lambda ops: CallCost(_pattern_cost(ops)),
    "prefix": lambda ops: CallCost(scale(ops[1].size.most, _SCAN)),
    "in_list": lambda ops: CallCost(ops[1].size.most),
    "shorter": _compare,
    "concat": _concat,
    "concat_list": lambda ops: CallCost(1, ops[0].size.plus(ops[1].size)),
    "contains": _contains,
    "product": _product(1),
    "product_twice": _product(2),
    "copy": _copy,
    "pairs": _pairs,
    "range": _range,
    "contains_ip": _address(2, 0, text=False),
    "contains_ip_text": _address(2, 0, text=True),
    "contains_cidr": _address(3, 1, text=False),
    "contains_cidr_text": _address(3, 1, text=True),
}
