"""What a job says about pods that failed, and about when it has succeeded.

Source: pkg/controller/job/{pod_failure_policy,success_policy}.go; the texts are upstream's.
"""

from typing import NamedTuple

from apportion.api import Tree
from apportion.controllers.job_indexes import Indexes
from apportion.controllers.workload_objects import ContainerStatus, Pod


class Verdict(NamedTuple):
    """What a failed pod means: the rule's action, whether the failure counts, why the job fails, if it does."""

    action: str = "Count"
    counts: bool = True
    failure: str | None = None


def judge_failed_pod(policy: Tree | None, pod: Pod) -> Verdict:
    """Return what the first rule that matches says of a pod; without one the failure counts."""
    for position, rule in enumerate((policy or {}).get("rules") or ()):
        matched = _match_exit_codes(rule, pod, position) or _match_conditions(rule, pod, position)
        if matched is None:
            continue
        action = rule["action"]
        return Verdict(action, action != "Ignore", matched if action == "FailJob" else None)
    return Verdict()


def _match_exit_codes(rule: Tree, pod: Pod, position: int) -> str | None:
    wanted = rule.get("onExitCodes")
    if not wanted:
        return None
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        code = _find_exit_code(status)
        if code and wanted.get("containerName") in (None, status.name):
            is_listed = code in (wanted.get("values") or ())
            if is_listed == (wanted.get("operator") == "In"):
                where = f"Container {status.name} for pod {pod.metadata.namespace}/{pod.name} failed with exit code"
                return f"{where} {code} matching {rule['action']} rule at index {position}"
    return None


def _find_exit_code(status: ContainerStatus) -> int:
    """Return the exit code of a container that failed, else 0."""
    return status.state.terminated.exit_code if status.state.terminated is not None else 0


def _match_conditions(rule: Tree, pod: Pod, position: int) -> str | None:
    for wanted in rule.get("onPodConditions") or ():
        found = pod.find_condition(wanted["type"])
        if found is not None and found.status == wanted.get("status", "True"):
            where = f"Pod {pod.metadata.namespace}/{pod.name} has condition {found.type}"
            return f"{where} matching {rule['action']} rule at index {position}"
    return None


def find_met_success_rule(policy: Tree | None, completions: int, succeeded: Indexes) -> str | None:
    """Return the message of the first success rule that is met."""
    for position, rule in enumerate((policy or {}).get("rules") or ()):
        count = rule.get("succeededCount")
        if rule.get("succeededIndexes") is None:
            is_met = count is not None and len(succeeded) >= count
        else:
            wanted = Indexes.parse(rule["succeededIndexes"], completions)
            is_met = succeeded.count_common(wanted) >= (len(wanted) if count is None else count)
        if is_met:
            return f"Matched rules at index {position}"
    return None
