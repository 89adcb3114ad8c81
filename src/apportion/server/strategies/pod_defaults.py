"""Defaults of pods that only a kubelet reads; those that scheduling reads are in ``api.defaults``.

Source: pkg/apis/core/v1/defaults.go.
"""

from typing import Any, Final

from apportion.api import Quantity, Tree, parse_quantity

_COMPUTE: Final = ("cpu", "memory")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODE: Final = 420


def complete_pod_spec(spec: Tree) -> Tree:
    """Return the spec of a pod or of a pod template with all defaults but those of ``api.set_defaults``."""
    spec = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        **spec,
    }
    for name in ("containers", "initContainers"):
        if isinstance(spec.get(name), list):
            spec[name] = [_complete_container(c) for c in spec[name]]
    if isinstance(spec.get("volumes"), list):
        spec["volumes"] = [_complete_volume(v) for v in spec["volumes"]]
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    return spec


def _complete_container(container: Tree) -> Tree:
    done: Tree = {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": _get_pull_policy(container.get("image") or ""),
        **container,
    }
    if "ports" in done:
        done["ports"] = [{"protocol": "TCP", **p} for p in done["ports"]]
    for name in _PROBES:
        if name in done:
            done[name] = _complete_probe(done[name])
    if "env" in done:
        done["env"] = [_complete_variable(e) for e in done["env"]]
    return done


def _get_pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    tag = name.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _complete_probe(probe: Tree) -> Tree:
    done = {**_PROBE, **probe}
    if "httpGet" in done:
        done["httpGet"] = {"path": "/", "scheme": "HTTP", **done["httpGet"]}
    return done


def _complete_variable(variable: Tree) -> Tree:
    reference = (variable.get("valueFrom") or {}).get("fieldRef")
    if reference is None:
        return variable
    source = {**variable["valueFrom"], "fieldRef": {"apiVersion": "v1", **reference}}
    return {**variable, "valueFrom": source}


def _complete_volume(volume: Tree) -> Tree:
    if len(volume) == 1:
        return {**volume, "emptyDir": {}}
    for name in ("configMap", "secret", "downwardAPI", "projected"):
        if name in volume:
            return {**volume, name: {"defaultMode": _MODE, **volume[name]}}
    if "hostPath" in volume:
        return {**volume, "hostPath": {"type": "", **volume["hostPath"]}}
    return volume


# ---- quality of service -----------------------------------------------------------------------------------


def get_qos_class(spec: Tree) -> str:
    """Return the quality of service class. Source: pkg/apis/core/v1/helper/qos/qos.go."""
    if spec.get("resources"):  # what stands at the pod decides for all its containers
        parts = [spec["resources"]]
    else:
        containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
        parts = [c.get("resources") or {} for c in containers]
    amounts = [(_read(p, "requests"), _read(p, "limits")) for p in parts]
    if not any(requests or limits for requests, limits in amounts):
        return "BestEffort"
    guaranteed = all(len(limits) == len(_COMPUTE) and requests == limits for requests, limits in amounts)
    return "Guaranteed" if guaranteed else "Burstable"


def _read(resources: Any, name: str) -> dict[str, Quantity]:
    amounts = {n: parse_quantity(v) for n, v in (resources.get(name) or {}).items() if n in _COMPUTE}
    return {n: q for n, q in amounts.items() if q != parse_quantity(0)}
