"""The API server: requests in process, over HTTP, and as a transport of the client. See README.md."""

from apportion.server.errors import ApiError
from apportion.server.http import HttpServer
from apportion.server.request import ApiRequest, ApiResponse
from apportion.server.server import Server
from apportion.server.transport import InProcessTransport
from apportion.server.watching import Watch

__all__ = ["ApiError", "ApiRequest", "ApiResponse", "HttpServer", "InProcessTransport", "Server", "Watch"]
