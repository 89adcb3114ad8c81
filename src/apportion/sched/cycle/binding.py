"""A pod on its way to its node: held by Permit plugins, prepared by PreBind plugins, bound, and told of.

Behaviour: bindingCycle of pkg/scheduler/schedule_one.go.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from apportion.sched.cycle.extenders import EXTENDER, bind_with
from apportion.sched.cycle.records import Recorder
from apportion.sched.framework import (
    Code,
    CommandGenerator,
    Extender,
    NominatePod,
    Plan,
    Plugin,
    PreBindPlugin,
    Profile,
    Status,
    Together,
    Wait,
    WaitingPod,
    error,
)
from apportion.sched.queue import QueuedPod
from apportion.sched.state import PodInfo

_log = logging.getLogger(__name__)


class Binding:
    """One pod that is assumed and reserved; ``steps`` takes it to its node."""

    __slots__ = (
        "_binders",
        "_cancelled",
        "_is_prebound",
        "_waits",
        "entity",
        "plan",
        "pod",
        "profile",
        "recorder",
        "row",
    )

    def __init__(
        self,
        entity: QueuedPod[PodInfo],
        profile: Profile,
        plan: Plan,
        pod: PodInfo,
        row: int,
        binders: tuple[Extender, ...] = (),
        recorder: Recorder | None = None,
    ) -> None:
        """``binders`` are extenders that may bind the pod in place of the Bind plugins."""
        self.entity = entity
        self.profile = profile
        self.plan = plan
        self.pod = pod
        self.row = row
        self._binders = binders
        self.recorder = recorder
        self._cancelled = ""
        self._is_prebound = False
        self._waits: list[Wait] = []  # those of PreBind plugins

    def cancel(self, message: str) -> bool:
        """Have the binding fail before the pod is bound; False when it is too late for that."""
        if not self._is_prebound:
            self._cancelled = self._cancelled or message
            for wait in self._waits:
                wait.resolve(error("", message))
        return bool(self._cancelled)

    def steps(self, waiting: WaitingPod | None, on_permitted: Callable[[], None]) -> CommandGenerator:
        """Yield what has to be done; returns what went wrong. ``on_permitted`` is called when nobody holds the pod.

        From there on a failure is an error, whatever its code, and no event can be missed.
        """
        needed = [p for p in self.profile.pre_binds if self._needs(p)]
        if waiting is not None or any(p.waits_in_pre_bind(self.pod, self.row, self._state_of(p)) for p in needed):
            # whoever looks at the pod meanwhile, or after a restart, shall know where it is expected
            yield NominatePod(self.pod.namespace, self.pod.name, self.pod.uid, self.pod.node_name)
        if waiting is not None:
            begun_s = self._now()
            status = waiting.settle((yield waiting.wait))
            if self.recorder is not None:
                self.recorder.waited(begun_s, "Success" if status is None else status.code.text)
            if status is not None:
                return status
        on_permitted()
        if needed:
            begun_s = self._now()
            for group in _group(needed):
                status = yield from self._pre_bind(group)
                if status is not None:
                    self._note("PreBind", begun_s, status)
                    return status
            self._note("PreBind", begun_s, None)
        if self._cancelled:
            return error("", self._cancelled)
        self._is_prebound = True
        recorder = self.recorder
        begun_s = recorder.now() if recorder is not None else 0.0
        status = yield from self._bind()
        if recorder is not None:
            self._note("Bind", begun_s, status)
        if status is None:
            self._post_bind()
        return status

    def _now(self) -> float:
        return self.recorder.now() if self.recorder is not None else 0.0

    def _note(self, point: str, begun_s: float, status: Status | None) -> None:
        if self.recorder is not None:
            result = "Success" if status is None else status.code.text
            self.recorder.point(point, self.profile.scheduler_name, begun_s, result)

    def _state_of(self, plugin: Plugin) -> object:
        return self.plan.states.get(plugin.name)

    def _needs(self, plugin: PreBindPlugin) -> bool:
        state = self._state_of(plugin)
        return state is not None and plugin.pre_bind_pre_flight(self.pod, self.row, state)

    def _pre_bind(self, group: list[PreBindPlugin]) -> CommandGenerator:
        tasks = [
            name_faults(p.name, self._note_waits(p.pre_bind(self.pod, self.row, self._state_of(p)))) for p in group
        ]
        if len(tasks) == 1:
            return (yield from tasks[0])
        results: list[Status | None] = yield Together(tasks)
        return next((status for status in results if status is not None), None)

    def _note_waits(self, task: CommandGenerator) -> CommandGenerator:
        """Run a task so that `cancel` ends what it waits for."""
        answer: object = None
        while True:
            try:
                step = task.send(answer)
            except StopIteration as end:
                result: Status | None = end.value
                return result
            if isinstance(step, Wait):
                self._waits.append(step)
                if self._cancelled:
                    step.resolve(error("", self._cancelled))
            answer = yield step

    def _bind(self) -> CommandGenerator:
        if self._binders:
            status = yield from name_faults(EXTENDER, bind_with(self._binders, self.pod))
            if status is None or status.code is not Code.SKIP:
                return status
        for plugin in self.profile.binds:
            status = yield from name_faults(plugin.name, plugin.bind(self.pod, self.row, self._state_of(plugin)))
            if status is None or status.code is not Code.SKIP:
                return status
        return error("", "no Bind plugin of the profile binds this pod")

    def _post_bind(self) -> None:
        for plugin in self.profile.post_binds:
            try:
                plugin.post_bind(self.pod, self.row, self._state_of(plugin))
            except Exception as fault:  # the pod is bound; nothing can be taken back
                _log.error("plugin %s failed after %s was bound: %r", plugin.name, self.pod.key, fault)


def _group(plugins: Iterable[PreBindPlugin]) -> Iterator[list[PreBindPlugin]]:
    """Yield groups whose members run at the same time: neighbours that allow it."""
    for is_parallel, group in groupby(plugins, key=lambda p: p.allows_parallel_pre_bind):
        members = list(group)
        yield from [members] if is_parallel else ([p] for p in members)


def name_faults(plugin: str, task: CommandGenerator) -> CommandGenerator:
    """Run a plugin's task; a fault of it becomes an error that names the plugin."""
    try:
        return (yield from task)
    except Exception as fault:
        _log.error("plugin %s failed: %r", plugin, fault, exc_info=_log.isEnabledFor(logging.DEBUG))
        return error(plugin, f"plugin {plugin} failed: {type(fault).__name__}: {fault}")
