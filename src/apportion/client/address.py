"""Where an API server is, and who we are to it."""

import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from apportion.base import InputError


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """An API server and the credentials for it; certificates and keys are PEM. Printing it shows no secrets.

    ``token_file`` is read again from time to time, as clusters renew tokens. Without ``ca`` the system's
    authorities count.
    """

    url: str
    token: str = field(default="", repr=False)
    token_file: str = ""
    ca: str = field(default="", repr=False)
    client_certificate: str = field(default="", repr=False)
    client_key: str = field(default="", repr=False)
    tls_server_name: str = ""
    proxy_url: str = ""
    is_insecure: bool = False  # whoever answers is believed

    def __post_init__(self) -> None:
        """Raise InputError for what cannot be an address."""
        try:
            parts = urlsplit(self.url)
            parts.port  # noqa: B018  (raises for what is no port)
        except ValueError as error:
            raise InputError(f"server {self.url!r}: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"server {self.url!r}: must be http://HOST or https://HOST, with :PORT if need be")
        if bool(self.client_certificate) != bool(self.client_key):
            raise InputError("a client certificate needs its key, and a key its certificate")

    def make_ssl_context(self) -> ssl.SSLContext | None:
        """Return how to speak TLS, None for plain HTTP. Raises InputError for unusable certificates."""
        if not self.url.startswith("https:"):
            return None
        try:
            context = ssl.create_default_context(cadata=self.ca or None)
        except (ssl.SSLError, ValueError) as error:
            raise InputError(f"the certificate authority of {self.url} cannot be used: {error}") from None
        if self.is_insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.client_certificate:
            self._load_client_certificate(context)
        return context

    def _load_client_certificate(self, context: ssl.SSLContext) -> None:
        """Load certificate and key, which the ssl module takes from files only."""
        descriptor, path = tempfile.mkstemp()  # readable by us alone
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(f"{self.client_certificate}\n{self.client_key}\n")
            context.load_cert_chain(path)
        except (ssl.SSLError, ValueError) as error:
            raise InputError(f"the client certificate for {self.url} cannot be used: {error}") from None
        finally:
            os.unlink(path)

    def read_token(self) -> str:
        """Return the bearer token, "" for none. Raises InputError when its file cannot be read."""
        if not self.token_file:
            return self.token
        try:
            return Path(self.token_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"token file {self.token_file}: {error}") from None


def read_service_account(
    host: str, port: str, folder: str = "/var/run/secrets/kubernetes.io/serviceaccount"
) -> ServerAddress:
    """Return the address for a process in a pod: KUBERNETES_SERVICE_HOST and _PORT, and what the kubelet put there.

    Raises InputError when this is no pod.
    """
    if not host or not port:
        raise InputError("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    shown = f"[{host}]" if ":" in host else host
    try:
        ca = (Path(folder) / "ca.crt").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"service account {folder}: {error}") from None
    return ServerAddress(f"https://{shown}:{port}", token_file=str(Path(folder) / "token"), ca=ca)
