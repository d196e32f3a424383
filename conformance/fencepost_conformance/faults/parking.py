"""Faults of sleeps and waits: their arguments, their deadlines, their contexts (chapters SLP and WFE)."""

from collections.abc import Mapping
from typing import Any

from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot, Transition, events, instances, parked_on, steps
from fencepost.machine.actions import Action, BeginStep, Park, SendEvent
from fencepost.machine.replies import Accepted, Pending
from fencepost.machine.state import Failed, Instance, Succeeded

from .steps import Lenient
from .table import altered, fault, rules, swapped

# Arguments


@fault("SLP-1", "STP-4")
class LongerSleeps(ManagedHost):
    """A sleep may be a second longer than the limit."""

    broken_rules = rules(sleep_seconds=31_536_001)


@fault("SLP-1", "STP-4")
class ShorterSleeps(ManagedHost):
    """A sleep must be a second shorter than the limit."""

    broken_rules = rules(sleep_seconds=31_535_999)


@fault("WFE-1", "STP-4")
class TimeoutsOfZero(ManagedHost):
    """A wait may have a timeout of 0 seconds."""

    broken_rules = rules(wait_seconds_minimum=0)


@fault("WFE-1", "STP-4")
class LongerTimeouts(ManagedHost):
    """The timeout of a wait may be a second longer than the limit."""

    broken_rules = rules(wait_seconds_maximum=31_536_001)


@fault("WFE-1", "STP-4")
class ShorterTimeouts(ManagedHost):
    """The timeout of a wait must be a second shorter than the limit."""

    broken_rules = rules(wait_seconds_maximum=31_535_999)


@fault("WFE-1", "STP-4")
class TimeoutsHaveADefault(Lenient):
    """A wait without a timeout waits for an hour."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        from ..probe.values import UNDEFINED

        given = action.arguments
        if action.kind == "wait" and given.get("timeoutSeconds") in (None, UNDEFINED):
            return {**given, "timeoutSeconds": 3600}
        return given


@fault("WFE-1", "STP-4")
class TypesHaveADefault(Lenient):
    """A wait without a type waits for events whose type is the name of the step."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        from ..probe.values import UNDEFINED

        given = action.arguments
        if action.kind == "wait" and given.get("type") in (None, UNDEFINED):
            return {**given, "type": action.name}
        return given


# Sleeps


class Waking(ManagedHost):
    """A Host that finds deadlines due in a way of its own."""

    def due(self, instance: Instance, now: int) -> bool:
        """Whether the deadline of what is parked has come."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(instances, due=self.due):
            return super().transition(slot, action)

    def moves(self, slot: Slot) -> tuple[Action, ...]:
        with swapped(instances, due=self.due):
            return super().moves(slot)


_due = instances.due


@fault("SLP-2")
class SleepsEndASecondEarly(Waking):
    """A sleep is over a second before its deadline."""

    def due(self, instance: Instance, now: int) -> bool:
        step = parked_on(instance)
        return _due(instance, now + 1000 if step is not None and step.kind == "sleep" else now)


@fault("SLP-2")
class SleepsNeverEnd(Waking):
    """A sleep whose deadline passed while the Host was down never ends."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.lost: set[str] = set()

    def restart(self) -> None:
        super().restart()
        for slot in self.slots.values():
            if isinstance(slot, Instance) and parked_on(slot) is not None:
                self.lost.add(slot.id)

    def due(self, instance: Instance, now: int) -> bool:
        step = parked_on(instance)
        lost = instance.id in self.lost and step is not None and step.kind == "sleep"
        return _due(instance, now) and not lost


@fault("SLP-2")
class EventsEndSleeps(ManagedHost):
    """An event that arrives wakes an instance that sleeps."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, SendEvent) and isinstance(reply, Accepted) and isinstance(state, Instance):
            step = parked_on(state)
            if step is not None and step.kind == "sleep" and state.current is not None:
                over = altered(step, outcome=Succeeded(None), deadline=None)
                state = altered(state, history=state.history.put(state.current, over))
        return Transition(state, reply, clauses)


@fault("SLP-2", "SLP-1")
class TimersStartAgain(ManagedHost):
    """A restart of the Host starts the timers of sleeps anew."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            step = parked_on(slot) if isinstance(slot, Instance) else None
            if isinstance(slot, Instance) and step is not None and step.kind == "sleep":
                began = self.trace_of(key[1], slot.current)
                again = altered(step, deadline=self.now + step.deadline - began)  # type: ignore[operator]
                history = slot.history.put(slot.current, again)  # type: ignore[arg-type]
                self.slots[key] = altered(slot, history=history)

    def trace_of(self, id: str, name: str | None) -> int:
        """The instant of the first call of a step, in milliseconds."""
        return next(
            moment.at
            for moment in self.trace
            if moment.instance == id and isinstance(moment.action, BeginStep) and moment.action.name == name
        )


@fault("SLP-2", "SLP-1")
class SleepsCountFromTheStart(ManagedHost):
    """The deadline of a sleep counts from the start of the instance."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, BeginStep) and isinstance(state, Instance) and action.kind == "sleep":
            step = state.history.get(action.name) if isinstance(action.name, str) else None
            if step is not None and step.deadline is not None and isinstance(reply, Pending):
                early = altered(step, deadline=step.deadline - action.now + state.created_at)
                state = altered(state, history=state.history.put(action.name, early))
        return Transition(state, reply, clauses)


@fault("SLP-3")
class ZeroSleepsPark(ManagedHost):
    """A sleep of 0 seconds stops its context."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Park) and isinstance(slot, Instance) and slot.owner == action.token:
            context = slot.context(action.token)
            step = slot.history.get(context.open) if context is not None and context.open else None
            if step is not None and step.kind == "sleep" and step.finished and not context.replaying:  # type: ignore[union-attr]
                from fencepost.machine.replies import Parked

                return Transition(altered(slot, owner=0, current=None), Parked())
        return super().transition(slot, action)


@fault("SLP-3", "SLP-2")
class ZeroSleepsTakeASecond(Lenient):
    """A sleep of 0 seconds takes one second."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        if action.kind == "sleep" and action.arguments.get("seconds") == 0:
            return {**action.arguments, "seconds": 1}
        return action.arguments


@fault("SLP-4", "LIF-3a")
class SleepsEndWithTheLifetime(ManagedHost):
    """A sleep that reaches beyond the lifetime is shortened to end a minute before it."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, BeginStep) and isinstance(state, Instance) and action.kind == "sleep":
            step = state.history.get(action.name) if isinstance(action.name, str) else None
            if step is not None and step.deadline is not None and step.deadline > state.ends_at:
                short = altered(step, deadline=state.ends_at - 60_000)
                state = altered(state, history=state.history.put(action.name, short))
        return Transition(state, reply, clauses)


# Waits


@fault("WFE-3", "WFE-10", "BND-5")
class WaitingIsNeverShown(ManagedHost):
    """An instance that waits is shown as sleeping."""

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        return {"status": "sleeping"} if shown["status"] == "waiting" else shown


@fault("WFE-5", "WFE-3")
class TimeoutsTwoSecondsEarly(Waking):
    """A wait times out before its deadline."""

    def due(self, instance: Instance, now: int) -> bool:
        step = parked_on(instance)
        return _due(instance, now + 2000 if step is not None and step.kind == "wait" else now)


@fault("WFE-5", "WFE-6")
class TimeoutsStartAgain(ManagedHost):
    """A restart of the Host starts the timeouts of waits anew."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            step = parked_on(slot) if isinstance(slot, Instance) else None
            if isinstance(slot, Instance) and step is not None and step.kind == "wait":
                again = altered(step, deadline=self.now + 86_400_000)
                history = slot.history.put(slot.current, again)  # type: ignore[arg-type]
                self.slots[key] = altered(slot, history=history)


@fault("WFE-5", "ERR-1")
class TimeoutsAreUndefined(ManagedHost):
    """A wait that has timed out resolves to undefined."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(instances, Failed=lambda name: Succeeded(None)):
            return super().transition(slot, action)


@fault("WFE-11", "STP-3", "WFE-5")
class TimeoutsAreNotRecorded(ManagedHost):
    """A wait that has timed out is pending again as soon as an event of its type comes."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, SendEvent) and isinstance(slot, Instance) and slot.live:
            for name, step in slot.history.items():
                if step.outcome == Failed("wait_timeout") and step.type == action.type:
                    payload = action.payload if isinstance(action.payload, bytes) else None
                    late = altered(step, outcome=Succeeded(payload))
                    history = slot.history.put(name, late)
                    return Transition(altered(slot, history=history), Accepted(slot.accepted + 1))
        return super().transition(slot, action)


@fault("WFE-7")
class MatchesParkFirst(ManagedHost):
    """A wait that finds a match in the inbox parks and is shown as waiting before it is given it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.matched: dict[Any, int] = {}

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if not isinstance(action, BeginStep) or not isinstance(slot, Instance):
            return made
        if isinstance(made.state, Instance) and len(made.state.inbox) < len(slot.inbox):
            self.matched[slot.id] = action.token
        return made

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        slot = self.slot((self.uid, id))
        open_still = isinstance(slot, Instance) and self.matched.get(id) in {
            context.token for context in slot.contexts if context.open is not None
        }
        step = slot.history.get(slot.current) if isinstance(slot, Instance) and slot.current else None
        return {"status": "waiting"} if open_still and step is not None and step.kind == "wait" else shown


@fault("WFE-9", "WFE-2", "STP-3")
class HandedEventsInMemory(ManagedHost):
    """A restart of the Host loses what was handed over to a wait and not taken up by a context."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            step = slot.history.get(slot.current) if isinstance(slot, Instance) and slot.current else None
            handed = step is not None and step.kind == "wait" and isinstance(step.outcome, Succeeded)
            if isinstance(slot, Instance) and handed and slot.live and not slot.owner:
                history = slot.history.put(slot.current, altered(step, outcome=Succeeded(None)))  # type: ignore
                self.slots[key] = altered(slot, history=history)


@fault("WFE-2", "STP-1")
class EventsOfAnyInstance(ManagedHost):
    """A wait that finds no event of its instance takes one of another."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        def anywhere(instance: Instance, type: str) -> Any:
            taken = events.consume(instance, type)
            if taken[1] is not None:
                return taken
            for other in self.slots.values():
                if isinstance(other, Instance) and other.id != instance.id:
                    found = events.consume(other, type)[1]
                    if found is not None:
                        return instance, found
            return taken

        with swapped(steps, consume=anywhere):
            return super().transition(slot, action)


__all__ = ["Waking"]
