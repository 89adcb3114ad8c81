"""Drives a server in process, so that a test reads like a conversation."""

from typing import Any

import orjson

from apportion.api import CheckCEL
from apportion.base import Rng, VirtualClock
from apportion.server import ApiRequest, Server, Watch
from apportion.store import MemoryStore, Store

Tree = dict[str, Any]
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class Api:
    """A server with virtual time; every call returns the status code and the parsed answer."""

    def __init__(self, store: Store | None = None, seed: int = 1, check_cel: CheckCEL | None = None) -> None:
        self.clock = VirtualClock()
        self.store = MemoryStore() if store is None else store
        self.server = Server(self.store, self.clock, Rng(seed), check_cel)

    def call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", accept: str = ""
    ) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        raw = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        response = self.server.handle(ApiRequest(method, path, query, raw, content_type, accept))
        if not response.content_type.startswith("application/json"):
            return response.code, response.body
        return response.code, orjson.loads(response.body)

    def create(self, path: str, tree: Tree) -> Tree:
        code, answer = self.call("POST", path, tree)
        assert code == 201, answer
        return answer  # type: ignore[no-any-return]

    def get(self, path: str) -> Tree:
        code, answer = self.call("GET", path)
        assert code == 200, answer
        return answer  # type: ignore[no-any-return]

    def watch(self, path: str, query: str = "") -> Watch:
        return self.server.watch(ApiRequest("GET", path, f"watch=1&{query}"))


def read_watch(watch: Watch) -> list[tuple[str, str]]:
    """Return (type, name) of the frames that are new."""
    events = [orjson.loads(frame) for frame in watch.read()]
    return [(e["type"], e["object"].get("metadata", {}).get("name", "")) for e in events]


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Tree:
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **({"data": data} if data else {})}


def pod(name: str, **spec: Any) -> Tree:
    containers = [{"name": "c", "image": "img"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
