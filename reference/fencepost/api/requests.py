"""A request as bytes, turned into what the machine takes: strict about headers, media type, size and JSON.

What is wrong here is refused with the code that the API has for it, and with `invalid_request` where it has
none. Who asks, and whether there is anything under the path, is settled before a byte of the body is read.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.requests import ClientDisconnect, Request

from fencepost import json_text
from fencepost.api.table import GENERATION, KEY
from fencepost.management.actions import ABSENT
from fencepost.management.problems import Refusal
from fencepost.serve.requests import LOOPBACK

BODY_SECONDS = 30.0
_MOST_PARAMETERS = 32
_MEDIA_TYPE = re.compile(r'application/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?', re.IGNORECASE)


def local(request: Request) -> None:
    """Refuse what a page that a browser shows may have sent: loopback by another name, or another origin."""
    host, origin = single(request, "host") or "", single(request, "origin")
    name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
    if name.lower() not in LOOPBACK:
        raise Refusal("forbidden", f"let the Host header be one of {', '.join(sorted(LOOPBACK))}")
    if origin is not None and origin.lower() != f"{request.scope['scheme']}://{host}".lower():
        raise Refusal("forbidden", "send no request from a page of another origin")


def single(request: Request, name: str) -> str | None:
    """A header that may be there once, or nothing; a Refusal where it is there twice."""
    values = request.headers.getlist(name)
    if len(values) > 1:
        raise Refusal("invalid_request", f"send the header {name} once")
    return values[0] if values else None


def key(request: Request) -> str | None:
    """The Idempotency-Key as it was sent."""
    return single(request, KEY)


def generation(request: Request) -> str | None:
    """The expected generation as it was sent."""
    return single(request, GENERATION)


def target(raw_path: bytes, root: str) -> str | None:
    """The path below the root, its segments decoded where they then are still segments; None elsewhere."""
    path = raw_path.decode("ascii", "replace")
    if path != root and not path.startswith(f"{root}/"):
        return None
    segments = path[len(root) :].split("/")
    return "/".join(_decoded(segment) for segment in segments)


def _decoded(segment: str) -> str:
    try:
        text = unquote_to_bytes(segment).decode("ascii")
    except UnicodeDecodeError:
        return segment
    return segment if "/" in text else text


def query(raw: bytes) -> tuple[tuple[str, str], ...]:
    """The query's parameters in their order; a Refusal for what is no query in UTF-8."""
    if not raw:
        return ()
    try:
        text = raw.decode("ascii")
        if re.search(r"%(?![0-9A-Fa-f]{2})", text):
            raise ValueError
        return tuple(
            parse_qsl(
                text,
                keep_blank_values=True,
                strict_parsing=True,
                errors="strict",
                max_num_fields=_MOST_PARAMETERS,
            )
        )
    except ValueError:
        raise Refusal("invalid_request", "send the query as name=value pairs in UTF-8") from None


async def body(request: Request, most: int) -> Any:
    """The JSON value of the body, or ABSENT where there is none."""
    given = single(request, "content-type")
    data = await content(request, most)
    if not data:
        return ABSENT
    if given is None or not _MEDIA_TYPE.fullmatch(given.strip()):
        raise Refusal("unsupported_media_type", "send the body as application/json in UTF-8")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refusal("unsupported_media_type", "send the body without a Content-Encoding")
    return await asyncio.to_thread(_read, data)


def _read(data: bytes) -> Any:
    try:
        return json_text.read(data, unique=True)
    except ValueError as error:  # no UTF-8, no JSON, or a key that is there twice
        raise Refusal("invalid_request", f"body: {' '.join(str(error).split())}") from None


async def content(request: Request, most: int) -> bytes:
    """The bytes of the body; a Refusal where there are too many of them, or where they stay away."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise _too_large(most)
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _too_large(most)
                parts.append(part)
    except TimeoutError:
        raise Refusal("invalid_request", f"send the whole body within {BODY_SECONDS:g} s") from None
    except ClientDisconnect:
        raise Refusal("invalid_request", "the connection ended inside of the body") from None
    return b"".join(parts)


def _too_large(most: int) -> Refusal:
    return Refusal("request_too_large", f"send at most {most} bytes")
