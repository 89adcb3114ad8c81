"""Calls and streams over HTTP: bytes out, bytes in, and failures as replies."""

import asyncio
from collections.abc import Callable
from typing import Final

import aiohttp
from yarl import URL

from apportion.base import InputError, LimitError
from apportion.client.address import ServerAddress
from apportion.client.frames import read_message
from apportion.client.lines import Lines
from apportion.client.source import Reply

TOKEN_FRESH_S: Final = 60.0  # as client-go
CONNECT_S: Final = 10.0
UNAVAILABLE, TIMED_OUT = 503, 504
_JSON: Final = "application/json"


class Wire:
    """Connections to one API server. Nothing in it raises for what happens on the way: that is a `Reply`.

    Without an answer the code is 503, after too long a time 504; ``was_sent`` is False when nothing left for sure.
    """

    def __init__(self, address: ServerAddress) -> None:
        """Must be made inside a running loop. Raises InputError for unusable certificates."""
        self._loop = asyncio.get_running_loop()
        self._address = address
        self._context = address.make_ssl_context()
        self._token = address.read_token()
        self._token_s = self._loop.time()
        # how many calls there are at a time is for others to decide; watches come on top
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False)

    async def close(self) -> None:
        """Cut all connections."""
        await self._session.close()

    async def call(
        self, method: str, path: str, timeout_s: float, body: bytes = b"", content_type: str = _JSON
    ) -> Reply:
        """Send a request and wait for the whole answer."""
        headers = {"Content-Type": content_type} if body else {}
        timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(CONNECT_S, timeout_s))
        try:
            async with self._open(method, path, headers, timeout, body) as response:
                return _to_reply(response, await response.read())
        except (aiohttp.ClientError, OSError, TimeoutError, InputError) as error:
            return self._to_failure(error)

    async def stream(self, path: str, on_line: Callable[[bytes], None]) -> Reply:
        """Pass on the lines of an endless answer; returns how it ended. Half a line at its end is dropped."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
        lines = Lines()
        try:
            # compressed, an event would be held back until the next ones fill a block
            async with self._open("GET", path, {"Accept-Encoding": "identity"}, timeout) as response:
                if response.status != 200:
                    return _to_reply(response, await response.read())
                async for chunk in response.content.iter_any():
                    for line in lines.feed(chunk):
                        on_line(line)
                return Reply(200)
        except (aiohttp.ClientError, OSError, TimeoutError, InputError, LimitError) as error:
            return self._to_failure(error)

    def _open(
        self, method: str, path: str, headers: dict[str, str], timeout: aiohttp.ClientTimeout, body: bytes = b""
    ) -> "aiohttp.client._RequestContextManager":
        token = self._get_token()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self._session.request(
            method,
            URL(self._address.url + path, encoded=True),
            data=body or None,
            headers={"Accept": _JSON, "User-Agent": "apportion", **headers},
            timeout=timeout,
            ssl=self._context if self._context is not None else True,
            server_hostname=self._address.tls_server_name or None,
            proxy=self._address.proxy_url or None,
            allow_redirects=False,
        )

    def _get_token(self) -> str:
        now_s = self._loop.time()
        if now_s - self._token_s >= TOKEN_FRESH_S:
            self._token, self._token_s = self._address.read_token(), now_s
        return self._token

    def _to_failure(self, error: Exception) -> Reply:
        if isinstance(error, asyncio.TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError):
            return Reply(TIMED_OUT, message=f"no answer from {self._address.url} in time")
        was_sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | InputError)
        text = f"no answer from {self._address.url}: {error or type(error).__name__}"
        return Reply(UNAVAILABLE, message=text, was_sent=was_sent)


def _to_reply(response: aiohttp.ClientResponse, body: bytes) -> Reply:
    if response.status < 300:
        return Reply(response.status, body)
    code, message = response.status, read_message(body) or response.reason or ""
    if code < 400:  # the API redirects nobody: this is something else on the way
        code, message = UNAVAILABLE, f"redirected to {response.headers.get('Location', '?')}"
    delay = response.headers.get("Retry-After", "")
    return Reply(code, body, message, float(delay) if delay.isdecimal() and len(delay) < 6 else 0.0)
