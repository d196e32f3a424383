"""The best that a careful user could do with DBOS's own means, and with plain Python around its calls.

What the Form says of arguments and documents is checked before DBOS is called, by the reference's own
checks. Within one run the steps are known by their names, overlapping ones are noticed, and the tasks of a
run are ended with it. Nothing is stored beside DBOS, nothing is timed or scheduled but by DBOS, and no run is
made anew.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NoReturn

from dbos import DBOS, SetWorkflowID, error
from fencepost import documents
from fencepost.machine.arguments import Misfit, check_text, configuration
from fencepost.machine.state import Kind, Rules
from fencepost.workflow import StepError, WorkflowEvent, start
from fencepost_spec.limits import FORM

from ...adapter import ABSENT
from ...probe import load
from ...probe.values import UNDEFINED
from . import raw_shim
from .runs import RUNS, ProbeRun, journal_of, log, logged, logged_async, show
from .translation import STATUSES, TERMINAL, Scenario, parked
from .traps import TRAPS

RULES = Rules()

Outcome = tuple[bytes | None, StepError | None]


class RunFailed(Exception):
    """How a run ended, as DBOS keeps it: the Form's reason, and a message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[1])


class Refused(Exception):
    """A caller's call that is not passed on to DBOS."""

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(message)
        self.name = name


async def run(scenario: Scenario, params: Any) -> Any:
    """The workflow of the emulated shim: one outcome of the Form comes of whatever the probe does."""
    id = str(DBOS.workflow_id)
    present = RUNS.begin(id, scenario.instance_id(id))
    return await TRAPS.settling(_stopped(scenario, params, present))


async def _stopped(scenario: Scenario, params: Any, present: ProbeRun) -> Any:
    try:
        result = await _outcome(scenario, params, present, Step(present))
    except Exception:
        await present.stop()  # PUB-1
        raise
    await present.stop()
    return result


async def _outcome(scenario: Scenario, params: Any, run: ProbeRun, step: "Step") -> Any:
    running = asyncio.ensure_future(_run(scenario, params, run, step))
    await asyncio.wait({running, step.doom}, return_when=asyncio.FIRST_COMPLETED)
    if not step.doom.done() and step.active is not None:
        step.condemn("step_definition_mismatch", f"{step.active} is not settled")  # STP-8
    if step.doom.done():
        running.cancel()
        raise RunFailed(*step.doom.result())
    raised = running.exception()
    if raised is not None and not isinstance(raised, Exception):
        raise raised  # DBOS's own, by which a run ends that is cancelled
    if raised is not None:
        genuine = any(raised is each for each in step.failures)  # ERR-2
        raise RunFailed("step_failed" if genuine else "run_threw", f"{type(raised).__name__}: {raised}")
    result = running.result()
    try:
        return None if result is None else documents.decode(documents.encode(result))
    except documents.DocumentError as no_document:
        raise RunFailed("run_threw", str(no_document)) from None  # ABI-4


async def _run(scenario: Scenario, params: Any, run: ProbeRun, step: "Step") -> Any:
    env = {"VERSION": scenario.version, "JOURNAL": journal_of(scenario)}
    made = load(scenario.version)()["Probe"](env)  # CTX-1
    return await made.run(WorkflowEvent(run.instance, params), step)


probe = DBOS.workflow(name="emulated probe")(run)


class Step:
    """The three operations by name, for one run; `doom` has the reason and message that no code survives."""

    def __init__(self, run: ProbeRun) -> None:
        self._run = run
        self._names: dict[str, Outcome] = {}
        self.active: str | None = None
        self.doom: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        self.failures: list[StepError] = []

    def condemn(self, reason: str, message: str) -> Awaitable[NoReturn]:
        """End the run, uncatchably; what is awaited instead of the step is never settled."""
        if not self.doom.done():
            self.doom.set_result((reason, message))
        never: asyncio.Future[NoReturn] = asyncio.get_running_loop().create_future()
        return never

    def do(self, name: Any, effect: Any, retry: Any = None) -> Awaitable[Any]:
        arguments = {"effect": callable(effect), "retry": retry}
        return self._call("do", name, arguments, lambda fixed: self._do(name, effect, fixed.policy))

    def sleep(self, name: Any, seconds: Any) -> Awaitable[Any]:
        return self._call("sleep", name, {"seconds": seconds}, lambda fixed: self._sleep(name, fixed.seconds))

    def wait_for_event(self, name: Any, *, type: Any, timeout_seconds: Any) -> Awaitable[Any]:
        options = {"type": type, "timeoutSeconds": timeout_seconds}
        given = {key: value for key, value in options.items() if value is not UNDEFINED}
        return self._call("wait", name, given, lambda fixed: self._wait(name, fixed))

    def _call(
        self,
        kind: Kind,
        name: Any,
        arguments: Mapping[str, Any],
        perform: Callable[[Any], Any],
    ) -> Awaitable[Any]:
        try:
            check_text(name, "name", FORM.name_scalars)
            if name in self._names:
                return start(self._replay(name))
            fixed = configuration(kind, arguments, RULES)
        except Misfit as misfit:
            raise TypeError(str(misfit)) from None  # STP-4
        if self.active is not None:
            return self.condemn("step_definition_mismatch", f"{name} overlaps {self.active}")
        if len(self._names) == FORM.maximum_steps:
            return self.condemn("step_limit_exceeded", name)
        self.active = name
        return start(self._settle(name, perform(fixed)))

    async def _settle(self, name: str, performing: Any) -> Any:
        try:
            document, failure = await performing
        except (error.DBOSUnexpectedStepError, error.DBOSStepNondeterminismError) as mismatch:
            await self.condemn("step_definition_mismatch", str(mismatch))
        self._names[name] = document, failure
        self.active = None
        return await self._replay(name)

    async def _replay(self, name: str) -> Any:
        document, failure = self._names[name]
        if failure is not None:
            if failure.name == "step_failed":
                self.failures.append(failure)
            raise failure
        return None if document is None else documents.decode(document)

    async def _do(self, name: str, effect: Callable[[], Any], policy: Any) -> Outcome:
        """Each attempt is a step of DBOS, so that its outcome is committed before the next (DO-4)."""
        for attempt in range(1, policy.maximum_attempts + 1):
            words = f"{self._run.instance}: run_step_async({show({'name': name})}), attempt {attempt}"
            try:
                step = DBOS.run_step_async({"name": name}, _checked(effect))
                document: bytes | None = await TRAPS.committing(
                    self._run.workflow_id, name, logged_async(words, step)
                )
            except (error.DBOSUnexpectedStepError, error.DBOSStepNondeterminismError):
                raise
            except Exception as failure:
                if attempt == policy.maximum_attempts:
                    return None, StepError("step_failed", f"{type(failure).__name__}: {failure}")
                await self._pause(policy.delay(attempt))
            else:
                return document, None
        raise AssertionError("a policy has at least one attempt")

    async def _sleep(self, name: str, seconds: int) -> Outcome:
        await TRAPS.parking(self._run.workflow_id, name, self._pause(seconds))
        return None, None

    async def _pause(self, seconds: int) -> None:
        await logged_async(f"{self._run.instance}: sleep_async({seconds})", DBOS.sleep_async(seconds))

    async def _wait(self, name: str, fixed: Any) -> Outcome:
        """A message is an envelope, so that none can be told from one without a payload."""
        words = f"{self._run.instance}: recv_async({show(fixed.type)}, {fixed.seconds})"
        wait = logged_async(words, DBOS.recv_async(fixed.type, fixed.seconds))
        envelope = await TRAPS.consuming(self._run.workflow_id, name, wait)
        if envelope is None:
            return None, StepError("wait_timeout", f"no {fixed.type} within {fixed.seconds} s")
        return envelope["payload"], None


def _checked(effect: Callable[[], Any]) -> Callable[[], Any]:
    """The effect, whose result is a document in canonical form, or None."""

    async def perform() -> bytes | None:
        result = effect()
        if inspect.isawaitable(result):
            result = await result
        return None if result is None else documents.encode(result)

    return perform


class Shim(raw_shim.Shim):
    """The caller's calls, checked first."""

    workflow = staticmethod(probe)

    def error_name(self, raised: BaseException) -> str:
        """The Form's word for an error of DBOS, or of these checks."""
        if isinstance(raised, Misfit):
            return "TypeError"
        return raised.name if isinstance(raised, Refused) else super().error_name(raised)

    async def create(self, id: Any, params: Any) -> str:
        """A start that is refused where the id is taken."""
        if id is not ABSENT:
            check_text(id, "id", FORM.id_scalars)
        checked = None if params is None else documents.decode(_document(params, "invalid_params"))
        if id is ABSENT:
            return await super().create(id, checked)
        named = self.named(id)
        with SetWorkflowID(named, workflow_id_reuse_policy="reject"):
            return await self.start(f"SetWorkflowID({show(named)}, reject)", checked)

    def find(self, id: Any) -> Any:
        """The handle of an instance; none has an id that the database cannot keep."""
        if isinstance(id, str) and documents.scalars(id) is None:
            raise Refused("unknown_instance")
        return super().find(id)

    def status(self, id: Any) -> dict[str, Any]:
        """The same, but what runs and has a sleep or a wait on record is sleeping, or waiting."""
        answer = super().status(id)
        if answer["status"] == "running":
            named = self.named(id)
            words = f"list_workflow_steps({show(named)})"
            answer["status"] = parked(logged(words, lambda: DBOS.list_workflow_steps(named)), time.time())
        return answer

    def reason(self, raised: Any) -> str:
        """The reason that the run ended with."""
        return raised.reason if isinstance(raised, RunFailed) else super().reason(raised)

    def send_event(self, id: Any, type: Any, payload: Any) -> None:
        """A message in an envelope, if the instance has not ended."""
        check_text(type, "type", FORM.type_scalars)
        document = None if payload is ABSENT else _document(payload, "invalid_payload")
        if STATUSES[self.told(id).status] in TERMINAL:
            raise Refused("instance_terminal")
        named = self.find(id).get_workflow_id()
        message = {"payload": document}
        logged(f"send({show(named)}, {show(message)}, {show(type)})", lambda: DBOS.send(named, message, type))

    def terminate(self, id: Any, loop: asyncio.AbstractEventLoop) -> None:
        """The tasks of the run are ended first, and DBOS is told afterwards (TRM-1)."""
        if STATUSES[self.told(id).status] in TERMINAL:
            return
        named = self.find(id).get_workflow_id()
        run = RUNS.find(named)
        if run is not None:
            asyncio.run_coroutine_threadsafe(run.stop(), loop).result()
            log(f"{run.instance}: the tasks of its run have ended")
        logged(f"cancel_workflow({show(named)})", lambda: DBOS.cancel_workflow(named))


def _document(value: Any, name: str) -> bytes:
    try:
        return documents.encode(value)
    except documents.DocumentTooLarge as large:
        raise Refused("document_too_large", str(large)) from None
    except documents.InvalidDocument as invalid:
        raise Refused(name, str(invalid)) from None
