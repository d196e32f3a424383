"""A worker: claims what is due, runs contexts in processes of their own, and clears up after dead workers.

One thread looks at the store when the next thing is due, when somebody has written, and now and then; a
thread of each context carries what its code asks and proposes, straight into the store, where what gathers is
committed together. Every claim is a lease (GRT-4). It is renewed while the worker lives; when it has run out,
whoever looks first fences its owner and may run the work again. What the old owner reports then is refused,
and logged.

What dead workers left is proven stopped: see `recovery`. A worker that cannot renew its leases in time kills
its own contexts.
"""

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import delete, update

from fencepost.contexts.execution import Proposal, ProposeSettle
from fencepost.contexts.forkserver import ServerLost
from fencepost.durable import processes
from fencepost.durable import statements as sql
from fencepost.durable.codec import due_at
from fencepost.durable.recovery import LOG, Act, Context, Recovery, contexts_of
from fencepost.durable.store import Store, StoreUnavailable
from fencepost.durable.unit import ActionAt, Applied, Unit
from fencepost.host.engine import LEASE_SECONDS, Key
from fencepost.host.launching import Code, Launcher, Running
from fencepost.host.proposals import action_of
from fencepost.machine import Slot, enabled
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    Crash,
    EndLifetime,
    Renew,
    StopAck,
    Wake,
)
from fencepost.machine.replies import Fenced, Impossible, Reply
from fencepost.machine.state import MILLISECONDS, Instance, Kind

CONTEXTS = 64
"""How many contexts a worker runs at a time, where nothing else is said."""

POLL_SECONDS = 0.02
RETRY_SECONDS = 0.25
RECOVERY_SECONDS = 1.0
_MOST = 100


class Worker(Recovery):
    """Runs one Version of one Workflow resource until it is closed; `run` returns then."""

    backs_off = True
    """Whether the next context has to wait after one that ended by itself."""

    def __init__(
        self,
        store: Store,
        launcher: Launcher,
        code: Code,
        *,
        uid: str,
        version: str = "v1",
        contexts: int = CONTEXTS,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        super().__init__(store, round(lease_seconds * MILLISECONDS))
        self.launcher = launcher
        self._code, self._uid, self._version = code, uid, version
        self._most_contexts = contexts
        self._guard = threading.Lock()
        self._running: dict[Context, Running] = {}
        self._ending: set[Context] = set()
        self._lapsed: list[Context] = []
        self._wake = threading.Event()
        self._closing = False
        self._ended = threading.Event()
        self._renewed = self._renew_at = self._recover_at = 0.0
        self._unheard = False
        self.broken = False

    # -- what another worker may do otherwise ------------------------------------------------------

    def uids(self) -> list[str]:
        """The resources whose instances are run here."""
        return [self._uid]

    def pick(self, unit: Unit, uid: str) -> str | None:
        """The Version of a context that starts now (CTX-2)."""
        return self._version

    def code(self, uid: str, version: str) -> Code:
        """What a context of this Version runs."""
        return self._code

    def may(self, unit: Unit, action: Action) -> bool:
        """Whether something that is enabled may be done now."""
        return not isinstance(action, Claim) or len(self._running) < self._most_contexts

    # -- the loop ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Work until `close` is called, or until nothing can be run any more."""
        self._register()
        try:
            with self.store.hears(self._wake):
                self._go_on()
        except ServerLost as lost:
            self.broken = True
            LOG.error("%s; this worker ends", lost)
        finally:
            self._give_up()
            self._ended.set()

    def _go_on(self) -> None:
        while not self._closing:
            try:
                self._round()
            except StoreUnavailable as error:
                self._unheard |= error.unheard
                self._outlive()
                self._wake.wait(RETRY_SECONDS)

    def close(self) -> None:
        """Have `run` return; every context is killed, and what it was at is delivered again at once."""
        self._closing = True
        self._wake.set()

    def _round(self) -> None:
        self._wake.clear()
        seen = self.store.stamp()
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew()
        if now >= self._recover_at:
            self._recover_at = now + RECOVERY_SECONDS
            self.recover()
        if self._unheard:
            self._let_go()
        fenced, due, left = self.store.transact(self._look, writes=False)
        busy = self._stop_fenced(fenced)
        for uid in due:
            busy |= self._work(uid)
        if not busy:
            self.store.rest(self._wake, seen, min(left, POLL_SECONDS if seen is None else RECOVERY_SECONDS))

    def _look(self, unit: Unit) -> tuple[list[Context], list[str], float]:
        """The fenced contexts of this worker, the resources of which anything is due, and how long it is
        until the next thing is (seconds)."""
        fenced = contexts_of(unit.rows(sql.FENCED, worker=self.name))
        first = {uid: rows[0].due_at for uid in self.uids() if (rows := unit.rows(sql.NEXT_DUE, uid=uid))}
        due = [uid for uid, at in first.items() if at <= unit.now]
        later = [at - unit.now for at in first.values() if at > unit.now]
        return fenced, due, min(later, default=math.inf) / MILLISECONDS

    def _register(self) -> None:
        row = {
            "name": self.name,
            "machine": processes.machine(),
            "pid": os.getpid(),
            "began": processes.began(os.getpid()),
            "session": self.launcher.session,
            "session_began": processes.began(self.launcher.session),
        }
        while not self._closing:
            try:
                self.store.upsert(sql.workers, **row, seen_until=self.store.now() + self._lease)
                return
            except StoreUnavailable:
                self._wake.wait(RETRY_SECONDS)

    # -- what is due -------------------------------------------------------------------------------

    def _work(self, uid: str) -> bool:
        """Do what is due of a resource; whether anything was done."""
        if self._full(0) and not self.store.transact(
            lambda unit: self._due(unit, sql.IS_DUE_RUNNING, uid), writes=False
        ):
            return False
        done = self.store.transact(lambda unit: self._advance(unit, uid))
        for applied in done:
            self._after(applied)
        return bool(done)

    def _due(self, unit: Unit, query: Any, uid: str) -> list[str]:
        return [row.id for row in unit.rows(query, uid=uid, now=unit.now, most=_MOST)]

    def _advance(self, unit: Unit, uid: str) -> list[Applied]:
        done: list[Applied] = []
        claims = 0
        for id in self._due(unit, sql.DUE_RUNNING if self._full(0) else sql.DUE, uid):
            key = (uid, id)
            slot = unit.load(key)
            before = len(done)
            while (action := self._next(unit, key, slot, claims)) is not None:
                applied = unit.perform(key, lambda _, action=action: action, self.name)  # type: ignore[misc]
                done.append(applied)
                claims += isinstance(action, Claim)
                slot = applied.transition.state
            if len(done) == before and not self._full(claims):
                unit.look_later(key, _later(slot, unit.now))
        return done

    def _full(self, claims: int) -> bool:
        return len(self._running) + claims >= self._most_contexts

    def _next(self, unit: Unit, key: Key, slot: Slot, claims: int) -> Action | None:
        """The next thing to do about an instance, but for stops: they are of whoever runs the context."""
        for action in enabled(slot, unit.now, lease=self._lease):
            if isinstance(action, StopAck) or not self.may(unit, action):
                continue
            if isinstance(action, Claim):
                version = None if self._full(claims) else self.pick(unit, key[0])
                if version is None:
                    continue
                return Claim(action.now, action.token, version, action.lease_until)
            return action
        return None

    def _after(self, applied: Applied) -> None:
        key, action, _, transition = applied
        if isinstance(action, Claim) and isinstance(transition.state, Instance):
            code = self.code(key[0], action.version)
            with self._guard:
                self._running[key, action.token] = self.launcher.launch(
                    self, key, action.token, transition.state, code
                )
        elif isinstance(action, Wake | EndLifetime):
            LOG.debug("%s: %s", key[1], type(action).__name__)
        elif not transition.reply.refused:
            LOG.warning("%s: the lease of its owner has run out; it is delivered again", key[1])

    # -- stops -------------------------------------------------------------------------------------

    def _stop_fenced(self, fenced: list[Context]) -> bool:
        """Stop these contexts of this worker, and say that they are stopped (PUB-1, TRM-1)."""
        acts: list[Act] = [(key, StopAck, token) for key, token in fenced if self.stop((key, token))]
        lapsed = [*self._lapsed]
        acts += [(key, Crash, token) for key, token in lapsed]
        if acts:
            self._say(acts)
            del self._lapsed[: len(lapsed)]
        return bool(acts)

    def stop(self, context: Context) -> bool:
        """Kill a context; whether it is proven stopped now. One that was never started is."""
        with self._taken(context) as running:
            if running is not None:
                running.stop()
        return True

    @contextlib.contextmanager
    def _taken(self, context: Context) -> Iterator[Running | None]:
        """Take a context out of what runs, to stop it; meanwhile it is not proven stopped."""
        with self._guard:
            running = self._running.pop(context, None)
            self._ending.add(context)
        try:
            yield running
        finally:
            with self._guard:
                self._ending.discard(context)

    # -- leases ------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Extend the lease of everything that runs here."""
        with self._guard:
            running = sorted(self._running)
        running = [each for each in running if self.alive(each)]

        def renew(unit: Unit) -> None:
            for key, token in running:
                unit.perform(key, lambda now, token=token: Renew(now, token, now + self._lease))  # type: ignore[misc]
            seen = update(sql.workers).where(sql.workers.c.name == self.name)
            unit.run(seen.values(seen_until=unit.now + self._lease))

        began = time.monotonic()
        self.store.transact(renew)
        self._renewed, self._renew_at = began, began + self._lease / MILLISECONDS / 3

    def alive(self, context: Context) -> bool:
        """Whether a context shows life, so that its lease is renewed."""
        return True

    def _outlive(self) -> None:
        """Without a store no lease is renewed: when the last one is over, kill what nobody can fence."""
        if time.monotonic() < self._renewed + self._lease / MILLISECONDS:
            return
        with self._guard:
            running, self._running = self._running, {}
        for context, each in running.items():
            each.stop()
            self._lapsed.append(context)
        if running:
            LOG.warning("the leases of %d contexts could not be renewed: they are stopped", len(running))

    def _let_go(self) -> None:
        """Say that what this worker holds and does not run has crashed: it may have claimed unheard."""
        held = self._held_by(self.name)
        with self._guard:
            self._unheard = bool(self._ending)  # then once more
            idle = [each for each in held if each not in self._running and each not in self._ending]
        try:
            self._say_crashed(idle)
        except StoreUnavailable:
            self._unheard = True
            raise

    # -- the end -----------------------------------------------------------------------------------

    def _give_up(self) -> None:
        """Kill everything, and say so if the store can be reached; recovery says it otherwise."""
        self._closing = True
        with self._guard:
            running, self._running = self._running, {}
        self.launcher.close()
        for each in running.values():
            each.join()
        try:
            self._say_crashed(self._held_by(self.name))
            self.store.run(delete(sql.workers).where(sql.workers.c.name == self.name))
        except StoreUnavailable:
            LOG.warning("the store cannot be told that this worker has ended; the next one will find out")

    # -- what contexts say ---------------------------------------------------------------------------

    def begin_step(self, key: Key, token: int, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call of a context; called by its thread."""
        return self.report(key, token, lambda now: BeginStep(now, token, kind, name, arguments))

    def propose(self, key: Key, token: int, proposal: Proposal) -> Reply:
        """A proposal of a context; called by its thread. ValueError if it has no place there."""
        stopped = isinstance(proposal, ProposeSettle) and self._stop_settled((key, token))
        return self.report(key, token, lambda now: action_of(now, token, proposal), stopped)

    def _stop_settled(self, context: Context) -> bool:
        """Stop a context whose run is over, whatever is said to it: so one commit decides and publishes."""
        try:
            return self.stop(context)
        except ServerLost:
            self.fail()
            return False

    def report(self, key: Key, token: int, make: ActionAt, stopped: bool = False) -> Reply:
        """Have the machine judge what an owner reports, as soon as the store can be reached; ValueError where
        it is not known whether it did: a report is made once, so the next context finds out."""
        applied = self._insist(lambda unit: _reported(unit, key, token, make, stopped), once=True)
        if applied is None:
            return Fenced()
        reply, kind = applied.transition.reply, type(applied.action).__name__
        if isinstance(reply, Fenced):
            LOG.warning("%s: a late report of owner %d is refused: %s", key[1], token, kind)
        if isinstance(reply, Impossible):
            raise ValueError(reply.why)
        state = applied.transition.state
        if isinstance(state, Instance) and state.owner != token:
            self._wake.set()
        return reply

    def quiet(self, key: Key, token: int) -> None:
        """A run awaits something that nobody will settle."""
        LOG.warning("%s: its run awaits what nobody will settle; only terminate ends it", key[1])

    def lost(self, key: Key, token: int) -> None:
        """A context is gone, or not to be believed; called by its thread, also when it was stopped."""
        with self._taken((key, token)) as running:
            if running is None or self._closing:
                return
            try:
                running.stop()
            except ServerLost:
                self.fail()
                return
        LOG.warning("%s: its context %d has ended by itself", key[1], token)
        self._insist(lambda unit: unit.perform(key, lambda now: Crash(now, token), back_off=self.backs_off))

    def _insist(self, do: Callable[[Unit], Applied], once: bool = False) -> Applied | None:
        """Do it as soon as the store can be reached; None where this worker ends before."""
        while True:
            try:
                return self.store.transact(do)
            except StoreUnavailable as error:
                if self._closing:
                    return None
                if once and error.unheard:
                    self._unheard = True
                    raise ValueError("a report has had no answer") from error
                time.sleep(RETRY_SECONDS)

    def fail(self) -> None:
        """Nothing can be run any more."""
        self.broken = True
        self.close()


def _later(slot: Slot, now: int) -> int | None:
    """When to look again where nothing can be done now; None: when something else changes."""
    at = due_at(slot, now) if isinstance(slot, Instance) else None
    return None if at is None or at <= now else at


def _reported(unit: Unit, key: Key, token: int, make: ActionAt, stopped: bool) -> Applied:
    """What an owner reports; where its context is stopped already, that too."""
    applied = unit.perform(key, make)
    if stopped:
        unit.perform(key, lambda now: StopAck(now, token))
    return applied


__all__ = ["CONTEXTS", "Code", "Worker"]
