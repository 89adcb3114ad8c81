"""Counting each finished pod exactly once: its uid goes into the status, then its finalizer, then its uid again.

Source: job_controller.go, trackJobStatusAndRemoveFinalizers. Whatever happens in between, the next look goes on.
"""

from collections.abc import Iterable
from typing import Final

from apportion.controllers.job_look import JobLook
from apportion.controllers.job_pods import has_finalizer
from apportion.controllers.job_policies import judge_failed_pod
from apportion.controllers.workload_objects import Pod

UNCOUNTED_MAX: Final = 500


def note_finished_pods(look: JobLook) -> list[Pod]:
    """Enter pods that ended into the status; returns those whose finalizer may go once that is written."""
    settle_uncounted(look, {p.uid for p in look.pods if has_finalizer(p)})
    noted: list[Pod] = []
    indexes: set[int] = set()
    for pod in look.pods:
        if not has_finalizer(pod) or not _may_release(look, pod):
            continue
        noted.append(pod)
        _note(look, pod, indexes)
        if len(indexes) + sum(map(len, look.uncounted.values())) >= UNCOUNTED_MAX:
            break
    if look.is_indexed:
        done = look.known_indexes.add(indexes)
        look.status["succeeded"] = len(done) or None
        look.status["completedIndexes"] = str(done) or None
        if look.limit_per_index is not None:
            look.status["failedIndexes"] = str(look.failed_indexes)
    return noted


def _note(look: JobLook, pod: Pod, indexes: set[int]) -> None:
    index = look.find_index(pod)
    if pod.phase == "Succeeded" and pod.uid not in look.uncounted["failed"]:
        if look.is_indexed and index is not None:
            indexes.add(index)  # the index is enough to count it once
        elif not look.is_indexed and pod.uid not in look.uncounted["succeeded"]:
            look.uncounted["succeeded"].append(pod.uid)
        return
    is_lost = look.ending is not None and look.ending["type"] in ("FailureTarget", "Failed")
    if not (look.is_failed(pod) or is_lost) or pod.uid in look.uncounted["failed"]:
        return
    counts = judge_failed_pod(look.failure_policy, pod).counts
    if counts and (not look.is_indexed or index is not None):
        look.uncounted["failed"].append(pod.uid)


def _may_release(look: JobLook, pod: Pod) -> bool:
    if look.job.is_deleted or look.ending is not None or pod.phase == "Succeeded":
        return True
    if not look.is_failed(pod):
        return False
    index = look.find_index(pod)
    delayed = look.delayed.get(index) if index is not None else None
    return delayed is None or delayed.uid != pod.uid  # the next pod of the index has to know of this one


def settle_uncounted(look: JobLook, held: Iterable[str]) -> None:
    """Count the pods in the status that no finalizer holds any more."""
    held = set(held)
    for field, uids in look.uncounted.items():
        left = [u for u in uids if u in held]
        if field == "failed" or not look.is_indexed:
            count = int(look.status.get(field) or 0) + len(uids) - len(left)
            look.status[field] = count or None
        look.uncounted[field] = left


def is_settled(look: JobLook) -> bool:
    """Return whether every pod of a job that ends is counted and gone."""
    return not any(look.uncounted.values()) and look.terminating == 0
