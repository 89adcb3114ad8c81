"""What lies between client and server: it cuts, stalls, mangles and refuses on demand."""

import asyncio
import contextlib


class Proxy:
    """Forwards bytes from a port of its own to a server."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._pairs: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}
        self._flows = asyncio.Event()
        self._flows.set()
        self._left: int | None = None
        self.port = 0
        self.connections = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Cut all connections and refuse new ones, until started again."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.cut()
        await asyncio.sleep(0)

    def cut(self) -> None:
        """Cut all connections."""
        for pair in tuple(self._pairs.items()):
            for writer in pair:
                writer.transport.abort()

    def cut_after(self, size: int) -> None:
        """Let some more bytes of answers through, then cut."""
        self._left = size

    def stall(self) -> None:
        """Let no answers through."""
        self._flows.clear()

    def flow(self) -> None:
        self._flows.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.transport.abort()
            return
        self._pairs[writer] = up_writer
        # at the end of a test whatever is under way is cancelled, which asyncio's servers do not expect
        with contextlib.suppress(asyncio.CancelledError):
            await self._forward(reader, writer, up_reader, up_writer)

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        try:
            await asyncio.gather(self._pump(reader, up_writer, False), self._pump(up_reader, writer, True))
        finally:
            self._pairs.pop(writer, None)
            for end in (writer, up_writer):
                end.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_answer: bool) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1024):
                if is_answer:
                    await self._flows.wait()
                    if self._left is not None:
                        data = data[: self._left]
                        self._left -= len(data)
                writer.write(data)
                await writer.drain()
                if is_answer and self._left == 0:
                    self._left = None
                    await asyncio.sleep(0.01)  # so that what was let through arrives
                    self.cut()
                    return
        if not writer.is_closing():
            writer.transport.abort() if is_answer else writer.write_eof()
