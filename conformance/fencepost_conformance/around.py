"""A connection around another one, for what is to happen between the kit and an adapter."""

from typing import Any

from .adapter import Answer, Connection, Handshake


class Around:
    """Passes everything on, both ways."""

    def __init__(self, inner: Connection) -> None:
        self.inner = inner

    @property
    def patience(self) -> float:
        """As the inner connection has it."""
        return self.inner.patience

    @patience.setter
    def patience(self, seconds: float) -> None:
        self.inner.patience = seconds

    @property
    def grace(self) -> float:
        """As the inner connection has it."""
        return self.inner.grace

    @grace.setter
    def grace(self, seconds: float) -> None:
        self.inner.grace = seconds

    @property
    def greeting(self) -> Handshake | None:
        """As the inner connection has it."""
        return self.inner.greeting

    @greeting.setter
    def greeting(self, handshake: Handshake | None) -> None:
        self.inner.greeting = handshake

    @property
    def broken(self) -> bool:
        """As the inner connection has it."""
        return self.inner.broken

    @broken.setter
    def broken(self, is_broken: bool) -> None:
        self.inner.broken = is_broken

    def send(self, op: str, **arguments: Any) -> int:
        """Begin a request."""
        return self.inner.send(op, **arguments)

    def poll(self, ticket: int, seconds: float) -> Answer | None:
        """The answer, or None."""
        return self.inner.poll(ticket, seconds)

    def unanswered(self) -> list[str]:
        """The ops that wait for an answer, in order."""
        return self.inner.unanswered()

    def log(self) -> str:
        """The last that the adapter logged."""
        return self.inner.log()

    def lines(self) -> list[str]:
        """The last lines since the scenario began."""
        return self.inner.lines()

    def close(self) -> None:
        """End the adapter."""
        self.inner.close()
