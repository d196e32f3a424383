"""What both shims share: the runs that are under way in this process, and the log.

Each call of the workflow function is a *run*. The tasks that are begun in it are known, so that they can be
ended together: by a shim that may do so, and by the adapter at the end of a scenario.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ...remote_journal import RemoteJournal
from .translation import Scenario
from .traps import TRAPS

_SHOWN = 400  # characters of one answer in the log


def log(line: str) -> None:
    """A line of the log, which the kit keeps with a scenario that fails."""
    print(f"dbos: {line}", file=sys.stderr, flush=True)


def show(value: Any) -> str:
    """A value as the log has it."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__}: {error}>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def logged(words: str, call: Callable[[], Any]) -> Any:
    """What a call gives, or raises: both are in the log."""
    try:
        value = call()
    except BaseException as error:
        log(f"{words} raised {show(error)}")
        raise
    log(f"{words} -> {show(value)}")
    return value


async def logged_async(words: str, call: Coroutine[Any, Any, Any]) -> Any:
    """The same of a coroutine."""
    try:
        value = await call
    except BaseException as error:
        log(f"{words} raised {show(error)}")
        raise
    log(f"{words} -> {show(value)}")
    return value


@dataclass(eq=False)
class ProbeRun:
    """A run of the probe in this process."""

    workflow_id: str
    instance: str
    tasks: set["asyncio.Task[Any]"] = field(default_factory=set)

    async def stop(self) -> None:
        """End every task that was begun in this run, and return once they have ended."""
        while left := {each for each in self.tasks if not each.done() and each is not asyncio.current_task()}:
            for each in left:
                each.cancel()
            await asyncio.wait(left)


class Runs:
    """The runs under way."""

    def __init__(self) -> None:
        self._all: dict[str, ProbeRun] = {}

    def begin(self, workflow_id: str, instance: str) -> ProbeRun:
        """A run has begun, in the present task."""
        run = self._all[workflow_id] = ProbeRun(workflow_id, instance)
        task = asyncio.current_task()
        assert task is not None
        run.tasks.add(task)
        CURRENT.set(run)
        return run

    def find(self, workflow_id: str) -> ProbeRun | None:
        """The run of a workflow in this process."""
        return self._all.get(workflow_id)

    async def stop_all(self) -> None:
        """End them all."""
        over, self._all = self._all, {}
        for run in over.values():
            with contextlib.suppress(asyncio.CancelledError):
                await run.stop()


RUNS = Runs()
CURRENT: ContextVar[ProbeRun | None] = ContextVar("CURRENT", default=None)


def task_of_run(loop: asyncio.AbstractEventLoop, coroutine: Any, **named: Any) -> "asyncio.Task[Any]":
    """A task factory: what is begun in a run belongs to it."""
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **named)
    run = CURRENT.get()
    if run is not None:
        run.tasks.add(task)
        task.add_done_callback(run.tasks.discard)
    return task


def journal_of(scenario: Scenario) -> RemoteJournal:
    """The kit's journal; a trap at an effect's edge is behind its answer."""
    journal = RemoteJournal(scenario.journal)
    journal.on_effect_start.append(lambda _, name: TRAPS.spring(f"effect-start:{name}"))
    journal.on_effect_end.append(lambda _, name: TRAPS.spring(f"effect-end:{name}"))
    journal.really_spin = True
    return journal
