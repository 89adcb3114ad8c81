"""Estimates the worst-case cost of a checked expression, as API validation bounds it.

Follows cel-go's estimator (checker/cost.go) with the device's declared sizes. Constant folding, which makes
the run cheaper, plays no part here.
"""

from dataclasses import dataclass
from typing import Final

from apportion.cel.estimate.calls import CallCost, Operand, estimate_call
from apportion.cel.estimate.sizes import UNKNOWN_SIZE, Path, Size, find_path_size, saturate
from apportion.cel.language import types
from apportion.cel.language.ast import (
    ACCUMULATOR,
    Bind,
    Call,
    Conditional,
    Const,
    Expr,
    Fold,
    Ident,
    Index,
    ListExpr,
    Logic,
    MapExpr,
    Select,
)
from apportion.cel.library.environment import DEVICE_VARIABLE

_LIST_COST: Final = 10
_MAP_COST: Final = 30


@dataclass(frozen=True, slots=True)
class _Entries:
    """Sizes of the keys and values of a list or map that the expression builds itself."""

    key: Size
    value: Size


@dataclass(frozen=True, slots=True)
class _Estimate:
    """What is known of one node. ``path`` leads to it from ``device``."""

    cost: int
    size: Size | None = None
    path: Path | None = None
    entries: _Entries | None = None

    @property
    def size_or_unknown(self) -> Size:
        return self.size or UNKNOWN_SIZE


def estimate_max_cost(root: Expr) -> int:
    """Return the most that evaluating the checked expression can cost, 2**64 - 1 when no bound is known."""
    return saturate(_Estimator().estimate(root).cost)


class _Estimator:
    def __init__(self) -> None:
        self.locals: dict[str, _Estimate] = {}

    def estimate(self, node: Expr) -> _Estimate:
        match node:
            case Const():
                sized = isinstance(node.value, str | bytes)
                length = len(node.value) if sized else 1
                return _Estimate(0, Size(length, length))
            case Ident():
                return self.estimate_ident(node)
            case Select():
                return self.estimate_select(node)
            case Index():
                return self.estimate_index(node)
            case Call():
                return self.estimate_call(node)
            case Logic():
                cost = sum(self.estimate(term).cost for term in node.terms)
                return _Estimate(saturate(cost), Size(1, 1))
            case Conditional():
                return self.estimate_conditional(node)
            case ListExpr():
                return self.estimate_list(node)
            case MapExpr():
                return self.estimate_map(node)
            case Fold():
                return self.estimate_fold(node)
            case Bind():
                return self.estimate_bind(node)

    def finish(self, node: Expr, cost: int, size: Size | None = None, path: Path | None = None) -> _Estimate:
        """Return the estimate with the size that the path or the type gives when nothing better is known."""
        size = size or find_path_size(path)
        if size is None and types.is_scalar(node.type):
            size = Size(1, 1)
        return _Estimate(saturate(cost), size, path)

    def estimate_ident(self, node: Ident) -> _Estimate:
        local = self.locals.get(node.name)
        if local is None:
            path = (DEVICE_VARIABLE,) if node.name == DEVICE_VARIABLE else None
            return self.finish(node, 1, path=path)
        found = self.finish(node, 1, find_path_size(local.path), local.path)
        return _Estimate(1, found.size or local.size, local.path, local.entries)

    def estimate_select(self, node: Select) -> _Estimate:
        operand = self.estimate(node.operand)
        if node.test_only:
            return _Estimate(operand.cost, Size(1, 1))
        if node.optional:
            return self.finish(node, operand.cost + 1)
        priced = node.operand.type == types.DEVICE or node.operand.type.name == "map"
        path = None if operand.path is None else (*operand.path, node.field)
        return self.finish(node, operand.cost + priced, path=path)

    def estimate_index(self, node: Index) -> _Estimate:
        operand, key = self.estimate(node.operand), self.estimate(node.key)
        cost = operand.cost + key.cost + 1
        if node.optional or node.operand.type.name == "optional_type":
            return self.finish(node, cost)
        step = "@items" if node.operand.type.name == "list" else "@values"
        path = None if operand.path is None else (*operand.path, step)
        size = operand.entries.value if operand.entries else None
        return self.finish(node, cost, size, path)

    def estimate_call(self, node: Call) -> _Estimate:
        parts = [self.estimate(operand) for operand in node.operands]
        cost = sum(part.cost for part in parts)
        if node.function == "dyn":
            return _Estimate(saturate(cost + 1), parts[0].size, None, parts[0].entries)
        operands = [
            Operand(n.type, p.size_or_unknown, *([n.value] if isinstance(n, Const) else []))
            for n, p in zip(node.operands, parts, strict=True)
        ]
        found: CallCost | None = None
        for overload in node.overloads:
            call = estimate_call(overload.cost, operands)
            found = call if found is None else found.union(call)
        assert found is not None, node.function
        result = self.finish(node, cost + found.most, found.size)
        if node.function == "_+_" and node.type.name == "list":
            return _Estimate(result.cost, result.size, None, _union_entries(parts[0].entries, parts[1].entries))
        return result

    def estimate_conditional(self, node: Conditional) -> _Estimate:
        condition, then, otherwise = (self.estimate(n) for n in (node.condition, node.then, node.otherwise))
        cost = condition.cost + max(then.cost, otherwise.cost)
        size = then.size_or_unknown.union(otherwise.size_or_unknown)
        return _Estimate(saturate(cost), size, None, _union_entries(then.entries, otherwise.entries))

    def estimate_list(self, node: ListExpr) -> _Estimate:
        parts = [self.estimate(element) for element in node.elements]
        count = len(parts)
        entries = _Entries(Size(1, 1), _union_sizes(parts))
        return _Estimate(sum(p.cost for p in parts) + _LIST_COST, Size(count, count), None, entries)

    def estimate_map(self, node: MapExpr) -> _Estimate:
        keys = [self.estimate(key) for key, _ in node.entries]
        values = [self.estimate(value) for _, value in node.entries]
        count = len(keys)
        entries = _Entries(_union_sizes(keys), _union_sizes(values))
        return _Estimate(sum(p.cost for p in keys + values) + _MAP_COST, Size(count, count), None, entries)

    def estimate_fold(self, node: Fold) -> _Estimate:
        items, init = self.estimate(node.iter_range), self.estimate(node.accu_init)
        before = self.locals
        outer = {**before, ACCUMULATOR: _Estimate(0, init.size, init.path, init.entries)}
        self.locals = {**outer, **_loop_variables(node, items)}
        condition, step = self.estimate(node.condition), self.estimate(node.step)
        self.locals = outer
        result = self.estimate(node.result)
        self.locals = before
        count = items.size_or_unknown
        rounds = count.most * saturate(condition.cost + step.cost)
        cost = saturate(items.cost + init.cost + result.cost + rounds)
        if isinstance(node.accu_init, Const):
            return _Estimate(cost, init.size)
        return _Estimate(cost, count, None, step.entries)

    def estimate_bind(self, node: Bind) -> _Estimate:
        init = self.estimate(node.init)
        before = self.locals
        self.locals = {**before, node.name: init}
        result = self.estimate(node.result)
        self.locals = before
        # Upstream binds by a comprehension over an empty list, and that list is paid for.
        cost = saturate(_LIST_COST + init.cost + result.cost)
        return _Estimate(cost, result.size, None, result.entries)


def _loop_variables(node: Fold, items: _Estimate) -> dict[str, _Estimate]:
    is_list = node.iter_range.type.name == "list"
    key_size, value_size = (items.entries.key, items.entries.value) if items.entries else (None, None)
    key = _loop_variable(items, "@indices" if is_list else "@keys", key_size)
    value = _loop_variable(items, "@items" if is_list else "@values", value_size)
    if node.iter_var2:
        return {node.iter_var: key, node.iter_var2: value}
    return {node.iter_var: value if is_list else key}


def _loop_variable(items: _Estimate, step: str, size: Size | None) -> _Estimate:
    return _Estimate(0, size, None if items.path is None else (*items.path, step))


def _union_sizes(parts: list[_Estimate]) -> Size:
    if not parts:
        return Size(0, 0)
    size = parts[0].size_or_unknown
    for part in parts[1:]:
        size = size.union(part.size_or_unknown)
    return size


def _union_entries(left: _Entries | None, right: _Entries | None) -> _Entries | None:
    if left is None or right is None:
        return None
    return _Entries(left.key.union(right.key), left.value.union(right.value))
