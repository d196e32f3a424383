"""The application's side of one context: module, constructor, `run`, the step object, effects.

An execution runs in turns and never touches a store. A step call asks the Host at the instant of the call
(`Port.begin`), since overlap is judged there; what follows from it waits until the turn has drained. After
each turn `turn` returns one *signal*: the effect has begun, here is a proposal to the Host, there is more to
run, or all is quiet. The Host answers a proposal with `deliver`. Once the machine has fenced or stopped the
context nothing that awaits a step goes on: its Promises stay pending for good, and the whole object is
dropped, so no `catch` and no `finally` can see it (STP-6, STP-12).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from fencepost import documents
from fencepost.admission import admit
from fencepost.contexts.turns import Abandoned, Promise, Turns
from fencepost.machine.actions import Document
from fencepost.machine.latitude import Latitude
from fencepost.machine.replies import BadArgument, Pending, Recorded, Replaying, Reply, Run
from fencepost.machine.state import Failed, Kind
from fencepost.workflow import StepError, WorkflowEvent

Exports = Mapping[str, Any]
Loader = Callable[[], Exports]
"""A Version's module: called once for each context, it evaluates the module afresh (CTX-1)."""


class Port(Protocol):
    """How an execution reaches its Host inside a turn."""

    def begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        """A step call, with its raw name and arguments (STP-2)."""

    def park(self) -> Reply:
        """Park at once (STP-10)."""


class Driver(Protocol):
    """Who keeps the turns of a context."""

    def fire_ticks(self) -> None:
        """Let every floating timer fire once."""

    def discard(self) -> None:
        """Let nothing of the context run any more."""


class Context(Protocol):
    """A context as its Host drives it, in whichever language its code is."""

    dead: bool
    """Whether the machine has fenced or stopped it."""

    @property
    def open_step(self) -> str | None:
        """The name of the step call that is open."""

    @property
    def turns(self) -> Driver:
        """Who keeps its turns."""

    def turn(self) -> "Signal":
        """Run one turn, and say what it came to."""

    def deliver(self, reply: Reply) -> None:
        """Take the Host's answer to the last proposal."""


@dataclass(frozen=True)
class Signal:
    """What a turn came to."""


@dataclass(frozen=True)
class Quiet(Signal):
    """Nothing can go on without an answer, a timer or a gate."""


@dataclass(frozen=True)
class More(Signal):
    """Another turn has something to do."""


@dataclass(frozen=True)
class Lost(Signal):
    """There is no context any more: its process has ended by itself, or is not to be believed."""


@dataclass(frozen=True)
class EffectBegan(Signal):
    """The effect of this step has begun; what it reports to outside has been reported."""

    name: str


@dataclass(frozen=True)
class Proposal(Signal):
    """Something that only the Host can make true; it is answered with `deliver`."""


@dataclass(frozen=True)
class ProposePark(Proposal):
    name: str


@dataclass(frozen=True)
class ProposeCommit(Proposal):
    name: str
    result: Document = None
    failed: bool = False


@dataclass(frozen=True)
class ProposeSettle(Proposal):
    result: Document = None
    threw: bool = False
    provenance: Any = None
    broken: bool = False


@dataclass
class _Call:
    """The step call that is open in this context."""

    name: str
    kind: Kind
    promise: Promise
    replaying: Replaying | None = None
    effect: Callable[[], Any] | None = None
    began: bool = False
    running: Promise | None = None
    proposed: bool = False


class BrokenModule(Exception):
    """The module cannot be evaluated, or lacks the class or its `run` (ABI-5)."""


class BoundStep:
    """The step object of one context: three operations and nothing else (STP-1)."""

    __slots__ = ("_begin",)

    def __init__(self, begin: Callable[..., Promise]) -> None:
        self._begin = begin

    def do(self, name: Any, effect: Any, retry: Any = None) -> Promise:
        """Run `effect` and record its document; see `fencepost.workflow.Step` (DO)."""
        arguments = {"effect": callable(effect)}
        return self._begin("do", name, arguments if retry is None else {**arguments, "retry": retry}, effect)

    def sleep(self, name: Any, seconds: Any) -> Promise:
        """Park for whole seconds (SLP)."""
        return self._begin("sleep", name, {"seconds": seconds})

    def wait_for_event(self, name: Any, **options: Any) -> Promise:
        """Consume the oldest event of a type within whole seconds (WFE)."""
        if "timeout_seconds" in options:
            options["timeoutSeconds"] = options.pop("timeout_seconds")
        return self._begin("wait", name, options)


class Execution:
    """One context's application code under the deterministic driver of turns."""

    def __init__(
        self,
        load: Loader,
        class_name: str,
        env: Mapping[str, Any],
        event: WorkflowEvent,
        port: Port,
        latitude: Latitude,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.turns = Turns(wake)
        self.dead = False
        self._load, self._class_name, self._event = load, class_name, event
        self._env = MappingProxyType(dict(env))
        self._port, self._latitude = port, latitude
        self._run: Promise | None = None
        self._broken = False
        self._settled = False
        self._call: _Call | None = None
        self._genuine: list[StepError] = []
        self._live_result: Any = None

    @property
    def open_step(self) -> str | None:
        """The name of the step call that is open in this context."""
        return self._call.name if self._call is not None else None

    # -- turns -------------------------------------------------------------------------------------

    def turn(self) -> Signal:
        """Run one turn, and say what it came to."""
        if self._run is None:
            self._run = self.turns.start(self._start())
        self.turns.turn()
        signal = Quiet() if self.dead else self._signal()
        return More() if isinstance(signal, Quiet) and not self.turns.idle else signal

    def _signal(self) -> Signal:
        assert self._run is not None
        if self._run.settled and not self._settled:
            self._settled = True
            return self._settlement(self._run)
        call = self._call
        if call is None or call.proposed:
            return Quiet()
        if call.effect is None:
            call.proposed = True
            return ProposePark(call.name)
        if call.running is None:
            self._begin_effect(call)
            return More()
        if not call.began:
            call.began = True
            return EffectBegan(call.name)
        if not call.running.settled:
            return Quiet()
        call.proposed = True
        if call.running.error is not None:
            return ProposeCommit(call.name, failed=True)  # also a genuine Host error (ERR-6)
        self._live_result = call.running.value
        return ProposeCommit(call.name, self.admit(call.running.value))

    async def _start(self) -> Any:
        try:
            exports = self._load()
            workflow = exports.get(self._class_name)  # ABI-1
            if not isinstance(workflow, type) or not callable(getattr(workflow, "run", None)):
                raise BrokenModule(f"the module exports no class {self._class_name} with a callable run")
        except BaseException:
            self._broken = True  # ABI-5
            raise
        instance = workflow(self._env)  # ABI-2; a throwing constructor is a throwing run (ABI-4)
        result = instance.run(self._event, BoundStep(self._begin))
        return await result if inspect.isawaitable(result) else result  # ABI-3: direct or through a Promise

    def _settlement(self, run: Promise) -> ProposeSettle:
        error = run.error
        if error is None:
            return ProposeSettle(self.admit(run.value))
        genuine = any(
            error is each for each in self._genuine
        )  # ERR-2: the object itself, nothing that looks like it
        name = error.name if genuine and isinstance(error, StepError) else None
        return ProposeSettle(threw=True, provenance=name, broken=self._broken)

    def admit(self, value: Any) -> Document:
        """A result of the application as the machine is told of it."""
        return admit(value, self._latitude)

    # -- steps -------------------------------------------------------------------------------------

    def _begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any], effect: Any = None) -> Promise:
        promise = Promise(self.turns)
        if self.dead:
            return promise  # STP-17
        reply = self._port.begin(kind, name, arguments)
        if isinstance(reply, Recorded):
            self._settle_promise(promise, kind, reply)
        elif isinstance(reply, BadArgument):
            if self._latitude.bad_argument == "thrown":
                raise TypeError(reply.message)  # STP-4
            promise.reject(TypeError(reply.message))
        elif isinstance(reply, Run):
            self._displace()
            self._call = _Call(name, kind, promise, effect=effect)
            if self._latitude.overlapped_effect == "started":  # STP-10
                self._begin_effect(self._call)
        elif isinstance(reply, Pending | Replaying):
            self._displace()
            self._call = _Call(name, kind, promise, reply if isinstance(reply, Replaying) else None)
            if isinstance(reply, Pending) and self._latitude.park_after == "at-once":  # STP-10
                self._call.proposed = True
                self._park_now()
        else:
            self._die()
            if self._latitude.current_turn == "stops-at-once":
                raise Abandoned  # STP-6
        return promise

    def _park_now(self) -> None:
        self.deliver(self._port.park())
        if self.dead:
            raise Abandoned

    def _displace(self) -> None:
        """A replay that counted as open gives way to the call that came beside it (STP-10)."""
        call = self._call
        if call is not None and call.replaying is not None:
            self._settle_promise(call.promise, call.kind, call.replaying)

    def _begin_effect(self, call: _Call) -> None:
        call.running = self.turns.start(self.execute(call.effect))

    async def execute(self, effect: Any) -> Any:
        """Run an effect, plain or asynchronous, to its result (DO-1)."""
        result = effect()
        return await result if inspect.isawaitable(result) else result

    def deliver(self, reply: Reply) -> None:
        """Take the Host's answer to the last proposal."""
        call = self._call
        if isinstance(reply, Recorded) and call is not None:
            self._call = None
            self._settle_promise(call.promise, call.kind, reply)
        elif isinstance(reply, BadArgument) and call is not None:
            self._call, self._live_result = None, None  # what was no document is nobody's result
            call.promise.reject(TypeError(reply.message))
        else:
            self._die()

    def _settle_promise(self, promise: Promise, kind: Kind, reply: Recorded | Replaying) -> None:
        outcome, live, self._live_result = reply.outcome, self._live_result, None
        if isinstance(outcome, Failed):
            error = StepError(outcome.name)  # ERR-1
            self._genuine.append(error)
            promise.reject(error)
        elif outcome.document is None or (kind == "sleep" and self._latitude.sleep_of_a_do == "undefined"):
            promise.resolve(None)  # STP-10
        elif live is not None and self._latitude.first_result == "live-object":
            promise.resolve(live)  # DOC-14
        else:
            promise.resolve(documents.decode(outcome.document))  # DOC-9: a fresh copy of the record

    def _die(self) -> None:
        """Fenced or stopped: nothing that awaits a step goes on (STP-6)."""
        self.dead = True
        self.turns.halt()


__all__ = [
    "Context",
    "EffectBegan",
    "Execution",
    "Loader",
    "Lost",
    "More",
    "Proposal",
    "ProposeCommit",
    "ProposePark",
    "ProposeSettle",
    "Quiet",
    "Signal",
]
