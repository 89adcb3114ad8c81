"""The API server: requests in process, over HTTP, and as a transport of the client. See README.md."""

from apportion.server.errors import ApiError
from apportion.server.http import HttpServer
from apportion.server.request import ApiRequest, ApiResponse
from apportion.server.resources import RESOURCES, Resource, get_resource
from apportion.server.schema import Shape
from apportion.server.server import Server
from apportion.server.transport import InProcessTransport
from apportion.server.watching import Watch

__all__ = [
    "RESOURCES",
    "ApiError",
    "ApiRequest",
    "ApiResponse",
    "HttpServer",
    "InProcessTransport",
    "Resource",
    "Server",
    "Shape",
    "Watch",
    "get_resource",
]
