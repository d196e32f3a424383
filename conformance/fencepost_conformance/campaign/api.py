"""The Host API process of a campaign: the whole Host of `fencepost serve --api`, over one database.

It runs contexts of its own, in Node, of the same instances as the workers do; and it takes the calls of
callers, through a Worker that is deployed on it.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import time

from fencepost.api.access import granted
from fencepost.api.artifacts import source
from fencepost.api.host import ApiHost
from fencepost.serve import server

from .worker import follow_parent

SECRET = "FENCEPOST_CAMPAIGN_OWNER"
GRANTS = (f"owner={SECRET}",)
_LISTEN_SECONDS = 10.0
_LOOK_SECONDS = 0.01


def serve(place: str, folder: str, port: int, secret: str) -> None:
    """Serve on this port of loopback, with bundles from a folder, until SIGTERM comes."""
    follow_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with listening(port) as taken:
        origin = f"http://{server.ADDRESS}:{port}"
        host = ApiHost(
            origin, granted(GRANTS, {SECRET: secret}), [source(folder)], place=place, log=subprocess.DEVNULL
        )
        try:
            asyncio.run(_served(host, taken))
        finally:
            host.close()


def listening(port: int) -> socket.socket:
    """The socket on this port, once it can be had. Of a process that was killed in the middle of starting a
    program a copy is left, and has its sockets until it becomes that program."""
    limit = time.monotonic() + _LISTEN_SECONDS
    while True:
        try:
            return server.listen(port)
        except server.CannotListen:
            if time.monotonic() > limit:
                raise
            time.sleep(_LOOK_SECONDS)


async def _served(host: ApiHost, listening: socket.socket) -> None:
    async def end() -> None:
        await asyncio.to_thread(host.close)

    await server.run(host.app, listening, host.until_closed, end, lambda: None)
