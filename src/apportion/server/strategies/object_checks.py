"""What is wrong with objects that scheduling does not read. Source: pkg/apis/*/validation/validation.go upstream."""

import re
from collections.abc import Callable
from typing import Any, Final

from apportion.api import Tree, parse_quantity
from apportion.base import ValidationError
from apportion.server.strategies.fields import invalid, read_path
from apportion.server.strategies.pod_checks import check_running_pod
from apportion.server.strategies.pod_groups import check_pod_group

_SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PORT_MAX: Final = 65535
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_DATA_BYTES_MAX: Final = 1 << 20
_PERCENT_TEXT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_SECRET_KEYS: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def _require(field: str, why: str = "") -> ValidationError:
    return ValidationError(field, f"Required value: {why}" if why else "Required value")


def _unsupported(field: str, value: Any, known: tuple[str, ...]) -> ValidationError:
    listed = ", ".join(f'"{k}"' for k in known)
    return ValidationError(field, f'Unsupported value: "{value}": supported values: {listed}')


# ---- services -------------------------------------------------------------------------------------------------


def _check_service(tree: Tree) -> list[ValidationError]:
    spec = tree["spec"]
    found = []
    kind, ports = spec.get("type"), spec.get("ports") or []
    if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
        found.append(_require("spec.ports"))
    if kind == "ExternalName" and not spec.get("externalName"):
        found.append(_require("spec.externalName"))
    for i, port in enumerate(ports):
        found += _check_port(port, f"spec.ports[{i}]", len(ports) > 1, [p.get("name") for p in ports[:i]])
    if kind not in _SERVICE_TYPES:
        found.append(_unsupported("spec.type", kind, _SERVICE_TYPES))
    return found


def _check_port(port: Tree, field: str, needs_name: bool, names: list[Any]) -> list[ValidationError]:
    found = []
    name, number = port.get("name"), port.get("port") or 0
    if not name and needs_name:
        found.append(_require(f"{field}.name"))
    elif name and name in names:
        found.append(ValidationError(f"{field}.name", f'Duplicate value: "{name}"'))
    if not 1 <= number <= _PORT_MAX:
        found.append(invalid(f"{field}.port", number, f"must be between 1 and {_PORT_MAX}, inclusive"))
    if port.get("protocol") not in _PROTOCOLS:
        found.append(_unsupported(f"{field}.protocol", port.get("protocol"), _PROTOCOLS))
    target = port.get("targetPort")
    if isinstance(target, int) and not 1 <= target <= _PORT_MAX:
        found.append(invalid(f"{field}.targetPort", target, f"must be between 1 and {_PORT_MAX}, inclusive"))
    return found


# ---- configuration ----------------------------------------------------------------------------------------------


def _check_keys(tree: Tree) -> list[ValidationError]:
    found = [
        invalid(f"{name}[{key}]", key, _KEY_TEXT)
        for name in ("data", "binaryData")
        for key in tree.get(name) or ()
        if not _KEY.fullmatch(key)
    ]
    size = sum(len(k) + len(v) for name in ("data", "binaryData") for k, v in (tree.get(name) or {}).items())
    if size > _DATA_BYTES_MAX:
        found.append(ValidationError("", f"Too long: may not be more than {_DATA_BYTES_MAX} bytes"))
    return found


def _check_secret(tree: Tree) -> list[ValidationError]:
    data = tree.get("data") or {}
    needed = _SECRET_KEYS.get(tree.get("type") or "", ())
    return _check_keys(tree) + [_require(f"data[{key}]") for key in needed if key not in data]


def _check_volume_claim(tree: Tree) -> list[ValidationError]:
    found = []
    if not read_path(tree, "spec", "accessModes"):
        found.append(_require("spec.accessModes", "at least 1 access mode is required"))
    wanted = read_path(tree, "spec", "resources", "requests", "storage")
    if wanted is None:
        found.append(_require("spec.resources[storage]"))
    elif parse_quantity(wanted) <= parse_quantity(0):
        found.append(invalid("spec.resources[storage]", wanted, "must be greater than zero"))
    return found


# ---- policies and access ----------------------------------------------------------------------------------------


def _check_budget(tree: Tree) -> list[ValidationError]:
    spec = tree["spec"]
    found = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        found.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        value = spec.get(name)
        if isinstance(value, int) and value < 0:
            found.append(invalid(f"spec.{name}", value, "must be greater than or equal to 0"))
        elif isinstance(value, str) and not re.fullmatch(r"[0-9]+%", value):
            found.append(
                invalid(
                    f"spec.{name}",
                    value,
                    _PERCENT_TEXT,
                )
            )
        elif isinstance(value, str) and int(value[:-1]) > 100:
            found.append(invalid(f"spec.{name}", value, "must not be greater than 100%"))
    return found


def _check_autoscaler(tree: Tree) -> list[ValidationError]:
    least, most = read_path(tree, "spec", "minReplicas"), read_path(tree, "spec", "maxReplicas") or 0
    found = []
    if least is not None and least < 1:
        found.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        found.append(invalid("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        found.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    names = ("kind", "name")
    return found + [
        _require(f"spec.scaleTargetRef.{n}") for n in names if not read_path(tree, "spec", "scaleTargetRef", n)
    ]


def _check_role(tree: Tree) -> list[ValidationError]:
    found = []
    for i, rule in enumerate(tree.get("rules") or ()):
        field = f"rules[{i}]"
        if not rule.get("verbs"):
            found.append(_require(f"{field}.verbs", "verbs must contain at least one value"))
        if rule.get("nonResourceURLs"):
            continue
        if not rule.get("apiGroups"):
            found.append(_require(f"{field}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            found.append(_require(f"{field}.resources", "resource rules must supply at least one resource"))
    return found


def _check_binding(tree: Tree) -> list[ValidationError]:
    return [] if read_path(tree, "roleRef", "name") else [_require("roleRef.name")]


OBJECT_CHECKS: Final[dict[tuple[str, str], Callable[[Tree], list[ValidationError]]]] = {
    ("", "Pod"): lambda tree: check_running_pod(tree.get("spec") or {}, "spec"),
    ("", "Service"): _check_service,
    ("", "ConfigMap"): _check_keys,
    ("", "Secret"): _check_secret,
    ("", "PersistentVolumeClaim"): _check_volume_claim,
    ("policy", "PodDisruptionBudget"): _check_budget,
    ("autoscaling", "HorizontalPodAutoscaler"): _check_autoscaler,
    ("rbac.authorization.k8s.io", "Role"): _check_role,
    ("rbac.authorization.k8s.io", "ClusterRole"): _check_role,
    ("rbac.authorization.k8s.io", "RoleBinding"): _check_binding,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _check_binding,
    ("scheduling.k8s.io", "PodGroup"): check_pod_group,
}
