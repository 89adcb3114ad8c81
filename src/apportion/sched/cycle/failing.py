"""What becomes of a pod whose attempt failed: back to the queue, room made for it, and the API told.

Behaviour: handleSchedulingFailure of pkg/scheduler/schedule_one.go.
"""

from collections.abc import Mapping

from apportion.sched.cycle.evictions import PREEMPTION, Evictor
from apportion.sched.cycle.failure import SCHEDULER_ERROR, UNSCHEDULABLE, failed_condition, failed_event
from apportion.sched.cycle.look import Look
from apportion.sched.cycle.preemption import clear_nominations, lower_nominations
from apportion.sched.cycle.records import Recorder
from apportion.sched.cycle.search import NodeSearch
from apportion.sched.cycle.tasks import TaskRunner
from apportion.sched.cycle.writes import ConditionWriter
from apportion.sched.framework import Code, Diagnosis, PostFilterResult, Status
from apportion.sched.queue import QueuedPod, SchedulingQueue
from apportion.sched.state import ClusterState, PodInfo


class Failures:
    """Ends attempts that failed."""

    def __init__(
        self,
        state: ClusterState,
        search: NodeSearch,
        queue: SchedulingQueue[PodInfo],
        pending: Mapping[str, PodInfo],
        attempts: dict[str, int],
        tasks: TaskRunner,
        conditions: ConditionWriter,
        evictor: Evictor | None,
        recorder: Recorder | None,
    ) -> None:
        """``pending``: pods without a node as the API has them; ``attempts`` are counted by result.

        Without ``evictor`` nobody is asked whether room can be made.
        """
        self._state = state
        self._search = search
        self._queue = queue
        self._pending = pending
        self._attempts = attempts
        self._tasks = tasks
        self._conditions = conditions
        self._evictor = evictor
        self._recorder = recorder

    def reject(self, entity: QueuedPod[PodInfo], look: Look) -> None:
        """Park a pod that fits nowhere, after asking whether room can be made for it."""
        recorder = self._recorder
        diagnosis = self._search.diagnose(look)
        rejected = diagnosis.pre_filter
        asks = self._evictor is not None and (rejected is None or rejected.code is not Code.ERROR)
        begun_s = recorder.now() if recorder is not None else 0.0
        result = self._search.post_filter(look, diagnosis) if asks else None
        if recorder is not None and result is not None:
            recorder.point("PostFilter", look.pod.scheduler_name, begun_s, result.status.code.text)
        self.park(entity, look.pod, diagnosis, result)

    def park(
        self, entity: QueuedPod[PodInfo], pod: PodInfo, diagnosis: Diagnosis, result: PostFilterResult | None
    ) -> None:
        """Park a pod that fits nowhere, and do what PostFilter made of it."""
        rejected = diagnosis.pre_filter
        if rejected is not None and rejected.code is Code.ERROR:
            self.fail(entity, pod, rejected.message)
            return
        message = diagnosis.message()
        if result is not None:
            message += f" {'' if result.commands else 'preemption: '}{result.status.message}"
        self._count(entity, pod, message, result)
        # before the pod is queued, so that it waits for its evictions wherever it goes
        victims = result.victims if result is not None else ()
        eviction = self._evictor.begin(pod, victims) if self._evictor is not None and victims else None
        self._requeue(entity, diagnosis.unschedulable_plugins(), diagnosis.pending_plugins())
        nominated = self._nominate(pod, result)
        self._tell(pod, UNSCHEDULABLE, message, nominated)
        if nominated:
            self._give_up_places(pod, nominated)
        if self._evictor is not None and eviction is not None:
            self._evictor.evict(eviction, nominated or "")
        for command in result.commands if result is not None else ():
            self._tasks.send(command)

    def settle(self, entity: QueuedPod[PodInfo], pod: PodInfo, status: Status) -> None:
        """Requeue after Reserve or the binding failed: by its plugin when rejected, by error backoff otherwise."""
        if not status.code.is_rejected:
            self.fail(entity, pod, status.message)
            return
        self._count(entity, pod, status.message)
        text = f"0/{self._state.nodes.count} nodes are available: 1 {status.message}."
        if self._requeue(entity, frozenset({status.plugin}), frozenset()):
            self._tell(pod, UNSCHEDULABLE, text)

    def fail(self, entity: QueuedPod[PodInfo], pod: PodInfo, message: str) -> None:
        """Requeue after an error."""
        self._attempts["error"] += 1
        if self._recorder is not None:
            self._recorder.end(entity, pod, "error", reason=message)
        if self._requeue(entity, frozenset(), frozenset()):
            self._tell(pod, SCHEDULER_ERROR, message)

    def _count(
        self, entity: QueuedPod[PodInfo], pod: PodInfo, message: str, result: PostFilterResult | None = None
    ) -> None:
        self._attempts["unschedulable"] += 1
        if self._recorder is not None:
            self._recorder.end(entity, pod, "unschedulable", reason=message)
            if result is not None and result.status.plugin == PREEMPTION:
                self._recorder.count_preemption(len(result.victims))

    def _requeue(self, entity: QueuedPod[PodInfo], unschedulable: frozenset[str], pending: frozenset[str]) -> bool:
        """Take the pod back as the API has it now; one that is gone or has a node by now is not tried again.

        Returns False for the latter: nothing is to be told of it.
        """
        current = self._pending.get(entity.uid)
        if current is None:
            self._queue.done(entity.uid)
            return False
        entity.pod = current
        self._queue.add_unschedulable(entity, unschedulable, pending)
        return True

    def _nominate(self, pod: PodInfo, result: PostFilterResult | None) -> str | None:
        """Follow PostFilter's nomination; returns what the API has to hear of it, None for nothing."""
        if result is None or result.nominated_node_name is None:
            return None
        self._queue.nominator.add(pod, result.nominated_node_name)
        changed = result.nominated_node_name != pod.nominated_node_name
        return result.nominated_node_name if changed or result.victims else None

    def _give_up_places(self, pod: PodInfo, node_name: str) -> None:
        """Clear the nominations of less important pods to the node."""
        nominator = self._queue.nominator
        for command in clear_nominations(nominator, lower_nominations(nominator, pod, node_name)):
            self._tasks.send(command)

    def _tell(self, pod: PodInfo, reason: str, message: str, nominated: str | None = None) -> None:
        self._tasks.send(failed_event(pod, message))
        condition = failed_condition(pod, reason, message, nominated)
        known = self._pending.get(pod.uid, pod)
        self._tasks.run(self._conditions.write(condition, known), _ignore)


def _ignore(status: Status | None) -> None:
    """Nothing goes on with how the condition was written."""
