"""The API over HTTP. A door of its own: loading an HTTP library takes longer than most commands run."""

from apportion.client.address import ServerAddress, read_service_account
from apportion.client.http.transport import HttpOptions, HttpTransport
from apportion.client.kubeconfig import read_kubeconfig

__all__ = ["HttpOptions", "HttpTransport", "ServerAddress", "read_kubeconfig", "read_service_account"]
