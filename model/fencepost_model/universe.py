"""A bounded universe over the machine: the same programs, faults and bounds as a configuration of the model.

The machine says what may happen; a *world* holds its state and what only application code knows, which is the
step that each context has called and not seen settle. A universe offers moves: it builds an action, asks
`apply`, and a move that is refused or changes nothing is none. So no rule stands here. What does: programs
(what code calls next, given the replies it got), bounds (how many tokens, contexts and events there are, and
which faults are still affordable), and what the model leaves out (a finished step is replayed without being
shown, leases end when `Expire` says so).

Every context that is not proven stopped goes on trying, fenced or not: a late report is offered to the
machine in each state in which one could come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from fencepost.machine import Rules, Slot, Vacant, apply
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    CommitAttempt,
    Crash,
    Create,
    Expire,
    Park,
    Settle,
    StopAck,
    Terminate,
)
from fencepost.machine.records import FrozenMap, evolve
from fencepost.machine.replies import Parked, Pending, Recorded, Reply, Run
from fencepost.machine.state import MILLISECONDS, Context, Failed, Instance, Kind, Step

from fencepost_model import abstraction
from fencepost_model.bounds import NAMES, Bounds
from fencepost_model.values import State

LEASE_UNTIL = 86_400 * MILLISECONDS
"""Past every deadline of a bounded program: only `Expire` looks at a lease."""

VERSION = "v1"
ID = "i"

World = TypeVar("World")


class Move(NamedTuple, Generic[World]):
    """One thing that can happen: the model's name for it, the world after it, and the machine's actions."""

    name: str
    world: World
    actions: tuple[Action, ...] = ()


class Universe(ABC, Generic[World]):
    """What can happen within bounds, and what each world is in the model."""

    module: str

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds

    @abstractmethod
    def initial(self) -> World:
        """The world before anything was created."""

    @abstractmethod
    def moves(self, world: World) -> Iterator[Move[World]]:
        """Everything that changes this world."""

    @abstractmethod
    def image(self, world: World) -> State:
        """The state of the model that this world is."""


class Call(NamedTuple):
    """One step call of a program; `delay` in seconds is what the model counts for it."""

    name: str
    kind: Kind
    arguments: Mapping[str, Any]
    delay: int = 0
    attempts: int = 0


def call(name: str, step: Mapping[str, Any]) -> Call:
    """The call that stands for a step of the model."""
    delay = step["delay"]
    if step["kind"] == "do":
        policy = {"maxAttempts": step["attempts"], "initialDelaySeconds": delay}
        return Call(name, "do", MappingProxyType({"effect": True, "retry": policy}), delay, step["attempts"])
    if step["kind"] == "sleep":
        return Call(name, "sleep", MappingProxyType({"seconds": delay}), delay)
    return Call(name, "wait", MappingProxyType({"type": step["type"], "timeoutSeconds": delay}), delay)


class One(NamedTuple):
    """One instance: its slot, and by token each context not proven stopped, with the step that it has called.

    The code that a slot's contexts run is the program named in the instance's params.
    """

    slot: Slot
    code: tuple[tuple[int, str], ...] = ()

    def opened(self, token: int, step: str, slot: Slot) -> One:
        """The world in which this context has called `step`, or waits for none."""
        return One(slot, tuple((each, step if each == token else open) for each, open in self.code))

    def stopped(self, token: int, slot: Slot) -> One:
        """The world without this context."""
        return One(slot, tuple(each for each in self.code if each[0] != token))


_RUNNING = (Run, Pending)


def forgetful(world: One) -> One:
    """The world in which fenced contexts have forgotten what they called: late reports are looked at
    in `Fencing`."""
    slot = world.slot
    if not isinstance(slot, Instance) or all(not open or token == slot.owner for token, open in world.code):
        return world
    contexts = tuple(
        each if each.token == slot.owner else Context(each.token, each.version) for each in slot.contexts
    )
    code = tuple((token, open if token == slot.owner else "") for token, open in world.code)
    return One(evolve(slot, contexts=contexts), code)


@lru_cache(maxsize=1 << 14)
def at_rest(history: FrozenMap[str, Step]) -> FrozenMap[str, Step]:
    """The history with its unfinished steps due at instant 0: nobody waits for them."""
    rest = history
    for name, step in history.items():
        if step.outcome is None:
            rest = rest.put(name, step._replace(deadline=0, failures=0))
    return rest


class OneInstance(Universe[One]):
    """The universe of a single instance that runs one of several programs."""

    def __init__(self, bounds: Bounds, rules: Rules) -> None:
        super().__init__(bounds)
        self.rules = rules
        self.programs: dict[str, tuple[Call, ...]] = {
            name: tuple(call(*each) for each in zip(NAMES, steps, strict=False))
            for name, steps in sorted(bounds["Body"].items())
        }
        self.maximum_token: int = bounds["MaxToken"]
        self.maximum_contexts: int = bounds["MaxContexts"]
        self._creates = [
            Create(0, ID, abstraction.document(abstraction.PROGRAM, name)) for name in self.programs
        ]

    def initial(self) -> One:
        return One(Vacant(self.rules))

    def program(self, slot: Slot) -> tuple[Call, ...]:
        """The program that the instance runs; none where nothing is held."""
        return self.programs.get(abstraction.program(slot), ())

    def moves(self, world: One) -> Iterator[Move[One]]:
        for move in self.offered(world):
            rest = self.settled(move.world)
            yield move if rest is move.world else Move(move.name, rest, move.actions)

    def settled(self, world: One) -> One:
        """The world with what nothing can look at any more at rest."""
        slot = world.slot
        return One(self.rest(slot), world.code) if isinstance(slot, Instance) and not slot.live else world

    def rest(self, slot: Instance) -> Instance:
        """The slot of an instance that is decided, at rest."""
        return evolve(slot, history=at_rest(slot.history), current=None, lease_until=0)

    def offered(self, world: One) -> Iterator[Move[One]]:
        """Everything that the machine accepts in this world."""
        slot = world.slot
        for create in self._creates:
            if (after := apply(slot, create).state) is not slot:
                yield Move("Create", One(after), (create,))
        if not isinstance(slot, Instance):
            return
        yield from self.callers(world)
        yield from self.host(world)
        may_lose = self.may_lose(slot)
        for token, open in world.code:
            yield from self.reports(world, token, open)
            if (token != slot.owner or may_lose) and (
                after := apply(slot, crash := Crash(0, token)).state
            ) is not slot:
                yield Move("Crash", world.stopped(token, after), (crash,))
            if (after := apply(slot, ack := StopAck(0, token)).state) is not slot:
                yield Move("StopAck", world.stopped(token, after), (ack,))
        if may_lose and (after := apply(slot, expiry := Expire(LEASE_UNTIL)).state) is not slot:
            yield Move("Expire", One(after, world.code), (expiry,))

    def callers(self, world: One) -> Iterator[Move[One]]:
        """What callers do to an instance that is held."""
        slot = world.slot
        if (after := apply(slot, terminate := Terminate(0)).state) is not slot:
            yield Move("Terminate", One(after, world.code), (terminate,))

    def host(self, world: One) -> Iterator[Move[One]]:
        """What the Host does by itself."""
        slot = world.slot
        assert isinstance(slot, Instance)
        if slot.token < self.maximum_token and len(slot.contexts) < self.maximum_contexts:
            claim = Claim(0, slot.token + 1, VERSION, LEASE_UNTIL)
            if (after := apply(slot, claim).state) is not slot:
                yield Move("Claim", One(after, (*world.code, (claim.token, ""))), (claim,))

    def reports(self, world: One, token: int, open: str) -> Iterator[Move[One]]:
        """What the code of one context does next, fenced or not."""
        slot = world.slot
        program = self.program(slot)
        if not open:
            yield from self._next_call(world, token, program)
            return
        step = next(each for each in program if each.name == open)
        attempts = self.attempts(slot, token) if step.kind == "do" else (Park(0, token),)
        for action in (*attempts, Settle(0, token)):  # STP-8: it may also end without having waited
            after, reply, _ = apply(slot, action)
            if after is not slot:
                handed = "" if isinstance(reply, Recorded) else open
                yield Move(type(action).__name__, world.opened(token, handed, after), (action,))

    def attempts(self, slot: Slot, token: int) -> tuple[Action, ...]:
        """What the effect of an open step may come to: a result that names its owner, or a failure."""
        result = abstraction.document(abstraction.NUMBER, token)
        return CommitAttempt(0, token, result), CommitAttempt(0, token, failed=True)

    def _next_call(self, world: One, token: int, program: tuple[Call, ...]) -> Iterator[Move[One]]:
        slot = world.slot
        ending = Settle(0, token)
        for each in program:
            begin = BeginStep(0, token, each.kind, each.name, each.arguments)
            after, reply, _ = apply(slot, begin)
            if after is not slot:
                yield Move("BeginStep", world.opened(token, _called(each.name, reply), after), (begin,))
                return
            if not isinstance(reply, Recorded):
                return  # fenced: nothing that it calls is ever answered
            if isinstance(reply.outcome, Failed) and reply.outcome.name == "step_failed":
                ending = Settle(0, token, threw=True, provenance="step_failed")  # ERR-3: uncaught
                break
        after = apply(slot, ending).state
        if after is not slot:
            yield Move("Settle", world.opened(token, "", after), (ending,))

    @abstractmethod
    def may_lose(self, slot: Instance) -> bool:
        """Whether one more loss of the owner leaves tokens enough for the work: bounds the faults alone."""


def _called(name: str, reply: Reply) -> str:
    return name if isinstance(reply, (*_RUNNING, Parked)) else ""
