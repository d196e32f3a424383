"""Faults of events: acceptance, the inbox and its bounds, hand-over, consumption (chapters EVT and WFE)."""

import unicodedata
from collections.abc import Callable
from typing import Any

from fencepost.host.managed import ManagedHost
from fencepost.machine import REFERENCE, Slot, Transition, events, instances, parked_on, steps
from fencepost.machine.actions import Action, BeginStep, Create, SendEvent, Wake
from fencepost.machine.replies import Accepted, Rejected, Reply
from fencepost.machine.state import Event, Failed, Instance, Step, Succeeded

from .binding import code_units
from .table import altered, fault, rules, swapped

Matches = Callable[[str, str], bool]


def with_step(instance: Instance, name: str, step: Step) -> Instance:
    """The instance with one step record replaced."""
    return altered(instance, history=instance.history.put(name, step))


def waiting(slot: Slot, action: SendEvent) -> bool:
    """Whether a registered wait would take this event now."""
    return isinstance(slot, Instance) and events._waiting_step(slot, action) is not None


# Acceptance


@fault("EVT-1")
class TypesUpTo255Scalars(ManagedHost):
    """The type of an event may have 255 scalars, no more."""

    broken_rules = rules(type_scalars=255)


@fault("EVT-1")
class TypesOfAnyLength(ManagedHost):
    """The type of a sent event may have 257 scalars and more."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        def any_text(text: Any, what: str, most: int) -> str:
            return str(text)

        with swapped(events, check_text=any_text):
            return super().transition(slot, action)


@fault("EVT-1")
class TypesCountedInCodeUnits(ManagedHost):
    """The length of a sent type is counted in UTF-16 code units."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(events, check_text=code_units):
            return super().transition(slot, action)


@fault("EVT-1")
class EventsInMemory(ManagedHost):
    """An event is durable only once the Host has come to rest after its send."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.durable: dict[Any, int] = {}

    def settle(self) -> None:
        super().settle()
        self.durable = {k: s.accepted for k, s in self.slots.items() if isinstance(s, Instance)}

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance):
                kept = tuple(each for each in slot.inbox if each.number <= self.durable.get(key, 0))
                self.slots[key] = altered(slot, inbox=kept, inbox_bytes=sum(each.size for each in kept))


@fault("EVT-2")
class TerminalIsUnknown(ManagedHost):
    """An event for a terminal instance is refused as for an unknown one."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(events, TERMINAL=events.UNKNOWN):
            return super().transition(slot, action)


@fault("EVT-2")
class TerminalAccepts(ManagedHost):
    """An event for a terminal instance is accepted and dropped."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and isinstance(slot, Instance) and slot.terminal is not None:
            return Transition(slot, Accepted(slot.accepted))
        return super().transition(slot, action)


@fault("EVT-2")
class UnknownAccepts(ManagedHost):
    """An event for an unknown id is accepted and dropped."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and not isinstance(slot, Instance) and not slot.closed:
            return Transition(slot, Accepted(1))
        return super().transition(slot, action)


@fault("EVT-7")
class LostBeforeTheWait(ManagedHost):
    """An event that is sent before a wait for it exists is accepted and lost."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if isinstance(action, SendEvent) and isinstance(slot, Instance) and not waiting(slot, action):
            return Transition(slot, made.reply)
        return made


@fault("EVT-7")
class SleepersRefuseEvents(ManagedHost):
    """An instance that sleeps refuses events."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        step = parked_on(slot) if isinstance(slot, Instance) else None
        if isinstance(action, SendEvent) and step is not None and step.kind == "sleep":
            return Transition(slot, Rejected("not_running", "the instance sleeps"))
        return super().transition(slot, action)


@fault("EVT-7")
class StepsComeBeforeEvents(ManagedHost):
    """An instance that has not come to a step yet refuses events."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and isinstance(slot, Instance) and slot.live and not slot.history:
            return Transition(slot, Rejected("not_running", "the instance has no step"))
        return super().transition(slot, action)


@fault("EVT-7")
class KeptForADay(ManagedHost):
    """An event that nobody has taken for a day is dropped."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance):
            kept = tuple(each for each in slot.inbox if action.now - each.accepted_at < 86_400_000)
            slot = altered(slot, inbox=kept, inbox_bytes=sum(each.size for each in kept))
        return super().transition(slot, action)


@fault("EVT-9")
class EqualEventsAreOne(ManagedHost):
    """An event that equals one in the inbox is taken for a repetition of it."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and isinstance(slot, Instance):
            for each in slot.inbox:
                if (each.type, each.payload) == (action.type, action.payload):
                    return Transition(slot, Accepted(each.number))
        return super().transition(slot, action)


# Bounds


@fault("EVT-4", "EVT-3")
class InboxOf1023Events(ManagedHost):
    """The inbox is full with 1,023 events."""

    broken_rules = rules(inbox_events=1023)


@fault("EVT-3", "EVT-4")
class InboxOf1025Events(ManagedHost):
    """The inbox holds 1,025 events."""

    broken_rules = rules(inbox_events=1025)


@fault("EVT-4", "EVT-3")
class InboxOneByteTooSmall(ManagedHost):
    """The inbox is full one byte below its limit."""

    broken_rules = rules(inbox_bytes=1_048_575)


@fault("EVT-3", "EVT-4")
class InboxOneByteTooLarge(ManagedHost):
    """The inbox holds one byte more than its limit."""

    broken_rules = rules(inbox_bytes=1_048_577)


class Sized(ManagedHost):
    """A Host that counts stored events with a rule of its own."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and isinstance(action.type, str):
            payload = action.payload if isinstance(action.payload, bytes) else None
            action = altered(action, size=self.size(action.type, payload, action.size))
        return super().transition(slot, action)

    def size(self, type: str, payload: bytes | None, size: int) -> int:
        """What an event takes in the inbox."""
        raise NotImplementedError


@fault("EVT-3", "EVT-4")
class InboxCountsCharacters(Sized):
    """What an event takes in the inbox is counted in characters."""

    def size(self, type: str, payload: bytes | None, size: int) -> int:
        return size - len(type.encode()) + len(type) - len(payload or b"") + len((payload or b"").decode())


@fault("EVT-3", "EVT-4")
class InboxCountsPayloads(Sized):
    """Only the payload of an event counts in the inbox, not its type."""

    def size(self, type: str, payload: bytes | None, size: int) -> int:
        return len(payload or b"")


@fault("EVT-3")
class InboxNeverShrinks(ManagedHost):
    """An event that was consumed counts in the inbox for ever."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(slot, Instance) and isinstance(state, Instance) and not isinstance(action, SendEvent):
            state = altered(state, inbox_bytes=slot.inbox_bytes)
        return Transition(state, reply, clauses)


@fault("EVT-3")
class InboxForgetsTheRest(ManagedHost):
    """When an event is consumed, those that stay count no more."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(slot, Instance) and isinstance(state, Instance) and len(state.inbox) < len(slot.inbox):
            state = altered(state, inbox_bytes=0)
        return Transition(state, reply, clauses)


@fault("EVT-3", "EVT-4")
class InboxesShareTheirBound(ManagedHost):
    """The bound of 1,024 events holds for all instances together."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and isinstance(slot, Instance) and not waiting(slot, action):
            kept = sum(len(each.inbox) for each in self.slots.values() if isinstance(each, Instance))
            if kept >= 1024:
                return Transition(slot, events.FULL)
        return super().transition(slot, action)


@fault("EVT-5", "EVT-3", "EVT-4")
class FullInboxStopsHandOver(ManagedHost):
    """A full inbox refuses also an event that a parked wait would take."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and isinstance(slot, Instance) and slot.terminal is None:
            limits = slot.rules.limits
            full = len(slot.inbox) >= limits.inbox_events
            if full or slot.inbox_bytes + action.size > limits.inbox_bytes:
                return Transition(slot, events.FULL)
        return super().transition(slot, action)


@fault("EVT-5", "EVT-3")
class AwaitedTypesAreNeverRefused(ManagedHost):
    """A full inbox accepts any event of the type that the instance waited for last."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if made.reply != events.FULL or not isinstance(slot, Instance) or not isinstance(action, SendEvent):
            return made
        step = slot.history.get(slot.current) if slot.current is not None else None
        awaited = step is not None and step.type == action.type
        return Transition(slot, Accepted(slot.accepted)) if awaited else made


@fault("WFE-2", "EVT-9", "WFE-8", "EVT-5")
class SecondHandOverOverwrites(ManagedHost):
    """A second event, sent before the instance has moved on, takes the place of the one handed over."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        name = slot.current if isinstance(slot, Instance) else None
        if isinstance(action, SendEvent) and isinstance(slot, Instance) and name is not None:
            step = slot.history[name]
            handed = not slot.owner and step.kind == "wait" and isinstance(step.outcome, Succeeded)
            if handed and step.type == action.type and isinstance(action.payload, bytes):
                taken = altered(step, outcome=Succeeded(action.payload))
                return Transition(with_step(slot, name, taken), Accepted(slot.accepted + 1))
        return super().transition(slot, action)


# The end


@fault("EVT-6")
class LeftoversStay(ManagedHost):
    """Events that nobody took are kept by id beyond the end, and reach a later instance of the id."""

    broken_rules = rules(altered(REFERENCE, after_retention="forgotten"))

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.leftovers: dict[Any, tuple[Event, ...]] = {}

    def perform(self, key: Any, action: Action) -> Reply:
        before = self.slot(key)
        reply = super().perform(key, action)
        after = self.slot(key)
        if isinstance(before, Instance) and isinstance(after, Instance) and before.inbox and after.terminal:
            self.leftovers[key] = before.inbox
        if isinstance(action, Create) and isinstance(after, Instance) and after is not before:
            left = self.leftovers.pop(key, ())
            self.slots[key] = altered(after, inbox=left, inbox_bytes=sum(each.size for each in left))
        return reply


# Types


class Matching(ManagedHost):
    """A Host that matches types with a rule of its own."""

    def form(self, type: str) -> str:
        """What of a type is compared."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and isinstance(action.type, str) and isinstance(slot, Instance):
            step = slot.history.get(slot.current) if slot.current else None
            if step is not None and step.type and self.form(step.type) == self.form(action.type):
                action = altered(action, type=step.type)
        with swapped(steps, consume=self.consume):
            return super().transition(slot, action)

    def consume(self, instance: Instance, type: str) -> tuple[Instance, Event | None]:
        """The oldest event whose type compares as equal."""
        for each in instance.inbox:
            if self.form(each.type) == self.form(type):
                return events.consume(_front(instance, each), each.type)
        return instance, None


def _front(instance: Instance, event: Event) -> Instance:
    return altered(instance, inbox=(event, *(each for each in instance.inbox if each is not event)))


@fault("EVT-8", "WFE-11", "WFE-2")
class TypesIgnoreCase(Matching):
    """Types that differ in case only match."""

    def form(self, type: str) -> str:
        return type.casefold()


@fault("EVT-8", "WFE-11", "WFE-2")
class TypesAreNormalized(Matching):
    """Types that are equal after normalization match."""

    def form(self, type: str) -> str:
        return unicodedata.normalize("NFC", type)


@fault("EVT-8", "WFE-11", "WFE-2")
class TypesAreTrimmed(Matching):
    """Types that differ in surrounding space match."""

    def form(self, type: str) -> str:
        return type.strip()


@fault("WFE-11", "WFE-2", "EVT-8")
class AnyTypeSettles(Matching):
    """An event of any type settles a wait."""

    def form(self, type: str) -> str:
        return ""


# Consumption


class Consuming(ManagedHost):
    """A Host that takes events out of the inbox with a rule of its own."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(steps, consume=self.consume):
            return super().transition(slot, action)

    def consume(self, instance: Instance, type: str) -> tuple[Instance, Event | None]:
        """The instance without the event, and the event; None when none matches."""
        raise NotImplementedError


@fault("WFE-8", "WFE-2", "EVT-1")
class NewestFirst(Consuming):
    """A wait takes the newest matching event."""

    def consume(self, instance: Instance, type: str) -> tuple[Instance, Event | None]:
        backwards = altered(instance, inbox=instance.inbox[::-1])
        taken, event = events.consume(backwards, type)
        return altered(taken, inbox=taken.inbox[::-1]), event


@fault("WFE-2", "WFE-8")
class OthersAreDropped(Consuming):
    """A wait that finds its event drops the events of other types."""

    def consume(self, instance: Instance, type: str) -> tuple[Instance, Event | None]:
        taken, event = events.consume(instance, type)
        return (altered(taken, inbox=(), inbox_bytes=0), event) if event else (taken, None)


@fault("WFE-2", "WFE-8")
class ConsumptionCutsTheWrongEvent(Consuming):
    """A wait that finds its event behind another takes the one and deletes the other."""

    def consume(self, instance: Instance, type: str) -> tuple[Instance, Event | None]:
        taken, event = events.consume(instance, type)
        if event is None or event is instance.inbox[0]:
            return taken, event
        return altered(taken, inbox=instance.inbox[1:]), event


@fault("WFE-2")
class ConsumedEventsStay(Consuming):
    """A wait that takes an event leaves it in the inbox."""

    def consume(self, instance: Instance, type: str) -> tuple[Instance, Event | None]:
        return instance, events.consume(instance, type)[1]


@fault("WFE-8", "EVT-1")
class OrderIsTextAfterARestart(ManagedHost):
    """A restart loads the inbox by a key that sorts as text, so that event 10 comes before event 2."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance):
                inbox = sorted(slot.inbox, key=lambda event: str(event.number))
                self.slots[key] = altered(slot, inbox=tuple(inbox))


@fault("EVT-1", "WFE-8")
class NumbersStartAgainAtARestart(ManagedHost):
    """After a restart the numbers of accepted events begin at 1 again, and the inbox is kept by number."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance):
                self.slots[key] = altered(slot, accepted=0)

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, SendEvent) and isinstance(state, Instance):
            inbox = tuple(sorted(state.inbox, key=lambda event: event.number))
            state = altered(state, inbox=inbox)
        return Transition(state, reply, clauses)


@fault("WFE-9", "WFE-2", "DO-4", "EVT-1")
class ConsumedBeforeRecorded(ManagedHost):
    """An event is deleted in one commit and recorded in another, so that a crash between them loses it."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        from fencepost.machine.actions import Crash

        if isinstance(action, Crash) and isinstance(slot, Instance):
            context = slot.context(action.token)
            step = slot.history.get(context.open) if context and context.open else None
            if step is not None and step.kind == "wait" and isinstance(step.outcome, Succeeded):
                history = slot.history.drop(context.open)  # type: ignore[union-attr, arg-type]
                slot = altered(slot, history=history, current=None)
        return super().transition(slot, action)


# Hand-over and deadline


class Sweeping(ManagedHost):
    """A Host that queues every event, and matches what is parked when its sweeper runs."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(events, _waiting_step=lambda instance, sent: None):
            return super().transition(slot, action)

    def next_move(self, key: Any) -> Action | None:
        slot = self.slot(key)
        step = parked_on(slot) if isinstance(slot, Instance) else None
        if isinstance(slot, Instance) and step is not None and step.type and self.can_process_deadlines():
            self.sweep(key, slot, step)
        return super().next_move(key)

    def sweep(self, key: Any, slot: Instance, step: Step) -> None:
        """Match a parked wait with the inbox."""
        if step.deadline is not None and step.type is not None and self.now <= step.deadline:
            rest, event = events.consume(slot, step.type)
            if event is not None and slot.current is not None:
                taken = altered(step, outcome=Succeeded(event.payload), deadline=None)
                self.slots[key] = with_step(rest, slot.current, taken)
                self._moves += 1


@fault("WFE-6", "WFE-5")
class ProcessedLateIsLate(Sweeping):
    """An event that was accepted in time and is looked at later counts as late."""


@fault("WFE-2")
class ConsumptionForgottenAtARestart(Sweeping):
    """After a restart of the Host an event that was consumed is matched again with what waits then."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.ledger: dict[Any, dict[int, Event]] = {}

    def perform(self, key: Any, action: Action) -> Reply:
        reply = super().perform(key, action)
        slot = self.slot(key)
        if isinstance(slot, Instance):
            self.ledger.setdefault(key, {}).update({each.number: each for each in slot.inbox})
        return reply

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance) and slot.live:
                self.slots[key] = altered(slot, inbox=tuple(self.ledger.get(key, {}).values()))


@fault("WFE-6", "EVT-11", "WFE-11", "WFE-5")
class DeadlineIsTheSweepers(ManagedHost):
    """A wait takes events until its timeout has been processed, however late that is."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        def parked(instance: Instance, sent: SendEvent) -> Step | None:
            step = instance.history[instance.current] if instance.current is not None else None
            return step if step and step.deadline is not None and step.type == sent.type else None

        with swapped(events, _waiting_step=parked):
            return super().transition(slot, action)


@fault("WFE-5")
class DeadlineBelongsToTheTimeout(ManagedHost):
    """An event at the very instant of the deadline is not handed over any more."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        in_time = events._waiting_step

        def before(instance: Instance, sent: SendEvent) -> Step | None:
            step = in_time(instance, sent)
            return step if step and step.deadline is not None and sent.now < step.deadline else None

        with swapped(events, _waiting_step=before):
            return super().transition(slot, action)


@fault("WFE-5a", "WFE-5")
class TimeoutAtTheDeadlineItself(ManagedHost):
    """wait_timeout is recorded at the very instant of the deadline."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(instances, due=_due_at_once):
            return super().transition(slot, action)

    def moves(self, slot: Slot) -> tuple[Action, ...]:
        with swapped(instances, due=_due_at_once):
            return super().moves(slot)


def _due_at_once(instance: Instance, now: int) -> bool:
    step = parked_on(instance)
    return step is not None and step.deadline is not None and now >= step.deadline and not instance.closed


@fault("WFE-5", "WFE-1", "WFE-10")
class TimeoutIsNeverRecorded(ManagedHost):
    """A wait whose deadline has passed goes on waiting."""

    def moves(self, slot: Slot) -> tuple[Action, ...]:
        step = parked_on(slot) if isinstance(slot, Instance) else None
        waits = step is not None and step.kind == "wait"
        return tuple(each for each in super().moves(slot) if not (waits and isinstance(each, Wake)))


@fault("EVT-11", "WFE-6", "WFE-11")
class LateEventsAreLost(ManagedHost):
    """An event after the deadline of a wait for its type is accepted and lost."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        step = parked_on(slot) if isinstance(slot, Instance) else None
        late = step is not None and step.deadline is not None and action.now > step.deadline
        if isinstance(action, SendEvent) and late and step is not None and step.type == action.type:
            return Transition(slot, made.reply)
        return made


@fault("WFE-11", "EVT-7")
class TimedOutWaitSwallows(ManagedHost):
    """A wait that has timed out swallows the next event of its type."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.sated: set[tuple[str, str]] = set()

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if isinstance(action, SendEvent) and isinstance(slot, Instance) and isinstance(made.reply, Accepted):
            for name, step in slot.history.items():
                late = step.type == action.type and step.outcome == Failed("wait_timeout")
                if late and (slot.id, name) not in self.sated:
                    self.sated.add((slot.id, name))
                    return Transition(altered(slot, accepted=slot.accepted + 1), made.reply)
        return made


@fault("WFE-10", "WFE-6")
class MatchesParkedWaitsOnly(ManagedHost):
    """An event that comes while the context of its wait is being stopped stays in the inbox."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(slot, Instance) and slot.contexts:
            with swapped(events, _waiting_step=lambda instance, sent: None):
                return super().transition(slot, action)
        return super().transition(slot, action)


@fault("WFE-10", "WFE-6", "WFE-3", "EVT-1")
class LostWhileStopping(ManagedHost):
    """An event that comes while the context of its wait is being stopped is lost."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if isinstance(made.reply, Accepted) and made.reply.handed_over and isinstance(slot, Instance):
            return Transition(slot, made.reply) if slot.contexts else made
        return made


__all__ = ["Consuming", "Matching", "Sweeping", "waiting", "with_step"]
