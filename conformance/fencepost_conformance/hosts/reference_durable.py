"""The adapter of the durable reference: a database, worker processes, and a process for each context.

The kit is a caller like any other: it has a store of its own over the same database, and manages the Host
over HTTP. The clock is the database's, held still; `settle` lets the worker and its steward go until nothing
is due, nothing is to be stopped, no Operation can go on, and every context stands where only the kit can let
it go on. A restart is a SIGKILL of the worker's process, with the API in it; another one takes its place, has
to prove that what the first one left is gone, and goes on with its Operations.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fencepost.api.artifacts import FOLDER_URL
from fencepost.api.kept import Kept
from fencepost.contexts.wire import Channel
from fencepost.durable import statements as sql
from fencepost.durable.host import DurableHost
from fencepost.durable.store import SchemaRefused, Store, StoreUnavailable
from fencepost.durable.unit import Unit
from fencepost.history import document
from fencepost.host.calls import CallError
from fencepost.host.engine import LEASE_SECONDS
from fencepost.host.instruments import parse_point
from fencepost.machine.actions import Renew
from fencepost.machine.state import MILLISECONDS
from fencepost.management import queries
from fencepost.management.state import Rules, State
from fencepost.serve import server
from sqlalchemy import delete, exc, func, select, update

from ..adapter import INSTRUMENTS, PROTOCOL, AdapterFault, Call, HostError, Setup
from ..host_api import HostApi
from ..probe_bundle import Bundles
from .api_managed import ManagedThroughApi
from .durable.board import Board
from .durable.database import Database
from .durable.management import PRINCIPALS
from .reference import _given, _passed_on, _told

_BEGINNING = 1_000_000_000_000
_FIRST_LOOK_SECONDS, _LAST_LOOK_SECONDS = 0.001, 0.016
_SETTLE_SECONDS = 30.0  # without any transition
_LONGEST_SETTLE_SECONDS = 600.0  # with transitions that lead nowhere
_PROGRAM = (
    "import json, sys; from fencepost_conformance.hosts.durable.worker import main; "
    "main(*json.loads(sys.argv[1]))"
)


class _CallersStore(Store):
    """The caller's own way to the database, which can be cut."""

    cut = False

    def _connected(self) -> Any:
        if self.cut:
            raise exc.OperationalError("", {}, ConnectionError("the way to the database is cut"))
        return super()._connected()


class _Caller(DurableHost):
    """The caller's binding, of a Workflow that is managed."""

    def __init__(self, store: Store, uid: str = "") -> None:
        super().__init__(store, uid)
        self._kept = Kept(store, Rules())

    def create(self, id: Any = None, params: Any = None) -> str:
        """Create an instance, unless the Workflow is not ready (RDY-1)."""
        try:
            state = self._kept.load() or State()
        except StoreUnavailable as error:
            raise CallError("backend_unavailable", str(error)) from error  # BND-8
        if queries.admission(state, self.uid) == "unready":
            raise CallError("backend_unavailable", "the Workflow is not ready")  # RDY-1
        return super().create(id, params)


class _Worker:
    """A worker process, and the kit's end of the channel to it."""

    def __init__(self, board: Board, arguments: list[Any], environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(arguments)],
            stdin=subprocess.DEVNULL,
            env=os.environ | environment,
            pass_fds=[each for each in arguments if isinstance(each, int)],
        )
        try:
            self._channel: Channel = board.await_worker(lambda: self.process.poll() is None)
        except BaseException:  # also an interrupt
            self.process.kill()
            self.process.wait()
            raise

    def ask(self, op: str, **arguments: Any) -> Any:
        """What it answers; raises AdapterFault when it is gone."""
        with self._lock:
            try:
                self._channel.send({"op": op, "with": arguments})
                return self._channel.receive()["ok"]
            except (OSError, EOFError) as error:
                raise AdapterFault(f"the worker is gone: {op}: {error}") from error

    def kill(self) -> None:
        """End it hard."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._channel.close()


class DurableAdapter(ManagedThroughApi):
    """Speaks the adapter's protocol for one Workflow of the database at a time."""

    name = "reference-durable"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fencepost-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        (folder / "bundles").mkdir()
        self._database = Database(folder)
        self._board = Board(folder / "board", self._call_from_inside)
        self._callers = _CallersStore(self._database.place)
        self._store = Store(self._database.place)
        self._store.hold_clock(_BEGINNING)
        self._listening = server.listen(0)  # it outlives every worker
        arguments = [self._database.place, self._board.path, str(folder / "bundles")]
        self._arguments = [*arguments, self._listening.fileno()]
        self._secrets = {variable: secrets.token_urlsafe() for variable in PRINCIPALS.values()}
        self._worker = self._begin_worker()
        self._board.on_freeze = lambda pid: self._worker.ask("freeze", pid=pid)
        self._host = _Caller(self._callers)
        origin = f"http://{server.ADDRESS}:{self._listening.getsockname()[1]}"
        super().__init__(
            HostApi(origin, PRINCIPALS, self._secrets),
            Bundles(folder / "bundles", FOLDER_URL),
            {"default": "default", "other": "other"},
            lambda seconds: self._worker.ask("manage"),
        )

    def _begin_worker(self) -> _Worker:
        return _Worker(self._board, self._arguments, self._secrets)

    def close(self) -> None:
        """End every process, and remove the database."""
        self._worker.kill()
        self._listening.close()
        self._board.close()
        self._callers.close()
        self._store.close()
        self._database.close()
        self._folder.cleanup()

    def handshake(self, hello: Mapping[str, Any]) -> dict[str, Any]:
        """Every instrument is on offer."""
        return {
            "protocol": PROTOCOL,
            "host": {"name": self.name, "version": version("fencepost")},
            "instruments": list(INSTRUMENTS),
            "leaseSeconds": LEASE_SECONDS,
        }

    def begin(self, setup: Setup) -> None:
        """Forget everything, and have the probe deployed."""
        self._board.begin(setup.journal)
        self._callers.cut = False
        self._worker.ask("begin", anew=True)
        self.set_up(setup, self._board.path, caller="resource" in setup.uses)
        self._call_the_workflow()

    def _call_the_workflow(self) -> None:
        """From now on callers mean the Workflow that stands."""
        self._host.uid = self.resources()["workflow"]

    def end(self) -> dict[str, list[str]]:
        """Stop everything of the scenario and forget it; say which traps never sprung."""
        traps = [(each.deed, each.instance, each.point) for each in self._board.traps.set]
        traps += [tuple(each[:3]) for each in self._worker.ask("traps")]
        self._worker.ask("begin", anew=True)
        self.hold_wakes(False)
        self._host.flights.abort_all(CallError("backend_unavailable", "the scenario is over"))
        for table in (sql.instances, sql.resources):
            self._store.run(delete(table))
        return {"unsprung": [f"{deed} {instance} at {point}" for deed, instance, point in traps]}

    # -- the caller's calls ------------------------------------------------------------------------

    def create(self, id: Any, params: Any) -> Any:
        return _told(lambda: self._host.create(_given(id), _given(params)))

    def get(self, id: Any) -> Any:
        return _told(lambda: self._host.get(id))

    def status(self, id: Any) -> Any:
        return _told(lambda: self._host.status(id))

    def send_event(self, id: Any, type: Any, payload: Any) -> Any:
        in_flight = _told(lambda: self._host.send_event(id, type, _given(payload)))
        return None if in_flight is None else _passed_on(in_flight)

    def terminate(self, id: Any) -> Any:
        """A future while the stop is not proven."""
        return _passed_on(_told(lambda: self._host.terminate(id)))

    def _call_from_inside(self, call: str, id: str) -> None:
        """An instance calls its own binding, as any process could."""
        getattr(DurableHost(self._store, self._host.uid), call)(id)

    # -- the clock -----------------------------------------------------------------------------------

    def advance(self, milliseconds: int) -> None:
        """Move the clock; nothing runs. Owners that live have renewed their leases in that time."""
        living = [each for each in self._worker.ask("look") if not each["frozen"]]
        lease = milliseconds + LEASE_SECONDS * MILLISECONDS

        def renew(unit: Unit) -> None:
            for each in living:
                key, token = (self._host.uid, each["id"]), each["token"]
                unit.perform(key, lambda now, token=token: Renew(now, token, now + lease))  # type: ignore[misc]
            clock = sql.clock
            unit.run(update(clock).values(moved=clock.c.moved + milliseconds))

        self._store.transact(renew)

    def settle(self) -> None:
        """Let floating timers fire once, and the worker go, until only the kit could change anything."""
        self._board.let_run(tick=True)
        self._worker.ask("go")
        try:
            why, moved, since, pause = "", -1, time.monotonic(), _FIRST_LOOK_SECONDS
            limit = since + _LONGEST_SETTLE_SECONDS
            while time.monotonic() < min(since + _SETTLE_SECONDS, limit):
                why, now_moved = self._restless()
                if not why:
                    self._worker.ask("halt")
                    why, now_moved = self._restless()
                    if not why:
                        self._answer_calls()
                        return
                    self._worker.ask("go")
                if now_moved != moved:
                    moved, since = now_moved, time.monotonic()
                time.sleep(pause)
                pause = min(2 * pause, _LAST_LOOK_SECONDS)
            raise AdapterFault(f"the Host does not come to rest: {why}")
        finally:
            self._worker.ask("halt")

    def _restless(self) -> tuple[str, int]:
        """What still goes on, empty if nothing does; and how many transitions there were."""
        ticking = set(self._board.ticking)
        standing = dict(self._board.standing)
        known = {(each["id"], each["token"]): each for each in self._worker.ask("look")}
        due, contexts, moved = self._store.transact(self._look, writes=False)
        if due:
            return f"{due[0].id} is due", moved
        for id, token, fenced in contexts:
            each = known.get((id, token))
            if each is None:
                return f"context {token} of {id} is of no worker", moved
            if each["dying"]:
                return f"context {token} of {id} was killed, and its worker has yet to see it", moved
            if each["pid"] in ticking and not fenced:
                return f"a timer of {id} has fired", moved
            rests = id in self._board.stuck if fenced else each["quiet"] or each["pid"] in standing
            if not rests and not each["frozen"]:
                return f"context {token} of {id} {'is to be stopped' if fenced else 'runs'}", moved
        return "an Operation goes on" if self._worker.ask("manage") else "", moved

    def _look(self, unit: Unit) -> tuple[Any, Any, int]:
        uid, instances = self._host.uid, sql.instances
        due = unit.rows(sql.IS_DUE, uid=uid, now=unit.now, most=1)
        unstopped = (
            select(instances.c.id, sql.contexts.c.token, sql.contexts.c.fenced)
            .join(sql.contexts, sql.contexts.c.instance == instances.c.number)
            .where(instances.c.uid == uid)
        )
        moved = unit.run(select(func.sum(instances.c.revision)).where(instances.c.uid == uid)).scalar_one()
        return due, unit.run(unstopped).all(), int(moved or 0)

    def _answer_calls(self) -> None:
        self._callers.cut, cut = False, self._callers.cut
        self._host.land()
        self._callers.cut = cut
        if self._host.flights.awaited():  # TRM-6
            self._host.flights.reject_terminates(CallError("backend_unavailable", "the stop is not proven"))

    # -- other instruments -----------------------------------------------------------------------------

    def kill(self, id: str, at: str) -> None:
        self._arm("kill", id, at)

    def pause(self, id: str, at: str) -> None:
        self._arm("pause", id, at)

    def _arm(self, deed: Any, id: str, at: str) -> None:
        point, step = parse_point(at)
        if point == "effect-start":
            self._board.traps.arm(deed, id, point, step)
        else:
            self._worker.ask("arm", deed=deed, id=id, point=point, step=step)

    def resume(self, id: str) -> None:
        self._worker.ask("resume", id=id)

    def stuck(self, id: str) -> None:
        self._board.stuck.add(id)
        self._worker.ask("stuck", id=id, on=True)

    def unstuck(self, id: str) -> None:
        self._board.stuck.discard(id)
        self._worker.ask("stuck", id=id, on=False)

    def backend(self, up: bool) -> None:
        self._callers.cut = not up

    def restart(self) -> None:
        """Kill the worker, and let another one take its place; callers lose what they had asked."""
        traps = self._worker.ask("traps")
        self._host.flights.abort_all(CallError("backend_unavailable", "the Host was restarted"))
        self._worker.kill()
        self._worker = self._begin_worker()
        for deed, id, point, step in traps:
            self._worker.ask("arm", deed=deed, id=id, point=point, step=step)
        for id in self._board.stuck:
            self._worker.ask("stuck", id=id, on=True)

    def hold_wakes(self, on: bool) -> None:
        self._store.run(update(sql.clock).values(wakes_held=on))
        self._store.look_again(self._host.uid)

    def drop_response(self, call: Call) -> None:
        """The call takes effect; nobody hears how it ended."""
        try:
            call.perform(self)
        except HostError:
            return

    def recreate_resource(self) -> None:
        """Create the Workflow again under its name; callers mean that one."""
        super().recreate_resource()
        self._call_the_workflow()

    def history(self, id: str) -> dict[str, Any]:
        return _told(lambda: document(self._host.history(id)))  # type: ignore[no-any-return]


def make() -> DurableAdapter:
    """The durable reference; AdapterFault where there is no database for it."""
    try:
        return DurableAdapter()
    except (SchemaRefused, StoreUnavailable) as error:
        raise AdapterFault(str(error)) from None
