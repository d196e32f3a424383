"""The adapter of the embedded reference: the managed virtual Host with every instrument.

A faulty or a latitude host is this adapter with another Host class or other rules.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from importlib.metadata import version
from typing import Any

from fencepost import workflow
from fencepost.history import document
from fencepost.host.calls import CallError
from fencepost.host.managed import ManagedHost
from fencepost.machine import Rules

from fencepost_conformance.adapter import ABSENT, INSTRUMENTS, PROTOCOL, Call, HostError, Setup


class ReferenceAdapter:
    """Speaks the adapter's protocol for one reference Host at a time."""

    name = "reference"

    def __init__(self, host_class: type[ManagedHost] = ManagedHost, rules: Rules | None = None) -> None:
        self._host_class, self._rules = host_class, rules
        self._host: ManagedHost | None = None

    @property
    def host(self) -> ManagedHost:
        """The Host of the present scenario; RuntimeError before `begin`."""
        if self._host is None:
            raise RuntimeError("begin a scenario first")
        return self._host

    def handshake(self, hello: Mapping[str, Any]) -> dict[str, Any]:
        """Every instrument is on offer."""
        host = {"name": self.name, "version": version("fencepost")}
        return {
            "protocol": PROTOCOL,
            "host": host,
            "instruments": list(INSTRUMENTS),
            "leaseSeconds": self._host_class.lease_seconds,
        }

    def begin(self, setup: Setup) -> None:
        """A fresh Host with the probe deployed."""

        def environment(version: str) -> dict[str, Any]:
            declared: dict[str, Any] = {"VERSION": version, "JOURNAL": setup.journal}
            return declared | ({"PROBE": _Binding(host)} if setup.binding else {})

        host = self._host = self._host_class(
            setup.versions,
            setup.deployed,
            rules=self._rules,
            environment=environment,
            own_binding=setup.binding,
        )

    def end(self) -> dict[str, list[str]]:
        """Forget the Host; say which traps never sprung."""
        unsprung = [f"{trap.deed} {trap.instance} at {trap.point}" for trap in self.host.traps.set]
        self._host = None
        return {"unsprung": unsprung}

    # -- the caller's calls ------------------------------------------------------------------------

    def create(self, id: Any, params: Any) -> Any:
        return _told(lambda: self.host.create(_given(id), _given(params)))

    def get(self, id: Any) -> Any:
        return _told(lambda: self.host.get(id))

    def status(self, id: Any) -> Any:
        return _told(lambda: self.host.status(id))

    def send_event(self, id: Any, type: Any, payload: Any) -> Any:
        in_flight = _told(lambda: self.host.send_event(id, type, _given(payload)))
        return None if in_flight is None else _passed_on(in_flight)

    def terminate(self, id: Any) -> Any:
        """A future while the stop is not proven."""
        return _passed_on(_told(lambda: self.host.terminate(id)))

    # -- instruments -------------------------------------------------------------------------------

    def advance(self, milliseconds: int) -> None:
        self.host.advance(milliseconds)

    def settle(self) -> None:
        self.host.settle()

    def kill(self, id: str, at: str) -> None:
        self.host.kill(id, at)

    def pause(self, id: str, at: str) -> None:
        self.host.pause(id, at)

    def resume(self, id: str) -> None:
        self.host.resume(id)

    def stuck(self, id: str) -> None:
        self.host.stuck(id)

    def unstuck(self, id: str) -> None:
        self.host.unstuck(id)

    def backend(self, up: bool) -> None:
        self.host.backend(up)

    def restart(self) -> None:
        self.host.restart()

    def hold_wakes(self, on: bool) -> None:
        self.host.hold_wakes(on)

    def drop_response(self, call: Call) -> None:
        """The call takes effect; nobody hears how it ended."""
        try:
            call.perform(self)
        except HostError:
            return

    def deploy(self, weights: Mapping[str, int]) -> None:
        self.host.deploy(weights)

    def resource(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self.host.manage(request)

    def resources(self) -> dict[str, str]:
        return self.host.resources()

    def unbind(self) -> None:
        self.host.unbind()

    def bind(self) -> None:
        self.host.bind()

    def recreate_resource(self) -> None:
        self.host.recreate()

    def verify(self, state: str) -> None:
        self.host.hold_verification(state == "pending")

    def history(self, id: str) -> dict[str, Any]:
        return _told(lambda: document(self.host.history(id)))  # type: ignore[no-any-return]


class _Binding:
    """The caller's binding as the instance's own code reaches it; a call is made once the turn is over."""

    def __init__(self, host: ManagedHost) -> None:
        self._host = host

    async def get(self, id: str) -> "_Handle":
        """A handle on an instance."""
        return _Handle(self._host, id)


class _Handle:
    def __init__(self, host: ManagedHost, id: str) -> None:
        self._host, self._id = host, id

    async def terminate(self) -> None:
        """Settled if the instance lives to see it."""
        answer, resolve, reject = workflow.deferred()

        def tell(done: Future[None]) -> None:
            error = done.exception()
            if error is None:
                resolve(None)
            else:
                reject(error)

        self._host.from_inside(lambda: self._host.terminate(self._id).add_done_callback(tell))
        await answer


def _given(value: Any) -> Any:
    return None if value is ABSENT else value


def _translated(error: BaseException) -> BaseException:
    return HostError(error.name, error.message) if isinstance(error, CallError) else error


def _passed_on(inner: Future[None]) -> Future[None]:
    """The same future, in the words of the adapter."""
    outer: Future[None] = Future()

    def pass_on(done: Future[None]) -> None:
        error = done.exception()
        if error is None:
            outer.set_result(None)
        else:
            outer.set_exception(_translated(error))

    inner.add_done_callback(pass_on)
    return outer


def _told(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except CallError as error:
        raise HostError(error.name, error.message) from error


def make() -> ReferenceAdapter:
    """The reference, with the reference's choices."""
    return ReferenceAdapter()
