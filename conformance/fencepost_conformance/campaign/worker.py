"""A worker process of the campaign: the reference's own worker, which kills or stops itself at named points.

| point | where a worker is |
|---|---|
| `claimed`, `launched` | a claim is durable, its context is not started yet, or just is |
| `begun` | a `do` is on record as begun, the context has not heard of it |
| `registered` | a sleep or a wait is begun, and is about to be parked |
| `consumed` | an event is consumed, the context has not heard of it |
| `effect-end`, `committed` | an effect has ended, before and after its commit |
| `parked` | an instance is given up until it wakes |
| `settled`, `decided` | a run has settled, before and after that is on record |
| `stopped` | a fenced context is killed, nobody was told |
| `saying`, `said` | stops or losses are about to be told, or have been told, before anything else is done |
| `woken` | a deadline is recorded |
| `renewed` | leases are extended |
| `uncommitted` | a transaction has written everything, and is about to commit |

Processes are forked from one that has imported everything, which makes a restart cheap; a worker's fork
server is forked too. What they do is no other than what they do when they are started as programs.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fencepost.contexts import forkserver
from fencepost.contexts.execution import Proposal, ProposeCommit, ProposeSettle
from fencepost.contexts.forkserver import ForkServer, Module
from fencepost.durable.recovery import Act, Context
from fencepost.durable.store import Store
from fencepost.durable.unit import Applied
from fencepost.durable.worker import Worker
from fencepost.host.engine import Key
from fencepost.host.launching import Code, Forks
from fencepost.machine.actions import Claim, Wake
from fencepost.machine.replies import Fenced, Recorded, Reply, Run, Stopped
from fencepost.machine.state import Kind
from sqlalchemy import Connection, event

from . import faults
from .plans import Deed
from .processes import LOST

MODULE = Module(name="fencepost_conformance.campaign.probe")
SIGNALS = {"kill": signal.SIGKILL, "pause": signal.SIGSTOP}


class Trapped:
    """What happens to this process on its way."""

    def __init__(self, deeds: Sequence[Deed]) -> None:
        self._deeds = [each for each in deeds if each.passing]
        self._passed = 0
        self._guard = threading.Lock()

    def by(self, point: str) -> None:
        """The process comes by a point."""
        with self._guard:
            if not self._deeds or self._deeds[0].point != point:
                return
            self._passed += 1
            if self._passed < self._deeds[0].passing:
                return
            deed, self._passed = self._deeds.pop(0), 0
        os.kill(os.getpid(), SIGNALS[deed.what])


class CampaignWorker(Worker):
    """Comes by points."""

    trapped = Trapped(())

    def _after(self, applied: Applied) -> None:
        if isinstance(applied.action, Claim):
            self.trapped.by("claimed")
        super()._after(applied)
        if isinstance(applied.action, Claim):
            self.trapped.by("launched")
        elif isinstance(applied.action, Wake):
            self.trapped.by("woken")

    def begin_step(self, key: Key, token: int, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call."""
        reply = super().begin_step(key, token, kind, name, arguments)
        if isinstance(reply, Run):
            self.trapped.by("begun")
        elif kind == "wait" and isinstance(reply, Recorded):
            self.trapped.by("consumed")
        return reply

    def propose(self, key: Key, token: int, proposal: Proposal) -> Reply:
        """A proposal, with a point before it and one behind."""
        before, behind = _POINTS.get(type(proposal), ("registered", "parked"))
        self.trapped.by(before)
        reply = super().propose(key, token, proposal)
        if not isinstance(reply, Fenced | Stopped) or before != "effect-end":
            self.trapped.by(behind)
        return reply

    def stop(self, context: Context) -> bool:
        """Kill a context."""
        stopped = super().stop(context)
        self.trapped.by("stopped")
        return stopped

    def _say(self, acts: list[Act]) -> None:
        self.trapped.by("saying")
        super()._say(acts)
        self.trapped.by("said")

    def _renew(self) -> None:
        super()._renew()
        self.trapped.by("renewed")


_POINTS: Mapping[type, tuple[str, str]] = {
    ProposeCommit: ("effect-end", "committed"),
    ProposeSettle: ("settled", "decided"),
}


class _Forked:
    """A fork of this process, as whoever started a program sees it."""

    def __init__(self, run: Callable[[], None]) -> None:
        self.pid = os.fork()
        self._ended = False
        if not self.pid:
            try:
                os.setsid()
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                run()
            finally:
                os._exit(1)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self, seconds: float | None = None) -> None:
        """Return once it has ended: it always does, when its control is closed."""
        if not self._ended:
            os.waitpid(self.pid, 0)
            self._ended = True


class _ForkedServer(ForkServer):
    """A fork server that needs no interpreter of its own to be started."""

    def _start(self, descriptor: int) -> Any:
        def serve() -> None:
            os.closerange(3, descriptor)
            os.closerange(descriptor + 1, 1 << 12)
            forkserver.serve(descriptor)

        return _Forked(serve)


class _Forks(Forks):
    def __init__(self) -> None:
        self.server = _ForkedServer(MODULE)


def work(
    place: str, uid: str, journal: str, lease: float, deeds: Sequence[Deed], fault: str | None = None
) -> None:
    """Work on a store until SIGTERM comes, or what is to happen."""
    launcher = _Forks()  # before there is any thread
    store = Store(place)
    trapped = Trapped(deeds)

    @event.listens_for(store._engine, "commit")
    def committing(connection: Connection) -> None:
        if connection.info.get("writes"):
            trapped.by("uncommitted")

    worker = faults.breaking(CampaignWorker, fault)(
        store,
        launcher,
        Code("Probe", {"VERSION": "v1", "JOURNAL": journal}),
        uid=uid,
        lease_seconds=lease,
    )
    worker.trapped = trapped
    follow_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: worker.close())
    worker.run()
    store.close()
    if worker.broken:
        sys.exit(LOST)


def follow_parent() -> None:
    """End when the process that began this campaign does."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


__all__ = ["CampaignWorker", "Trapped", "follow_parent", "work"]
