"""A scenario played on real time, on a Host without a clock to move.

`advance` waits. `settle` waits by condition: until the journal and the statuses have stood still for a moment
and the Host is not behind the reference, to which the same happens at the same moments (`beside`). Readings
that follow are asked again until what is expected is seen, or there is no more patience. A Host may be late.

**What is held against a Host.** An expectation is written for a clock that stands still between the entries.
Real time does not, so an expectation that was not met counts only if the reference, with the time that really
passed, still meets it, and would with a clock as coarse as a second (TIM-1). Otherwise the moment that the
scenario is about was missed, which is nobody's fault: what it measures stays unmeasured for want of a clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from .adapter import AdapterFault, Connection, Handshake
from .beside import Beside, Moment, cut, tenable
from .expectations import is_range
from .probe.values import build
from .results import Difference
from .run import DEADLINE_SECONDS, PAST_LEASE_SECONDS, Run, word_of
from .scenario import Scenario, ScenarioError

PATIENCE_SECONDS = 10.0  # until a Host that is late must be there
STEP_SECONDS = 0.1  # more of it for each step of a loop
LESS_PATIENCE_SECONDS = 3.0  # in a scenario in which it has not been there before
JUDGED_PATIENCE_SECONDS = 2.0  # where nothing is expected, and whoever is late may be so
LATE_SECONDS = 2.0  # that a Host may be late where nobody could wait longer
QUIET_SECONDS = 0.3
PAUSE_SECONDS = 0.1

TERMINAL = frozenset({"complete", "errored", "terminated"})
_LOOKING = frozenset({"status", "get", "effects", "marks", "runs", "counts", "ready", "observe", "history"})
_TIME = frozenset({"advance", "settle", "recover", "await"})

Entry = Mapping[str, Any]


class _Attempt(NamedTuple):
    """A reading: when it was made, and what did not hold."""

    began: float
    ended: float
    differences: tuple[Difference, ...]


class WallClockRun(Run):
    """One scenario being run on real time."""

    def __init__(
        self,
        connection: Connection,
        handshake: Handshake,
        scenario: Scenario,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        super().__init__(connection, handshake, scenario, deadline)
        self.moments: list[Moment] = []
        patience = JUDGED_PATIENCE_SECONDS if scenario.judged else PATIENCE_SECONDS
        self._patience = patience + STEP_SECONDS * _looped(scenario.programs)
        self._began_to_wait: float | None = None  # nobody has called the Host since
        self.beside: Beside | None = None
        self._ids: dict[str, None] = {}

    @property
    def passed(self) -> float:
        """Real seconds since the scenario began."""
        return time.monotonic() - self._began

    def begin(self) -> None:
        super().begin()
        self.beside = Beside(self.scenario, self.handshake.lease_seconds)

    def enter(self, entry: Entry) -> None:
        """Play an entry, again and again if it only looks; what did not hold is held against the Host, or is
        missed."""
        word = word_of(entry)
        if word not in _LOOKING and word not in _TIME:
            self._began_to_wait = None
        self._follow(lambda beside: beside.pass_until(self.passed))
        attempts = [self._attempt(entry)]
        if word in _LOOKING and self._began_to_wait is not None:
            while self._may_yet_hold(attempts[-1], self._began_to_wait):
                time.sleep(PAUSE_SECONDS)
                attempts.append(self._attempt(entry))
        last = attempts[-1]
        self.moments.append(Moment(entry, last.began, last.ended))
        self._name(entry)
        self._follow(lambda beside: beside.enter(entry, last.ended if word in _TIME else last.began))
        if last.differences:
            self._decide(attempts)
        self.index += 1

    def settle(self) -> None:
        """The Host runs by itself."""

    def not_ended(self) -> str:
        return f"the call has not ended within {self._patience:g} s"

    # One entry

    def _attempt(self, entry: Entry) -> _Attempt:
        """Play an entry; what an earlier attempt has left is forgotten."""
        self.observations = [each for each in self.observations if each.index != self.index]
        before = len(self.differences)
        began = self.passed
        self.act(entry)
        found = tuple(self.differences[before:])
        del self.differences[before:]
        return _Attempt(began, self.passed, found)

    def act(self, entry: Entry) -> None:
        self._sent = time.monotonic()
        word = word_of(entry)
        if word in _ENTRIES:
            _ENTRIES[word](self, entry)
        else:
            super().act(entry)

    def _may_yet_hold(self, attempt: _Attempt, since: float) -> bool:
        if not attempt.differences or any(_is_final(each) for each in attempt.differences):
            return False
        return self.passed < max(since + self._patience, attempt.began)

    def _decide(self, attempts: list[_Attempt]) -> None:
        """Hold what did not hold against the Host, unless the reference could not meet it either."""
        last = self._last_tenable(attempts)
        late = last is not None and not any(map(_is_final, last.differences))
        since = attempts[0].began if self._began_to_wait is None else self._began_to_wait
        if last is None or (late and last is not attempts[-1] and last.ended - since < LATE_SECONDS):
            self.missed.extend(attempts[0].differences)
            return
        waited = (
            f" (not within {last.ended - since:.1f} s)" if late and self._began_to_wait is not None else ""
        )
        self.differences.extend(replace(each, message=each.message + waited) for each in last.differences)
        if late:
            self._patience = min(self._patience, LESS_PATIENCE_SECONDS)

    def _last_tenable(self, attempts: list[_Attempt]) -> _Attempt | None:
        """The last attempt at which the expectation could still be met; what can be met is met from the first
        on."""

        def holds(attempt: _Attempt) -> bool:
            moments = cut(self.moments, attempt.began, attempt.ended)
            return tenable(self.scenario, self.handshake.lease_seconds, moments)

        if holds(attempts[-1]):
            return attempts[-1]
        low, high = 0, len(attempts) - 1  # those below `low` can be met, those from `high` on cannot
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if holds(attempts[middle]) else (low, middle)
        return attempts[low - 1] if low else None

    # Time

    def enter_advance(self, entry: Entry) -> None:
        self._wait(entry["advance"])

    def enter_settle(self, entry: Entry) -> None:
        self._began_to_wait = self.passed
        self._come_to_rest()
        if self.scenario.judged and "journal" in self.handshake.instruments:
            self.observe(word_of(entry), self.ask("journal"))

    def enter_recover(self, entry: Entry) -> None:
        self._wait(self.handshake.lease_seconds + PAST_LEASE_SECONDS)
        self.enter_settle(entry)

    def enter_await(self, entry: Entry) -> None:
        self._began_to_wait = self.passed
        self.conclude_flight(entry, self._patience)

    def _wait(self, seconds: float) -> None:
        limit = self._sent + seconds
        while (left := limit - time.monotonic()) > 0:
            time.sleep(left)

    def _come_to_rest(self) -> None:
        """Wait until the Host stands still and is not behind, or there is no more patience."""
        limit = self.passed + self._patience
        seen, since = self._look(), self.passed
        while self.passed < limit:
            behind = self._is_behind(seen)
            if not behind and self.passed - since >= QUIET_SECONDS:
                return
            time.sleep(PAUSE_SECONDS)
            now = self._look()
            if now != seen:
                seen, since = now, self.passed
        if self._is_behind(seen):
            self._patience = min(self._patience, LESS_PATIENCE_SECONDS)

    # Where the Host is, and where the reference

    def _look(self) -> tuple[Mapping[str, int], Mapping[str, Any]]:
        """How often effects have begun, and statuses; nobody is looked at while there are effects to come, so
        that no look wakes them."""
        effects = self.ask("journal")["effects"] if "journal" in self.handshake.instruments else {}
        if self._lacks_effects(effects):
            return effects, {}
        return effects, {id: self._status(id) for id in self._ids}

    def _status(self, id: str) -> Any:
        answer = self.connection.poll(self.connection.send("status", id=id), self._patience)
        if answer is None or answer.error is not None or not isinstance(answer.value, dict):
            return None if answer is None else "rejected"
        return answer.value.get("status")

    def _is_behind(self, seen: tuple[Mapping[str, int], Mapping[str, Any]]) -> bool:
        """Whether the reference has begun an effect, or come to an end, and the Host has not."""
        effects, statuses = seen
        if self._lacks_effects(effects):
            return True
        reference = self._reference(lambda beside: {id: beside.status(id) for id in self._ids}) or {}
        return any(
            status in _GOING
            and isinstance(reference.get(id), dict)
            and reference[id].get("status") in TERMINAL
            for id, status in statuses.items()
        )

    def _lacks_effects(self, effects: Mapping[str, int]) -> bool:
        if "journal" not in self.handshake.instruments:
            return False
        reference = self._reference(lambda beside: beside.counts()["effects"]) or {}
        return any(effects.get(name, 0) < count for name, count in reference.items())

    def _reference(self, look: Callable[[Beside], Any]) -> Any:
        found: list[Any] = []

        def do(beside: Beside) -> None:
            beside.pass_until(self.passed)
            found.append(look(beside))

        self._follow(do)
        return found[0] if found else None

    def _follow(self, do: Callable[[Beside], None]) -> None:
        """Have the reference do something; where it cannot follow it is left behind."""
        if self.beside is None:
            return
        try:
            do(self.beside)
        except (AdapterFault, ScenarioError):
            self.beside = None

    def _name(self, entry: Entry) -> None:
        """Remember the ids under which instances were created."""
        for word in ("start", "dropResponse"):
            if isinstance(entry.get(word), Mapping):
                self._name(entry[word])
        if "create" not in entry:
            return
        id = {"$": entry["as"]} if entry["create"] is None and "as" in entry else entry["create"]
        built = build(id, self.variables)
        if isinstance(built, str) and built and built.isascii():
            self._ids[built] = None


_GOING = frozenset({"queued", "running", "sleeping", "waiting", None})

_ENTRIES: Mapping[str, Callable[[WallClockRun, Entry], None]] = {
    "advance": WallClockRun.enter_advance,
    "settle": WallClockRun.enter_settle,
    "recover": WallClockRun.enter_recover,
    "await": WallClockRun.enter_await,
}


def _looped(part: Any) -> int:
    """How many rounds the loops of these programs have, nested ones counted once."""
    if isinstance(part, Mapping):
        rounds = part.get("repeat")
        return (rounds if isinstance(rounds, int) else 0) + sum(map(_looped, part.values()))
    return sum(map(_looped, part)) if isinstance(part, (list, tuple)) else 0


def _is_final(difference: Difference) -> bool:
    """Whether waiting cannot mend it: an end that was seen stays, and what was counted is not taken back."""
    seen, expected = difference.seen, difference.expected
    if not isinstance(seen, dict):
        return False
    if seen.get("status") in TERMINAL:
        return True
    if not isinstance(expected, dict):
        return False
    return any(_is_more(count, expected.get(name)) for name, count in seen.items())


def _is_more(count: Any, expected: Any) -> bool:
    most = expected.get("atMost") if is_range(expected) else expected
    return isinstance(count, int) and isinstance(most, int) and count > most
