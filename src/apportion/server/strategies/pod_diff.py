"""The difference between two pod specs, as the original appends it to a refused update.

The original prints its internal structures, all fields included, and shows the changed lines with three lines around
them. The order of fields is therefore part of the message. Source: pkg/apis/core/types.go, k8s.io/utils/diff.
"""

import difflib
import json
from typing import Any, Final

from apportion.api import Tree

_RESOURCES: Final = ("Limits", "Requests", "Claims")
_CONTAINER: Final = (
    "Name", "Image", "Command", "Args", "WorkingDir", "Ports", "EnvFrom", "Env", "Resources", "ResizePolicy",
    "RestartPolicy", "RestartPolicyRules", "VolumeMounts", "VolumeDevices", "LivenessProbe", "ReadinessProbe",
    "StartupProbe", "Lifecycle", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy",
    "SecurityContext", "Stdin", "StdinOnce", "TTY",
)  # fmt: skip
_SECURITY: Final = (
    "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot", "SupplementalGroups",
    "SupplementalGroupsPolicy", "FSGroup", "FSGroupChangePolicy", "Sysctls", "SeccompProfile", "AppArmorProfile",
    "SELinuxChangePolicy",
)  # fmt: skip
_TOLERATION: Final = ("Key", "Operator", "Value", "Effect", "TolerationSeconds")
_SPEC: Final = (
    "Volumes", "InitContainers", "Containers", "EphemeralContainers", "RestartPolicy",
    "TerminationGracePeriodSeconds", "ActiveDeadlineSeconds", "DNSPolicy", "NodeSelector", "ServiceAccountName",
    "DeprecatedServiceAccount", "AutomountServiceAccountToken", "NodeName", "HostNetwork", "HostPID", "HostIPC",
    "SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain", "SetHostnameAsFQDN", "Affinity", "SchedulerName",
    "Tolerations", "HostAliases", "PriorityClassName", "Priority", "DNSConfig", "ReadinessGates", "RuntimeClassName",
    "Overhead", "EnableServiceLinks", "PreemptionPolicy", "TopologySpreadConstraints", "OS", "SchedulingGates",
    "ResourceClaims", "Resources", "SchedulingGroup", "ShareProcessNamespace", "HostUsers",
)  # fmt: skip
_PARTS: Final = {
    "Containers": _CONTAINER,
    "InitContainers": _CONTAINER,
    "Tolerations": _TOLERATION,
    "SecurityContext": _SECURITY,
    "Resources": _RESOURCES,
}
_JSON_NAMES: Final = {
    "DNSPolicy": "dnsPolicy", "DNSConfig": "dnsConfig", "TTY": "tty", "OS": "os", "HostPID": "hostPID",
    "SELinuxOptions": "seLinuxOptions", "FSGroup": "fsGroup", "FSGroupChangePolicy": "fsGroupChangePolicy",
    "SELinuxChangePolicy": "seLinuxChangePolicy", "DeprecatedServiceAccount": "serviceAccount",
}  # fmt: skip
# What Go prints for a field that is not set, where that is not null.
_EMPTY: Final[dict[str, Any]] = {
    **dict.fromkeys(("HostNetwork", "HostPID", "HostIPC", "Stdin", "StdinOnce", "TTY"), False),
    **dict.fromkeys(
        (
            "Name", "Image", "WorkingDir", "RestartPolicy", "TerminationMessagePath", "TerminationMessagePolicy",
            "ImagePullPolicy", "DNSPolicy", "ServiceAccountName", "DeprecatedServiceAccount", "NodeName", "Hostname",
            "Subdomain", "SchedulerName", "PriorityClassName", "Key", "Operator", "Value", "Effect",
        ),
        "",
    ),
}  # fmt: skip


def print_spec_difference(before: Tree, after: Tree) -> str:
    """Return the changed lines with three lines of context, in hunks; "" when nothing changed."""
    one, other = (json.dumps(_expand(s, _SPEC), indent=1).splitlines() for s in (before, after))
    lines = list(difflib.unified_diff(one, other, lineterm="", n=3))[2:]
    return "".join(f"{line}\n" for line in lines)


def _expand(value: Tree, fields: tuple[str, ...]) -> Tree:
    """Return a structure with all its fields under the names that they have in Go."""
    out = {}
    for field in fields:
        name = _JSON_NAMES.get(field, field[0].lower() + field[1:])
        found = value.get(name)
        part = _PARTS.get(field)
        if found is None:
            out[field] = _EMPTY.get(field)
            if field == "RestartPolicy" and fields is _CONTAINER:  # a pointer there, text at the pod
                out[field] = None
        elif part is not None and isinstance(found, list):
            out[field] = [_expand(item, part) for item in found]
        elif part is not None and isinstance(found, dict):
            out[field] = _expand(found, part)
        else:
            out[field] = found
    return out
