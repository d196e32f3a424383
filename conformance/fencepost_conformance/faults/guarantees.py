"""Faults of the guarantees: what the reference promises beyond the Form (chapter GRT).

Some break the Form as well, and have a fault of their own there. The others lie in the history alone: a Host
that keeps every rule, and tells of it wrongly.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fencepost.history import Entry, History
from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot, Transition, endings, parked_on
from fencepost.machine.actions import Action, BeginStep, CommitAttempt, Crash, Expire
from fencepost.machine.events import consume
from fencepost.machine.replies import Fenced
from fencepost.machine.state import Instance, Succeeded

from .table import PROMISES, altered, fault

promise = partial(fault, table=PROMISES)


class Telling(ManagedHost):
    """A Host that keeps other entries than the reference; `tell` gives what becomes of each."""

    def tell(self, entry: Entry) -> Iterable[Entry]:
        raise NotImplementedError

    def leaves(self, before: Slot, action: Action, transition: Transition) -> Iterator[Entry]:
        for entry in super().leaves(before, action, transition):
            yield from self.tell(entry)


class Showing(ManagedHost):
    """A Host that shows another history than it keeps."""

    def show(self, kept: History) -> History:
        raise NotImplementedError

    def history(self, id: Any) -> History:
        return self.show(super().history(id))


# GRT-1 and GRT-2: replay and delivery


@promise("GRT-1", "GRT-8")
class ReplayConsumesAgain(ManagedHost):
    """A replay of a finished wait takes one more event of its type."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance) and action.kind == "wait":
            step = slot.history.get(action.name)
            if step is not None and step.finished and step.type is not None:
                slot, _ = consume(slot, step.type)
        return super().transition(slot, action)


@promise("GRT-1", "GRT-8")
class RestartArmsTimersAgain(ManagedHost):
    """After a restart of the Host what is pending waits for its whole time once more."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            step = parked_on(slot) if isinstance(slot, Instance) else None
            if isinstance(slot, Instance) and step is not None and step.deadline is not None:
                again = altered(step, deadline=step.deadline + self.now - slot.created_at)
                self.slots[key] = altered(slot, history=slot.history.put(slot.current, again))  # type: ignore[arg-type]


@promise("GRT-2", "GRT-4", "GRT-7", "GRT-8")
class DeliversAtMostOnce(ManagedHost):
    """Work whose owner was lost in the middle of an effect is delivered to nobody any more."""

    def may_claim(self, key: tuple[str, str]) -> bool:
        told = self.ledgers.history(key, self.slot(key)).perhaps_repeated()  # type: ignore[arg-type]
        return super().may_claim(key) and not any(each["outcome"] is None for each in told)


# GRT-3 and GRT-4: outcomes and leases


@promise("GRT-3", "GRT-10")
class LateReportsAreCommitted(ManagedHost):
    """The report of a fenced owner becomes the outcome of the step, whoever was first."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if not isinstance(made.reply, Fenced) or not isinstance(action, CommitAttempt):
            return made
        context = slot.context(action.token) if isinstance(slot, Instance) and slot.live else None
        if not isinstance(slot, Instance) or context is None or context.open is None or action.failed:
            return made
        late = altered(slot.history[context.open], outcome=Succeeded(action.result))  # type: ignore[arg-type]
        return Transition(altered(slot, history=slot.history.put(context.open, late)), made.reply)


@promise("GRT-3")
class EndsAreToldAgain(ManagedHost):
    """A restart of the Host commits the end of each run once more."""

    def restart(self) -> None:
        super().restart()
        for key, slot in self.slots.items():
            if isinstance(slot, Instance) and slot.terminal is not None:
                again = Entry("end", self.now, outcome=slot.terminal.status, settles=True)
                self.ledgers.of(key).entries.append(again)


@promise("GRT-4", "GRT-2", "GRT-7", "GRT-8", "GRT-10")
class ExpiriesAreFailures(ManagedHost):
    """An instance whose owner has lost its lease ends as `run_threw`."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if isinstance(action, Expire) and isinstance(made.state, Instance) and not made.reply.refused:
            return Transition(endings.fail(made.state, "run_threw", action.now), made.reply)
        return made


@promise("GRT-4")
class LeasesHaveNoEnd(Telling):
    """The history names no instant at which a lease runs out."""

    def tell(self, entry: Entry) -> Iterable[Entry]:
        yield entry._replace(figure=None) if entry.kind in ("lease", "expiry") else entry


# GRT-5 to GRT-7: identities


@promise("GRT-5", "GRT-1", "GRT-8")
class RunsAreOfTheProcess(Showing):
    """A restart of the Host gives every run another id."""

    restarts = 0

    def restart(self) -> None:
        super().restart()
        self.restarts += 1

    def show(self, kept: History) -> History:
        return replace(kept, number=kept.number + 1000 * self.restarts)


@promise("GRT-5")
class RunsShareTheirIds(Showing):
    """Every run of the Host has the same id."""

    def show(self, kept: History) -> History:
        return replace(kept, number=1)


@promise("GRT-5")
class StepsAreCutAtASlash(Showing):
    """Two steps whose names begin alike have one execution."""

    def show(self, kept: History) -> History:
        return _Cut(**vars(kept))


@dataclass(frozen=True)
class _Cut(History):
    def execution(self, step: str) -> str:
        return super().execution(step.partition("/")[0])


@promise("GRT-6", "GRT-3")
class RepeatsAreCalledFaults(Showing):
    """The diagnosis takes an effect that was perhaps repeated for an outcome that was committed twice."""

    def show(self, kept: History) -> History:
        return _Alarmed(**vars(kept))


@dataclass(frozen=True)
class _Alarmed(History):
    def committed_twice(self) -> list[dict[str, Any]]:
        repeated = [each for each in self.perhaps_repeated() if each["deliveries"] > 1]
        return [{"identity": each["attempt"], "outcomes": each["deliveries"]} for each in repeated]


@promise("GRT-6", "GRT-10")
class RepeatsGoUntold(Showing):
    """The diagnosis says of no effect that it was perhaps repeated."""

    def show(self, kept: History) -> History:
        return _Calm(**vars(kept))


@dataclass(frozen=True)
class _Calm(History):
    def perhaps_repeated(self) -> list[dict[str, Any]]:
        return []


@promise("GRT-7", "GRT-2", "GRT-6", "GRT-10")
class DeliveriesAreAttempts(ManagedHost):
    """Every delivery of an effect has the id of a new attempt."""

    def leaves(self, before: Slot, action: Action, transition: Transition) -> Iterator[Entry]:
        for entry in super().leaves(before, action, transition):
            if entry.kind in ("delivery", "attempt") and isinstance(before, Instance):
                entries = self.ledgers.of((self.uid, before.id)).entries
                had = sum(each.kind == "delivery" and each.step == entry.step for each in entries)
                yield entry._replace(attempt=had + (entry.kind == "delivery"))
            else:
                yield entry


@promise("GRT-7", "GRT-3", "GRT-5", "GRT-6", "GRT-9")
class RetriesAreTheSameAttempt(Telling):
    """A retry has the id of the attempt that failed."""

    def tell(self, entry: Entry) -> Iterable[Entry]:
        yield entry._replace(attempt=1) if entry.kind in ("delivery", "attempt") else entry


# GRT-8 to GRT-11: what is kept


@promise("GRT-8", "GRT-1", "GRT-3", "GRT-5", "GRT-11")
class HistoriesInMemory(ManagedHost):
    """A restart of the Host loses the history of every run."""

    def restart(self) -> None:
        super().restart()
        for key in self.slots:
            self.ledgers.of(key).entries.clear()


@promise("GRT-8", "GRT-1")
class EventsGoWithTheirOwner(ManagedHost):
    """Events that nobody has consumed are lost with the owner of the instance."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, Crash | Expire) and isinstance(state, Instance) and not reply.refused:
            state = altered(state, inbox=(), inbox_bytes=0)
        return Transition(state, reply, clauses)


@promise("GRT-9", "GRT-1")
class TimeoutsAreEvents(Telling):
    """The record of a wait does not tell whether an event came."""

    def tell(self, entry: Entry) -> Iterable[Entry]:
        yield entry._replace(kind="event") if entry.kind == "timeout" else entry


@promise("GRT-9", "GRT-1")
class SleepsLeaveNoRecord(Telling):
    """A sleep that has ended leaves nothing in the history."""

    def tell(self, entry: Entry) -> Iterable[Entry]:
        return () if entry.kind == "sleep" else (entry,)


@promise("GRT-10")
class LateReportsGoUntold(Telling):
    """A late report that was refused leaves nothing in the history."""

    def tell(self, entry: Entry) -> Iterable[Entry]:
        return () if entry.kind == "late" else (entry,)


@promise("GRT-10", "GRT-3", "GRT-7")
class LateReportsAreOutcomes(Telling):
    """A late report that was refused stands among the outcomes."""

    def tell(self, entry: Entry) -> Iterable[Entry]:
        yield entry._replace(kind="attempt", step="a", attempt=2) if entry.kind == "late" else entry


@promise("GRT-11", "GRT-1", "GRT-3", "GRT-8")
class RepairRepeatsTheLastEffect(ManagedHost):
    """A restart of the Host has the effect that was committed last run once more."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance) and slot.live:
                done = [name for name, step in slot.history.items() if step.kind == "do" and step.finished]
                for name in done[-1:]:
                    step = altered(slot.history[name], outcome=None)
                    self.slots[key] = altered(slot, history=slot.history.put(name, step))
