"""Host ports in use. A wildcard address conflicts with every address of the same port and protocol."""

from collections.abc import Iterator

from apportion.api.core import PodSpec

WILDCARD = "0.0.0.0"
HostPort = tuple[str, int, str]  # protocol, port, address


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Return the host ports of containers and of restartable init containers, sorted, without repetition."""
    restartable = [c for c in spec.init_containers if c.restart_policy == "Always"]
    wanted = {
        (p.protocol or "TCP", p.host_port, p.host_ip or WILDCARD)
        for c in (*restartable, *spec.containers)
        for p in c.ports
        if p.host_port > 0
    }
    return tuple(sorted(wanted))


class PortTable:
    """Which rows use which host port: (protocol, port) -> address -> row -> number of pods."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[str, dict[int, int]]] = {}

    def add(self, ports: tuple[HostPort, ...], row: int, sign: int) -> None:
        """Count the ports of a pod on ``row`` (sign -1: no longer)."""
        for protocol, port, address in ports:
            rows = self._used.setdefault((protocol, port), {}).setdefault(address, {})
            rows[row] = rows.get(row, 0) + sign
            if not rows[row]:
                del rows[row]

    def conflicts(self, wanted: HostPort) -> Iterator[int]:
        """Yield the rows where ``wanted`` cannot be had; cost is proportional to their number."""
        protocol, port, address = wanted
        for used, rows in self._used.get((protocol, port), {}).items():
            if WILDCARD in (address, used) or used == address:
                yield from rows

    def is_free(self, wanted: tuple[HostPort, ...], row: int) -> bool:
        """Return whether all the wanted ports can be had on ``row``."""
        for protocol, port, address in wanted:
            for used, rows in self._used.get((protocol, port), {}).items():
                if row in rows and (WILDCARD in (address, used) or used == address):
                    return False
        return True
