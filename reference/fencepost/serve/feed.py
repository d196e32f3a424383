"""Server-sent events: each open page is sent a frame when something has happened, and now and then anyway.

The Host calls from under its lock, so all that is done there is to wake the event loop, once until the board
is refreshed. Frames to one page keep a distance from each other; what happens between them is in the next.
They are made in threads, since they wait for the Host's lock: the event loop never does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fencepost.host.running import RunningHost
from fencepost.serve.board import Board, Viewer

DISTANCE_SECONDS = 0.2
IDLE_SECONDS = 5.0
RETRY_MILLISECONDS = 1000


class Feed:
    """The frames of one Host, for every page that is open. Made inside of the event loop."""

    def __init__(self, host: RunningHost, about: Mapping[str, Any]) -> None:
        self._about = about
        self._board = Board(host)
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._viewers: set[asyncio.Event] = set()
        self._awake = False
        self._ended = False
        self._unsubscribe = host.subscribe(self._happened)

    def end(self) -> None:
        """End every stream."""
        self._ended = True
        self._unsubscribe()
        self._wake_all()

    async def frames(self, viewer: Viewer) -> AsyncIterator[bytes]:
        """The stream of one page, until the feed ends."""
        changed = asyncio.Event()
        self._viewers.add(changed)
        first: dict[str, Any] = {"about": dict(self._about)}
        try:
            yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
            while not self._ended:
                changed.clear()
                yield await asyncio.to_thread(self._frame, viewer, first)
                first = {}
                await asyncio.sleep(DISTANCE_SECONDS)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), IDLE_SECONDS)
        finally:
            self._viewers.discard(changed)

    def _frame(self, viewer: Viewer, first: Mapping[str, Any]) -> bytes:
        with self._lock:
            self._awake = False
            self._board.refresh()
            return message({**first, **self._board.frame(viewer)})

    def _happened(self) -> None:
        """Called by the Host, under its lock, from any thread."""
        if not self._awake:
            self._awake = True
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for changed in self._viewers:
            changed.set()


def message(frame: Mapping[str, Any]) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps(frame).encode("ascii") + b"\n\n"
