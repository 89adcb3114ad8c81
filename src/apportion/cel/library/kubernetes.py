"""The Kubernetes libraries: quantities, versions, addresses, regular expressions.

Sources of the behaviour: k8s.io/apiserver/pkg/cel/library/{quantity,semverlib,ip,cidr,urls,regex}.go.
"""

from collections.abc import Callable
from typing import Final

from apportion.api.quantity import NANO, Quantity, is_quantity, parse_quantity
from apportion.base import InputError
from apportion.cel.library import net, regex, semver
from apportion.cel.library.declare import Overload, declare
from apportion.cel.library.net import Cidr, Ip
from apportion.cel.library.semver import Semver, parse_semver
from apportion.cel.values import INT_MAX, INT_MIN, Failure, Value


def _quantity(text: str) -> Value:
    try:
        return parse_quantity(text)
    except InputError as error:
        return Failure(str(error))


def _as_integer(quantity: Quantity) -> Value:
    if not _is_integer(quantity):
        return Failure("cannot convert value to integer")
    return quantity.nano // NANO


def _is_integer(quantity: Quantity) -> bool:
    return quantity.nano % NANO == 0 and INT_MIN <= quantity.nano // NANO <= INT_MAX


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.nano > right.nano) - (left.nano < right.nano)


def _whole(units: int) -> Quantity:
    return Quantity(units * NANO)


def _parses(parse: Callable[..., Value]) -> Callable[..., bool]:
    return lambda *args: not isinstance(parse(*args), Failure)


_QUANTITY: Final = (
    declare("quantity", "(string) -> quantity", _quantity, "scan"),
    declare("isQuantity", "(string) -> bool", is_quantity, "scan"),
    # Upstream declares sign as a function, not as a member.
    declare("sign", "(quantity) -> int", lambda q: (q.nano > 0) - (q.nano < 0)),
    declare("isGreaterThan", "quantity.(quantity) -> bool", lambda a, b: a.nano > b.nano),
    declare("isLessThan", "quantity.(quantity) -> bool", lambda a, b: a.nano < b.nano),
    declare("compareTo", "quantity.(quantity) -> int", _compare),
    declare("asInteger", "quantity.() -> int", _as_integer),
    declare("isInteger", "quantity.() -> bool", _is_integer),
    declare("asApproximateFloat", "quantity.() -> double", lambda q: q.nano / NANO),
    declare("add", "quantity.(quantity) -> quantity", lambda a, b: a + b),
    declare("add", "quantity.(int) -> quantity", lambda a, b: a + _whole(b)),
    declare("sub", "quantity.(quantity) -> quantity", lambda a, b: a - b),
    declare("sub", "quantity.(int) -> quantity", lambda a, b: a - _whole(b)),
)


def _part(index: int) -> Callable[[Semver], Value]:
    def read(version: Semver) -> Value:
        number = version.numbers[index]
        return number if number <= INT_MAX else Failure("integer overflow")

    return read


_SEMVER: Final = (
    declare("semver", "(string) -> semver", parse_semver, "scan"),
    declare("semver", "(string, bool) -> semver", parse_semver, "scan"),
    declare("isSemver", "(string) -> bool", _parses(parse_semver), "scan"),
    declare("isSemver", "(string, bool) -> bool", _parses(parse_semver), "scan"),
    declare("isGreaterThan", "semver.(semver) -> bool", lambda a, b: a > b),
    declare("isLessThan", "semver.(semver) -> bool", lambda a, b: a < b),
    declare("compareTo", "semver.(semver) -> int", semver.compare),
    declare("major", "semver.() -> int", _part(0)),
    declare("minor", "semver.() -> int", _part(1)),
    declare("patch", "semver.() -> int", _part(2)),
)

_REGEX: Final = (
    declare("matches", "string.(string) -> bool", regex.matches, "matches"),
    declare("matches", "(string, string) -> bool", regex.matches, "matches"),
    declare("find", "string.(string) -> string", regex.find, "find"),
    declare("findAll", "string.(string) -> list<string>", regex.find_all, "find"),
    declare("findAll", "string.(string, int) -> list<string>", regex.find_all, "find"),
)


def _ip_flag(name: str) -> Overload:
    attribute = {
        "isUnspecified": "is_unspecified",
        "isLoopback": "is_loopback",
        "isLinkLocalUnicast": "is_link_local",
    }[name]
    return declare(name, "ip.() -> bool", lambda ip: bool(getattr(ip.inner, attribute)))


def _is_link_local_multicast(ip: Ip) -> bool:
    text = "224.0.0.0/24" if ip.inner.version == 4 else "ff02::/16"
    network = net.parse_cidr(text)
    return isinstance(network, Cidr) and ip.inner in network.network


def _is_global_unicast(ip: Ip) -> bool:
    inner = ip.inner
    broadcast = str(inner) == "255.255.255.255"
    return not (broadcast or inner.is_unspecified or inner.is_loopback or inner.is_multicast or inner.is_link_local)


_NET: Final = (
    declare("ip", "(string) -> ip", net.parse_ip, "scan"),
    declare("ip", "cidr.() -> ip", lambda c: Ip(c.inner.ip)),
    declare("isIP", "(string) -> bool", _parses(net.parse_ip), "scan"),
    declare("isIP", "cidr.(string) -> bool", lambda _, text: not isinstance(net.parse_ip(text), Failure), "scan"),
    declare("ip.isCanonical", "(string) -> bool", net.is_canonical, "scan_twice"),
    declare("family", "ip.() -> int", lambda ip: ip.inner.version),
    _ip_flag("isUnspecified"),
    _ip_flag("isLoopback"),
    _ip_flag("isLinkLocalUnicast"),
    declare("isLinkLocalMulticast", "ip.() -> bool", _is_link_local_multicast),
    declare("isGlobalUnicast", "ip.() -> bool", _is_global_unicast),
    declare("string", "(ip) -> string", str),
    declare("cidr", "(string) -> cidr", net.parse_cidr, "scan"),
    declare("isCIDR", "(string) -> bool", _parses(net.parse_cidr), "scan"),
    declare("containsIP", "cidr.(ip) -> bool", net.contains_ip, "contains_ip"),
    declare("containsIP", "cidr.(string) -> bool", net.contains_ip, "contains_ip_text"),
    declare("containsCIDR", "cidr.(cidr) -> bool", net.contains_cidr, "contains_cidr"),
    declare("containsCIDR", "cidr.(string) -> bool", net.contains_cidr, "contains_cidr_text"),
    declare("masked", "cidr.() -> cidr", net.mask),
    declare("prefixLength", "cidr.() -> int", lambda c: c.network.prefixlen),
    declare("string", "(cidr) -> string", str),
    declare("url", "(string) -> url", net.parse_url, "scan"),
    declare("isURL", "(string) -> bool", _parses(net.parse_url), "scan"),
    declare("getScheme", "url.() -> string", lambda u: u.parts.scheme),
    declare("getHost", "url.() -> string", net.host_of),
    declare("getHostname", "url.() -> string", net.hostname_of),
    declare("getPort", "url.() -> string", net.port_of),
    declare("getEscapedPath", "url.() -> string", net.escaped_path_of),
    declare("getQuery", "url.() -> map<string, list<string>>", net.query_of),
)

OVERLOADS: Final = (*_QUANTITY, *_SEMVER, *_REGEX, *_NET)
