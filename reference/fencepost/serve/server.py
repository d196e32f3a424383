"""Running it: a socket on loopback, the Host behind it, and an end that leaves nothing.

The end has an order: first no page is sent anything more, then the Host is closed, which kills and reaps
every context and rejects the calls in flight, and then the last answers go out. It comes with SIGINT or
SIGTERM, or when the Host has lost what runs its contexts.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from fencepost.host.running import RunningHost
from fencepost.serve import pages
from fencepost.serve.answers import Refused, refusal
from fencepost.serve.face import Face
from fencepost.serve.feed import Feed
from fencepost.serve.requests import Guard

ADDRESS = "127.0.0.1"
SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LAST_ANSWERS_SECONDS = 3
_CONNECTIONS = 512
_THREADS = 32


class CannotListen(OSError):
    """The port cannot be had: one line that says what to do."""


def listen(port: int) -> socket.socket:
    """A socket on loopback, for any free port where it is 0; `CannotListen` when it is taken."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
        listening.listen()
    except OSError as error:
        listening.close()
        remedy = "choose another with --port, or any free one with --port 0"
        raise CannotListen(f"port {port} {_reason(error)}; {remedy}") from None
    return listening


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "is in use"
    return "may not be used" if error.errno == errno.EACCES else f"cannot be used ({error.strerror})"


def application(host: RunningHost, feed: Feed) -> ASGIApp:
    """Everything that can be asked for."""
    app = Starlette(
        routes=[*Face(host).routes(), *pages.routes(feed)],
        exception_handlers={HTTPException: _not_here, Exception: _broken},
    )
    app.router.redirect_slashes = False
    return Guard(app)


async def _not_here(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        return refusal(Refused("method_not_allowed", f"use {allowed}"), {"allow": allowed})
    return refusal(Refused("not_found", "nothing is here; the page at / lists the calls"))


async def _broken(request: Request, error: Exception) -> Response:
    return refusal(Refused("internal_error", f"a fault of this server: {type(error).__name__}"))


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever runs this server."""
        yield


async def serve(
    host: RunningHost,
    listening: socket.socket,
    about: Mapping[str, Any],
    ready: Callable[[], None] = lambda: None,
) -> signal.Signals | None:
    """Serve until a signal comes, which is returned, or the Host is lost: then None. The Host is closed
    then."""
    feed = Feed(host, about)

    async def end() -> None:
        feed.end()
        await asyncio.to_thread(host.close)

    return await run(application(host, feed), listening, host.until_closed, end, ready)


async def run(
    app: ASGIApp,
    listening: socket.socket,
    until_lost: Callable[[], None],
    end: Callable[[], Awaitable[None]],
    ready: Callable[[], None],
    **tls: Any,
) -> signal.Signals | None:
    """Serve an application until a signal comes, which is returned, or `until_lost` returns; `end` closes
    what is behind it, before the last answers go out."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
        **tls,
    )
    server = _Server(config)
    loop, ending = asyncio.get_running_loop(), asyncio.Event()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS))
    received: list[signal.Signals] = []

    def stop(number: signal.Signals) -> None:
        received.append(number)
        ending.set()
        for each in SIGNALS:  # the second one ends this process at once; contexts follow their server
            loop.remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)

    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    running = asyncio.create_task(server.serve([listening]))
    lost = asyncio.create_task(asyncio.to_thread(until_lost))
    ready()
    try:
        await asyncio.wait(
            [running, lost, asyncio.ensure_future(ending.wait())], return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        await end()
        server.should_exit = True
        await running
    return received[0] if received else None
