"""The pods of a job: which index they are for, when they ended, how long the next one has to wait."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apportion.api import Tree
from apportion.controllers.job_indexes import Indexes
from apportion.controllers.pod_ranking import sort_by_rank
from apportion.controllers.times import parse_time
from apportion.controllers.workload_objects import Pod

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
FIRST_BACKOFF_S: Final = 10.0
LONGEST_BACKOFF_S: Final = 600.0
_DOUBLINGS_MAX: Final = 8


def has_finalizer(pod: Pod) -> bool:
    """Return whether the pod has not been accounted for."""
    return FINALIZER in pod.metadata.finalizers


def find_index(pod: Pod, completions: int | None) -> int | None:
    """Return the completion index of a pod, None when it has none of this job."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX, "")
    if not text.isdecimal() or completions is None or int(text) >= completions:
        return None
    return int(text)


def get_failures(pod: Pod) -> tuple[int, int]:
    """Return how many pods of its index had failed before this one: those that count, and those that do not."""
    texts = [pod.metadata.annotations.get(name, "0") for name in (INDEX_FAILURES, INDEX_IGNORED)]
    counted, ignored = (int(t) if t.isdecimal() else 0 for t in texts)
    return counted, ignored


def get_end_s(pod: Pod) -> float:
    """Return when a finished or deleted pod ended: its last container, or else the best guess there is."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    ends = [s.state.terminated.finished_at for s in statuses if s.state.terminated and s.state.terminated.finished_at]
    if ends:
        return max(parse_time(e) for e in ends)
    ready = pod.find_condition("Ready")
    guesses = (
        ready.last_transition_time if ready is not None else None,
        pod.metadata.deletion_timestamp,
        pod.metadata.creation_timestamp,
    )
    return next((parse_time(g) for g in guesses if g), 0.0)


def get_backoff_s(failures: int) -> float:
    """Return how long to wait after so many failures in a row."""
    return min(FIRST_BACKOFF_S * 2.0 ** min(failures - 1, _DOUBLINGS_MAX), LONGEST_BACKOFF_S) if failures > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Failures since the last success, and when the last one was. Kept in memory, as upstream."""

    failures: int = 0
    last_s: float = 0.0

    def add(self, succeeded: Iterable[Pod], failed: Iterable[Pod]) -> "Backoff":
        """Return the record with pods that ended since it was made."""
        failures = sorted(get_end_s(p) for p in failed)
        success_s = max((get_end_s(p) for p in succeeded), default=None)
        if success_s is not None:
            since = [f for f in failures if f > success_s]
            return Backoff(len(since), since[-1] if since else 0.0)
        return Backoff(self.failures + len(failures), max([self.last_s, *failures]))

    def get_remaining_s(self, now_s: float) -> float:
        """Return how long no new pod may start."""
        return max(self.last_s + get_backoff_s(self.failures) - now_s, 0.0) if self.failures else 0.0


def choose_surplus(active: Sequence[Pod], completions: int | None, count: int, now_s: float) -> list[Pod]:
    """Return active pods to delete: all with a wrong or a second pod of an index, and ``count`` at least.

    ``completions`` is None for a job without indexes.
    """
    surplus: list[Pod] = []
    left = list(active)
    if completions is not None:
        groups: dict[int | None, list[Pod]] = {}
        for pod in active:
            groups.setdefault(find_index(pod, completions), []).append(pod)
        for index, group in groups.items():
            ranked = _rank(group, now_s)
            surplus += ranked if index is None else ranked[:-1]
        gone = {p.uid for p in surplus}
        left = [p for p in active if p.uid not in gone]
    return surplus + _rank(left, now_s)[: max(count - len(surplus), 0)]


def _rank(pods: Sequence[Pod], now_s: float) -> list[Pod]:
    return sort_by_rank(pods, Counter(), now_s)


def list_first_pending(count: int, completions: int, done: Iterable[Indexes], busy: set[int]) -> list[int]:
    """Return the first ``count`` indexes that are neither done nor busy."""
    sets = list(done)
    found: list[int] = []
    index = 0
    while index < completions and len(found) < count:
        after = max((s.next_missing(index) for s in sets), default=index)
        if after > index:
            index = after
            continue
        if index not in busy:
            found.append(index)
        index += 1
    return found


def make_template(template: Tree, job_name: str, index: int | None, failures: Mapping[str, int]) -> Tree:
    """Return the template of a job's next pod; ``failures`` are annotations of the index."""
    meta = template.get("metadata") or {}
    finalizers = [*(meta.get("finalizers") or []), FINALIZER]
    meta = {**meta, "finalizers": list(dict.fromkeys(finalizers))}
    spec = template["spec"]
    if index is None:
        return {**template, "metadata": meta}
    texts = {COMPLETION_INDEX: str(index), **{k: str(v) for k, v in failures.items()}}
    meta["annotations"] = {**(meta.get("annotations") or {}), **texts}
    meta["labels"] = {**(meta.get("labels") or {}), COMPLETION_INDEX: str(index)}
    return {**template, "metadata": meta, "spec": {**_tell_index(spec), "hostname": f"{job_name}-{index}"}}


def _tell_index(spec: Tree) -> Tree:
    """Have every container find its index in its environment."""
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    variable: dict[str, Any] = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    told = dict(spec)
    for field in ("initContainers", "containers"):
        if spec.get(field):
            told[field] = [_add_variable(c, variable) for c in spec[field]]
    return told


def _add_variable(container: Tree, variable: Tree) -> Tree:
    known = container.get("env") or []
    if any(e.get("name") == variable["name"] for e in known):
        return container
    return {**container, "env": [*known, variable]}
