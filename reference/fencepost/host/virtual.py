"""The in-process Host under a virtual clock, with every instrument that the kit can ask for.

It is one loop over three things: what the machine says is *enabled* (claim, wake, stop, ...), the turns of
the executions that are alive, and the traps that wait for an owner. Nothing runs but in `run`, so a caller's
call lands at an exact place. `advance` moves the clock and runs nothing.

An owner is an execution under a token. A fenced one is stopped, by dropping it, before it gets another turn;
a *stuck* one goes on running, and a *frozen* one keeps what it was about to report for `resume`. So late
reports are really tried. The store is `self.slots`; it survives `restart`, as do traps and clock, and
executions do not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fencepost import documents
from fencepost.contexts.execution import (
    Context,
    EffectBegan,
    Execution,
    Loader,
    Lost,
    Port,
    Proposal,
    ProposeCommit,
    ProposePark,
    ProposeSettle,
    Quiet,
)
from fencepost.host.back_off import BackOff
from fencepost.host.calls import CallError, Moment
from fencepost.host.engine import Engine, Key
from fencepost.host.instruments import Deed, Traps, parse_point
from fencepost.host.proposals import action_of
from fencepost.machine import Rules, Transition, status_of
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    Crash,
    Park,
    Renew,
    StopAck,
)
from fencepost.machine.replies import (
    Fenced,
    Parked,
    Recorded,
    Reply,
    Stopped,
)
from fencepost.machine.state import MILLISECONDS, Instance, Kind
from fencepost.workflow import WorkflowEvent


@dataclass(eq=False)
class Owner:
    """An execution that is not proven stopped."""

    key: Key
    token: int
    version: str
    execution: Context
    frozen: bool = False
    lapsed: bool = False
    held_back: Proposal | None = None
    snared: Deed | None = None


@dataclass(frozen=True)
class _Port:
    """An execution's way to its Host inside a turn."""

    host: "VirtualHost"
    key: Key
    token: int

    def begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        return self.host.begin(self.key, self.token, kind, name, arguments)

    def park(self) -> Reply:
        return self.host.park_at_once(self.key, self.token)


class VirtualHost(Engine):
    """One Workflow class under a clock that only `advance` moves.

    Every call is answered or in flight when it returns. Users' classes run in it too, for their tests.
    What it cannot do: end code that computes for ever; keep the `finally` blocks of a dropped coroutine
    from running when Python collects it (write none around an `await`, or use `fencepost.Host`); give a
    module fresh state, unless its loader evaluates it anew.
    """

    execution_class = Execution

    def __init__(
        self,
        versions: Mapping[str, Loader],
        deployed: Mapping[str, int],
        *,
        class_name: str = "Probe",
        rules: Rules | None = None,
        environment: Callable[[str], Mapping[str, Any]] = lambda version: {},
        seed: int = 0,
    ) -> None:
        super().__init__(rules, seed)
        self.versions = dict(versions)
        self.weights = dict(deployed)
        self.class_name = class_name
        self.environment = environment
        self.clock = 0
        self.owners: list[Owner] = []
        self.traps = Traps()
        self.trace: list[Moment] = []
        self.backend_up = True
        self.wakes_held = False
        self.stuck_instances: set[str] = set()
        self._queued_calls: list[Callable[[], None]] = []
        self._rehearsed: set[Key] = set()
        self._back_off = BackOff()

    @property
    def now(self) -> int:
        """The instant as the Host reads it, in milliseconds (TIM-1)."""
        fraction = self.clock % MILLISECONDS
        return self.clock - fraction if fraction and self.latitude.clock == "whole-seconds" else self.clock

    def note(self, key: Key, action: Action, transition: Transition) -> None:
        """Keep a line of the trace."""
        state = transition.state
        status = status_of(state) if isinstance(state, Instance) else None
        self.trace.append(Moment(self.now, key[1], action, transition.reply, transition.clauses, status))

    def reach(self) -> None:
        """The store is out of reach while the instrument says so."""
        if not self.backend_up:
            raise CallError("backend_unavailable", "the store is out of reach")  # BND-8

    def can_process_deadlines(self) -> bool:
        """Not while wakes are held."""
        return not self.wakes_held

    def may_claim(self, key: Key) -> bool:
        """Not while a crash is too recent."""
        return super().may_claim(key) and not self._back_off.waits(key, self.now)

    # -- instruments -------------------------------------------------------------------------------

    def advance(self, milliseconds: int) -> None:
        """Move the clock; nothing runs."""
        self.clock += milliseconds

    def settle(self) -> None:
        """Let floating timers fire once, then run until only time or input could change anything."""
        for owner in list(self.owners):
            if not owner.frozen:
                owner.execution.turns.fire_ticks()
        self.run()

    def kill(self, id: str, at: str = "now") -> None:
        """Kill the owner of an instance at a point: its execution is dropped and known to be gone."""
        self._snare("kill", id, at)

    def pause(self, id: str, at: str = "now") -> None:
        """Freeze the owner of an instance at a point: it gets no turn and cannot be proven stopped."""
        self._snare("pause", id, at)

    def _snare(self, deed: Deed, id: str, at: str) -> None:
        point, step = parse_point(at)
        if point != "now":
            self.traps.arm(deed, id, point, step)
            return
        for owner in self._owners_of(id):
            self._do(deed, owner)
        self.run()

    def resume(self, id: str) -> None:
        """Let a frozen owner go on; what it had held back is tried before anything else."""
        for owner in self._owners_of(id):
            if owner.frozen:
                owner.frozen = False
                owner.lapsed = self._lapsed(owner)
                if owner.held_back is not None:
                    self._take(owner, owner.held_back)
                elif owner.execution.dead:
                    self._lose(owner)
        self.run()

    def _lapsed(self, owner: Owner) -> bool:
        slot = self.slot(owner.key)
        return isinstance(slot, Instance) and slot.owner == owner.token and self.now >= slot.lease_until

    def stuck(self, id: str) -> None:
        """From now on no context of this instance can be proven stopped, and kills take no effect."""
        self.stuck_instances.add(id)

    def unstuck(self, id: str) -> None:
        """Stops and kills of this instance work again."""
        self.stuck_instances.discard(id)
        self.run()

    def backend(self, up: bool) -> None:
        """Take the store away from callers, or bring it back."""
        self.backend_up = up

    def restart(self) -> None:
        """End the Host's process hard: executions and calls in flight are gone, the store stays."""
        self.flights.abort_all(CallError("backend_unavailable", "the Host was restarted"))
        self.faulty.clear()
        for owner in list(self.owners):
            self._lose(owner)

    def hold_wakes(self, on: bool) -> None:
        """While held, deadlines pass without being processed; leases are not deadlines."""
        self.wakes_held = on
        if not on:
            self.run()

    def deploy(self, weights: Mapping[str, int]) -> None:
        """Change the weights from which new contexts pick their Version (CTX-2)."""
        self.weights = dict(weights)
        self.run()

    # -- the resource's data -----------------------------------------------------------------------

    def close(self, uid: str) -> None:
        """Close a resource that is being deleted (DEL-3)."""
        self.shut(uid)

    # -- the supervisor ----------------------------------------------------------------------------

    def run(self) -> None:
        """Run until nothing but time, input or a gate can change anything."""
        self._renew()
        moves = -1
        while moves != self._moves:
            moves = self._moves
            self._supervise()
            self._run_owners()
            self._run_queued()
        if self.flights.awaited() and self.latitude.unprovable_terminate == "rejected":  # TRM-6
            self.flights.reject_terminates(CallError("backend_unavailable", "the stop is not proven"))

    def _renew(self) -> None:
        """Owners that have been alive all the time renewed in time; only then does anybody look at expiry."""
        lease_until = self.now + round(self.lease_seconds * MILLISECONDS)
        for owner in self.owners:
            slot = self.slot(owner.key)
            if isinstance(slot, Instance) and slot.owner == owner.token and not owner.frozen | owner.lapsed:
                renewal = Renew(slot.lease_until - 1, owner.token, lease_until)
                self.slots[owner.key] = self.transition(slot, renewal).state

    def _supervise(self) -> None:
        for key in list(self.slots):
            while action := self.next_move(key):
                self.perform(key, action)
                if isinstance(action, StopAck):
                    self._drop(next(owner for owner in self.owners if self._is(owner, key, action.token)))
                if isinstance(action, Claim):
                    self._start(key, action)

    def _is(self, owner: Owner, key: Key, token: int) -> bool:
        return owner.key == key and owner.token == token

    def can_stop(self, key: Key, token: int) -> bool:
        if key[1] in self.stuck_instances:
            return False
        return not any(self._is(owner, key, token) and owner.frozen for owner in self.owners)

    def pick_version(self) -> str | None:
        """One Version by the weights of this instant (CTX-2)."""
        if not self.weights:
            return None
        return self._chance.choices(list(self.weights), list(self.weights.values()))[0]

    def _start(self, key: Key, claim: Claim) -> None:
        """Start a context: fresh module, fresh object, `run` called once (CTX-1, ABI-2)."""
        slot = self.slot(key)
        assert isinstance(slot, Instance)
        execution = self.execution(slot, claim, _Port(self, key, claim.token))
        owner = Owner(key, claim.token, claim.version, execution)
        self.owners.append(owner)
        if self.latitude.extra_contexts == "more" and key not in self._rehearsed:
            if key[1] not in self.stuck_instances:  # what is stuck cannot be lost
                execution.turn()  # CTX-3: it runs to its first step call, and is lost there
            self._rehearsed.add(key)
            self._lose(owner)

    def execution(self, instance: Instance, claim: Claim, port: Port) -> Context:
        """The application's side of a context that was claimed."""
        params = None if instance.params is None else documents.decode(instance.params)
        return self.execution_class(
            self.versions[claim.version],
            self.class_name,
            self.environment(claim.version),
            WorkflowEvent(instance.id, params),
            port,
            self.latitude,
        )

    # -- owners ------------------------------------------------------------------------------------

    def _run_owners(self) -> None:
        for owner in list(self.owners):
            if owner in self.owners and not owner.frozen:
                self._run_owner(owner)

    def _run_owner(self, owner: Owner) -> None:
        signal = owner.execution.turn()
        if isinstance(signal, Lost):
            self._crash(owner)
            return
        if not isinstance(signal, Quiet):
            self._moves += 1
        if owner.snared is not None:
            deed, owner.snared = owner.snared, None
            self._do(deed, owner)
        elif isinstance(signal, EffectBegan):
            self._spring(owner, "effect-start", signal.name)
        elif isinstance(signal, Proposal):
            self._propose(owner, signal)

    def begin(self, key: Key, token: int, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call of an execution, in the middle of its turn."""
        if self.latitude.extra_contexts == "more" and key not in self._rehearsed:
            return Fenced()
        reply = self.perform(key, BeginStep(self.now, token, kind, name, MappingProxyType(dict(arguments))))
        if kind == "wait" and isinstance(reply, Recorded) and self.traps.armed(key[1], "consumed", name):
            deed = self.traps.spring(key[1], "consumed", name)
            if deed == "kill" and key[1] in self.stuck_instances:
                return reply  # a kill that takes no effect
            for owner in self.owners:
                if self._is(owner, key, token):
                    owner.snared = deed
            return Fenced()  # it never hears of its event
        return reply

    def park_at_once(self, key: Key, token: int) -> Reply:
        """Park in the middle of a turn (STP-10); a trap that this meets springs when the turn is over."""
        owner = next(owner for owner in self.owners if self._is(owner, key, token))
        step = owner.execution.open_step
        if self._consumed(owner, step) and self.traps.armed(key[1], "consumed", step):
            owner.snared = self.traps.spring(key[1], "consumed", step)
            return Fenced()
        reply = self.perform(key, Park(self.now, token))
        if isinstance(reply, Parked):
            owner.snared = self.traps.spring(key[1], "parked", step)
        return reply

    def _propose(self, owner: Owner, proposal: Proposal) -> None:
        """Give the traps their chance, then let the machine judge what the owner reports."""
        point = {ProposeCommit: "effect-end", ProposeSettle: "settled", ProposePark: "consumed"}[
            type(proposal)
        ]
        name = None if isinstance(proposal, ProposeSettle) else proposal.name  # type: ignore[attr-defined]
        if point == "consumed" and not self._consumed(owner, name):
            point = "registered"  # a wait that found nothing, a sleep, a retry: no point of its own
        deed = self._spring(owner, point, name)
        if deed == "pause":
            owner.held_back = proposal
        if deed is None or (deed == "kill" and owner in self.owners):
            self._take(owner, proposal)

    def _consumed(self, owner: Owner, name: str | None) -> bool:
        slot = self.slot(owner.key)
        step = slot.history.get(name) if name is not None and isinstance(slot, Instance) else None
        return step is not None and step.kind == "wait" and step.outcome is not None

    def _take(self, owner: Owner, proposal: Proposal) -> None:
        owner.held_back = None
        broken = isinstance(proposal, ProposeSettle) and proposal.broken
        if broken and self.latitude.broken_module == "host-fault":  # ABI-5
            self.faulty.add(owner.key)
            self._lose(owner)
            return
        reply = self.perform(owner.key, action_of(self.now, owner.token, proposal))
        if not reply.refused:
            self._back_off.forget(owner.key)
        owner.execution.deliver(reply)
        if isinstance(proposal, ProposeCommit) and not isinstance(reply, Fenced | Stopped):
            self._spring(owner, "committed", proposal.name)
        elif isinstance(proposal, ProposePark) and isinstance(reply, Parked):
            self._spring(owner, "parked", proposal.name)

    def _spring(self, owner: Owner, point: str, step: str | None) -> Deed | None:
        deed = self.traps.spring(owner.key[1], point, step)
        if deed is not None:
            self._do(deed, owner)
        return deed

    def _do(self, deed: Deed, owner: Owner) -> None:
        if deed == "kill":
            self._lose(owner)
        else:
            owner.frozen = True

    def _lose(self, owner: Owner) -> None:
        """The owner is gone, unless its instance is stuck."""
        if owner.key[1] in self.stuck_instances or owner not in self.owners:
            return
        self._drop(owner)
        self.perform(owner.key, Crash(self.now, owner.token))

    def _crash(self, owner: Owner) -> None:
        """The owner ended by itself: the next context has to wait."""
        if owner.key[1] not in self.stuck_instances:
            self._back_off.crashed(owner.key, self.now)
            self._lose(owner)

    def _drop(self, owner: Owner) -> None:
        self.owners.remove(owner)
        owner.execution.turns.discard()

    def _owners_of(self, id: str) -> list[Owner]:
        return [owner for owner in self.owners if owner.key == (self.uid, id)]

    # -- calls from inside of an instance ----------------------------------------------------------

    def from_inside(self, call: Callable[[], None]) -> None:
        """Queue a caller's call that an execution makes in its own turn."""
        self._queued_calls.append(call)

    def _run_queued(self) -> None:
        calls, self._queued_calls = self._queued_calls, []
        for call in calls:
            self._moves += 1  # who made it may go on, also if it changed nothing
            call()
