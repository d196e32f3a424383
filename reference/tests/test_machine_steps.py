"""Step calls at both sides of each boundary: names, replays, overlap, kinds, the limit, parking, retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fencepost.machine import Latitude, Rules
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    CommitAttempt,
    Crash,
    Create,
    Park,
    SendEvent,
    Settle,
    StopAck,
    Unfit,
    Wake,
)
from fencepost.machine.records import evolve
from fencepost.machine.replies import (
    Accepted,
    BadArgument,
    Done,
    Impossible,
    Parked,
    Pending,
    Recorded,
    Rejected,
    Reply,
    Run,
    Stopped,
    UnfitResult,
)
from fencepost.machine.state import Failed, RetryPolicy, Succeeded
from fencepost_spec.limits import FORM, Limits

Play = Callable[..., Any]

RESULT = b'{"n":1}'
DO: dict[str, Any] = {"effect": True}
LEASE = 10**9
MISMATCH = Stopped("step_definition_mismatch")
STEP_FAILED = Recorded(Failed("step_failed"))
TIMED_OUT = Recorded(Failed("wait_timeout"))
CLAIMED = ((Create(0, "i"), Done), (Claim(0, 1, "v1", LEASE), Done))


def do(name: Any, now: int = 0, token: int = 1, **retry: Any) -> Action:
    return BeginStep(now, token, "do", name, DO | ({"retry": retry} if retry else {}))


def sleep(name: Any, seconds: Any, now: int = 0, token: int = 1) -> Action:
    return BeginStep(now, token, "sleep", name, {"seconds": seconds})


def wait(name: Any, type: Any = "go", seconds: Any = 5, now: int = 0, token: int = 1, **more: Any) -> Action:
    return BeginStep(now, token, "wait", name, {"type": type, "timeoutSeconds": seconds, **more})


def ok(now: int = 0, token: int = 1, result: bytes | None = RESULT) -> tuple[Action, Recorded]:
    return CommitAttempt(now, token, result), Recorded(Succeeded(result))


def threw(now: int = 0, token: int = 1) -> Action:
    return CommitAttempt(now, token, failed=True)


def rules(limits: Limits = FORM, **choices: str) -> Rules:
    return Rules(limits, Latitude(**choices))


def again(now: int, token: int) -> tuple[Any, ...]:
    """The last context is stopped, and a new one starts."""
    return (StopAck(now, token - 1), Done), (Claim(now, token, "v1", now + LEASE), Done)


DID_A = (*CLAIMED, (do("a"), Run(1)), ok())


# -- arguments (STP-2, STP-4, DO-1, DO-2, SLP-1, WFE-1)

NAMES: list[tuple[Any, bool]] = [
    ("n", True),
    ("n" * 256, True),
    ("\U0001f600" * 256, True),
    ("__proto__", True),
    ("", False),
    ("n" * 257, False),
    ("\udc00", False),
    (None, False),
    (1, False),
    (["n"], False),
    (b"n", False),
]


@pytest.mark.parametrize(("text", "fits"), NAMES)
def test_a_name_and_a_type_have_1_to_256_scalars(play: Play, text: Any, fits: bool) -> None:
    play(*CLAIMED, (do(text), Run(1) if fits else BadArgument))
    play(*CLAIMED, (wait("w", type=text), Pending if fits else BadArgument))


WHOLE: dict[str, tuple[Callable[[Any], Action], type[Reply], int, int]] = {
    "sleep": (lambda value: sleep("s", value), Pending, 0, 31_536_000),
    "wait": (lambda value: wait("w", seconds=value), Pending, 1, 31_536_000),
    "attempts": (lambda value: do("a", maxAttempts=value), Run, 1, 100),
    "initial delay": (lambda value: do("a", maxAttempts=2, initialDelaySeconds=value), Run, 0, 43_200),
    "longest delay": (lambda value: do("a", maxAttempts=2, maxDelaySeconds=value), Run, 0, 43_200),
}


@pytest.mark.parametrize("figure", WHOLE)
def test_a_figure_is_whole_and_in_its_bounds(play: Play, figure: str) -> None:
    call, good, least, most = WHOLE[figure]
    values: tuple[Any, ...] = (least, most, float(most))
    for value in values:
        slot = play(*CLAIMED, (call(value), good))
        assert len(slot.history) == 1
    bad = [least - 1, most + 1, 1.5, True, "5", None, float("nan"), float("inf"), 10**400, [5]]
    for value in bad:
        assert not play(*CLAIMED, (call(value), BadArgument)).history


@pytest.mark.parametrize(
    "arguments",
    [
        {"effect": False},
        {},
        DO | {"retry": {}},
        DO | {"retry": 3},
        DO | {"retry": {"initialDelaySeconds": 1}},
        DO | {"retry": {"maxAttempts": 2, "backoff": "linear"}},
        DO | {"retry": {"maxAttempts": 2, "backoff": None}},
    ],
)
def test_a_bad_effect_or_policy_is_refused(play: Play, arguments: dict[str, Any]) -> None:
    play(*CLAIMED, (BeginStep(0, 1, "do", "a", arguments), BadArgument), (do("a"), Run(1)))


def test_unknown_keys_are_open(play: Play) -> None:
    ignored = rules(unknown_keys="ignored")
    play(*CLAIMED, (do("a", maxAttempts=1, jitter=True), BadArgument), (wait("w", extra=1), BadArgument))
    play(*CLAIMED, (wait("w", b=1, a=1), BadArgument("wait options: unknown 'a', 'b'")))
    bare = BeginStep(0, 1, "wait", "w", {})
    play(*CLAIMED, (bare, BadArgument("wait options: missing timeoutSeconds, type")))
    play(*CLAIMED, (do("a", maxAttempts=1, jitter=True), Run(1)), rules=ignored)
    play(*CLAIMED, (wait("w", extra=1), Pending), rules=ignored)
    play(*CLAIMED, (BeginStep(0, 1, "wait", "w", {"type": "go", "extra": 1}), BadArgument), rules=ignored)


# -- replay (STP-3) and kinds (STP-6)


def test_a_finished_name_replays_before_anything_else_is_looked_at(play: Play) -> None:
    recorded = Recorded(Succeeded(RESULT))
    play(
        *DID_A,
        (do("a"), recorded),
        (BeginStep(0, 1, "do", "a", {"effect": False, "retry": 7}), recorded),
        (sleep("a", -1), recorded),
        (wait("a", type=""), recorded),
        (do(""), BadArgument),
    )


def test_failures_and_undefined_replay_too(play: Play) -> None:
    play(*CLAIMED, (do("a"), Run(1)), (threw(), STEP_FAILED), (do("a"), STEP_FAILED))
    play(*CLAIMED, (do("a"), Run(1)), ok(result=None), (do("a"), Recorded(Succeeded(None))))


def test_a_pending_name_under_another_kind_is_a_mismatch(play: Play) -> None:
    failed = (
        *CLAIMED,
        (do("a", maxAttempts=2), Run(1)),
        (threw(), Parked),
        (StopAck(0, 1), Done),
        (Claim(0, 2, "v1", LEASE), Done),
    )
    play(*failed, (wait("a", token=2), MISMATCH))
    play(*failed, (sleep("a", 0, token=2), MISMATCH))
    play(*failed, (sleep("a", -1, token=2), MISMATCH))
    play(*failed, (sleep("a", -1, token=2), BadArgument), rules=rules(misfit_overlap="type-error"))
    play(*failed, (do("a", token=2), Run(2)))


def test_a_pending_step_keeps_what_was_saved_first(play: Play) -> None:
    policy = {"maxAttempts": 3, "initialDelaySeconds": 10}
    slot = play(
        *CLAIMED,
        (do("a", **policy), Run(1)),
        (threw(), Parked),
        (Wake(9_999), Impossible),
        (Wake(10_000), Done),
        *again(10_000, 2),
        (do("a", 10_000, 2, maxAttempts=1), Run(2)),
        (threw(10_000, 2), Parked),
    )
    assert slot.history["a"].policy == RetryPolicy(3, 10, "constant", 43_200)


# -- overlap (STP-6, STP-7, STP-8, STP-10)


def test_a_second_open_step_is_a_mismatch(play: Play) -> None:
    for second in (do("b"), sleep("s", 0), wait("w"), do("a")):
        play(*CLAIMED, (do("a"), Run(1)), (second, MISMATCH), (StopAck(0, 1), Done), "errored")
        play(*CLAIMED, (sleep("s0", 0), Pending), (second, MISMATCH))
    play(*CLAIMED, (do("a"), Run(1)), (do(""), BadArgument), (sleep("s", -1), MISMATCH))
    play(*CLAIMED, (do("a"), Run(1)), (sleep("s", -1), BadArgument), rules=rules(misfit_overlap="type-error"))


def test_a_replay_beside_an_open_step_is_open(play: Play) -> None:
    beside = (*DID_A, (do("b"), Run(1)))
    play(*beside, (do("a"), Recorded), ok())
    play(*beside, (do("a"), MISMATCH), rules=rules(replay_beside_new="mismatch"))


def test_a_run_that_settles_with_an_open_step_is_a_mismatch(play: Play) -> None:
    for open_step in (
        (do("a"), Run(1)),
        (sleep("s", 0), Pending),
        (sleep("s", 5), Pending),
        (wait("w"), Pending),
    ):
        for settle in (
            Settle(0, 1),
            Settle(0, 1, threw=True),
            Settle(0, 1, threw=True, provenance="step_failed"),
        ):
            play(*CLAIMED, open_step, (settle, MISMATCH))
    play(*DID_A, (Settle(0, 1, RESULT), Stopped(None)))


def test_a_step_that_newer_code_leaves_pending_is_open(play: Play) -> None:
    left = (*CLAIMED, (do("a"), Run(1)), (Crash(0, 1), Done), (Claim(0, 2, "v1", LEASE), Done))
    play(*left, (Settle(0, 2), Stopped(None)))
    play(*left, (Settle(0, 2), MISMATCH), rules=rules(leftover_step="mismatch"))


# -- the limit (STP-9)


def test_one_name_more_than_the_limit_stops_the_run(play: Play) -> None:
    three = Limits(maximum_steps=3)
    full = (
        *CLAIMED,
        (do("a"), Run(1)),
        (threw(), STEP_FAILED),
        (do("", 0), BadArgument),
        (do("a"), STEP_FAILED),
        (sleep("s", 0), Pending),
        (Park(0, 1), Recorded),
        (do("c"), Run(1)),
        ok(),
    )
    play(*full, (do("a"), STEP_FAILED), (do("d"), Stopped("step_limit_exceeded")), rules=rules(three))
    play(*full, (sleep("d", -1), BadArgument), rules=rules(three))
    play(
        *full,
        (sleep("d", -1), Stopped("step_limit_exceeded")),
        rules=rules(three, misfit_beyond_limit="limit"),
    )


# -- effects and retries (DO)


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        ({"initialDelaySeconds": 10, "backoff": "exponential"}, [10, 20, 40]),
        ({"initialDelaySeconds": 10}, [10, 10, 10]),
        ({"initialDelaySeconds": 10, "maxDelaySeconds": 15, "backoff": "exponential"}, [10, 15, 15]),
        ({"initialDelaySeconds": 10, "maxDelaySeconds": 0}, [0, 0, 0]),
        ({}, [0, 0, 0]),
    ],
)
def test_retries_wait_for_their_delay(play: Play, policy: dict[str, Any], delays: list[int]) -> None:
    now, slot = 0, play(*CLAIMED, (do("a", maxAttempts=4, **policy), Run(1)))
    for attempt, delay in enumerate(delays, start=2):
        slot = play((threw(now, attempt - 1), Parked), (StopAck(now, attempt - 1), Done), start=slot)
        if delay:
            early = now + delay * 1000 - 1
            claim = Claim(early, attempt, "v1", early + LEASE)
            slot = play((Wake(early), Impossible), (claim, Impossible), "sleeping", start=slot)
            now = early + 1
            slot = play((Wake(now), Done), start=slot)
        slot = play((Claim(now, attempt, "v1", now + LEASE), Done), start=slot)
        slot = play((do("a", now, attempt), Run(attempt)), start=slot)
    play(
        (threw(now, 4), STEP_FAILED),
        (Settle(now, 4, threw=True, provenance="step_failed"), Stopped),
        start=slot,
    )


def test_delays_are_exact_up_to_the_last_attempt() -> None:
    policy = RetryPolicy(100, 1, "exponential", 43_200)
    assert [policy.delay(k) for k in (1, 2, 15, 16, 17, 99)] == [1, 2, 16_384, 32_768, 43_200, 43_200]
    assert RetryPolicy(100, 0, "exponential", 43_200).delay(99) == 0


def test_the_final_rejection_may_come_in_a_fresh_context(play: Play) -> None:
    play(
        *CLAIMED,
        (do("a"), Run(1)),
        (threw(), Parked),
        "running",
        (StopAck(0, 1), Done),
        "queued",
        (Claim(0, 2, "v1", LEASE), Done),
        (do("a", token=2), STEP_FAILED),
        rules=rules(final_rejection="fresh-context"),
    )


def test_an_unfit_result_is_a_failed_attempt_or_a_type_error(play: Play) -> None:
    for unfit in Unfit:
        commit = CommitAttempt(0, 1, unfit)
        play(*CLAIMED, (do("a"), Run(1)), (commit, STEP_FAILED))
        play(*CLAIMED, (do("a", maxAttempts=2), Run(1)), (commit, Parked))
        slot = play(
            *CLAIMED,
            (do("a"), Run(1)),
            (commit, UnfitResult),
            (commit, Impossible),
            (do("b"), Run(1)),
            ok(),
            rules=rules(invalid_result="type-error"),
        )
        assert "a" not in slot.history


def test_a_commit_needs_an_open_attempt(play: Play) -> None:
    play(*CLAIMED, (threw(), Impossible), (CommitAttempt(0, 1), Impossible))
    play(*DID_A, (CommitAttempt(0, 1, b"{}"), Impossible))
    play(*CLAIMED, (sleep("s", 5), Pending), (CommitAttempt(0, 1, RESULT), Impossible))
    play(*CLAIMED, (do("a"), Run(1)), (Park(0, 1), Impossible))


# -- sleeps (SLP)


def test_a_sleep_wakes_at_its_instant(play: Play) -> None:
    asleep = (*CLAIMED, (sleep("s", 60, now=500), Pending), (Park(501, 1), Parked), (StopAck(502, 1), Done))
    early = (Claim(60_499, 2, "v1", LEASE), Impossible)
    play(
        *asleep,
        "sleeping",
        (Wake(60_499), Impossible),
        early,
        (Wake(60_500), Done),
        (Wake(60_500), Impossible),
        (Claim(60_500, 2, "v1", LEASE), Done),
        (sleep("s", 1, 60_500, 2), Recorded(Succeeded(None))),
    )
    play(*asleep, (Wake(60_500), Impossible), (Wake(60_501), Done), rules=rules(sleep_at_deadline="parked"))


def test_a_sleep_of_0_completes_in_its_context(play: Play) -> None:
    play(
        *CLAIMED,
        (sleep("s", 0), Pending),
        "running",
        (Park(0, 1), Recorded(Succeeded(None))),
        (do("a"), Run(1)),
    )


# -- waits and events (WFE, EVT)

UNPARKED = (*CLAIMED, (wait("w"), Pending))
PARKING = (*UNPARKED, (Park(0, 1), Parked))
WAITING = (*PARKING, (StopAck(0, 1), Done))
HANDED = Accepted(1, handed_over=True)
FULL = Rejected("event_queue_full", "the inbox is full")


@pytest.mark.parametrize("registered", [UNPARKED, PARKING, WAITING], ids=["registered", "parking", "waiting"])
def test_an_event_at_the_deadline_wins_and_a_later_one_does_not(
    play: Play, registered: tuple[Any, ...]
) -> None:
    play(*registered, (SendEvent(5_000, "go", RESULT), HANDED), (Wake(5_001), Impossible))
    late = play(*registered, (SendEvent(5_001, "go", RESULT), Accepted(1)))
    assert [event.number for event in late.inbox] == [1]


def test_a_timeout_is_recorded_strictly_after_the_deadline(play: Play) -> None:
    play(
        *WAITING,
        "waiting",
        (Wake(5_000), Impossible),
        (Wake(5_001), Done),
        (SendEvent(5_001, "go"), Accepted(1)),
        (Claim(5_001, 2, "v1", LEASE), Done),
        (wait("w", now=5_001, token=2), TIMED_OUT),
        (wait("w2", now=5_001, token=2), Pending),
        (Park(5_001, 2), Recorded(Succeeded(None))),
    )


def test_a_late_event_stays_for_a_later_wait(play: Play) -> None:
    play(
        *WAITING,
        (SendEvent(5_001, "go", RESULT), Accepted(1)),
        (Claim(5_001, 2, "v1", LEASE), Impossible),
        (Wake(5_001), Done),
        (Claim(5_001, 2, "v1", LEASE), Done),
        (wait("w", now=5_001, token=2), TIMED_OUT),
        (wait("w2", now=5_001, token=2), Pending),
        (Park(5_001, 2), Recorded(Succeeded(RESULT))),
    )


def test_the_oldest_match_is_consumed_and_others_stay(play: Play) -> None:
    slot = play(
        *CLAIMED,
        (SendEvent(0, "other"), Accepted(1)),
        (SendEvent(0, "go", b"{}"), Accepted(2)),
        (SendEvent(0, "GO"), Accepted(3)),
        (SendEvent(0, "go", RESULT), Accepted(4)),
        (wait("w"), Pending),
        (Park(0, 1), Recorded(Succeeded(b"{}"))),
        (wait("w2"), Pending),
        (Crash(0, 1), Done),
        (Claim(0, 2, "v1", LEASE), Done),
        (wait("w2", token=2), Recorded(Succeeded(RESULT))),
    )
    assert [event.number for event in slot.inbox] == [1, 3]


@pytest.mark.parametrize(
    ("accepted", "called", "reply"),
    [
        (5_000, 5_000, Succeeded(RESULT)),
        (5_000, 5_001, Succeeded(RESULT)),
        (5_001, 5_001, Failed("wait_timeout")),
    ],
)
def test_a_wait_that_is_called_again_looks_first_for_what_was_accepted_in_time(
    play: Play, accepted: int, called: int, reply: Succeeded | Failed
) -> None:
    """A Host may start a context for an instance that waits; what comes before its call is queued."""
    started = (Claim(1, 2, "v1", LEASE), Done)
    slot = evolve(play(*WAITING), current=None)
    slot = play(
        started,
        (SendEvent(2, "other"), Accepted(1)),
        (SendEvent(accepted, "go", RESULT), Accepted(2)),
        (wait("w", now=called, token=2), Pending),
        (Park(called, 2), Recorded(reply)),
        start=slot,
    )
    assert [event.type for event in slot.inbox] == ["other", "go"][: 1 + isinstance(reply, Failed)]
    other = play(
        started, (wait("w", "other", now=2, token=2), Pending), start=evolve(play(*WAITING), current=None)
    )
    play((SendEvent(2, "go"), Accepted(1, handed_over=True)), start=other)


def test_one_event_serves_one_wait(play: Play) -> None:
    slot = play(
        *WAITING,
        (SendEvent(1, "go"), HANDED),
        (SendEvent(1, "go"), Accepted(2)),
        (SendEvent(1, "x"), Accepted(3)),
    )
    assert [event.number for event in slot.inbox] == [2, 3]


def test_the_inbox_is_bounded_by_count(play: Play) -> None:
    two = Limits(inbox_events=2)
    filled = ((SendEvent(0, "x"), Accepted(1)), (SendEvent(0, "x"), Accepted(2)), (SendEvent(0, "x"), FULL))
    play(*CLAIMED, *filled, (SendEvent(0, "go"), FULL), rules=rules(two))
    for registered in (UNPARKED, PARKING, WAITING):
        handed = Accepted(3, handed_over=True)
        play(
            *registered,
            *filled,
            (SendEvent(5_000, "go"), handed),
            (SendEvent(5_000, "go"), FULL),
            rules=rules(two),
        )
        play(*registered, *filled, (SendEvent(5_001, "go"), FULL), rules=rules(two))
    refusing = rules(two, handover_before_parked="queue-full")
    play(*PARKING, *filled, (SendEvent(0, "go"), FULL), rules=refusing)
    play(*PARKING, (SendEvent(0, "go"), HANDED), rules=refusing)
    play(*WAITING, *filled, (SendEvent(0, "go"), Accepted(3, handed_over=True)), rules=refusing)


def test_the_inbox_is_bounded_by_bytes(play: Play) -> None:
    hundred = rules(Limits(inbox_bytes=100))
    play(
        *CLAIMED,
        (SendEvent(0, "x", size=101), FULL),
        (SendEvent(0, "x", size=100), Accepted(1)),
        rules=hundred,
    )
    play(
        *CLAIMED, (SendEvent(0, "x", size=60), Accepted(1)), (SendEvent(0, "x", size=41), FULL), rules=hundred
    )
    slot = play(
        *WAITING,
        (SendEvent(0, "x", size=100), Accepted(1)),
        (SendEvent(0, "go", size=500), Accepted(2, True)),
        rules=hundred,
    )
    assert slot.inbox_bytes == 100


@pytest.mark.parametrize(
    ("choice", "reply"),
    [
        ("accepted-and-purged", Accepted(1)),
        ("instance-terminal", Rejected("instance_terminal", "the instance has ended")),
        ("queue-full", FULL),
    ],
)
def test_an_event_while_the_instance_ends_is_open(play: Play, choice: str, reply: Any) -> None:
    ending = (*CLAIMED, (Settle(0, 1), Stopped(None)), (SendEvent(0, "x"), reply), (StopAck(0, 1), Done))
    slot = play(*ending, "complete", rules=rules(send_while_ending=choice))
    assert slot.inbox == ()


def test_the_terminal_transition_purges_the_inbox(play: Play) -> None:
    slot = play(
        *CLAIMED,
        (SendEvent(0, "x", size=9), Accepted(1)),
        (Settle(0, 1), Stopped(None)),
        (StopAck(0, 1), Done),
        (SendEvent(0, "x"), Rejected("instance_terminal", "the instance has ended")),
    )
    assert (slot.inbox, slot.inbox_bytes) == ((), 0)


def test_an_event_is_refused_by_name(play: Play) -> None:
    play(*CLAIMED, (SendEvent(0, "x", Unfit.INVALID), Rejected("TypeError", "the payload is no document")))
    play((SendEvent(0, "x"), Rejected("unknown_instance", "no instance is held under this id")))
    for bad in ("", "t" * 257, "\ud800", 5, None):
        refusal = Rejected("TypeError", "type must be a string of 1 to 256 Unicode scalars")
        play(*CLAIMED, (SendEvent(0, bad), refusal))
        play((SendEvent(0, bad), refusal))
        play(
            (SendEvent(0, bad), Rejected("unknown_instance", "no instance is held under this id")),
            rules=rules(event_look_up="look-up-first"),
        )
