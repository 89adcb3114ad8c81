"""Warnings about versions that will go.

A version before the stable one is deprecated three minor releases after the one it came with, and gone after three
more. As recorded, the server warns of that from the start. Source: k8s:prerelease-lifecycle-gen in the API's types.
"""

from typing import Final

from apportion.server.resources import Resource

_LIFE: Final = 3
# The minor release that a version came with; that of single kinds which came later than their version.
_INTRODUCED: Final = {
    ("resource.k8s.io", "v1beta1"): 32,
    ("resource.k8s.io", "v1beta2"): 33,
    ("scheduling.k8s.io", "v1beta1"): 37,
    ("scheduling.k8s.io", "v1alpha3"): 37,
}
_INTRODUCED_LATER: Final = {("resource.k8s.io", "v1beta2", "DeviceTaintRule"): 36}

Header = tuple[str, str]


def print_warning(text: str) -> Header:
    """Return the header that kubectl shows as a warning (RFC 7234, with code 299)."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return "Warning", f'299 - "{quoted}"'


def list_deprecations(resource: Resource) -> tuple[Header, ...]:
    """Return the header that says until when a resource is served in this version, if there is one."""
    minor = _INTRODUCED.get((resource.group, resource.version))
    if minor is None:
        return ()
    name = resource.kind.name
    minor = _INTRODUCED_LATER.get((resource.group, resource.version, name), minor)
    until = f"deprecated in v1.{minor + _LIFE}+, unavailable in v1.{minor + 2 * _LIFE}+"
    return (print_warning(f"{resource.api_version} {name} is {until}"),)
