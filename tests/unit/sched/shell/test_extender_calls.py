"""Calls to HTTP extenders over real sockets."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest

from apportion.client import Response
from apportion.sched.framework import CallExtender, Extender
from apportion.sched.shell.extender_calls import BlockingCalls, ThreadedCalls, send


class Handler(BaseHTTPRequestHandler):
    """Answers with what it was asked; ``/slow`` takes its time, ``/broken`` fails."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/slow":
            time.sleep(0.5)
        self.send_response(500 if self.path == "/broken" else 200)
        self.end_headers()
        self.wfile.write(orjson.dumps({"path": self.path, "sent": orjson.loads(body)}))

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Says nothing of clients that do not wait for their answer."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_the_body_is_posted_below_the_prefix(url: str) -> None:
    response = send(Extender(url_prefix=f"{url}/api/"), "filter", b'{"Pod":null}')
    assert (response.code, orjson.loads(response.body)) == (200, {"path": "/api/filter", "sent": {"Pod": None}})


def test_failures_are_answers(url: str) -> None:
    assert send(Extender(url_prefix=url), "broken", b"{}").message == "code 500"
    late = send(Extender(url_prefix=url, http_timeout="50ms"), "slow", b"{}")
    assert (late.code, late.message) == (504, "no answer within 0.05s")
    gone = send(Extender(url_prefix="http://127.0.0.1:1"), "filter", b"{}")
    assert gone.code == 503
    assert "refused" in gone.message


def test_a_server_that_does_not_speak_tls_is_a_failure(url: str) -> None:
    assert send(Extender(url_prefix=url, enable_https=True), "filter", b"{}").code == 503


def test_threads_answer_through_the_loop(url: str) -> None:
    answered: Future[Response] = Future()
    calls = ThreadedCalls(lambda callback: callback())
    command = CallExtender(Extender(url_prefix=url, filter_verb="filter"), "filter", "ns", "p", "u")
    calls.call(command, b"{}", answered.set_result)
    assert answered.result(timeout=10).code == 200
    calls.close()
    found: list[Response] = []
    BlockingCalls().call(command, b"{}", found.append)
    assert [r.code for r in found] == [200]
