"""The outside: which effects were begun and which contexts ran, by instance, and in which process.

Reports come over HTTP, as from any probe. What was reported is counted at once; the answer to the start of an
effect takes as long as the effect is to take, so that kills find effects under way.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable

from ..journal import Journal
from ..journal_server import respond
from ..loopback import Loopback, Reply, refusal
from .lives import Counts
from .plans import effect_seconds

_BODY_LIMIT = 1 << 20


class CampaignJournal:
    """Listens until it is closed; `url` and a process's name are where that process reports."""

    def __init__(self, drawn: random.Random) -> None:
        self.reported: defaultdict[str, list[tuple[float, Counts]]] = defaultdict(list)
        self._drawn = drawn
        self._token = secrets.token_urlsafe(16)
        self._guard = threading.Lock()
        self._journals: defaultdict[str, Journal] = defaultdict(Journal)
        self._server = Loopback(self._respond, _BODY_LIMIT)

    def url(self, process: str) -> str:
        """Where the contexts of a process report."""
        return f"{self._server.url}/{self._token}/{process}"

    def counts(self, instance: str) -> Counts:
        """Everything that was counted of one instance."""
        with self._guard:
            return self._counts(instance)

    def executions(self) -> dict[tuple[str, str], int]:
        """How often each effect was begun, by instance and step."""
        with self._guard:
            return {
                (instance, step): count
                for instance, journal in self._journals.items()
                for step, count in journal.effects.items()
            }

    def close(self) -> None:
        """Listen no more."""
        self._server.close()

    def _respond(self, method: str, path: str, body: bytes) -> Reply | Awaitable[Reply]:
        token, _, rest = path.removeprefix("/").partition("/")
        name = rest.rpartition("/")[2]
        if token != self._token:
            return refusal(404, "this campaign is over")
        with self._guard:
            reply = respond(_Heard(self._journals, self._note), method, name, body)
        if name != "effect-start" or reply.status != 200:
            return reply
        return _later(reply, effect_seconds(self._drawn))

    def _counts(self, instance: str) -> Counts:
        return {kind: dict(counts) for kind, counts in self._journals[instance].counts().items()}

    def _note(self, instance: str) -> None:
        self.reported[instance].append((time.monotonic(), self._counts(instance)))


class _Heard(Journal):
    """Hands each report to the journal of its instance."""

    def __init__(self, journals: defaultdict[str, Journal], note: Callable[[str], None]) -> None:
        super().__init__()
        self._of, self._note = journals, note

    def run(self, instance: str) -> None:
        self._of[instance].run(instance)
        self._note(instance)

    def count_start(self, instance: str, name: str) -> int:
        execution = self._of[instance].count_start(instance, name)
        self._note(instance)
        return execution

    def count_end(self, instance: str, name: str) -> None:
        self._of[instance].count_end(instance, name)


async def _later(reply: Reply, seconds: float) -> Reply:
    await asyncio.sleep(seconds)
    return reply
