"""What holds in every state that any actions lead to, legal, refused and nonsensical ones alike.

Limits are small and every open point takes any of its choices, so that borders and rare orders come up. An
event carries a payload of its own, which tells where it went.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from fencepost.machine import (
    Latitude,
    Rules,
    Slot,
    Transition,
    Vacant,
    apply,
    enabled,
    next_instant,
    status_of,
)
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
    OwnerAction,
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
from fencepost.machine.records import FrozenMap
from fencepost.machine.replies import Accepted
from fencepost.machine.state import Instance, Succeeded, parked_on
from fencepost_spec.limits import Limits
from hypothesis import given, settings
from hypothesis import strategies as st

LIMITS = Limits(
    id_scalars=3, document_bytes=64, inbox_events=2, inbox_bytes=40, maximum_steps=3, attempts_maximum=3,
    sleep_seconds=20, wait_seconds_maximum=20, lifetime_seconds=12, retention_seconds=4,
)  # fmt: skip
LATITUDES = st.builds(
    Latitude, **{each.name: st.sampled_from(each.metadata["choices"]) for each in fields(Latitude)}
)
TYPES = ["go", "go", "stop", "", 3]
NAMES = ["a", "b", "c", "d", "", "n" * 300, None]
RETRIES: list[Any] = [
    None, {"maxAttempts": 2}, {"maxAttempts": 3, "initialDelaySeconds": 2, "backoff": "exponential"},
    {"maxAttempts": 0}, {}, 7,
]  # fmt: skip
STEPS: list[tuple[Any, dict[str, Any]]] = [
    *(("do", {"effect": True, "retry": retry}) for retry in RETRIES),
    ("do", {"effect": False}),
    *(("sleep", {"seconds": seconds}) for seconds in (0, 1, 3, 20, 21, 1.5)),
    *(("wait", {"type": type, "timeoutSeconds": 3}) for type in TYPES),
    ("wait", {"type": "go"}),
]
DOCUMENTS = [None, b'{"result":1}', Unfit.INVALID, Unfit.TOO_LARGE]


class World:
    """A slot, its clock, and what must be remembered of the past to judge the next transition."""

    def __init__(self, rules: Rules) -> None:
        self.slot: Slot = Vacant(rules)
        self.now = 0
        self.sent = 0
        self.unconsumed: set[bytes] = set()

    def token(self, pick: int) -> int:
        """Mostly one that plays a role: the owner's, an unstopped context's, an old one, or nonsense."""
        if not isinstance(self.slot, Instance):
            return pick
        contexts = [context.token for context in self.slot.contexts]
        return [self.slot.owner, *contexts, self.slot.token, 0, -1, 99][pick % (len(contexts) + 5)]

    def act(self, kind: type[Action], pick: int, other: int) -> Action:
        """One action of this kind; the figures choose among what it may say."""
        now, token = self.now, self.token(pick)
        document = DOCUMENTS[other % len(DOCUMENTS)]
        if kind is Create:
            return Create(now, ["i", "i", "", "long", 7][pick % 5], document)
        if kind is SendEvent:
            self.sent += 1
            payload = b'{"n":%d}' % self.sent if other % 8 else Unfit.INVALID
            return SendEvent(now, TYPES[pick % len(TYPES)], payload, 8 + other)
        if kind is Claim:
            last = self.slot.token if isinstance(self.slot, Instance) else 0
            return Claim(
                now, last + [1, 1, 1, 2, 0, -1][pick % 6], "v1", now + [5_000, 5_000, 1, 0][other % 4]
            )
        if kind is Renew:
            return Renew(now, token, now + other * 1000)
        if kind is BeginStep:
            step, arguments = STEPS[other % len(STEPS)]
            return BeginStep(now, self.owner_or(token, other), step, NAMES[pick % len(NAMES)], arguments)
        if kind is CommitAttempt:
            return CommitAttempt(now, self.owner_or(token, pick), document, failed=other % 3 == 0)
        if kind is Settle:
            threw = pick % 2 == 0
            provenance = cast(Any, [None, "step_failed", "wait_timeout"][other % 3]) if threw else None
            return Settle(now, token, None if threw else document, threw, provenance)
        return kind(now, token) if issubclass(kind, OwnerAction) else kind(now)

    def owner_or(self, token: int, chance: int) -> int:
        """The owner three times out of four."""
        return self.slot.owner if chance % 4 and isinstance(self.slot, Instance) else token

    def step(self, action: Action) -> None:
        """Apply an action and hold the transition and the new state to every invariant."""
        before, transition = self.slot, apply(self.slot, action)
        after = self.slot = transition.state
        if transition.reply.refused:
            assert after is before
            return
        if isinstance(before, Instance) and isinstance(after, Instance) and not isinstance(action, Create):
            only_the_owner_commits(before, action, after)
            nothing_recorded_changes(before, after)
            self.events_move_in_order(before, action, transition)
        else:
            self.unconsumed.clear()
        if isinstance(after, Instance):
            state_is_sound(after)
            assert {event.payload for event in after.inbox} == self.unconsumed
        values_compare(after)
        what_is_enabled_happens(after, self.now)

    def events_move_in_order(self, before: Instance, action: Action, transition: Transition) -> None:
        """An accepted event is handed over, queued or purged; the oldest leaves the queue first."""
        after = cast(Instance, transition.state)
        if isinstance(transition.reply, Accepted):
            assert isinstance(action, SendEvent)
            assert transition.reply.number == before.accepted + 1 == after.accepted
            assert isinstance(action.payload, bytes)
            taken = resolved_waits(before, after)
            if transition.reply.handed_over:
                assert taken == [action.payload]
                assert after.inbox == before.inbox
                assert all(event.type != action.type for event in before.inbox)
            elif len(after.inbox) > len(before.inbox):
                self.unconsumed.add(action.payload)
            return
        left = [event for event in before.inbox if event not in after.inbox]
        if after.terminal is not None:
            self.unconsumed.clear()
        elif left:
            (event,) = left
            assert isinstance(action, BeginStep)
            assert event == min(
                (each for each in before.inbox if each.type == event.type), key=lambda e: e.number
            )
            assert resolved_waits(before, after) == [event.payload]
            self.unconsumed.remove(cast(bytes, event.payload))


def resolved_waits(before: Instance, after: Instance) -> list[bytes | None]:
    """The payloads of the waits that this transition has satisfied."""
    return [
        step.outcome.document
        for name, step in after.history.items()
        if step.kind == "wait" and isinstance(step.outcome, Succeeded) and before.history.get(name) != step
    ]


def only_the_owner_commits(before: Instance, action: Action, after: Instance) -> None:
    """Nobody but the current owner of a live instance within its lifetime reports to any effect."""
    if isinstance(action, StopAck | Crash):
        return
    if isinstance(action, OwnerAction) and after is not before:
        assert action.token == before.owner != 0
        assert before.live
        assert action.now <= before.ends_at
    if after.history != before.history:
        assert isinstance(action, BeginStep | CommitAttempt | SendEvent | Wake | Expire)


def nothing_recorded_changes(before: Instance, after: Instance) -> None:
    """Finished steps, a terminal outcome and tokens never change; a decided end only as its choice admits."""
    latitude = before.rules.latitude
    for name, step in before.history.items():
        assert after.history[name].kind == step.kind
        if step.finished:
            assert after.history[name] == step
        assert after.history[name].failures >= step.failures
    if before.terminal is not None:
        assert after.terminal == before.terminal
        assert after.history == before.history
    if before.decision is not None and after.decision != before.decision:
        outcome = after.terminal or after.decision
        assert outcome is not None
        if outcome != before.decision:
            assert before.decision.reason != "lifetime_exceeded" or outcome.reason == "lifetime_exceeded"
            replaced = outcome.status == "terminated" and latitude.terminate_after_settling == "terminated"
            expired = (
                outcome.reason == "lifetime_exceeded" and latitude.stop_after_lifetime == "lifetime-exceeded"
            )
            assert replaced or expired
    assert after.token >= before.token
    assert after.accepted >= before.accepted


def state_is_sound(state: Instance) -> None:
    """What one state must satisfy by itself."""
    limits, tokens = state.rules.limits, [context.token for context in state.contexts]
    assert tokens == sorted(set(tokens))
    assert not state.owner or (state.owner == state.token and state.owner in tokens and state.live)
    assert len(state.history) <= limits.maximum_steps
    numbers = [event.number for event in state.inbox]
    assert numbers == sorted(set(numbers))
    assert len(numbers) <= limits.inbox_events
    assert state.inbox_bytes == sum(event.size for event in state.inbox) <= limits.inbox_bytes
    if status_of(state) in ("sleeping", "waiting", "complete", "errored", "terminated", "queued"):
        assert not state.contexts
    assert (status_of(state) in ("complete", "errored", "terminated")) == (state.terminal is not None)
    if state.terminal is not None:
        assert state.decision is None
        assert (state.inbox, state.contexts, state.owner) == ((), (), 0)
    for step in state.history.values():
        assert step.outcome is None or step.deadline is None
        if step.kind == "wait" and step.outcome is None and step.deadline is not None and state.live:
            unexpired = [each for each in state.inbox if each.accepted_at <= step.deadline]
            assert all(event.type != step.type for event in unexpired)
    if not state.owner and state.live and state.current is None:
        assert status_of(state) in ("queued", "running")


def values_compare(state: Slot) -> None:
    """A state that was built another way is equal, and hashes alike."""
    twin = replace(state)
    if isinstance(state, Instance):
        twin = replace(state, history=FrozenMap(dict(state.history)))
    assert twin == state
    assert hash(twin) == hash(state)


def by_time(state: Slot, now: int) -> set[type[Action]]:
    return {type(action) for action in enabled(state, now)} - {Expire}


def what_is_enabled_happens(state: Slot, now: int) -> None:
    """No enabled action is refused, and `next_instant` is when time enables something for the first time."""
    for action in enabled(state, now):
        assert not apply(state, action).reply.refused, action
    instant = next_instant(state)
    if not isinstance(state, Instance):
        assert instant is None
        return
    parked = parked_on(state)
    borders = {state.ends_at, parked.deadline if parked is not None and parked.deadline is not None else 0}
    later = sorted(border + beyond for border in borders for beyond in (0, 1) if border + beyond > now)
    grows = [at for at in later if by_time(state, at) - by_time(state, at - 1)]
    if instant is not None and instant <= now:
        assert by_time(state, now) & {Wake, EndLifetime}
    else:
        assert instant == (grows[0] if grows else None)


KINDS: list[type[Action]] = [
    Create, Get, ReadStatus, Terminate, Wake, EndLifetime, Expire, Close, Purge, StopAck, Crash, Renew,
    Settle, *[SendEvent] * 3, *[Claim] * 3, *[Park] * 3, *[CommitAttempt] * 3, *[BeginStep] * 6,
]  # fmt: skip
PACES = [0, 0, 0, 0, 1, 999, 1000, 3000]
MOVES = st.tuples(st.sampled_from(KINDS), st.sampled_from(PACES), st.integers(0, 60), st.integers(0, 60))


@settings(max_examples=150)
@given(latitude=LATITUDES | st.just(Latitude()), moves=st.lists(MOVES, min_size=10, max_size=50))
def test_every_reachable_state_keeps_the_invariants(
    latitude: Latitude, moves: list[tuple[type[Action], int, int, int]]
) -> None:
    world = World(Rules(LIMITS, latitude))
    world.step(Create(0, "i"))
    world.step(Claim(0, 1, "v1", 5_000))
    for kind, pace, pick, other in moves:
        world.now += pace
        world.step(world.act(kind, pick, other))


@settings(max_examples=50)
@given(latitude=LATITUDES, moves=st.lists(MOVES, max_size=25), chance=st.randoms(use_true_random=False))
def test_whatever_happened_an_end_is_reached(
    latitude: Latitude, moves: list[tuple[type[Action], int, int, int]], chance: Any
) -> None:
    """The Host's own actions lead every instance to its end, and none of them leaves it stuck."""
    world = World(Rules(LIMITS, latitude))
    world.step(Create(0, "i"))
    for kind, pace, pick, other in moves:
        world.now += pace
        if kind not in (Close, Purge):
            world.step(world.act(kind, pick, other))
    for _ in range(100):
        actions = [each for each in enabled(world.slot, world.now) if not isinstance(each, Claim)]
        if actions:
            world.step(chance.choice(actions))
        elif (instant := next_instant(world.slot)) is not None:
            world.now = max(world.now, instant)
    assert isinstance(world.slot, Instance)
    assert world.slot.terminal is not None
