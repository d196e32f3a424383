"""Who may commit, and when an end is shown: tokens, leases, fences, stops and terminal outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fencepost.machine import Latitude, Rules, Vacant, enabled, next_instant
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    Close,
    CommitAttempt,
    Crash,
    Create,
    EndLifetime,
    Expire,
    Get,
    Park,
    Purge,
    ReadStatus,
    Renew,
    SendEvent,
    Settle,
    StopAck,
    Terminate,
    Unfit,
    Wake,
)
from fencepost.machine.records import evolve
from fencepost.machine.replies import (
    Accepted,
    BadArgument,
    Done,
    Fenced,
    Impossible,
    Parked,
    Pending,
    Recorded,
    Rejected,
    Run,
    StatusAnswer,
    Stopped,
    Unproven,
)
from fencepost.machine.state import Failed, Instance, Succeeded
from fencepost_spec.limits import Limits

Play = Callable[..., Any]

SMALL = Limits(lifetime_seconds=100, retention_seconds=50)
LEASE = 30_000
END = 100_000
RESULT = b'{"n":1}'
DO = {"effect": True}
RETRY = {"effect": True, "retry": {"maxAttempts": 3, "initialDelaySeconds": 10, "backoff": "exponential"}}


def rules(**choices: str) -> Rules:
    return Rules(SMALL, Latitude(**choices))


def claim(now: int = 0, token: int = 1) -> tuple[Action, type[Done]]:
    return Claim(now, token, "v1", now + LEASE), Done


CREATED = (Create(0, "i"), Done)
CLAIMED = (CREATED, claim())
DOING = (*CLAIMED, (BeginStep(0, 1, "do", "a", DO), Run(1)))
SLEEPING = (*CLAIMED, (BeginStep(0, 1, "sleep", "s", {"seconds": 5}), Pending), (Park(0, 1), Parked))
ASLEEP = (*SLEEPING, (StopAck(0, 1), Done))
WAIT = {"type": "go", "timeoutSeconds": 5}
WAITING = (
    *CLAIMED,
    (BeginStep(0, 1, "wait", "w", WAIT), Pending),
    (Park(0, 1), Parked),
    (StopAck(0, 1), Done),
)


# -- tokens and leases


@pytest.mark.parametrize("token", [0, 2, -1])
@pytest.mark.parametrize(
    "act",
    [
        lambda token: BeginStep(0, token, "do", "b", DO),
        lambda token: Park(0, token),
        lambda token: CommitAttempt(0, token, RESULT),
        lambda token: Settle(0, token, RESULT),
        lambda token: Renew(0, token, LEASE + 1),
    ],
)
def test_only_the_current_token_counts(play: Play, act: Callable[[int], Action], token: int) -> None:
    play(*DOING, (act(token), Fenced), "running")
    play(CREATED, (act(token), Fenced), "queued")
    play(*ASLEEP, (act(token), Fenced), (act(1), Fenced), "sleeping")
    play((act(token), Fenced))


def test_a_lease_ends_at_its_own_instant(play: Play) -> None:
    play(*DOING, (CommitAttempt(LEASE - 1, 1, RESULT), Recorded(Succeeded(RESULT))))
    play(*DOING, (CommitAttempt(LEASE, 1, RESULT), Fenced))
    play(*DOING, (Expire(LEASE - 1), Impossible), (Expire(LEASE), Done), (Expire(LEASE), Impossible))
    play(*DOING, (Renew(LEASE - 1, 1, 2 * LEASE), Done), (CommitAttempt(LEASE, 1, RESULT), Recorded))
    play(*DOING, (Renew(LEASE, 1, 2 * LEASE), Fenced), (Renew(1, 1, LEASE - 1), Impossible))


def test_a_report_between_expiry_and_claim_is_open(play: Play) -> None:
    late = CommitAttempt(LEASE, 1, RESULT)
    play(*DOING, (late, Recorded), rules=rules(expired_lease="committed"))
    play(*DOING, (Expire(LEASE), Done), (late, Fenced), rules=rules(expired_lease="committed"))


def test_a_token_is_fresh_and_a_lease_ahead(play: Play) -> None:
    play(CREATED, (Claim(0, 0, "v1", LEASE), Impossible), (Claim(9, 1, "v1", 9), Impossible))
    lost = (*DOING, (Crash(0, 1), Done), "queued")
    play(*lost, (Claim(0, 1, "v1", LEASE), Impossible), claim(token=2))


def test_a_new_owner_may_start_beside_an_unproven_one(play: Play) -> None:
    expired = (*DOING, (Expire(LEASE), Done))
    slot = play(
        *expired,
        claim(LEASE, 2),
        (CommitAttempt(LEASE, 1, RESULT), Fenced),
        (BeginStep(LEASE, 2, "do", "a", DO), Run(1)),
        (CommitAttempt(LEASE, 2, b"{}"), Recorded(Succeeded(b"{}"))),
        (CommitAttempt(LEASE, 1, RESULT), Fenced),
    )
    assert [context.token for context in slot.contexts] == [1, 2]
    play(
        *expired,
        (Claim(LEASE, 2, "v1", 2 * LEASE), Impossible),
        rules=rules(overlapping_contexts="after-stop"),
    )


def test_what_can_be_stopped_is_stopped_before_a_claim(play: Play) -> None:
    slot = play(*DOING, (Expire(LEASE), Done))
    assert [type(action) for action in enabled(slot, LEASE)] == [StopAck, Claim]


def test_a_lost_attempt_is_not_counted_or_counted(play: Play) -> None:
    begun = (*CLAIMED, (BeginStep(0, 1, "do", "a", RETRY), Run(1)), (Crash(0, 1), Done))
    play(*begun, "queued", claim(token=2), (BeginStep(0, 2, "do", "a", RETRY), Run(1)))
    counted = rules(lost_attempt="counted")
    play(
        *begun,
        "sleeping",
        (Claim(9_999, 2, "v1", LEASE), Impossible),
        (Wake(10_000), Done),
        claim(10_000, 2),
        (BeginStep(10_000, 2, "do", "a", RETRY), Run(2)),
        rules=counted,
    )
    once = play(*DOING, (Crash(0, 1), Done), "queued", claim(token=2), rules=counted)
    play((BeginStep(0, 2, "do", "a", DO), Recorded(Failed("step_failed"))), start=once)


def test_between_two_attempts_none_is_lost(play: Play) -> None:
    """A Host may start a context for what waits for its retry; when that is lost, no attempt is."""
    counted = rules(lost_attempt="counted")
    retrying = (
        *CLAIMED,
        (BeginStep(0, 1, "do", "a", RETRY), Run(1)),
        (CommitAttempt(0, 1, failed=True), Parked),
    )
    slot = play(*retrying, (StopAck(0, 1), Done), "sleeping", rules=counted)
    started = play(
        (Claim(1, 2, "v1", LEASE), Done),
        (BeginStep(1, 2, "do", "a", RETRY), Pending),
        (Crash(1, 2), Done),
        "sleeping",
        start=evolve(slot, current=None),
    )
    assert started.history == slot.history


# -- parked statuses


def test_parked_is_shown_only_after_the_stop(play: Play) -> None:
    play(*SLEEPING, "running", (StopAck(0, 1), Done), "sleeping")
    play(*SLEEPING, "running", (Crash(0, 1), Done), "sleeping")
    play(*WAITING, "waiting", (StopAck(0, 1), Impossible))


def test_an_owner_is_not_acknowledged_as_stopped(play: Play) -> None:
    play(*DOING, (StopAck(0, 1), Impossible), (Crash(0, 2), Impossible))


def test_a_crash_between_registration_and_stop_parks(play: Play) -> None:
    registered = (*CLAIMED, (BeginStep(0, 1, "sleep", "s", {"seconds": 5}), Pending))
    play(*registered, (Crash(0, 1), Done), "sleeping", (Claim(4_999, 2, "v1", LEASE), Impossible))
    play(*registered, (Crash(0, 1), Done), (Wake(5_000), Done), claim(5_000, 2))


@pytest.mark.parametrize(
    "settled",
    [
        pytest.param(
            ((BeginStep(0, 1, "sleep", "s", {"seconds": 0}), Pending), (Park(0, 1), Recorded)),
            id="sleep of 0",
        ),
        pytest.param(
            (
                (SendEvent(0, "go"), Accepted),
                (BeginStep(0, 1, "wait", "w", WAIT), Pending),
                (Park(0, 1), Recorded),
            ),
            id="wait with a match",
        ),
        pytest.param(
            (
                (BeginStep(0, 1, "wait", "w", WAIT), Pending),
                (SendEvent(0, "go"), Accepted(1, handed_over=True)),
            ),
            id="wait before it parks",
        ),
    ],
)
def test_a_lost_owner_that_was_never_parked_is_queued(play: Play, settled: tuple[Any, ...]) -> None:
    """Without a Deployment this status stays visible: nothing sleeps or waits any more."""
    play(*CLAIMED, *settled, (Crash(0, 1), Done), "queued")


def test_a_match_in_a_fresh_context_is_never_shown_as_waiting(play: Play) -> None:
    play(
        CREATED,
        (SendEvent(0, "go", RESULT), Accepted(1)),
        claim(),
        (BeginStep(0, 1, "wait", "w", WAIT), Pending),
        (Park(0, 1), Parked),
        "running",
        (StopAck(0, 1), Done),
        "queued",
        claim(token=2),
        (BeginStep(0, 2, "wait", "w", WAIT), Recorded(Succeeded(RESULT))),
        rules=rules(wait_match="fresh-context"),
    )


@pytest.mark.parametrize(
    ("awake", "shown"), [("parked", "sleeping"), ("queued", "queued"), ("running", "running")]
)
def test_the_status_of_a_woken_instance_is_open(play: Play, awake: str, shown: str) -> None:
    play(*ASLEEP, "sleeping", (Wake(5_000), Done), shown, rules=rules(awake_status=awake))


# -- terminate


def test_terminate_is_answered_after_the_stop(play: Play) -> None:
    play(CREATED, (Terminate(0), Done), "terminated")
    play(*ASLEEP, (Terminate(0), Done), "terminated", (Wake(5_000), Impossible))
    play(
        *DOING,
        (Terminate(0), Unproven),
        "running",
        (Terminate(0), Unproven),
        (CommitAttempt(0, 1, RESULT), Fenced),
        (Settle(0, 1), Fenced),
        (StopAck(0, 1), Done),
        "terminated",
        (Terminate(9), Done),
        "terminated",
    )


def test_every_unproven_context_is_waited_for(play: Play) -> None:
    zombie = (*DOING, (Expire(LEASE), Done), claim(LEASE, 2))
    play(
        *zombie, (Terminate(LEASE), Unproven), (StopAck(LEASE, 2), Done), "running", (StopAck(LEASE, 1), Done)
    )
    slot = play(
        *zombie, (Settle(LEASE, 2), Stopped), (Crash(LEASE, 2), Done), "running", (StopAck(LEASE, 1), Done)
    )
    assert slot.terminal.status == "complete"


def test_terminate_over_a_settled_run_keeps_one_outcome(play: Play) -> None:
    over = (*CLAIMED, (Settle(0, 1, RESULT), Stopped), (Terminate(1), Unproven), (StopAck(2, 1), Done))
    play(*over, (ReadStatus(3), StatusAnswer("complete", RESULT)), (Terminate(4), Done), "complete")
    play(
        *over, (ReadStatus(3), StatusAnswer("terminated")), rules=rules(terminate_after_settling="terminated")
    )


def test_terminate_never_replaces_the_end_of_the_lifetime(play: Play) -> None:
    late = rules(terminate_after_settling="terminated", terminate_after_lifetime="errored")
    exceeded = (ReadStatus(END), StatusAnswer("errored", reason="lifetime_exceeded"))
    play(
        *DOING,
        (Terminate(END), Unproven),
        (Terminate(END), Unproven),
        (StopAck(END, 1), Done),
        exceeded,
        rules=late,
    )
    play(CREATED, (Terminate(END), Done), exceeded, rules=late)
    play(
        *DOING,
        (EndLifetime(END), Done),
        (Terminate(END), Unproven),
        (StopAck(END, 1), Done),
        exceeded,
        rules=late,
    )


# -- the lifetime


def test_past_its_lifetime_an_owner_commits_nothing(play: Play) -> None:
    renewed = (*DOING, (Renew(0, 1, 2 * END), Done))
    play(*renewed, (CommitAttempt(END - 1, 1, RESULT), Recorded), (Settle(END, 1), Fenced), rules=rules())
    play(
        *renewed,
        (CommitAttempt(END, 1, RESULT), Fenced),
        (BeginStep(END, 1, "do", "b", DO), Fenced),
        "running",
        rules=rules(),
    )
    play(
        *renewed,
        (EndLifetime(END - 1), Impossible),
        (EndLifetime(END), Done),
        (EndLifetime(END), Impossible),
        rules=rules(),
    )
    play(*renewed, (EndLifetime(END), Done), "running", (StopAck(END, 1), Done), "errored", rules=rules())
    play(
        CREATED,
        (Claim(END, 1, "v1", END + LEASE), Impossible),
        (EndLifetime(END), Done),
        "errored",
        rules=rules(),
    )
    play(*ASLEEP, (Wake(END), Impossible), (EndLifetime(END), Done), "errored", rules=rules())
    play(
        *WAITING,
        (SendEvent(END, "go"), Rejected("instance_terminal", "the instance has ended")),
        rules=rules(),
    )


def test_an_outcome_at_the_very_end_is_open(play: Play) -> None:
    wins = rules(at_lifetime_end="outcome-wins")
    settled = play(*CLAIMED, (Renew(0, 1, 2 * END), Done), (EndLifetime(END), Impossible), rules=wins)
    play((Settle(END, 1), Stopped), (StopAck(END, 1), Done), "complete", start=settled)
    play((Settle(END + 1, 1), Fenced), (EndLifetime(END + 1), Done), start=settled)
    assert next_instant(settled) == END + 1


def test_a_stop_after_the_lifetime_is_open(play: Play) -> None:
    settled = (*CLAIMED, (Settle(1, 1), Stopped))
    choice = rules(stop_after_lifetime="lifetime-exceeded")
    play(*settled, (StopAck(END, 1), Done), "complete")
    play(*settled, (StopAck(END - 1, 1), Done), "complete", rules=choice)
    play(*settled, (StopAck(END, 1), Done), "errored", rules=choice)


def test_a_terminate_after_the_lifetime_is_open(play: Play) -> None:
    for other in ("decided-outcome", "lifetime-exceeded"):
        play(CREATED, (Terminate(END + 1), Done), "terminated", rules=rules(stop_after_lifetime=other))
        choice = rules(stop_after_lifetime=other, terminate_after_lifetime="errored")
        play(CREATED, (Terminate(END + 1), Done), "errored", rules=choice)


def test_a_sleep_beyond_the_lifetime_is_never_complete(play: Play) -> None:
    begin = BeginStep(0, 1, "sleep", "s", {"seconds": 101})
    slot = play(
        *CLAIMED, (begin, Pending), (Park(0, 1), Parked), (StopAck(0, 1), Done), "sleeping", rules=rules()
    )
    assert next_instant(slot) == END
    play(*CLAIMED, (begin, Stopped("lifetime_exceeded")), rules=rules(sleep_beyond_lifetime="ends-at-once"))
    exactly = BeginStep(0, 1, "sleep", "s", {"seconds": 100})
    play(*CLAIMED, (exactly, Pending), rules=rules(sleep_beyond_lifetime="ends-at-once"))


# -- retention, close and purge


def test_an_id_is_held_for_its_retention(play: Play) -> None:
    ended = (CREATED, (Terminate(1_000), Done))
    last = 1_000 + 50_000 - 1
    exists = Rejected("instance_exists", "an instance is held under this id")
    unknown = Rejected("unknown_instance", "no instance is held under this id")
    forgets = rules(after_retention="forgotten")
    play(*ended, (Create(last, "i"), exists), (Get(last), Done), (Purge(last), Impossible), rules=forgets)
    play(*ended, (Get(last + 1), unknown), (SendEvent(last + 1, "x"), unknown), rules=forgets)
    fresh = play(*ended, (Create(last + 1, "i", RESULT), Done), "queued", rules=forgets)
    assert (len(fresh.history), fresh.params, fresh.inbox) == (0, RESULT, ())
    purged = play(*ended, (Purge(last + 1), Done), rules=forgets)
    assert isinstance(purged, Vacant)
    play(
        *ended,
        (Create(last + 1, "i"), exists),
        (Get(last + 1), Done),
        (Purge(last + 1), Impossible),
        rules=rules(),
    )


@pytest.mark.parametrize(("source", "from_instant"), [("decision", 1_000), ("publication", 3_000)])
def test_retention_counts_from_the_decision_or_the_publication(
    play: Play, source: str, from_instant: int
) -> None:
    choice = rules(retention_from=source, after_retention="forgotten")
    ended = (*CLAIMED, (Settle(1_000, 1), Stopped), (StopAck(3_000, 1), Done))
    play(*ended, (Get(from_instant + 49_999), Done), (Get(from_instant + 50_000), Rejected), rules=choice)


def test_a_closed_resource_takes_nothing_and_fences_all(play: Play) -> None:
    closed = (*DOING, (Close(0), Done))
    play(
        *closed,
        (CommitAttempt(0, 1, RESULT), Fenced),
        (SendEvent(0, "go"), Rejected),
        (Claim(0, 2, "v1", LEASE), Impossible),
        (Purge(0), Impossible),
        (StopAck(0, 1), Done),
        (Claim(0, 2, "v1", LEASE), Impossible),
        (Create(0, "i"), Rejected),
    )
    gone = play(
        *closed, (StopAck(0, 1), Done), (Purge(0), Done), (Purge(0), Impossible), (Create(0, "i"), Rejected)
    )
    assert isinstance(gone, Vacant)
    assert gone.closed
    play(*ASLEEP, (Close(0), Done), (Wake(5_000), Impossible), (Purge(0), Done))


def test_a_closed_instance_has_only_its_lifetime_before_it(play: Play) -> None:
    slot = play(*ASLEEP, (Close(0), Done), rules=rules())
    assert next_instant(slot) == END
    assert [type(action) for action in enabled(slot, END)] == [EndLifetime]


# -- refusals of create


def test_a_create_is_refused_by_name(play: Play) -> None:
    play((Create(0, "i" * 256), Done))
    for bad in ("", "i" * 257, "\ud800", 7, None, b"i", ["i"]):
        play((Create(0, bad), Rejected("TypeError", "id must be a string of 1 to 256 Unicode scalars")))
    play((Create(0, "\U0001f600" * 256), Done))
    play((Create(0, "i", Unfit.INVALID), Rejected("invalid_params", "params are no document")))
    too_large = Rejected("document_too_large", "params are over the byte limit of a document")
    play((Create(0, "i", Unfit.TOO_LARGE), too_large))
    play(CREATED, (Create(0, "i", Unfit.TOO_LARGE), too_large))
    exists = Rejected("instance_exists", "an instance is held under this id")
    play(CREATED, (Create(0, "i", Unfit.TOO_LARGE), exists), rules=rules(create_look_up="look-up-first"))


def test_a_result_that_is_no_document_ends_the_run(play: Play) -> None:
    for unfit in Unfit:
        play(*CLAIMED, (Settle(0, 1, unfit), Stopped("run_threw")), (StopAck(0, 1), Done), "errored")


def test_the_reasons_of_a_run_that_threw(play: Play) -> None:
    for provenance, reason in (
        ("step_failed", "step_failed"),
        ("wait_timeout", "run_threw"),
        (None, "run_threw"),
    ):
        play(*CLAIMED, (Settle(0, 1, threw=True, provenance=provenance), Stopped(reason)))  # type: ignore[arg-type]


def test_bad_arguments_change_nothing(play: Play) -> None:
    slot = play(
        *CLAIMED, (BeginStep(0, 1, "do", "a", {"effect": False}), BadArgument), (Park(0, 1), Impossible)
    )
    assert isinstance(slot, Instance)
    assert not slot.history
