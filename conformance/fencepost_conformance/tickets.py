"""The book of requests that were made and of answers that came, for connections that speak JSON.

A request is ``{"op": NAME, "ticket": N, ...}``, an answer is ``{"ticket": N}`` with one of ``ok``,
``error`` and ``fault``. What is no answer to a request that is open is a `BadAnswer`, which says in one line
what came and what was expected.
"""

import json
from collections.abc import Mapping
from typing import Any

from fencepost import json_text

from .adapter import Answer

_SHOWN = 80  # characters of something that is no answer
ANSWER = '{"ticket": N, "ok": VALUE}, with "error": {"name", "message"} or "fault": TEXT in place of "ok"'


class BadAnswer(Exception):
    """What an adapter sent is no answer, or it is the report of its own fault; one line."""


class Tickets:
    """Requests by ticket, each until it is answered, and answers, each until it is fetched."""

    def __init__(self) -> None:
        self._last = 0
        self._open: dict[int, str] = {}
        self._first = 0  # of the present scenario
        self._answers: dict[int, Answer] = {}

    def make(self, op: str, arguments: Mapping[str, Any]) -> tuple[int, bytes]:
        """The next ticket and its request, on one line without its end."""
        self._last += 1
        self._open[self._last] = op
        return self._last, json.dumps({"op": op, "ticket": self._last, **arguments}).encode("ascii")

    def forget(self) -> None:
        """Of a scenario that is over nothing is wanted any more: what is answered late is let pass."""
        self._answers.clear()
        self._first = self._last

    def unanswered(self) -> list[str]:
        """The ops of the present scenario that have no answer, in the order in which they were asked."""
        return [op for ticket, op in self._open.items() if ticket >= self._first]

    def fetch(self, ticket: int) -> Answer | None:
        """The answer, once."""
        return self._answers.pop(ticket, None)

    def take(self, text: bytes, to: int | None = None) -> None:
        """An answer has come, `to` a certain request or to any that is open; raises BadAnswer."""
        message = _object(text)
        ticket = message.pop("ticket", None)
        op = self._close(ticket, text, to)
        match message:
            case {"ok": value, **others} if not others:
                self._answers[ticket] = Answer(value)
            case {"error": {"name": str(name), "message": str(why)}, **others} if not others:
                self._answers[ticket] = Answer(error=(name, why))
            case {"fault": str(why), **others} if not others:
                raise BadAnswer(why)
            case _:
                raise BadAnswer(
                    f"the adapter's answer to {op} is none of ok, error, fault: {_shown(text)}; send {ANSWER}"
                )

    def _close(self, ticket: Any, text: bytes, to: int | None) -> str:
        """The op that is answered herewith."""
        wanted = f"; repeat the number of the request{'' if to is None else f', {to}'}"
        if ticket is None:
            raise BadAnswer(f"the adapter's answer has no ticket: {_shown(text)}{wanted}")
        if type(ticket) is not int:
            raise BadAnswer(f"the adapter's answer has the ticket {json.dumps(ticket)[:_SHOWN]}{wanted}")
        if to is not None and ticket != to:
            raise BadAnswer(f"the adapter answered ticket {ticket} to {self._open[to]}{wanted}")
        if ticket not in self._open:
            seen = 0 < ticket <= self._last
            raise BadAnswer(
                f"the adapter answered ticket {ticket} twice: {_shown(text)}; answer each request once"
                if seen
                else f"the adapter answered ticket {ticket}, which was not asked{wanted}"
            )
        return self._open.pop(ticket)


def _object(text: bytes) -> dict[str, Any]:
    try:
        message = json_text.read(text)
    except ValueError:
        raise BadAnswer(f"the adapter sent what is not JSON: {_shown(text)}; send {ANSWER}") from None
    if not isinstance(message, dict):
        raise BadAnswer(f"the adapter sent no object: {_shown(text)}; send {ANSWER}")
    return message


def _shown(text: bytes) -> str:
    return repr(text[:_SHOWN].decode("utf-8", "replace"))
