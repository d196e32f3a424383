"""A worker of the reference that can be steered: it works in rounds while it is let run, and has traps.

What it does in a round is the reference's own, for the Workflows that are managed in the same process. A kill
is a SIGKILL of the context's process, a pause a SIGSTOP: the thread that carries a paused context's report
holds it back until the context is resumed, so that late reports are really made.
"""

import math
import os
import random
import signal
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fencepost.api.instances import Deployed
from fencepost.contexts.execution import Proposal, ProposeCommit, ProposeSettle
from fencepost.contexts.forkserver import Export, Module
from fencepost.contexts.wire import Channel
from fencepost.durable import statements as sql
from fencepost.durable.recovery import Context
from fencepost.durable.store import Store
from fencepost.durable.unit import Unit
from fencepost.host.engine import Key
from fencepost.host.instruments import Deed, Traps
from fencepost.host.launching import Code, Forks
from fencepost.machine.actions import Action, EndLifetime, Wake
from fencepost.machine.replies import Fenced, Parked, Recorded, Reply, Stopped
from fencepost.machine.state import Instance, Kind
from fencepost.management import queries
from sqlalchemy import select

from .management import Management

MODULE = "fencepost_conformance.hosts.durable.probe"
_PATIENCE_SECONDS = 10.0


class SteeredWorker(Deployed):
    """Runs what is deployed in one scenario after the other."""

    backs_off = False  # the clock stands still

    def __init__(self, store: Store, launcher: Forks, management: Management) -> None:
        super().__init__(store, launcher, management.state, self._declared, contexts=256)
        self.management = management
        self._turn = threading.Condition()
        self._going = False
        self._chance = random.Random(0)
        self.traps = Traps()
        self.stuck: set[str] = set()
        self.quiet_ones: set[Context] = set()
        self.frozen: dict[Context, threading.Event] = {}
        self._killed: set[Context] = set()
        self._held_back: dict[Context, threading.Event] = {}

    # -- what differs ------------------------------------------------------------------------------

    def _round(self) -> None:
        with self._turn:
            self._turn.wait_for(lambda: self._going or self._closing)
            super()._round()

    def _renew(self) -> None:
        """Once: from then on the kit renews leases when it moves the clock, which stands still by itself."""
        super()._renew()
        self._renew_at = math.inf

    def _declared(self, uid: str, version: str) -> Code:
        """The class of a Workflow, with what a Version declares; a Binding is known by its name."""
        state = self.management.state()
        workflow, declared = queries.workflow(state, uid), queries.environment(state, version)
        assert workflow is not None
        return Code(workflow.class_name, declared.variables | declared.bindings)

    def may(self, unit: Unit, action: Action) -> bool:
        """Deadlines are not processed while wakes are held."""
        if isinstance(action, Wake | EndLifetime) and unit.run(select(sql.clock.c.wakes_held)).scalar_one():
            return False
        return super().may(unit, action)

    def alive(self, context: Context) -> bool:
        """Not while it is frozen."""
        return context not in self.frozen

    def stop(self, context: Context) -> bool:
        """What is stuck or frozen cannot be proven stopped."""
        if context[0][1] in self.stuck or context in self.frozen:
            return False
        self.quiet_ones.discard(context)
        return super().stop(context)

    def quiet(self, key: Key, token: int) -> None:
        """A run awaits something that nobody will settle."""
        self.quiet_ones.add((key, token))

    # -- traps -------------------------------------------------------------------------------------

    def begin_step(self, key: Key, token: int, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call; it may be the one that consumes an event."""
        reply = super().begin_step(key, token, kind, name, arguments)
        if kind == "wait" and isinstance(reply, Recorded):
            self._spring(key, token, "consumed", name)
        return reply

    def propose(self, key: Key, token: int, proposal: Proposal) -> Reply:
        """A proposal, with traps before and behind it."""
        name = None if isinstance(proposal, ProposeSettle) else proposal.name  # type: ignore[attr-defined]
        self._spring(key, token, self._point(key, proposal, name), name, before=True)
        reply = super().propose(key, token, proposal)
        if isinstance(proposal, ProposeCommit) and not isinstance(reply, Fenced | Stopped):
            self._spring(key, token, "committed", name)
        elif isinstance(reply, Parked) and not isinstance(proposal, ProposeCommit):
            self._spring(key, token, "parked", name)
        return reply

    def _point(self, key: Key, proposal: Proposal, name: str | None) -> str:
        if isinstance(proposal, ProposeSettle):
            return "settled"
        if isinstance(proposal, ProposeCommit):
            return "effect-end"
        slot = self.store.slot(key) if self.traps.set else None
        step = slot.history.get(name or "") if isinstance(slot, Instance) else None
        return "consumed" if step is not None and step.kind == "wait" and step.finished else "registered"

    def _spring(self, key: Key, token: int, point: str, name: str | None, before: bool = False) -> None:
        deed = self.traps.spring(key[1], point, name)
        if deed is None or (deed == "kill" and key[1] in self.stuck):
            return
        self.do(deed, (key, token))
        if deed == "kill":
            raise EOFError("it was killed")
        resumed = self.frozen[key, token]
        if before:
            self._held_back[key, token] = threading.Event()
        resumed.wait()
        if (key, token) in self._killed:
            raise EOFError("it was killed while it was frozen")

    def report(self, key: Key, token: int, make: Any, stopped: bool = False) -> Reply:
        """What was held back is tried before the context can be stopped."""
        try:
            reply = super().report(key, token, make, stopped)
            if isinstance(reply, Fenced):
                self.quiet_ones.add((key, token))  # it stands still, also while nobody may fence it
            return reply
        finally:
            done = self._held_back.pop((key, token), None)
            if done is not None:
                done.set()

    def do(self, deed: Deed, context: Context) -> None:
        """Kill or freeze a context."""
        with self._guard:
            running = self._running.get(context)
        pid = running.pid if running is not None else None
        if pid is None or (deed == "kill" and context[0][1] in self.stuck):
            return
        if deed == "kill":
            self._killed.add(context)
            os.kill(pid, signal.SIGKILL)
            resumed = self.frozen.pop(context, None)
            if resumed is not None:
                resumed.set()
        else:
            self._freeze(context)
            os.kill(pid, signal.SIGSTOP)

    def _freeze(self, context: Context) -> None:
        """Have somebody wait for its resumption, who does already unless it is just being resumed."""
        resumed = self.frozen.get(context)
        if resumed is None or resumed.is_set():
            self.frozen[context] = threading.Event()

    def thaw(self, context: Context) -> None:
        """Let a frozen context go on; what it had held back first."""
        resumed, done = self.frozen[context], self._held_back.get(context)
        with self._guard:
            running = self._running.get(context)
        if running is not None and running.pid is not None:
            os.kill(running.pid, signal.SIGCONT)
        resumed.set()
        if done is not None:
            done.wait(_PATIENCE_SECONDS)
        if self.frozen.get(context) is resumed:  # and not frozen again meanwhile
            del self.frozen[context]

    # -- what the kit asks -------------------------------------------------------------------------

    def serve(self, channel: Channel) -> None:
        """Answer the kit until it is gone; then this process ends, and all that it runs."""
        try:
            while True:
                asked = channel.receive()
                channel.send({"ok": getattr(self, f"on_{asked['op']}")(**asked["with"])})
        except (OSError, EOFError):
            os._exit(1)

    def on_begin(self, anew: bool) -> None:
        """Begin with the next scenario, with nothing deployed; or go on with that of an earlier process."""
        with self._turn:
            self._going = False
            self.traps = Traps()
            self.stuck.clear()
            for event in self.frozen.values():
                event.set()
            self.frozen.clear()
            with self._guard:
                over = list(self._running)
            for context in over:
                super().stop(context)
            self.quiet_ones.clear()
            self._killed.clear()
            self.management.begin(self, anew)

    def on_manage(self) -> bool:
        """Let management do what it can; whether anything came of it."""
        return self.management.work()

    def on_go(self) -> None:
        """Work."""
        with self._turn:
            self._going = True
            self._recover_at = 0.0
            self._turn.notify_all()
        self._wake.set()

    def on_halt(self) -> None:
        """Return once no round is under way."""
        self._going = False
        self._wake.set()
        with self._turn:
            return

    def on_look(self) -> list[dict[str, Any]]:
        """The contexts that run here; work at once if there is something to do."""
        self._wake.set()
        with self._guard:
            running = list(self._running.items())
        return [
            {
                "id": context[0][1],
                "token": context[1],
                "pid": each.pid,
                "quiet": context in self.quiet_ones,
                "frozen": context in self.frozen,
                "dying": context in self._killed,
            }
            for context, each in running
        ]

    def on_arm(self, deed: Deed, id: str, point: str, step: str | None) -> None:
        """Set a trap, or do it now."""
        if point != "now":
            self.traps.arm(deed, id, point, step)
            return
        for context in [each for each in self._running if each[0][1] == id]:
            self.do(deed, context)

    def on_freeze(self, pid: int) -> None:
        """A context was frozen from outside."""
        with self._guard:
            for context, each in self._running.items():
                if each.pid == pid:
                    self._freeze(context)

    def on_resume(self, id: str) -> None:
        """Let the frozen contexts of an instance go on."""
        for context in [each for each in self.frozen if each[0][1] == id]:
            self.thaw(context)

    def on_stuck(self, id: str, on: bool) -> None:
        """From now on no stop of this instance can be proven, or it can again."""
        (self.stuck.add if on else self.stuck.discard)(id)

    def on_traps(self) -> list[tuple[str, str, str, str | None]]:
        """The traps that have not sprung."""
        return [(each.deed, each.instance, each.point, each.step) for each in self.traps.set]


def main(place: str, board: str, folder: str, listening: int) -> None:
    """Work on this store, steered by the board at its socket, and managed at the one that is inherited."""
    store = Store(place)
    management = Management(store, socket.socket(fileno=listening), Path(folder))
    worker = SteeredWorker(store, Forks(Export(Module(name=MODULE), "Probe")), management)
    worker.on_begin(anew=False)
    management.serve()
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(board)
    channel = Channel(connected)
    channel.send({"worker": os.getpid()})
    threading.Thread(target=worker.serve, args=(channel,), daemon=True).start()
    worker.run()
