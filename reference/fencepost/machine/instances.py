"""What callers do to an instance, and what the Host does to it: create, look up, end; claim, wake, stop,
purge."""

from fencepost.machine.actions import (
    Claim,
    Close,
    Crash,
    Create,
    EndLifetime,
    Expire,
    Get,
    Purge,
    ReadStatus,
    StopAck,
    Terminate,
    Unfit,
    Wake,
)
from fencepost.machine.arguments import Misfit, check_text
from fencepost.machine.endings import (
    SUCCESS,
    decide,
    end_lifetime,
    fence,
    lifetime_over,
    lose_owner,
    publish,
    put_step,
)
from fencepost.machine.events import CLOSED, UNKNOWN
from fencepost.machine.records import evolve
from fencepost.machine.replies import (
    Done,
    Impossible,
    Rejected,
    StatusAnswer,
    Transition,
    Unproven,
)
from fencepost.machine.state import (
    MILLISECONDS,
    Context,
    Failed,
    Instance,
    Slot,
    Step,
    Terminal,
    Vacant,
    held,
    parked_on,
    status_of,
)


def create(slot: Slot, action: Create) -> Transition:
    """Hold the id for a new queued instance, or refuse (BND-2, BND-3, DOC-8)."""
    misfit = _misfit(slot, action)
    taken = None
    if slot.closed:
        taken = CLOSED  # DEL-3
    elif held(slot, action.now):
        taken = Rejected("instance_exists", "an instance is held under this id")  # BND-3
    refusal = misfit or taken
    if misfit and taken and slot.rules.latitude.create_look_up == "look-up-first":
        refusal = taken  # DOC-12
    if refusal is not None:
        return Transition(slot, refusal, ("BND-3", "DOC-8", "BND-9"))
    limits = slot.rules.limits
    ends_at = action.now + limits.lifetime_seconds * MILLISECONDS  # LIF-1
    params = action.params if isinstance(action.params, bytes) else None
    return Transition(
        Instance(slot.rules, action.id, action.now, ends_at, params), Done(), ("BND-3", "LIF-1")
    )


def _misfit(slot: Slot, action: Create) -> Rejected | None:
    try:
        check_text(action.id, "id", slot.rules.limits.id_scalars)  # BND-2
    except Misfit as misfit:
        known = slot.rules.latitude.bad_id == "type-error"
        return Rejected("TypeError" if known else "RangeError", str(misfit))  # BND-9
    if action.params is Unfit.TOO_LARGE:
        return Rejected("document_too_large", "params are over the byte limit of a document")  # DOC-8
    if action.params is Unfit.INVALID:
        return Rejected("invalid_params", "params are no document")  # DOC-8
    return None


def get(slot: Slot, action: Get) -> Transition:
    """Whether the id is held (BND-4)."""
    if slot.closed and slot.rules.latitude.while_deleting == "refuses":
        return Transition(slot, CLOSED, ("STA-1",))
    return Transition(slot, Done() if held(slot, action.now) else UNKNOWN, ("BND-4", "RET-1"))


def read_status(slot: Slot, action: ReadStatus) -> Transition:
    """The status, the output of a complete and the reason of an errored instance (BND-5, BND-6)."""
    if slot.closed and slot.rules.latitude.while_deleting == "refuses":
        return Transition(slot, CLOSED, ("STA-1",))
    if isinstance(slot, Vacant) or not held(slot, action.now):
        return Transition(slot, UNKNOWN, ("BND-14",))
    terminal = slot.terminal
    if terminal is None:
        return Transition(slot, StatusAnswer(status_of(slot)), ("BND-5",))
    answer = StatusAnswer(terminal.status, terminal.output, terminal.reason)  # BND-6, BND-12
    return Transition(slot, answer, ("BND-6", "BND-12"))


def terminate(slot: Slot, action: Terminate) -> Transition:
    """Fence, cancel, and publish `terminated` once every context is stopped (TRM-1 to TRM-6)."""
    if isinstance(slot, Vacant) or not held(slot, action.now):
        return Transition(slot, UNKNOWN, ("BND-14",))
    if slot.terminal is not None:
        return Transition(slot, Done(), ("TRM-3",))  # TRM-3
    if lifetime_over(slot, action.now) and slot.rules.latitude.terminate_after_lifetime == "errored":  # LIF-5
        slot = end_lifetime(slot, action.now)
    if slot.live or _overridden(slot):
        slot = decide(slot, Terminal("terminated", action.now))
    return Transition(slot, Done() if slot.terminal else Unproven(), ("TRM-1", "TRM-2", "TRM-5"))


def _overridden(instance: Instance) -> bool:
    """Whether a terminate replaces what the run has settled as and nobody has seen yet (TRM-6)."""
    decision = instance.decision
    if decision is None or decision.status == "terminated" or decision.reason == "lifetime_exceeded":
        return False
    return instance.rules.latitude.terminate_after_settling == "terminated"


def claimable(instance: Instance, now: int) -> bool:
    """Whether the Host may start a context now: unowned, not parked, not ending (STA-1)."""
    if instance.owner or not instance.live or instance.closed or lifetime_over(instance, now):
        return False
    if parked_on(instance) is not None:
        return False
    return not (instance.contexts and instance.rules.latitude.overlapping_contexts == "after-stop")  # CTX-4


def claim(slot: Slot, action: Claim) -> Transition:
    """Start a context under a fresh token, larger than every earlier one (PUB-2, CTX-1, CTX-2)."""
    if isinstance(slot, Vacant) or not claimable(slot, action.now):
        return Transition(slot, Impossible("there is nothing to run"))
    if action.token <= slot.token or action.lease_until <= action.now:
        return Transition(slot, Impossible("a token is fresh, and a lease lies in the future"))
    started = (*slot.contexts, Context(action.token, action.version))
    owned = evolve(
        slot,
        owner=action.token,
        token=action.token,
        lease_until=action.lease_until,
        contexts=started,
        current=None,
    )
    return Transition(owned, Done(), ("CTX-1", "CTX-2", "CTX-3"))


def due(instance: Instance, now: int) -> bool:
    """Whether the deadline that the instance is parked for has come (SLP-2, WFE-5, DO-10)."""
    step = parked_on(instance)
    if step is None or step.deadline is None or instance.closed:
        return False
    if step.kind == "wait" or instance.rules.latitude.sleep_at_deadline == "parked":
        return now > step.deadline  # WFE-5: an event at the deadline's own instant still wins
    return now >= step.deadline  # SLP-6


def wake(slot: Slot, action: Wake) -> Transition:
    """Record that the deadline has passed: sleep finished, wait timed out, or retry ready."""
    if isinstance(slot, Vacant) or lifetime_over(slot, action.now) or not due(slot, action.now):
        return Transition(slot, Impossible("no deadline has passed"))
    name = slot.current
    assert name is not None
    step: Step = slot.history[name]
    if step.kind == "sleep":
        return Transition(
            put_step(slot, name, step._replace(outcome=SUCCESS, deadline=None)), Done(), ("SLP-2",)
        )
    if step.kind == "wait":
        late = step._replace(outcome=Failed("wait_timeout"), deadline=None)
        return Transition(put_step(slot, name, late), Done(), ("WFE-5", "WFE-11"))
    return Transition(put_step(slot, name, step._replace(deadline=None)), Done(), ("DO-10",))


def process_lifetime(slot: Slot, action: EndLifetime) -> Transition:
    """End an instance whose lifetime has passed, whatever its status (LIF-1)."""
    if isinstance(slot, Vacant) or not lifetime_over(slot, action.now):
        return Transition(slot, Impossible("the lifetime has not passed"))
    return Transition(end_lifetime(slot, action.now), Done(), ("LIF-1", "PUB-1"))


def expire(slot: Slot, action: Expire) -> Transition:
    """Fence an owner whose lease has run out; its context is not proven stopped (GRT-4)."""
    if isinstance(slot, Vacant) or not slot.owner or action.now < slot.lease_until:
        return Transition(slot, Impossible("no lease has run out"))
    return Transition(lose_owner(slot, action.now), Done(), ("GRT-4", "PUB-2", "DO-12"))


def stop_ack(slot: Slot, action: StopAck) -> Transition:
    """A fenced context is proven stopped; the last one to stop publishes what was decided (PUB-1, TRM-1)."""
    if isinstance(slot, Vacant) or slot.context(action.token) is None or slot.owner == action.token:
        return Transition(slot, Impossible("no fenced context has this token"))
    return _without(slot, action.token, action.now)


def crash(slot: Slot, action: Crash) -> Transition:
    """A context died: it is fenced and stopped; what it had not committed leaves nothing behind (DO-12)."""
    if isinstance(slot, Vacant) or slot.context(action.token) is None:
        return Transition(slot, Impossible("no context has this token"))
    if slot.owner == action.token:
        slot = lose_owner(slot, action.now)
    return _without(slot, action.token, action.now)


def _without(instance: Instance, token: int, now: int) -> Transition:
    rest = tuple(context for context in instance.contexts if context.token != token)
    return Transition(publish(evolve(instance, contexts=rest), now), Done(), ("PUB-1", "TRM-1"))


def close(slot: Slot, action: Close) -> Transition:
    """Accept nothing new and fence every owner, because the resource is being deleted (DEL-3, DEL-5)."""
    if isinstance(slot, Vacant):
        return Transition(evolve(slot, closed=True), Done(), ("DEL-3",))
    return Transition(fence(evolve(slot, closed=True)), Done(), ("DEL-2", "DEL-3", "DEL-5"))


def purge(slot: Slot, action: Purge) -> Transition:
    """Forget everything under the id: after a delete once all is stopped, else only after retention (DEL-3,
    RET-1, RET-3)."""
    if isinstance(slot, Vacant):
        return Transition(slot, Impossible("nothing is held"))
    if slot.contexts:
        return Transition(slot, Impossible("a context is not proven stopped"))  # DEL-3, DEL-4
    if not slot.closed and held(slot, action.now):
        return Transition(slot, Impossible("the instance is held"))  # RET-1, RET-3
    return Transition(Vacant(slot.rules, slot.closed), Done(), ("DEL-3", "RET-3"))
