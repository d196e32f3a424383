"""The bench: an adapter object and the journal of its present scenario, and how a request becomes a method
call.

Used wherever an adapter is a Python object: in the kit's own process and in a child's. Requests arrive with
VALUEs; the bench builds the live ones. What a method returns is passed on as it is: a value, a Future or an
awaitable.
"""

from collections.abc import Callable, Mapping
from typing import Any

from .adapter import ABSENT, AdapterFault, Call, HostError, Setup
from .journal import Journal
from .probe import load
from .probe.values import UNDEFINED, build, document
from .remote_journal import RemoteJournal

_NOTHING: Mapping[str, Any] = {}

# caller's call -> its arguments and how each is built
_CALLS: Mapping[str, Mapping[str, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "create": {"id": build, "params": document},
    "get": {"id": build},
    "status": {"id": build},
    "send_event": {"id": build, "type": build, "payload": document},
    "terminate": {"id": build},
}

# op of an instrument -> the arguments that its method takes, by position
_INSTRUMENTS: Mapping[str, tuple[str, ...]] = {
    "handshake": ("hello",),
    "end": (),
    "advance": ("milliseconds",),
    "settle": (),
    "kill": ("id", "at"),
    "pause": ("id", "at"),
    "resume": ("id",),
    "stuck": ("id",),
    "unstuck": ("id",),
    "backend": ("up",),
    "restart": (),
    "hold_wakes": ("on",),
    "deploy": ("weights",),
    "resource": ("request",),
    "resources": (),
    "unbind": (),
    "bind": (),
    "recreate_resource": (),
    "verify": ("state",),
    "history": ("id",),
}


class Bench:
    """One adapter object, asked one thing after the other."""

    def __init__(self, adapter: Any) -> None:
        self.adapter = adapter
        self.journal = Journal()

    def perform(self, op: str, arguments: Mapping[str, Any]) -> Any:
        """Do what `op` says; raises HostError for a rejection, AdapterFault for a missing method."""
        if op in _CALLS:
            return self._method(op)(**self._given(op, arguments))
        if op in _INSTRUMENTS:
            return self._method(op)(*(arguments[name] for name in _INSTRUMENTS[op]))
        return _OWN[op](self, **arguments)

    def is_own(self, op: str) -> bool:
        """Whether the bench answers by itself, without the adapter."""
        return op in ("journal", "release")

    def method(self, op: str) -> Any:
        """The adapter's method for `op`, or None."""
        return getattr(self.adapter, op, None)

    def _given(self, op: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a caller's call: live ones, or VALUEs for an adapter that wants them raw."""
        if getattr(self.adapter, "raw_values", False) is True:
            return {name: arguments.get(name, ABSENT) for name in _CALLS[op]}
        return live(op, arguments)

    def _method(self, op: str) -> Any:
        method = self.method(op)
        if method is None:
            raise AdapterFault(f"the adapter has no method {op}; add it, or do not offer its instrument")
        return method

    def _begin(
        self,
        token: str,
        versions: list[str],
        deployed: Mapping[str, int],
        uses: list[str],
        journal: str | None = None,
        probe: Any = None,  # the module of it is for those who run JavaScript
    ) -> Any:
        self.journal = Journal() if journal is None else RemoteJournal(journal)
        loaders = {version: load(version) for version in versions}
        return self._method("begin")(Setup(token, loaders, deployed, self.journal, frozenset(uses)))

    def _drop_response(self, call: str, arguments: Mapping[str, Any]) -> Any:
        made = self._given(call, arguments) if call in _CALLS else dict(arguments)
        return self._method("drop_response")(Call(call, made))

    def _journal(self) -> Any:
        return self.journal.counts()

    def _release(self, gate: str) -> None:
        self.journal.release(gate)


def live(op: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The live arguments of a caller's call; what was not given, or is undefined, is ABSENT."""
    built = {
        name: make(arguments[name], _NOTHING) if name in arguments else ABSENT
        for name, make in _CALLS[op].items()
    }
    return {name: ABSENT if value is UNDEFINED else value for name, value in built.items()}


def failure(error: BaseException) -> tuple[str, str] | None:
    """The name and message of a rejection by the Host, or None for any other exception."""
    return (error.name, error.message) if isinstance(error, HostError) else None


def fault(op: str, error: BaseException) -> str:
    """One line on an exception that the adapter must not raise."""
    if isinstance(error, AdapterFault):
        return str(error)
    return f"{op} raised {type(error).__name__}: {error}"


_OWN: Mapping[str, Callable[..., Any]] = {
    "begin": Bench._begin,
    "drop_response": Bench._drop_response,
    "journal": Bench._journal,
    "release": Bench._release,
}
