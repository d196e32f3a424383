"""The probe in Python: interprets the program in an instance's params, operation by operation, as
JavaScript would.

**It can be abandoned at any await.** A Host stops a context by dropping its coroutines, which Python
answers with a GeneratorExit at the await where each of them stands. So there is no `finally`, no `with` and
nothing that catches a BaseException here; a program's own try, catch and finally are interpreted as data.

**Step calls are made when their operation is reached**, also under `together`, `race` and `unawaited`: only
what comes after the call runs beside the rest.

**JavaScript's values.** A step without a result gives UNDEFINED; a missing path reads as UNDEFINED; truth
is JavaScript's. Errors are exceptions: `throw` raises a `ProgramError`, a Host's `StepError` and
`TypeError` are caught as they come. `spin` is an await that never ends where the process is shared with the
Host; the stand-ins for values that Python does not have are listed in `oddities`.
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from typing import Any, NamedTuple

from fencepost import workflow

from .oddities import at_root
from .values import UNDEFINED, build, document, error_name, interpolate, is_true, read

Operation = Mapping[str, Any]


class ProgramError(Exception):
    """An Error that the program made: ``new Error(message)``, with another `name` if it was given one."""

    def __init__(self, message: str, name: str | None = None) -> None:
        super().__init__(message)
        if name is not None:
            self.name = name


class Returned(NamedTuple):
    """The completion of a block that returned."""

    value: Any


class Rejected:
    """An awaitable that raises, as often as it is awaited."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __await__(self) -> Generator[Any, None, Any]:
        yield from ()
        raise self._error


class Module:
    """What one evaluation of the probe's module holds (CTX-1)."""

    def __init__(self) -> None:
        self.counter = 0


class Probe:
    """The Workflow class; a subclass for each evaluation of the module carries that evaluation's state."""

    module = Module()

    def __init__(self, env: Mapping[str, Any]) -> None:
        self._env = env
        self._journal = env["JOURNAL"]
        self._counter = 0
        self._instance = ""
        self._step: Any = None
        self._variables: dict[str, Any] = {}

    async def run(self, event: Any, step: Any) -> Any:
        """Run the program that this Version holds for the instance; gives its document, or None."""
        self._journal.run(event.instance_id)
        self._instance, self._step = event.instance_id, step
        self._variables["$params"] = UNDEFINED if event.params is None else event.params
        returned = await self._block(self._program(event.params))
        return None if returned is None or returned.value is UNDEFINED else returned.value

    def _program(self, params: Any) -> Any:
        program = params.get("program", ()) if isinstance(params, dict) else ()
        return program[self._env["VERSION"]] if isinstance(program, dict) else program

    # Blocks and operations

    async def _block(self, operations: Any) -> Returned | None:
        for operation in operations:
            returned = await self._operate(operation)
            if returned is not None:
                return returned
        return None

    async def _operate(self, operation: Operation) -> Returned | None:
        for word in operation:
            if word in _STEPS:
                await self._finish(operation, self._begin(word, operation))
                return None
            if word in _OPERATIONS:
                return await _OPERATIONS[word](self, operation)
        raise ProgramError(f"the probe knows no operation {list(operation)}")

    def _launch(self, operation: Operation) -> Awaitable[Any]:
        """Begin an operation beside the others; a step is called before this returns."""
        word = next((word for word in operation if word in _STEPS), None)
        if word is None:
            return workflow.start(self._operate(operation))
        return workflow.start(self._finish(operation, self._begin(word, operation)))

    # Steps

    def _begin(self, word: str, operation: Operation) -> Awaitable[Any]:
        """Call a step; an error thrown by the call itself is met where its outcome is awaited."""
        try:
            return _STEPS[word](self, operation)
        except Exception as error:
            return Rejected(error)

    def _do(self, operation: Operation) -> Awaitable[Any]:
        name = self._name(operation["do"])
        effect = self._effect(operation["effect"], name) if "effect" in operation else UNDEFINED
        retry = build(operation.get("retry"), self._variables)
        return _step_call(self._step.do, name, effect, *(() if retry in (None, UNDEFINED) else (retry,)))

    def _sleep(self, operation: Operation) -> Awaitable[Any]:
        name, seconds = self._name(operation["sleep"]), self._argument(operation, "seconds")
        return _step_call(self._step.sleep, name, seconds)

    def _wait(self, operation: Operation) -> Awaitable[Any]:
        return _step_call(
            self._step.wait_for_event,
            self._name(operation["wait"]),
            type=self._argument(operation, "type"),
            timeout_seconds=self._argument(operation, "timeoutSeconds"),
        )

    async def _finish(self, operation: Operation, begun: Awaitable[Any]) -> None:
        """Wait for a step that was called, and keep what came of it."""
        try:
            result = await begun
        except Exception as error:
            if "catch" not in operation:
                raise
            self._variables[operation["catch"]] = error
        else:
            if "as" in operation:
                self._variables[operation["as"]] = UNDEFINED if result is None else result

    def _name(self, name: Any) -> Any:
        return interpolate(name, self._variables) if isinstance(name, str) else build(name, self._variables)

    def _argument(self, operation: Operation, key: str) -> Any:
        return build(operation[key], self._variables) if key in operation else UNDEFINED

    # Effects

    def _effect(self, effect: Any, name: Any) -> Any:
        """A zero-argument callable; what is no EFFECT is passed on as the value that it is."""
        word = _effect_word(effect)
        if word is None:
            return build(effect, self._variables)

        async def perform() -> Any:
            execution = await self._journal.effect_start(self._instance, name)
            failure: Exception | None = None
            result: Any = None
            try:
                result = await self._perform(effect, execution)
            except Exception as error:
                failure = error
            await self._journal.effect_end(self._instance, name)
            if failure is not None:
                raise failure
            return None if result is UNDEFINED else result

        return perform

    async def _perform(self, effect: Mapping[str, Any], execution: int) -> Any:
        word = _effect_word(effect)
        if word is None:
            raise ProgramError(f"the probe knows no effect {effect}")
        return await _EFFECTS[word](self, effect, execution)

    async def _effect_value(self, effect: Operation, execution: int) -> Any:
        return document(effect["value"], self._variables)

    async def _effect_undefined(self, effect: Operation, execution: int) -> Any:
        return UNDEFINED

    async def _effect_throw(self, effect: Operation, execution: int) -> Any:
        raise ProgramError(build(effect["throw"], self._variables))

    async def _effect_gate(self, effect: Operation, execution: int) -> Any:
        await self._journal.gate(effect["gate"])
        return await self._perform(effect.get("then", {"undefined": True}), execution)

    async def _effect_attempts(self, effect: Operation, execution: int) -> Any:
        choices = effect["attempts"]
        return await self._perform(choices[min(execution, len(choices)) - 1], execution)

    async def _effect_nested(self, effect: Operation, execution: int) -> Any:
        await self._operate(effect["nested"])
        return UNDEFINED

    async def _effect_ticking(self, effect: Operation, execution: int) -> Any:
        await self._tick(effect["ticking"], effect["everyMs"])

    async def _effect_spin(self, effect: Operation, execution: int) -> Any:
        await self._journal.spin()

    async def _effect_oddity(self, effect: Operation, execution: int) -> Any:
        return at_root(effect["oddity"])

    # Completions

    async def _return(self, operation: Operation) -> Returned | None:
        return Returned(document(operation["return"], self._variables))

    async def _throw(self, operation: Operation) -> Returned | None:
        raise ProgramError(build(operation["throw"], self._variables))

    async def _rethrow(self, operation: Operation) -> Returned | None:
        raise self._error(operation["rethrow"])

    async def _throw_copy(self, operation: Operation) -> Returned | None:
        error = self._error(operation["throwCopyOf"])
        raise ProgramError(str(error), error_name(error))

    async def _throw_cause(self, operation: Operation) -> Returned | None:
        raise ProgramError("wrapped") from self._error(operation["throwCauseOf"])

    def _error(self, name: str) -> BaseException:
        held = read(name, self._variables)
        return held if isinstance(held, BaseException) else ProgramError(f"{name} holds no error")

    async def _try(self, operation: Operation) -> Returned | None:
        returned, failure = await self._attempt(operation["try"])
        if failure is not None and ("catch" in operation or "handler" in operation):
            if "catch" in operation:
                self._variables[operation["catch"]] = failure
            returned, failure = await self._attempt(operation.get("handler", ()))
        over = await self._block(operation.get("finally", ()))
        if over is not None:
            return over
        if failure is not None:
            raise failure
        return returned

    async def _attempt(self, operations: Any) -> tuple[Returned | None, Exception | None]:
        try:
            return await self._block(operations), None
        except Exception as error:
            return None, error

    # Concurrency

    async def _together(self, operation: Operation) -> Returned | None:
        begun = [self._launch(each) for each in operation["together"]]
        if begun:
            await _settled(begun, len(begun))
        return None

    async def _race(self, operation: Operation) -> Returned | None:
        await _settled([self._launch(each) for each in operation["race"]], 1)
        return None

    async def _unawaited(self, operation: Operation) -> Returned | None:
        self._launch(operation["unawaited"])
        return None

    # Control and state

    async def _repeat(self, operation: Operation) -> Returned | None:
        for index in range(build(operation["repeat"], self._variables)):
            if "index" in operation:
                self._variables[operation["index"]] = index
            returned = await self._block(operation["ops"])
            if returned is not None:
                return returned
        return None

    async def _if(self, operation: Operation) -> Returned | None:
        taken = "then" if is_true(build(operation["if"], self._variables)) else "else"
        return await self._block(operation.get(taken, ()))

    async def _set(self, operation: Operation) -> Returned | None:
        value = build(operation["to"], self._variables)
        path, _, key = operation["set"].rpartition(".")
        target = read(path, self._variables) if path else self._variables
        if isinstance(target, dict):
            target[key] = value
        elif isinstance(target, list) and key.isdecimal() and int(key) <= len(target):
            target[int(key) : int(key) + 1] = [value]
        else:
            raise TypeError(f"cannot set {key} of {target!r}")
        return None

    async def _module_counter(self, operation: Operation) -> Returned | None:
        self.module.counter += 1
        self._variables[operation["moduleCounter"]] = self.module.counter
        return None

    async def _instance_counter(self, operation: Operation) -> Returned | None:
        self._counter += 1
        self._variables[operation["instanceCounter"]] = self._counter
        return None

    # The outside

    async def _mark(self, operation: Operation) -> Returned | None:
        self._journal.mark(operation["mark"])
        return None

    async def _spin(self, operation: Operation) -> Returned | None:
        await self._journal.spin()
        return None

    async def _ticker(self, operation: Operation) -> Returned | None:
        workflow.start(self._tick(operation["ticker"], operation["everyMs"]))
        return None

    async def _tick(self, label: str, milliseconds: int) -> None:
        while True:
            await self._journal.tick(milliseconds)
            self._journal.mark(label)

    async def _call(self, operation: Operation) -> Returned | None:
        handle = await self._env["PROBE"].get(self._instance)
        await getattr(handle, operation["call"])()
        return None


def _effect_word(effect: Any) -> str | None:
    return next((word for word in effect if word in _EFFECTS), None) if isinstance(effect, dict) else None


def _step_call(call: Callable[..., Any], *arguments: Any, **named: Any) -> Awaitable[Any]:
    begun: Awaitable[Any] = call(*arguments, **named)
    return begun


async def _settled(begun: list[Awaitable[Any]], wanted: int) -> None:
    """Wait until `wanted` of them have succeeded, or one has failed."""
    result, resolve, reject = workflow.deferred()
    left = wanted

    async def watch(awaitable: Awaitable[Any]) -> None:
        nonlocal left
        try:
            await awaitable
        except Exception as error:
            reject(error)
            return
        left -= 1
        if left == 0:
            resolve(None)

    for awaitable in begun:
        workflow.start(watch(awaitable))
    await result


_Handler = Callable[[Probe, Operation], Coroutine[Any, Any, Returned | None]]

_STEPS: dict[str, Callable[[Probe, Operation], Awaitable[Any]]] = {
    "do": Probe._do,
    "sleep": Probe._sleep,
    "wait": Probe._wait,
}

_OPERATIONS: dict[str, _Handler] = {
    "return": Probe._return,
    "throw": Probe._throw,
    "rethrow": Probe._rethrow,
    "throwCopyOf": Probe._throw_copy,
    "throwCauseOf": Probe._throw_cause,
    "try": Probe._try,
    "together": Probe._together,
    "race": Probe._race,
    "unawaited": Probe._unawaited,
    "repeat": Probe._repeat,
    "if": Probe._if,
    "set": Probe._set,
    "moduleCounter": Probe._module_counter,
    "instanceCounter": Probe._instance_counter,
    "mark": Probe._mark,
    "spin": Probe._spin,
    "ticker": Probe._ticker,
    "call": Probe._call,
}

_EFFECTS: dict[str, Callable[[Probe, Operation, int], Coroutine[Any, Any, Any]]] = {
    "value": Probe._effect_value,
    "undefined": Probe._effect_undefined,
    "throw": Probe._effect_throw,
    "gate": Probe._effect_gate,
    "attempts": Probe._effect_attempts,
    "nested": Probe._effect_nested,
    "ticking": Probe._effect_ticking,
    "spin": Probe._effect_spin,
    "oddity": Probe._effect_oddity,
}


class WithoutRun:
    """A class that is no Workflow: its prototype has no `run`."""

    def __init__(self, env: Mapping[str, Any]) -> None:
        self._env = env


class _NoClass:
    """Stands in for an arrow function, which cannot be constructed."""

    async def run(self, event: Any, step: Any) -> None:
        """Never called."""


def load(version: str) -> Callable[[], Mapping[str, Any]]:
    """A loader of the module for one Version: each call evaluates it afresh and gives its exports (CTX-1)."""

    def evaluate() -> Mapping[str, Any]:
        probe = type("Probe", (Probe,), {"module": Module(), "__doc__": f"The probe of Version {version}."})
        return {"Probe": probe, "WithoutRun": WithoutRun, "NotConstructible": _NoClass()}

    return evaluate
