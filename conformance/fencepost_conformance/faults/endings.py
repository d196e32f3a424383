"""Faults of how an instance ends, is shown and is kept (chapters TRM, PUB, LIF and RET)."""

from concurrent.futures import Future
from typing import Any

from fencepost.contexts.execution import Execution
from fencepost.host.calls import CallError
from fencepost.host.engine import Key
from fencepost.host.flights import Flight, Flights
from fencepost.host.managed import ManagedHost
from fencepost.machine import REFERENCE, Slot, Transition, endings, instances, machine, parked_on
from fencepost.machine.actions import (
    Action,
    BeginStep,
    Claim,
    CommitAttempt,
    EndLifetime,
    Expire,
    OwnerAction,
    Park,
    ReadStatus,
    Settle,
    Terminate,
)
from fencepost.machine.replies import Done, Recorded, Rejected, Reply, Unproven
from fencepost.machine.state import Context, Failed, Instance, Succeeded, Terminal, Vacant
from fencepost_spec.limits import FORM

from ..hosts.latitude import WhenLetRun
from .table import altered, fault, rules, swapped


def published(instance: Instance) -> Instance:
    """The instance with its decision published, whatever still runs."""
    bare = endings.publish(altered(instance, contexts=()), instance.decision.at if instance.decision else 0)
    return altered(bare, contexts=instance.contexts)


# Terminate


@fault("TRM-1", "PUB-1", "TRM-2")
class TerminatedBeforeTheStop(ManagedHost):
    """terminate shows `terminated` and succeeds before the code has stopped."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if isinstance(action, Terminate) and isinstance(made.state, Instance) and made.state.decision:
            return Transition(published(made.state), Done())
        return made


@fault("TRM-2", "TRM-1")
class SuccessBeforeTheStop(ManagedHost):
    """terminate succeeds before the code has stopped; the status follows later."""

    def terminate(self, id: Any) -> Future[None]:
        super().terminate(id)
        done: Future[None] = Future()
        done.set_result(None)
        return done


@fault("TRM-2", "TRM-1")
class SuccessAtTheSecondCall(ManagedHost):
    """A second terminate succeeds at once, because one is under way."""

    def terminate(self, id: Any) -> Future[None]:
        slot = self.slot((self.uid, id))
        if isinstance(slot, Instance) and slot.decision is not None and self.backend_up:
            done: Future[None] = Future()
            done.set_result(None)
            return done
        return super().terminate(id)


@fault("TRM-3")
class TerminateOverwrites(ManagedHost):
    """terminate turns a finished outcome into `terminated`."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Terminate) and isinstance(slot, Instance) and slot.terminal is not None:
            return Transition(altered(slot, terminal=Terminal("terminated", action.now)), Done())
        return super().transition(slot, action)


@fault("TRM-3")
class TerminateOfAnEndedFails(ManagedHost):
    """terminate of an instance that has ended is refused."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Terminate) and isinstance(slot, Instance) and slot.terminal is not None:
            return Transition(slot, Rejected("instance_terminal", "the instance has ended"))
        return super().transition(slot, action)


class Leaking(ManagedHost):
    """A Host that lets some reports of a fenced context through."""

    def leaks(self, instance: Instance, action: OwnerAction) -> bool:
        """Whether this report of a context that is not the owner is taken."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if (
            isinstance(slot, Instance)
            and isinstance(action, OwnerAction)
            and isinstance(action, BeginStep | CommitAttempt | Settle | Park)
            and action.token != slot.owner
            and slot.terminal is None
            and self.leaks(slot, action)
        ):
            return self.let_through(slot, action)
        return super().transition(slot, action)

    def let_through(self, slot: Instance, action: OwnerAction) -> Transition:
        """What the machine says when it takes the reporter for the owner."""
        context = slot.context(action.token) or Context(action.token, "")
        if isinstance(action, BeginStep):
            context = altered(context, open=None)
        others = tuple(each for each in slot.contexts if each.token != action.token)
        owned = altered(
            slot,
            owner=action.token,
            lease_until=action.now + 1_000,
            contexts=(*others, context),
            decision=None,
            ends_at=max(slot.ends_at, action.now + 1),
        )
        state, reply, clauses = super().transition(owned, action)
        if isinstance(state, Instance) and state.live:
            state = altered(
                state,
                owner=slot.owner,
                lease_until=slot.lease_until,
                decision=slot.decision,
                ends_at=slot.ends_at,
            )
        return Transition(state, reply, clauses)


@fault("TRM-4", "DEL-5")
class TerminatedRunsMayFinish(Leaking):
    """A run that settles between fence and stop wins over the terminate."""

    def leaks(self, instance: Instance, action: OwnerAction) -> bool:
        return instance.decision is not None and instance.decision.status == "terminated"


class _LastOnly(Flights):
    def land(self, key: Key) -> None:
        self._waiting[key] = self._waiting.get(key, [])[-1:]
        super().land(key)


class _FirstOnly(Flights):
    def land(self, key: Key) -> None:
        first, *others = self._waiting.get(key, []) or [Flight(Future())]
        late = CallError("instance_terminal", "the instance has ended")
        self._waiting[key] = [first, *(altered(each, ends_with=late) for each in others)]
        super().land(key)


class Unhurried(WhenLetRun):
    """A Host that keeps a terminate in flight until it is let run."""

    broken_rules = rules(altered(REFERENCE, unprovable_terminate="unanswered"))


@fault("TRM-5")
class OneTerminateIsAnswered(Unhurried):
    """Of several terminates in flight only the last is answered."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.flights = _LastOnly()


@fault("TRM-5")
class OtherTerminatesFail(Unhurried):
    """Of several terminates in flight the first succeeds, and the others find the instance terminal."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.flights = _FirstOnly()


@fault("TRM-1", "PUB-1")
class TimersOutliveTheEnd(ManagedHost):
    """An instance that slept or waited goes on at its deadline, though it was terminated."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.parked: dict[Any, Instance] = {}

    def perform(self, key: Any, action: Action) -> Reply:
        slot = self.slot(key)
        if isinstance(action, Terminate) and isinstance(slot, Instance) and parked_on(slot) is not None:
            self.parked[key] = slot
        return super().perform(key, action)

    def settle(self) -> None:
        for key, slot in list(self.parked.items()):
            step = parked_on(slot)
            if step is not None and step.deadline is not None and self.now > step.deadline:
                self.slots[key] = self.parked.pop(key)
        super().settle()


@fault("TRM-1", "PUB-1", "LIF-1")
class CodeOutlivesItsStop(ManagedHost):
    """A context that is stopped is only forgotten: its code goes on at its gate and its timers."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.zombies: list[Execution] = []

    def _drop(self, owner: Any) -> None:
        self.owners.remove(owner)
        self.zombies.append(owner.execution)

    def settle(self) -> None:
        super().settle()
        for execution in self.zombies:
            execution.turns.fire_ticks()
            for _ in range(9):
                execution.turns.turn()


@fault("TRM-1")
class TerminateWaitsForTheRun(ManagedHost):
    """terminate of a running instance waits until the run has settled, and shows its outcome."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Terminate) and isinstance(slot, Instance) and slot.owner and slot.live:
            return Transition(slot, Unproven())
        return super().transition(slot, action)


# Publication


class Showing(ManagedHost):
    """A Host that shows some statuses while the code still runs."""

    def shown(self, instance: Instance) -> Instance:
        """The instance as callers see it."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, ReadStatus) and isinstance(slot, Instance) and slot.contexts:
            return Transition(slot, super().transition(self.shown(slot), action).reply)
        return super().transition(slot, action)


@fault("PUB-1", "SLP-2")
class SleepingBeforeTheStop(Showing):
    """`sleeping` is shown while the context that sleeps has not stopped."""

    def shown(self, instance: Instance) -> Instance:
        bare = altered(instance, contexts=())
        step = parked_on(bare)
        return bare if step is not None and step.kind == "sleep" else instance


@fault("PUB-1", "WFE-3", "WFE-7")
class WaitingBeforeTheStop(Showing):
    """`waiting` is shown while the context that waits has not stopped."""

    def shown(self, instance: Instance) -> Instance:
        bare = altered(instance, contexts=())
        step = parked_on(bare)
        return bare if step is not None and step.kind == "wait" else instance


@fault("PUB-1")
class RetryBeforeTheStop(Showing):
    """`sleeping` is shown for a retry while the context of the failed attempt has not stopped."""

    def shown(self, instance: Instance) -> Instance:
        bare = altered(instance, contexts=())
        step = parked_on(bare)
        return bare if step is not None and step.kind == "do" else instance


@fault("PUB-1", "TRM-2", "TRM-1")
class OutcomeBeforeTheStop(Showing):
    """A terminal status is shown as soon as it is decided."""

    def shown(self, instance: Instance) -> Instance:
        return published(instance) if instance.decision is not None else instance


@fault("PUB-1", "LIF-1")
class LifetimeEndsBeforeTheStop(Showing):
    """`lifetime_exceeded` is shown before the code has stopped."""

    def shown(self, instance: Instance) -> Instance:
        over = instance.decision is not None and instance.decision.reason == "lifetime_exceeded"
        return published(instance) if over else instance


@fault("PUB-2", "STP-17", "TRM-4")
class StaleOwnersCommitResults(Leaking):
    """A fenced owner still commits the result of an effect."""

    def leaks(self, instance: Instance, action: OwnerAction) -> bool:
        return (
            isinstance(action, CommitAttempt) and instance.decision is None and self.stands(instance, action)
        )

    def stands(self, instance: Instance, action: OwnerAction) -> bool:
        """Whether the step of the reporter is unfinished still."""
        context = instance.context(action.token)
        step = instance.history.get(context.open) if context is not None and context.open else None
        return step is not None and not step.finished


@fault("PUB-2", "STP-17", "STP-3")
class LateReportsOverwrite(ManagedHost):
    """A late report of a fenced owner takes the place of the result that was committed."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, CommitAttempt) and isinstance(slot, Instance) and slot.live:
            context = slot.context(action.token)
            name = context.open if context is not None else None
            step = slot.history.get(name) if name is not None else None
            if name is not None and step is not None and step.finished and not action.failed:
                late = altered(step, outcome=Succeeded(action.result))  # type: ignore[arg-type]
                history = slot.history.put(name, late)
                return Transition(altered(slot, history=history), super().transition(slot, action).reply)
        return super().transition(slot, action)


@fault("PUB-2", "TRM-4")
class StaleOwnersPublishOutcomes(Leaking):
    """A fenced owner whose run settles decides the outcome of the instance."""

    def leaks(self, instance: Instance, action: OwnerAction) -> bool:
        return isinstance(action, Settle) and instance.decision is None


class Reviving(Leaking):
    """A Host whose fenced owners hear that their results were recorded, though they were not, and go on."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        stale = isinstance(slot, Instance) and isinstance(action, OwnerAction) and action.token < slot.owner
        if stale and isinstance(action, CommitAttempt) and isinstance(action.result, bytes):
            return Transition(slot, Recorded(Succeeded(action.result)))
        return super().transition(slot, action)


@fault("PUB-2", "STP-17")
class StaleOwnersTakeEvents(Reviving):
    """A fenced owner still consumes events."""

    def leaks(self, instance: Instance, action: OwnerAction) -> bool:
        return isinstance(action, BeginStep) and action.kind == "wait"


@fault("STP-17", "PUB-2")
class StaleOwnersBeginSteps(Reviving):
    """A fenced owner still begins steps, which are then pending in the history."""

    def leaks(self, instance: Instance, action: OwnerAction) -> bool:
        return isinstance(action, BeginStep)


@fault("PUB-2")
class StaleOwnersPublishSleep(ManagedHost):
    """An owner that was frozen on its way into a sleep or wait shows that status when it goes on."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.parked: set[Any] = set()

    def resume(self, id: str) -> None:
        if any(owner.frozen and owner.execution.dead for owner in self._owners_of(id)):
            self.parked.add(id)
        super().resume(id)

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        return {"status": "sleeping"} if id in self.parked else shown


# Lifetime


@fault("LIF-1")
class LifetimeOneMinuteShort(ManagedHost):
    """The lifetime ends a minute early."""

    broken_rules = rules(lifetime_seconds=FORM.lifetime_seconds - 60)


@fault("LIF-1", "LIF-5")
class LifetimeOneMinuteLong(ManagedHost):
    """The lifetime ends a minute late."""

    broken_rules = rules(lifetime_seconds=FORM.lifetime_seconds + 60)


class Outliving(ManagedHost):
    """A Host that spares some instances from the end of their lifetime."""

    def spared(self, instance: Instance) -> bool:
        """Whether an instance lives on."""
        raise NotImplementedError

    def over(self, instance: Instance, now: int) -> bool:
        """Whether the lifetime has ended."""
        return endings.lifetime_over(instance, now) and not self.spared(instance)

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(instances, lifetime_over=self.over), swapped(machine, lifetime_over=self.over):
            return super().transition(slot, action)

    def moves(self, slot: Slot) -> tuple[Action, ...]:
        with swapped(instances, lifetime_over=self.over), swapped(machine, lifetime_over=self.over):
            return super().moves(slot)


@fault("LIF-1", "LIF-3a")
class WaitersLiveOn(Outliving):
    """An instance that waits for an event outlives its lifetime."""

    def spared(self, instance: Instance) -> bool:
        step = parked_on(instance)
        return step is not None and step.kind == "wait"


@fault("LIF-1", "LIF-3a", "SLP-4")
class SleepersLiveOn(Outliving):
    """An instance that sleeps outlives its lifetime."""

    def spared(self, instance: Instance) -> bool:
        step = parked_on(instance)
        return step is not None and step.kind == "sleep"


@fault("LIF-1", "LIF-5")
class RunnersLiveOn(Outliving):
    """An instance whose code is running outlives its lifetime."""

    def spared(self, instance: Instance) -> bool:
        return bool(instance.owner)


@fault("LIF-1")
class RetriersLiveOn(Outliving):
    """An instance that waits for a retry outlives its lifetime."""

    def spared(self, instance: Instance) -> bool:
        step = parked_on(instance)
        return step is not None and step.kind == "do"


@fault("LIF-1", "TRM-3")
class LifetimeOverwrites(ManagedHost):
    """The end of the lifetime replaces an outcome that was reached before."""

    def moves(self, slot: Slot) -> tuple[Action, ...]:
        ended = slot.terminal if isinstance(slot, Instance) and self.now > slot.ends_at else None
        if ended is not None and ended.reason != "lifetime_exceeded":
            return (EndLifetime(self.now),)
        return super().moves(slot)

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, EndLifetime) and isinstance(slot, Instance) and slot.terminal is not None:
            over = Terminal("errored", action.now, reason="lifetime_exceeded")
            return Transition(altered(slot, terminal=over), Done())
        return super().transition(slot, action)


@fault("LIF-3a", "SLP-4", "LIF-1")
class DeadlinesShrinkToTheLifetime(ManagedHost):
    """A sleep or wait that reaches beyond the lifetime is shortened to end just before it."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, BeginStep) and isinstance(state, Instance) and state.current is not None:
            step = state.history[state.current]
            if step.deadline is not None and step.deadline >= state.ends_at:
                step = altered(step, deadline=state.ends_at - 2000)
                state = altered(state, history=state.history.put(state.current, step))
        return Transition(state, reply, clauses)


@fault("LIF-3a", "LIF-1")
class LifetimeIsAWaitTimeout(ManagedHost):
    """The end of the lifetime reaches a waiting instance as `wait_timeout`, and lets it run on."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        step = parked_on(slot) if isinstance(slot, Instance) else None
        if isinstance(action, EndLifetime) and isinstance(slot, Instance) and step and step.kind == "wait":
            late = altered(step, outcome=Failed("wait_timeout"), deadline=None)
            history = slot.history.put(slot.current, late)  # type: ignore[arg-type]
            return Transition(altered(slot, history=history, ends_at=slot.ends_at * 2), Done())
        return super().transition(slot, action)


@fault("LIF-4", "LIF-1")
class LifetimeFromTheFirstContext(ManagedHost):
    """The lifetime counts from the start of the first context."""

    broken_rules = rules(altered(REFERENCE, not_ready="accepted-queued"))

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Claim) and isinstance(slot, Instance) and not slot.token:
            slot = altered(slot, ends_at=action.now + slot.ends_at - slot.created_at)
        return super().transition(slot, action)


@fault("LIF-4", "LIF-1")
class TimeInQueuedDoesNotCount(ManagedHost):
    """The time in which an instance stood in the queue is added to its lifetime."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.since: dict[Any, int] = {}

    def perform(self, key: Any, action: Action) -> Reply:
        slot = self.slot(key)
        if isinstance(action, Claim) and isinstance(slot, Instance):
            waited = action.now - self.since.get(key, action.now)
            self.slots[key] = altered(slot, ends_at=slot.ends_at + waited)
        elif isinstance(action, OwnerAction):
            self.since[key] = action.now
        return super().perform(key, action)


@fault("LIF-4", "LIF-1")
class LifetimeFromTheRestart(ManagedHost):
    """A restart of the Host begins the lifetime of its instances anew."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance) and slot.live:
                self.slots[key] = altered(slot, ends_at=self.now + slot.ends_at - slot.created_at)


@fault("LIF-4", "LIF-1")
class LifetimeFromTheLastContext(ManagedHost):
    """Each new context begins the lifetime of its instance anew."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, Claim) and isinstance(state, Instance) and isinstance(reply, Done):
            state = altered(state, ends_at=action.now + 31_536_000_000)
        return Transition(state, reply, clauses)


class Processing(ManagedHost):
    """A Host for which the lifetime ends when that is processed, and not before."""

    late: tuple[type[Action], ...]

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, self.late):
            with swapped(machine, lifetime_over=_never), swapped(instances, lifetime_over=_never):
                from fencepost.machine import events

                with swapped(events, lifetime_over=_never):
                    return super().transition(slot, action)
        return super().transition(slot, action)


def _never(instance: Instance, now: int) -> bool:
    return False


@fault("LIF-5", "LIF-1")
class RunsMaySettleLate(Processing):
    """A run that settles after the end of the lifetime, not yet processed, is complete."""

    late = (Settle, CommitAttempt)


@fault("LIF-5", "LIF-1", "LIF-3a")
class EventsMayComeLate(Processing):
    """An event after the end of the lifetime, not yet processed, lets its wait go on to the end."""

    @property
    def late(self) -> tuple[type[Action], ...]:  # type: ignore[override]
        from fencepost.machine.actions import SendEvent

        return (SendEvent, Claim, BeginStep, Settle, CommitAttempt, Park)

    def moves(self, slot: Slot) -> tuple[Action, ...]:
        if isinstance(slot, Instance) and (slot.owner or self._handed(slot)):
            with swapped(machine, lifetime_over=_never), swapped(instances, lifetime_over=_never):
                return super().moves(slot)
        return super().moves(slot)

    def _handed(self, slot: Instance) -> bool:
        step = slot.history.get(slot.current) if slot.current is not None else None
        return step is not None and step.kind == "wait" and isinstance(step.outcome, Succeeded)


@fault("LIF-1", "STP-6")
class LifetimeIsCaughtByTheRun(ManagedHost):
    """The end of the lifetime waits until the code that is running has settled by itself."""

    def moves(self, slot: Slot) -> tuple[Action, ...]:
        found = super().moves(slot)
        if isinstance(slot, Instance) and slot.owner:
            return tuple(each for each in found if not isinstance(each, EndLifetime | Expire))
        return found


# Retention


class Purging(ManagedHost):
    """A Host that purges by itself what it takes for overdue."""

    def overdue(self, instance: Instance) -> bool:
        """Whether a terminal instance is purged now."""
        raise NotImplementedError

    def sweep(self) -> None:
        """Purge what is overdue."""
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance) and slot.terminal is not None and self.overdue(slot):
                self.slots[key] = Vacant(slot.rules)

    def settle(self) -> None:
        self.sweep()
        super().settle()


@fault("RET-1", "BND-3", "BND-4")
class KeptForADayOnly(Purging):
    """A terminal instance is purged after a day."""

    def overdue(self, instance: Instance) -> bool:
        return self.now - instance.terminal_at > 86_400_000


@fault("RET-1")
class KeptTenSecondsTooShort(Purging):
    """A terminal instance is purged ten seconds before its retention is over."""

    def overdue(self, instance: Instance) -> bool:
        return self.now - instance.terminal_at > 2_591_990_000


@fault("RET-1")
class KeptFromItsCreation(Purging):
    """The retention of a terminal instance counts from its creation."""

    def overdue(self, instance: Instance) -> bool:
        return self.now - instance.created_at > 2_592_000_000


@fault("RET-1", "BND-12")
class OutcomesForgottenEarly(Purging):
    """The id of a terminal instance is kept, and its outcome is not."""

    def overdue(self, instance: Instance) -> bool:
        return False

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        slot = self.slot((self.uid, id))
        late = isinstance(slot, Instance) and slot.terminal and self.now - slot.terminal_at > 86_400_000
        return {"status": shown["status"]} if late else shown


@fault("RET-3", "RET-1")
class RestartsPurge(Purging):
    """A restart of the Host purges the instances that have ended."""

    def overdue(self, instance: Instance) -> bool:
        return False

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance) and slot.terminal is not None:
                self.slots[key] = Vacant(slot.rules)


@fault("RET-3", "RET-1", "RES-8")
class PutPurges(ManagedHost):
    """A PUT of the Workflow purges the instances that have ended."""

    def manage(self, request: Any) -> dict[str, Any]:
        answer = super().manage(request)
        if request["method"] == "PUT" and request["uid"] == self.uid and answer["status"] in (200, 202):
            for key, slot in list(self.slots.items()):
                if isinstance(slot, Instance) and slot.terminal is not None:
                    self.slots[key] = Vacant(slot.rules)
        return answer


@fault("RET-3", "RET-1")
class TerminatePurges(ManagedHost):
    """An instance that is terminated a second time is purged."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Terminate) and isinstance(slot, Instance) and slot.terminal is not None:
            return Transition(Vacant(slot.rules), Done())
        return super().transition(slot, action)


__all__ = ["Leaking", "Purging", "Showing", "published"]
