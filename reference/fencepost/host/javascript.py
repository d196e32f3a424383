"""The virtual Host whose contexts are JavaScript, each in a process of its own.

What is dropped is killed and reaped at that instant; what is stuck or frozen goes on living. A process that
ends by itself is a lost owner, and the next context waits a little longer each time. Callers are Workers in
JavaScript that have the binding in their `env`: `ask` has one answer a request.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from fencepost import documents
from fencepost.contexts.execution import Port
from fencepost.contexts.node import Fetch, JavaScript, Request, Response, believed, no_network
from fencepost.contexts.node_execution import NodeExecution
from fencepost.contexts.node_process import Pool
from fencepost.contexts.node_worker import Worker
from fencepost.contexts.wire import document_in
from fencepost.host.calls import CallError
from fencepost.host.managed import ManagedHost
from fencepost.machine.actions import Claim, Document
from fencepost.machine.state import Instance

Answer = Callable[[Mapping[str, Any]], None]
Call = Callable[["JavaScriptHost"], Any]


@dataclass(frozen=True)
class Encoded:
    """A document that JavaScript has written, or why it is none."""

    document: Document


class JavaScriptHost(ManagedHost):
    """A managed virtual Host whose Versions are modules in JavaScript."""

    def __init__(
        self,
        versions: Mapping[str, JavaScript],
        deployed: Mapping[str, int],
        *,
        class_name: str = "Probe",
        environment: Callable[[str], Mapping[str, Any]] = lambda version: {},
        seed: int = 0,
        own_binding: bool = False,
        fetch: Fetch = no_network,
        pool: Pool | None = None,
    ) -> None:
        super().__init__(
            versions,
            deployed,
            class_name=class_name,
            environment=environment,
            seed=seed,
            own_binding=own_binding,
        )
        self._modules = dict(versions)
        self._fetch, self._pool = fetch, pool
        self._callers: list[Worker] = []
        self._calling = False  # a caller has a turn, so that what it calls does not run the Host
        self._due = False

    def serve(self, caller: Worker) -> None:
        """Have a Worker, in whose `env` is the binding, call this Host."""
        self._callers.append(caller)

    def ask(self, caller: Worker, request: Request) -> Future[Response]:
        """Have a caller answer a request: what it calls is taken at once, and the Host runs after."""
        self._calling = True
        try:
            answer = caller.request(request)
        finally:
            self._calling = False
        self.run()
        return answer

    def end(self) -> None:
        """Kill the process of every context."""
        for owner in self.owners:
            owner.execution.turns.discard()

    def run(self) -> None:
        """Run the Host and give its callers turns, until neither has anything left to do."""
        self._due = True
        while self._due and not self._calling:
            self._due = False
            super().run()
            self._calling = True
            try:
                for caller in self._callers:
                    caller.turn()
            finally:
                self._calling = False

    def admit(self, value: Any) -> Document:
        return value.document if isinstance(value, Encoded) else super().admit(value)

    def execution(self, instance: Instance, claim: Claim, port: Port) -> NodeExecution:
        return NodeExecution(
            self._modules[claim.version],
            self.class_name,
            self.environment(claim.version),
            instance.id,
            instance.params,
            port,
            fetch=self._fetch,
            pool=self._pool,
        )

    # -- calls that come from JavaScript -------------------------------------------------------------

    def binding(self, op: str, arguments: Mapping[str, Any], answer: Answer) -> None:
        """The caller's binding as a Worker reaches it."""
        self._answer(_call(op, arguments), answer)

    def own_binding(self, op: str, arguments: Mapping[str, Any], answer: Answer) -> None:
        """The caller's binding as a context reaches it: the call is made once the turn is over."""
        call = _call(op, arguments)
        self.from_inside(lambda: self._answer(call, answer))

    def _answer(self, call: Call, answer: Answer) -> None:
        try:
            told = call(self)
        except CallError as error:
            answer(_rejection(error))
            return
        if isinstance(told, Future):
            told.add_done_callback(lambda done: answer(_ended(done)))
        else:
            answer({"ok": told})

    def shown_status(self, id: Any) -> dict[str, Any]:
        """The status document, with its output as canonical text."""
        shown = self.status(id)
        output = shown.get("output")
        return shown if output is None else shown | {"output": documents.encode(output).decode()}


def _call(op: str, arguments: Mapping[str, Any]) -> Call:
    """A call as it was sent; ProcessLost for nonsense."""
    with believed():
        return _CALLS[op](arguments)


def _create(arguments: Mapping[str, Any]) -> Call:
    id, params = arguments.get("id"), Encoded(document_in(arguments["params"]))
    return lambda host: host.create(id, params)


def _send_event(arguments: Mapping[str, Any]) -> Call:
    id, type, payload = arguments["id"], arguments["type"], Encoded(document_in(arguments["payload"]))
    return lambda host: host.send_event(id, type, payload)


def _about(call: Callable[[JavaScriptHost, Any], Any]) -> Callable[[Mapping[str, Any]], Call]:
    def parse(arguments: Mapping[str, Any]) -> Call:
        id = arguments["id"]
        return lambda host: call(host, id)

    return parse


_CALLS: Mapping[str, Callable[[Mapping[str, Any]], Call]] = {
    "create": _create,
    "get": _about(JavaScriptHost.get),
    "status": _about(JavaScriptHost.shown_status),
    "send_event": _send_event,
    "terminate": _about(JavaScriptHost.terminate),
}


def _ended(done: Future[None]) -> Mapping[str, Any]:
    error = done.exception()
    if error is None:
        return {"ok": None}
    if isinstance(error, CallError):
        return _rejection(error)
    raise error


def _rejection(error: CallError) -> Mapping[str, Any]:
    return {"error": {"name": error.name, "message": error.message}}
