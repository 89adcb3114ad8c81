"""What stands in the cells of ``other_columns``. Source: pkg/printers/internalversion/printers.go upstream."""

from typing import Any, Final

from apportion.api import Tree
from apportion.server.cells import NONE, read
from apportion.server.timestamps import format_age

_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_SHOWN_MAX: Final = 3


# ---- services and what is behind them -----------------------------------------------------------------------


def print_external_address(tree: Tree) -> str:
    """Return where a service is reached from outside."""
    outside = list(read(tree, "spec.externalIPs", []))
    kind = read(tree, "spec.type", "ClusterIP")
    if kind == "ExternalName":
        return str(read(tree, "spec.externalName", ""))
    if kind == "LoadBalancer":
        return ",".join([*_list_ingress(tree), *outside]) or "<pending>"
    return ",".join(outside) or NONE


def _list_ingress(tree: Tree) -> list[str]:
    points = read(tree, "status.loadBalancer.ingress", [])
    return sorted({p.get("ip") or p.get("hostname") or "" for p in points} - {""})


def print_service_ports(tree: Tree) -> str:
    ports = read(tree, "spec.ports", [])
    return ",".join(_print_service_port(p) for p in ports) or NONE


def _print_service_port(port: Tree) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def print_endpoints(tree: Tree) -> str:
    found = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in read(tree, "subsets", [])
        for port in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
    ]
    return _shorten(found)


def print_slice_addresses(tree: Tree) -> str:
    return _shorten([a for e in tree.get("endpoints") or () for a in e.get("addresses") or ()])


def print_endpoint_ports(tree: Tree) -> str:
    ports = tree.get("ports")
    if ports is None:
        return "<unset>"
    return _shorten([str(p.get("port") or p.get("name") or "<unset>") for p in ports])


def _shorten(found: list[str]) -> str:
    """Return the first three, and how many follow."""
    rest = len(found) - _SHOWN_MAX
    shown = ",".join(found[:_SHOWN_MAX]) or NONE
    return f"{shown} + {rest} more..." if rest > 0 else shown


def print_ingress_address(tree: Tree) -> str:
    return ",".join(_list_ingress(tree))


def print_ingress_ports(tree: Tree) -> str:
    return "80, 443" if read(tree, "spec.tls") else "80"


# ---- access and policies ------------------------------------------------------------------------------------


def print_subjects(tree: Tree, kind: str) -> str:
    """Return who of a kind a role is bound to; service accounts with their namespace."""
    found = [s for s in tree.get("subjects") or () if s.get("kind") == kind]
    with_namespace = kind == "ServiceAccount"
    return ", ".join(f"{s.get('namespace', '')}/{s['name']}" if with_namespace else s["name"] for s in found)


def print_allowed(tree: Tree, name: str) -> str:
    value = read(tree, f"spec.{name}")
    return "N/A" if value is None else str(value)


def print_quota(tree: Tree, is_limit: bool) -> str:
    """Return used and hard amounts, of limits or of everything else."""
    hard, used = read(tree, "status.hard", {}), read(tree, "status.used", {})
    names = sorted(n for n in hard if n.startswith("limits.") is is_limit)
    return ", ".join(f"{n}: {used.get(n, 0)}/{hard[n]}" for n in names)


# ---- volumes and workloads ----------------------------------------------------------------------------------


def print_access_modes(modes: Any) -> str:
    given = modes or ()
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def print_class_name(tree: Tree) -> str:
    name = str(tree["metadata"]["name"])
    is_default = (tree["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    return f"{name} (default)" if is_default else name


def print_last_schedule(tree: Tree, now_s: float) -> str:
    time = read(tree, "status.lastScheduleTime")
    return format_age(time, now_s) if time else NONE


def print_owner(tree: Tree) -> str:
    """Return the controller of an object as ``kind.group/name``."""
    owner = next((o for o in tree["metadata"].get("ownerReferences") or () if o.get("controller")), None)
    if owner is None:
        return NONE
    group = owner["apiVersion"].rpartition("/")[0]
    kind = owner["kind"].lower()
    return f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"
