"""A `fetch` that has the network of this machine, for contexts whose processes have none.

Each request has a thread until it is answered. What goes wrong on the way is a rejection in the context, as
with any `fetch`; what a server says, also an error, is a response.
"""

import threading
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from urllib.error import HTTPError
from urllib.request import Request as Sent
from urllib.request import urlopen

from fencepost.contexts.node import Request, Response

SECONDS = 300.0
RESPONSE_BYTES = 1 << 25
SCHEMES = ("http:", "https:")

Answer = Callable[[Response], None]


def fetch(request: Request, answer: Answer) -> None:
    """Send a request, and answer it later."""
    threading.Thread(target=_send, args=(request, answer), name="fencepost-fetch", daemon=True).start()


def _send(request: Request, answer: Answer) -> None:
    try:
        answer(_response(request))
    except (OSError, HTTPException, ValueError) as error:
        answer(Response(failed=f"fetch failed: {error}"))


def _response(request: Request) -> Response:
    if not request.url.lower().startswith(SCHEMES):
        raise ValueError(f"only {' and '.join(SCHEMES)} can be fetched")
    headers: dict[str, str] = {}
    for name, value in request.headers:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    sent = Sent(request.url, request.body, headers, method=request.method)
    try:
        answered: HTTPResponse | HTTPError = urlopen(sent, timeout=SECONDS)
    except HTTPError as error:
        answered = error
    with answered:
        body = answered.read(RESPONSE_BYTES + 1)
    if len(body) > RESPONSE_BYTES:
        raise ValueError(f"the response has more than {RESPONSE_BYTES} bytes")
    return Response(answered.status or 0, body, tuple(answered.headers.items()))
