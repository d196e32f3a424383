"""What may be the case at one id: a slot of the machine, and where the code of its unstopped contexts stands.

A state is a value: equal states are merged. So that they meet, what cannot make a difference any more is
dropped: tokens are numbered by their order, and events not at all; the history of an outcome that was decided
is forgotten; a context that was told that it is over keeps only the effects that it may still begin. Of two
states that differ only in how often `run` was called at the least, the lesser allows all that the other does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fencepost.machine import Slot, Vacant, parked_on
from fencepost.machine.records import FrozenMap, evolve
from fencepost.machine.replies import Reply
from fencepost.machine.state import NO_HISTORY, Instance, Step

from .code import Input, Node, Rests

Trail = tuple[str, ...]

Condition = Literal["healthy", "frozen", "gone", "lapsed"]
"""healthy; frozen by `pause`; gone, the Host need not know it yet; resumed after its lease had run out."""

FOREVER = 10**18
"""A lease that is renewed for as long as its owner is healthy, in milliseconds."""

LONG = 32
"""Steps from which on a history is hashed by its length alone."""

NO_COUNTS: FrozenMap[str, int] = FrozenMap()


@dataclass(frozen=True)
class Mind:
    """A context that is not proven stopped: where its code stands, None once it was told that it is over.

    `starts` are effects that it may begin although it is over. A frozen or lost owner shows no life from an
    instant on that is one lease before `lapses` (milliseconds). `due` is what its code hears next: the start
    of an effect, at which it was caught; `caught`, that a trap held its report back, which then goes first.
    """

    node: Node | None
    starts: tuple[str, ...] = ()
    condition: Condition = "healthy"
    lapses: int = 0
    due: Input | None = None
    caught: bool = False

    @property
    def idle(self) -> bool:
        """Whether it does nothing more, and its stop can be proven as soon as anybody looks."""
        return self.node is None and not self.starts and self.condition == "healthy"

    @property
    def rests(self) -> Rests | None:
        """Where its code stands, if it can go on."""
        request = self.node.request if self.node is not None else None
        return request if isinstance(request, Rests) else None


@dataclass(frozen=True)
class Trap:
    """A kill or a pause that waits for an owner to come by."""

    deed: str
    point: str
    step: str | None


@dataclass(frozen=True)
class Flight:
    """A call that was begun and not answered yet: `reply` once it was taken."""

    name: str
    reply: Reply | None = None


@dataclass(frozen=True)
class State:
    """One possibility. `effects` are begun so far, by step; `runs` and `marks` are the least that were seen
    by the journal; `perhaps` are marks that may have been passed besides."""

    slot: Slot
    minds: tuple[Mind, ...] = ()
    effects: FrozenMap[str, int] = NO_COUNTS
    runs: int = 0
    marks: FrozenMap[str, int] = NO_COUNTS
    perhaps: frozenset[str] = frozenset()
    traps: tuple[Trap, ...] = ()
    flights: tuple[Flight, ...] = ()

    def __hash__(self) -> int:
        known = self.__dict__.get("_hash")
        if known is None:  # also in a copy
            known = hash((_gist(self.slot), self.minds, self.runs, self.traps, self.flights))
            object.__setattr__(self, "_hash", known)
        return int(known)

    def having(self, **changes: Any) -> "State":
        """A copy with some fields changed."""
        changes["_hash"] = None
        return evolve(self, **changes)

    def pairs(self) -> Iterator[tuple[int, int, Mind]]:
        """Place, token and mind of each context."""
        if isinstance(self.slot, Instance):
            for place, context in enumerate(self.slot.contexts):
                yield place, context.token, self.minds[place]

    def owner(self) -> Mind | None:
        """The mind of the context that may commit."""
        if isinstance(self.slot, Instance) and self.slot.owner:
            for _, token, mind in self.pairs():
                if token == self.slot.owner:
                    return mind
        return None


def _gist(slot: Slot) -> Any:
    """What a slot is hashed by: all that differs often, without walking through a long history."""
    if isinstance(slot, Vacant):
        return slot.closed
    current = slot.history[slot.current] if slot.current is not None else None
    return (
        len(slot.history) if len(slot.history) > LONG else slot.history,
        current,
        len(slot.inbox),
        slot.owner,
        slot.contexts,
        slot.decision,
        slot.terminal,
    )


def follow(state: State, slot: Slot, **changes: Any) -> State:
    """The state after a move of the machine: minds of contexts that are stopped go, and tokens are
    renumbered."""
    minds = changes.pop("minds", state.minds)
    if isinstance(slot, Vacant):
        return state.having(slot=slot, minds=(), **changes)
    held = state.slot.contexts if isinstance(state.slot, Instance) else ()
    if len(slot.contexts) < len(minds):
        left = {context.token for context in slot.contexts}
        minds = tuple(mind for context, mind in zip(held, minds, strict=False) if context.token in left)
    if len(minds) > 1:
        slot, minds = _thinned(slot, minds)
    return state.having(slot=canonical(slot), minds=minds, **changes)


def _thinned(slot: Instance, minds: tuple[Mind, ...]) -> tuple[Instance, tuple[Mind, ...]]:
    """One context that is over and waits for its stop holds back what several of them do."""
    idle = [place for place, mind in enumerate(minds) if mind.idle]
    if len(idle) < 2:
        return slot, minds
    surplus = set(idle[1:])
    contexts = tuple(context for place, context in enumerate(slot.contexts) if place not in surplus)
    return evolve(slot, contexts=contexts), tuple(
        mind for place, mind in enumerate(minds) if place not in surplus
    )


def canonical(instance: Instance) -> Instance:
    """The instance with tokens 1, 2, ... and without what makes no difference any more."""
    if instance.terminal is not None and not instance.contexts:
        if instance.history is NO_HISTORY and not instance.token:
            return instance
        return evolve(instance, **_OF_NO_USE, params=None, owner=0, token=0, ends_at=0)
    if instance.accepted:
        inbox = instance.inbox
        if inbox and inbox[-1].number:
            inbox = (*inbox[:-1], inbox[-1]._replace(number=0))
        instance = evolve(instance, accepted=0, inbox=inbox)
    if instance.decision is not None and instance.history is not NO_HISTORY:
        instance = evolve(instance, **_OF_NO_USE)
    count = len(instance.contexts)
    if instance.token == count and all(
        context.token == place for place, context in enumerate(instance.contexts, 1)
    ):
        return instance
    contexts = tuple(context._replace(token=place) for place, context in enumerate(instance.contexts, 1))
    owner = next(
        (place for place, context in enumerate(instance.contexts, 1) if context.token == instance.owner), 0
    )
    return evolve(instance, contexts=contexts, owner=owner, token=count)


_OF_NO_USE: dict[str, Any] = {
    "history": NO_HISTORY,
    "current": None,
    "inbox": (),
    "inbox_bytes": 0,
    "accepted": 0,
    "created_at": 0,
    "lease_until": 0,
}
"""What an instance whose outcome is decided never reads again, in the shape that it is given."""


def undominated(states: dict[State, Trail]) -> dict[State, Trail]:
    """Without the states that differ from another only in a greater least number of runs."""
    kept: dict[State, State] = {}
    for state in states:
        alike = state.having(runs=min(state.runs, 1))
        known = kept.get(alike)
        if known is None or state.runs < known.runs:
            kept[alike] = state
    return states if len(kept) == len(states) else {state: states[state] for state in kept.values()}


def set_mind(state: State, place: int, mind: Mind) -> tuple[Mind, ...]:
    """The minds of a state with one of them replaced."""
    return (*state.minds[:place], mind, *state.minds[place + 1 :])


def told(state: State) -> str:
    """One line for a reader."""
    slot = state.slot
    if isinstance(slot, Vacant):
        return "no instance is held" + (", and the resource is being deleted" if slot.closed else "")
    parts = [_standing(slot)]
    if slot.terminal is None:
        pending = [_step(name, step) for name, step in slot.history.items() if step.outcome is None]
        finished = sum(step.outcome is not None for step in slot.history.values())
        parts += [f"{finished} steps finished", *pending]
        if slot.inbox:
            parts.append("inbox " + ", ".join(event.type for event in slot.inbox[:5]))
    parts += [f"a {_kind(state, token, mind)} context {_doing(mind)}" for _, token, mind in state.pairs()]
    if state.effects:
        parts.append("effects " + ", ".join(f"{name}: {count}" for name, count in state.effects.items()))
    return "; ".join(parts)


def _standing(slot: Instance) -> str:
    if slot.terminal is not None:
        return slot.terminal.status + (f" ({slot.terminal.reason})" if slot.terminal.reason else "")
    if slot.decision is not None:
        return f"{slot.decision.status} decided, not published"
    if slot.contexts:
        return "running"
    return "parked" if parked_on(slot) is not None else "to be run"


def _step(name: str, step: Step) -> str:
    until = f" until {step.deadline / 1000:g} s" if step.deadline is not None else ""
    return f"{step.kind} {name} pending{until}"


def _kind(state: State, token: int, mind: Mind) -> str:
    owner = isinstance(state.slot, Instance) and state.slot.owner == token
    return f"{'' if owner else 'fenced '}{mind.condition}"


def _doing(mind: Mind) -> str:
    rests = mind.rests
    if rests is None:
        return "that is over"
    if rests.proposal is not None:
        return f"about to {type(rests.proposal).__name__.removeprefix('Propose').lower()}"
    if rests.starts:
        return f"about to begin the effect of {rests.starts[0]}"
    if rests.gates:
        return f"at gate {rests.gates[0]}"
    return "under way"
