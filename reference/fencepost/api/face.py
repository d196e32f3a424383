"""The ASGI application: every request below the root is one action of the machine, and its reply.

The order is the API's: who asks, whether there is such a path and method, and only then the query, the
headers and the body. The machine judges again from the start, so nothing that is skipped here gets through.
"""

from __future__ import annotations

import asyncio
import secrets
import traceback
from collections.abc import Callable
from dataclasses import replace

from starlette.requests import Request as Asked
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from fencepost.api import about, openapi, requests
from fencepost.api.access import Access
from fencepost.api.answers import answer, refused, replied
from fencepost.api.store import StoreUnavailable
from fencepost.api.table import DISCOVERY, DOCUMENTATION, OPENAPI, ROOT, methods
from fencepost.management import documents, envelope
from fencepost.management.actions import Reply, Request
from fencepost.management.problems import Refusal
from fencepost.management.state import Rules

Ask = Callable[[Request], Reply]
"""Puts a request to the machine; StoreUnavailable where its outcome cannot be kept."""


class Face:
    """Host API v2 at an origin, in front of whoever answers the machine's requests."""

    def __init__(
        self,
        ask: Ask,
        access: Access,
        origin: str,
        *,
        rules: Rules | None = None,
        root: str = ROOT,
        other: ASGIApp | None = None,
    ) -> None:
        self._ask, self._access = ask, access
        self._origin, self._root, self._base_url = origin, root, origin + root
        self._rules = rules or Rules()
        self._other = other
        self._openapi = openapi.document(self._rules, origin, root, access.schemes)
        self._open: dict[str, Callable[[], Response]] = {
            DISCOVERY: self._discovery,
            OPENAPI: lambda: answer(self._openapi),
            DOCUMENTATION: lambda: PlainTextResponse(about.text(origin, access.schemes)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; what is neither the API nor about it goes to the other application."""
        if scope["type"] != "http":
            return
        request = Asked(scope, receive)
        path = scope["raw_path"].decode("ascii", "replace")
        below = requests.target(scope["raw_path"], self._root)
        if below is None and path not in self._open and self._other is not None:
            await self._other(scope, receive, send)
            return
        await (await self._answer(request, path, below))(scope, receive, send)

    async def _answer(self, request: Asked, path: str, below: str | None) -> Response:
        try:
            requests.local(request)
            if below is not None:
                return await self._managed(request, below)
            return self._public(request, path)
        except Refusal as refusal:
            return replied(refused(refusal), self._base_url)
        except StoreUnavailable:
            lost = Refusal("temporarily_unavailable", "nothing was changed; send the request again")
            return replied(refused(lost), self._base_url)
        except Exception as error:  # of this server: nothing of it is told but its kind
            traceback.print_exception(error)
            broken = Refusal("internal_error", f"a fault of this Host: {type(error).__name__}")
            return replied(refused(broken), self._base_url)

    def _public(self, request: Asked, path: str) -> Response:
        """What anybody may read."""
        if path not in self._open:
            raise Refusal("not_found", f"there is nothing under this path; the API is at {self._root}")
        allowed = methods(path) or ("GET",)
        if request.method not in allowed:
            raise Refusal("method_not_allowed", f"use {' or '.join(allowed)} here", allow=allowed)
        if requests.query(request.scope["query_string"]):
            raise Refusal("invalid_request", "send no query here")
        return self._open[path]()

    def _discovery(self) -> Response:
        page = self._origin + DOCUMENTATION
        return answer(documents.discovery(self._rules, self._base_url, page, page, self._access.schemes))

    async def _managed(self, request: Asked, target: str) -> Response:
        authorization = request.headers.getlist("authorization")
        caller = self._access.caller(authorization)
        action = Request(
            now=0,  # whoever answers knows the time
            method=request.method,
            target=target,
            uid=secrets.token_hex(16),
            operation=secrets.token_hex(16),
            principal=caller.principal if caller is not None else None,
            spaces=caller.spaces if caller is not None else frozenset(),
        )
        if caller is not None:
            envelope.route(action)
            action = replace(
                action,
                key=requests.key(request),
                generation=requests.generation(request),
                query=requests.query(request.scope["query_string"]),
                body=await requests.body(request, self._rules.maximum_request_bytes),
            )
        reply = await asyncio.to_thread(self._ask, action)
        return replied(reply, self._base_url, self._access.challenge(authorization))
