"""The adapter of DBOS: it starts a process of the engine on a file of SQLite, and passes requests on to it.

DBOS is a library, so that the engine is whatever process has it loaded: `engine.py`, one for each adapter,
with which it speaks lines of JSON on a socket pair. A restart is a SIGKILL of that process, and another
one on the same file, which recovers what was under way as the engine does at every start. Instances are told
apart by the token of their scenario, so that one process serves many scenarios; one that does not
come to rest at the end of a scenario is killed, and the next one begins on a new file.

Where owners are killed each instance has one, a further process on the same file: runs are started and
terminated there, and all else is asked of the process that no kill meets.

The kit's journal is served on loopback for as long as the adapter lives; effects report from the engine's
process to there.
"""

import asyncio
import contextlib
import itertools
import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...adapter import ABSENT, PROTOCOL, AdapterFault, Call, HostError, Setup
from ...journal import Journal
from ...journal_server import respond
from ...loopback import Loopback, Reply, refusal
from .owners import Owner
from .process import Engine, Gone, Shim

# How long the loss of a process may go unnoticed: another one is started at once, and looks once a second
# for what it has to recover.
LEASE_SECONDS = 3
INSTRUMENTS = ("journal", "kill", "restart", "responses")

_REST_SECONDS = 5.0
_BODY_LIMIT = 1 << 20  # bytes of one report


class DbosAdapter:
    """Speaks the adapter's protocol for the process of the engine, and for the owners of a scenario."""

    raw_values = True  # they are built in the engine's process: not all of them can be sent there

    def __init__(self, shim: Shim) -> None:
        self._shim = shim
        self._folder = tempfile.mkdtemp(prefix="fencepost-dbos-")
        self._engine: Engine | None = None
        self._owners: dict[str, Owner] = {}
        self._spare: Owner | None = None  # of the next instance; nothing where no owner is killed
        self._numbers = itertools.count()
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
        engine = await Engine.spawned(self._shim, Path(self._folder))
        self._said = await engine.begin(self._scenario)
        self._engine = engine

    async def _end_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.kill()

    async def _ask(self, op: str, owner: Owner | None = None, **arguments: Any) -> Any:
        engine = self._engine if owner is None else await owner.engine()
        if engine is None:
            raise AdapterFault("there is no process of the engine: it did not start again")
        try:
            return await engine.ask(op, **arguments)
        except Gone:  # the caller sees a connection that is reset
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
        if "kill" in setup.uses:
            self._spare = self._new_owner(self._scenario)
            await self._spare.engine()

    async def end(self) -> dict[str, list[str]]:
        """Have all that runs come to an end; tells the traps that never sprang."""
        owners, spare, self._owners, self._spare = self._owners, self._spare, {}, None
        await asyncio.gather(*(each.end() for each in (*owners.values(), spare) if each is not None))
        try:
            if self._engine is not None:
                await self._engine.ask("end", seconds=_REST_SECONDS)
        except (AdapterFault, HostError, Gone) as error:
            self._log(f"it does not come to rest ({error}); the next scenario begins on a new file")
            await self._end_engine()
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = tempfile.mkdtemp(prefix="fencepost-dbos-")
        self._scenario = None
        with self._lock:
            self._secret = ""
        return {"unsprung": [f"kill {id} at {each}" for id, owner in owners.items() for each in owner.traps]}

    # -- the caller's calls -------------------------------------------------------------------------

    async def create(self, **arguments: Any) -> Any:
        id = arguments["id"]
        owner = self._owner(id) if isinstance(id, str) or id is ABSENT else None
        created = await self._call("create", arguments, owner)
        if id is ABSENT and self._scenario is not None:
            self._scenario["issued"].append(created)
            if owner is not None:
                self._owners[created] = self._owners.pop(owner.name)
                await self._ask("begin", **self._scenario)
        return created

    async def get(self, **arguments: Any) -> Any:
        return await self._call("get", arguments)

    async def status(self, **arguments: Any) -> Any:
        return await self._call("status", arguments)

    async def send_event(self, **arguments: Any) -> Any:
        return await self._call("send_event", arguments)

    async def terminate(self, **arguments: Any) -> Any:
        id = arguments["id"]
        owner = self._owners.get(id) if isinstance(id, str) else None
        return await self._call("terminate", arguments, owner)

    async def _call(self, op: str, arguments: Mapping[str, Any], owner: Owner | None = None) -> Any:
        given = {name: value for name, value in arguments.items() if value is not ABSENT}
        return await self._ask("call", owner, call=op, arguments=given)

    # -- instruments --------------------------------------------------------------------------------

    def _owner(self, id: Any) -> Owner | None:
        """The owner of an instance, where there are any; an id that DBOS issues is known afterwards."""
        if id not in self._owners and self._spare is not None and self._scenario is not None:
            owner, self._spare = self._spare, self._new_owner(self._scenario)
            self._owners[owner.name if id is ABSENT else id] = owner
            return owner
        return self._owners.get(id)

    def _new_owner(self, scenario: Mapping[str, Any]) -> Owner:
        return Owner(self._shim, Path(self._folder), f"owner-{next(self._numbers)}", scenario)

    async def kill(self, id: str, at: str) -> None:
        """SIGKILL of the owner, now or where a trap springs; another process follows at once."""
        owner = self._owner(id)
        if owner is None:
            raise AdapterFault("a scenario that kills must say so when it begins")
        self._log(f"kill {id} at {at}")
        await (owner.kill() if at == "now" else owner.trap(at))

    async def restart(self) -> None:
        """SIGKILL of every process, and others on the same file."""
        self._log("restart: SIGKILL of the processes of the engine")
        owners = [*self._owners.values(), *([] if self._spare is None else [self._spare])]
        await asyncio.gather(self._end_engine(), *(owner.kill() for owner in owners))
        await self._start()
        await asyncio.gather(*(owner.engine() for owner in owners))

    async def drop_response(self, call: Call) -> None:
        """The call takes effect; nobody hears how it ended."""
        with contextlib.suppress(HostError):
            await call.perform(self)
