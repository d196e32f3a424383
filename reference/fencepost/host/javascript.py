"""The virtual Host whose contexts are JavaScript, each in a process of its own.

What is dropped is killed and reaped at that instant; what is stuck or frozen goes on living. A process that
ends by itself is a lost owner, and the next context waits a little longer each time. Callers are Workers in
JavaScript that have the binding in their `env`: `ask` has one answer a request.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from fencepost.contexts.execution import Port
from fencepost.contexts.node import Fetch, JavaScript, Request, Response, no_network
from fencepost.contexts.node_execution import NodeExecution
from fencepost.contexts.node_process import Pool
from fencepost.contexts.node_worker import Worker
from fencepost.host.binding import Answer, Encoded, make, parsed
from fencepost.host.managed import ManagedHost
from fencepost.machine.actions import Claim, Document
from fencepost.machine.state import Instance


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
        make(self, parsed(op, arguments), answer)

    def own_binding(self, op: str, arguments: Mapping[str, Any], answer: Answer) -> None:
        """The caller's binding as a context reaches it: the call is made once the turn is over."""
        call = parsed(op, arguments)
        self.from_inside(lambda: make(self, call, answer))
