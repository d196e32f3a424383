"""The address of deployed Workers: `/workers/UID/...` is a request to the default `fetch` of Worker UID.

Method, address, headers and body reach the handler as they were sent, and its response goes back as it is.
Where there is no handler to ask, or it does not answer, that is said as a problem; the codes are HTTP's own,
since none of this is the management API.
"""

from __future__ import annotations

from starlette.requests import Request as Asked
from starlette.responses import Response as Told
from starlette.types import Receive, Scope, Send

from fencepost.api import requests
from fencepost.api.answers import PROBLEM, answer, refused, replied
from fencepost.api.workers import NoWorker, Workers
from fencepost.contexts.node import Request, Response
from fencepost.contexts.node_process import ProcessLost
from fencepost.management.problems import Refusal
from fencepost.serve.requests import BODY_BYTES

PATH = "/workers"

# What a message between two ends says of their connection is not passed on.
_OF_THE_CONNECTION = frozenset(
    {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length"}
)
_NO_BODY = frozenset({101, 204, 205, 304})


class Front:
    """Passes requests on to Workers."""

    def __init__(self, workers: Workers, origin: str) -> None:
        self._workers, self._origin = workers, origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Asked(scope, receive)
        await (await self._answer(request))(scope, receive, send)

    async def _answer(self, request: Asked) -> Told:
        try:
            requests.local(request)
            path = request.scope["raw_path"].decode("ascii", "replace")
            segments = path.split("/")
            if len(segments) < 3 or not path.startswith(f"{PATH}/"):
                raise Refusal("not_found", f"there is nothing under this path; a Worker is at {PATH}/UID")
            asked = Request(
                request.method,
                self._address(path, request.scope["query_string"].decode("ascii", "replace")),
                tuple((name, value) for name, value in request.headers.items() if _passed(name)),
                await requests.content(request, BODY_BYTES) or None,
            )
            return _told(await self._workers.answer(segments[2], asked))
        except Refusal as refusal:
            return replied(refused(refusal), self._origin)
        except NoWorker as missing:
            return _failure(503, str(missing))
        except (ProcessLost, ValueError) as lost:
            return _failure(502, str(lost))
        except TimeoutError:
            return _failure(504, "the Worker has not answered in time")

    def _address(self, path: str, query: str) -> str:
        return f"{self._origin}{path}{'?' if query else ''}{query}"


def _passed(name: str) -> bool:
    return name.lower() not in _OF_THE_CONNECTION


def _told(response: Response) -> Told:
    if response.failed is not None:
        return _failure(502, f"the Worker failed: {response.failed}")
    if not 200 <= response.status <= 599:
        return _failure(502, f"the Worker answered with the status {response.status}")
    told = Told(b"" if response.status in _NO_BODY else response.body, response.status)
    for name, value in response.headers:
        if _passed(name):
            told.headers.append(name, value)
    return told


def _failure(status: int, detail: str) -> Told:
    title = {502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}[status]
    shown = {"type": "about:blank", "title": title, "status": status, "detail": detail[:500]}
    return answer(shown, status, kind=PROBLEM)
