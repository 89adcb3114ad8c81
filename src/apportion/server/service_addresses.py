"""Addresses of services. Nothing answers under them here; clients expect that they exist and differ."""

from typing import Final

from apportion.api import Tree
from apportion.base import Rng
from apportion.server import errors
from apportion.store import Store

_NETWORK: Final = "10.96"
_ADDRESSES: Final = 1 << 16
_ATTEMPTS_MAX: Final = 64


def assign_address(tree: Tree, store: Store, rng: Rng) -> Tree:
    """Return a Service with a cluster address; one that has its own, is headless or external keeps what it has.

    Raises ApiError 500 when no free address is found.
    """
    spec = tree["spec"]
    if spec.get("type") == "ExternalName":
        return tree
    address = spec.get("clusterIP")
    if not address:
        address = _draw_address(store, rng)
    return {**tree, "spec": {**spec, "clusterIP": address, "clusterIPs": [address]}}


def _draw_address(store: Store, rng: Rng) -> str:
    services = store.list_entries("services")
    for _ in range(_ATTEMPTS_MAX):
        number = rng.below(_ADDRESSES - 2) + 1
        address = f"{_NETWORK}.{number >> 8}.{number & 255}"
        if not any(f'"{address}"'.encode() in e.value for e in services):
            return address
    raise errors.ApiError(500, "InternalError", "Internal error occurred: no service address is free", {})
