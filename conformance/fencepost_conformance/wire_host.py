"""A Host in another process, by way of example: any adapter in Python, spoken to as any program is.

``python -m fencepost_conformance.wire_host python:MODULE:FACTORY`` answers requests on its standard input
with lines on its standard output; what the adapter prints goes to standard error. With ``--http PORT`` it is
a server, and answers each POST (0: a free port; the address is printed).

Run on them, ``fencepost check`` says of ``cmd:python -m fencepost_conformance.wire_host ADAPTER`` and of the
server's address what it says of ADAPTER itself.
"""

import argparse
import asyncio
import json
import os
import re
import threading
from collections.abc import Awaitable, Mapping
from typing import Any

from .http_host import BODY_LIMIT
from .loopback import Loopback, Reply, refusal
from .serve import Server, serve
from .tickets import ANSWER

_ADAPTER = re.compile(r"python:(?P<module>[\w.]+):(?P<factory>[\w.]+)")
_REQUEST = '{"op": NAME, "ticket": N, ...}'


def main(arguments: list[str] | None = None) -> None:
    """Serve one adapter until the input ends, or, by HTTP, for ever."""
    parser = argparse.ArgumentParser(prog="python -m fencepost_conformance.wire_host")
    parser.add_argument("adapter", metavar="python:MODULE:FACTORY", type=_adapter)
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="answer POSTs on this port; 0 takes a free one"
    )
    given = parser.parse_args(arguments)
    module, factory = given.adapter
    if given.http is None:
        _on_standard_streams(module, factory)
    else:
        _by_http(module, factory, given.http)


def _adapter(text: str) -> tuple[str, str]:
    named = _ADAPTER.fullmatch(text)
    if named is None:
        raise argparse.ArgumentTypeError(f"{text} is not python:MODULE:FACTORY")
    return named["module"], named["factory"]


def _on_standard_streams(module: str, factory: str) -> None:
    requests, answers = os.dup(0), os.dup(1)
    with open(os.devnull, "rb", 0) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what an adapter prints is no answer
    asyncio.run(serve(requests, answers, module, factory))


def _by_http(module: str, factory: str, port: int) -> None:
    server = Server(module, factory)

    async def answered(request: Mapping[str, Any]) -> Reply:
        return Reply(200, await server.answer(request))

    def respond(method: str, path: str, body: bytes) -> Reply | Awaitable[Reply]:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            request = None
        if method != "POST" or not isinstance(request, dict) or not {"op", "ticket"} <= request.keys():
            return refusal(400, f"POST {_REQUEST}, which is answered with {ANSWER}")
        return answered(request)

    loopback = Loopback(respond, BODY_LIMIT, port)
    print(f"listening on {loopback.url}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
