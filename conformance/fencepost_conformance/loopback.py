"""A small HTTP server on the loopback interface, in a thread of its own: many short requests on kept-alive
connections.

It reads a request line, the headers that say how long the body is, and the body; it hands method, path and
body to one function, and writes what comes back. A request that it cannot read is answered with a line that
says what to send, and ends its connection.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, NamedTuple, cast

HOST = "127.0.0.1"
JSON = "application/json"

_END_OF_HEAD = b"\r\n\r\n"
_HEAD_LIMIT = 1 << 16  # bytes of a request line with its headers
_JOIN_SECONDS = 5.0


def reserved() -> socket.socket:
    """A free port, kept for servers that come and go: nobody else is given it while this socket is open."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind((HOST, 0))
    return held


class Reply(NamedTuple):
    """What a request is answered with."""

    status: int
    body: bytes
    kind: str = JSON


Respond = Callable[[str, str, bytes], Reply | Awaitable[Reply]]  # of method, path and body


def json_reply(document: Any, status: int = 200) -> Reply:
    """A reply that is JSON, and ends its line."""
    return Reply(status, json.dumps(document).encode("ascii") + b"\n")


def refusal(status: int, text: str) -> Reply:
    """A reply that says what to send instead."""
    return json_reply({"error": text}, status)


class _Unreadable(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.reply = refusal(status, text)


class Loopback:
    """The server: answers from its construction until it is closed."""

    def __init__(self, respond: Respond, body_limit: int, port: int = 0) -> None:
        self.port = port
        self._respond, self._body_limit = respond, body_limit
        self._loop = asyncio.new_event_loop()
        self._conversations: set[_Conversation] = set()
        self._begun = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="fencepost-loopback")
        self._thread.start()
        self._begun.wait()
        if self._failure is not None:
            raise self._failure

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://{HOST}:{self.port}"

    def close(self) -> None:
        """Answer nobody any more; may be called twice."""
        with suppress(RuntimeError):  # closed already
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        loop = self._loop
        try:
            server = loop.run_until_complete(loop.create_server(self._converse, HOST, self.port))
        except OSError as error:
            self._failure = error
            loop.close()
            self._begun.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._begun.set()
        loop.run_forever()
        server.close()
        loop.run_until_complete(self._end_conversations())
        loop.close()

    def _converse(self) -> "_Conversation":
        return _Conversation(self._respond, self._body_limit, self._conversations)

    async def _end_conversations(self) -> None:
        for conversation in tuple(self._conversations):
            conversation.abort()
        await asyncio.sleep(0)  # the transports say that they are lost, and close their sockets


class _Conversation(asyncio.Protocol):
    """The requests of one connection, one after the other, until either side ends it."""

    def __init__(self, respond: Respond, body_limit: int, open_ones: set["_Conversation"]) -> None:
        self._respond, self._body_limit, self._open_ones = respond, body_limit, open_ones
        self._buffer = bytearray()
        self._wanted: tuple[str, str, bool, int] | None = None  # of a request whose body is on its way
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._open_ones.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open_ones.discard(self)
        if self._task is not None:
            self._task.cancel()

    def abort(self) -> None:
        """End it, whatever it is about."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._task is None and not self._transport.is_closing() and self._take():
            pass

    def _take(self) -> bool:
        """Answer the next request, or begin to; False when it has not arrived in full."""
        try:
            if self._wanted is None and not self._read_head():
                return False
        except _Unreadable as error:
            self._write(error.reply, False)
            return False
        assert self._wanted is not None
        method, path, goes_on, length = self._wanted
        if len(self._buffer) < length:
            return False
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._wanted = None
        reply = self._respond(method, path, body)
        if isinstance(reply, Reply):
            self._write(reply, goes_on)
        else:
            self._task = asyncio.get_running_loop().create_task(self._answer_later(reply, goes_on))
        return True

    def _read_head(self) -> bool:
        end = self._buffer.find(_END_OF_HEAD)
        if max(end, 0 if end >= 0 else len(self._buffer)) > _HEAD_LIMIT:
            raise _Unreadable(431, f"send less than {_HEAD_LIMIT} bytes of headers")
        if end < 0:
            return False
        method, path, headers = _parsed(bytes(self._buffer[:end]))
        del self._buffer[: end + len(_END_OF_HEAD)]
        goes_on = headers.get("connection", "").lower() != "close"
        self._wanted = (method, path, goes_on, _length(headers, self._body_limit))
        return True

    async def _answer_later(self, reply: Awaitable[Reply], goes_on: bool) -> None:
        self._write(await reply, goes_on)
        self._task = None
        self.data_received(b"")

    def _write(self, reply: Reply, goes_on: bool) -> None:
        self._transport.write(_written(reply, goes_on))
        if not goes_on:
            self._transport.close()


def _parsed(head: bytes) -> tuple[str, str, Mapping[str, str]]:
    lines = head.decode("latin-1").split("\r\n")
    try:
        method, path, version = lines[0].split(" ")
    except ValueError:
        version = ""
    if version != "HTTP/1.1":
        raise _Unreadable(400, "send an HTTP/1.1 request")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return method, path, {name.strip().lower(): value.strip() for name, _, value in pairs}


def _length(headers: Mapping[str, str], limit: int) -> int:
    """The length of the body in bytes."""
    if "transfer-encoding" in headers:
        raise _Unreadable(411, "send the body in one piece with a Content-Length, not chunked")
    given = headers.get("content-length", "0")
    if not (given.isascii() and given.isdigit()):
        raise _Unreadable(400, f"Content-Length is {given!r}; give the length of the body in bytes")
    if int(given) > limit:
        raise _Unreadable(413, f"send at most {limit} bytes")
    return int(given)


def _written(reply: Reply, goes_on: bool) -> bytes:
    head = (
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n"
        f"Content-Type: {reply.kind}\r\nContent-Length: {len(reply.body)}\r\n"
        f"{'' if goes_on else 'Connection: close' + chr(13) + chr(10)}\r\n"
    )
    return head.encode("latin-1") + reply.body
