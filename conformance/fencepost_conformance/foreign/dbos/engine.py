"""A process of the engine: DBOS on a file of SQLite, and the other end of the adapter's socket.

The workflows are coroutines on the one event loop of the process, as DBOS runs them. The caller's calls are
made on threads of their own, with DBOS's plain functions; only a start is made on the loop, where the
workflow is to run. A call that raises is a rejection; each is a line of the log, with what DBOS answered.

When the adapter is gone the socket ends, and this process removes its folder and ends as well.
"""

import asyncio
import inspect
import json
import os
import shutil
import socket
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig

from ...adapter import ABSENT
from ...bench import live
from ...probe.values import UNDEFINED
from . import emulated_shim, raw_shim
from .runs import RUNS, log, task_of_run
from .translation import Scenario
from .traps import TRAPS

_THREADS = 16
_IN_FLIGHT = ["PENDING", "ENQUEUED", "DELAYED"]
SHIMS = {"raw": raw_shim.Shim, "emulated": emulated_shim.Shim}


class Engine:
    """What is asked of this process, each by its own method; they are called on threads."""

    def __init__(self, channel: socket.socket, shim: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._lines = channel.makefile("rb")
        self._channel = channel
        self._writing = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS)
        self._loop = loop
        self._shim = shim

    def say(self, **message: Any) -> None:
        """Write a line to the adapter."""
        with self._writing:
            self._channel.sendall(json.dumps(message).encode("ascii") + b"\n")

    def serve(self, folder: Path) -> None:
        """Answer until the adapter is gone; then nothing of this process is left, nor of its folder."""
        try:
            for line in self._lines:
                self._threads.submit(self._answer, json.loads(line))
        finally:
            while folder.exists():  # DBOS may be writing still
                shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)

    def _answer(self, request: dict[str, Any]) -> None:
        ticket = request["ticket"]
        try:
            value = getattr(self, request["op"])(**request["with"])
        except BaseException as error:
            self._refuse(ticket, error)
        else:
            if inspect.iscoroutine(value):
                asyncio.run_coroutine_threadsafe(self._answer_on_loop(ticket, value), self._loop)
            else:
                self.say(ticket=ticket, ok=value)

    async def _answer_on_loop(self, ticket: int, starting: Coroutine[Any, Any, Any]) -> None:
        """Answer before the workflow that was started comes to a trap."""
        try:
            value = await starting
        except BaseException as error:
            self._refuse(ticket, error)
        else:
            self.say(ticket=ticket, ok=value)

    def _refuse(self, ticket: int, error: BaseException) -> None:
        self.say(ticket=ticket, error={"name": self._shim.error_name(error), "message": str(error)})

    # -- scenarios ----------------------------------------------------------------------------------

    def begin(self, token: str, journal: str, version: str, issued: list[str]) -> None:
        """From now on instances are those of this scenario; DBOS has issued some ids already."""
        self._shim.scenario, self._shim.issued = Scenario(token, journal, version), set(issued)

    def end(self) -> None:
        """Have nothing run any more, now or after a restart."""
        left = [each.workflow_id for each in DBOS.list_workflows(status=_IN_FLIGHT)]
        if left:
            DBOS.cancel_workflows(left)
        asyncio.run_coroutine_threadsafe(RUNS.stop_all(), self._loop).result()

    def arm(self, point: str) -> None:
        """Set a trap."""
        TRAPS.arm(point)

    # -- the caller's calls -------------------------------------------------------------------------

    def call(self, call: str, arguments: dict[str, Any]) -> Any:
        """A caller's call on live values."""
        given = {name: value for name, value in live(call, arguments).items() if value is not ABSENT}
        return getattr(self, f"_{call}")(**given)

    def _create(self, id: Any = ABSENT, params: Any = None) -> Coroutine[Any, Any, str]:
        starting: Coroutine[Any, Any, str] = self._shim.create(id, params)
        return starting

    def _get(self, id: Any) -> None:
        self._shim.get(id)

    def _status(self, id: Any) -> dict[str, Any]:
        return {key: _as_json(value) for key, value in self._shim.status(id).items()}

    def _send_event(self, id: Any, type: Any = UNDEFINED, payload: Any = ABSENT) -> None:
        self._shim.send_event(id, type, payload)

    def _terminate(self, id: Any) -> None:
        self._shim.terminate(id, self._loop)


def _as_json(value: Any) -> Any:
    """The same value, or how it is written where JSON has none for it: pickle carries more."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return repr(value)


async def run(channel: socket.socket, folder: Path, name: str, owner: str, traps: list[str]) -> None:
    """Launch DBOS on this loop, and say so; an owner is an executor with a version of its own."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(task_of_run)
    engine = Engine(channel, SHIMS[name](), loop)
    TRAPS.tell = lambda point: engine.say(sprung=[point])
    for each in traps:
        TRAPS.arm(each)
    url = f"sqlite:///{folder / 'dbos.sqlite'}"
    config: DBOSConfig = {"name": "probe", "system_database_url": url, "log_level": "CRITICAL"}
    if owner:
        config |= {"executor_id": owner, "application_version": owner}
    DBOS(config=config)
    DBOS.launch()
    log(f"DBOS {version('dbos')} launched in process {os.getpid()} as executor {DBOS.executor_id}")
    threading.Thread(target=engine.serve, args=(folder,), daemon=True).start()
    engine.say(ticket=-1, version=version("dbos"))
    await asyncio.Event().wait()


if __name__ == "__main__":
    descriptor, place, chosen, owner, traps = sys.argv[1:]
    asyncio.run(run(socket.socket(fileno=int(descriptor)), Path(place), chosen, owner, json.loads(traps)))
