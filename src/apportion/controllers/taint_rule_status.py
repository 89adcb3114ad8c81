"""The condition EvictionInProgress of device taint rules: what a rule does, or would do.

Behaviour: KEP-5055; it is written at once for a new rule and then at most every ten seconds. For a rule without effect
it is a dry run, counted once.
"""

from collections.abc import Sequence
from typing import Final

import orjson

from apportion.api import Tree
from apportion.api.resource import AllocationResult, DeviceTaintRule
from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task
from apportion.controllers.device_taints import NO_EXECUTE, DeviceTaints, selects
from apportion.controllers.times import format_time

STATUS_PAUSE_S: Final = 10.0
_CONDITION: Final = "EvictionInProgress"


class RuleStatusWriter:
    """Remembers what each rule says, and when that was written."""

    def __init__(self, clock: Clock, taints: DeviceTaints) -> None:
        self._clock = clock
        self._taints = taints
        self._written: dict[str, tuple[str, float, tuple[str, str, str]]] = {}  # uid, when, what; by name

    def forget(self, name: str) -> None:
        """Take note that a rule is gone."""
        self._written.pop(name, None)

    def find_pause_s(self, name: str) -> float:
        """Return how long the status of a rule must stay as it is."""
        known = self._written.get(name)
        return 0.0 if known is None else known[1] + STATUS_PAUSE_S - self._clock.now()

    def write(
        self, rule: DeviceTaintRule, waiting: Sequence[str], evicted: int, allocations: Sequence[AllocationResult]
    ) -> Task:
        """Write the condition if it has changed.

        ``waiting`` has the namespace of each pod that is to go (for a rule without effect: that would have to),
        ``evicted`` is how many went, ``allocations`` are all there are.
        """
        meta = rule.metadata
        content = self._describe(rule, waiting, evicted, allocations)
        known = self._written.get(meta.name)
        if (
            known is not None
            and known[0] == meta.uid
            and (known[2] == content or known[2][1] == content[1] == "NoEffect")
        ):
            return None
        now_s = self._clock.now()
        condition: Tree = {
            "type": _CONDITION,
            "status": content[0],
            "reason": content[1],
            "message": content[2],
            "observedGeneration": meta.generation,
            "lastTransitionTime": format_time(now_s),
        }
        body = orjson.dumps({"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}})
        response = yield Request("patch", "devicetaintrules", "", meta.name, body, "status", MERGE_PATCH)
        if response.code >= 300:
            return None if response.code in (404, 409) else response.message or "the status cannot be written"
        self._written[meta.name] = (meta.uid, now_s, content)
        return None

    def _describe(
        self, rule: DeviceTaintRule, waiting: Sequence[str], evicted: int, allocations: Sequence[AllocationResult]
    ) -> tuple[str, str, str]:
        """Return status, reason and message."""
        effect = rule.spec.taint.effect
        done = f"{_count(evicted, 'pod')} evicted since starting the controller."
        if effect == NO_EXECUTE:
            if waiting:
                verb = "needs" if len(waiting) == 1 else "need"
                text = f"{_count(len(waiting), 'pod')} {verb} to be evicted in {_places(waiting)}. {done}"
                return "True", "PodsPendingEviction", text
            return "False", "Completed" if evicted else "NotStarted", done
        if effect == "None":
            return "False", "NoEffect", f"{self._describe_dry_run(rule, waiting, allocations)} {done}"
        return "False", "OtherEffect", f"Eviction only happens for the effect {NO_EXECUTE}. {done}"

    def _describe_dry_run(
        self, rule: DeviceTaintRule, waiting: Sequence[str], allocations: Sequence[AllocationResult]
    ) -> str:
        selector = rule.spec.device_selector
        used = {
            (r.driver, r.pool, r.device)
            for allocation in allocations
            for r in allocation.devices.results
            if selects(selector, r.driver, r.pool, r.device)
        }
        published = _count(self._taints.count_selected(rule), "published device")
        return (
            f"{published} selected. {_count(len(used), 'allocated device')} selected. "
            f"{_count(len(waiting), 'pod')} would be evicted in {_places(waiting)} if the effect was {NO_EXECUTE}. "
            "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
        )


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def _places(namespaces: Sequence[str]) -> str:
    amount = len(set(namespaces))
    return "1 namespace" if amount == 1 else f"{amount} different namespaces"
