"""What a Host may do by itself with one instance, and what it must do before it comes to rest.

The machine says what is enabled; the world says what is held back. Whatever the machine enables under one
choice of its latitudes *may* happen; what it enables under all of them *must* have happened before a Host has
settled. So a wake at the deadline's own instant, or a context beside one that is not proven stopped, may be.
What an owner's code proposes must happen while it is the owner, and may while it is fenced and not stopped.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fencepost import documents
from fencepost.contexts.execution import Proposal, ProposeCommit, ProposePark, ProposeSettle
from fencepost.host.proposals import action_of
from fencepost.machine import Transition, apply, enabled, next_instant
from fencepost.machine.actions import (
    Action,
    Claim,
    Crash,
    EndLifetime,
    Expire,
    Purge,
    StopAck,
    Terminate,
    Wake,
)
from fencepost.machine.records import FrozenMap, evolve
from fencepost.machine.replies import Fenced, Impossible, Parked, Rejected, Stopped, Unproven
from fencepost.machine.state import Instance, Slot

from .code import GO, Input, Node, Passed, Programme, Rests
from .latitudes import overlaps, set_aside, told_by, traits
from .losses import reduced
from .states import FOREVER, Condition, Flight, Mind, State, Trap, follow, set_mind
from .walking import Caught, Walk, WalkBeside
from .world import World


class Move(NamedTuple):
    """A state that a Host may bring about, by what, and whether it must before it settles."""

    state: State
    must: bool
    what: str
    clauses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outlook:
    """What may follow a state: moves; whether it may stay as it is; until when nothing new can happen."""

    moves: tuple[Move, ...]
    restless: bool
    calm_until: int


class Moves:
    """The moves of one id."""

    def __init__(self, world: World, id: str) -> None:
        self.world = world
        self.id = id
        self.stuck = False
        self.flights: dict[str, Action] = {}
        self.unawaited: set[str] = set()  # of these nobody looks at the answer
        self._programmes: dict[tuple[str, bytes | None], Programme] = {}
        self._traits: dict[bytes | None, tuple[bool, dict[str, str], frozenset[str]]] = {}

    # -- the machine -------------------------------------------------------------------------------

    def transitions(self, slot: Slot, action: Action) -> list[Transition]:
        """What the machine makes of an action, under every latitude; each outcome once."""
        self._set_aside(slot)
        found: list[Transition] = []
        for each in self.world.choices.explore(lambda: apply(slot, action)):
            if self.world.losses is not None:
                each = reduced(slot, action, each)
            if not any(each.reply == other.reply and _same(each.state, other.state) for other in found):
                found.append(each)
        return found

    def _set_aside(self, slot: Slot) -> None:
        params = slot.params if isinstance(slot, Instance) else None
        _, self.world.choices.aside, self.world.choices.watched = self._traits_of(params)

    def _traits_of(self, params: bytes | None) -> tuple[bool, dict[str, str], frozenset[str]]:
        """Whether its programs are sequential, what is set aside, and what they can tell of a stance."""
        known = self._traits.get(params)
        if known is None:
            found = traits(None if params is None else documents.decode(params))
            aside = {**self.world.stance, **set_aside(found)}
            known = self._traits[params] = (not overlaps(found), aside, told_by(found))
        return known

    def programme(self, params: bytes | None, version: str) -> Programme:
        """What the contexts of an instance on a Version can do."""
        key = (version, params)
        if key not in self._programmes:
            sequential, aside, _ = self._traits_of(params)
            self._programmes[key] = Programme(self.id, version, params, sequential, aside)
        return self._programmes[key]

    def close(self) -> None:
        """Let go of all code."""
        for programme in self._programmes.values():
            programme.close()
        self._programmes.clear()

    # -- everything that may happen ----------------------------------------------------------------

    def outlook(self, state: State) -> Outlook:
        """Every move of a state."""
        moves = [*self._flights(state), *self._machine(state), *self._contexts(state)]
        restless = self.world.backend_up and any(move.must for move in moves)
        movable = bool(moves) and self.world.backend_up and self.world.exact  # or later, and reckon from then
        calm_until = self.world.late + 1 if movable else self._calm_until(state)
        return Outlook(tuple(moves), restless, calm_until)

    def _calm_until(self, state: State) -> int:
        slot = state.slot
        if not isinstance(slot, Instance) or (slot.terminal is not None and not slot.contexts):
            return FOREVER
        self._set_aside(slot)
        instants = [
            instant
            for instant in self.world.choices.explore(lambda: next_instant(slot))
            if instant is not None
        ]
        instants += [mind.lapses for mind in state.minds if mind.condition != "healthy"]
        later = [instant for instant in instants if instant > self.world.late]
        return min(later, default=FOREVER)

    def _flights(self, state: State) -> Iterator[Move]:
        for place, flight in enumerate(state.flights):
            if flight.reply is not None:
                yield from self._rejected(state, place, flight)
                continue
            for slot, reply, clauses in self._taken(state.slot, self.flights[flight.name]):
                answered = () if flight.name in self.unawaited else (Flight(flight.name, reply),)
                flights = (*state.flights[:place], *answered, *state.flights[place + 1 :])
                yield Move(follow(state, slot, flights=flights), True, f"{flight.name} is taken", clauses)

    def _taken(self, slot: Slot, action: Action) -> list[Transition]:
        """What a call in flight comes to, taken as early or as late as it may be now."""
        found = self.transitions(slot, evolve(action, now=self.world.now))
        if self.world.slack:
            found += self.transitions(slot, evolve(action, now=self.world.late))
        return found

    def _rejected(self, state: State, place: int, flight: Flight) -> Iterator[Move]:
        """A terminate whose stop is not proven yet may be rejected at any time (TRM-6)."""
        slot = state.slot
        if not isinstance(flight.reply, Unproven) or not isinstance(self.flights[flight.name], Terminate):
            return
        if isinstance(slot, Instance) and slot.terminal is None:
            rejected = Flight(flight.name, Rejected("unproven", "the stop is not proven"))
            flights = (*state.flights[:place], rejected, *state.flights[place + 1 :])
            yield Move(state.having(flights=flights), False, f"{flight.name} is rejected", ("TRM-6",))

    def _machine(self, state: State) -> Iterator[Move]:
        slot = state.slot
        if not isinstance(slot, Instance):
            return
        may, must = self._enabled_at(slot, self.world.now)
        if self.world.slack:
            kinds = {type(action) for action in may}
            may |= {each for each in self._enabled_at(slot, self.world.late)[0] if type(each) not in kinds}
        for action in sorted(may, key=lambda each: type(each).__name__):
            yield from self._enabled(state, slot, action, action in must)
        if slot.owner and self.world.late >= slot.ends_at:  # LIF-5: it cannot commit, and need not renew
            lapsed = evolve(slot, lease_until=self.world.now)
            yield from self._applied(state, lapsed, Expire(self.world.now), False)
        if slot.owner and self.world.losses is not None:
            yield from self._lost(state, slot)
        if slot.closed and not slot.contexts:
            yield from self._applied(state, slot, Purge(self.world.now), False)

    def _lost(self, state: State, slot: Instance) -> Iterator[Move]:
        """The owner's worker was killed, or stood still for longer than a lease: nobody can say which of them
        it was. Beside as many as may be unproven, the next one is taken to be stopped at once; and so is one
        whose code has not heard of a commit, since it can show nothing more."""
        assert self.world.losses is not None
        for each in self.unheard(state):
            if isinstance(each.slot, Instance) and each.slot.owner:
                yield from self._applied(each, each.slot, Crash(self.world.now, each.slot.owner), False)
        if len(slot.contexts) > self.world.losses:
            yield from self._applied(state, slot, Crash(self.world.now, slot.owner), False)
        else:
            lapsed = evolve(slot, lease_until=self.world.now)
            yield from self._applied(state, lapsed, Expire(self.world.now), False)

    def _enabled_at(self, slot: Instance, now: int) -> tuple[set[Action], set[Action]]:
        self._set_aside(slot)
        ways = [set(found) for found in self.world.choices.explore(lambda: enabled(slot, now))]
        return set().union(*ways), set.intersection(*ways)

    def _enabled(self, state: State, slot: Instance, action: Action, must: bool) -> Iterator[Move]:
        if isinstance(action, Wake | EndLifetime) and self.world.wakes_held:
            return
        if (
            isinstance(action, Wake)
            and slot.current is not None
            and slot.history[slot.current].kind == "sleep"
            and self.world.losses is None
        ):
            # SLP-2: it may be the call in the new context that records the success
            yield Move(follow(state, evolve(slot, current=None)), must, "Wake", ("SLP-2",))
        if isinstance(action, Claim):
            yield from self._claims(state, slot, must)
        elif isinstance(action, StopAck):
            mind = next(mind for _, token, mind in state.pairs() if token == action.token)
            if not self.stuck and mind.condition != "frozen":
                overdue = mind.condition != "gone" or self.world.late >= mind.lapses
                yield from self._applied(state, slot, evolve(action, now=self.world.now), must and overdue)
        elif isinstance(action, Expire):
            owner = state.owner()
            yield from self._applied(state, slot, action, owner is None or owner.condition != "lapsed")
        else:
            yield from self._applied(state, slot, action, must)

    def _applied(self, state: State, slot: Instance, action: Action, must: bool) -> Iterator[Move]:
        for after, reply, clauses in self.transitions(slot, action):
            if isinstance(reply, Impossible):
                continue
            yield Move(follow(state, after), must, type(action).__name__, clauses)
            if self.world.losses is not None:
                continue
            if isinstance(action, Crash | Expire) and isinstance(after, Instance) and after.current:
                again = evolve(after, current=None)  # CTX-3a: not parked on what a lost owner had begun
                yield Move(follow(state, again), must, type(action).__name__, clauses)

    def _claims(self, state: State, slot: Instance, must: bool) -> Iterator[Move]:
        if not self.stuck and any(mind.idle for mind in state.minds):
            return  # stopped first or beside: nobody can tell
        for version in self.world.versions:
            claim = Claim(self.world.now, slot.token + 1, version, FOREVER)
            for after, reply, clauses in self.transitions(slot, claim):
                if not isinstance(reply, Impossible):
                    programme = self.programme(slot.params, version)
                    minds = (*state.minds, Mind(programme.root))
                    perhaps = state.perhaps | self._marks_beside(programme, after, claim.token)
                    moved = follow(state, after, minds=minds, perhaps=perhaps)
                    yield Move(moved, must, f"Claim on {version}", clauses)

    def _marks_beside(self, programme: Programme, slot: Slot, token: int) -> frozenset[str]:
        """Marks that one more context may pass, which is lost at its first new call (CTX-3a); where every
        call is awaited at once, they are those that the owner passes as well."""
        if programme.sequential:
            return frozenset()
        marks: set[str] = set()
        pending: list[Walk] = [WalkBeside(self, programme.root, GO, slot, token, (), ())]
        while pending:
            here = pending.pop()
            here.pending = pending
            programme.advance(here.node, here.input, here)
            marks.update(mark for passed in here.passed for mark in passed.marks)
        return frozenset(marks)

    # -- contexts ----------------------------------------------------------------------------------

    def _contexts(self, state: State) -> Iterator[Move]:
        slot = state.slot
        if not isinstance(slot, Instance):
            return
        for place, token, mind in state.pairs():
            owns = token == slot.owner and slot.decision is None
            if mind.condition in ("frozen", "gone") and not self.stuck:
                overdue = mind.condition == "gone" and self.world.late >= mind.lapses
                yield from self._applied(state, slot, Crash(self.world.now, token), overdue)
            if mind.condition not in ("frozen", "gone"):
                yield from self._code(state, slot, place, token, mind, owns)
                yield from self._consumed_traps(state, place, mind)

    def _code(
        self, state: State, slot: Instance, place: int, token: int, mind: Mind, owns: bool
    ) -> Iterator[Move]:
        rests = mind.rests
        if rests is None or mind.node is None:
            for name in mind.starts:
                left = tuple(each for each in mind.starts if each != name)
                minds = set_mind(state, place, evolve(mind, starts=left))
                begun = state.having(minds=minds, effects=_counted(state, name))
                yield from self._sprung(
                    begun, place, Move(begun, False, f"the effect of {name} begins"), name
                )
            return
        if mind.due is not None:
            heard = state.having(minds=set_mind(state, place, evolve(mind, due=None)))
            yield from self._walk(heard, slot, place, token, mind.due, owns)
            return
        if mind.node.parent is None:
            yield from self._walk(state, slot, place, token, GO, owns)
        if rests.proposal is not None:
            yield from self._propose(state, slot, place, token, rests, owns)
        for name in rests.starts:
            counted = state.having(effects=_counted(state, name))
            start: Input = ("start", name, counted.effects[name])
            trap = _trap(state, "effect-start", name)
            if trap is not None:
                caught = counted.having(minds=set_mind(counted, place, evolve(mind, due=start)))
                yield Move(self.snared(caught, place, trap), owns, f"{trap.deed} at the start of {name}")
            if trap is None or not owns:  # an owner that comes by a trap does not get past it
                yield from self._walk(counted, slot, place, token, start, owns)
        for gate in rests.gates:
            if gate in self.world.gates:
                yield from self._walk(state, slot, place, token, ("gate", gate), owns)
        if rests.calls:
            yield from self._own_call(state, slot, place)

    def _propose(
        self, state: State, slot: Instance, place: int, token: int, rests: Rests, owns: bool
    ) -> Iterator[Move]:
        proposal = rests.proposal
        assert proposal is not None
        action = action_of(self.world.now, token, proposal)
        before, after = _POINTS[type(proposal)]
        name = proposal.name if isinstance(proposal, ProposeCommit | ProposePark) else ""
        mind = state.minds[place]
        trap = None if mind.caught else _trap(state, before, name or None)
        if trap is not None:
            held = state.having(minds=set_mind(state, place, evolve(mind, caught=True)))
            yield Move(self.snared(held, place, trap), owns, f"{trap.deed} at {before}")
            if owns:
                return
        for moved, reply, clauses in self.transitions(slot, action):
            if isinstance(reply, Impossible):
                continue
            what = f"{type(action).__name__} {name}".strip()
            heard: Input = ("deliver", reply)
            trap = _trap(state, after, name)
            reached = (
                isinstance(reply, Parked) if after == "parked" else not isinstance(reply, Fenced | Stopped)
            )
            if trap is not None and reached:  # at once, or a little later
                found = _unheard(state, moved, place, heard)
                if len(found.minds) > place:
                    yield Move(self.snared(found, place, trap), owns, f"{trap.deed} at {after}", clauses)
            for move in self._walk(state, moved, place, token, heard, owns, clauses, what):
                if trap is None or not reached or after == "parked" or not owns:
                    yield move
                if trap is not None and reached and len(move.state.minds) > place:
                    yield Move(self.snared(move.state, place, trap), False, f"{trap.deed} at {after}")

    def unheard(self, state: State) -> Iterator[State]:
        """What may be just now: the outcome of an attempt is committed, and its code has not heard of it."""
        slot = state.slot
        if not isinstance(slot, Instance) or self.stuck:
            return
        for place, token, mind in state.pairs():
            proposal = mind.rests.proposal if mind.rests is not None and mind.due is None else None
            if mind.condition in ("frozen", "gone") or not isinstance(proposal, ProposeCommit):
                continue
            if not mind.caught and _trap(state, "effect-end", proposal.name) is not None:
                continue
            action = action_of(self.world.now, token, proposal)
            for moved, reply, _ in self.transitions(slot, action):
                if not isinstance(reply, Impossible | Fenced | Stopped):
                    yield _unheard(state, moved, place, ("deliver", reply))

    def _own_call(self, state: State, slot: Instance, place: int) -> Iterator[Move]:
        """The code called `terminate` on its own instance; it hears of it only if that is refused."""
        for after, _, clauses in self.transitions(slot, Terminate(self.world.now)):
            perhaps = state.perhaps | {ANY_MARK}
            minds = set_mind(state, place, evolve(state.minds[place], node=None))
            moved = follow(state, after, minds=minds, perhaps=perhaps)
            yield Move(moved, True, "Terminate from inside", clauses)

    def _consumed_traps(self, state: State, place: int, mind: Mind) -> Iterator[Move]:
        for trap in state.traps:
            if trap.point == "consumed" and mind.node is not None and mind.node.parent is not None:
                yield Move(self.snared(state, place, trap), False, f"{trap.deed} at consumed")

    def _sprung(self, state: State, place: int, move: Move, name: str) -> Iterator[Move]:
        yield move
        trap = _trap(state, "effect-start", name)
        if trap is not None:
            yield Move(self.snared(state, place, trap), False, f"{trap.deed} at the start of {name}")

    def snared(self, state: State, place: int, trap: Trap | None, deed: str = "") -> State:
        """The owner was killed or frozen; a stuck one cannot be killed."""
        left = list(state.traps)
        if trap is not None:
            left.remove(trap)
            deed = trap.deed
        mind = state.minds[place]
        if (deed == "kill" and self.stuck) or mind.condition == "gone":
            return state.having(traps=tuple(left))
        lapses = mind.lapses if mind.condition == "frozen" else self.world.late + self.world.lease
        condition: Condition = "gone" if deed == "kill" else "frozen"
        perhaps, slot = state.perhaps, state.slot
        if deed == "kill" and mind.node is not None:
            perhaps |= mind.node.marks_ahead()
        assert isinstance(slot, Instance)
        if slot.contexts[place].token == slot.owner:
            slot = evolve(slot, lease_until=lapses)
        changed = evolve(mind, condition=condition, lapses=lapses)
        return state.having(
            slot=slot, minds=set_mind(state, place, changed), traps=tuple(left), perhaps=perhaps
        )

    # -- code --------------------------------------------------------------------------------------

    def _walk(
        self,
        state: State,
        slot: Slot,
        place: int,
        token: int,
        input: Input,
        owns: bool,
        clauses: tuple[str, ...] = (),
        what: str = "",
    ) -> Iterator[Move]:
        """Every rest that the code of a context may come to from where it rests, with what it did to the
        slot."""
        start = state.minds[place].node
        assert start is not None
        programme = self._programme_of(state, place)
        watched = frozenset((trap.point, trap.step) for trap in state.traps if trap.step)
        pending = [Walk(self, start, input, slot, token, (), clauses, watched)]
        while pending:
            here = pending.pop()
            here.pending = pending
            end = programme.advance(here.node, here.input, here)
            yield self._arrived(state, place, end, here, owns, what)
            for caught in here.caught:
                yield self._caught(state, place, caught)

    def _caught(self, state: State, place: int, caught: Caught) -> Move:
        """A trap has sprung before the code heard of its wait, or when it was parked; it goes on no more, and
        nobody can tell how far its turn went."""
        runs, marks = _went(state, caught.passed)
        perhaps = state.perhaps | caught.node.marks_ahead()
        over = evolve(state.minds[place], node=None, starts=(), caught=False, due=None)
        minds = set_mind(state, place, over)
        moved = follow(state, caught.slot, minds=minds, marks=marks, runs=runs, perhaps=perhaps)
        trap = _trap(state, caught.point, caught.step)
        if trap is not None and len(moved.minds) > place:
            moved = self.snared(moved, place, trap)
        return Move(moved, False, f"a trap at {caught.point}:{caught.step}", caught.clauses)

    def _programme_of(self, state: State, place: int) -> Programme:
        slot = state.slot
        assert isinstance(slot, Instance)
        return self.programme(slot.params, slot.contexts[place].version)

    def _arrived(self, state: State, place: int, end: Node, here: Walk, owns: bool, what: str) -> Move:
        rests = end.request
        assert isinstance(rests, Rests)
        runs, marks = _went(state, here.passed[:-1] if rests.dead else here.passed)
        if self.world.losses is not None:
            runs = min(runs, 1)  # how often it was lost, nobody knows
        perhaps = state.perhaps
        if rests.dead:
            perhaps |= set(here.passed[-1].marks)  # what a turn still does once it is over is open (STP-6)
        mind = evolve(state.minds[place], node=end, caught=False)
        over = Mind(None, rests.starts, mind.condition, mind.lapses)
        minds = set_mind(state, place, over if rests.dead else mind)
        moved = follow(state, here.slot, minds=minds, marks=marks, runs=runs, perhaps=perhaps)
        return Move(moved, owns, what or "the code goes on", here.clauses)


def _unheard(state: State, moved: Slot, place: int, heard: Input) -> State:
    """The state after a report was taken, of which its code has yet to hear."""
    return follow(state, moved, minds=set_mind(state, place, evolve(state.minds[place], due=heard)))


_POINTS: Mapping[type[Proposal], tuple[str, str]] = {
    ProposeCommit: ("effect-end", "committed"),
    ProposeSettle: ("settled", ""),
    ProposePark: ("", "parked"),
}
"""The points that an owner comes by before and behind what it reports."""

ANY_MARK = "*"
"""Among `perhaps`: any mark of the scenario."""


def _went(state: State, passed: Iterable[Passed]) -> tuple[int, FrozenMap[str, int]]:
    """How often `run` was called and marks were passed, at the least, after code went on."""
    runs, marks = state.runs, state.marks
    for each in passed:
        runs += each.ran
        for label in each.marks:
            marks = marks.put(label, marks.get(label, 0) + 1)
    return runs, marks


def _counted(state: State, name: str) -> FrozenMap[str, int]:
    return state.effects.put(name, state.effects.get(name, 0) + 1)


def _trap(state: State, point: str, step: str | None) -> Trap | None:
    for trap in state.traps:
        if point and (trap.point, trap.step) == (point, step):
            return trap
    return None


def _same(one: Slot, other: Slot) -> bool:
    return one is other or one == other
