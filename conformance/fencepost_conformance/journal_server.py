"""The journal for probes in other processes: a loopback HTTP server that writes into the kit's own journal.

The base URL of a scenario, ``http://127.0.0.1:PORT/TOKEN``, has a random token, so that a report of a
scenario that is over reaches nobody: it is answered with 404.

| request | body | answer |
|---|---|---|
| ``POST /TOKEN/run`` | ``{"instance"}`` | ``{}`` |
| ``POST /TOKEN/mark`` | ``{"label"}`` | ``{}`` |
| ``POST /TOKEN/effect-start`` | ``{"instance", "name"}`` | ``{"execution": N}`` |
| ``POST /TOKEN/effect-end`` | ``{"instance", "name"}`` | ``{}`` |
| ``POST /TOKEN/gate`` | ``{"name"}`` | ``{"open": BOOL}`` |
| ``GET /TOKEN/probe.mjs`` | | the probe, an ES module |

Everything is counted and answered at once. A gate that is closed is asked for again by the probe. A Host
that answers its contexts' requests itself can have `respond` do it, without a server.
"""

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .journal import Journal
from .loopback import Loopback, Reply, json_reply, refusal
from .probe import javascript

PROBE = "probe.mjs"

_BODY_LIMIT = 1 << 20  # bytes
_TOKEN_BYTES = 16


class _Report(NamedTuple):
    keys: tuple[str, ...]
    enter: Callable[..., dict[str, Any]]


def _run(journal: Journal, instance: str) -> dict[str, Any]:
    journal.run(instance)
    return {}


def _mark(journal: Journal, label: str) -> dict[str, Any]:
    journal.mark(label)
    return {}


def _effect_start(journal: Journal, instance: str, name: str) -> dict[str, Any]:
    return {"execution": journal.count_start(instance, name)}


def _effect_end(journal: Journal, instance: str, name: str) -> dict[str, Any]:
    journal.count_end(instance, name)
    return {}


def _gate(journal: Journal, name: str) -> dict[str, Any]:
    return {"open": journal.is_open(name)}


REPORTS: Mapping[str, _Report] = {
    "run": _Report(("instance",), _run),
    "mark": _Report(("label",), _mark),
    "effect-start": _Report(("instance", "name"), _effect_start),
    "effect-end": _Report(("instance", "name"), _effect_end),
    "gate": _Report(("name",), _gate),
}


def respond(journal: Journal, method: str, name: str, body: bytes) -> Reply:
    """The answer to one request; `name` is what the path has after the token."""
    if name == PROBE:
        if method != "GET":
            return refusal(405, f"GET {PROBE}")
        return Reply(200, javascript.source().text.encode(), "text/javascript")
    if name not in REPORTS:
        return refusal(404, f"there is no {name[:40]!r} here; POST to {', '.join(REPORTS)}, or GET {PROBE}")
    if method != "POST":
        return refusal(405, f"POST {_example(name)} to {name}")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    keys, enter = REPORTS[name]
    if not isinstance(given, dict) or not all(isinstance(given.get(key), str) for key in keys):
        return refusal(400, f"{name}: POST {_example(name)}, as JSON")
    return json_reply(enter(journal, *(given[key] for key in keys)))


def _example(name: str) -> str:
    return json.dumps(dict.fromkeys(REPORTS[name].keys, "text"))


class JournalServer:
    """One journal at a time, reachable by HTTP; the server is started with the first scenario."""

    def __init__(self) -> None:
        self._journal = Journal()
        self._token = ""
        self._lock = threading.Lock()  # requests arrive in the server's thread
        self._server: Loopback | None = None

    def begin(self) -> str:
        """A fresh journal; gives its base URL."""
        if self._server is None:
            self._server = Loopback(self._respond, _BODY_LIMIT)
        with self._lock:
            self._journal, self._token = Journal(), secrets.token_urlsafe(_TOKEN_BYTES)
        return f"{self._server.url}/{self._token}"

    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Everything counted so far."""
        with self._lock:
            return self._journal.counts()

    def release(self, gate: str) -> None:
        """Open a gate for good."""
        with self._lock:
            self._journal.release(gate)

    def close(self) -> None:
        """End the server; may be called twice."""
        if self._server is not None:
            self._server.close()

    def _respond(self, method: str, path: str, body: bytes) -> Reply:
        token, _, name = path.removeprefix("/").partition("/")
        with self._lock:
            if not secrets.compare_digest(token.encode(), self._token.encode()):
                return refusal(404, "this scenario is over, or never was; use the journal that begin named")
            return respond(self._journal, method, name, body)
