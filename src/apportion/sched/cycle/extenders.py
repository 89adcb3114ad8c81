"""HTTP extenders: which pods they have a say about, and what their answers mean.

Behaviour: pkg/scheduler/extender.go and findNodesThatPassExtenders, prioritizeNodes, extendersBinding and callExtenders
around it. Answers are read as Go reads them: names of fields in any case.
"""

from collections.abc import Generator, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
import orjson

from apportion.sched.framework import (
    CallExtender,
    Code,
    CommandGenerator,
    Extender,
    Outcome,
    RowGroups,
    Status,
    Together,
)
from apportion.sched.framework.waits import Step
from apportion.sched.queue import Hint
from apportion.sched.state import Int64s, NodeTable, PodInfo

EXTENDER: Final = "Extender"  # stands as plugin for nodes that an extender left out
SCALE: Final = 10  # extenders score up to 10, plugins up to 100
T = TypeVar("T")
Asking: TypeAlias = Generator[Step, Any, T]
Action: TypeAlias = Literal["filter", "prioritize", "preempt", "bind"]


class ExtenderError(Exception):
    """An extender could not be reached, or answered something that cannot be used."""


class Extenders:
    """The configured extenders; those that may fail come last."""

    def __init__(self, extenders: Iterable[Extender], nodes: NodeTable) -> None:
        self._all = tuple(sorted(extenders, key=lambda e: e.ignorable))
        self._nodes = nodes

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def can_filter(self) -> bool:
        """Whether any of them may leave nodes out."""
        return any(e.filter_verb for e in self._all)

    def find_interested(self, pod: PodInfo) -> tuple[Extender, ...]:
        """Return those that have a say about a pod: that manage all pods, or a resource that the pod names."""
        names = _resources(pod) if any(e.managed_resources for e in self._all) else frozenset()
        return tuple(
            e for e in self._all if not e.managed_resources or any(r.name in names for r in e.managed_resources)
        )

    # ---- filter -------------------------------------------------------------------------------------------

    def filter(self, interested: tuple[Extender, ...], pod: PodInfo, rows: Int64s) -> Asking[tuple[Int64s, RowGroups]]:
        """Return which of ``rows`` are left, and why the others are not. Raises ExtenderError."""
        groups: RowGroups = []
        for extender in interested:
            if not extender.filter_verb or not len(rows):
                continue
            try:
                answer = yield from self._ask(extender, "filter", pod, rows)
                left, out = self._read_filter(extender, answer, rows)
            except ExtenderError:
                if extender.ignorable:
                    continue
                raise
            rows = left
            groups += out
        return rows, groups

    def _read_filter(self, extender: Extender, answer: Any, rows: Int64s) -> tuple[Int64s, RowGroups]:
        fields = _fields(answer)
        if fields.get("error"):
            raise ExtenderError(str(fields["error"]))
        names = fields.get("nodenames") if extender.node_cache_capable else None
        if names is None:
            items = _fields(fields.get("nodes") or {}).get("items") or ()
            names = [_fields(_fields(item).get("metadata") or {}).get("name", "") for item in items]
        known = {self._nodes.name(row): row for row in rows.tolist()}
        stranger = next((name for name in names if name not in known), None)
        if stranger is not None:
            text = f'claims a filtered node "{stranger}" which is not found in the input node list'
            raise ExtenderError(f'extender "{extender.url_prefix}" {text}')
        left = {known.pop(name) for name in dict.fromkeys(names)}
        return np.array(sorted(left), np.int64), _group_failures(known, fields)

    # ---- prioritize ---------------------------------------------------------------------------------------

    def prioritize(self, interested: tuple[Extender, ...], pod: PodInfo, totals: Int64s) -> Asking[Int64s]:
        """Return ``totals`` with what the extenders add to feasible nodes; one that fails adds nothing."""
        rows = np.flatnonzero(totals >= 0)
        scoring = [e for e in interested if e.prioritize_verb]
        if scoring:
            totals = totals.copy()
            yield Together([self._add_scores(e, pod, rows, totals) for e in scoring])
        return totals

    def _add_scores(self, extender: Extender, pod: PodInfo, rows: Int64s, totals: Int64s) -> CommandGenerator:
        try:
            answer = yield from self._ask(extender, "prioritize", pod, rows)
            scores = [(_fields(entry)["host"], int(_fields(entry).get("score", 0))) for entry in answer]
        except (ExtenderError, KeyError, TypeError, ValueError):
            return None
        known = set(rows.tolist())
        for host, score in scores:
            row = self._nodes.row_of.get(host)
            if row in known:
                totals[row] += score * extender.weight * SCALE
        return None

    # ---- preempt ------------------------------------------------------------------------------------------

    def preempt(
        self, interested: tuple[Extender, ...], pod: PodInfo, victims: Mapping[str, tuple[tuple[str, ...], int]]
    ) -> Asking[Mapping[str, tuple[tuple[str, ...], int]]]:
        """Return, by node, whom the extenders would evict (uids) and how many budgets that violates.

        Raises ExtenderError.
        """
        for extender in interested:
            if not extender.preempt_verb or not victims:
                continue
            try:
                listed = tuple((node, uids, count) for node, (uids, count) in victims.items())
                answer = yield from self._call(CallExtender(extender, "preempt", *_key(pod), victims=listed))
                victims = _read_victims(extender, answer)
            except ExtenderError:
                if not extender.ignorable:
                    raise
        return victims

    # ---- calls --------------------------------------------------------------------------------------------

    def _ask(self, extender: Extender, action: Action, pod: PodInfo, rows: Int64s) -> Asking[Any]:
        names = tuple(self._nodes.name(row) for row in rows.tolist())
        return (yield from self._call(CallExtender(extender, action, *_key(pod), node_names=names)))

    def _call(self, command: CallExtender) -> Asking[Any]:
        return _read(command, (yield command))


def bind_with(extenders: Iterable[Extender], pod: PodInfo) -> Asking[Status | None]:
    """Have an extender bind a pod. Skip when none does, or when one that may fail did."""
    for extender in extenders:
        if not extender.bind_verb:
            continue
        command = CallExtender(extender, "bind", *_key(pod), node_names=(pod.node_name,))
        try:
            fields = _fields(_read(command, (yield command)))
            if fields.get("error"):
                raise ExtenderError(str(fields["error"]))
        except ExtenderError as error:
            if extender.ignorable:
                continue
            return Status(Code.ERROR, (str(error),), EXTENDER)
        return None
    return Status(Code.SKIP)


def hint_any_event(pod: PodInfo, old: object, new: object) -> Hint:
    """Any event may help a pod that an extender rejected, but not that the rejection was written down."""
    if not isinstance(old, PodInfo) or not isinstance(new, PodInfo):
        return Hint.QUEUE
    return Hint.SKIP if new.uid == pod.uid and old.kind is new.kind else Hint.QUEUE


def verb_of(command: CallExtender) -> str:
    """Return what is appended to the extender's address."""
    extender = command.extender
    verbs = {
        "filter": extender.filter_verb,
        "prioritize": extender.prioritize_verb,
        "preempt": extender.preempt_verb,
        "bind": extender.bind_verb,
    }
    return verbs[command.action]


def _key(pod: PodInfo) -> tuple[str, str, str]:
    return pod.namespace, pod.name, pod.uid


def _resources(pod: PodInfo) -> frozenset[str]:
    spec = pod.spec
    parts = [c.resources for c in (*spec.containers, *spec.init_containers)]
    return frozenset(name for part in parts for name in (*part.requests, *part.limits))


def _read(command: CallExtender, outcome: Outcome) -> Any:
    url = f"{command.extender.url_prefix.rstrip('/')}/{verb_of(command)}"
    if outcome.code != 200:
        why = outcome.message or f"code {outcome.code}"
        raise ExtenderError(f"failed {verb_of(command)} with extender at URL {url}, {why}")
    try:
        return orjson.loads(outcome.body)
    except orjson.JSONDecodeError as error:
        raise ExtenderError(f"extender at URL {url} answered what is not JSON: {error}") from error


def _fields(tree: Any) -> dict[str, Any]:
    if not isinstance(tree, dict):
        raise ExtenderError(f"an extender answered {str(tree)[:100]!r} where an object is expected")
    return {name.lower(): value for name, value in tree.items()}


def _group_failures(rows: Mapping[str, int], fields: Mapping[str, Any]) -> RowGroups:
    """Return the rows that were left out by what was said of them; saying nothing speaks against the node for good."""
    final, others = fields.get("failedandunresolvablenodes") or {}, fields.get("failednodes") or {}
    groups: dict[Status, list[int]] = {}
    for name, row in rows.items():
        if name in final or name not in others:
            reasons = (str(final[name]),) if name in final else ()
            status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, EXTENDER)
        else:
            status = Status(Code.UNSCHEDULABLE, (str(others[name]),), EXTENDER)
        groups.setdefault(status, []).append(row)
    return [(status, np.array(found, np.int64)) for status, found in groups.items()]


def _read_victims(extender: Extender, answer: Any) -> dict[str, tuple[tuple[str, ...], int]]:
    found: dict[str, tuple[tuple[str, ...], int]] = {}
    for node, tree in (_fields(answer).get("nodenametometavictims") or {}).items():
        fields = _fields(tree or {})
        uids = tuple(str(_fields(p).get("uid", "")) for p in fields.get("pods") or ())
        if uids:
            found[node] = (uids, int(fields.get("numpdbviolations") or 0))
        elif not extender.ignorable:
            raise ExtenderError(f'expected at least one victim pod on node "{node}"')
    return found
