"""The judge where owners may be lost at any moment: what it must admit, and what it must refuse still."""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_conformance.adapter import Answer, Handshake
from fencepost_conformance.judge import Admitted, judge
from fencepost_conformance.observations import Observation
from fencepost_conformance.scenario import from_document

Entry = dict[str, Any]

COUNTING = {"attempts": [{"value": {"n": 1}}, {"value": {"n": 2}}]}
STEPS: list[Entry] = [
    {"do": "a", "effect": COUNTING, "as": "r"},
    {"do": "b", "effect": {"value": {}}},
    {"return": {"$": "r"}},
]
SLEEP: list[Entry] = [{"sleep": "s", "seconds": 1}]
HANDSHAKE = Handshake("any", "", frozenset({"journal"}), 1.0)


def admitted(program: list[Entry], *seen: tuple[float, Entry, Any], losses: int | None = 0) -> bool:
    """Whether the judge admits a life: instants in seconds, entries, and what they showed."""
    told = [(0.0, {"create": "i", "program": "main"}, Answer("i")), *seen]
    document = {"judged": True, "programs": {"main": program}, "schedule": [entry for _, entry, _ in told]}
    observations = [
        Observation(index, next(iter(entry)), answer, at, at)
        for index, (at, entry, answer) in enumerate(told)
    ]
    verdict = judge(
        from_document(document, "a life", validate=False),
        observations,
        HANDSHAKE,
        tolerance_milliseconds=10,
        fine_clock=True,
        losses=losses,
    )
    assert not isinstance(verdict, Admitted) or verdict.notes == ()
    return verdict.admitted


def counts(at: float, **effects: int) -> tuple[float, Entry, Any]:
    return at, {"settle": True}, {"effects": effects, "marks": {}, "runs": {"i": 3}}


def status(at: float, **shown: Any) -> tuple[float, Entry, Any]:
    return at, {"status": "i"}, Answer(shown)


@pytest.mark.parametrize(("losses", "admits"), [(None, False), (0, True), (1, True)])
def test_an_effect_that_was_not_committed_may_begin_again(losses: int | None, admits: bool) -> None:
    life = counts(1, a=1), counts(2, a=2), status(4, status="complete", output={"n": 2}), counts(5, a=2, b=1)
    assert admitted(STEPS, *life, losses=losses) is admits


def test_an_owner_may_be_lost_before_its_code_hears_of_a_commit() -> None:
    failing: Entry = {"do": "a", "effect": {"throw": "no"}, "retry": {"maxAttempts": 1}, "catch": "e"}
    life = counts(1, a=1), status(2, status="queued"), status(3, status="sleeping"), counts(3.5, a=1)
    assert admitted([failing, *SLEEP], *life)
    assert not admitted([failing, *SLEEP], *life, counts(4, a=2))


def test_the_outcome_is_that_of_the_owner_that_committed() -> None:
    life = counts(1, a=1), counts(2, a=2), status(4, status="complete", output={"n": 1}), counts(5, a=2, b=1)
    assert not admitted(STEPS, *life)


@pytest.mark.parametrize("n", [1, 2])
def test_a_lost_owner_that_is_not_proven_stopped_may_begin_late(n: int) -> None:
    ended = status(3, status="complete", output={"n": n})
    life = counts(1, a=1, b=1), counts(2, a=2, b=1), ended, counts(4, a=2, b=1)
    assert not admitted(STEPS, *life)
    assert admitted(STEPS, *life, losses=1) is (n == 1)


def test_a_committed_effect_does_not_begin_again_once_its_owner_is_stopped() -> None:
    ended = status(1, status="complete", output={"n": 1})
    life = ended, counts(2, a=1, b=1), counts(3, a=2, b=1)
    assert not admitted(STEPS, *life, losses=1)


@pytest.mark.parametrize(("at", "admits"), [(0.9, False), (1.1, True)])
def test_losses_wake_nobody_early(at: float, admits: bool) -> None:
    assert admitted(SLEEP, status(at, status="complete"), counts(2), losses=1) is admits


def test_a_call_that_nobody_heard_of_may_have_been_taken_or_not() -> None:
    waiting: list[Entry] = [
        {"wait": "w", "type": "go", "timeoutSeconds": 5, "as": "r"},
        {"return": {"$": "r"}},
    ]
    sent = (1.0, {"start": {"sendEvent": "i", "type": "go", "payload": {"k": 1}}, "as": "c"}, "in flight")
    assert admitted(waiting, sent, status(2, status="complete", output={"k": 1}), counts(3))
    assert admitted(waiting, sent, status(2, status="waiting"), counts(3))
    assert not admitted(waiting, status(2, status="complete", output={"k": 1}), counts(3))
