"""Conversations recorded from kube-apiserver, held again with our server over HTTP.

What differs by nature (uids, versions, times, generated names) is compared by presence only; managedFields are left
out.
"""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from apportion.base import Rng, VirtualClock
from apportion.cel import find_expression_problem
from apportion.server import HttpServer, Server
from apportion.store import MemoryStore
from e2e.api_comparison import compare, judge_status, resolve

_GOLDEN = Path(__file__).parents[1] / "golden" / "api-conversations.jsonl.gz"
_IDS = (
    "crud-configmap", "create-errors", "field-validation", "generate-name-and-dry-run", "patches-configmap",
    "strategic-merge", "list-pages-and-selectors", "watch", "pod-defaults-and-bind", "workload-defaults", "claim-life",
    "paths-and-methods", "pod-invalid", "claim-invalid", "slice-invalid", "class-and-template", "podgroups",
    "discovery",
)  # fmt: skip
_MANAGED = "the message quotes the whole object with its managedFields, which we do not keep"
_GROUPS = "lists all groups, of which we serve fewer"
_KNOWN_DIFFERENCES = {
    ("patches-configmap", 14): _MANAGED,
    ("podgroups", 7): "the gate DRAWorkloadResourceClaims was off and took the claims away; the server has no gates",
    **dict.fromkeys((("discovery", n) for n in (0, 1, 2, 4, 10, 11, 12)), _GROUPS),
}
_LINES = gzip.decompress(_GOLDEN.read_bytes()).splitlines()
_CONVERSATIONS = {c["id"]: c["steps"] for c in map(json.loads, _LINES)}


@pytest.fixture
def address() -> Iterator[str]:
    """A server in a thread of its own, so that the test can use a plain blocking client."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> HttpServer:
        http = HttpServer(Server(MemoryStore(), VirtualClock(), Rng(7), find_expression_problem))
        await http.start()
        return http

    http = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    yield http.url
    asyncio.run_coroutine_threadsafe(http.stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def send(address: str, step: dict[str, Any], path: str, body: bytes | None) -> tuple[int, dict[str, str], Any]:
    """Send one step; a watch is given a second, and then ends by itself."""
    is_watch = step["method"] == "WATCH"
    if is_watch and "timeoutSeconds" not in path:
        path += "&timeoutSeconds=1"
    connection = HTTPConnection(urlsplit(address).netloc, timeout=20)
    headers = {"Accept": step["accept"]}
    if "contentType" in step:
        headers["Content-Type"] = step["contentType"]
    connection.request("GET" if is_watch else step["method"], path, body, headers)
    response = connection.getresponse()
    raw = response.read()
    connection.close()
    kept = {k.lower(): v for k, v in response.getheaders()}
    if is_watch and response.status == 200:
        return response.status, kept, [json.loads(line) for line in raw.splitlines()]
    is_json = kept.get("content-type", "").startswith("application/json")
    return response.status, kept, json.loads(raw) if is_json else raw.decode()


@pytest.mark.slow
@pytest.mark.parametrize("conversation", _IDS)
def test_conversation_goes_as_recorded(conversation: str, address: str) -> None:
    answers: list[Any] = []
    differences = []
    for number, step in enumerate(_CONVERSATIONS[conversation]):
        if step["user"] != "admin":  # there are no others yet
            answers.append({})
            continue
        body = step.get("rawBody")
        if body is None and "body" in step:
            body = json.dumps(resolve(step["body"], answers))
        raw = None if body is None else body.encode()
        code, headers, answer = send(address, step, resolve(step["path"], answers), raw)
        answers.append(answer if isinstance(answer, dict) else {})
        found = judge_status(step, code, headers) or compare(step, answer)
        if found and (conversation, number) not in _KNOWN_DIFFERENCES:
            differences.append((number, step["method"], step["path"], found[:3]))
    assert differences == []
