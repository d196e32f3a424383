"""Contexts in JavaScript: the parent's end of what `javascript/main.mjs` runs in a process of its own.

A process asks and is answered, one JSON line each way, so it stands still whenever its parent does not look.
The first line says what it is to be (``start``); from then on it is given *turns*. Within a turn it sends
what concerns its parent at once; each turn ends with one line, and the next begins with an instruction.

| from the child | meaning | answer |
|---|---|---|
| ``{"ready"}`` | the runtime is loaded | the start |
| ``{"begin": kind, "name", "arguments"}`` | a step call, in a turn | what became of it, or none |
| ``{"fetch": n, "method", "url", "headers", CONTENT}`` | a request of `fetch` | in an instruction |
| ``{"call": n, "binding", "op", "arguments"}`` | a call of a binding in `env` | in an instruction |
| ``{"response": n, "status", "headers", CONTENT}`` | a Worker answers; or ``"failed"`` | |
| ``{"beat"}`` | the runtime itself is at work on something large | |
| ``{"quiet"}``, ``{"more"}``, ``{"began": step}`` | end of a turn: a signal of `execution` | an instruction |
| ``{"park"}``, ``{"commit"}``, ``{"settle"}`` | end of a turn: a proposal | an instruction |
| ``{"exports": {name: BOOL}}``, ``{"broken"}`` | end of a turn: which are Workflow classes | |

CONTENT is ``"text"`` (or null for none), or ``"bytes"`` in base 64. Step calls are answered as in `wire`;
where the context is over there is no answer, and the code stands in its call until it is killed.
Every end of a turn has ``"timer"``: milliseconds until the next timer is due, or null.

| to the child | meaning |
|---|---|
| ``{"purpose", "source", "name", "class", "env", "instanceId", "params", "limits"}`` | the start |
| ``{"reply"?, "answers"?, "fire"?, "requests"?, "dead"?}`` | an instruction: give a turn |

``answers`` has ``{"answer": n, ...}`` for each request or call; ``fire`` is ``all`` (every timer once) or
``due`` (those whose time has come). Documents travel as their canonical text in a string, and are opaque but
for one check on their way in. So a Host under a virtual clock and one under the real clock drive the same
runtime: the first gives turns until all is quiet, the second whenever an answer or a timer is due.
"""

import time
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from fencepost_spec.limits import FORM

from fencepost.contexts import node_process
from fencepost.contexts.node_process import NodeProcess, Pool, ProcessLost, shared_pool


@contextmanager
def believed() -> Iterator[None]:
    """Inside, a message is taken apart: what no runtime says is a loss of the process."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProcessLost("a process of Node talks nonsense") from error


class Request(NamedTuple):
    """A request of `fetch`, or one to a Worker."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


class Response(NamedTuple):
    """What a request is answered with; `failed` says why there is no answer."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    failed: str | None = None


_MANY = 256  # messages of one turn, after which somebody looks how much it has computed

Fetch = Callable[[Request, Callable[[Response], None]], None]
"""Takes a request in the turn that made it, and answers at once or later, from any thread."""

Binding = Callable[[str, Mapping[str, Any], Callable[[Mapping[str, Any]], None]], None]
"""Takes a caller's call: its operation, its arguments as JSON, and what gets ``ok`` or ``error``."""


def no_network(request: Request, answer: Callable[[Response], None]) -> None:
    """A `fetch` for contexts that may ask nobody."""
    answer(Response(failed="there is no network here"))


@dataclass(frozen=True)
class JavaScript:
    """A Version's module in JavaScript: its text, and a name for messages.

    Called as a loader it tells what the module exports, with a stand-in for each Workflow class (ABI-1); a
    module that cannot be evaluated exports nothing.
    """

    source: str
    name: str = "module.mjs"

    def __call__(self) -> Mapping[str, Any]:
        return _exports(self)

    def start(self, purpose: str, env: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """The first message to a process."""
        declared = [
            {"key": key, "binding": True} if callable(value) else {"key": key, "value": value}
            for key, value in env.items()
        ]
        limits = {"bytes": FORM.document_bytes, "properties": FORM.document_root_properties}
        module = {"purpose": purpose, "source": self.source, "name": self.name}
        return module | {"env": declared, "limits": limits} | more


class _StandIn:
    def run(self) -> None:
        """It runs elsewhere."""


@lru_cache(maxsize=64)
def _exports(module: JavaScript) -> Mapping[str, Any]:
    conversation = Conversation(module.start("inspection", {}), {}, no_network, shared_pool())
    try:
        while (message := conversation.turn()) is not None:
            if "exports" in message:
                exports = message["exports"].items()
                return {name: type(name, (_StandIn,), {}) if fit else None for name, fit in exports}
            if "broken" in message:
                break
    except ProcessLost:
        pass
    finally:
        conversation.stop()
    return {}


class Conversation:
    """Turns with one process: what is to be said at the next one, and what was asked in the present one."""

    def __init__(
        self,
        start: Mapping[str, Any],
        bindings: Mapping[str, Any],
        fetch: Fetch = no_network,
        pool: Pool | None = None,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self.process: NodeProcess = (pool or shared_pool()).take()
        self.timer: float | None = None
        self.due: float | None = None  # the instant of that timer, as `time.monotonic` counts
        self._bindings, self._fetch, self._wake = bindings, fetch, wake
        self._answers: deque[dict[str, Any]] = deque()
        self._say: dict[str, Any] = {}
        self._at_rest = False
        self._again = False
        self._computing = False
        self._flooding = False  # it asks and asks, and the turn does not end
        self._take: dict[str, Callable[[dict[str, Any]], bool]] = {
            "fetch": self._take_fetch,
            "call": self._take_call,
            "beat": lambda message: True,
        }
        self.process.send(start)

    @property
    def computing(self) -> bool:
        """Whether the present turn has gone on for so long that it was left alone."""
        return self._computing

    @property
    def answered(self) -> bool:
        """Whether there are answers that the process has not heard yet."""
        return bool(self._answers)

    def on(self, word: str, take: Callable[[dict[str, Any]], bool]) -> None:
        """Have a message within a turn taken; false if the process is not to go on in this turn."""
        self._take[word] = take

    def say(self, **members: Any) -> None:
        """Put something into the next instruction, so that there is one."""
        self._say |= members

    def turn(self) -> dict[str, Any] | None:
        """Give a turn if there is anything to do, and return how it ended; None where it has not, or there is
        nothing to do. Raises ProcessLost."""
        if self._at_rest:
            self.process.check()
            if not (self._say or self._answers or self._again):
                return None
            self._instruct()
        heard, began = 0, 0.0
        while (message := self.process.receive(0.0 if self._computing else None)) is not None:
            self._computing = False
            heard += 1
            if heard % _MANY == 0:
                now = self.process.processor_seconds()
                began = began or now
                self._flooding |= now - began >= node_process.COMPUTING_SECONDS
            word = next(iter(message), None)
            if word not in self._take:
                with believed():
                    timer = message["timer"]
                    self.timer = None if timer is None else float(timer)
                    self.due = None if self.timer is None else time.monotonic() + self.timer / 1000
                self._at_rest, self._again = True, word in ("more", "began")
                self._flooding = False
                return message
            if not self._take[word](message):
                return None
            if self._flooding and heard % _MANY == 0:
                break
        self._computing = True
        return None

    def answer(self, reply: Mapping[str, Any]) -> None:
        """Answer what was asked within the turn."""
        self.process.send(reply)

    def stop(self) -> None:
        """Kill the process; when this returns it is gone (PUB-1)."""
        self.process.stop()

    def _instruct(self) -> None:
        instruction, self._say = self._say, {}
        heard = [self._answers.popleft() for _ in range(len(self._answers))]
        self.process.send(instruction | ({"answers": heard} if heard else {}))
        self._at_rest = False

    def _later(self, answer: dict[str, Any]) -> None:
        self._answers.append(answer)
        self._wake()

    def _take_fetch(self, message: dict[str, Any]) -> bool:
        with believed():
            number = message["fetch"]
            headers = tuple((str(name), str(value)) for name, value in message["headers"])
            request = Request(str(message["method"]), str(message["url"]), headers, content_in(message))

        def answer(response: Response) -> None:
            if response.failed is not None:
                self._later({"answer": number, "failed": response.failed})
            else:
                told = {"status": response.status, "headers": [list(each) for each in response.headers]}
                self._later({"answer": number, **told, **content_out(response.body)})

        self._fetch(request, answer)
        return True

    def _take_call(self, message: dict[str, Any]) -> bool:
        with believed():
            number, op, arguments = message["call"], str(message["op"]), dict(message["arguments"])
            binding: Binding = self._bindings[message["binding"]]
        binding(op, arguments, lambda told: self._later({"answer": number, **told}))
        return True


def content_in(message: Mapping[str, Any]) -> bytes | None:
    """The bytes that a message carries, or None; ValueError or KeyError for nonsense."""
    if "bytes" in message:
        return b64decode(message["bytes"], validate=True)
    text = message["text"]
    return None if text is None else str(text).encode()


def content_out(content: bytes | None) -> dict[str, Any]:
    """Content as the members of a message."""
    if content is None:
        return {"text": None}
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"bytes": b64encode(content).decode()}
