"""Everything that may be the case at one id, carried along what is seen there."""

from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Any

from fencepost.machine import Vacant
from fencepost.machine.actions import Action, Get, ReadStatus
from fencepost.machine.records import evolve
from fencepost.machine.replies import Unproven
from fencepost.machine.state import Instance

from .blame import Witnesses, hints_of, of_answer, plain_of
from .moves import Moves, Outlook
from .replies import explains, seen, told
from .states import FOREVER, State, follow, undominated
from .states import told as state_told
from .verdict import Refused, Unjudged
from .world import World

States = dict[State, tuple[str, ...]]
"""Possible states, each with the clauses of the moves that led to it."""

MOST_STATES = 1_000  # beside one another; those that follow one another are counted once
MOST_ON_REAL_TIME = 150  # where everything may be late, and nothing comes to rest for sure
MOST_BESIDE_LOSSES = 400  # where owners may be lost at any moment, and nearly all that is possible is alike
LONGEST_TRAIL = 24
SHOWN = 8


class Track:
    """The possible states of one id.

    `open` says that the Host may have done something since the states were looked at last; `settled`, that
    nothing has happened since it came to rest. An id of which too much is possible is out of sight from then
    on: it has no states, and whatever is seen there is let pass.
    """

    def __init__(self, world: World, id: str) -> None:
        self.world = world
        self.id = id
        self.moves = Moves(world, id)
        self.states: States = {State(Vacant(world.rules, world.closed)): ()}
        self.open = False
        self.settled = True
        self.calm_until = FOREVER
        self.lost: set[str] = set()
        self.out_of_sight = ""
        self._memory: dict[State, Outlook] = {}
        self._stamp = -1

    @property
    def inert(self) -> bool:
        """Whether nothing can happen here without a call."""
        return all(_inert(state) for state in self.states)

    def lose_sight(self, reason: Unjudged) -> None:
        """Judge this id no more."""
        self.out_of_sight = str(reason)
        self.states, self.open, self.settled = {}, False, True
        self.calm_until = FOREVER

    def put(self, states: States | Iterable[State]) -> None:
        """These are possible now, and the Host may go on."""
        self.states = states if isinstance(states, dict) else dict.fromkeys(states, ())
        self.wake()

    def wake(self) -> None:
        """The Host may have done something."""
        self.open, self.settled = True, False

    # -- what a Host does by itself ----------------------------------------------------------------

    def outlook(self, state: State) -> Outlook:
        """What may follow a state now."""
        if self._stamp != self.world.stamp:
            self._memory.clear()
            self._stamp = self.world.stamp
        known = self._memory.get(state)
        if known is None:
            known = self._memory[state] = self.moves.outlook(state)
        return known

    def closure(self, states: States) -> States:
        """Everything that the Host may have brought about from these states; Unjudged when it is too much."""
        found = dict(states)
        pending, width = list(found), len(found)
        most = MOST_STATES if self.world.exact else MOST_ON_REAL_TIME
        most = most if self.world.losses is None else MOST_BESIDE_LOSSES
        while pending:
            state = pending.pop()
            moves = self.outlook(state).moves
            width += len(moves) > 1
            for move in moves:
                if move.state not in found and not self.world.beyond(move.state.effects):
                    found[move.state] = (*found[state], *move.clauses)[-LONGEST_TRAIL:]
                    pending.append(move.state)
            if width > most:
                raise Unjudged(f"more than {most} states are possible for {self.id!r}")
        return found

    def close(self) -> None:
        """Let the Host have done what it may."""
        if self.open:
            self.open = False
            try:
                self.states = undominated(self.closure(self.states))
            except Unjudged as reason:
                self.lose_sight(reason)
            self.calm_until = min((self.outlook(each).calm_until for each in self.states), default=FOREVER)

    def settle(self) -> None:
        """The Host is at rest: whatever it must do is done."""
        self.close()
        if not self.settled:
            self.settled = True
            self.states = {
                state: trail for state, trail in self.states.items() if not self.outlook(state).restless
            }
            assert self.states or self.out_of_sight, "every state goes on for ever"

    # -- calls -------------------------------------------------------------------------------------

    def answered(self, action: Action, answer: Any) -> None:
        """A caller's call was answered so, or not at all; Refused when no state explains it."""
        self.close()
        if self.out_of_sight:
            return
        explained: States = {}
        unproven: States = {}
        offered: dict[str, Any] = {}
        clauses: list[str] = []
        for state, trail in self.states.items():
            for each in self.offers(state, action):
                way = (*trail, *each.clauses)[-LONGEST_TRAIL:]
                if isinstance(each.reply, Unproven):
                    unproven[follow(state, each.state)] = way
                    continue
                offered[repr(each.reply)] = told(each.reply)
                clauses += each.clauses
                if explains(each.reply, answer):
                    explained[follow(state, each.state)] = (
                        trail if isinstance(action, ReadStatus | Get) else way
                    )
        try:
            later = self.closure(unproven)
        except Unjudged as reason:
            self.lose_sight(reason)
            return
        for state, trail in later.items():
            offered.update((repr(each), each) for each in self.late_reply(state, action))
            if self.late(state, action, answer):
                explained[state] = trail
        if not explained:
            possible = list(offered.values())
            speaking = tuple(of_answer(seen(answer), possible, self.furthest()))
            hints = tuple(hints_of(seen(answer), possible))
            plain = tuple(plain_of(seen(answer), possible))
            witnesses = Witnesses(speaking, (*self.trail(), *clauses), hints, plain)
            raise Refused(answer, possible, self.told(), witnesses)
        self.put(explained)

    def offers(self, state: State, action: Action) -> list[Any]:
        """What the machine makes of a call in this state, at the earliest and the latest that it may be."""
        found = self.moves.transitions(state.slot, evolve(action, now=self.world.now))
        if self.world.slack:
            found = found + self.moves.transitions(state.slot, evolve(action, now=self.world.late))
        return found

    def late(self, state: State, action: Action, answer: Any) -> bool:
        """Whether a call that waits for the stop may be answered so in this state."""
        if _published(state):
            return any(explains(each.reply, answer) for each in self.offers(state, action))
        error = getattr(answer, "error", None)
        return error is not None or (not hasattr(answer, "error") and not self.outlook(state).restless)

    def late_reply(self, state: State, action: Action) -> list[Any]:
        """What a call that waits for the stop may show in this state, for a reader."""
        if _published(state):
            return [told(each.reply) for each in self.offers(state, action)]
        return [] if self.outlook(state).restless else [{"error": "any"}, "no answer"]

    # -- for readers, and for whoever changes all states -------------------------------------------

    def each(self, change: Callable[[State], Iterable[State]]) -> None:
        """Replace every state by what becomes of it."""
        self.put({after: trail for state, trail in self.states.items() for after in change(state)})

    def furthest(self) -> list[State]:
        """The possible states that the most moves led to."""
        longest = max(map(len, self.states.values()), default=0)
        return [state for state, trail in self.states.items() if len(trail) == longest]

    def trail(self) -> list[str]:
        """The clauses of the moves that led to the furthest states, the last ones first."""
        trails = zip_longest(*(reversed(self.states[state]) for state in self.furthest()))
        return [clause for clauses in trails for clause in clauses if clause is not None]

    def told(self, states: Iterable[State] | None = None) -> list[str]:
        """Some of the possible states, for a reader."""
        found = list(dict.fromkeys(state_told(each) for each in (self.states if states is None else states)))
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        return [f"{self.id}: {each}" for each in found[:SHOWN]] + more

    def end(self) -> None:
        """Let go of all code."""
        self.moves.close()


def _published(state: State) -> bool:
    return isinstance(state.slot, Vacant) or state.slot.terminal is not None


def _inert(state: State) -> bool:
    slot = state.slot
    if state.flights:
        return False
    return not isinstance(slot, Instance) or (
        slot.terminal is not None and not slot.contexts and not slot.closed
    )
