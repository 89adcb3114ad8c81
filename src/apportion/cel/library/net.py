"""IP addresses, CIDRs and URLs of the Kubernetes base environment.

Sources of the behaviour: k8s.io/apiserver/pkg/cel/library/{ip,cidr,urls}.go.
"""

import ipaddress
import re
from typing import ClassVar, TypeAlias
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from apportion.cel.values import Failure, Value

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class _Wrapped:
    __slots__ = ("inner",)
    REFUSES_OTHERS: ClassVar = True

    def __eq__(self, other: object) -> bool:
        return self.__class__ is other.__class__ and self.inner == other.inner  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.inner)  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return str(self.inner)  # type: ignore[attr-defined]


class Ip(_Wrapped):
    """An IP address."""

    def __init__(self, inner: _Address) -> None:
        self.inner = inner


class Cidr(_Wrapped):
    """A network with the address it was written with; ``network`` has the host bits cleared."""

    __slots__ = ("network",)

    def __init__(self, inner: ipaddress.IPv4Interface | ipaddress.IPv6Interface) -> None:
        self.inner = inner
        self.network: _Network = inner.network


class Url(_Wrapped):
    """A parsed URL."""

    __slots__ = ("parts",)

    def __init__(self, inner: str, parts: SplitResult) -> None:
        self.inner = inner
        self.parts = parts


def parse_ip(text: str) -> Ip | Failure:
    """Return the address, or a Failure; zones and IPv4-mapped IPv6 addresses are refused."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return Failure(f"IP Address {text!r} parse error during conversion from string")
    if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or address.ipv4_mapped):
        return Failure(f"IP address {text!r} with a zone or an IPv4-mapped one is not allowed")
    return Ip(address)


def parse_cidr(text: str) -> Cidr | Failure:
    """Return the network, or a Failure; the prefix length must be a plain number."""
    address, _, prefix = text.partition("/")
    if re.fullmatch(r"0|[1-9][0-9]{0,2}", prefix) and isinstance(parse_ip(address), Ip):
        try:
            return Cidr(ipaddress.ip_interface(text))
        except ValueError:
            pass
    return Failure(f"network address parse error during conversion from string: {text!r} is not a CIDR")


def parse_url(text: str) -> Url | Failure:
    """Return the URL, or a Failure; it must be absolute or start with a slash."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        return Failure(f"URL parse error during conversion from string: {error}")
    if not parts.scheme and not text.startswith("/"):
        return Failure(f"URL parse error during conversion from string: {text!r} is not an absolute URL")
    return Url(text, parts)


def is_canonical(text: str) -> Value:
    """Return whether ``text`` is the canonical spelling of an address."""
    address = parse_ip(text)
    return address if isinstance(address, Failure) else str(address) == text


def contains_ip(cidr: Cidr, address: Ip | str) -> Value:
    """Return whether the network holds the address."""
    found = parse_ip(address) if isinstance(address, str) else address
    return found if isinstance(found, Failure) else found.inner in cidr.network


def contains_cidr(cidr: Cidr, other: Cidr | str) -> Value:
    """Return whether the network holds all of another one."""
    found = parse_cidr(other) if isinstance(other, str) else other
    if isinstance(found, Failure):
        return found
    if found.network.version != cidr.network.version:
        return False
    return bool(found.network.subnet_of(cidr.network))  # type: ignore[arg-type]


def mask(cidr: Cidr) -> Cidr:
    """Return the network with the host bits cleared."""
    return Cidr(ipaddress.ip_interface(str(cidr.network)))


def host_of(url: Url) -> str:
    """Return host and port as written."""
    return url.parts.netloc.rpartition("@")[2]


def hostname_of(url: Url) -> str:
    """Return the host without port and brackets."""
    return re.sub(r":\d*$", "", host_of(url)).strip("[]")


def port_of(url: Url) -> str:
    """Return the port as text, empty when there is none."""
    return "" if url.parts.port is None else str(url.parts.port)


def escaped_path_of(url: Url) -> str:
    """Return the path, percent-encoded."""
    return quote(url.parts.path, safe="/%:@!$&'()*+,;=~-._")


def query_of(url: Url) -> dict[str, tuple[str, ...]]:
    """Return the query parameters with their values in order."""
    return {k: tuple(v) for k, v in parse_qs(url.parts.query, keep_blank_values=True).items()}
