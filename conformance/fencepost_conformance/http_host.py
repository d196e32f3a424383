"""A connection to an adapter that is an HTTP server: each request is a POST, whose response is the answer.

A call in flight is a request whose response has not come. Several are open at once, each on a connection of
its own; connections are kept and used again. The kit has not started the server and cannot end it: closing
hangs up, on requests that are open too, which is how a server sees that nobody waits any more.
"""

import http.client
import re
import select
import time
from typing import Any

from .adapter import AdapterFault, Answer, Handshake
from .child import PATIENCE_SECONDS
from .tickets import ANSWER, BadAnswer, Tickets

GRACE_SECONDS = 0.1  # in which a request that is not answered has arrived, before one on another connection
STALL_SECONDS = 60.0  # for a connection, for the whole of a request to go out, for the rest of a response
BODY_LIMIT = 1 << 26  # bytes of one answer

_ADDRESS = re.compile(r"http://(?P<host>[^/:?#]+|\[[^\]]+\]):(?P<port>\d{1,5})(?P<path>/[^?#]*)?")
_IDLE_SECONDS = 2.0  # after which a server may be about to hang up
_OK = 200
_SHOWN = 80  # bytes of a response that is no answer


class BadAddress(ValueError):
    """What is no address of a server; one line."""


class HttpHost:
    """A Connection to the server at an address; raises BadAddress."""

    def __init__(
        self, address: str, *, patience: float = PATIENCE_SECONDS, grace: float = GRACE_SECONDS
    ) -> None:
        self.patience = patience
        self.grace = grace
        self.greeting: Handshake | None = None
        self.broken = False
        self._address = address
        self._host, self._port, self._path = parsed(address)
        self._tickets = Tickets()
        self._flying: dict[int, tuple[str, http.client.HTTPConnection]] = {}
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []

    def send(self, op: str, **arguments: Any) -> int:
        """Send a request on a connection of its own; raises AdapterFault when there is nobody to take it."""
        if self.broken:
            raise AdapterFault(f"the adapter at {self._address} was given up")
        if op == "begin":
            self._hang_up()
            self._tickets.forget()
        ticket, body = self._tickets.make(op, arguments)
        connection = self._connection()
        try:
            connection.request("POST", self._path, body, {"Content-Type": "application/json"})
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._fault(f"{op} cannot be sent to {self._address}: {_because(error)}") from error
        self._flying[ticket] = (op, connection)
        return ticket

    def poll(self, ticket: int, seconds: float) -> Answer | None:
        """The answer if its response begins within `seconds`; raises AdapterFault."""
        if ticket not in self._flying:
            raise AdapterFault(f"the adapter at {self._address} was given up")
        op, connection = self._flying[ticket]
        if not select.select((connection.sock,), (), (), seconds)[0]:
            return None
        del self._flying[ticket]
        try:
            body = self._received(op, connection)
            self._tickets.take(body, ticket)
        except BadAnswer as bad:
            connection.close()
            raise self._fault(str(bad)) from None
        return self._tickets.fetch(ticket)

    def unanswered(self) -> list[str]:
        """The ops that wait for an answer, in order."""
        return self._tickets.unanswered()

    def log(self) -> str:
        """Nothing: the server keeps its own log."""
        return ""

    def lines(self) -> list[str]:
        """Nothing."""
        return []

    def close(self) -> None:
        """Hang up on everything; may be called twice."""
        self._hang_up()
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()

    def _connection(self) -> http.client.HTTPConnection:
        """One that is connected: the last that became idle, if its other end still stands, or a new one."""
        while self._idle:
            since, connection = self._idle.pop()
            if (
                time.monotonic() - since < _IDLE_SECONDS
                and not select.select((connection.sock,), (), (), 0)[0]
            ):
                return connection
            connection.close()
        connection = http.client.HTTPConnection(self._host, self._port, timeout=STALL_SECONDS)
        try:
            connection.connect()
        except OSError as error:
            raise self._fault(
                f"nobody answers at {self._address} ({_because(error)}); start the Host there first"
            ) from error
        return connection

    def _received(self, op: str, connection: http.client.HTTPConnection) -> bytes:
        """The body of the response that has begun; raises BadAnswer."""
        try:
            response = connection.getresponse()
            body = response.read(BODY_LIMIT + 1)
        except http.client.RemoteDisconnected:
            raise BadAnswer(f"the adapter hung up without an answer to {op}; send {ANSWER}") from None
        except TimeoutError:
            raise BadAnswer(
                f"the adapter's response to {op} stopped half way, for {STALL_SECONDS:g} s"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise BadAnswer(f"the adapter's response to {op} is no HTTP: {_because(error)}") from None
        if response.status != _OK:
            raise BadAnswer(
                f"the adapter answered {op} with HTTP status {response.status}: {body[:_SHOWN]!r}; "
                f"answer {_OK} in any case, with {ANSWER}"
            )
        if len(body) > BODY_LIMIT:
            raise BadAnswer(f"the adapter's response to {op} has more than {BODY_LIMIT} bytes")
        if response.length:
            raise BadAnswer(
                f"the adapter's response to {op} was cut short: {response.length} bytes are missing"
            )
        if response.will_close:
            connection.close()
        else:
            self._idle.append((time.monotonic(), connection))
        return body

    def _hang_up(self) -> None:
        for _, connection in self._flying.values():
            connection.close()
        self._flying.clear()

    def _fault(self, text: str) -> AdapterFault:
        self.broken = True
        self.close()
        return AdapterFault(text)


def parsed(address: str) -> tuple[str, int, str]:
    """Host, port and path of an address; raises BadAddress."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise BadAddress(f"{address}: give http://HOST:PORT, such as http://127.0.0.1:8080")
    return found["host"].strip("[]"), int(found["port"]), found["path"] or "/"


def _because(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
