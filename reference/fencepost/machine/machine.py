"""The transition function: one table from kinds of action to handlers, and one law for all of them.

The law: a refused action returns the very state that it was given. Time is looked at before the table is:
once the lifetime has passed, an owner's report finds the instance decided and itself fenced, processed or not
(LIF-5).
"""

from collections.abc import Callable
from typing import Any

from fencepost.machine import events, instances, steps
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
    Wake,
)
from fencepost.machine.endings import lifetime_over
from fencepost.machine.replies import Fenced, Transition
from fencepost.machine.state import Instance, Slot, parked_on

_SLOT: dict[type[Action], Callable[[Slot, Any], Transition]] = {
    Create: instances.create,
    Get: instances.get,
    ReadStatus: instances.read_status,
    SendEvent: events.send_event,
    Terminate: instances.terminate,
    Claim: instances.claim,
    Wake: instances.wake,
    EndLifetime: instances.process_lifetime,
    Expire: instances.expire,
    StopAck: instances.stop_ack,
    Crash: instances.crash,
    Close: instances.close,
    Purge: instances.purge,
}

_OWNER: dict[type[Action], Callable[[Instance, Any], Transition]] = {
    BeginStep: steps.begin_step,
    Park: steps.park,
    CommitAttempt: steps.commit_attempt,
    Settle: steps.settle,
    Renew: steps.renew,
}


def apply(slot: Slot, action: Action) -> Transition:
    """The state after `action`, its reply and the clauses behind the move; an illegal action leaves the state
    unchanged."""
    handler = _SLOT.get(type(action))
    if handler is not None:
        transition = handler(slot, action)
    elif not isinstance(slot, Instance):
        return Transition(slot, Fenced(), ("PUB-2", "DEL-5"))  # DEL-5: a late owner finds nothing of its own
    elif lifetime_over(slot, action.now):
        return Transition(slot, Fenced(), ("LIF-5", "PUB-2"))  # LIF-5
    else:
        transition = _OWNER[type(action)](slot, action)
    if transition.reply.refused and transition.state is not slot:
        return Transition(slot, transition.reply, transition.clauses)
    return transition


def enabled(slot: Slot, now: int, *, version: str = "", lease: int = 1) -> tuple[Action, ...]:
    """What the Host may do on its own at `now`; a claim is shown with the next token, `version` and `lease`
    in milliseconds."""
    if not isinstance(slot, Instance):
        return ()
    actions: list[Action] = []
    if lifetime_over(slot, now):
        actions.append(EndLifetime(now))
    elif instances.due(slot, now):
        actions.append(Wake(now))
    if slot.owner and now >= slot.lease_until:
        actions.append(Expire(now))
    for context in slot.contexts:
        if context.token != slot.owner:
            actions.append(StopAck(now, context.token))
    if instances.claimable(slot, now):  # last: what can be stopped is stopped first, and need not be (CTX-4)
        actions.append(Claim(now, slot.token + 1, version, now + lease))
    return tuple(actions)


def next_instant(slot: Slot) -> int | None:
    """The earliest instant (milliseconds) at which time alone enables something, leases apart; None if it
    never does."""
    if not isinstance(slot, Instance) or not slot.live:
        return None
    latitude = slot.rules.latitude
    over = slot.ends_at + (latitude.at_lifetime_end == "outcome-wins")  # LIF-2
    step = parked_on(slot)
    if step is None or step.deadline is None or slot.closed:
        return over
    strictly_after = step.kind == "wait" or latitude.sleep_at_deadline == "parked"  # WFE-5, SLP-6
    return min(over, step.deadline + strictly_after)
