"""Reads a kubeconfig. Format: client-go, tools/clientcmd/api/v1."""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from apportion.base import InputError
from apportion.client.address import ServerAddress

BYTES_MAX: Final = 4 * 1024 * 1024
_NOT_SUPPORTED: Final = {
    "exec": "credential plugins are not supported; put a token into the file, or use a service account",
    "auth-provider": "authentication providers are not supported; put a token into the file",
    "username": "basic authentication is not supported; no API server accepts it any more",
    "as": "impersonation is not supported",
}


def read_kubeconfig(path: str, context: str = "") -> ServerAddress:
    """Return the server and the credentials of a context, by default the current one.

    Raises InputError, which names the file and the field, for what cannot be read or is not supported.
    """
    try:
        return _Reader(path).read(context)
    except InputError as error:
        raise InputError(f"kubeconfig {path}: {error}") from None


class _Reader:
    """One file; paths in it count from its folder."""

    def __init__(self, path: str) -> None:
        self._folder = Path(path).parent
        try:
            with open(path, "rb") as file:
                data = file.read(BYTES_MAX + 1)
        except OSError as error:
            raise InputError(f"{error.strerror}; name a file that can be read") from None
        if len(data) > BYTES_MAX:
            raise InputError(f"has more than {BYTES_MAX} bytes; that is no kubeconfig")
        try:
            self._tree = yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"is not YAML: {error}") from None
        if not isinstance(self._tree, Mapping):
            raise InputError("is not a kubeconfig: it holds no fields")

    def read(self, context: str) -> ServerAddress:
        name = context or _get_text(self._tree, "current-context", "")
        if not name:
            raise InputError("current-context: is not set; name a context")
        chosen, where = self._find("contexts", "context", name)
        cluster_name = _get_text(chosen, "cluster", where)
        user_name = _get_text(chosen, "user", where)
        if not cluster_name:
            raise InputError(f"{where}.cluster: is not set")
        cluster, cluster_where = self._find("clusters", "cluster", cluster_name)
        user, user_where = self._find("users", "user", user_name) if user_name else ({}, "users")
        return self._make_address(cluster, cluster_where, user, user_where)

    def _make_address(
        self, cluster: Mapping[str, Any], cluster_where: str, user: Mapping[str, Any], user_where: str
    ) -> ServerAddress:
        for field, why in _NOT_SUPPORTED.items():
            if user.get(field):
                raise InputError(f"{user_where}.{field}: {why}")
        url = _get_text(cluster, "server", cluster_where)
        if not url:
            raise InputError(f"{cluster_where}.server: is not set")
        token_file = _get_text(user, "tokenFile", user_where)
        try:
            return ServerAddress(
                url=url.rstrip("/"),
                token=_get_text(user, "token", user_where),
                token_file=str(self._folder / token_file) if token_file else "",
                ca=self._read_pem(cluster, "certificate-authority", cluster_where),
                client_certificate=self._read_pem(user, "client-certificate", user_where),
                client_key=self._read_pem(user, "client-key", user_where),
                tls_server_name=_get_text(cluster, "tls-server-name", cluster_where),
                proxy_url=_get_text(cluster, "proxy-url", cluster_where),
                is_insecure=_get_flag(cluster, "insecure-skip-tls-verify", cluster_where),
            )
        except InputError as error:
            raise InputError(f"{cluster_where}, {user_where}: {error}") from None

    def _find(self, group: str, field: str, name: str) -> tuple[Mapping[str, Any], str]:
        """Return the entry with a name, and where it stands."""
        entries = self._tree.get(group) or []
        if not isinstance(entries, list):
            raise InputError(f"{group}: must be a list")
        for i, entry in enumerate(entries):
            if isinstance(entry, Mapping) and entry.get("name") == name:
                found = entry.get(field) or {}
                where = f"{group}[{i}].{field}"
                if not isinstance(found, Mapping):
                    raise InputError(f"{where}: must hold fields")
                return found, where
        known = ", ".join(str(e.get("name")) for e in entries if isinstance(e, Mapping)) or "none"
        raise InputError(f"{group}: there is no {field} {name!r}; known: {known}")

    def _read_pem(self, tree: Mapping[str, Any], field: str, where: str) -> str:
        """Return what ``FIELD-data`` holds, or the file that ``FIELD`` names; the first counts, as in client-go."""
        data = _get_text(tree, f"{field}-data", where)
        if data:
            try:
                return base64.b64decode(data, validate=True).decode("ascii")
            except (binascii.Error, ValueError):
                raise InputError(f"{where}.{field}-data: is not PEM in base64") from None
        name = _get_text(tree, field, where)
        if not name:
            return ""
        path = self._folder / name
        try:
            return path.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{where}.{field}: {path} cannot be read: {error}") from None


def _get_text(tree: Mapping[str, Any], field: str, where: str) -> str:
    found = tree.get(field)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise InputError(f"{where}.{field}: must be text".lstrip("."))
    return found


def _get_flag(tree: Mapping[str, Any], field: str, where: str) -> bool:
    found = tree.get(field, False)
    if not isinstance(found, bool):
        raise InputError(f"{where}.{field}: must be true or false")
    return found
