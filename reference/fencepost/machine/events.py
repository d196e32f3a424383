"""Events: acceptance in order, the inbox and its bounds, hand-over to the wait that is registered."""

from fencepost.machine.actions import SendEvent, Unfit
from fencepost.machine.arguments import Misfit, check_text
from fencepost.machine.endings import lifetime_over, put_step
from fencepost.machine.records import evolve
from fencepost.machine.replies import Accepted, Rejected, Transition, Unproven
from fencepost.machine.state import Event, Instance, Slot, Step, Succeeded, Vacant, held

TERMINAL = Rejected("instance_terminal", "the instance has ended")
UNKNOWN = Rejected("unknown_instance", "no instance is held under this id")
FULL = Rejected("event_queue_full", "the inbox is full")
CLOSED = Rejected("backend_unavailable", "the resource is being deleted")


def consume(instance: Instance, type: str, until: int | None = None) -> tuple[Instance, Event | None]:
    """Take the oldest event of exactly this type out of the inbox, accepted at `until` (milliseconds) at the
    latest (WFE-2, WFE-6, WFE-8, EVT-8)."""
    for index, event in enumerate(instance.inbox):
        if event.type == type and (until is None or event.accepted_at <= until):
            rest = instance.inbox[:index] + instance.inbox[index + 1 :]
            return evolve(instance, inbox=rest, inbox_bytes=instance.inbox_bytes - event.size), event
    return instance, None


def send_event(slot: Slot, action: SendEvent) -> Transition:
    """Accept an event durably, with its place in the acceptance order, or refuse it (EVT-1 to EVT-5)."""
    misfit, unreachable = _misfit(slot, action), _unreachable(slot, action.now)
    refusal = misfit or unreachable
    if misfit and unreachable and slot.rules.latitude.event_look_up == "look-up-first":
        refusal = unreachable  # DOC-12
    if refusal is not None or isinstance(slot, Vacant):
        return Transition(slot, refusal or UNKNOWN, ("EVT-1", "EVT-2"))
    if not slot.live or lifetime_over(slot, action.now):
        return _while_ending(slot)
    number = slot.accepted + 1
    step = _waiting_step(slot, action)
    full = (
        len(slot.inbox) >= slot.rules.limits.inbox_events
        or slot.inbox_bytes + action.size > slot.rules.limits.inbox_bytes
    )  # EVT-3, EVT-4: both bounds are inclusive
    if full and slot.contexts and slot.rules.latitude.handover_before_parked == "queue-full":
        step = None  # EVT-10
    if step is not None and slot.current is not None:
        taken = step._replace(outcome=Succeeded(_bytes(action)), deadline=None)
        handed = put_step(slot, slot.current, taken, accepted=number)  # WFE-2: one commit
        return Transition(handed, Accepted(number, handed_over=True), ("EVT-1", "EVT-5", "WFE-5", "WFE-10"))
    if full:
        return Transition(slot, FULL, ("EVT-3", "EVT-4"))
    event = Event(number, action.type, _bytes(action), action.now, action.size)
    queued = evolve(
        slot,
        inbox=(*slot.inbox, event),
        inbox_bytes=slot.inbox_bytes + action.size,
        accepted=number,
    )
    return Transition(queued, Accepted(number), ("EVT-1", "EVT-7", "EVT-9"))


def _bytes(action: SendEvent) -> bytes | None:
    return action.payload if isinstance(action.payload, bytes) else None


def _misfit(slot: Slot, action: SendEvent) -> Rejected | None:
    try:
        check_text(action.type, "type", slot.rules.limits.type_scalars)  # EVT-1
    except Misfit as misfit:
        return Rejected("TypeError", str(misfit))
    if action.payload is Unfit.TOO_LARGE:
        return Rejected("document_too_large", "the payload is over the byte limit of a document")  # DOC-8
    if action.payload is Unfit.INVALID:
        known = slot.rules.latitude.bad_payload == "type-error"
        return Rejected("TypeError" if known else "DataError", "the payload is no document")  # DOC-11
    return None


def _unreachable(slot: Slot, now: int) -> Rejected | None:
    if slot.closed:
        return CLOSED  # DEL-3
    if isinstance(slot, Vacant) or not held(slot, now):
        return UNKNOWN  # EVT-2
    return TERMINAL if slot.terminal is not None else None  # EVT-2


def _while_ending(instance: Instance) -> Transition:
    """Decided but not published (TRM-6), or past a lifetime whose end nobody has processed yet (LIF-5)."""
    latitude = instance.rules.latitude
    choice = latitude.send_after_lifetime if instance.live else latitude.send_while_ending
    if choice == "held-back":
        return Transition(instance, Unproven(), ("TRM-6",))  # answered once the ending is published
    if choice == "accepted-and-purged":  # EVT-6: its place is after every event that the ending purges
        counted = evolve(instance, accepted=instance.accepted + 1)
        return Transition(counted, Accepted(counted.accepted), ("TRM-6", "EVT-6"))
    return Transition(instance, FULL if choice == "queue-full" else TERMINAL, ("TRM-6", "LIF-5"))


def _waiting_step(instance: Instance, action: SendEvent) -> Step | None:
    """The registered wait that takes this event, from its registration to its deadline's own instant (WFE-5,
    EVT-11)."""
    step = instance.history[instance.current] if instance.current is not None else None
    if step is None or step.kind != "wait" or step.deadline is None or step.type != action.type:
        return None
    return step if action.now <= step.deadline else None  # WFE-5, WFE-6
