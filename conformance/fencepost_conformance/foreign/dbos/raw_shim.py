"""The smallest translation: each call of the Form is the nearest one of DBOS, and names are mapped.

Whatever DBOS answers is passed on. Nothing is checked, kept or waited for beside it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

from dbos import DBOS, SetWorkflowID, error
from fencepost.workflow import WorkflowEvent, start

from ...adapter import ABSENT
from ...probe import load
from .runs import RUNS, ProbeRun, journal_of, log, logged, logged_async, show
from .translation import STATUSES, Scenario, retries
from .traps import TRAPS

ERRORS = {
    error.DBOSNonExistentWorkflowError: "unknown_instance",
    error.DBOSWorkflowIDInUseError: "instance_exists",
}
REASONS = {
    error.DBOSMaxStepRetriesExceeded: "step_failed",
    error.DBOSUnexpectedStepError: "step_definition_mismatch",
    error.DBOSStepNondeterminismError: "step_definition_mismatch",
}


@cache  # one process has a module once
def module(token: str, version: str) -> Mapping[str, Any]:
    """The probe's module of a Version, in this process."""
    return load(version)()


async def run(scenario: Scenario, params: Any) -> Any:
    """The workflow function of the raw shim."""
    id = str(DBOS.workflow_id)
    present = RUNS.begin(id, scenario.instance_id(id))
    made = module(scenario.token, scenario.version)["Probe"](
        {"VERSION": scenario.version, "JOURNAL": journal_of(scenario)}
    )
    return await TRAPS.settling(made.run(WorkflowEvent(present.instance, params), Step(present)))


probe = DBOS.workflow(name="probe")(run)


class Step:
    """The three operations; each is called at once, and goes on by itself."""

    def __init__(self, run: ProbeRun) -> None:
        self._run = run

    def do(self, name: Any, effect: Any, retry: Any = None) -> Awaitable[Any]:
        return start(self._do(name, effect, retry))

    async def _do(self, name: Any, effect: Callable[[], Any], retry: Any) -> Any:
        options = {"name": name} | ({} if retry is None else retries(retry))
        words = f"{self._run.instance}: run_step_async({show(options)})"
        step = logged_async(words, DBOS.run_step_async(options, effect))
        return await TRAPS.committing(self._run.workflow_id, name, step)

    def sleep(self, name: Any, seconds: Any) -> Awaitable[Any]:
        return start(self._sleep(name, seconds))

    async def _sleep(self, name: Any, seconds: Any) -> None:
        words = f"{self._run.instance}: sleep_async({show(seconds)})"
        sleep = logged_async(words, DBOS.sleep_async(seconds))
        await TRAPS.parking(self._run.workflow_id, name, sleep)

    def wait_for_event(self, name: Any, *, type: Any, timeout_seconds: Any) -> Awaitable[Any]:
        return start(self._wait(name, type, timeout_seconds))

    async def _wait(self, name: Any, type: Any, seconds: Any) -> Any:
        words = f"{self._run.instance}: recv_async({show(type)}, {show(seconds)})"
        wait = logged_async(words, DBOS.recv_async(type, seconds))
        return await TRAPS.consuming(self._run.workflow_id, name, wait)


class Shim:
    """The caller's calls."""

    scenario: Scenario
    workflow = staticmethod(probe)

    def __init__(self) -> None:
        self.issued: set[str] = set()  # ids by DBOS itself, which have no token

    def error_name(self, raised: BaseException) -> str:
        """The Form's word for an error of DBOS, where it has one."""
        return ERRORS.get(type(raised)) or type(raised).__name__

    async def create(self, id: Any, params: Any) -> str:
        """The id that the handle has."""
        if id is ABSENT:
            issued = await self.start("no id", params)
            self.issued.add(issued)
            return issued
        named = self.named(id)
        with SetWorkflowID(named):
            return await self.start(f"SetWorkflowID({show(named)})", params)

    def named(self, id: Any) -> Any:
        """The id that DBOS knows the instance by."""
        return id if isinstance(id, str) and id in self.issued else self.scenario.workflow_id(id)

    async def start(self, words: str, params: Any) -> str:
        """Start the workflow, and give the id by which the caller knows it."""
        starting = DBOS.start_workflow_async(self.workflow, self.scenario, params)
        handle = await logged_async(f"{words}: start_workflow_async(probe)", starting)
        return self.scenario.instance_id(handle.get_workflow_id())

    def find(self, id: Any) -> Any:
        """The handle of an instance."""
        named = self.named(id)
        return logged(f"retrieve_workflow({show(named)})", lambda: DBOS.retrieve_workflow(named))

    def get(self, id: Any) -> None:
        """Nothing, if there is such an instance."""
        self.find(id)

    def status(self, id: Any) -> dict[str, Any]:
        """DBOS's status by the Form's word, with output and error as they are."""
        told = self.told(id)
        status = STATUSES[told.status]
        answer: dict[str, Any] = {"status": status}
        if status == "complete" and told.output is not None:
            answer["output"] = told.output
        if status == "errored":
            answer["error"] = {"reason": self.reason(told.error), "message": str(told.error)}
        return answer

    def told(self, id: Any) -> Any:
        """DBOS's own status of an instance."""
        handle = self.find(id)
        told = handle.get_status()
        shown = {"status": told.status, "output": told.output, "error": told.error}
        log(f"get_status({show(handle.get_workflow_id())}) -> {show(shown)}")
        return told

    def reason(self, raised: Any) -> str:
        """The Form's word for the error that ended a run."""
        return REASONS.get(type(raised), "run_threw")

    def send_event(self, id: Any, type: Any, payload: Any) -> None:
        """A message whose topic is the type; none is sent as None."""
        named = self.find(id).get_workflow_id()
        message = None if payload is ABSENT else payload
        logged(f"send({show(named)}, {show(message)}, {show(type)})", lambda: DBOS.send(named, message, type))

    def terminate(self, id: Any, loop: asyncio.AbstractEventLoop) -> None:
        """A cancellation."""
        named = self.find(id).get_workflow_id()
        logged(f"cancel_workflow({show(named)})", lambda: DBOS.cancel_workflow(named))
