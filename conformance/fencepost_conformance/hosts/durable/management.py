"""Management of a steered Host: Host API v2 on loopback, with a steward that works only when the kit lets it.

Face, steward, machine and what is kept are the reference's own. Beside the steering only the bundles differ:
their bytes are the probe in JavaScript, and the probe in Python is what contexts run in its stead.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from fencepost.api.access import granted
from fencepost.api.artifacts import Artifacts, source
from fencepost.api.face import Face
from fencepost.api.instances import Deployed, Instances
from fencepost.api.kept import Kept
from fencepost.api.steward import Steward
from fencepost.durable.store import Store
from fencepost.management.driver import inspect
from fencepost.management.state import Rules, State
from starlette.types import Receive, Scope, Send

from ...probe import load

PRINCIPALS: Mapping[str, str] = {"owner": "FENCEPOST_OWNER", "stranger": "FENCEPOST_STRANGER"}
"""The variables that hold the secrets of the two principals."""

_GRANTS = ("owner=FENCEPOST_OWNER:default,other", "stranger=FENCEPOST_STRANGER")
_PATIENCE_SECONDS = 600.0  # for bytes that the kit withholds


class SteeredSteward(Steward):
    """Looks after what was accepted when it is told to, and never by itself."""

    def work(self) -> bool:
        """Do all that can be done now; whether anything came of it."""
        before = self.state
        while True:
            seen = self.state
            self._step()
            self._verifier.submit(lambda: None).result()  # what was to be verified before it is
            if self.state is seen:
                return seen is not before


class _ProbeInstances(Instances):
    """The data plane, with the probe in Python."""

    def exports(self, source: str, name: str) -> Mapping[str, bool] | None:
        """What the probe exports; its module in JavaScript has handlers beside."""
        return inspect({"default": {}, **load(name)()})


class Management:
    """The API of one worker process, at a socket that outlives it."""

    def __init__(self, store: Store, listening: socket.socket, folder: Path) -> None:
        host, port = listening.getsockname()
        self._origin = f"http://{host}:{port}"
        self._listening = listening
        self._store, self._artifacts = store, Artifacts([source(str(folder))])
        self._access = granted(_GRANTS, os.environ)
        self._kept = Kept(store, Rules())
        self._steward: SteeredSteward | None = None

    def state(self) -> State:
        """Management as it is now."""
        return self._steward.state if self._steward is not None else State()

    def begin(self, worker: Deployed, anew: bool) -> None:
        """Go on with what is kept, or forget it before."""
        if self._steward is not None:
            self._steward.close()
        if anew:
            self._kept.forget()
        plane = _ProbeInstances(self._store, self.state, worker)
        self._steward = SteeredSteward(
            plane, self._artifacts, store=self._kept, clock=self._store.now, patience=_PATIENCE_SECONDS
        )
        self._face = Face(self._steward.answer, self._access, self._origin)

    def work(self) -> bool:
        """Let the steward do what it can; whether anything came of it."""
        return self._steward is not None and self._steward.work()

    def serve(self) -> None:
        """Answer at the socket from now on, in a thread of its own."""
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        server = uvicorn.Server(config)
        threading.Thread(target=server.run, args=([self._listening],), daemon=True).start()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Any:
        await self._face(scope, receive, send)
