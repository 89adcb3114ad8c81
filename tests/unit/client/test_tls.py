"""HTTPS with a client certificate, from a kubeconfig. The certificates are made for the test."""

import asyncio
import base64
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from apportion.base import Rng, VirtualClock
from apportion.client import Request, Response
from apportion.client.http import HttpOptions, HttpTransport, read_kubeconfig

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
OPTIONS = HttpOptions(attempts_max=1)


def make_certificate(folder: Path, name: str) -> None:
    """Make a certificate that signs itself, and its key."""
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {name}.key -out {name}.crt -subj /CN={name}"
    extra = ["-addext", "subjectAltName=DNS:api.example,IP:127.0.0.1"]
    subprocess.run([*command.split(), *extra], cwd=folder, check=True, capture_output=True, timeout=60)


def write_kubeconfig(folder: Path, url: str, **cluster: object) -> str:
    def encode(name: str) -> str:
        return base64.b64encode((folder / name).read_bytes()).decode()

    tree = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "u", "user": {"client-certificate-data": encode("user.crt"), "client-key": "user.key"}}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(tree))
    return str(folder / "kubeconfig")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tls")
    for name in ("server", "user"):
        make_certificate(made, name)
    return made


@pytest.mark.parametrize(
    ("cluster", "code"),
    [
        ({"certificate-authority": "server.crt"}, 200),
        ({"certificate-authority": "server.crt", "tls-server-name": "api.example"}, 200),
        ({"certificate-authority": "server.crt", "tls-server-name": "other.example"}, 503),
        ({"insecure-skip-tls-verify": True}, 200),
        ({}, 503),
    ],
)
def test_who_is_who(folder: Path, cluster: dict[str, object], code: int) -> None:
    async def run() -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "user.crt"))
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        users: list[object] = []

        async def handle(request: web.Request) -> web.Response:
            assert request.transport is not None
            users.append(request.transport.get_extra_info("peercert")["subject"][0][0][1])
            return web.json_response({})

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        address = read_kubeconfig(write_kubeconfig(folder, f"https://127.0.0.1:{runner.addresses[0][1]}", **cluster))
        transport = HttpTransport(address, VirtualClock(), Rng(0), OPTIONS)
        answers: asyncio.Queue[Response] = asyncio.Queue()
        transport.submit(Request("get", "pods", "d", "p"), answers.put_nowait)
        answer = await asyncio.wait_for(answers.get(), 20)
        await transport.wait_closed()
        await runner.cleanup()
        assert answer.code == code, answer.message
        assert users == (["user"] if code == 200 else [])

    asyncio.run(run())
