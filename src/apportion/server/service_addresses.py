"""Addresses of services. Nothing answers under them here; clients expect that they exist and differ."""

from typing import Final

import orjson

from apportion.api import Tree
from apportion.base import Rng
from apportion.server import errors
from apportion.server.strategies import has_node_ports
from apportion.store import Store

_NETWORK: Final = "10.96"
_ADDRESSES: Final = 1 << 16
_ATTEMPTS_MAX: Final = 64
_NODE_PORT_MIN: Final = 30_000
_NODE_PORTS: Final = 2768


def assign_addresses(tree: Tree, store: Store, rng: Rng) -> Tree:
    """Return a Service with a cluster address and node ports; what it has already, it keeps.

    One that is headless or a mere name gets none. Raises ApiError 500 when nothing free is found.
    """
    spec = tree["spec"]
    if spec.get("type") == "ExternalName":
        return tree
    address = spec.get("clusterIP") or _draw_address(store, rng)
    spec = {**spec, "clusterIP": address, "clusterIPs": spec.get("clusterIPs") or [address]}
    if has_node_ports(spec) and any(not p.get("nodePort") for p in spec.get("ports") or ()):
        spec["ports"] = _open_on_nodes(spec["ports"], store, rng)
    return {**tree, "spec": spec}


def _open_on_nodes(ports: list[Tree], store: Store, rng: Rng) -> list[Tree]:
    services = (orjson.loads(e.value) for e in store.list_entries("services"))
    taken = {p.get("nodePort") for s in services for p in s["spec"].get("ports") or ()}
    taken |= {p.get("nodePort") for p in ports}
    done = []
    for port in ports:
        number = port.get("nodePort") or _draw_node_port(taken, rng)
        taken.add(number)
        done.append({**port, "nodePort": number})
    return done


def _draw_node_port(taken: set[int | None], rng: Rng) -> int:
    for _ in range(_ATTEMPTS_MAX):
        number = _NODE_PORT_MIN + rng.below(_NODE_PORTS)
        if number not in taken:
            return number
    raise errors.ApiError(500, "InternalError", "Internal error occurred: no node port is free", {})


def _draw_address(store: Store, rng: Rng) -> str:
    services = store.list_entries("services")
    for _ in range(_ATTEMPTS_MAX):
        number = rng.below(_ADDRESSES - 2) + 1
        address = f"{_NETWORK}.{number >> 8}.{number & 255}"
        if not any(f'"{address}"'.encode() in e.value for e in services):
            return address
    raise errors.ApiError(500, "InternalError", "Internal error occurred: no service address is free", {})
