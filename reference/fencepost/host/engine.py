"""What every Host is: a store of slots, the caller's binding, and the choice of the next thing to do.

An engine knows no thread, no clock and no way to run code. It applies actions one at a time and keeps the
state that each leads to; `next_move` is the first thing that the machine has *enabled* and that this Host
is able to do.
"""

import random
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from fencepost import documents
from fencepost.admission import admit
from fencepost.history import Entry, History, entries
from fencepost.host.calls import CallError, accepted, status_document
from fencepost.host.commands import Command, Under
from fencepost.host.flights import Flights
from fencepost.host.ledger import Ledgers
from fencepost.machine import Rules, Slot, Transition, Vacant, apply, enabled, status_of
from fencepost.machine.actions import (
    Action,
    Claim,
    Close,
    Create,
    Document,
    EndLifetime,
    Get,
    Purge,
    ReadStatus,
    SendEvent,
    StopAck,
    Terminate,
    Wake,
)
from fencepost.machine.arguments import Misfit, check_text
from fencepost.machine.events import TERMINAL, UNKNOWN
from fencepost.machine.replies import Done, Reply, StatusAnswer, Unproven
from fencepost.machine.state import MILLISECONDS, Instance, retained

Key = tuple[str, str]
"""Where an instance lives: UID of its Workflow resource, and id."""

LEASE_SECONDS = 30
"""How long an owner that shows no life keeps its lease, in seconds."""


class Engine:
    """The slots of Workflow resources, and everything about them that needs no time to pass and no code to
    run."""

    lease_seconds: float = LEASE_SECONDS

    def __init__(self, rules: Rules | None = None, seed: int = 0) -> None:
        self.rules = rules or Rules()
        self.latitude = self.rules.latitude
        self.uid = "workflow-1"
        self.slots: dict[Key, Slot] = {}
        self.closed: set[str] = set()
        self.faulty: set[Key] = set()
        self._chance = random.Random(seed)
        self._issued = 0
        self._moves = 0
        self.flights = Flights()
        self.ledgers = Ledgers()

    # -- what a Host adds --------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The instant as this Host reads it, in milliseconds."""
        raise NotImplementedError

    def run(self) -> None:
        """Let what has become possible happen."""
        raise NotImplementedError

    def reach(self) -> None:
        """Raise `backend_unavailable` when the store is out of reach (BND-8)."""

    def note(self, key: Key, action: Action, transition: Transition) -> None:
        """See an action that was applied."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        """What the machine says of an action."""
        return apply(slot, action)

    def leaves(self, before: Slot, action: Action, transition: Transition) -> Iterable[Entry]:
        """What a transition leaves in the history of its instance."""
        return entries(before, action, transition)

    def moves(self, slot: Slot) -> tuple[Action, ...]:
        """What the machine lets a Host do by itself now."""
        return enabled(slot, self.now, lease=round(self.lease_seconds * MILLISECONDS))

    def admit(self, value: Any) -> Document:
        """A caller's document as the machine is told of it."""
        return admit(value, self.latitude)

    def pick_version(self) -> str | None:
        """One Version by the weights of this instant (CTX-2), or None where there is no Deployment."""
        raise NotImplementedError

    def may_claim(self, key: Key) -> bool:
        """Whether this Host wants to start a context of this instance now."""
        return key not in self.faulty

    def can_stop(self, key: Key, token: int) -> bool:
        """Whether this fenced context can be proven stopped now."""
        raise NotImplementedError

    def can_process_deadlines(self) -> bool:
        """Whether deadlines that have passed may be processed now."""
        return True

    # -- the store ---------------------------------------------------------------------------------

    def slot(self, key: Key) -> Slot:
        """What is kept under a key; a vacant slot where nothing is."""
        return self.slots.get(key) or Vacant(self.rules, key[0] in self.closed)

    def perform(self, key: Key, action: Action) -> Reply:
        """Apply one action, keep the state that it leads to, and tell who waits for it."""
        before = self.slot(key)
        transition = self.transition(before, action)
        state = transition.state
        if state is not before:
            self.slots[key] = state
            self._moves += 1
        self.ledgers.keep(key, before, action, transition, self.leaves(before, action, transition))
        self.note(key, action, transition)
        if isinstance(state, Instance) and state.terminal is not None:
            self.flights.land(key)
        return transition.reply

    def once(self, key: Key, action: Action, command: Command) -> Reply:
        """Apply an action under a command id, or answer as it was answered before; `command_conflict`."""
        known = self.ledgers.known(key[0], command)
        if known is not None:
            return known
        reply = self.perform(key, action)
        if command.is_taken(reply):
            self.ledgers.remember(key, command, action.now)
        return reply

    def history(self, id: Any) -> History:
        """The history of the run that is held under an id, for diagnosis; `unknown_instance`."""
        key = self._key(id)
        slot = self.slot(key)
        if not isinstance(slot, Instance):
            raise CallError(UNKNOWN.name, UNKNOWN.message)
        return self.ledgers.history(key, slot)

    # -- the resource's data -----------------------------------------------------------------------

    def counts(self, uid: str) -> dict[str, int]:
        """How many instances of a resource have each status (OBS-1)."""
        found = dict.fromkeys(
            ("queued", "running", "sleeping", "waiting", "complete", "errored", "terminated"), 0
        )
        counted = self.latitude.counts_after_retention == "counted"  # OBS-3
        for key, slot in self.slots.items():
            if key[0] == uid and isinstance(slot, Instance) and (counted or retained(slot, self.now)):
                found[status_of(slot)] += 1
        return found

    def shut(self, uid: str) -> None:
        """Close a resource that is being deleted: nothing new, every owner fenced (DEL-3)."""
        self.closed.add(uid)
        for key in [key for key in self.slots if key[0] == uid]:
            self.perform(key, Close(self.now))

    def purge(self, uid: str) -> bool:
        """Purge a closed resource if every context is stopped; whether nothing of it is left (DEL-3,
        DEL-4)."""
        keys = [key for key, slot in self.slots.items() if key[0] == uid and isinstance(slot, Instance)]
        if any(self.slots[key].contexts for key in keys):  # type: ignore[union-attr]
            return False
        for key in keys:
            self.perform(key, Purge(self.now))
            self.flights.abort(key, CallError("unknown_instance", "the resource was deleted"))
        return True

    # -- the caller's binding ----------------------------------------------------------------------

    def create(self, id: Any = None, params: Any = None) -> str:
        """Create an instance and answer its id; None for an id lets the Host issue one (BND-2)."""
        self.reach()
        key, action = self.creation(id, params)
        self._call(key, action)
        return str(action.id)

    def get(self, id: Any) -> str:
        """Answer the id if an instance is held under it (BND-4)."""
        self.reach()
        if self.latitude.bad_id_look_up == "other-rejection":
            self._check_id(id)  # BND-9
        self._call(self._key(id), Get(self.now))
        return str(id)

    def status(self, id: Any) -> dict[str, Any]:
        """The status document (BND-6)."""
        self.reach()
        answer = self._call(self._key(id), ReadStatus(self.now))
        assert isinstance(answer, StatusAnswer)
        return status_document(answer, self.latitude)

    def send_event(self, id: Any, type: Any, payload: Any = None) -> Future[None] | None:
        """Accept an event durably (EVT-1); a future only where the call is held back until an ending
        (TRM-6)."""
        self.reach()
        key, action = self.sending(id, type, payload)
        return self.sent(key, self._call(key, action, run=False))

    def terminate(self, id: Any) -> Future[None]:
        """Begin a terminate; the future ends once `terminated`, or an earlier outcome, is published
        (TRM-1)."""
        self.reach()
        key, action = self.termination(id)
        return self.terminating(key, isinstance(self._call(key, action, run=False), Done))

    # -- what a call comes to, with a command id or without ------------------------------------------

    def under(self, command: Any) -> Under:
        """The calls that change something, under a command id that makes sending them again harmless: for
        management and the command line, and no part of the Form's binding (EXT-1)."""
        return Under(self, command)

    def by(self, command: str | None) -> "Engine | Under":
        """The same calls, under a command id where there is one."""
        return self if command is None else self.under(command)

    def creation(self, id: Any, params: Any) -> tuple[Key, Create]:
        """Where a create goes, and what it is; an id is issued where there is none (BND-2)."""
        chosen = self._issue() if id is None else id
        key = (self.uid, chosen if isinstance(chosen, str) else "")
        return key, Create(self.now, chosen, self.admit(params))

    def sending(self, id: Any, type: Any, payload: Any) -> tuple[Key, SendEvent]:
        """Where an event goes, and what it is."""
        stored = self.admit(payload)
        size = 0
        if isinstance(type, str) and documents.scalars(type) is not None:
            size = documents.event_bytes(type, stored if isinstance(stored, bytes) else None)
        return self._key(id), SendEvent(self.now, type, stored, size)

    def termination(self, id: Any) -> tuple[Key, Terminate]:
        """Where a terminate goes, and what it is."""
        return self._key(id), Terminate(self.now)

    def sent(self, key: Key, reply: Reply) -> Future[None] | None:
        """What becomes of a send that was not refused."""
        held_back = isinstance(reply, Unproven)
        future = self.flights.take_off(key, CallError(TERMINAL.name, TERMINAL.message)) if held_back else None
        self.run()
        return future

    def has_ended(self, key: Key) -> bool:
        """Whether a terminal outcome is published."""
        slot = self.slot(key)
        return isinstance(slot, Instance) and slot.terminal is not None

    def terminating(self, key: Key, ended: bool) -> Future[None]:
        """What becomes of a terminate that was not refused."""
        future = self.flights.take_off(key)
        if ended:
            self.flights.land(key)
        self.run()
        return future

    def _key(self, id: Any) -> Key:
        return (self.uid, id if isinstance(id, str) else "")

    def _check_id(self, id: Any) -> None:
        try:
            check_text(id, "id", self.rules.limits.id_scalars)
        except Misfit as misfit:
            raise CallError("TypeError", str(misfit)) from None

    def _issue(self) -> str:
        while True:
            self._issued += 1
            if (self.uid, f"instance-{self._issued}") not in self.slots:
                return f"instance-{self._issued}"

    def _call(self, key: Key, action: Action, run: bool = True) -> Reply:
        reply = self.perform(key, action)
        if run:
            self.run()
        return accepted(reply)

    # -- the next thing to do ----------------------------------------------------------------------

    def next_move(self, key: Key) -> Action | None:
        """The next thing that the Host does by itself for one instance."""
        for action in self.moves(self.slot(key)):
            if isinstance(action, Wake | EndLifetime) and not self.can_process_deadlines():
                continue
            if isinstance(action, StopAck) and not self.can_stop(key, action.token):
                continue
            if isinstance(action, Claim):
                version = self.pick_version()
                if version is None or not self.may_claim(key):
                    continue  # nothing wakes without a Deployment
                return Claim(action.now, action.token, version, action.lease_until)
            return action
        return None
