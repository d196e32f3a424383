"""Who calls the Host: directly over the database, or through a Worker that is deployed on the API process.

An answer is what the caller was told; None, when nobody can tell whether the call took effect.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fencepost.durable.host import DurableHost, Handle
from fencepost.durable.store import Store
from fencepost.host.calls import CallError

from ..adapter import AdapterFault, Answer
from ..host_api import exchange

TERMINATE_SECONDS = 60.0
_UNREACHABLE = "backend_unavailable"


class NotMade(Exception):
    """Nobody was there to be called: nothing has happened."""


class Caller(Protocol):
    """Makes calls, from any thread."""

    name: str

    def call(self, word: str, id: str, **given: Any) -> Answer | None:
        """The answer to one call, by the word that scenarios have for it. Raises NotMade."""


class Direct:
    """A process of callers over the database: one store, and a binding for each thread."""

    name = "direct"

    def __init__(self, place: str, uid: str) -> None:
        self.store = Store(place)
        self._uid = uid
        self._local = threading.local()

    def call(self, word: str, id: str, **given: Any) -> Answer | None:
        """Call the binding."""
        if not hasattr(self._local, "host"):
            self._local.host = DurableHost(self.store, self._uid)
        try:
            return Answer(_CALLS[word](self._local.host, id, given))
        except CallError as error:
            return None if error.name == _UNREACHABLE else Answer(error=(error.name, error.message))
        except TimeoutError:
            return None

    def close(self) -> None:
        """Let the database go."""
        self.store.close()


_CALLS: Mapping[str, Callable[[DurableHost, str, Mapping[str, Any]], Any]] = {
    "create": lambda host, id, given: host.create(id, given["params"]),
    "status": lambda host, id, given: host.status(id),
    "sendEvent": lambda host, id, given: host.send_event(id, given["type"], given["payload"]),
    "terminate": lambda host, id, given: Handle(host, id).terminate(TERMINATE_SECONDS),
}


class ThroughApi:
    """Requests to the deployed Worker; `calling` is told whenever one is on its way."""

    name = "api"

    def __init__(self, url: str, calling: threading.Event) -> None:
        self._url, self._calling = url, calling

    def call(self, word: str, id: str, **given: Any) -> Answer | None:
        """Ask the deployed caller."""
        if "params" in given:  # what is deployed takes VALUEs; a program is to stay as it stands
            given["params"] = {"program": {"$literal": given["params"]["program"]}}
        body = json.dumps({"id": id, **given}).encode()
        self._calling.set()
        try:
            told = exchange(f"{self._url}/{word}", "POST", {"Content-Type": "application/json"}, body)
        except AdapterFault as fault:
            if isinstance(fault.__cause__, ConnectionRefusedError):
                raise NotMade from None
        else:
            if told.status == 200 and told.body:  # none: it was killed while it answered
                answer = told.json
                if "error" not in answer:
                    return Answer(answer["ok"])
                error = answer["error"]
                return (
                    None if error["name"] == _UNREACHABLE else Answer(error=(error["name"], error["message"]))
                )
        return None
