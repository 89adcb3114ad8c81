"""Creates over HTTP, as many clients make them: a server process, clients and watchers in this one.

Measured is everything between the first request and the last answer; afterwards every watcher must have seen every
object once.
"""

import asyncio
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

from apportion.bench.measurement import BenchError, Progress

CREATES: Final = 10_000
CLIENTS: Final = 16
WATCHERS: Final = 10
_CONFIGMAPS: Final = "/api/v1/namespaces/default/configmaps"
_JSON: Final = {"Content-Type": "application/json"}
_TIMEOUT: Final = aiohttp.ClientTimeout(total=120)


@dataclass(frozen=True, slots=True)
class HttpMeasurement:
    """What one run came to."""

    name: str
    creates: int
    duration_s: float

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form."""
        return {"name": self.name, "createsPerSecond": round(self.creates / self.duration_s, 1)}


@contextlib.contextmanager
def _start_server(data_dir: str | None) -> Iterator[str]:
    """Run an API server in a process of its own; yields its address."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--kubelets", "none", "--controllers", "none", "--scheduler", "none"]
        options += ["--kubeconfig", str(Path(folder) / "kubeconfig")]
        options += ["--data-dir", data_dir] if data_dir else []
        command = [sys.executable, "-c", "from apportion.cli import main; main()", "up", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            found = re.match(r"ready: (http://\S+)", process.stdout.readline())
            if found is None:
                process.kill()
                raise BenchError("the server did not start")
            try:
                yield found[1]
            finally:
                process.terminate()


class _Load:
    def __init__(self, url: str, total: int, progress: Progress) -> None:
        self._url = url
        self._total = total
        self._progress = progress
        self._next = 0

    async def create(self, session: aiohttp.ClientSession) -> None:
        while self._next < self._total:
            number = self._next
            self._next += 1
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}, "data": {"k": "v"}}
            url = self._url + _CONFIGMAPS
            async with session.post(url, data=orjson.dumps(body), headers=_JSON) as response:
                await response.read()
                if response.status != 201:
                    raise BenchError(f"a create was answered with {response.status}")
            if number % 500 == 0:
                self._progress(number, self._total)

    async def watch(self, session: aiohttp.ClientSession, ready: asyncio.Event) -> None:
        """Read events until all objects were seen; raises BenchError when one comes twice."""
        seen: set[str] = set()
        async with session.get(f"{self._url}{_CONFIGMAPS}?watch=1") as response:
            ready.set()
            while len(seen) < self._total:
                line = await response.content.readline()
                if not line:
                    raise BenchError(f"a watch ended after {len(seen)} of {self._total} objects")
                name = orjson.loads(line)["object"]["metadata"]["name"]
                if name in seen:
                    raise BenchError(f"a watch told of {name} twice")
                seen.add(name)


async def _run(url: str, total: int, progress: Progress) -> float:
    load = _Load(url, total, progress)
    connector = aiohttp.TCPConnector(limit=CLIENTS + WATCHERS)
    async with aiohttp.ClientSession(timeout=_TIMEOUT, connector=connector) as session:
        opened = [asyncio.Event() for _ in range(WATCHERS)]
        watchers = [asyncio.create_task(load.watch(session, event)) for event in opened]
        await asyncio.gather(*(event.wait() for event in opened))
        start = time.perf_counter()
        await asyncio.gather(*(load.create(session) for _ in range(CLIENTS)))
        duration_s = time.perf_counter() - start
        await asyncio.gather(*watchers)
    return duration_s


def run_http(is_durable: bool, total: int = CREATES, progress: Progress = lambda done, total: None) -> HttpMeasurement:
    """Measure creates in memory, or kept on disk before they are answered. Raises BenchError."""
    with tempfile.TemporaryDirectory() as folder, _start_server(folder if is_durable else None) as url:
        duration_s = asyncio.run(_run(url, total, progress))
    kept = "durable" if is_durable else "in memory"
    return HttpMeasurement(f"HTTP creates, {kept}, {CLIENTS} clients, {WATCHERS} watchers", total, duration_s)
