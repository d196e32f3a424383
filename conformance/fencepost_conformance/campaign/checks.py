"""What must be true once everything has come to an end, whatever was killed on the way.

Each check is a function from the evidence to what contradicts it; `CHECKS` names them all. The evidence is
what callers were told, which effects were really run, and what is on record. What a single instance may show
at all is judged elsewhere, by the machine (`judged`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fencepost.history.entries import COMMITTED

from .database import Rows
from .lives import TERMINAL, Life, Seen

PARKED = frozenset({"sleeping", "waiting"})


class Violation(NamedTuple):
    """One thing that contradicts a check; `instance` is empty where it is about none."""

    check: str
    instance: str
    what: str

    def __str__(self) -> str:
        return f"{self.check}: {self.instance + ': ' if self.instance else ''}{self.what}"


@dataclass(frozen=True)
class Evidence:
    """Everything that is known when a campaign is over.

    `executions` are effects that were begun, by instance and step; `changed` outcomes that were others when
    they were looked at again, by instance or by instance and step; `left` processes of dead workers that
    still run; `broken` what ended by itself.
    """

    lives: Sequence[Life]
    rows: Rows
    executions: Mapping[tuple[str, str], int]
    changed: Mapping[Any, tuple[Any, Any]]
    left: Sequence[int] = ()
    broken: Sequence[str] = ()


Found = Iterator[tuple[str, str]]


def ends(evidence: Evidence) -> Found:
    """Every instance that was created is terminal, or parked with nothing left that runs."""
    for life in evidence.lives:
        row = evidence.rows.instances.get(life.id)
        if row is None:
            yield life.id, "it was created, and is not on record"
        elif row.status not in TERMINAL | PARKED:
            yield life.id, f"it is {row.status} for ever"
        elif row.id in evidence.rows.contexts:
            yield life.id, f"it is {row.status}, and a context of it is not proven stopped"
        elif not life.end:
            yield life.id, f"its callers did not see that it is {row.status}"


def creates(evidence: Evidence) -> Found:
    """No create that was sent again has made a second run."""
    for id, count in Counter(evidence.rows.ids).items():
        if count > 1:
            yield id, f"it is there {count} times"
    for life in evidence.lives:
        told = [each for each in life.calls("create") if each.told]
        if len(told) > 1:
            yield life.id, f"{len(told)} creates of it have succeeded"


def events(evidence: Evidence) -> Found:
    """No accepted event is lost or used twice, none comes from nowhere, and the older of two goes first."""
    for life in evidence.lives:
        yield from ((life.id, what) for what in _events_of(life, evidence.rows))


def _events_of(life: Life, rows: Rows) -> Iterator[str]:
    sends = {_number(each.entry["payload"]): each for each in life.calls("sendEvent")}
    waits = [
        each for each in rows.steps.get(life.id, ()) if each.kind == "wait" and each.document is not None
    ]
    used = [_number(json.loads(each.document)) for each in waits]
    kept = [_number(json.loads(each.payload)) for each in rows.events.get(life.id, ())]
    for number, count in Counter(used + kept).items():
        if count > 1:
            yield f"event {number} is used or kept {count} times"
        if number not in sends:
            yield f"event {number} was never sent"
        elif sends[number].answer is not None and not sends[number].told:
            yield f"event {number} was refused, and is there"
    row = rows.instances.get(life.id)
    accepted = [number for number, send in sends.items() if send.told]
    for number in accepted if row is not None and row.status not in TERMINAL else ():
        if number not in used + kept:
            yield f"event {number} was accepted, and is lost"
    for number in used:
        for older in accepted:
            if older not in used and _before(sends[older], sends[number]):
                yield f"event {number} was used, and event {older} of its type, which is older, was not"


def _number(payload: Any) -> int:
    return int(payload["number"])


def _before(one: Seen, other: Seen) -> bool:
    return bool(one.entry["type"] == other.entry["type"] and one.ended < other.began)


def outcomes(evidence: Evidence) -> Found:
    """No step has had two outcomes: what was on record once is so at the end, and so is what run gave."""
    for key, (first, other) in evidence.changed.items():
        if isinstance(key, tuple):
            yield key[0], f"step {key[1]} had the outcome {first}, and has {other}"
    for id, history in evidence.rows.history.items():
        ended = Counter(each.step for each in history if each.settles)
        attempts = Counter((each.step, each.attempt) for each in history if each.kind == "attempt")
        for step, count in ended.items():
            if count > 1:
                yield id, f"{f'step {step}' if step else 'the run'} has {count} outcomes"
        for (step, attempt), count in attempts.items():
            if count > 1:
                yield id, f"attempt {attempt} of step {step} has {count} outcomes"


def terminal(evidence: Evidence) -> Found:
    """No terminal outcome has changed, whoever looked at it."""
    for key, (first, other) in evidence.changed.items():
        if not isinstance(key, tuple):
            yield key, f"it had ended as {first}, and is {other}"
    for life in evidence.lives:
        shown = [each for each in life.calls("status") if each.told and _of(each)["status"] in TERMINAL]
        for later in shown[1:]:
            if _of(later) != _of(shown[0]):
                yield life.id, f"its callers were told {_of(shown[0])}, and then {_of(later)}"
                break
        for each in life.calls("status"):
            if shown and each.began > shown[0].ended and each.told and _of(each)["status"] not in TERMINAL:
                yield (
                    life.id,
                    f"it had ended as {_of(shown[0])['status']}, and was {_of(each)['status']} again",
                )
                break


def _of(status: Seen) -> dict[str, Any]:
    assert status.answer is not None
    return {key: value for key, value in status.answer.value.items() if key in ("status", "output", "error")}


def fences(evidence: Evidence) -> Found:
    """No owner has committed anything once a later one had the instance."""
    for id, history in evidence.rows.history.items():
        latest = 0
        for each in history:
            if each.kind == "lease":
                latest = max(latest, each.owner)
            elif each.kind in COMMITTED and 0 < each.owner < latest:
                yield id, f"owner {each.owner} committed step {each.step} when owner {latest} had it"


def deliveries(evidence: Evidence) -> Found:
    """No effect was begun that no attempt was delivered for."""
    delivered = Counter((id, step) for id, step, _ in _deliveries(evidence))
    for (id, step), count in evidence.executions.items():
        if count > delivered[id, step]:
            yield (
                id,
                f"the effect of {step} was begun {count} times, and delivered {delivered[id, step]} times",
            )


def processes(evidence: Evidence) -> Found:
    """Nothing of a dead worker runs on, and no process has ended by itself."""
    if evidence.left:
        yield "", f"processes {', '.join(map(str, evidence.left))} of dead workers still run"
    for what in evidence.broken:
        yield "", what


CHECKS: Mapping[str, Callable[[Evidence], Found]] = {
    "ends": ends,
    "creates": creates,
    "events": events,
    "outcomes": outcomes,
    "terminal": terminal,
    "fences": fences,
    "deliveries": deliveries,
    "processes": processes,
}


def violations(evidence: Evidence) -> list[Violation]:
    """Everything that contradicts any check."""
    return [Violation(name, *found) for name, check in CHECKS.items() for found in check(evidence)]


def repeated(evidence: Evidence) -> int:
    """How many effects were begun once more for the same attempt, which is allowed (GRT-2)."""
    return max(0, sum(evidence.executions.values()) - len(set(_deliveries(evidence))))


def _deliveries(evidence: Evidence) -> Iterator[tuple[str, str, int]]:
    for id, history in evidence.rows.history.items():
        for each in history:
            if each.kind == "delivery":
                yield id, each.step, each.attempt
