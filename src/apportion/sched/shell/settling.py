"""Lost answers: what became of a write of which nobody knows whether it took effect.

A binding that is taken back although it happened would free devices and room that a running pod has. So before the
scheduler hears of a failure the object is looked at; where the write is not to be seen it is sent again, with the
same preconditions, so that at most one of the two takes effect.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from apportion.api.allocations import is_same_decision
from apportion.api.core import Pod
from apportion.api.resource import ResourceClaim
from apportion.api.storage import SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from apportion.api.view import View
from apportion.base import Clock
from apportion.client import Request, Response, Transport, is_unknown
from apportion.sched.framework import (
    AddClaimFinalizer,
    AllocateClaim,
    BindPod,
    BindVolume,
    Command,
    CreateClaim,
    ReserveClaim,
    SelectNode,
)

ATTEMPTS_MAX: Final = 10
FIRST_DELAY_S: Final = 0.5
LONGEST_DELAY_S: Final = 30.0
_OK, _NOT_FOUND, _CONFLICT, _TOO_MANY = 200, 404, 409, 429
_Writes = BindPod | AddClaimFinalizer | AllocateClaim | ReserveClaim | BindVolume | SelectNode | CreateClaim
Settled = Callable[[Response], None]


def _is_bound(c: BindPod, pod: Pod) -> bool:
    return pod.spec.node_name == c.node_name


def _is_protected(c: AddClaimFinalizer, claim: ResourceClaim) -> bool:
    # the version read here is the next write's precondition: nobody may have allocated in between
    return set(c.finalizers) <= set(claim.metadata.finalizers) and claim.status.allocation is None


def _is_reserved(c: AllocateClaim | ReserveClaim, claim: ResourceClaim) -> bool:
    allocation = claim.status.allocation
    is_ours = allocation is not None and is_same_decision(allocation, c.allocation)
    return is_ours and any(r.uid == c.consumer.uid for r in claim.status.reserved_for)


def _is_made(c: CreateClaim, claim: ResourceClaim) -> bool:
    return any(o.uid == c.pod_uid for o in claim.metadata.owner_references)


def _is_tied(c: BindVolume, volume: PersistentVolume) -> bool:
    reference = volume.spec.claim_ref
    return reference is not None and (reference.uid, reference.name) == (c.claim.uid, c.claim.name)


def _is_selected(c: SelectNode, claim: PersistentVolumeClaim) -> bool:
    return claim.metadata.annotations.get(SELECTED_NODE) == c.node_name


# what a write whose failure takes decisions back looks like once it has taken effect
_EFFECTS: Final[dict[type, tuple[type[View], Callable[[Any, Any], bool]]]] = {
    BindPod: (Pod, _is_bound),
    AddClaimFinalizer: (ResourceClaim, _is_protected),
    AllocateClaim: (ResourceClaim, _is_reserved),
    ReserveClaim: (ResourceClaim, _is_reserved),
    BindVolume: (PersistentVolume, _is_tied),
    SelectNode: (PersistentVolumeClaim, _is_selected),
    CreateClaim: (ResourceClaim, _is_made),
}


def must_settle(command: Command, response: Response) -> bool:
    """Return whether the scheduler may not hear of an answer before it is clear what happened."""
    return is_unknown(response.code) and type(command) in _EFFECTS


class _Open:
    """A write whose fate is open."""

    __slots__ = ("attempts", "command", "delay_s", "last", "on_settled", "request")

    def __init__(self, command: _Writes, request: Request, last: Response, on_settled: Settled) -> None:
        self.command = command
        self.request = request
        self.last = last  # the last answer to the write itself
        self.on_settled = on_settled
        self.attempts = 1
        self.delay_s = FIRST_DELAY_S

    def judge(self, answer: Response) -> Response | None:
        """Return how the write ended as far as the object tells, None when it is still open."""
        view, has_effect = _EFFECTS[type(self.command)]
        if answer.code == _NOT_FOUND and isinstance(self.command, CreateClaim):
            return None if is_unknown(self.last.code) else self.last
        if answer.code != _OK:
            return answer
        found: Any = msgspec.json.decode(answer.body, type=view)
        if not isinstance(self.command, CreateClaim) and found.metadata.uid != self.command.uid:
            return Response(_CONFLICT, message=f"{self.request.resource} {self.request.name} was made anew")
        if has_effect(self.command, found):
            return Response(_OK, answer.body)
        return None if is_unknown(self.last.code) else self.last


class Settling:
    """Looks and sends again, each time later, until every open write is settled; after many attempts it failed."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        self._waiting: list[tuple[float, _Open]] = []

    def add(self, command: Command, request: Request, response: Response, on_settled: Settled) -> None:
        """Find out what became of a write; ``on_settled`` gets the answer it should have had, exactly once."""
        self._wait(_Open(command, request, response, on_settled))  # type: ignore[arg-type]

    def next_wakeup_s(self) -> float | None:
        """Return when `work` has something to do, None if never."""
        return min((due_s for due_s, _ in self._waiting), default=None)

    def work(self) -> None:
        """Look at what is due."""
        if not self._waiting:
            return
        now_s = self._clock.now()
        due = [o for due_s, o in self._waiting if due_s <= now_s]
        self._waiting = [entry for entry in self._waiting if entry[0] > now_s]
        for entry in due:
            self._look(entry)

    def _wait(self, entry: _Open) -> None:
        self._waiting.append((self._clock.now() + entry.delay_s, entry))
        entry.delay_s = min(entry.delay_s * 2, LONGEST_DELAY_S)

    def _look(self, entry: _Open) -> None:
        r = entry.request
        self._transport.submit(Request("get", r.resource, r.namespace, r.name), lambda a: self._on_look(entry, a))

    def _on_look(self, entry: _Open, answer: Response) -> None:
        if is_unknown(answer.code) or answer.code == _TOO_MANY:
            self._wait(entry)  # as long as it takes: until then nothing is freed and nothing is lost
            return
        settled = entry.judge(answer)
        if settled is None and entry.attempts < ATTEMPTS_MAX:
            self._transport.submit(entry.request, lambda a: self._on_repeat(entry, a))
        else:
            entry.on_settled(settled or entry.last)

    def _on_repeat(self, entry: _Open, answer: Response) -> None:
        entry.last = answer
        entry.attempts += 1
        if answer.code < 300:
            entry.on_settled(answer)
        elif is_unknown(answer.code):
            self._wait(entry)
        else:
            self._look(entry)  # refused, perhaps because the first one took effect after all
