"""What only a kubelet would stumble over in a pod; what scheduling reads is checked in ``api.validation``.

Source: pkg/apis/core/validation/validation.go upstream.
"""

from typing import Any, Final

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server.strategies.fields import invalid

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")


def check_running_pod(spec: Tree, field: str) -> list[ValidationError]:
    """Return what is wrong with the containers of a pod's spec, with paths below ``field``."""
    volumes = {v.get("name") for v in spec.get("volumes") or ()}
    found = []
    for name in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(name) or ()):
            found += _check_container(container, volumes, f"{field}.{name}[{i}]")
    return found


def _check_container(container: Tree, volumes: set[Any], field: str) -> list[ValidationError]:
    found = []
    policy = container.get("imagePullPolicy")
    if policy not in (None, *_PULL_POLICIES):
        known = ", ".join(f'"{p}"' for p in _PULL_POLICIES)
        why = f'Unsupported value: "{policy}": supported values: {known}'
        found.append(ValidationError(f"{field}.imagePullPolicy", why))
    for i, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            found.append(ValidationError(f"{field}.env[{i}].name", "Required value"))
    return found + _check_mounts(container.get("volumeMounts") or [], volumes, f"{field}.volumeMounts")


def _check_mounts(mounts: list[Any], volumes: set[Any], field: str) -> list[ValidationError]:
    found = []
    seen: set[str] = set()
    for i, mount in enumerate(mounts):
        name, path = mount.get("name"), mount.get("mountPath")
        if not name:
            found.append(ValidationError(f"{field}[{i}].name", "Required value"))
        elif name not in volumes:
            found.append(ValidationError(f"{field}[{i}].name", f'Not found: "{name}"'))
        if not path:
            found.append(ValidationError(f"{field}[{i}].mountPath", "Required value"))
        elif path in seen:
            found.append(invalid(f"{field}[{i}].mountPath", path, "must be unique"))
        seen.add(path or "")
    return found
