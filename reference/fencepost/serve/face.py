"""The caller's binding over HTTP: five calls, each of them one call of the Host.

| request | call | answer |
|---|---|---|
| `POST /instances` with `{"id"?, "params"?}` | create | 201 `{"id"}` |
| `GET /instances/ID` | get | 200 `{"id"}` |
| `GET /instances/ID/status` | status | 200 `{"status", "output"?, "error"?}` |
| `POST /instances/ID/events` with `{"type", "payload"?}` | sendEvent | 200 `{}` |
| `POST /instances/ID/terminate` | terminate | 200 `{}` |

Every rejection is `{"error": {"name", "message"}}`. A call that changes something may bear a command id in
the header `Idempotency-Key`, and is then harmless to send again; that is of this face, and no part of the
binding (EXT-1).

Calls run in threads, since they wait for the Host's lock; the answer to a terminate waits for the proof that
nothing runs any more.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import quote

from fencepost_spec.limits import FORM
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fencepost import documents
from fencepost.host.calls import CallError
from fencepost.host.running import RunningHost
from fencepost.serve.answers import Refused, answer, raw, refusal
from fencepost.serve.requests import NULL, body_of, command_in, id_in, members

ANSWER_SECONDS = 30.0
_ANSWER_LIMITS = replace(FORM, document_bytes=2 * FORM.document_bytes)  # an output, and what is around it

Value = TypeVar("Value")
Endpoint = Callable[[Request], Awaitable[Response]]


class Face:
    """The requests about instances of one Host."""

    def __init__(self, host: RunningHost, seconds: float = ANSWER_SECONDS) -> None:
        self._host = host
        self._seconds = seconds

    def routes(self) -> list[Route]:
        """Where each call is to be found."""
        one = "/instances/{id}"
        return [
            Route("/instances", answered(self.create), methods=["POST"]),
            Route(one, answered(self.get), methods=["GET"]),
            Route(f"{one}/status", answered(self.status), methods=["GET"]),
            Route(f"{one}/events", answered(self.send_event), methods=["POST"]),
            Route(f"{one}/terminate", answered(self.terminate), methods=["POST"]),
        ]

    async def create(self, request: Request) -> Response:
        """`create` (BND-1, BND-3)."""
        given = await read(request, "id", "params")
        params, by = given.get("params"), self._host.by(command_in(request))
        id = await self._call(lambda: by.create(given.get("id"), params), params)
        return answer({"id": id}, 201, {"location": f"/instances/{quote(id, safe='')}"})

    async def get(self, request: Request) -> Response:
        """`get` (BND-4)."""
        id = id_in(request)
        return answer({"id": await self._call(lambda: self._host.get(id))})

    async def status(self, request: Request) -> Response:
        """`status` (BND-6)."""
        id = id_in(request)
        shown = await self._call(lambda: self._host.status(id))
        return raw(await asyncio.to_thread(_text, shown))

    async def send_event(self, request: Request) -> Response:
        """`sendEvent`: an answer means that the event is accepted (EVT-1)."""
        id = id_in(request)
        given = await read(request, "type", "payload", required=("type",))
        type, payload = given["type"], given.get("payload")
        by = self._host.by(command_in(request))
        flight = await self._call(lambda: by.send_event(id, type, payload), payload)
        if flight is not None:
            await self._landed(flight, "the instance is ending")
        return answer({})

    async def terminate(self, request: Request) -> Response:
        """`terminate`: an answer means that nothing of the instance runs any more (TRM-1)."""
        id = id_in(request)
        await read(request)
        by = self._host.by(command_in(request))
        flight = await self._call(lambda: by.terminate(id))
        await self._landed(flight, "the code is not proven stopped")  # TRM-2
        return answer({})

    async def _call(self, call: Callable[[], Value], document: Any = None) -> Value:
        """The value of a call of the Host, made in a thread, or a refusal that says what is wrong with the
        document."""

        def locked() -> Value:
            with self._host.lock:
                return call()

        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.to_thread(locked)
        except CallError as error:
            why = await asyncio.to_thread(_misfit_of, document) if "document" in error.message else ""
            raise Refused(error.name, error.message + why) from None
        except TimeoutError:
            raise Refused("not_yet", f"the Host gave no answer within {self._seconds:g} s") from None

    async def _landed(self, flight: Future[None], why: str) -> None:
        """Return once a call in flight has ended; the flight itself is never cancelled."""
        landing = asyncio.wrap_future(flight)
        landing.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            async with asyncio.timeout(self._seconds):
                await asyncio.shield(landing)
        except CallError as error:
            raise Refused(error.name, error.message) from None
        except TimeoutError:
            raise Refused("not_yet", f"{why} after {self._seconds:g} s; ask for the status") from None


async def read(request: Request, *admitted: str, required: tuple[str, ...] = ()) -> Any:
    """The members of a request's body."""
    body = await body_of(request)
    return await asyncio.to_thread(members, body, admitted, required)


def _text(shown: dict[str, Any]) -> bytes:
    """A status document as JSON, however deep its output is."""
    return documents.encode(shown, _ANSWER_LIMITS, bound_nested=False)


def _misfit_of(document: Any) -> str:
    """Where and why a value is no document, to be put behind what the Host says of it."""
    try:
        documents.encode(None if document is NULL else document)
    except documents.DocumentError as misfit:
        return f" ({misfit})"
    return ""


def answered(endpoint: Endpoint) -> Endpoint:
    """An endpoint whose refusals are answers."""

    @wraps(endpoint)
    async def answering(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as error:
            return refusal(error)

    return answering
