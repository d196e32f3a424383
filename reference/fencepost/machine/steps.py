"""What an owner may do: begin a step, park, commit an attempt, settle. Every handler looks at the token first
(PUB-2)."""

from fencepost.machine.actions import BeginStep, CommitAttempt, OwnerAction, Park, Renew, Settle, Unfit
from fencepost.machine.arguments import Configuration, Misfit, check_text, configuration
from fencepost.machine.endings import SUCCESS, decide, fail, fail_attempt, fence, put_context, put_step
from fencepost.machine.events import consume
from fencepost.machine.records import evolve
from fencepost.machine.replies import (
    BadArgument,
    Done,
    Fenced,
    Impossible,
    Parked,
    Pending,
    Recorded,
    Replaying,
    Reply,
    Run,
    Stopped,
    Transition,
    UnfitResult,
)
from fencepost.machine.state import (
    MILLISECONDS,
    Context,
    Failed,
    Instance,
    Kind,
    Outcome,
    Reason,
    Step,
    Succeeded,
    Terminal,
)


def owning(instance: Instance, action: OwnerAction) -> Context | None:
    """The context that acts, or None when it is fenced (PUB-2)."""
    if action.token != instance.owner or instance.decision is not None or instance.terminal is not None:
        return None
    if action.now >= instance.lease_until and instance.rules.latitude.expired_lease == "refused":
        return None  # PUB-3
    return instance.context(action.token)


def _fenced(instance: Instance) -> Transition:
    return Transition(instance, Fenced(), ("PUB-2", "TRM-4"))


def _stop(instance: Instance, reason: Reason, now: int, *clauses: str) -> Transition:
    return Transition(fail(instance, reason, now), Stopped(reason), clauses)


def begin_step(instance: Instance, action: BeginStep) -> Transition:
    """A step call at the instant of the call (STP-2 to STP-9)."""
    context = owning(instance, action)
    if context is None:
        return _fenced(instance)
    latitude, limits, now = instance.rules.latitude, instance.rules.limits, action.now
    try:
        name = check_text(action.name, "name", limits.name_scalars)  # STP-2
    except Misfit as misfit:
        return Transition(instance, BadArgument(str(misfit)), ("STP-2", "STP-4"))
    step: Step | None = instance.history.get(name)
    if step is not None and step.outcome is not None:
        return _replay(instance, context, name, step.outcome, now)
    wanted: Configuration | Misfit
    try:
        wanted = configuration(action.kind, action.arguments, instance.rules)
    except Misfit as misfit:
        wanted = misfit
    if isinstance(wanted, Configuration) or latitude.misfit_overlap == "mismatch":  # STP-10
        if context.open is not None and not (context.replaying and latitude.replay_beside_new == "runs"):
            return _stop(instance, "step_definition_mismatch", now, "STP-6", "STP-7")
        if step is not None and step.kind != action.kind:
            return _stop(instance, "step_definition_mismatch", now, "STP-6")
    full = step is None and len(instance.history) >= limits.maximum_steps
    if isinstance(wanted, Misfit) and not (full and latitude.misfit_beyond_limit == "limit"):
        return Transition(instance, BadArgument(str(wanted)), ("STP-4",))  # STP-4: nothing is journaled
    if full:
        return _stop(instance, "step_limit_exceeded", now, "STP-9")
    assert isinstance(wanted, Configuration)
    if step is None:
        return _first_call(instance, context, action, name, wanted)
    return _later_call(instance, context, name, step, now)  # STP-5: what was saved first is kept


def _replay(instance: Instance, context: Context, name: str, outcome: Outcome, now: int) -> Transition:
    """A finished name has its recorded outcome, whatever its other arguments are (STP-3)."""
    latitude = instance.rules.latitude
    if context.open is not None:  # STP-10
        choice = latitude.two_replays if context.replaying else latitude.replay_beside_new
        if choice == "mismatch":
            return _stop(instance, "step_definition_mismatch", now, "STP-6")
        return Transition(instance, Recorded(outcome), ("STP-3",))
    if "mismatch" in (latitude.two_replays, latitude.replay_beside_new, latitude.unawaited_replay):
        opened = put_context(
            instance, Context(context.token, context.version, name, True)
        )  # until the turn has drained
        return Transition(evolve(instance, contexts=opened), Replaying(outcome), ("STP-3",))
    return Transition(instance, Recorded(outcome), ("STP-3",))


def _first_call(
    instance: Instance, context: Context, action: BeginStep, name: str, wanted: Configuration
) -> Transition:
    deadline = action.now + wanted.seconds * MILLISECONDS
    if action.kind == "do":
        return _open(instance, context, name, Step("do", policy=wanted.policy), Run(1), "DO-1")
    if action.kind == "sleep":
        if not wanted.seconds:
            return _open(instance, context, name, Step("sleep", SUCCESS), Pending(), "SLP-3")
        if deadline > instance.ends_at and instance.rules.latitude.sleep_beyond_lifetime == "ends-at-once":
            return _stop(instance, "lifetime_exceeded", action.now, "LIF-3")
        return _open(instance, context, name, Step("sleep", deadline=deadline), Pending(), "SLP-1", "SLP-4")
    assert wanted.type is not None
    instance, event = consume(instance, wanted.type)  # WFE-2: one commit with the step's outcome
    if event is not None:
        found = Step("wait", Succeeded(event.payload), type=wanted.type)
        return _open(instance, context, name, found, Pending(), "WFE-2", "WFE-4", "WFE-7", "WFE-8")
    return _open(
        instance, context, name, Step("wait", deadline=deadline, type=wanted.type), Pending(), "WFE-1"
    )


def _later_call(instance: Instance, context: Context, name: str, step: Step, now: int) -> Transition:
    if step.kind == "do":
        if step.deadline is not None and step.deadline > now:
            return _open(instance, context, name, step, Pending(), "DO-10")
        ready = step._replace(deadline=None)
        return _open(instance, context, name, ready, Run(step.failures + 1), "DO-6")
    assert step.deadline is not None
    if step.kind == "wait":
        instance, event = consume(instance, step.type or "", step.deadline)  # WFE-6
        if event is not None:
            found = step._replace(outcome=Succeeded(event.payload), deadline=None)
            return _open(instance, context, name, found, Pending(), "WFE-2", "WFE-6", "WFE-7")
    if step.kind == "sleep" and step.deadline <= now:
        return _open(
            instance, context, name, step._replace(outcome=SUCCESS, deadline=None), Pending(), "SLP-2"
        )
    if step.kind == "wait" and step.deadline < now:  # WFE-5: only strictly after
        late = step._replace(outcome=Failed("wait_timeout"), deadline=None)
        return _open(instance, context, name, late, Pending(), "WFE-5")
    return _open(instance, context, name, step, Pending(), "STP-5")


def _open(
    instance: Instance, context: Context, name: str, step: Step, reply: Reply, *clauses: str
) -> Transition:
    contexts = put_context(instance, Context(context.token, context.version, name))
    return Transition(put_step(instance, name, step, current=name, contexts=contexts), reply, clauses)


def park(instance: Instance, action: Park) -> Transition:
    """The turn has drained: hand out what the step has come to, or fence this context until the step
    wakes."""
    context = owning(instance, action)
    if context is None:
        return _fenced(instance)
    step = instance.history[context.open] if context.open is not None else None
    if step is None or (step.outcome is None and step.deadline is None):
        return Transition(instance, Impossible("no sleep, wait or retry is open in this context"))
    same_context = step.kind != "wait" or instance.rules.latitude.wait_match == "same-context"  # WFE-7
    if step.outcome is not None and (same_context or context.replaying):
        closed = put_context(instance, Context(context.token, context.version))
        return Transition(evolve(instance, contexts=closed), Recorded(step.outcome), _SETTLED[step.kind])
    return Transition(fence(instance), Parked(), _PARKED[step.kind])


_SETTLED: dict[Kind, tuple[str, ...]] = {"do": ("STP-3",), "sleep": ("SLP-3",), "wait": ("WFE-4",)}
_PARKED: dict[Kind, tuple[str, ...]] = {
    "do": ("DO-5", "PUB-1"),
    "sleep": ("SLP-2", "PUB-1"),
    "wait": ("WFE-3", "PUB-1"),
}


def commit_attempt(instance: Instance, action: CommitAttempt) -> Transition:
    """Record what the effect of the open do step came to, before anything goes on (DO-4)."""
    context = owning(instance, action)
    if context is None:
        return _fenced(instance)
    name = context.open
    step = instance.history[name] if name is not None else None
    if name is None or step is None or step.kind != "do" or step.finished or step.deadline is not None:
        return Transition(instance, Impossible("no attempt is open in this context"))
    latitude = instance.rules.latitude
    closed = put_context(instance, Context(context.token, context.version))
    if isinstance(action.result, Unfit) and latitude.invalid_result == "type-error":  # DO-9
        text = "the effect's result is no document"
        history = instance.history.drop(name)  # as a refused call it leaves no record (STP-4a)
        unused = evolve(instance, contexts=closed, history=history, current=None)
        return Transition(unused, UnfitResult(text), ("DO-8",))
    if not action.failed and not isinstance(action.result, Unfit):
        outcome = Succeeded(action.result)
        finished = put_step(instance, name, step._replace(outcome=outcome), contexts=closed)
        return Transition(finished, Recorded(outcome), ("DO-4", "DO-6"))
    failed = fail_attempt(step, action.now)  # DO-4, DO-8
    unfit = ("DO-8",) if isinstance(action.result, Unfit) else ()
    if failed.outcome is None or latitude.final_rejection == "fresh-context":
        return Transition(fence(put_step(instance, name, failed)), Parked(), ("DO-3", "DO-5", *unfit))  # DO-5
    return Transition(
        put_step(instance, name, failed, contexts=closed), Recorded(failed.outcome), ("DO-7", "ERR-1", *unfit)
    )


def settle(instance: Instance, action: Settle) -> Transition:
    """Decide the terminal outcome of a run that returned or threw (ABI-3, ERR-3)."""
    context = owning(instance, action)
    if context is None:
        return _fenced(instance)
    leftover = (
        not all(step.finished for step in instance.history.values())
        and instance.rules.latitude.leftover_step == "mismatch"
    )
    replayed = context.replaying and instance.rules.latitude.unawaited_replay == "settles"  # STP-10
    if (context.open is not None and not replayed) or leftover:  # STP-8 before the run's own outcome; STP-11
        return _stop(instance, "step_definition_mismatch", action.now, "STP-6", "STP-8")
    if action.threw:
        genuine = action.provenance == "step_failed"
        return _stop(instance, "step_failed" if genuine else "run_threw", action.now, "ERR-3")  # ERR-3
    if isinstance(action.result, Unfit):
        return _stop(instance, "run_threw", action.now, "ABI-4")  # ABI-4
    outcome = Terminal("complete", action.now, output=action.result)
    return Transition(decide(instance, outcome), Stopped(), ("ABI-3", "PUB-1"))


def renew(instance: Instance, action: Renew) -> Transition:
    """Extend the lease of the present owner; a lease that has run out is not renewed (GRT-4)."""
    if owning(instance, action) is None or action.now >= instance.lease_until:
        return _fenced(instance)
    if action.lease_until < instance.lease_until:
        return Transition(instance, Impossible("a lease is never shortened"))
    return Transition(evolve(instance, lease_until=action.lease_until), Done(), ("GRT-4",))
