"""How an instance ends: a terminal outcome is decided first and published once every context is proven
stopped."""

from fencepost.machine.records import evolve
from fencepost.machine.state import (
    MILLISECONDS,
    Context,
    Failed,
    Instance,
    Reason,
    Step,
    Succeeded,
    Terminal,
    parked_on,
)


def decide(instance: Instance, terminal: Terminal) -> Instance:
    """Fence the owner and fix the outcome; publish it at once if nothing runs (PUB-1)."""
    return publish(evolve(instance, decision=terminal, owner=0), terminal.at)


def fail(instance: Instance, reason: Reason, now: int) -> Instance:
    """Decide on `errored` with one of the five reasons (BND-7)."""
    return decide(instance, Terminal("errored", now, reason=reason))


def publish(instance: Instance, now: int) -> Instance:
    """Make a decided outcome visible if no context is left that is not proven stopped."""
    decision = instance.decision
    if decision is None or instance.contexts:  # PUB-1, TRM-1
        return instance
    latitude = instance.rules.latitude
    late = decision.at < instance.ends_at <= now
    if late and latitude.stop_after_lifetime == "lifetime-exceeded":
        decision = Terminal("errored", decision.at, reason="lifetime_exceeded")  # LIF-5
    from_decision = decision.at == now or latitude.retention_from == "decision"  # RET-4
    return evolve(
        instance,
        decision=None,
        terminal=decision,
        terminal_at=decision.at if from_decision else now,
        inbox=(),  # EVT-6
        inbox_bytes=0,
    )


def lifetime_over(instance: Instance, now: int) -> bool:
    """Whether the lifetime has ended at `now`, processed or not (LIF-1)."""
    if now < instance.ends_at or not instance.live:
        return False
    return now > instance.ends_at or instance.rules.latitude.at_lifetime_end == "lifetime-wins"  # LIF-2


def end_lifetime(instance: Instance, now: int) -> Instance:
    """The instance as it is at `now`: past its lifetime nothing else can be decided any more (LIF-1,
    LIF-5)."""
    return fail(instance, "lifetime_exceeded", now) if lifetime_over(instance, now) else instance


def put_step(instance: Instance, name: str, step: Step, **changes: object) -> Instance:
    """Replace one step record. A finished step is never replaced: callers look first (STP-3)."""
    return evolve(instance, history=instance.history.put(name, step), **changes)


def put_context(instance: Instance, context: Context) -> tuple[Context, ...]:
    """The contexts of the instance with one of them replaced."""
    if len(instance.contexts) == 1:
        return (context,)
    return tuple(context if each.token == context.token else each for each in instance.contexts)


def fail_attempt(step: Step, now: int) -> Step:
    """The do step after one more failed attempt: its retry scheduled, or `step_failed` recorded (DO-3,
    DO-7)."""
    assert step.policy is not None
    failures = step.failures + 1
    if failures >= step.policy.maximum_attempts:
        return step._replace(failures=failures, outcome=Failed("step_failed"), deadline=None)  # DO-7
    delay = step.policy.delay(failures) * MILLISECONDS
    return step._replace(failures=failures, deadline=now + delay if delay else None)  # DO-3


def fence(instance: Instance) -> Instance:
    """The instance without an owner: only what it is parked on stays its current step (PUB-2)."""
    fenced = evolve(instance, owner=0)
    return fenced if parked_on(fenced) is not None else evolve(fenced, current=None)


def lose_owner(instance: Instance, now: int) -> Instance:
    """Fence the owner; its uncommitted attempt leaves no outcome behind (DO-12), unless lost attempts count
    (DO-11)."""
    context = instance.context(instance.owner)
    if context is None or context.open is None or instance.rules.latitude.lost_attempt == "not-counted":
        return fence(instance)
    step = instance.history[context.open]
    if step.kind != "do" or step.finished or step.deadline is not None:  # between two attempts none is lost
        return fence(instance)
    return fence(put_step(instance, context.open, fail_attempt(step, now)))


SUCCESS = Succeeded(None)
"""The outcome of a sleep, and of anything that recorded `undefined` (STP-13)."""
