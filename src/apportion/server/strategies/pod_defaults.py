"""Defaults of pods that only a kubelet reads; those that scheduling reads are in ``api.defaults``.

Source: pkg/apis/core/v1/defaults.go.
"""

from typing import Any, Final

from apportion.api import Quantity, Tree, parse_quantity

_COMPUTE: Final = ("cpu", "memory")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODE: Final = 420
_TOKEN_LIFE_S: Final = 3600


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
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")  # the older name of the same
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
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
    if "lifecycle" in done:
        done["lifecycle"] = {
            n: _complete_handler(h) if isinstance(h, dict) else h for n, h in done["lifecycle"].items()
        }
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
    return _complete_handler({**_PROBE, **probe})


def _complete_handler(handler: Tree) -> Tree:
    done = dict(handler)
    if "httpGet" in done:
        done["httpGet"] = {"path": "/", "scheme": "HTTP", **done["httpGet"]}
    if "grpc" in done:
        done["grpc"] = {"service": "", **done["grpc"]}
    return done


def _complete_variable(variable: Tree) -> Tree:
    return (
        {**variable, "valueFrom": _complete_references(variable["valueFrom"])} if "valueFrom" in variable else variable
    )


def _complete_references(source: Tree) -> Tree:
    """Return a source of values with what its references to the pod's own fields leave out."""
    done = dict(source)
    if "fieldRef" in done:
        done["fieldRef"] = {"apiVersion": "v1", **done["fieldRef"]}
    if "resourceFieldRef" in done:
        done["resourceFieldRef"] = {"divisor": "0", **done["resourceFieldRef"]}
    return done


def _complete_volume(volume: Tree) -> Tree:
    if len(volume) == 1:
        return {**volume, "emptyDir": {}}
    for name in ("configMap", "secret", "downwardAPI", "projected"):
        if name in volume:
            return {**volume, name: _complete_files(name, {"defaultMode": _MODE, **volume[name]})}
    if "ephemeral" in volume and isinstance(volume["ephemeral"].get("volumeClaimTemplate"), dict):
        template = volume["ephemeral"]["volumeClaimTemplate"]
        template = {**template, "spec": {"volumeMode": "Filesystem", **(template.get("spec") or {})}}
        return {**volume, "ephemeral": {**volume["ephemeral"], "volumeClaimTemplate": template}}
    if "hostPath" in volume:
        return {**volume, "hostPath": {"type": "", **volume["hostPath"]}}
    return volume


def _complete_files(kind: str, files: Tree) -> Tree:
    if kind == "downwardAPI" and "items" in files:
        return {**files, "items": [_complete_references(i) for i in files["items"]]}
    if kind == "projected":
        return {**files, "sources": [_complete_projection(s) for s in files.get("sources") or ()]}
    return files


def _complete_projection(source: Tree) -> Tree:
    done = dict(source)
    if "serviceAccountToken" in done:
        done["serviceAccountToken"] = {"expirationSeconds": _TOKEN_LIFE_S, **done["serviceAccountToken"]}
    if "downwardAPI" in done:
        done["downwardAPI"] = _complete_files("downwardAPI", done["downwardAPI"])
    return done


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
