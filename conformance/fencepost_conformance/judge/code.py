"""What the code of a context does next: a pure function of its program, its Version and what it was told.

The real probe runs in the real `Execution`; only what answers it is the judge's. A context's history is a
path in a tree: each *node* is a request (a step call, a choice, a rest in which it waits), each edge an
input (the reply, the choice, what ended the rest). Known edges are walked without running anything. Code is
run only to find out what lies behind a new edge, and one that rests is kept, so that the next input
continues it; otherwise it is run again from the start.

Programs in which no two calls can be under way are *sequential*: where they stand is fully told by the
outcomes that they have seen, whether recorded in this context or replayed from an earlier one. Their nodes
are shared accordingly, so that a context that replays walks over what an earlier one found out.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fencepost import documents, workflow
from fencepost.contexts.execution import EffectBegan as _EffectBegan
from fencepost.contexts.execution import Execution, More, Proposal
from fencepost.machine.replies import BadArgument, Recorded, Reply
from fencepost.machine.state import Kind

from ..probe import load
from .latitudes import CHOICES

Input = tuple[Any, ...]
"""What code is told: ("go",), ("reply", Reply), ("choice", text), ("deliver", Reply), ("start", name,
number), ("gate", name)."""

GO: Input = ("go",)


@dataclass(frozen=True)
class Begins:
    """A step call, in the middle of a turn."""

    kind: Kind
    name: Any
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Parks:
    """It wants to be parked at once, in the middle of a turn."""


@dataclass(frozen=True)
class Chooses:
    """It reads a latitude that belongs to its driver."""

    field: str


@dataclass(frozen=True)
class Rests:
    """Its turn has drained. What can end the rest: `go` for a context that has not begun, an answer to its
    proposal, the start of an effect, a gate; `calls` are those on its own instance."""

    proposal: Proposal | None = None
    starts: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    dead: bool = False
    calls: int = 0


Request = Begins | Parks | Chooses | Rests


@dataclass(frozen=True)
class Passed:
    """What code did on its way from one request to the next: marks that it passed, and `run` being called."""

    marks: tuple[str, ...] = ()
    ran: bool = False


NOTHING = Passed()


class Node:
    """A request, what leads to it, and what was found out behind it."""

    __slots__ = ("children", "input", "live", "outcomes", "parent", "request", "since")

    def __init__(
        self, request: Request, parent: "Node | None", input: Input, outcomes: int, since: tuple[Input, ...]
    ) -> None:
        self.request = request
        self.parent = parent
        self.input = input
        self.children: dict[Input, tuple[Node, Passed]] = {}
        self.live: _Code | None = None
        self.outcomes = outcomes
        self.since = since

    def path(self) -> list[Input]:
        """The inputs from the start to here."""
        inputs: list[Input] = []
        node: Node = self
        while node.parent is not None:
            inputs.append(node.input)
            node = node.parent
        inputs.reverse()
        return inputs

    def marks_ahead(self) -> frozenset[str]:
        """The marks that may be passed before the next rest, as far as it was found out."""
        found: set[str] = set()
        pending = [self]
        while pending:
            for child, passed in pending.pop().children.values():
                found.update(passed.marks)
                if not isinstance(child.request, Rests):
                    pending.append(child)
        return frozenset(found)


class Traveller(Protocol):
    """Whoever lets code go on: it hears what was passed, and says what the code is told in mid-turn."""

    def went(self, passed: Passed) -> None:
        """The next request was reached, and this was done on the way to it."""

    def answer(self, node: Node) -> Input:
        """What the code is told at a request in the middle of a turn."""


@dataclass
class Programme:
    """All that the contexts of one instance on one Version can do."""

    id: str
    version: str
    params: bytes | None
    sequential: bool
    aside: Mapping[str, str]
    root: Node = field(default_factory=lambda: Node(Rests(), None, (), 0, ()))
    _shared: dict[Any, Node] = field(default_factory=dict)
    _outcomes: dict[tuple[int, Any], int] = field(default_factory=dict)
    _lives: list["_Code"] = field(default_factory=list)

    def advance(self, node: Node, input: Input, traveller: Traveller) -> Node:
        """The rest that `input` leads to from a rest or a request."""
        while (known := node.children.get(input)) is not None:
            node = known[0]
            traveller.went(known[1])
            if isinstance(node.request, Rests):
                return node
            input = traveller.answer(node)
        code = node.live
        node.live = None
        if code is None:
            code = _Code(self)
            self._lives.append(code)
            return _Run(self, code, deque([*node.path(), input]), traveller, self.root).to_rest()
        return _Run(self, code, deque([input]), traveller, node).to_rest()

    def grow(self, node: Node, input: Input, request: Request, passed: Passed) -> tuple[Node, Passed]:
        """The node behind an edge, made where it is new."""
        known = node.children.get(input)
        if known is None:
            outcomes, since = self._standing(node, input)
            child = Node(request, node, input, outcomes, since)
            if self.sequential:
                child = self._shared.setdefault((outcomes, since, _asking(request)), child)
            known = node.children[input] = (child, passed)
        return known

    def _standing(self, node: Node, input: Input) -> tuple[int, tuple[Input, ...]]:
        outcome = _outcome(input)
        if outcome is None:
            return node.outcomes, (*node.since, input)
        key = (node.outcomes, outcome)
        return self._outcomes.setdefault(key, len(self._outcomes) + 1), ()

    def close(self) -> None:
        """Let go of all code; nothing of it runs any more."""
        for code in self._lives:
            code.execution.turns.discard()
        self._lives.clear()


def _asking(request: Request) -> str | None:
    """Two ways that meet in their outcomes may still differ in what is asked between them."""
    return request.field if isinstance(request, Chooses) else None


def _outcome(input: Input) -> Any:
    """What a call has come to, when the input says so."""
    if input[0] == "choice" or input is GO:
        return input
    reply = input[1] if input[0] in ("reply", "deliver") else None
    if isinstance(reply, Recorded):
        return reply.outcome
    return ("TypeError", reply.message) if isinstance(reply, BadArgument) else None


class _Code:
    """One running copy of a context's code, the journal and the binding that it sees."""

    def __init__(self, programme: Programme) -> None:
        self.ask: Callable[[Request], Input] = _nobody
        self.starts: dict[str, Callable[[Any], None]] = {}
        self.gates: dict[str, list[Callable[[Any], None]]] = {}
        self.calls = 0
        self.proposal: Proposal | None = None
        self.failed: BaseException | None = None
        self.marks: list[str] = []
        self.ran = False
        params = None if programme.params is None else documents.decode(programme.params)
        self.execution = Execution(
            load(programme.version),
            "Probe",
            {"VERSION": programme.version, "JOURNAL": _Journal(self), "PROBE": _Binding(self)},
            workflow.WorkflowEvent(programme.id, params),
            self,
            _CodeChoices(self, programme.aside),  # type: ignore[arg-type]
        )

    def take_passed(self) -> Passed:
        """What was passed since this was asked last."""
        if not self.marks and not self.ran:
            return NOTHING
        passed = Passed(tuple(self.marks), self.ran)
        self.marks, self.ran = [], False
        return passed

    # The Host, as an execution sees it.

    def begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        reply: Reply = self.ask(Begins(kind, name, arguments))[1]
        return reply

    def park(self) -> Reply:
        reply: Reply = self.ask(Parks())[1]
        return reply

    # Resting.

    def feed(self, input: Input) -> None:
        """End the rest."""
        word = input[0]
        if word == "deliver":
            self.proposal = None
            self.execution.deliver(input[1])
        elif word == "start":
            self.starts.pop(input[1])(input[2])
        elif word == "gate":
            for resolve in self.gates.pop(input[1]):
                resolve(None)

    def rest(self) -> Rests:
        """Run until it rests."""
        signal = self.execution.turn()
        while isinstance(signal, More | _EffectBegan):
            signal = self.execution.turn()
        if self.failed is not None:
            raise self.failed  # of the judge; the code that it was raised in took it for its own
        if isinstance(signal, Proposal):
            self.proposal = signal
        return Rests(self.proposal, tuple(self.starts), tuple(self.gates), self.execution.dead, self.calls)


class _Run:
    """One copy of the code being run along a script, and beyond it as a traveller says."""

    def __init__(
        self, programme: Programme, code: _Code, script: deque[Input], traveller: Traveller, node: Node
    ) -> None:
        self.programme, self.code, self.script, self.traveller = programme, code, script, traveller
        self.node = node
        self._input: Input = ()

    def to_rest(self) -> Node:
        """Run the script, and on until the code rests."""
        self.code.ask = self._asked
        while self.script:
            self._input = self.script.popleft()
            self.code.feed(self._input)
            self._reach(self.code.rest())
        self.code.ask = _nobody
        self.node.live = self.code
        return self.node

    def _asked(self, request: Request) -> Input:
        try:
            self._reach(request)
            self._input = self.script.popleft() if self.script else self.traveller.answer(self.node)
        except BaseException as error:
            self.code.failed = error
            raise
        return self._input

    def _reach(self, request: Request) -> None:
        self.node, passed = self.programme.grow(self.node, self._input, request, self.code.take_passed())
        if not self.script:
            self.traveller.went(passed)


def _nobody(request: Request) -> Input:
    raise AssertionError(f"code went on while it was to rest: {request}")


class _CodeChoices:
    """What an execution reads as its latitude: fields of its own, told as inputs."""

    def __init__(self, code: _Code, aside: Mapping[str, str]) -> None:
        self._code, self._aside = code, aside

    def __getattr__(self, name: str) -> str:
        if name.startswith("_") or name not in CHOICES:
            raise AttributeError(name)
        return self._aside.get(name) or str(self._code.ask(Chooses(name))[1])


class _Journal:
    """The journal as the probe sees it: whatever would need an answer waits for an input."""

    really_spin = False

    def __init__(self, code: _Code) -> None:
        self._code = code

    def run(self, instance: str) -> None:
        self._code.ran = True

    def mark(self, label: str) -> None:
        self._code.marks.append(label)

    async def effect_start(self, instance: str, name: str) -> int:
        answer, resolve, _ = workflow.deferred()
        self._code.starts[name] = resolve
        return int(await answer)

    async def effect_end(self, instance: str, name: str) -> None:
        await workflow.next_turn()

    async def gate(self, name: str) -> None:
        answer, resolve, _ = workflow.deferred()
        self._code.gates.setdefault(name, []).append(resolve)
        await answer

    async def tick(self, milliseconds: int) -> None:
        await self.spin()

    async def spin(self) -> None:
        never, _, _ = workflow.deferred()
        await never


class _Binding:
    """The caller's binding as the probe sees it; a call on its own instance is never answered here."""

    def __init__(self, code: _Code) -> None:
        self._code = code

    async def get(self, id: str) -> "_Binding":
        return self

    async def terminate(self) -> None:
        self._code.calls += 1
        never, _, _ = workflow.deferred()
        await never
