"""Faults of class, context and Version, and things that are added (chapters ABI, CTX and EXT)."""

from functools import partial
from typing import Any

from fencepost.contexts.execution import Execution, ProposeSettle
from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot, Transition
from fencepost.machine.actions import Action, Claim, Park, Settle, Unfit
from fencepost.machine.replies import Done, Reply
from fencepost.machine.state import NO_HISTORY, Context, Instance
from fencepost.workflow import WorkflowEvent

from .endings import Purging
from .table import altered, fault

# What run is given, and what it gives


@fault("ABI-2", "CTX-3")
class InstanceIdIsTheHosts(Execution):
    """run is told an id of the Host's own, not the id of the instance."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._event = WorkflowEvent(f"internal-{self._event.instance_id}", self._event.params)


@fault("ABI-2")
class ParamsForTheFirstContext(ManagedHost):
    """Only the first context of an instance is given its params in full."""

    def _start(self, key: Any, claim: Claim) -> None:
        slot = self.slots[key]
        if claim.token > 1 and isinstance(slot, Instance) and slot.params is not None:
            import json

            held = json.loads(slot.params)
            kept = {"program": held["program"]} if "program" in held else held
            self.slots[key] = altered(slot, params=json.dumps(kept).encode())
            super()._start(key, claim)
            self.slots[key] = altered(self.slots[key], params=slot.params)
            return
        super()._start(key, claim)


@fault("ABI-2")
class ParamsInMemory(ManagedHost):
    """A restart of the Host loses the params of its instances."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance) and slot.params is not None:
                import json

                program = {"program": json.loads(slot.params).get("program", [])}
                self.slots[key] = altered(slot, params=json.dumps(program).encode())


class Settling(Execution):
    """An execution that hands in something else than what the run gave."""

    def given(self, value: Any) -> Any:
        """What is handed in for a value."""
        raise NotImplementedError

    def _settlement(self, run: Any) -> ProposeSettle:
        if run.error is not None:
            return super()._settlement(run)
        return ProposeSettle(self.admit(self.given(run.value)))


@fault("ABI-3")
class OutputIsUnwrapped(Settling):
    """A run that returns `{output: x}` has the output x."""

    def given(self, value: Any) -> Any:
        wrapped = type(value) is dict and list(value) == ["output"]
        return value["output"] if wrapped else value


@fault("ABI-3")
class OutputIsWrapped(Settling):
    """What a run returns is wrapped into `{output: ...}`."""

    def given(self, value: Any) -> Any:
        return {"output": value} if type(value) is dict else value


@fault("ABI-3")
class OutputNeedsAWrapper(Settling):
    """A run that does not return `{output: ...}` has no output."""

    def given(self, value: Any) -> Any:
        return value.get("output") if type(value) is dict else value


class Judging(ManagedHost):
    """A Host that settles runs whose output is no document in a way of its own."""

    def instead(self, action: Settle) -> Settle:
        """The settlement that is taken."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Settle) and isinstance(action.result, Unfit) and not action.threw:
            action = self.instead(action)
        return super().transition(slot, action)


@fault("ABI-4", "DOC-1", "DOC-4")
class BadOutputIsNone(Judging):
    """A run that returns what is no document is complete, without an output."""

    def instead(self, action: Settle) -> Settle:
        return altered(action, result=None)


@fault("ABI-4")
class BadOutputIsAStepsFailure(Judging):
    """A run that returns what is no document ends as `step_failed`."""

    def instead(self, action: Settle) -> Settle:
        return altered(action, result=None, threw=True, provenance="step_failed")


@fault("ABI-4", "DOC-2")
class LargeOutputIsDropped(Judging):
    """A run that returns too large a document is complete, without an output."""

    def instead(self, action: Settle) -> Settle:
        return altered(action, result=None) if action.result is Unfit.TOO_LARGE else action


# Contexts


@fault("CTX-1")
class ModuleIsEvaluatedOnce(ManagedHost):
    """A Version's module is evaluated once, for all contexts."""

    def __init__(self, versions: Any, *arguments: Any, **named: Any) -> None:
        made = {name: load() for name, load in versions.items()}
        loaders: dict[str, Any] = {name: partial(dict, held) for name, held in made.items()}
        super().__init__(loaders, *arguments, **named)


@fault("CTX-1")
class ModuleOfTheInstance(ManagedHost):
    """A module is evaluated once for each instance, and its state lives on from context to context."""

    def __init__(self, versions: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(versions, *arguments, **named)
        self.loaders = dict(self.versions)
        self.evaluated: dict[Any, Any] = {}

    def _start(self, key: Any, claim: Claim) -> None:
        held = self.evaluated.get((key, claim.version)) or self.loaders[claim.version]()
        self.evaluated[key, claim.version] = held
        self.versions[claim.version] = lambda: held
        super()._start(key, claim)


@fault("CTX-1", "ABI-2", "STP-14")
class ObjectIsConstructedOnce(ManagedHost):
    """The object of the class is constructed once for each instance, and run again in each context."""

    def __init__(self, versions: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(versions, *arguments, **named)
        self.loaders = dict(self.versions)
        self.objects: dict[Any, Any] = {}

    def _start(self, key: Any, claim: Claim) -> None:
        name, load, objects = self.class_name, self.loaders[claim.version], self.objects

        def exports() -> dict[str, Any]:
            made = load()
            original = made[name]

            class Kept(original):  # type: ignore[misc, valid-type]
                def __new__(cls, env: Any) -> Any:
                    return objects.setdefault((key, claim.version), original(env))

            return {**made, name: Kept}

        self.versions[claim.version] = exports
        super()._start(key, claim)


@fault("CTX-2")
class VersionOfTheFirstContext(ManagedHost):
    """Every context of an instance runs on the Version that its first one took."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.first: dict[Any, str] = {}

    def next_move(self, key: Any) -> Action | None:
        action = super().next_move(key)
        if isinstance(action, Claim):
            return altered(action, version=self.first.setdefault(key, action.version))
        return action


@fault("CTX-2")
class WeightsOfTheStart(ManagedHost):
    """New weights take effect at the next restart of the Host only."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.chosen = ManagedHost.pick_version(self)

    def pick_version(self) -> str | None:
        current = super().pick_version()
        return self.chosen if current is not None and self.chosen is not None else current

    def restart(self) -> None:
        super().restart()
        self.chosen = super().pick_version()


@fault("CTX-2", "DO-6", "STP-3")
class HistoryOfTheVersion(ManagedHost):
    """An instance that comes to another Version begins its history anew."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.last: dict[Any, str] = {}

    def perform(self, key: Any, action: Action) -> Reply:
        slot = self.slot(key)
        if isinstance(action, Claim) and isinstance(slot, Instance):
            if self.last.setdefault(key, action.version) != action.version:
                self.slots[key] = altered(slot, history=NO_HISTORY, current=None)
            self.last[key] = action.version
        return super().perform(key, action)


@fault("CTX-2")
class VersionChangesInsideOfAContext(ManagedHost):
    """A context that is running is moved to the new Version as soon as the weights change."""

    def deploy(self, weights: Any) -> None:
        super().deploy(weights)
        for owner in list(self.owners):
            slot = self.slot(owner.key)
            picked = self.pick_version()
            if picked is not None and picked != owner.version and isinstance(slot, Instance) and slot.owner:
                self._drop(owner)
                context = next(each for each in slot.contexts if each.token == owner.token)
                history = slot.history.drop(context.open) if context.open else slot.history
                moved = Context(owner.token, picked)
                self.slots[owner.key] = altered(slot, contexts=(moved,), history=history, current=None)
                self._start(owner.key, Claim(self.now, owner.token, picked, slot.lease_until))
        self.run()


@fault("CTX-3", "ABI-2", "CTX-1", "DO-6")
class RunIsCalledTwice(Execution):
    """run is called twice on one object, and what the second call gives counts."""

    async def _start(self) -> Any:
        exports = self._load()
        instance = exports[self._class_name](self._env)
        from fencepost.contexts.execution import BoundStep

        await instance.run(self._event, BoundStep(self._begin))
        return await instance.run(self._event, BoundStep(self._begin))


@fault("CTX-3", "SLP-2", "CTX-1", "WFE-3")
class ContextsOutlastSleep(ManagedHost):
    """A context is kept over its sleep and goes on afterwards."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.asleep: list[tuple[Any, int]] = []

    def perform(self, key: Any, action: Action) -> Reply:
        slot = self.slot(key)
        if isinstance(action, Park) and isinstance(slot, Instance):
            context = slot.context(action.token)
            step = slot.history.get(context.open) if context is not None and context.open else None
            if step is not None and step.kind == "sleep" and step.deadline is not None:
                self.asleep.append((key, step.deadline))
                return Done()
        return super().perform(key, action)

    def _take(self, owner: Any, proposal: Any) -> None:
        before = len(self.asleep)
        dead = owner.execution._die
        owner.execution._die = lambda: None if len(self.asleep) > before else dead()
        try:
            super()._take(owner, proposal)
        finally:
            del owner.execution._die

    def settle(self) -> None:
        due = [key for key, deadline in self.asleep if self.now >= deadline]
        self.asleep = [each for each in self.asleep if each[0] not in due]
        for owner in list(self.owners):
            slot = self.slot(owner.key)
            if owner.key in due and isinstance(slot, Instance) and slot.owner == owner.token:
                self._resume(owner, slot)
        super().settle()

    def _resume(self, owner: Any, slot: Instance) -> None:
        from fencepost.machine.replies import Recorded
        from fencepost.machine.state import Succeeded

        context = slot.context(owner.token)
        if context is None or context.open is None:
            return
        success = Succeeded(None)
        step = altered(slot.history[context.open], outcome=success, deadline=None)
        others = tuple(each for each in slot.contexts if each is not context)
        history = slot.history.put(context.open, step)
        contexts = (*others, altered(context, open=None))
        self.slots[owner.key] = altered(slot, history=history, contexts=contexts)
        owner.execution.deliver(Recorded(success))


# Additions


@fault("EXT-1", "SLP-2", "WFE-3", "EVT-7")
class IdleInstancesAreEnded(Purging):
    """An instance that has slept or waited for ninety days is terminated."""

    def overdue(self, instance: Instance) -> bool:
        return False

    def settle(self) -> None:
        from fencepost.machine import parked_on
        from fencepost.machine.actions import Terminate

        for key, slot in list(self.slots.items()):
            idle = isinstance(slot, Instance) and parked_on(slot) is not None
            if idle and self.now - slot.created_at > 90 * 86_400_000:  # type: ignore[union-attr]
                self.perform(key, Terminate(self.now))
        super().settle()


@fault("EXT-1", "LIF-1")
class StepsTimeOut(ManagedHost):
    """An effect that has taken an hour has failed."""

    def advance(self, milliseconds: int) -> None:
        super().advance(milliseconds)
        if milliseconds > 3_600_000:
            for owner in list(self.owners):
                call = getattr(owner.execution, "_call", None)
                if call is not None and call.running is not None and not call.running.settled:
                    call.running.reject(TimeoutError("the step took more than an hour"))


@fault("EXT-1", "ERR-3", "BND-7")
class MessagesAreCommands(Execution):
    """A run that throws an error with a reason as its message ends for that reason."""

    def _settlement(self, run: Any) -> ProposeSettle:
        if run.error is not None and str(run.error) == "step_failed":
            return ProposeSettle(threw=True, provenance="step_failed")
        if run.error is not None and str(run.error) in ("terminated", "cancelled"):
            return ProposeSettle(None)
        return super()._settlement(run)


@fault("EXT-1")
class ParamsAreOptions(ManagedHost):
    """The member delaySeconds of the params delays the first context."""

    def next_move(self, key: Any) -> Action | None:
        action = super().next_move(key)
        slot = self.slot(key)
        if (
            isinstance(action, Claim)
            and isinstance(slot, Instance)
            and b'"delaySeconds":30' in (slot.params or b"")
        ):
            return action if self.now - slot.created_at >= 30_000 else None
        return action


__all__ = ["Judging", "Settling"]
