"""A walk of a context's code from one rest to the next: what it asks on its way, and what it is told.

The code asks in the middle of a turn, and the machine answers at that instant. Where the machine, under
different latitudes, has several answers, the walk goes on with the first, and keeps the others for walks of
their own. Where a trap waits for a wait that is over, or for what is parked in the middle of a turn, the walk
notes what it would be if it ended there.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from fencepost.machine import Slot, Transition
from fencepost.machine.actions import Action, BeginStep, Park
from fencepost.machine.replies import BadArgument, Fenced, Parked, Recorded, Reply
from fencepost.machine.state import Instance

from .code import Begins, Chooses, Input, Node, Passed
from .latitudes import CHOICES
from .world import World


class Machine(Protocol):
    """Whoever applies actions under every latitude."""

    world: World

    def transitions(self, slot: Slot, action: Action) -> list[Transition]:
        """What becomes of an action, each outcome once."""


POINTS: Mapping[type[Reply], str] = MappingProxyType({Recorded: "consumed", Parked: "parked"})
"""The point that a context comes by in the middle of a turn, by what it is told there."""


class Caught(NamedTuple):
    """Where a trap may spring in the middle of a turn: at which point and step, and what was passed until
    then."""

    point: str
    step: str
    node: Node
    slot: Slot
    passed: tuple[Passed, ...]
    clauses: tuple[str, ...]


class Walk:
    """Where a walk stands: the slot, and what was passed; it answers what the code asks on its way."""

    def __init__(
        self,
        machine: Machine,
        node: Node,
        input: Input,
        slot: Slot,
        token: int,
        passed: tuple[Passed, ...],
        clauses: tuple[str, ...],
        watched: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        self.machine, self.node, self.input, self.slot, self.token = machine, node, input, slot, token
        self.passed, self.clauses, self.watched = passed, clauses, watched
        self.pending: list[Walk] = []
        self.caught: list[Caught] = []

    def went(self, passed: Passed) -> None:
        self.passed = (*self.passed, passed)

    def answer(self, node: Node) -> Input:
        """What the code is told at `node`; the other answers are kept for later walks."""
        request = node.request
        if isinstance(request, Chooses):
            first, *others = CHOICES[request.field]
            for other in others:
                self._keep(node, ("choice", other), self.slot, ())
            return ("choice", first)
        found = self._transitions(request, self.machine.world.now)
        if (
            self.machine.world.slack
        ):  # a deadline is counted from anywhere between the earliest and the latest
            found += self._transitions(request, self.machine.world.late)
        step = self._open_step(request)
        for slot, reply, clauses in found:
            self._catch(step, node, slot, reply, clauses)
        for slot, reply, clauses in found[1:]:
            self._keep(node, ("reply", reply), slot, clauses)
        self.slot, reply, clauses = found[0]
        self.clauses = (*self.clauses, *clauses)
        return ("reply", reply)

    def _transitions(self, request: object, now: int) -> list[Transition]:
        action: Action = Park(now, self.token)
        if isinstance(request, Begins):
            action = BeginStep(now, self.token, request.kind, request.name, request.arguments)
        return self.machine.transitions(self.slot, action)

    def _open_step(self, request: object) -> str:
        """The wait that is called, or the step that wants to be parked."""
        name = request.name if isinstance(request, Begins) and request.kind == "wait" else None
        if not isinstance(request, Begins) and isinstance(self.slot, Instance):
            context = self.slot.context(self.token)
            name = context.open if context is not None else None
        return name if isinstance(name, str) else ""

    def _catch(self, step: str, node: Node, slot: Slot, reply: Reply, clauses: tuple[str, ...]) -> None:
        point = POINTS.get(type(reply), "")
        if (point, step) in self.watched:
            self.caught.append(Caught(point, step, node, slot, self.passed, (*self.clauses, *clauses)))

    def _keep(self, node: Node, input: Input, slot: Slot, clauses: tuple[str, ...]) -> None:
        because = (*self.clauses, *clauses)
        self.pending.append(
            type(self)(self.machine, node, input, slot, self.token, self.passed, because, self.watched)
        )


class WalkBeside(Walk):
    """A walk of one more context, which a Host may start at any time (CTX-3a) and which is lost at its first
    call that is new: whatever its turn still does goes for nothing, and the slot is as it was."""

    def _transitions(self, request: object, now: int) -> list[Transition]:
        found = super()._transitions(request, now)
        replayed = [each for each in found if isinstance(each.reply, Recorded | BadArgument)]
        lost = [Transition(self.slot, Fenced(), ("CTX-3a",))] if len(replayed) < len(found) else []
        return [*lost, *replayed]
