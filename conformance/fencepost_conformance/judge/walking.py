"""A walk of a context's code from one rest to the next: what it asks on its way, and what it is told.

The code asks in the middle of a turn, and the machine answers at that instant. Where the machine, under
different latitudes, has several answers, the walk goes on with the first, and keeps the others for walks of
their own.
"""

from typing import Protocol

from fencepost.machine import Slot, Transition
from fencepost.machine.actions import Action, BeginStep, Park

from .code import Begins, Chooses, Input, Node, Passed
from .latitudes import CHOICES
from .world import World


class Machine(Protocol):
    """Whoever applies actions under every latitude."""

    world: World

    def transitions(self, slot: Slot, action: Action) -> list[Transition]:
        """What becomes of an action, each outcome once."""


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
    ) -> None:
        self.machine, self.node, self.input, self.slot, self.token = machine, node, input, slot, token
        self.passed, self.clauses = passed, clauses
        self.pending: list[Walk] = []

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

    def _keep(self, node: Node, input: Input, slot: Slot, clauses: tuple[str, ...]) -> None:
        because = (*self.clauses, *clauses)
        self.pending.append(Walk(self.machine, node, input, slot, self.token, self.passed, because))
