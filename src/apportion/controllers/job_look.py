"""One look at a job: its pods sorted and counted, and whether it has ended. Source: job_controller.go, syncJob."""

from typing import Final

from apportion.api import Tree
from apportion.controllers.conditions import find_condition, has_true
from apportion.controllers.job_indexes import Indexes
from apportion.controllers.job_pods import Backoff, find_index, get_end_s, get_failures, has_finalizer
from apportion.controllers.job_policies import find_met_success_rule, judge_failed_pod
from apportion.controllers.times import format_time, parse_time
from apportion.controllers.workload_objects import Pod, Workload

BACKOFF_LIMIT_MESSAGE: Final = "Job has reached the specified backoff limit"
DEADLINE_MESSAGE: Final = "Job was active longer than specified deadline"


class JobLook:
    """A job at one moment. ``status`` is what will be written, ``ending`` the condition with which the job ends."""

    def __init__(self, job: Workload, pods: list[Pod], backoff: Backoff, now_s: float) -> None:
        self.job = job
        self.now_s = now_s
        self.spec = job.spec
        self.completions: int | None = job.spec.get("completions")
        self.parallelism = int(job.spec.get("parallelism", 1))
        self.is_indexed = job.spec.get("completionMode") == "Indexed"
        self.replaces_failed_only = job.spec.get("podReplacementPolicy") == "Failed"
        self.limit_per_index: int | None = job.spec.get("backoffLimitPerIndex")
        self.failure_policy: Tree | None = job.spec.get("podFailurePolicy")
        self.is_suspended = bool(job.spec.get("suspend"))
        self.status: Tree = dict(job.status)
        self.conditions: list[Tree] = list(job.status.get("conditions") or [])
        uncounted = job.status.get("uncountedTerminatedPods") or {}
        self.uncounted: dict[str, list[str]] = {k: list(uncounted.get(k) or ()) for k in ("succeeded", "failed")}
        self.ending: Tree | None = None
        self.set_pods(pods)
        self._count(backoff)

    def set_pods(self, pods: list[Pod]) -> None:
        """Take note of the pods as they are now."""
        self.pods = pods
        self.active = [p for p in pods if p.is_active]
        self.terminating = len([p for p in pods if p.is_terminating])

    def _count(self, backoff: Backoff) -> None:
        fresh = [p for p in self.pods if has_finalizer(p) and (not self.is_indexed or self.find_index(p) is not None)]
        known = {*self.uncounted["succeeded"], *self.uncounted["failed"]}
        fresh = [p for p in fresh if p.uid not in known]
        succeeded = [p for p in fresh if p.phase == "Succeeded"]
        failed = [p for p in fresh if self.is_failed(p) and judge_failed_pod(self.failure_policy, p).counts]
        self.succeeded = self.job.count("succeeded") + len(succeeded) + len(self.uncounted["succeeded"])
        self.failed = self.job.count("failed") + len(failed) + len(self.uncounted["failed"])
        self.backoff = backoff.add(succeeded, failed) if succeeded or failed else backoff
        self._count_indexes()

    def _count_indexes(self) -> None:
        completions = self.completions or 0
        self.known_indexes = Indexes.parse(self.status.get("completedIndexes", ""), completions)
        self.done_indexes = self.failed_indexes = Indexes()
        self.delayed: dict[int, Pod] = {}  # the last failed pod of each index that waits for its next one
        if not self.is_indexed:
            return
        fresh = [p for p in self.pods if p.phase == "Succeeded" and has_finalizer(p)]
        self.done_indexes = self.known_indexes.add(i for i in map(self.find_index, fresh) if i is not None)
        self.succeeded = len(self.done_indexes)
        if self.limit_per_index is not None:
            failed = Indexes.parse(self.status.get("failedIndexes", ""), completions)
            lost = (self.find_index(p) for p in self.pods if has_finalizer(p) and self._ends_index(p))
            self.failed_indexes = failed.add(i for i in lost if i is not None)
            self._find_delayed()

    def _find_delayed(self) -> None:
        busy = {self.find_index(p) for p in self.active}
        for pod in self.pods:
            index = self.find_index(pod)
            if index is None or index in busy or not self.is_failed(pod):
                continue
            if index in self.done_indexes or index in self.failed_indexes:
                continue
            known = self.delayed.get(index)
            if known is None or _get_seniority(known) <= _get_seniority(pod):
                self.delayed[index] = pod

    def _ends_index(self, pod: Pod) -> bool:
        if not self.is_failed(pod):
            return False
        verdict = judge_failed_pod(self.failure_policy, pod)
        limit = self.limit_per_index or 0
        return verdict.action == "FailIndex" or (verdict.counts and get_failures(pod)[0] >= limit)

    def find_index(self, pod: Pod) -> int | None:
        """Return the completion index of a pod."""
        return find_index(pod, self.completions) if self.is_indexed else None

    def is_failed(self, pod: Pod) -> bool:
        """Return whether a pod failed; one that is deleted counts, unless only pods that ended are replaced."""
        if pod.phase == "Failed":
            return True
        return not self.replaces_failed_only and pod.is_deleted and pod.phase != "Succeeded"

    # ---- the end ------------------------------------------------------------------------------------------

    def make_condition(self, name: str, reason: str, message: str, status: str = "True") -> Tree:
        """Return a condition that holds from now on."""
        now = format_time(self.now_s)
        times = {"lastProbeTime": now, "lastTransitionTime": now}
        return {"type": name, "status": status, **times, "reason": reason, "message": message}

    def set_condition(self, name: str, status: str, reason: str, message: str) -> bool:
        """Change a condition; one that does not hold is not added. Returns whether anything changed."""
        known = find_condition(self.conditions, name)
        if known is None and status == "True":
            self.conditions.append(self.make_condition(name, reason, message))
            return True
        if known is None or known["status"] == status:
            return False
        at = self.conditions.index(known)
        self.conditions[at] = self.make_condition(name, reason, message, status)
        return True

    def find_ending(self) -> Tree | None:
        """Return the condition with which the job ends, if it does for another reason than being complete."""
        if has_true(self.conditions, "SuccessCriteriaMet"):
            return find_condition(self.conditions, "SuccessCriteriaMet")
        target = find_condition(self.conditions, "FailureTarget")
        if target is not None and target["status"] == "True":
            return self.make_condition("Failed", target["reason"], target["message"])
        failure = self._find_failure()
        if failure is not None:
            return self.make_condition("FailureTarget", *failure)
        if self.is_indexed:
            met = find_met_success_rule(self.spec.get("successPolicy"), self.completions or 0, self.done_indexes)
            return None if met is None else self.make_condition("SuccessCriteriaMet", "SuccessPolicy", met)
        return None

    def _find_failure(self) -> tuple[str, str] | None:
        """Return reason and message of the job's failure."""
        for pod in self.pods:
            message = judge_failed_pod(self.failure_policy, pod).failure if self.is_failed(pod) else None
            if message is not None:
                return "PodFailurePolicy", message
        if self.failed > int(self.spec.get("backoffLimit", 6)) or self._restarts_too_often():
            return "BackoffLimitExceeded", BACKOFF_LIMIT_MESSAGE
        left = self.get_deadline_s()
        if left is not None and left <= 0:
            return "DeadlineExceeded", DEADLINE_MESSAGE
        most = self.spec.get("maxFailedIndexes")
        if most is not None and len(self.failed_indexes) > most:
            return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
        ended = len(self.failed_indexes) + len(self.done_indexes)
        if len(self.failed_indexes) and ended >= (self.completions or 0):
            return "FailedIndexes", "Job has failed indexes"
        return None

    def _restarts_too_often(self) -> bool:
        """Return whether containers that the kubelet restarts have used up the backoff limit."""
        if self.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return False
        pods = [p for p in self.pods if p.phase in ("Running", "Pending")]
        statuses = (s for p in pods for s in (*p.status.init_container_statuses, *p.status.container_statuses))
        restarts = sum(s.restart_count for s in statuses)
        limit = int(self.spec.get("backoffLimit", 6))
        return restarts > 0 if limit == 0 else restarts >= limit

    def get_deadline_s(self) -> float | None:
        """Return in how many seconds the job has been active for too long; None when it may be for ever."""
        limit, start = self.spec.get("activeDeadlineSeconds"), self.status.get("startTime")
        if limit is None or start is None or self.is_suspended:
            return None
        return parse_time(start) + float(limit) - self.now_s


def _get_seniority(pod: Pod) -> tuple[int, float]:
    return sum(get_failures(pod)), get_end_s(pod)
