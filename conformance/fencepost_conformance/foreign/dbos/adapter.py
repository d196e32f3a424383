"""The adapter of DBOS: it starts a process of the engine on a file of SQLite, and passes requests on to it.

DBOS is a library, so that the engine is whatever process has it loaded: `engine.py`, one for each adapter,
with which it speaks lines of JSON on a socket pair. A restart is a SIGKILL of that process, and another
one on the same file, which recovers what was under way as the engine does at every start. Instances are told
apart by the token of their scenario, so that one process serves many scenarios; one that does not
come to rest at the end of a scenario is killed, and the next one begins on a new file.

The kit's journal is served on loopback for as long as the adapter lives; effects report from the engine's
process to there.
"""

import asyncio
import contextlib
import itertools
import json
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ...adapter import ABSENT, PROTOCOL, AdapterFault, Call, HostError, Setup
from ...journal import Journal
from ...journal_server import respond
from ...loopback import Loopback, Reply, refusal

Shim = Literal["raw", "emulated"]

# How long the loss of a process may go unnoticed: another one is started at once, and looks once a second
# for what it has to recover.
LEASE_SECONDS = 3
INSTRUMENTS = ("journal", "restart", "responses")

_START_SECONDS = 60.0
_CALL_SECONDS = 30.0
_REST_SECONDS = 5.0
_LINE_LIMIT = 1 << 26  # bytes of one answer
_BODY_LIMIT = 1 << 20  # bytes of one report


class _Gone(Exception):
    """The process of the engine ended before it answered."""


class _Engine:
    """A process of the engine, and this end of the way to it."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.process = process
        self.up: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._writer = writer
        self._tickets = itertools.count()
        self._waiting = {-1: self.up}
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def started(cls, shim: Shim, folder: Path) -> tuple["_Engine", dict[str, Any]]:
        """One that is up, and what it says of itself; raises AdapterFault."""
        mine, theirs = socket.socketpair()
        command = [sys.executable, "-m", f"{__package__}.engine", str(theirs.fileno()), str(folder), shim]
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # it sees the end of the socket, and removes its folder
        )
        theirs.close()
        engine = cls(process, *await asyncio.open_connection(sock=mine, limit=_LINE_LIMIT))
        try:
            return engine, await asyncio.wait_for(engine.up, _START_SECONDS)
        except (TimeoutError, _Gone):
            await engine.kill()
            raise AdapterFault("the process of the engine does not start; its log says why") from None

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                answer = json.loads(line)
                waiting = self._waiting.pop(answer.pop("ticket"), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        for each in self._waiting.values():
            if not each.done():
                each.set_exception(_Gone())

    async def ask(self, op: str, seconds: float = _CALL_SECONDS, **arguments: Any) -> Any:
        """What it answers; raises HostError for a rejection, AdapterFault for no answer in time, or _Gone."""
        ticket = next(self._tickets)
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[ticket] = waiting
        self._writer.write(
            json.dumps({"ticket": ticket, "op": op, "with": arguments}).encode("ascii") + b"\n"
        )
        if self._reading.done():
            raise _Gone
        try:
            answer = await asyncio.wait_for(waiting, seconds)
        except TimeoutError:
            raise AdapterFault(f"the engine did not answer {op} within {seconds:g} s") from None
        if "error" in answer:
            raise HostError(answer["error"]["name"], answer["error"]["message"])
        return answer["ok"]

    async def kill(self) -> None:
        """End it hard, and return once it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        self._writer.close()
        await self._reading


class DbosAdapter:
    """Speaks the adapter's protocol for one process of the engine at a time."""

    raw_values = True  # they are built in the engine's process: not all of them can be sent there

    def __init__(self, shim: Shim) -> None:
        self._shim = shim
        self._folder = tempfile.mkdtemp(prefix="fencepost-dbos-")
        self._engine: _Engine | None = None
        self._said: dict[str, Any] = {}
        self._scenario: dict[str, Any] | None = None
        self._journal = Journal()
        self._secret = ""
        self._lock = threading.Lock()
        self._server = Loopback(self._respond, _BODY_LIMIT)

    def _respond(self, method: str, path: str, body: bytes) -> Reply:
        secret, _, report = path.removeprefix("/").partition("/")
        with self._lock:
            if secret != self._secret:
                return refusal(404, "this scenario is over")
            return respond(self._journal, method, report, body)

    # -- the process of the engine ------------------------------------------------------------------

    async def _start(self) -> None:
        self._engine, self._said = await _Engine.started(self._shim, Path(self._folder))
        if self._scenario is not None:
            await self._engine.ask("begin", **self._scenario)

    async def _end_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.kill()

    async def _ask(self, op: str, **arguments: Any) -> Any:
        if self._engine is None:
            raise AdapterFault("there is no process of the engine: it did not start again")
        try:
            return await self._engine.ask(op, **arguments)
        except _Gone:  # the caller sees a connection that is reset
            raise HostError("backend_unavailable", "the process ended before it answered") from None

    def _log(self, line: str) -> None:
        print(f"adapter: {line}", file=sys.stderr, flush=True)

    # -- scenarios ----------------------------------------------------------------------------------

    async def handshake(self, hello: Mapping[str, Any]) -> dict[str, Any]:
        """The version is that of the package."""
        if self._engine is None:
            await self._start()
        return {
            "protocol": PROTOCOL,
            "host": {"name": f"DBOS Transact on SQLite ({self._shim})", "version": self._said["version"]},
            "instruments": list(INSTRUMENTS),
            "leaseSeconds": LEASE_SECONDS,
        }

    async def begin(self, setup: Setup) -> None:
        """Names with the token of this scenario; the engine is that of the last one, if that came to rest."""
        with self._lock:
            self._journal, self._secret = setup.journal, secrets.token_urlsafe()
        version = max(setup.deployed, key=lambda each: setup.deployed[each])
        self._scenario = {
            "token": setup.token,
            "journal": f"{self._server.url}/{self._secret}",
            "version": version,
            "issued": [],
        }
        self._log(f"begin {setup.token}")
        if self._engine is None:
            await self._start()
        else:
            await self._ask("begin", **self._scenario)

    async def end(self) -> None:
        """Have all that runs come to an end."""
        try:
            if self._engine is not None:
                await self._engine.ask("end", seconds=_REST_SECONDS)
        except (AdapterFault, HostError, _Gone) as error:
            self._log(f"it does not come to rest ({error}); the next scenario begins on a new file")
            await self._end_engine()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = tempfile.mkdtemp(prefix="fencepost-dbos-")
        self._scenario = None
        with self._lock:
            self._secret = ""

    # -- the caller's calls -------------------------------------------------------------------------

    async def create(self, **arguments: Any) -> Any:
        id = await self._call("create", arguments)
        if arguments["id"] is ABSENT and self._scenario is not None:
            self._scenario["issued"].append(id)
        return id

    async def get(self, **arguments: Any) -> Any:
        return await self._call("get", arguments)

    async def status(self, **arguments: Any) -> Any:
        return await self._call("status", arguments)

    async def send_event(self, **arguments: Any) -> Any:
        return await self._call("send_event", arguments)

    async def terminate(self, **arguments: Any) -> Any:
        return await self._call("terminate", arguments)

    async def _call(self, op: str, arguments: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in arguments.items() if value is not ABSENT}
        return await self._ask("call", call=op, arguments=given)

    # -- instruments --------------------------------------------------------------------------------

    async def restart(self) -> None:
        """SIGKILL, and another process on the same file."""
        self._log("restart: SIGKILL of the process of the engine")
        await self._end_engine()
        await self._start()

    async def drop_response(self, call: Call) -> None:
        """The call takes effect; nobody hears how it ended."""
        with contextlib.suppress(HostError):
            await self._call(call.op, call.arguments)
