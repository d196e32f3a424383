"""The end of an adapter in Python: ``python -m fencepost_conformance.serve IN OUT MODULE FACTORY`` serves
one on two pipes.

Requests are JSON lines on the file descriptor IN; each is handled as soon as it is read, beside those that
are still in flight. An ``async`` method runs on the event loop. A plain one runs in a worker thread, always
the same one as long as calls do not overlap, so that an adapter may hold what belongs to a thread; and they
overlap only where one has not returned after half a second. The journal is answered at once.

When IN ends the kit is gone, and so is this process with its whole group.
"""

import asyncio
import contextlib
import importlib
import inspect
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import reduce
from typing import Any

from .adapter import AdapterFault
from .bench import Bench, failure, fault

_LINE_LIMIT = 1 << 26  # bytes of one request
_WAITS_SECONDS = 0.5  # after which a method that has not returned is taken to wait for something


class Hand(threading.Thread):
    """A worker thread that does one thing after the other."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._work: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        """Take up work for ever."""
        while True:
            work, done = self._work.get()
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

    def do(self, work: Callable[[], Any]) -> "Future[Any]":
        """Have something done."""
        done: Future[Any] = Future()
        self._work.put((work, done))
        return done


class Hands:
    """Worker threads; the first idle one, in the order in which they were made, does the next thing.

    Nothing is begun beside something that has only just begun, so that two things are in progress at once
    only where the first one waits.
    """

    def __init__(self) -> None:
        self._all: list[Hand] = []
        self._busy: dict[Hand, tuple[float, asyncio.Future[Any]]] = {}
        self._turn = asyncio.Lock()

    async def do(self, work: Callable[[], Any]) -> Any:
        """Have something done in a thread, and wait for it."""
        async with self._turn:
            await self._others()
            hand = next((each for each in self._all if each not in self._busy), None)
            if hand is None:
                hand = Hand()
                self._all.append(hand)
            done = asyncio.wrap_future(hand.do(work))
            self._busy[hand] = (time.monotonic(), done)
        try:
            return await done
        finally:
            del self._busy[hand]

    async def _others(self) -> None:
        """Until each thing that is in progress is over, or has taken so long that it must be waiting."""
        for began, done in tuple(self._busy.values()):
            left = began + _WAITS_SECONDS - time.monotonic()
            if left > 0 and not done.done():
                await asyncio.wait((done,), timeout=left)


class Server:
    """One adapter, made at the handshake, and the requests to it."""

    def __init__(self, module: str, factory: str) -> None:
        self._named = (module, factory)
        self._bench: Bench | None = None
        self._hands = Hands()

    async def answer(self, request: Mapping[str, Any]) -> bytes:
        """The answer to one request, on one line."""
        arguments = dict(request)
        op, ticket = arguments.pop("op"), arguments.pop("ticket")
        try:
            return _line({"ticket": ticket, "ok": await self._perform(op, arguments)})
        except BaseException as error:
            return _line({"ticket": ticket, **_failed(op, error)})

    async def _perform(self, op: str, arguments: Mapping[str, Any]) -> Any:
        if self._bench is None:
            self._bench = Bench(await self._made())
        bench = self._bench
        if bench.is_own(op) or inspect.iscoroutinefunction(bench.method(op)):
            value = bench.perform(op, arguments)
        else:
            value = await self._hands.do(lambda: bench.perform(op, arguments))
        if isinstance(value, Future):
            return await asyncio.wrap_future(value)
        return await value if inspect.isawaitable(value) else value

    async def _made(self) -> Any:
        module, factory = self._named
        try:
            held = importlib.import_module(module)
        except Exception as error:
            traceback.print_exc()
            why = f"{type(error).__name__}: {error}"
            raise AdapterFault(
                f"cannot import {module} ({why}); set PYTHONPATH or change the directory"
            ) from None
        try:
            make = reduce(getattr, factory.split("."), held)
        except AttributeError:
            raise AdapterFault(f"{module} has no {factory}; name what makes an adapter") from None
        if not callable(make):
            raise AdapterFault(f"{module}.{factory} cannot be called; name what makes an adapter")
        try:
            adapter = make() if inspect.iscoroutinefunction(make) else await self._hands.do(make)
            return await adapter if inspect.isawaitable(adapter) else adapter
        except Exception as error:
            traceback.print_exc()
            raise AdapterFault(fault(factory, error)) from None


def _failed(op: str, error: BaseException) -> dict[str, Any]:
    rejection = failure(error)
    if rejection is not None:
        name, message = rejection
        return {"error": {"name": str(name), "message": str(message)}}
    if not isinstance(error, AdapterFault):
        traceback.print_exception(error)
    return {"fault": " ".join(fault(op, error).split())}


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, default=_plain).encode("ascii") + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset | tuple):
        return sorted(value)
    raise AdapterFault(f"the adapter returned {value!r:.60}, which is not JSON")


async def serve(read_from: int, write_to: int, module: str, factory: str) -> None:
    """Serve until the pipe of requests ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_from, "rb", 0))
    transport, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(write_to, "wb", 0))
    server = Server(module, factory)
    flying: set[asyncio.Task[None]] = set()

    async def handle(line: bytes) -> None:
        transport.write(await server.answer(json.loads(line)))

    while line := await reader.readline():
        task = asyncio.create_task(handle(line))
        flying.add(task)
        task.add_done_callback(flying.discard)


def main(arguments: list[str]) -> None:
    """Serve, and end this process and all that it started when the kit is gone."""
    read_from, write_to = int(arguments[0]), int(arguments[1])
    for pipe in (read_from, write_to):
        os.set_inheritable(pipe, False)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(read_from, write_to, arguments[2], arguments[3]))
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
