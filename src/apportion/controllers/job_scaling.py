"""How many pods a job has, and for which indexes. Source: job_controller.go, manageJob."""

import orjson

from apportion.client import STRATEGIC_MERGE_PATCH, Request
from apportion.controllers.job_look import JobLook
from apportion.controllers.job_pods import (
    FINALIZER,
    INDEX_FAILURES,
    INDEX_IGNORED,
    choose_surplus,
    get_backoff_s,
    get_end_s,
    get_failures,
    list_first_pending,
    make_template,
)
from apportion.controllers.job_policies import judge_failed_pod
from apportion.controllers.object_cache import ObjectCache
from apportion.controllers.pod_control import PREFIX_MAX, PodControl
from apportion.controllers.steps import Steps, change
from apportion.controllers.work_queue import WorkQueue
from apportion.controllers.workload_controller import BURST_MAX
from apportion.controllers.workload_objects import Pod


class JobScaler:
    """Creates and deletes the pods of jobs; what has to wait goes into the controller's queue."""

    def __init__(self, control: PodControl, pods: ObjectCache[Pod], queue: WorkQueue[str]) -> None:
        self._control = control
        self._pods = pods
        self._queue = queue

    def free(self, pod: Pod) -> Steps[None]:
        """Take the finalizer of a pod."""
        body = {"metadata": {"uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
        meta = pod.metadata
        request = Request(
            "patch", "pods", meta.namespace, meta.name, orjson.dumps(body), content_type=STRATEGIC_MERGE_PATCH
        )
        response = yield from change(request, pod.uid)
        if response is not None:
            self._pods.confirm(response.body)
        else:
            self._pods.forget(pod)

    def manage(self, look: JobLook) -> Steps[None]:
        """Either delete or create pods; both in one look could give an index two pods."""
        active = len(look.active)
        indexed = look.completions if look.is_indexed else None
        if look.is_suspended:
            yield from self._remove(look, choose_surplus(look.active, indexed, active, look.now_s))
            return
        if look.completions is None:
            wanted = active if look.succeeded > 0 else look.parallelism
        else:
            wanted = max(min(look.completions - look.succeeded, look.parallelism), 0)
        surplus = choose_surplus(look.active, indexed, max(active - wanted, 0), look.now_s)
        if surplus:
            yield from self._remove(look, surplus)
            return
        terminating = look.terminating if look.replaces_failed_only else 0
        missing = wanted - terminating - active
        if missing > 0:
            yield from self._add(look, missing)

    def _remove(self, look: JobLook, pods: list[Pod]) -> Steps[None]:
        """Delete pods that are too many; without finalizer they do not count as failures."""
        if len(pods) > BURST_MAX:
            self._queue.add(look.job.key)
        for pod in pods[:BURST_MAX]:
            yield from self.free(pod)
            yield from self._control.delete(look.job, pod)

    def _add(self, look: JobLook, missing: int) -> Steps[None]:
        if look.limit_per_index is None:
            wait_s = look.backoff.get_remaining_s(look.now_s)
            if wait_s > 0:
                self._queue.add_after(look.job.key, wait_s)
                return
        if missing > BURST_MAX:
            self._queue.add(look.job.key)
        indexes: list[int | None] = [None] * min(missing, BURST_MAX)
        if look.is_indexed:
            indexes = [*self._choose_indexes(look, min(missing, BURST_MAX))]
        for index in indexes:
            template = make_template(look.spec["template"], look.job.name, index, _count_failures(look, index))
            prefix = "" if index is None else _get_prefix(look.job.name, index)
            yield from self._control.create(look.job, template, prefix)
            if index is not None:
                look.delayed.pop(index, None)  # its successor knows of it

    def _choose_indexes(self, look: JobLook, count: int) -> list[int]:
        """Return the indexes that get a pod now; those that failed of late get theirs later."""
        busy = {
            look.find_index(p) for p in look.pods if p.is_active or (look.replaces_failed_only and p.is_terminating)
        }
        done = (look.done_indexes, look.failed_indexes)
        pending = list_first_pending(count, look.completions or 0, done, {i for i in busy if i is not None})
        waits = {i: self._get_wait_s(look, i) for i in pending}
        later = [w for w in waits.values() if w > 0]
        if later:
            self._queue.add_after(look.job.key, min(later))
        return [i for i in pending if waits[i] <= 0]

    def _get_wait_s(self, look: JobLook, index: int) -> float:
        pod = look.delayed.get(index) if look.limit_per_index is not None else None
        if pod is None:
            return 0.0
        return get_end_s(pod) + get_backoff_s(sum(get_failures(pod)) + 1) - look.now_s


def _get_prefix(name: str, index: int) -> str:
    """Return what the name of an index's pod begins with; of a long name the end goes, not the index."""
    suffix = f"-{index}-"
    return name[: PREFIX_MAX - len(suffix)] + suffix


def _count_failures(look: JobLook, index: int | None) -> dict[str, int]:
    """Return the annotations that tell the next pod of an index what went before."""
    if index is None or look.limit_per_index is None:
        return {}
    pod = look.delayed.get(index)
    if pod is None:
        return {INDEX_FAILURES: 0}
    counted, ignored = get_failures(pod)
    if judge_failed_pod(look.failure_policy, pod).action == "Ignore":
        ignored += 1
    else:
        counted += 1
    return {INDEX_FAILURES: counted, **({INDEX_IGNORED: ignored} if ignored else {})}
