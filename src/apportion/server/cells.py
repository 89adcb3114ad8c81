"""What stands in the cells of tables. Source: pkg/printers/internalversion/printers.go upstream."""

from typing import Any

from apportion.api import Tree
from apportion.server.timestamps import format_age, format_duration, parse_time

NONE = "<none>"


def read(tree: Tree, path: str, default: Any = None) -> Any:
    """Return the value at a dotted path, or a default when it is absent."""
    value: Any = tree
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return default if value is None else value


def print_age(tree: Tree, now_s: float) -> str:
    return format_age(tree["metadata"].get("creationTimestamp"), now_s)


def print_selector(selector: Any) -> str:
    """Return a label selector, or plain labels, in kubectl's notation."""
    if not selector:
        return NONE
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{k}={v}" for k, v in sorted(selector.items()))
    parts = [f"{k}={v}" for k, v in sorted((selector.get("matchLabels") or {}).items())]
    for e in selector.get("matchExpressions") or ():
        operator, values = e["operator"], ",".join(sorted(e.get("values") or ()))
        if operator in ("In", "NotIn"):
            parts.append(f"{e['key']} {operator.lower()} ({values})")
        else:
            parts.append(e["key"] if operator == "Exists" else f"!{e['key']}")
    return ",".join(parts) or NONE


def print_containers(tree: Tree, field: str) -> str:
    return ",".join(c.get(field, "") for c in read(tree, "spec.template.spec.containers", []))


# ---- pods -------------------------------------------------------------------------------------------------


def print_pod_ready(tree: Tree) -> str:
    ready = sum(1 for s in read(tree, "status.containerStatuses", []) if s.get("ready"))
    return f"{ready}/{len(read(tree, 'spec.containers', []))}"


def print_pod_status(tree: Tree) -> str:
    """Return the phase, or what a container or a gate says more precisely."""
    reason = read(tree, "status.reason") or read(tree, "status.phase", "Unknown")
    for condition in read(tree, "status.conditions", []):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    for status in reversed(read(tree, "status.containerStatuses", [])):
        for state in ("waiting", "terminated"):
            reason = read(status, f"state.{state}.reason") or reason
    if tree["metadata"].get("deletionTimestamp") and read(tree, "status.phase") not in ("Succeeded", "Failed"):
        return "Terminating"
    return str(reason)


def print_restarts(tree: Tree) -> str:
    return str(sum(s.get("restartCount", 0) for s in read(tree, "status.containerStatuses", [])))


def print_readiness_gates(tree: Tree) -> str:
    gates = [g.get("conditionType") for g in read(tree, "spec.readinessGates", [])]
    true = [c["type"] for c in read(tree, "status.conditions", []) if c.get("status") == "True"]
    return f"{sum(1 for g in gates if g in true)}/{len(gates)}" if gates else NONE


# ---- nodes ------------------------------------------------------------------------------------------------


def print_node_status(tree: Tree) -> str:
    ready = [c for c in read(tree, "status.conditions", []) if c.get("type") == "Ready"]
    status = "Unknown"
    if ready:
        status = "Ready" if ready[0].get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if read(tree, "spec.unschedulable") else status


def print_roles(tree: Tree) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = tree["metadata"].get("labels") or {}
    roles = {k.removeprefix(prefix) for k in labels if k.startswith(prefix)}
    roles |= {v for k, v in labels.items() if k == "kubernetes.io/role"}
    return ",".join(sorted(r for r in roles if r)) or NONE


def print_address(tree: Tree, address_type: str) -> str:
    addresses = read(tree, "status.addresses", [])
    return next((a.get("address", NONE) for a in addresses if a.get("type") == address_type), NONE)


def print_kernel(tree: Tree) -> str:
    """Return the kernel's version, with the architecture behind it."""
    kernel, architecture = read(tree, "status.nodeInfo.kernelVersion"), read(tree, "status.nodeInfo.architecture")
    return f"{kernel} ({architecture})" if kernel and architecture else kernel or "<unknown>"


# ---- workloads --------------------------------------------------------------------------------------------


def print_ready_share(tree: Tree) -> str:
    return f"{read(tree, 'status.readyReplicas', 0)}/{read(tree, 'spec.replicas', 0)}"


def print_job_status(tree: Tree) -> str:
    true = {c["type"] for c in read(tree, "status.conditions", []) if c.get("status") == "True"}
    named = (("Complete", "Complete"), ("Failed", "Failed"))
    found = next((text for name, text in named if name in true), None)
    if found is None and tree["metadata"].get("deletionTimestamp"):
        return "Terminating"
    late = (
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    )
    return found or next((text for name, text in late if name in true), "Running")


def print_completions(tree: Tree) -> str:
    succeeded, wanted = read(tree, "status.succeeded", 0), read(tree, "spec.completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = read(tree, "spec.parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def print_job_duration(tree: Tree, now_s: float) -> str:
    start, end = read(tree, "status.startTime"), read(tree, "status.completionTime")
    if not start:
        return ""
    return format_duration(int((parse_time(end) if end else now_s) - parse_time(start)))


# ---- claims and events ------------------------------------------------------------------------------------


def print_claim_state(tree: Tree) -> str:
    states = ["deleted"] if tree["metadata"].get("deletionTimestamp") else []
    if not read(tree, "status.allocation"):
        return ",".join([*states, "pending"]) if not states else ",".join(states)
    states.append("allocated")
    if read(tree, "status.reservedFor"):
        states.append("reserved")
    return ",".join(states)


def print_event_object(tree: Tree) -> str:
    kind, name = read(tree, "involvedObject.kind", ""), read(tree, "involvedObject.name", "")
    return f"{kind.lower()}/{name}" if kind else name


def print_event_time(tree: Tree, now_s: float, first: bool) -> str:
    """Return when an event was seen first or last; events of a series keep it elsewhere."""
    names = ["firstTimestamp"] if first else ["series.lastObservedTime", "lastTimestamp"]
    time = next((read(tree, n) for n in [*names, "eventTime"] if read(tree, n)), None)
    return format_age(time or (None if first else tree["metadata"].get("creationTimestamp")), now_s)


def print_event_source(tree: Tree) -> str:
    component = read(tree, "source.component") or read(tree, "reportingComponent", "")
    instance = read(tree, "source.host") or read(tree, "reportingInstance", "")
    return f"{component}, {instance}" if instance else component


def print_group_policy(tree: Tree) -> str:
    policy = read(tree, "spec.schedulingPolicy", {})
    return "Gang" if "gang" in policy else "Basic" if "basic" in policy else NONE
