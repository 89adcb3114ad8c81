"""Jobs: pods until enough of them have succeeded. Behaviour: pkg/controller/job and pkg/controller/ttlafterfinished."""

from typing import ClassVar, Final

import orjson

from apportion.base import Clock, Rng
from apportion.client import Request, Task
from apportion.controllers.conditions import find_condition
from apportion.controllers.informers import Informers
from apportion.controllers.job_look import JobLook
from apportion.controllers.job_pods import (
    FINALIZER,
    Backoff,
    has_finalizer,
)
from apportion.controllers.job_scaling import JobScaler
from apportion.controllers.job_tracking import is_settled, note_finished_pods, settle_uncounted
from apportion.controllers.object_cache import Item
from apportion.controllers.steps import Refused, Steps, change, send
from apportion.controllers.times import format_time, parse_time
from apportion.controllers.workload_controller import WorkloadController
from apportion.controllers.workload_objects import Pod, Workload

MANAGER: Final = "kubernetes.io/job-controller"


class JobController(WorkloadController):
    """Watches Jobs and pods. Work per event is proportional to the pods of one job."""

    kind: ClassVar[str] = "Job"
    resource: ClassVar[str] = "jobs"
    component: ClassVar[str] = "job-controller"
    pod_finalizers: ClassVar[tuple[str, ...]] = (FINALIZER,)

    def __init__(self, informers: Informers, clock: Clock, rng: Rng) -> None:
        super().__init__(informers, clock, rng)
        self._scaler = JobScaler(self._pod_control, self._pods, self.queue)
        self._backoffs: dict[str, Backoff] = {}  # by the job's key
        self._strays: dict[str, dict[str, None]] = {}  # pods that a finalizer holds for a job that may be gone

    # ---- pods whose job is gone ---------------------------------------------------------------------------

    def _on_owner(self, old: Workload | None, new: Workload | None) -> None:
        super()._on_owner(old, new)
        if old is not None and new is None:
            for pod in self._pods.open_of(old.uid):
                if has_finalizer(pod):
                    self._note_stray(pod)

    def _on_dependent(self, old: Item | None, new: Item | None) -> None:
        super()._on_dependent(old, new)
        if isinstance(new, Pod) and has_finalizer(new):
            self._note_stray(new)

    def _note_stray(self, pod: Pod) -> None:
        reference = pod.metadata.controller
        owner = None
        if reference is not None:
            owner = self._owners.find(pod.metadata.namespace, reference.name)
        if owner is None or reference is None or owner.uid != reference.uid:
            key = f"{pod.metadata.namespace}/{reference.name if reference else ''}"
            self._strays.setdefault(key, {})[pod.metadata.key] = None
            self.queue.add(key)

    def _sync(self, key: str) -> Task:
        try:
            for name in self._strays.pop(key, ()):
                yield from self._free_stray(name)
        except Refused as refusal:
            return str(refusal)
        return (yield from super()._sync(key))

    def _free_stray(self, key: str) -> Steps[None]:
        """Take the finalizer of a pod whose job does not exist; the API itself is asked about that."""
        pod = self._pods.objects.get(key)
        if pod is None or not has_finalizer(pod):
            return
        reference = pod.metadata.controller
        if reference is not None and reference.kind == self.kind:
            known = self._owners.find(pod.metadata.namespace, reference.name)
            if known is not None and known.uid == reference.uid:
                return
            response = yield from send(Request("get", self.resource, pod.metadata.namespace, reference.name), 404)
            if response.code < 300 and orjson.loads(response.body)["metadata"]["uid"] == reference.uid:
                return
        yield from self._scaler.free(pod)

    def _list_pods(self, owner: Workload) -> list[Pod]:
        """Leave out what has ended and is accounted for: that may be very many."""
        matcher = owner.matcher
        return [p for p in self._pods.open_of(owner.uid) if p.is_selected_by(matcher)]

    def _forget(self, key: str) -> None:
        self._backoffs.pop(key, None)

    # ---- one job ------------------------------------------------------------------------------------------

    def _reconcile(self, owner: Workload) -> Steps[None]:
        if owner.spec.get("managedBy", MANAGER) != MANAGER:
            return
        conditions = owner.status.get("conditions") or []
        end = next((c for c in conditions if c["type"] in ("Complete", "Failed") and c["status"] == "True"), None)
        if end is not None:
            yield from self._retire(owner, parse_time(end["lastTransitionTime"]))
            return
        pods = yield from self._claim_pods(owner)
        look = JobLook(owner, pods, self._backoffs.get(owner.key, Backoff()), self._clock.now())
        if not look.is_suspended and not look.status.get("startTime"):
            look.status["startTime"] = format_time(look.now_s)
        look.ending = look.find_ending()
        refusal = None
        try:
            yield from self._act(look)
        except Refused as problem:
            refusal = problem
            look.ending = None
        look.set_pods(self._list_pods(owner))
        yield from self._track(look)
        if refusal is not None:
            raise refusal

    def _retire(self, job: Workload, ended_s: float) -> Steps[None]:
        """Let the pods of a finished job go, and the job itself when its time is up."""
        self._forget(job.key)
        for pod in self._pods.open_of(job.uid):
            if has_finalizer(pod):
                yield from self._scaler.free(pod)
        ttl = job.spec.get("ttlSecondsAfterFinished")
        if ttl is None or job.is_deleted:
            return
        left = ended_s + float(ttl) - self._clock.now()
        if left > 0:
            self.queue.add_deadline(job.key, left)
            return
        body = orjson.dumps({"preconditions": {"uid": job.uid}, "propagationPolicy": "Foreground"})
        yield from change(Request("delete", self.resource, job.namespace, job.name, body), job.uid)

    def _act(self, look: JobLook) -> Steps[None]:
        """Create and delete pods."""
        if look.ending is not None:
            for pod in look.active:
                yield from self._pod_control.delete(look.job, pod)
            return
        deadline_s = look.get_deadline_s()
        if deadline_s is not None:
            self.queue.add_deadline(look.job.key, deadline_s)
        if look.job.is_deleted:
            return
        yield from self._scaler.manage(look)
        active = any(p.is_active for p in self._pods.open_of(look.job.uid))
        if look.completions is None:
            is_complete = look.succeeded > 0 and not active
        else:
            is_complete = look.succeeded >= look.completions and not active
        if is_complete:
            text = "Reached expected number of succeeded pods"
            look.ending = look.make_condition("SuccessCriteriaMet", "CompletionsReached", text)
        else:
            yield from self._tell_suspension(look)

    def _tell_suspension(self, look: JobLook) -> Steps[None]:
        if look.is_suspended:
            if look.set_condition("Suspended", "True", "JobSuspended", "Job suspended"):
                yield from self._recorder.record(look.job, "Normal", "Suspended", "Job suspended")
        elif look.set_condition("Suspended", "False", "JobResumed", "Job resumed"):
            yield from self._recorder.record(look.job, "Normal", "Resumed", "Job resumed")
            look.status["startTime"] = format_time(look.now_s)  # a deadline does not run while suspended
            deadline_s = look.get_deadline_s()
            if deadline_s is not None:
                self.queue.add_deadline(look.job.key, deadline_s)

    # ---- status -------------------------------------------------------------------------------------------

    def _track(self, look: JobLook) -> Steps[None]:
        """Write the counts in an order that counts every pod once, and the end of the job when all are counted."""
        noted = note_finished_pods(look)
        final = self._announce_end(look)
        yield from self._write(look)
        self._backoffs[look.job.key] = look.backoff
        for pod in noted:
            yield from self._scaler.free(pod)
        look.set_pods(self._list_pods(look.job))
        settle_uncounted(look, {p.uid for p in look.pods if has_finalizer(p)})
        is_over = final is not None and is_settled(look)
        if final is not None and is_over:
            look.conditions.append(final)
            if final["type"] == "Complete":
                look.status["completionTime"] = final["lastTransitionTime"]
        yield from self._write(look)
        if final is not None and is_over:
            yield from self._tell_end(look, final)

    def _announce_end(self, look: JobLook) -> dict[str, str] | None:
        """Write down why a job ends before any finalizer goes; returns the condition that follows."""
        ending = look.ending
        if ending is None:
            return None
        if ending["type"] != "Failed" and find_condition(look.conditions, ending["type"]) is None:
            look.conditions.append(ending)
        name = "Complete" if ending["type"] == "SuccessCriteriaMet" else "Failed"
        return look.make_condition(name, ending["reason"], ending["message"])

    def _write(self, look: JobLook) -> Steps[None]:
        look.status["active"] = len(look.active) or None
        look.status["ready"] = len([p for p in look.active if p.is_ready])
        look.status["terminating"] = look.terminating
        look.status["uncountedTerminatedPods"] = {k: v for k, v in look.uncounted.items() if v}
        look.status["conditions"] = look.conditions or None
        look.job = yield from self._write_status(look.job, look.status)

    def _tell_end(self, look: JobLook, final: dict[str, str]) -> Steps[None]:
        if final["type"] == "Failed":
            yield from self._recorder.record(look.job, "Warning", final["reason"], final["message"])
            return
        if look.completions is not None and look.succeeded > look.completions:
            text = "Too many succeeded pods running after completion count reached"
            yield from self._recorder.record(look.job, "Warning", "TooManySucceededPods", text)
        yield from self._recorder.record(look.job, "Normal", "Completed", "Job completed")
