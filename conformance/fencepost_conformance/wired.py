"""The kit's own part of a connection to a Host in another process: the journal stays with the kit.

`begin` is sent with the address of the scenario's journal and with the probe's module. What the kit asks of
the journal, its counts and the release of a gate, is answered here, and never sent.
"""

from collections.abc import Callable, Mapping
from typing import Any

from .adapter import Answer, Connection
from .around import Around
from .journal_server import PROBE, JournalServer
from .probe import javascript


class Wired(Around):
    """A connection to an adapter whose probe reports by HTTP."""

    def __init__(self, inner: Connection) -> None:
        super().__init__(inner)
        self._journal = JournalServer()
        self._own: dict[int, Answer] = {}  # by tickets of our own, below zero

    def send(self, op: str, **arguments: Any) -> int:
        """Begin a request, or answer it; raises AdapterFault."""
        if op in _OWN:
            ticket = -1 - len(self._own)
            self._own[ticket] = Answer(_OWN[op](self._journal, **arguments))
            return ticket
        if op == "begin":
            self._own.clear()
            arguments |= self._where()
        return self.inner.send(op, **arguments)

    def poll(self, ticket: int, seconds: float) -> Answer | None:
        """The answer, or None; raises AdapterFault."""
        return self._own[ticket] if ticket in self._own else self.inner.poll(ticket, seconds)

    def close(self) -> None:
        """End the adapter and the journal."""
        self.inner.close()
        self._journal.close()

    def _where(self) -> dict[str, Any]:
        """The address of a fresh journal, and where the probe is."""
        base, source = self._journal.begin(), javascript.source()
        module = {"path": str(source.path), "url": f"{base}/{PROBE}", "digest": source.digest}
        return {"journal": base, "probe": module}


_OWN: Mapping[str, Callable[..., Any]] = {
    "journal": JournalServer.counts,
    "release": JournalServer.release,
}
