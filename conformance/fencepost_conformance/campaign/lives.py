"""What happens to one instance from outside: who called it when, and what was answered.

A life is led by one thread, which looks at its instance now and then and does what the plan says; calls that
are made at once have threads of their own. Times are seconds of the monotonic clock.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..adapter import Answer
from .callers import Caller, NotMade
from .plans import LAST, Move, Plan

Counts = dict[str, dict[str, int]]
"""What the journal has counted of one instance, by kind and name."""

TERMINAL = frozenset({"complete", "errored", "terminated"})
_LOOK_SECONDS = (0.05, 0.4)
_AGAIN_SECONDS = 0.1


@dataclass(frozen=True)
class Seen:
    """One call: the entry of a schedule that it is, and its `answer`, None where nobody was told."""

    began: float
    ended: float
    entry: dict[str, Any]
    answer: Answer | None
    caller: str = ""

    @property
    def told(self) -> bool:
        """Whether the call was answered with a success."""
        return self.answer is not None and self.answer.error is None


@dataclass
class Life:
    """One instance, as callers and the journal saw it; `end` is its last status, or empty.

    `reported` are the instants of what its contexts reported, with the counts that the journal had then.
    """

    plan: Plan
    seen: list[Seen] = field(default_factory=list)
    reported: list[tuple[float, Counts]] = field(default_factory=list)
    end: str = ""

    @property
    def id(self) -> str:
        """The id of the instance."""
        return self.plan.id

    def calls(self, word: str) -> list[Seen]:
        """The calls of one word, by the instants of their answers."""
        return sorted((each for each in self.seen if word in each.entry), key=lambda each: each.ended)


class Leader:
    """Leads lives to their ends."""

    def __init__(
        self,
        callers: Sequence[Caller],
        counts: Callable[[str], Counts],
        drawn: Callable[[str], random.Random],
        given_up: Callable[[], bool],
    ) -> None:
        self._callers, self._counts, self._drawn, self._given_up = callers, counts, drawn, given_up

    def lead(self, life: Life) -> None:
        """Create the instance, and see it through; it has no `end` where that was given up."""
        drawn = self._drawn(life.id)
        self._create(life, drawn)
        began = time.monotonic()
        left = list(life.plan.moves)
        numbers = itertools.count(1)
        aside: list[threading.Thread] = []
        while not self._given_up():
            pause = drawn.uniform(*_LOOK_SECONDS)
            until_next = left[0].at - (time.monotonic() - began) if left else pause
            if until_next > 0:
                time.sleep(min(pause, until_next))
            elif left:
                aside += self._do(life, left.pop(0), numbers, drawn)
                continue
            at_last = LAST in self._counts(life.id)["effects"]
            status = self._look(life, drawn)
            aside = [each for each in aside if each.is_alive()]
            over = status in TERMINAL or (status == "waiting" and at_last)
            if over and not aside and (not left or status in TERMINAL):
                life.end = str(status)
                break
        for thread in aside:
            thread.join()

    def look(self, life: Life) -> None:
        """Look once more, with every caller."""
        for caller in self._callers:
            self._call(life, caller, {"status": life.id})

    def _create(self, life: Life, drawn: random.Random) -> None:
        entry = {"create": life.id, "program": "main"}
        params = {"program": list(life.plan.program)}
        while not self._given_up():
            answer = self._call(life, drawn.choice(self._callers), entry, params=params)
            if answer is not None:  # refused, it was created by an earlier call that nobody has answered
                return
            time.sleep(_AGAIN_SECONDS)

    def _do(
        self, life: Life, move: Move, numbers: itertools.count[int], drawn: random.Random
    ) -> list[threading.Thread]:
        threads = []
        for _ in range(move.several):
            entry: dict[str, Any] = {move.word: life.id}
            if move.type:
                entry |= {"type": move.type, "payload": {"number": next(numbers)}}
            made = (life, drawn.choice(self._callers), entry)
            threads.append(threading.Thread(target=self._call, args=made, daemon=True))
        for thread in threads:
            thread.start()
        if move.word == "terminate":
            return threads
        for thread in threads:
            thread.join()
        return []

    def _look(self, life: Life, drawn: random.Random) -> str | None:
        answer = self._call(life, drawn.choice(self._callers), {"status": life.id})
        return str(answer.value["status"]) if answer is not None and answer.error is None else None

    def _call(self, life: Life, caller: Caller, entry: dict[str, Any], **given: Any) -> Answer | None:
        word = next(iter(entry))
        given |= {key: entry[key] for key in ("type", "payload") if key in entry}
        began = time.monotonic()
        try:
            answer = caller.call(word, life.id, **given)
        except NotMade:
            return None
        life.seen.append(Seen(began, time.monotonic(), entry, answer, caller.name))
        return answer
