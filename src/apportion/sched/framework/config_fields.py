"""What the parts of the configuration file share: strict structs, and mistakes named with their path."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from apportion.base import ConfigError

T = TypeVar("T")
_UNKNOWN: Final = "Object contains unknown field `"
HTTP_TIMEOUT: Final = "5s"


class Strict(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Base of the configuration's structs."""


class ManagedResource(Strict, frozen=True):
    name: str
    ignored_by_scheduler: bool = False


class TlsConfig(Strict, frozen=True):
    """``*_data`` are PEM bytes and win over the files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = field(name="caFile", default="")
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = field(name="caData", default=b"")


class Extender(Strict, frozen=True):
    """An HTTP server that has a say. A verb that is empty is not offered."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = field(name="enableHTTPS", default=False)
    tls_config: TlsConfig | None = None
    http_timeout: str = field(name="httpTimeout", default=HTTP_TIMEOUT)
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False


def convert(tree: Any, as_type: type[T], path: str) -> T:
    """Return ``tree`` as a struct. Raises ConfigError with the path of the field that is wrong or unknown."""
    try:
        return msgspec.convert(tree, as_type)
    except msgspec.ValidationError as error:
        raise ConfigError(_with_path(str(error), path)) from error


def _with_path(text: str, root: str) -> str:
    """Turn "... - at `$.profiles[0].plugins`" into "profiles[0].plugins: ...", below ``root``."""
    message, _, below = text.partition(" - at `$")
    path = f"{root}{below.rstrip('`')}".lstrip(".")
    if message.startswith(_UNKNOWN):
        name = message[len(_UNKNOWN) :].rstrip("`")
        return f"{path}.{name}: unknown field `{name}`".lstrip(".")
    return f"{path}: {message}" if path else message


def drop_nulls(tree: Any) -> Any:
    """Return the tree without null members: to Kubernetes a null is a field that is not given.

    Arguments of plugins stay as they are; what they mean is up to the plugin.
    """
    if isinstance(tree, Mapping):
        return {k: v if k == "args" else drop_nulls(v) for k, v in tree.items() if v is not None}
    return [drop_nulls(item) for item in tree] if isinstance(tree, list) else tree
