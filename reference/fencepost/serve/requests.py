"""What a request may be: who may send it, how long its body is, and what its JSON has to look like.

A browser lets any page that it shows send requests to loopback. So a request has to name loopback as its
host, which a name that was pointed here later cannot do, and one that a page sends has to come from the page
that this server gave out.
"""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from fencepost_spec.limits import FORM
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from fencepost import json_text
from fencepost.serve.answers import Refused, refusal

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
ESCAPED = 6
"""Bytes of the longest way to write one byte of a document: an escape."""

BODY_BYTES = (ESCAPED + 1) * FORM.document_bytes
"""Every document that the Form admits fits, however it is written, with room for the rest of the body."""

BODY_SECONDS = 30.0
COMMAND = "idempotency-key"
"""The header that a command id comes in."""

NULL = object()
"""What stands for a JSON null at a place where None would mean that nothing was given (DOC-7)."""


class Guard:
    """Lets through what names loopback as its host, with paths still encoded, so that an id may hold a
    slash."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            return
        scope = dict(scope) | {"path": scope["raw_path"].decode("ascii", "replace")}
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        wrong = _misfit(headers.get(b"host", ""), headers.get(b"origin"))
        await (self._app if wrong is None else refusal(wrong))(scope, receive, send)


def _misfit(host: str, origin: str | None) -> Refused | None:
    name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
    if name.lower() not in LOOPBACK:
        return Refused("misdirected", f"the Host header must be one of {', '.join(sorted(LOOPBACK))}")
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return Refused("foreign_origin", "only the page of this server may send requests from a browser")
    return None


def id_in(request: Request) -> str:
    """The instance id in the path, whatever characters it has."""
    try:
        return unquote_to_bytes(request.path_params["id"]).decode()
    except UnicodeDecodeError:
        raise Refused("bad_request", "the id in the path is no UTF-8; percent-encode its bytes") from None


def command_in(request: Request) -> str | None:
    """The command id of a call that is harmless to send again, where there is one."""
    return request.headers.get(COMMAND)


async def body_of(request: Request) -> bytes:
    """The whole body; `Refused` when it is too long or too slow."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > BODY_BYTES:
        raise _too_large()
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > BODY_BYTES:
                    raise _too_large()
                parts.append(part)
    except TimeoutError:
        raise Refused("request_timeout", f"the body did not arrive within {BODY_SECONDS:g} s") from None
    except ClientDisconnect:
        raise Refused("bad_request", "the connection ended inside of the body") from None
    return b"".join(parts)


def _too_large() -> Refused:
    return Refused("body_too_large", f"a body has at most {BODY_BYTES} bytes")


def members(body: bytes, admitted: Collection[str], required: Collection[str] = ()) -> Mapping[str, Any]:
    """The members of a body that is one JSON object with these keys; an empty body is an empty object.

    A null becomes `NULL`. `Refused` for anything else: other keys, a key that is there twice, no UTF-8.
    """
    try:
        value = json_text.read(body, unique=True) if body.strip() else {}
    except ValueError as error:
        line = " ".join(str(error).split())
        raise Refused("bad_request", f"the body is no strict JSON: {line}") from None
    if not isinstance(value, dict):
        raise Refused("bad_request", f"the body must be a JSON object with {_listed(admitted)}")
    unknown = [key for key in value if key not in admitted]
    missing = [key for key in required if key not in value]
    if unknown:
        raise Refused(
            "TypeError", f"unknown key {_shown(unknown[0])}; admitted: {_listed(admitted)}"
        )  # BND-1
    if missing:
        raise Refused("TypeError", f"the key {missing[0]} is missing")
    return {key: NULL if each is None else each for key, each in value.items()}


def _listed(keys: Collection[str]) -> str:
    return ", ".join(keys) or "nothing in it"


def _shown(key: str) -> str:
    return ascii(key if len(key) <= 40 else key[:40] + "...")
