"""Faults of a DELETE of the Workflow resource and of its creation anew (chapter DEL)."""

from collections.abc import Mapping
from typing import Any

from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot, Transition
from fencepost.machine.actions import Action as MachineAction
from fencepost.machine.actions import Close, Create, OwnerAction
from fencepost.machine.replies import Done, Reply
from fencepost.machine.state import Instance
from fencepost.management import dependencies, documents, forms, progress, queries, requests
from fencepost.management.actions import Action, Request
from fencepost.management.actions import Transition as Managed
from fencepost.management.problems import Refusal
from fencepost.management.service import Management
from fencepost.management.state import Operation, Resource, State

from .endings import Leaking
from .table import altered, fault, swapped

# What blocks a DELETE


class Blocking(Management):
    """A management for which something else stands in the way of a DELETE."""

    def binders(self, state: State, uid: str) -> tuple[str, ...]:
        """The Versions that stand in the way."""
        raise NotImplementedError

    def apply(self, action: Action) -> Managed:
        with swapped(dependencies, binders=self.binders):
            return super().apply(action)


_binders = dependencies.binders


@fault("DEL-1")
class OnlyWeightedBindingsBlock(Blocking):
    """A Version that binds the Workflow and carries no weight does not block its DELETE."""

    def binders(self, state: State, uid: str) -> tuple[str, ...]:
        weighted = {version for active in state.active.values() for version, _ in active.weights}
        return tuple(each for each in _binders(state, uid) if each in weighted)


@fault("DEL-1")
class BindingsDoNotBlock(Blocking):
    """A Version that binds the Workflow does not block its DELETE."""

    def binders(self, state: State, uid: str) -> tuple[str, ...]:
        return ()


@fault("DEL-1")
class ExportsBlock(Blocking):
    """A Version that exports the class blocks the DELETE of its Workflow."""

    def binders(self, state: State, uid: str) -> tuple[str, ...]:
        spec = forms.workflow(state.resources[uid])
        weights = queries.weights(state, spec.worker)
        fit = (each for each, _ in weights if dependencies.fitness(state, each, spec.class_name) == "fit")
        return (*_binders(state, uid), *fit)


class LiveInstances(ManagedHost):
    """A Host that looks at the live instances of a resource before it deletes it."""

    def live(self) -> bool:
        """Whether an instance of the present resource has not ended."""
        return any(
            key[0] == self.uid and isinstance(slot, Instance) and slot.live
            for key, slot in self.slots.items()
        )

    def of_workflow(self, request: Mapping[str, Any]) -> bool:
        """Whether a request deletes the present resource."""
        return request["method"] == "DELETE" and request.get("uid") == self.uid


@fault("DEL-2", "DEL-1")
class LiveInstancesBlock(LiveInstances):
    """A DELETE is refused while instances are live."""

    def manage(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if self.of_workflow(request) and self.live():
            return {"status": 409, "code": "dependency_conflict"}
        return super().manage(request)


@fault("DEL-2", "DEL-3", "DEL-4")
class DeletesWaitForTheirInstances(LiveInstances):
    """A DELETE goes on until every instance has ended by itself."""

    def _reconcile(self) -> bool:
        return False if queries.closing(self.management.state) and self.live() else super()._reconcile()


@fault("DEL-9")
class BusyIsAConflict(Management):
    """A change while another one is under way is refused as `dependency_conflict`."""

    def apply(self, action: Action) -> Managed:
        rule = requests._idle

        def idle(state: State, resource: Resource) -> None:
            try:
                rule(state, resource)
            except Refusal as refusal:
                raise Refusal("dependency_conflict", refusal.detail) from None

        with swapped(requests, _idle=idle):
            return super().apply(action)


@fault("DEL-9", "DEL-1")
class BindingsAreBusy(Management):
    """A DELETE while a Binding exists is refused as `resource_busy`."""

    def apply(self, action: Action) -> Managed:
        rule = dependencies.admit_delete

        def admit(state: State, resource: Resource) -> tuple[str, ...]:
            try:
                return rule(state, resource)
            except Refusal as refusal:
                raise Refusal("resource_busy", refusal.detail) from None

        with swapped(dependencies, admit_delete=admit):
            return super().apply(action)


# Closing, stopping, purging


@fault("DEL-3", "DEL-2")
class PurgesWhatRuns(ManagedHost):
    """A DELETE purges the instances while their code still runs."""

    def purge(self, uid: str) -> bool:
        for key, slot in list(self.slots.items()):
            if key[0] == uid and isinstance(slot, Instance):
                self.slots[key] = altered(slot, contexts=())
        done = super().purge(uid)
        self.owners = [owner for owner in self.owners if owner.key[0] != uid]
        return done


@fault("DEL-3", "DEL-7")
class EventsSurvive(ManagedHost):
    """Unmatched events are kept by id, and reach an instance of the re-created resource."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.left: dict[str, Any] = {}

    def close(self, uid: str) -> None:
        self.left |= {
            key[1]: slot.inbox
            for key, slot in self.slots.items()
            if key[0] == uid and isinstance(slot, Instance)
        }
        super().close(uid)

    def perform(self, key: Any, action: MachineAction) -> Reply:
        reply = super().perform(key, action)
        slot = self.slot(key)
        if isinstance(action, Create) and not reply.refused and isinstance(slot, Instance):
            inbox = self.left.pop(key[1], ())
            self.slots[key] = altered(slot, inbox=inbox, inbox_bytes=sum(each.size for each in inbox))
        return reply


@fault("DEL-3", "DEL-7")
class TimersSurvive(ManagedHost):
    """The timers of a deleted resource go off in the instances of the re-created one."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.timers: dict[str, int] = {}

    def close(self, uid: str) -> None:
        for key, slot in self.slots.items():
            step = slot.history.get(slot.current) if isinstance(slot, Instance) and slot.current else None
            if key[0] == uid and step is not None and step.deadline is not None:
                self.timers[key[1]] = step.deadline
        super().close(uid)

    def settle(self) -> None:
        for id, deadline in list(self.timers.items()):
            slot = self.slot((self.uid, id))
            step = slot.history.get(slot.current) if isinstance(slot, Instance) and slot.current else None
            if self.now > deadline and isinstance(slot, Instance) and step is not None and step.deadline:
                early = altered(step, deadline=self.timers.pop(id))
                self.slots[self.uid, id] = altered(slot, history=slot.history.put(slot.current, early))  # type: ignore[arg-type]
        super().settle()


@fault("DEL-3", "DEL-5")
class WakesStayOpen(ManagedHost):
    """Instances that are parked are closed with the purge only: a deadline during a DELETE wakes them."""

    def transition(self, slot: Slot, action: MachineAction) -> Transition:
        if isinstance(action, Close) and isinstance(slot, Instance) and not slot.contexts:
            return Transition(slot, Done())
        return super().transition(slot, action)

    def purge(self, uid: str) -> bool:
        own = [key for key, slot in self.slots.items() if key[0] == uid and isinstance(slot, Instance)]
        if any(owner.key[0] == uid for owner in self.owners):
            return False
        for key in own:
            self.slots[key] = altered(self.slots[key], closed=True)
        return super().purge(uid)


@fault("DEL-4", "DEL-3")
class DeletedBeforeTheStop(ManagedHost):
    """A DELETE succeeds while a stop is unproven."""

    def purge(self, uid: str) -> bool:
        super().purge(uid)
        return True


@fault("DEL-4")
class NamesAreFreedAtOnce(Management):
    """The name of a Workflow is free as soon as its DELETE is accepted."""

    def apply(self, action: Action) -> Managed:
        made = super().apply(action)
        for uid in queries.closing(self.state):
            found = self.state.resources[uid]
            if not found.name.startswith("gone-"):
                renamed = altered(found, name=f"gone-{found.uid}")
                self.state = altered(self.state, resources={**self.state.resources, uid: renamed})
        return made


@fault("DEL-4", "DEL-3")
class DeletesTimeOut(ManagedHost):
    """A DELETE whose stop is not proven within ten seconds has failed."""

    def settle(self) -> None:
        super().settle()
        management = self.management
        for operation in list(management.state.operations.values()):
            waits = operation.action == "delete" and operation.status == "reconciling"
            if waits and self.now - operation.created_at > 10_000:
                late = altered(operation, status="failed", effect="partial", error=("timeout", "gave up"))
                management.state = altered(
                    management.state, operations={**management.state.operations, operation.id: late}
                )


@fault("DEL-4", "DEL-8")
class DeletesInMemory(ManagedHost):
    """A restart of the Host forgets the DELETE that was under way."""

    forgotten: tuple[str, ...] = ()

    def restart(self) -> None:
        super().restart()
        self.forgotten = queries.closing(self.management.state)

    def _reconcile(self) -> bool:
        if self.forgotten:
            with swapped(queries, closing=lambda state: ()):
                return super()._reconcile()
        return super()._reconcile()


class _OldOwners(Leaking):
    def leaks(self, instance: Instance, action: OwnerAction) -> bool:
        return instance.closed


@fault("DEL-5", "DEL-3", "TRM-4")
class OldOwnersGoOn(_OldOwners):
    """A DELETE fences nobody: an owner whose stop is unproven goes on to its next effects."""

    def transition(self, slot: Slot, action: MachineAction) -> Transition:
        if isinstance(slot, Instance) and slot.closed and isinstance(action, OwnerAction):
            state, reply, clauses = super().transition(slot, action)
            return Transition(state, reply, clauses)
        return super().transition(slot, action)


@fault("DEL-5", "DEL-7", "DEL-4")
class OldOwnersReachTheNew(_OldOwners):
    """A late report is matched by name and id, and so committed into the re-created resource."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.reports: dict[str, Any] = {}

    def perform(self, key: Any, action: MachineAction) -> Reply:
        from fencepost.machine.actions import BeginStep, CommitAttempt
        from fencepost.machine.replies import Recorded
        from fencepost.machine.state import Succeeded

        if isinstance(action, CommitAttempt) and isinstance(action.result, bytes):
            slot = self.slot(key)
            context = slot.context(action.token) if isinstance(slot, Instance) else None
            if (
                isinstance(slot, Instance)
                and slot.closed
                and context is not None
                and context.open is not None
            ):
                self.reports[f"{key[1]} {context.open}"] = Succeeded(action.result)
        if isinstance(action, BeginStep) and f"{key[1]} {action.name}" in self.reports and key[0] == self.uid:
            return Recorded(self.reports[f"{key[1]} {action.name}"])
        return super().perform(key, action)


# What a DELETE leaves, and what comes after it


@fault("DEL-6")
class DeletesCascade(Management):
    """A DELETE removes the Versions that export the class too."""

    def apply(self, action: Action) -> Managed:
        rule = progress._deleted

        def deleted(state: State, resource: Resource, now: int) -> State:
            gone = rule(state, resource, now)
            if resource.kind != "DurableWorkflow":
                return gone
            name = forms.workflow(resource).class_name
            kept = {
                uid: each
                for uid, each in gone.resources.items()
                if each.kind != "WorkerVersion"
                or each.finding is None
                or name not in dict(each.finding.exports)
            }
            return altered(gone, resources=kept)

        with swapped(progress, _deleted=deleted):
            return super().apply(action)


@fault("DEL-7", "RES-9")
class UidsComeAgain(Management):
    """A Workflow that is created under the name of a deleted one has the UID of that one."""

    def apply(self, action: Action) -> Managed:
        known: dict[str, str] = self.__dict__.setdefault("known", {})
        found = (each for each in self.state.resources.values() if each.kind == "DurableWorkflow")
        known.update({each.name: each.uid for each in found})
        if isinstance(action, Request) and action.method == "POST" and isinstance(action.body, dict):
            uid = known.get(str(action.body.get("name")))
            if uid is not None and uid in self.state.tombstones:
                graves = {each: grave for each, grave in self.state.tombstones.items() if each != uid}
                self.state = altered(self.state, tombstones=graves)
                action = altered(action, uid=uid)
        return super().apply(action)


@fault("DEL-7", "RES-9", "DEL-3")
class HistoriesSurvive(ManagedHost):
    """What has ended under the old resource is found under the re-created one."""

    def recreate(self) -> None:
        old = self.ended
        super().recreate()
        for id, slot in old.items():
            self.slots[self.uid, id] = altered(slot, closed=False)

    @property
    def ended(self) -> dict[str, Instance]:
        """The instances that have ended, by id."""
        return self.__dict__.setdefault("kept", {})  # type: ignore[no-any-return]

    def close(self, uid: str) -> None:
        for key, slot in self.slots.items():
            if key[0] == uid and isinstance(slot, Instance):
                self.ended[key[1]] = slot if slot.terminal else altered(slot, owner=0, contexts=())
        super().close(uid)


@fault("DEL-8", "RES-7")
class KeysInMemory(ManagedHost):
    """A restart of the Host forgets the Idempotency-Keys."""

    def restart(self) -> None:
        super().restart()
        self.management.state = altered(self.management.state, keys={})


@fault("DEL-8")
class RepeatedDeletesAreNew(Management):
    """A DELETE that is repeated under its key is judged like a new one."""

    def apply(self, action: Action) -> Managed:
        rule = requests._replayed

        def replayed(state: State, request: Request, principal: str) -> Any:
            return None if request.method == "DELETE" else rule(state, request, principal)

        with swapped(requests, _replayed=replayed):
            return super().apply(action)


@fault("DEL-8", "RES-7")
class RepetitionsHaveOperationsOfTheirOwn(Management):
    """A repeated request is answered with an Operation of another id."""

    def apply(self, action: Action) -> Managed:
        rule = documents.operation
        known = isinstance(action, Request) and (action.principal or "", action.key or "") in self.state.keys

        def operation(record: Operation) -> dict[str, Any]:
            made = rule(record)
            return {**made, "id": f"{made['id']}-again"} if known else made

        with swapped(documents, operation=operation):
            return super().apply(action)


__all__ = ["Blocking", "LiveInstances"]
