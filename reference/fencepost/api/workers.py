"""Deployed Workers: the default `fetch` handler of a Version, reached at an address of this Host.

Each Version that is asked has a process, and a thread that gives it turns. A request goes to a Version by
the weights of that instant; a process whose Version has left them is ended once nothing waits for it. What
an application does wrong is an answer of its own kind, and never a fault of the API.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from fencepost.contexts.network import fetch
from fencepost.contexts.node import (
    Conversation,
    JavaScript,
    Request,
    Response,
    believed,
    content_in,
    content_out,
)
from fencepost.contexts.node_process import Pool, ProcessLost
from fencepost.management import forms, queries
from fencepost.management.state import State

LOOK_SECONDS = 0.1
ANSWER_SECONDS = 30.0
COMPUTING_SECONDS = 10.0
"""How long a handler may compute without coming back, before its process is ended."""


class NoWorker(Exception):
    """There is nothing deployed that answers; one line that says why."""


class Served:
    """One process of a Version, and the thread that gives it turns until it is stopped or lost."""

    def __init__(self, module: JavaScript, env: Mapping[str, Any], pool: Pool) -> None:
        self._module, self._env, self._pool = module, env, pool
        self._wake = threading.Event()
        self._guard = threading.Lock()
        self._unsent: deque[tuple[Request, Future[Response]]] = deque()
        self._waiting: dict[int, Future[Response]] = {}
        self._last = 0
        self._over = False
        self._thread = threading.Thread(target=self._run, name="fencepost-worker", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether it answers nothing any more."""
        return self._over

    @property
    def idle(self) -> bool:
        """Whether nobody waits for an answer."""
        return not (self._unsent or self._waiting)

    def ask(self, request: Request) -> Future[Response]:
        """Hand a request over; ProcessLost in the future where the process ends before it answers."""
        answer: Future[Response] = Future()
        with self._guard:
            if self._over:
                answer.set_exception(ProcessLost("the Worker's process is gone"))
            else:
                self._unsent.append((request, answer))
        self._wake.set()
        return answer

    def stop(self) -> None:
        """End it; when this returns the process is reaped."""
        with self._guard:
            self._over = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        conversation: Conversation | None = None
        try:
            started = self._module.start("worker", self._env)
            conversation = Conversation(started, self._env, fetch, self._pool, self._wake.set)
            conversation.on("response", self._take_response)
            self._drive(conversation)
        except ProcessLost:
            pass
        finally:
            if conversation is not None:
                with contextlib.suppress(ProcessLost):
                    conversation.stop()
            self._end()

    def _drive(self, conversation: Conversation) -> None:
        since = math.inf  # it has been computing
        while not self._over:
            self._wake.clear()
            if unsent := self._heads():
                conversation.say(requests=unsent)
            ended = conversation.turn()
            if ended is not None and "broken" in ended:
                return
            since = min(since, time.monotonic()) if conversation.computing else math.inf
            if time.monotonic() - since > COMPUTING_SECONDS:
                return
            if ended is None and not self._unsent:
                due = math.inf if conversation.due is None or conversation.computing else conversation.due
                left = max(min(due - time.monotonic(), LOOK_SECONDS), 0)
                if not self._wake.wait(left) and time.monotonic() >= due:
                    conversation.say(fire="due")

    def _heads(self) -> list[dict[str, Any]]:
        """What was handed over since the last turn, as members of messages."""
        heads = []
        with self._guard:
            while self._unsent:
                request, answer = self._unsent.popleft()
                self._last += 1
                self._waiting[self._last] = answer
                head: dict[str, Any] = {
                    "request": self._last,
                    "method": request.method,
                    "url": request.url,
                    "headers": [list(each) for each in request.headers],
                }
                heads.append(head | content_out(request.body))
        return heads

    def _take_response(self, message: dict[str, Any]) -> bool:
        with believed():
            number = int(message["response"])
            if "failed" in message:
                response = Response(failed=str(message["failed"]))
            else:
                headers = tuple((str(name), str(value)) for name, value in message["headers"])
                response = Response(int(message["status"]), content_in(message) or b"", headers)
        with self._guard:
            answer = self._waiting.pop(number, None)
        if answer is not None and answer.set_running_or_notify_cancel():
            answer.set_result(response)
        return True

    def _end(self) -> None:
        with self._guard:
            self._over = True
            left = [*self._waiting.values(), *(answer for _, answer in self._unsent)]
            self._waiting.clear()
            self._unsent.clear()
        for answer in left:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(ProcessLost("the Worker's process is gone"))


class Workers:
    """The Workers of one Host that are asked, a process for each Version."""

    def __init__(
        self,
        state: Callable[[], State],
        module: Callable[[str], JavaScript],
        env: Callable[[str], Mapping[str, Any]],
        pool: Pool,
    ) -> None:
        self._state, self._module, self._env, self._pool = state, module, env, pool
        self._guard = threading.Lock()
        self._served: dict[str, Served] = {}
        self._chance = random.Random()

    async def answer(self, worker: str, request: Request, seconds: float = ANSWER_SECONDS) -> Response:
        """What the handler of a Worker answers; raises NoWorker, ProcessLost or TimeoutError."""
        asked = await asyncio.to_thread(self._ask, worker, request)
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(asked)

    def _ask(self, worker: str, request: Request) -> Future[Response]:
        state = self._state()
        selection = queries.weights(state, worker)
        if not selection:
            raise NoWorker("no Deployment of this Worker is active")
        version = queries.choose(selection, self._chance.randrange(forms.WEIGHT_SUM))
        if "fetch" not in forms.version(state.resources[version]).handlers:
            raise NoWorker("the Version of this Worker declares no handler fetch")
        with self._guard:
            served = self._served.get(version)
            if served is None or served.over:
                served = self._served[version] = Served(self._module(version), self._env(version), self._pool)
            return served.ask(request)

    def contexts(self) -> dict[str, int]:
        """The Versions that have a process."""
        with self._guard:
            return {version: 1 for version, served in self._served.items() if not served.over}

    def tidy(self) -> None:
        """End the processes whose Versions are in no weights any more and that nobody waits for."""
        state = self._state()
        selected = {version for active in state.active.values() for version, _ in active.weights}
        self._stop(lambda version, served: version not in selected and (served.idle or served.over))

    def retire(self, versions: frozenset[str]) -> None:
        """End the processes of these Versions, whatever they do."""
        self._stop(lambda version, served: version in versions)

    def close(self) -> None:
        """End every process."""
        self._stop(lambda version, served: True)

    def _stop(self, chosen: Callable[[str, Served], bool]) -> None:
        with self._guard:
            gone = {version: each for version, each in self._served.items() if chosen(version, each)}
            for version in gone:
                del self._served[version]
        for served in gone.values():
            served.stop()
