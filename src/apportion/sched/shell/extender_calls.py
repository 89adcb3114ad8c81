"""Calls to HTTP extenders: what is sent, and the sending."""

import ssl
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Final, Protocol, TypeAlias
from urllib.parse import urlsplit

import orjson

from apportion.base import ConfigError, parse_duration
from apportion.client import Response
from apportion.sched.cycle.extenders import verb_of
from apportion.sched.framework import CallExtender, Extender

DEFAULT_TIMEOUT_S: Final = 5.0
OPEN_CALLS_MAX: Final = 32
_FAILED, _TIMED_OUT = 503, 504
OnAnswer: TypeAlias = Callable[[Response], None]


class ExtenderCalls(Protocol):
    """Carries calls out."""

    def call(self, command: CallExtender, body: bytes, on_answer: OnAnswer) -> None:
        """Send ``body``; ``on_answer`` is called exactly once, now or later."""
        ...


class WholeObjects:
    """The pods and nodes as the API sent them: an extender gets whole objects, not what scheduling reads of them."""

    def __init__(self) -> None:
        self._pods: dict[str, bytes] = {}
        self._nodes: dict[str, bytes] = {}

    def put_pod(self, uid: str, tree: bytes | None) -> None:
        """Remember a pod; None forgets it."""
        _put(self._pods, uid, tree)

    def put_node(self, name: str, tree: bytes | None) -> None:
        """Remember a node; None forgets it."""
        _put(self._nodes, name, tree)

    def encode(self, command: CallExtender) -> bytes:
        """Return the body of a call (k8s.io/kube-scheduler/extender/v1)."""
        if command.action == "bind":
            target = {"PodName": command.name, "PodNamespace": command.namespace, "PodUID": command.uid}
            return orjson.dumps({**target, "Node": command.node_names[0]})
        pod = self._pod(command.uid)
        if command.action == "preempt":
            return self._encode_preemption(command, pod)
        if command.extender.node_cache_capable:
            return b'{"Pod":%b,"Nodes":null,"NodeNames":%b}' % (pod, orjson.dumps(command.node_names))
        nodes = b",".join(self._nodes[name] for name in command.node_names if name in self._nodes)
        return b'{"Pod":%b,"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % (pod, nodes)

    def _encode_preemption(self, command: CallExtender, pod: bytes) -> bytes:
        is_short = command.extender.node_cache_capable
        parts = []
        for node, uids, violations in command.victims:
            pods = [orjson.dumps({"UID": uid}) if is_short else self._pod(uid) for uid in uids]
            text = b'{"Pods":[%b],"NumPDBViolations":%d}' % (b",".join(pods), violations)
            parts.append(b"%b:%b" % (orjson.dumps(node), text))
        victims = b"{%b}" % b",".join(parts)
        short, long = (victims, b"null") if is_short else (b"null", victims)
        return b'{"Pod":%b,"NodeNameToVictims":%b,"NodeNameToMetaVictims":%b}' % (pod, long, short)

    def _pod(self, uid: str) -> bytes:
        return self._pods.get(uid) or orjson.dumps({"metadata": {"uid": uid}})


def _put(known: dict[str, bytes], key: str, tree: bytes | None) -> None:
    if tree is None:
        known.pop(key, None)
    else:
        known[key] = tree


class BlockingCalls:
    """Sends at once and waits for the answer: where time is virtual, or nobody waits for anything else."""

    def call(self, command: CallExtender, body: bytes, on_answer: OnAnswer) -> None:
        """Send, wait, answer."""
        on_answer(send(command.extender, verb_of(command), body))


class ThreadedCalls:
    """Sends from threads; the answers arrive on the loop."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon  # may be called from any thread
        self._threads = ThreadPoolExecutor(OPEN_CALLS_MAX, "extender")

    def call(self, command: CallExtender, body: bytes, on_answer: OnAnswer) -> None:
        """Send in a thread."""
        self._threads.submit(self._send, command, body, on_answer)

    def _send(self, command: CallExtender, body: bytes, on_answer: OnAnswer) -> None:
        response = send(command.extender, verb_of(command), body)
        self._call_soon(partial(on_answer, response))

    def close(self) -> None:
        """Start no more calls; does not wait for those that are open."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def send(extender: Extender, verb: str, body: bytes) -> Response:
    """Send one call and return the answer; a failure is an answer with a code of its own."""
    timeout_s = parse_duration(extender.http_timeout) or DEFAULT_TIMEOUT_S
    url = urlsplit(f"{extender.url_prefix.rstrip('/')}/{verb}")
    try:
        connection = _connect(extender, url.scheme == "https" or extender.enable_https, url.netloc, timeout_s)
        try:
            connection.request("POST", url.path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            text = "" if answer.status == 200 else f"code {answer.status}"
            return Response(answer.status, content, text)
        finally:
            connection.close()
    except TimeoutError:
        return Response(_TIMED_OUT, message=f"no answer within {timeout_s:g}s")
    except (OSError, HTTPException, ValueError, ConfigError) as error:
        return Response(_FAILED, message=str(error) or type(error).__name__)


def _connect(extender: Extender, is_secure: bool, host: str, timeout_s: float) -> HTTPConnection:
    if not is_secure:
        return HTTPConnection(host, timeout=timeout_s)
    connection = HTTPSConnection(host, timeout=timeout_s, context=_context(extender))
    name = extender.tls_config.server_name if extender.tls_config is not None else ""
    if name:  # the certificate is that of another name than the one that is called
        connection = _Renamed(host, name, timeout_s, _context(extender))
    return connection


class _Renamed(HTTPSConnection):
    """Expects the certificate of ``server_name``."""

    def __init__(self, host: str, server_name: str, timeout_s: float, context: ssl.SSLContext) -> None:
        super().__init__(host, timeout=timeout_s, context=context)
        self._server_name = server_name
        self._tls = context

    def connect(self) -> None:
        HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)


def _context(extender: Extender) -> ssl.SSLContext:
    """Return the TLS settings. As upstream: without a root certificate the server's is not verified."""
    tls = extender.tls_config
    context = ssl.create_default_context()
    ca_data = tls.ca_data.decode() if tls is not None else ""
    ca_file = tls.ca_file if tls is not None else ""
    if ca_data:
        context.load_verify_locations(cadata=ca_data)
    elif ca_file:
        context.load_verify_locations(cafile=ca_file)
    if not (ca_data or ca_file) or (tls is not None and tls.insecure):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls is not None and (tls.cert_data or tls.cert_file):
        _load_certificate(context, tls.cert_data, tls.key_data, tls.cert_file, tls.key_file)
    return context


def _load_certificate(
    context: ssl.SSLContext, cert_data: bytes, key_data: bytes, cert_file: str, key_file: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # ssl reads certificates from files alone
        if cert_data:
            cert_file = str(Path(folder) / "cert.pem")
            Path(cert_file).write_bytes(cert_data)
        if key_data:
            key_file = str(Path(folder) / "key.pem")
            Path(key_file).write_bytes(key_data)
        context.load_cert_chain(cert_file, key_file or None)
