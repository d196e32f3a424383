"""The adapter of the reference with JavaScript: contexts and callers run the probe in processes of Node.

The caller's calls go through one Worker, so that arguments are real values of JavaScript and what is measured
is a binding of JavaScript: the VALUEs of a call are built there. It keeps nothing from scenario to scenario.
Reports to the journal leave a process as requests of `fetch`, and are answered here, in a later turn, without
a server.
"""

import json
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NoReturn
from urllib.parse import urlsplit

from fencepost.contexts.node import JavaScript, Request, Response
from fencepost.contexts.node_process import ProcessLost
from fencepost.contexts.node_tools import NodeMissing, node
from fencepost.contexts.node_worker import Worker
from fencepost.host.javascript import JavaScriptHost

from ..adapter import ABSENT, AdapterFault, HostError, Setup
from ..journal_server import respond
from ..probe import javascript
from .reference import ReferenceAdapter

_OK = 200


class JavaScriptAdapter(ReferenceAdapter):
    """Speaks the adapter's protocol for one reference Host with JavaScript at a time."""

    name = "reference-js"
    raw_values = True
    """The bench passes VALUEs on as they are: they are built in the caller's Worker."""

    def __init__(self) -> None:
        super().__init__()
        self._module = JavaScript(javascript.source().text, "probe.mjs")
        self._running: JavaScriptHost | None = None
        self._caller: Worker | None = None

    @property
    def host(self) -> JavaScriptHost:
        """The Host of the present scenario; RuntimeError before `begin`."""
        if self._running is None:
            raise RuntimeError("begin a scenario first")
        return self._running

    def begin(self, setup: Setup) -> None:
        """A fresh Host with the probe deployed."""
        journal = f"http://127.0.0.1/{setup.token}"

        def environment(version: str) -> dict[str, Any]:
            declared: dict[str, Any] = {"VERSION": version, "JOURNAL": journal}
            return declared | ({"PROBE": host.own_binding} if setup.binding else {})

        def fetch(request: Request, answer: Callable[[Response], None]) -> None:
            """Answers reports to the journal; nothing else can be reached."""
            reply = respond(
                setup.journal, request.method, urlsplit(request.url).path.split("/")[-1], request.body or b""
            )
            answer(Response(reply.status, reply.body, (("content-type", reply.kind),)))

        self._give_up()
        host = self._running = JavaScriptHost(
            dict.fromkeys(setup.versions, self._module),
            setup.deployed,
            environment=environment,
            own_binding=setup.binding,
            fetch=fetch,
        )
        if self._caller is None or self._caller.lost:
            self._caller = Worker(self._module, {"PROBE": lambda *call: self.host.binding(*call)})
        host.serve(self._caller)

    def end(self) -> dict[str, list[str]]:
        """Kill every process of the Host; say which traps never sprung."""
        unsprung = [f"{trap.deed} {trap.instance} at {trap.point}" for trap in self.host.traps.set]
        self._give_up()
        return {"unsprung": unsprung}

    def close(self) -> None:
        """End every process."""
        self._give_up()
        if self._caller is not None:
            self._caller.stop()

    def _give_up(self) -> None:
        if self._running is not None:
            self._running.end()
        self._running = None

    # -- the caller's calls ------------------------------------------------------------------------

    def create(self, id: Any, params: Any) -> Any:
        return self._call("create", id=id, params=params)

    def get(self, id: Any) -> Any:
        return self._call("get", id=id)

    def status(self, id: Any) -> Any:
        return self._call("status", id=id)

    def send_event(self, id: Any, type: Any, payload: Any) -> Any:
        return self._call("sendEvent", id=id, type=type, payload=payload)

    def terminate(self, id: Any) -> Any:
        """A future while the stop is not proven."""
        return self._call("terminate", id=id)

    def _call(self, call: str, **arguments: Any) -> Any:
        """Have the caller's Worker make a call; a future while it is in flight."""
        assert self._caller is not None
        given = {name: value for name, value in arguments.items() if value is not ABSENT}
        body = json.dumps(given).encode()
        inner = self.host.ask(self._caller, Request("POST", f"http://caller/{call}", body=body))
        if inner.done():
            return _told(inner)
        outer: Future[Any] = Future()

        def pass_on(done: Future[Response]) -> None:
            try:
                outer.set_result(_told(done))
            except Exception as error:
                outer.set_exception(error)

        inner.add_done_callback(pass_on)
        return outer


def _told(done: Future[Response]) -> Any:
    """What the caller's Worker says of its call; HostError for a rejection."""
    try:
        response = done.result()
    except ProcessLost as lost:
        _fault(str(lost))
    if response.failed is not None or response.status != _OK:
        _fault(response.failed or f"it answered {response.status}")
    told = json.loads(response.body)
    if "error" in told:
        raise HostError(told["error"]["name"], told["error"]["message"])
    return told["ok"]


def _fault(why: str) -> NoReturn:
    raise AdapterFault(f"the caller's Worker failed: {why}")


def make() -> JavaScriptAdapter:
    """The reference with JavaScript; AdapterFault where there is no Node."""
    try:
        node()
    except NodeMissing as missing:
        raise AdapterFault(str(missing)) from None
    return JavaScriptAdapter()
