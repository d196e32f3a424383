"""The universe of `Resource`: one name, its UIDs one after the other, two instances under each.

Two machines answer here, as they do in a Host. The machine of instances says what Close, Purge and every
report come to, the machine of management what a Binding, a DELETE and a creation under the name do: it is
driven by ordinary requests, and since it never sees an instance (RES-10) its few states are met once and
kept. The slots of UIDs that are gone stay in the world, so that owners of theirs can still report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from fencepost.machine import Rules, Vacant, apply
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    Close,
    CommitAttempt,
    Crash,
    Create,
    Expire,
    Purge,
    Settle,
    StopAck,
    Terminate,
    Wake,
)
from fencepost.machine.records import FrozenMap, evolve
from fencepost.machine.replies import Recorded
from fencepost.machine.state import Instance
from fencepost.management import queries
from fencepost.management.driver import Refused
from fencepost.management.service import CLASS, WORKFLOW, Management

from fencepost_model import abstraction
from fencepost_model.abstraction import NUMBER
from fencepost_model.bounds import NAMES, Bounds
from fencepost_model.fencing import LATER
from fencepost_model.universe import LEASE_UNTIL, VERSION, Move, One, Universe, at_rest, forgetful
from fencepost_model.values import State

STEP = NAMES[0]
ATTEMPTS = 100
"""More attempts than tokens: a failure is never the last."""

_ARGUMENTS = MappingProxyType({"effect": True, "retry": {"maxAttempts": ATTEMPTS, "initialDelaySeconds": 1}})


class Standing(NamedTuple):
    """What management knows of the name: how many UIDs it has had, whether it is open, closing or free, and
    whether an undeleted Version names the present UID."""

    uid: int
    phase: str
    bound: bool


class Directory:
    """The management of one name, met state by state: what is accepted, and what it leads to."""

    def __init__(self) -> None:
        management = Management()
        management.set_up_probe(0, {VERSION: {CLASS: True}}, {VERSION: 10_000})
        management.unbind(0)
        self._met: dict[Standing, Management] = {}
        self.first = self._meet(management, 1)

    def after(self, standing: Standing, request: str) -> Standing | None:
        """The standing after a request, or None where management refuses it or nothing comes of it."""
        if (standing, request) not in self._answers:
            self._answers[standing, request] = self._ask(standing, request)
        return self._answers[standing, request]

    _answers: dict[tuple[Standing, str], Standing | None]

    def _meet(self, management: Management, uid: int) -> Standing:
        self._answers = getattr(self, "_answers", {})
        found = management.named(WORKFLOW)
        phase = "free" if found is None else "closing" if found.phase == "deleting" else "open"
        bound = found is not None and bool(queries.binders(management.state, found.uid))
        standing = Standing(uid, phase, bound)
        self._met.setdefault(standing, management)
        return standing

    def _ask(self, standing: Standing, request: str) -> Standing | None:
        met = self._met[standing]
        management = Management(state=met.state, serial=met.serial, artifacts=met.artifacts)
        before, uid = management.state, standing.uid
        try:
            uid += _REQUESTS[request](management)
        except (Refused, KeyError):
            return None
        after = self._meet(management, uid)
        return None if management.state is before or after == standing else after


def _bind(management: Management) -> int:
    management.bind(0)
    return 0


def _unbind(management: Management) -> int:
    management.unbind(0)
    return 0


def _delete(management: Management) -> int:
    management.delete_workflow(0)
    return 0


def _purged(management: Management) -> int:
    management.purged(0, management.uid(WORKFLOW))
    return 0


def _recreate(management: Management) -> int:
    management.made(0, "DurableWorkflow", WORKFLOW, dict(_spec(management)))
    return 1


def _spec(management: Management) -> Mapping[str, object]:
    return {"worker": {"resourceUid": management.uid("probe-worker")}, "className": CLASS}


_REQUESTS: Mapping[str, Callable[[Management], int]] = MappingProxyType(
    {"Bind": _bind, "Unbind": _unbind, "Close": _delete, "Purge": _purged, "Recreate": _recreate}
)

Slots = FrozenMap[str, One]


class Name(NamedTuple):
    """What management knows, and the instances of every UID that the name has had."""

    standing: Standing
    past: tuple[Slots, ...]
    present: Slots


class Resource(Universe[Name]):
    """Two instances of one do step that live and die with the resource."""

    module = "Resource"

    def __init__(self, bounds: Bounds, rules: Rules | None = None) -> None:
        super().__init__(bounds)
        self.rules = rules or Rules()
        self.ids: tuple[str, ...] = tuple(sorted(bounds["Ids"]))
        self.directory = Directory()
        self._moves = lru_cache(maxsize=1 << 16)(lambda uid, one: tuple(map(_rest, self._alone(uid, one))))
        self._late = lru_cache(maxsize=1 << 16)(lambda uid, one: tuple(self._too_late(uid, one)))

    def initial(self) -> Name:
        return Name(self.directory.first, (), self._vacant())

    def _vacant(self) -> Slots:
        return FrozenMap({id: One(Vacant(self.rules)) for id in self.ids})

    def moves(self, world: Name) -> Iterator[Move[Name]]:
        standing, past, present = world
        for request in ("Bind", "Unbind"):
            if (after := self.directory.after(standing, request)) is not None:
                yield Move(request, Name(after, past, present))
        running = sum(len(one.code) for one in present.values())
        for id in self.ids:
            for move in self._moves(standing.uid, present[id]):
                if move.name in _BY_CALLERS and not standing.bound:
                    continue  # no caller without a Binding
                if move.name == "Claim" and running >= self.bounds["MaxContexts"]:
                    continue
                yield Move(move.name, Name(standing, past, present.put(id, move.world)), move.actions)
        for uid, slots in enumerate(past, 1):
            for id in self.ids:
                for move in self._late(uid, slots[id]):
                    changed = (*past[: uid - 1], slots.put(id, move.world), *past[uid:])
                    yield Move(move.name, Name(standing, changed, present), move.actions)
        yield from self._deletion(world)

    def _deletion(self, world: Name) -> Iterator[Move[Name]]:
        standing, past, present = world
        if (after := self.directory.after(standing, "Close")) is not None:
            close = Close(0)
            yield Move("Close", Name(after, past, _each(present, close)), (close,))
        if (after := self.directory.after(standing, "Purge")) is not None:
            purge = Purge(0)
            purged = _each(present, purge)
            if all(isinstance(one.slot, Vacant) for one in purged.values()):
                yield Move("Purge", Name(after, past, purged), (purge,))
        if standing.uid < self.bounds["MaxUid"]:
            after = self.directory.after(standing, "Recreate")
            if after is not None:
                yield Move("Recreate", Name(after, (*past, present), self._vacant()))

    def _alone(self, uid: int, one: One) -> Iterator[Move[One]]:
        """What can happen to one instance of the present UID."""
        slot, most = one.slot, self.bounds["MaxToken"]
        for action in (Create(0, "i"), Terminate(0), Wake(LATER)):
            if (after := apply(slot, action).state) is not slot:
                yield Move(type(action).__name__, One(after, one.code), (action,))
        if not isinstance(slot, Instance):
            return
        if slot.token < most:
            claim = Claim(0, slot.token + 1, VERSION, LEASE_UNTIL)
            if (after := apply(slot, claim).state) is not slot:
                yield Move("Claim", One(after, (*one.code, (claim.token, ""))), (claim,))
        may_lose = self._may_lose(slot)
        for token, open in one.code:
            yield from self._reports(uid, one, token, open)
            for loss in (StopAck(0, token), Crash(0, token)):
                if isinstance(loss, Crash) and token == slot.owner and not may_lose:
                    continue
                if (after := apply(slot, loss).state) is not slot:
                    yield Move(type(loss).__name__, one.stopped(token, after), (loss,))
        if may_lose and (after := apply(slot, expiry := Expire(LEASE_UNTIL)).state) is not slot:
            yield Move("Expire", One(after, one.code), (expiry,))

    def _reports(self, uid: int, one: One, token: int, open: str) -> Iterator[Move[One]]:
        slot = one.slot
        assert isinstance(slot, Instance)
        if open:
            for action in self._commits(uid, token, fails=slot.token < self.bounds["MaxToken"]):
                after, reply, _ = apply(slot, action)
                if after is not slot:
                    handed = "" if isinstance(reply, Recorded) else open
                    yield Move("CommitAttempt", one.opened(token, handed, after), (action,))
            return
        begin = BeginStep(0, token, "do", STEP, _ARGUMENTS)
        after, reply, _ = apply(slot, begin)
        if after is not slot:
            yield Move("BeginStep", one.opened(token, STEP, after), (begin,))
        elif isinstance(reply, Recorded):
            settle = Settle(0, token)
            if (after := apply(slot, settle).state) is not slot:
                yield Move("Settle", one.opened(token, "", after), (settle,))

    def _commits(self, uid: int, token: int, *, fails: bool) -> tuple[Action, ...]:
        success = CommitAttempt(0, token, abstraction.document(NUMBER, uid))
        return (success, CommitAttempt(0, token, failed=True)) if fails else (success,)

    def _too_late(self, uid: int, one: One) -> Iterator[Move[One]]:
        """Reports of owners of a UID that is gone, and a wake that comes too late."""
        reports = (self._commits(uid, token, fails=True) for token in range(1, self.bounds["MaxToken"] + 1))
        for action in (*(each for found in reports for each in found), Wake(LATER), Create(0, "i")):
            if (after := apply(one.slot, action).state) is not one.slot:
                yield Move(type(action).__name__, One(after, one.code), (action,))

    def _may_lose(self, slot: Instance) -> bool:
        step = slot.history.get(STEP)
        unfinished = step is None or not step.finished
        return not slot.live or slot.token + unfinished < int(self.bounds["MaxToken"])

    def image(self, world: Name) -> State:
        slots = [{id: one.slot for id, one in held.items()} for held in (*world.past, world.present)]
        standing = world.standing
        forgotten = [
            (uid, id, token)
            for uid, held in enumerate((*world.past, world.present), 1)
            for id, one in held.items()
            if isinstance(one.slot, Vacant)
            for token, _ in one.code
        ]
        return abstraction.resource(standing.uid, standing.phase, standing.bound, slots, forgotten)


def _rest(move: Move[One]) -> Move[One]:
    """The move with what no bound lets anybody tell at rest: attempts are never used up here."""
    slot, code = forgetful(move.world)
    if not isinstance(slot, Instance):
        return move
    if not slot.live:
        slot = evolve(slot, token=0, history=at_rest(slot.history), current=None, lease_until=0)
    elif (step := slot.history.get(STEP)) is not None and step.failures:
        slot = evolve(slot, history=slot.history.put(STEP, step._replace(failures=0)))
    return Move(move.name, One(slot, code), move.actions)


_BY_CALLERS = frozenset({"Create", "Terminate"})


def _each(slots: Slots, action: Action) -> Slots:
    """The slots after an action on every one of them."""
    return FrozenMap({id: One(apply(one.slot, action).state, one.code) for id, one in slots.items()})
