"""The adapter of Host API v2 over HTTP: any Host at a base URL, with the probe deployed through the API.

`api:URL,KEY=VALUE,...` names it. What cannot be asked over HTTP is not offered: there is no clock to move,
nothing is killed or frozen. What is left: management calls, weights, lost answers, the journal, and a
`settle` that waits until nothing changes any more.

| key | default |
|---|---|
| `folder` | none: where the kit lays the probe's bundle, and the Host takes it from |
| `at` | `https://artifacts.invalid/`: the URL that this folder stands for |
| `owner`, `stranger` | none: variables of the environment with the secrets of two principals |
| `space`, `other` | `default`, `other`: two Spaces that the owner may use, the stranger the first one |
| `worker` | `URL/workers/{uid}`: the address of a deployed Worker's `fetch` |
| `start` | none: a variable with the command that runs the Host, which the kit then starts and restarts |
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Waited
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.api.artifacts import FOLDER_URL

from ..adapter import ABSENT, PROTOCOL, AdapterFault, Call, HostError, Setup
from ..host_api import HostApi, exchange
from ..journal_server import respond
from ..loopback import Loopback, Reply, refusal
from ..probe_bundle import Bundles
from .api_managed import ManagedThroughApi
from .api_process import Started

INSTRUMENTS = ("clock", "journal", "responses", "versions", "resource", "binding")
LEASE_SECONDS = 30
KEYS = frozenset({"folder", "at", "owner", "stranger", "space", "other", "worker", "start"})

_CALL_SECONDS = 2.0  # after which a call counts as in flight
_QUIET_SECONDS = 0.25  # without any change, where nobody is about to do something
_QUEUED_SECONDS = 3.0  # where an instance waits for a context, and may wait for ever
_RUNNING_SECONDS = 40.0  # where one runs and stands at no gate: it may report nothing for a long time
_SETTLE_SECONDS = 55.0
_LOOK_SECONDS = 0.03
_GATE_SECONDS = 0.2  # in which whoever stands at a gate asks for it again
_BODY_LIMIT = 1 << 20


class BadAddress(ValueError):
    """A HOST string that does not say how to reach a Host; one line."""


@dataclass(frozen=True)
class Address:
    """Where a Host is, and what the kit needs to know beside."""

    url: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parsed(cls, text: str) -> Address:
        """An address as it is written; raises BadAddress."""
        url, *pairs = text.split(",")
        settings = dict(pair.partition("=")[::2] for pair in pairs)
        if not url.startswith(("http://", "https://")):
            raise BadAddress(f"{url or text}: give api:http://127.0.0.1:PORT,folder=FOLDER")
        if unknown := sorted(settings.keys() - KEYS):
            raise BadAddress(f"{unknown[0]}: no such setting; there are {', '.join(sorted(KEYS))}")
        if not Path(settings.get("folder", "")).is_dir() or "folder" not in settings:
            raise BadAddress("folder: name the folder that the Host takes bundles from, with folder=FOLDER")
        return cls(url.rstrip("/"), settings)

    @property
    def worker(self) -> str:
        """The address of a deployed Worker, with `{uid}` in it."""
        return self.settings.get("worker", f"{self.url}/workers/{{uid}}")

    def make(self) -> ApiAdapter:
        """An adapter; AdapterFault where nobody answers."""
        return ApiAdapter(self)


class ApiAdapter(ManagedThroughApi):
    """Speaks the adapter's protocol for a Host at a base URL."""

    raw_values = True
    """VALUEs are built where the calls are made: in the deployed probe."""

    def __init__(self, address: Address) -> None:
        self._address = address
        principals = {
            name: address.settings[name] for name in ("owner", "stranger") if name in address.settings
        }
        self._process = (
            Started(address.settings["start"], address.url) if "start" in address.settings else None
        )
        try:
            api = HostApi(address.url, principals)
        except BaseException:
            self.end_process()
            raise
        spaces = {
            name: address.settings.get(key, name) for name, key in (("default", "space"), ("other", "other"))
        }
        bundles = Bundles(Path(address.settings["folder"]), address.settings.get("at", FOLDER_URL))
        super().__init__(api, bundles, spaces)
        self._hands = ThreadPoolExecutor(16, "fencepost-caller")
        self._server = Loopback(self._respond, _BODY_LIMIT)
        self._setup: Setup | None = None
        self._reports = 0
        self._gate_asked = 0.0
        self._flying: set[Future[Any]] = set()
        self._instances: set[str] = set()
        self._operations: set[str] = set()

    def handshake(self, hello: Mapping[str, Any]) -> dict[str, Any]:
        """What can be asked over HTTP."""
        return {
            "protocol": PROTOCOL,
            "host": {"name": f"Host API v2 at {self._address.url}", "version": "2"},
            "instruments": [*INSTRUMENTS, *(("restart",) if self._process is not None else ())],
            "leaseSeconds": LEASE_SECONDS,
            "advanceSeconds": 0,
        }

    def begin(self, setup: Setup) -> None:
        """Deploy the probe anew, with names of this scenario."""
        self._setup, self._reports = setup, 0
        self._flying, self._instances, self._operations = set(), set(), set()
        self.set_up(setup, f"{self._server.url}/{setup.token}")

    def end(self) -> dict[str, list[str]]:
        """Delete what this scenario has made, as far as it can be."""
        self.take_down()
        self._setup = None
        return {"unsprung": []}

    def close(self) -> None:
        """Let go of the journal's server, and of the Host where it was started here."""
        self.end_process()
        self._server.close()
        self._hands.shutdown(wait=False, cancel_futures=True)

    def end_process(self) -> None:
        """End the Host, where it was started here."""
        if self._process is not None:
            self._process.end()

    def _respond(self, method: str, path: str, body: bytes) -> Reply:
        """The journal, for reports of the present scenario."""
        token, _, name = path.removeprefix("/").partition("/")
        setup = self._setup
        if setup is None or token != setup.token:
            return refusal(404, "this scenario is over")
        reply = respond(setup.journal, method, name, body)
        if name == "gate":
            self._gate_asked = time.monotonic()
        elif name != "mark":  # a ticker never ends
            self._reports += 1
        return reply

    # -- the caller's calls ------------------------------------------------------------------------

    def create(self, id: Any, params: Any) -> Any:
        """`create`, and remember whom to look at while settling."""
        if isinstance(id, str):
            self._instances.add(id)
        return self._call("create", id=id, params=params)

    def get(self, id: Any) -> Any:
        return self._call("get", id=id)

    def status(self, id: Any) -> Any:
        return self._call("status", id=id)

    def send_event(self, id: Any, type: Any, payload: Any) -> Any:
        return self._call("sendEvent", id=id, type=type, payload=payload)

    def terminate(self, id: Any) -> Any:
        return self._call("terminate", id=id)

    def _call(self, call: str, **arguments: Any) -> Any:
        """What a call comes to; a future where it has not come to anything in time."""
        given = {name: value for name, value in arguments.items() if value is not ABSENT}
        made = self._hands.submit(self._ask, call, given, self.probe.caller)
        try:
            return made.result(_CALL_SECONDS)
        except Waited:
            self._flying.add(made)
            made.add_done_callback(self._flying.discard)
            return made

    def _ask(self, call: str, given: Mapping[str, Any], caller: str | None) -> Any:
        url = f"{self._address.worker.format(uid=caller)}/{call}"
        body = json.dumps(given).encode("ascii")
        told = exchange(url, "POST", {"Content-Type": "application/json"}, body)
        if told.status != 200:
            raise HostError("unreachable", f"the deployed caller answered {told.status}: {told.body[:200]!r}")
        answer = told.json
        if "error" in answer:
            raise HostError(answer["error"]["name"], answer["error"]["message"])
        if call == "create" and isinstance(answer["ok"], str):
            self._instances.add(answer["ok"])  # one that the Host has issued
        return answer["ok"]

    # -- instruments -------------------------------------------------------------------------------

    def advance(self, milliseconds: int) -> None:
        """Real time cannot be moved."""
        raise AdapterFault("there is no clock to move")

    def settle(self) -> None:
        """Wait until nothing has changed for a while, longer where something seems to be about to."""
        limit = time.monotonic() + _SETTLE_SECONDS
        since, last = time.monotonic(), None
        while time.monotonic() < limit:
            seen, patience = self._seen()
            if seen != last:
                since, last = time.monotonic(), seen
            if time.monotonic() - since >= patience:
                return
            time.sleep(_LOOK_SECONDS)

    def _seen(self) -> tuple[Any, float]:
        """What can be seen of the Host now, and for how many seconds that has to stay so."""
        statuses = {id: self._glance(id) for id in sorted(self._instances)}
        operations = {id: self._progress(id) for id in sorted(self._operations)}
        for id, status in operations.items():
            if status in ("succeeded", "failed", None):
                self._operations.discard(id)
        at_a_gate = time.monotonic() - self._gate_asked < _GATE_SECONDS
        patience = _QUIET_SECONDS
        if "running" in statuses.values() and not at_a_gate:
            patience = _RUNNING_SECONDS
        elif "queued" in statuses.values():
            patience = _QUEUED_SECONDS
        return (self._reports, statuses, operations, len(self._flying)), patience

    def _glance(self, id: str) -> str:
        try:
            found = self._ask("status", {"id": id}, self.probe.caller)
            return str(found.get("status"))
        except (HostError, AdapterFault):
            return ""

    def _progress(self, id: str) -> str | None:
        told = self._api.call("owner", "GET", self._api.operation(id))
        return str(told.json.get("status")) if told.status == 200 else None

    def restart(self) -> None:
        """Kill the Host's process as it stands, and start it again."""
        if self._process is None:
            raise AdapterFault("give start=VARIABLE, so that the kit can restart the Host")
        self._process.again()

    def drop_response(self, call: Call) -> None:
        """The call takes effect; nobody hears how it ended."""
        with contextlib.suppress(HostError):
            call.perform(self)

    def resource(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One management call; an Operation that it led to is looked at while settling."""
        answer = super().resource(request)
        if "operation" in answer:
            self._operations.add(answer["operation"]["id"])
        return answer


Make = Callable[[], ApiAdapter]
