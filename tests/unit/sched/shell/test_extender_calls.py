"""Calls to HTTP extenders over real sockets."""

import base64
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from apportion.client import Response
from apportion.sched.framework import CallExtender, Extender
from apportion.sched.framework.config import read_config
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


# ---- TLS --------------------------------------------------------------------------------------------------


def make_certificate(folder: Path, name: str) -> None:
    """Make a certificate that signs itself, and its key."""
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {name}.key -out {name}.crt -subj /CN={name}"
    extra = ["-addext", "subjectAltName=DNS:extender.example"]
    subprocess.run([*command.split(), *extra], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[str]:
    """Serve with a certificate for another name than the address, and demand one of the client."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make certificates")
    for name in ("server", "user"):
        make_certificate(tmp_path, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    context.load_verify_locations(tmp_path / "user.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def read_extender(url: str, **tls: Any) -> Extender:
    """Return an extender as the configuration file has it."""
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": url, "enableHTTPS": True, "tlsConfig": tls}],
    }
    return read_config(tree, "test").extenders[0]


def test_both_sides_show_certificates(secure: str, tmp_path: Path) -> None:
    def encode(name: str) -> str:
        return base64.b64encode((tmp_path / name).read_bytes()).decode()

    data = {"certData": encode("user.crt"), "keyData": encode("user.key"), "caData": encode("server.crt")}
    assert send(read_extender(secure, serverName="extender.example", **data), "filter", b"{}").code == 200
    files = {name: str(tmp_path / f"user.{end}") for name, end in (("certFile", "crt"), ("keyFile", "key"))}
    assert send(read_extender(secure, insecure=True, **files), "filter", b"{}").code == 200
    wrong_name = send(read_extender(secure, **data), "filter", b"{}")
    assert wrong_name.code == 503
    assert "certificate verify failed" in wrong_name.message
    missing = send(read_extender(secure, certFile="nowhere.crt"), "filter", b"{}")
    assert missing.code == 503
