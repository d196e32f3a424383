"""The traps of this process: where it stops itself, as a crash at that place would stop it.

A place behind a commit is known by DBOS's own record of steps: what a recovered run only replays was put
on record before it was called, and springs nothing.
"""

import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dbos import DBOS

from .translation import parked

_LOOK_SECONDS = 0.01


class Traps:
    """The points that are set, and the sleeps and waits that somebody may look at."""

    def __init__(self) -> None:
        self.tell: Callable[[str], None] = print
        self._set: list[str] = []
        self._parking: dict[str, tuple[str, int]] = {}
        self._reader = ThreadPoolExecutor(1)  # DBOS reads on no thread that has a loop

    def arm(self, point: str) -> None:
        """Set a trap."""
        self._set.append(point)
        if point.startswith("parked:"):
            threading.Thread(target=self._watch, args=(point,), daemon=True).start()

    def spring(self, point: str) -> None:
        """Stop right here, if there is a trap."""
        if point in self._set:
            self.tell(point)
            os.kill(os.getpid(), signal.SIGKILL)

    async def settling(self, run: Awaitable[Any]) -> Any:
        """How a run ends, with the trap before that is committed."""
        try:
            result = await run
        except Exception:
            self.spring("settled")
            raise
        self.spring("settled")
        return result

    async def committing(self, workflow_id: str, name: Any, step: Awaitable[Any]) -> Any:
        """What a step gives or raises, with the trap behind its commit."""
        began = _now()
        try:
            return await step
        finally:
            self._behind("committed", name, workflow_id, name, began)

    async def parking(self, workflow_id: str, name: Any, sleep: Awaitable[Any]) -> Any:
        """What a sleep or a wait gives, with the trap where it is on record."""
        point = _point("parked", name)
        self._parking[point] = workflow_id, _now()
        try:
            return await sleep
        finally:
            self._parking.pop(point, None)

    async def consuming(self, workflow_id: str, name: Any, wait: Awaitable[Any]) -> Any:
        """What is received, or None, with the trap behind it besides."""
        began = _now()
        message = await self.parking(workflow_id, name, wait)
        if message is not None:
            self._behind("consumed", name, workflow_id, "DBOS.recv", began)
        return message

    def _behind(self, kind: str, name: Any, workflow_id: str, function: str, began: int) -> None:
        point = _point(kind, name)
        if point in self._set:  # nothing of this process goes on while the record is read
            steps = self._reader.submit(DBOS.list_workflow_steps, workflow_id).result()
            if any(each["function_name"] == function and _began(each) >= began for each in steps):
                self.spring(point)

    def _watch(self, point: str) -> None:
        """Nothing calls back when a sleep is on record: look until it is."""
        while True:
            workflow_id, began = self._parking.get(point, ("", 0))
            if workflow_id:
                steps = DBOS.list_workflow_steps(workflow_id)
                if parked(steps, time.time()) != "running" and _began(steps[-1]) >= began:
                    self.spring(point)
            time.sleep(_LOOK_SECONDS)


def _point(kind: str, name: Any) -> str:
    return f"{kind}:{name}" if isinstance(name, str) else ""


def _now() -> int:
    return int(time.time() * 1000)


def _began(step: Any) -> int:
    return int(step["started_at_epoch_ms"])


TRAPS = Traps()
