"""Faults of steps in general: names, replay, arguments, overlap, the step limit (chapter STP)."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from fencepost.contexts.execution import Execution, Proposal
from fencepost.contexts.turns import Promise
from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot, Transition, arguments, steps
from fencepost.machine.actions import Action, BeginStep, Settle
from fencepost.machine.arguments import Misfit
from fencepost.machine.endings import fail
from fencepost.machine.replies import BadArgument, Parked, Recorded, Reply, Stopped
from fencepost.machine.state import Context, Failed, Instance, Kind, Step, Succeeded
from fencepost_spec.limits import FORM

from ..hosts.latitude import RunAgain
from .binding import code_units
from .table import Settled, altered, fault, rules, swapped

# Names


@fault("STP-1", "STP-3")
class HistoriesAreShared(ManagedHost):
    """Finished steps are kept by name, for all instances of the resource."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.finished: dict[str, Any] = {}

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance) and isinstance(action.name, str):
            history = slot.history
            for name in {action.name} & self.finished.keys() - history.keys():
                slot = altered(slot, history=history.put(name, self.finished[name]))
        made = super().transition(slot, action)
        if isinstance(made.state, Instance):
            for name, step in made.state.history.items():
                if step.finished:
                    self.finished.setdefault(name, step)
        return made


@fault("STP-2", "STP-4")
class NamesUpTo255Scalars(ManagedHost):
    """The name of a step may have 255 scalars, no more."""

    broken_rules = rules(name_scalars=255)


@fault("STP-2", "STP-4")
class NamesOfAnyLength(ManagedHost):
    """The name of a step may have 257 scalars and more."""

    broken_rules = rules(name_scalars=100_000)


@fault("STP-2", "STP-4")
class NamesCountedInCodeUnits(ManagedHost):
    """The length of the name of a step is counted in UTF-16 code units."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(steps, check_text=code_units):
            return super().transition(slot, action)


@fault("STP-4", "STP-2", "STP-4a")
class NamesOfAnyKind(ManagedHost):
    """A name that is no string is turned into one."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep):
            action = altered(action, name=str(action.name) or "unnamed")
        return super().transition(slot, action)


class Naming(ManagedHost):
    """A Host that files steps under another form of their name."""

    def form(self, name: str) -> str:
        """What a step is filed under."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and type(action.name) is str:
            action = altered(action, name=self.form(action.name))
        return super().transition(slot, action)


@fault("STP-16", "STP-9", "STP-9a")
class NamesAreNormalized(Naming):
    """Step names that are equal after normalization are one name."""

    def form(self, name: str) -> str:
        return unicodedata.normalize("NFC", name)


@fault("STP-16")
class NamesIgnoreCase(Naming):
    """Step names that differ in case only are one name."""

    def form(self, name: str) -> str:
        return name.casefold()


@fault("STP-16")
class NamesOfTheLanguageAreTaken(Naming):
    """A step named like a property of every object finds that property."""

    def form(self, name: str) -> str:
        return "constructor" if name in ("__proto__", "toString", "hasOwnProperty") else name


@fault("STP-16", "BND-2")
class IdsAreNormalized(ManagedHost):
    """Instance ids that are equal after normalization are one id."""

    def create(self, id: Any = None, params: Any = None) -> str:
        return super().create(unicodedata.normalize("NFC", id) if isinstance(id, str) else id, params)

    def _key(self, id: Any) -> tuple[str, str]:
        return super()._key(unicodedata.normalize("NFC", id) if isinstance(id, str) else id)


@fault("STP-16", "BND-2")
class IdsIgnoreCase(ManagedHost):
    """Instance ids that differ in case only are one id."""

    def create(self, id: Any = None, params: Any = None) -> str:
        return super().create(id.casefold() if isinstance(id, str) else id, params)

    def _key(self, id: Any) -> tuple[str, str]:
        return super()._key(id.casefold() if isinstance(id, str) else id)


# Replay


class Replaying(ManagedHost):
    """A Host that looks again at calls of finished names."""

    def again(self, slot: Instance, action: BeginStep, step: Any) -> Transition | None:
        """What becomes of the call of a finished name; None for the rule."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance) and slot.owner == action.token:
            step = slot.history.get(action.name) if isinstance(action.name, str) else None
            if step is not None and step.finished and slot.live:
                return self.again(slot, action, step) or super().transition(slot, action)
        return super().transition(slot, action)

    def afresh(self, slot: Instance, action: BeginStep) -> Transition:
        """The call as if the name had never been used."""
        return super().transition(altered(slot, history=slot.history.drop(action.name)), action)


@fault("STP-3", "DO-7", "DO-6")
class FailuresDoNotReplay(Replaying):
    """A step that has failed for good is tried again when it is called again."""

    def again(self, slot: Instance, action: BeginStep, step: Any) -> Transition | None:
        return self.afresh(slot, action) if isinstance(step.outcome, Failed) else None


@fault("STP-3", "DO-6")
class OneReplayForEachContext(Replaying):
    """A name that is called twice in one context runs its effect twice."""

    def again(self, slot: Instance, action: BeginStep, step: Any) -> Transition | None:
        seen = self.__dict__.setdefault("seen", set())
        called = (slot.id, action.token, action.name)
        if called in seen:
            return self.afresh(slot, action)
        seen.add(called)
        return None


@fault("STP-3", "STP-4")
class FinishedNamesAreValidated(Replaying):
    """The other arguments of a finished name are still checked."""

    def again(self, slot: Instance, action: BeginStep, step: Any) -> Transition | None:
        try:
            arguments.configuration(action.kind, action.arguments, slot.rules)
        except Misfit as misfit:
            return Transition(slot, BadArgument(str(misfit)))
        return None


@fault("STP-3a", "STP-6")
class FinishedNamesKeepTheirKind(Replaying):
    """A finished name that is called under another kind is a mismatch."""

    def again(self, slot: Instance, action: BeginStep, step: Any) -> Transition | None:
        if step.kind == action.kind:
            return None
        return Transition(fail(slot, "step_definition_mismatch", action.now), Stopped())


@fault("STP-13", "DO-6")
class UndefinedIsNoOutcome(Replaying):
    """A step whose outcome is undefined is not recorded, and runs again in later contexts."""

    def again(self, slot: Instance, action: BeginStep, step: Any) -> Transition | None:
        empty = step.kind != "sleep" and step.outcome == Succeeded(None)
        return self.afresh(slot, action) if empty else None


# Arguments


class Lenient(ManagedHost):
    """A Host that repairs the arguments of a step call before it checks them."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        """The arguments that are checked."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep):
            action = altered(action, arguments=self.repaired(action))
        return super().transition(slot, action)


@fault("STP-4", "SLP-1", "WFE-1")
class NumbersAreConverted(Lenient):
    """Seconds that are text or a boolean are converted to a number."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        def number(value: Any) -> Any:
            return (
                int(value)
                if (isinstance(value, str) and value.isdigit()) or isinstance(value, bool)
                else value
            )

        return {key: number(value) if "econds" in key else value for key, value in action.arguments.items()}


@fault("STP-4", "SLP-1", "WFE-1")
class SecondsAreClamped(Lenient):
    """Seconds out of range are brought into it."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        def near(value: Any) -> Any:
            return max(0, min(value, FORM.sleep_seconds)) if type(value) is int else value

        return {key: near(value) if "econds" in key else value for key, value in action.arguments.items()}


@fault("STP-4", "SLP-1", "WFE-1")
class FractionsAreRounded(Lenient):
    """Seconds that are no whole number are rounded."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        def whole(value: Any) -> Any:
            return round(value) if type(value) is float and value - value == 0 else value

        return {key: whole(value) if "econds" in key else value for key, value in action.arguments.items()}


@fault("STP-4", "STP-4a")
class BadArgumentsAreMismatches(ManagedHost):
    """A bad argument ends the instance as `step_definition_mismatch`."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if isinstance(made.reply, BadArgument) and isinstance(slot, Instance):
            return Transition(fail(slot, "step_definition_mismatch", action.now), Stopped())
        return made


@fault("STP-4", "STP-4a")
class BadArgumentsAreStepFailures(ManagedHost):
    """A bad argument is recorded as the failure of the step."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if not isinstance(made.reply, BadArgument) or not isinstance(slot, Instance):
            return made
        if isinstance(action, BeginStep) and isinstance(action.name, str) and action.name not in slot.history:
            failed = Step(action.kind, Failed("step_failed"), policy=arguments.NO_POLICY)
            history = slot.history.put(action.name, failed)
            return Transition(altered(slot, history=history), Recorded(Failed("step_failed")))
        return made


@fault("STP-4a", "STP-9a", "STP-6")
class RefusedCallsTakeTheName(ManagedHost):
    """A call that was refused for its arguments has taken the name, as its kind."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.kinds: dict[tuple[str, Any], Kind] = {}

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance) and isinstance(action.name, str):
            kind = self.kinds.get((slot.id, action.name), action.kind)
            if kind != action.kind and action.name not in slot.history:
                return Transition(fail(slot, "step_definition_mismatch", action.now), Stopped())
        made = super().transition(slot, action)
        if (
            isinstance(made.reply, BadArgument)
            and isinstance(slot, Instance)
            and isinstance(action, BeginStep)
        ):
            self.kinds.setdefault((slot.id, str(action.name)), action.kind)
        return made


@fault("STP-4a", "STP-9a", "STP-9")
class RefusedCallsCount(ManagedHost):
    """A call that was refused for its arguments counts as a step."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if isinstance(made.reply, BadArgument) and isinstance(slot, Instance):
            name = f"refused {len(slot.history)}"
            spent = slot.history.put(name, Step("sleep", Succeeded(None)))
            return Transition(altered(slot, history=spent), made.reply)
        return made


class Reconfiguring(ManagedHost):
    """A Host that takes the arguments of the latest call of a pending step."""

    kinds: tuple[Kind, ...]

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance) and action.kind in self.kinds:
            step = slot.history.get(action.name) if isinstance(action.name, str) else None
            if step is not None and not step.finished and step.kind == action.kind:
                slot = self.renewed(slot, action, step)
        return super().transition(slot, action)

    def renewed(self, slot: Instance, action: BeginStep, step: Any) -> Instance:
        """The instance with the new configuration saved."""
        try:
            wanted = arguments.configuration(action.kind, action.arguments, slot.rules)
        except Misfit:
            return slot
        deadline = step.deadline
        if action.kind != "do" and deadline is not None:
            deadline = action.now + wanted.seconds * 1000
        step = altered(step, policy=wanted.policy, type=wanted.type, deadline=deadline)
        return altered(slot, history=slot.history.put(action.name, step))


@fault("STP-5", "DO-2", "DO-4")
class NewerPoliciesCount(Reconfiguring):
    """A pending do takes the retry policy of newer code."""

    kinds = ("do",)


class Recalling(Reconfiguring, RunAgain):
    """A Host that, after a restart, starts a context for what is parked too, as it may."""


@fault("STP-5", "WFE-1", "WFE-5")
class NewerWaitsCount(Recalling):
    """A pending wait takes type and timeout of newer code."""

    kinds = ("wait",)


@fault("SLP-5", "SLP-1", "STP-5", "SLP-2")
class NewerSleepsCount(Recalling):
    """A pending sleep takes the seconds of the latest call: its timer starts anew in each context."""

    kinds = ("sleep",)


# Overlap


class Overlapping(ManagedHost):
    """A Host that does not mind some open steps."""

    def minds(self, slot: Instance, action: BeginStep, context: Context) -> bool:
        """Whether an open step stands in the way of a call."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance):
            context = slot.context(action.token)
            if context is not None and context.open is not None and not self.minds(slot, action, context):
                others = tuple(each for each in slot.contexts if each is not context)
                slot = altered(slot, contexts=(*others, altered(context, open=None, replaying=False)))
        return super().transition(slot, action)


class _Many(Execution):
    """An execution that keeps several steps open, and settles them one after the other."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._others: list[Any] = []

    def _begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any], effect: Any = None) -> Promise:
        before = self._call
        promise = super()._begin(kind, name, arguments, effect)
        if before is not None and self._call is not before and self._call is not None:
            self._others.append(self._call)
            self._call = before
        return promise

    def deliver(self, reply: Reply) -> None:
        super().deliver(reply)
        if self._call is None and self._others:
            self._call = self._others.pop(0)


@fault("STP-6", "STP-7", "STP-8")
class StepsMayOverlap(Overlapping):
    """Steps may overlap; each is recorded when its turn comes."""

    execution_class = _Many

    def minds(self, slot: Instance, action: BeginStep, context: Context) -> bool:
        return False

    def _take(self, owner: Any, proposal: Proposal) -> None:
        slot = self.slot(owner.key)
        name = getattr(proposal, "name", None)
        if isinstance(slot, Instance) and isinstance(name, str):
            contexts = tuple(
                altered(each, open=name) if each.token == owner.token else each for each in slot.contexts
            )
            self.slots[owner.key] = altered(slot, contexts=contexts)
        super()._take(owner, proposal)


class _Catchable(Execution):
    """An execution in which a step call that would stop the run throws instead."""

    def _begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any], effect: Any = None) -> Promise:
        try:
            return super()._begin(kind, name, arguments, effect)
        except _Stop as stop:
            promise = Promise(self.turns)
            promise.reject(RuntimeError(str(stop)))
            return promise


class _Stop(Exception):
    """What a step call of a `Catching` Host is answered with."""


class Catching(ManagedHost):
    """A Host whose step calls reject where they should stop the run."""

    execution_class = _Catchable
    reason: str

    def begin(self, key: Any, token: int, kind: Kind, name: Any, arguments: Mapping[str, Any]) -> Reply:
        before = self.slot(key)
        reply = super().begin(key, token, kind, name, arguments)
        if isinstance(reply, Stopped) and reply.reason == self.reason:
            self.slots[key] = before
            raise _Stop(self.reason)
        return reply


@fault("STP-6", "STP-7", "STP-8")
class MismatchCanBeCaught(Catching):
    """A mismatch rejects the step call, so that the application can catch it and go on."""

    reason = "step_definition_mismatch"


@fault("STP-9")
class StepLimitCanBeCaught(Catching):
    """The step limit rejects the step call, so that the application can catch it and go on."""

    reason = "step_limit_exceeded"


@fault("STP-6", "STP-5")
class PendingNamesMayChangeKind(ManagedHost):
    """A pending name that is called under another kind begins anew as that kind."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance) and isinstance(action.name, str):
            step = slot.history.get(action.name)
            if step is not None and not step.finished and step.kind != action.kind:
                slot = altered(slot, history=slot.history.drop(action.name))
        return super().transition(slot, action)


class _Nesting(Execution):
    """An execution in which a step inside of an effect runs as plain code."""

    def _begin(self, kind: Kind, name: Any, arguments: Mapping[str, Any], effect: Any = None) -> Promise:
        call = self._call
        if call is not None and call.running is not None and kind == "do" and callable(effect):
            return self.turns.start(self.execute(effect))
        return super()._begin(kind, name, arguments, effect)


@fault("STP-7", "STP-6")
class NestedStepsRun(ManagedHost):
    """A step that is called inside of another step's effect runs, and is not recorded."""

    execution_class = _Nesting


@fault("STP-8", "STP-6", "STP-17")
class UnsettledStepsAreForgotten(ManagedHost):
    """A run that settles while a step is unsettled has its own outcome."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Settle) and isinstance(slot, Instance):
            contexts = tuple(altered(each, open=None) for each in slot.contexts)
            slot = altered(slot, contexts=contexts)
        return super().transition(slot, action)


@fault("STP-8")
class ThrownBeatsUnsettled(ManagedHost):
    """A run that throws while a step is unsettled ends as `run_threw`."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Settle) and isinstance(slot, Instance) and action.threw:
            contexts = tuple(altered(each, open=None) for each in slot.contexts)
            slot = altered(slot, contexts=contexts)
        return super().transition(slot, action)


@fault("STP-17", "STP-8", "STP-6", "PUB-1")
class RunsWaitForTheirSteps(Execution):
    """A run that settles while a step is unsettled is not over until the step is."""

    def _signal(self) -> Any:
        if self._run is not None and self._run.settled and not self._settled and self._call is not None:
            self._settled = True
            signal = super()._signal()
            self._settled = False
            return signal
        return super()._signal()


# The step limit


@fault("STP-9")
class StepLimitOf1025(ManagedHost):
    """An instance may have 1,025 steps."""

    broken_rules = rules(maximum_steps=1025)


@fault("STP-9", "STP-9a")
class StepLimitOf1023(ManagedHost):
    """An instance may have 1,023 steps, no more."""

    broken_rules = rules(maximum_steps=1023)


class Counting(ManagedHost):
    """A Host that counts more or less than distinct names."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.counted: dict[str, int] = {}

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if (
            isinstance(action, BeginStep)
            and isinstance(slot, Instance)
            and not isinstance(made.reply, Stopped)
        ):
            spent = self.counted.get(slot.id, 0) + self.spends(slot, action)
            self.counted[slot.id] = spent
            if spent > slot.rules.limits.maximum_steps:
                return Transition(fail(slot, "step_limit_exceeded", action.now), Stopped())
        return made

    def spends(self, slot: Instance, action: BeginStep) -> bool:
        """Whether a call counts as one more step."""
        raise NotImplementedError


@fault("STP-9a", "STP-9")
class ReplaysCount(Counting):
    """Each call of a finished name counts as a step."""

    def spends(self, slot: Instance, action: BeginStep) -> bool:
        return True


@fault("STP-9a", "STP-9")
class RetriesCount(Counting):
    """Each attempt of a do counts as a step."""

    def spends(self, slot: Instance, action: BeginStep) -> bool:
        step = slot.history.get(action.name) if isinstance(action.name, str) else None
        return step is None or not step.finished


@fault("STP-9a", "STP-9")
class FailedStepsDoNotCount(ManagedHost):
    """A step that has failed does not count."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, BeginStep) and isinstance(slot, Instance):
            failed = [n for n, step in slot.history.items() if isinstance(step.outcome, Failed)]
            if failed and len(slot.history) >= slot.rules.limits.maximum_steps and action.name not in failed:
                slot = altered(slot, history=slot.history.drop(failed[0]))
        return super().transition(slot, action)


# What the application sees


class _Suspended(Exception):
    """What a suspension looks like inside of a run that can see it."""


@fault("STP-12")
class SuspensionRunsHandlers(Execution):
    """A step that parks, or whose retry is to come, rejects in the context that is suspended."""

    def deliver(self, reply: Reply) -> None:
        call = self._call
        super().deliver(reply)
        if isinstance(reply, Parked) and call is not None:
            call.promise.reject(_Suspended())
            self.turns.turn()


@fault("STP-12", "TRM-1", "DEL-5")
class StopsRunHandlers(ManagedHost):
    """A context that is stopped has its pending step rejected, so that catch and finally run."""

    def _drop(self, owner: Any) -> None:
        call = owner.execution._call
        if call is not None and call.running is not None:
            call.promise.reject(_Suspended())
            owner.execution.turns.turn()
        super()._drop(owner)


class Wrapping(Execution):
    """An execution that hands out something else than what a step recorded."""

    def wrapped(self, kind: Kind, outcome: Succeeded) -> Any:
        """What the Promise of a step resolves to."""
        raise NotImplementedError

    def _settle_promise(self, promise: Promise, kind: Kind, reply: Settled) -> None:
        if isinstance(reply.outcome, Succeeded):
            promise.resolve(self.wrapped(kind, reply.outcome))
        else:
            super()._settle_promise(promise, kind, reply)

    def plain(self, outcome: Succeeded) -> Any:
        """What should be handed out."""
        from fencepost import documents

        return None if outcome.document is None else documents.decode(outcome.document)


@fault("STP-14", "DO-1")
class ResultsAreWrapped(Wrapping):
    """do resolves to `{result: ...}`."""

    def wrapped(self, kind: Kind, outcome: Succeeded) -> Any:
        return {"result": self.plain(outcome)} if kind == "do" else self.plain(outcome)


@fault("STP-14")
class SleepsGiveADocument(Wrapping):
    """sleep resolves to an empty document."""

    def wrapped(self, kind: Kind, outcome: Succeeded) -> Any:
        return {} if kind == "sleep" else self.plain(outcome)


@fault("WFE-4", "STP-14")
class PayloadsAreWrapped(Wrapping):
    """waitForEvent resolves to `{payload: ...}`."""

    def wrapped(self, kind: Kind, outcome: Succeeded) -> Any:
        return {"payload": self.plain(outcome)} if kind == "wait" else self.plain(outcome)


@fault("WFE-4", "STP-13")
class NoPayloadIsEmpty(Wrapping):
    """waitForEvent resolves to an empty document where the event had no payload."""

    def wrapped(self, kind: Kind, outcome: Succeeded) -> Any:
        return {} if kind == "wait" and outcome.document is None else self.plain(outcome)


@fault("STP-14", "DO-1", "STP-13", "DO-6")
class UndefinedIsADocument(Wrapping):
    """do resolves to an empty document where the effect gave undefined."""

    def wrapped(self, kind: Kind, outcome: Succeeded) -> Any:
        return {} if kind == "do" and outcome.document is None else self.plain(outcome)


__all__ = ["Lenient", "Replaying", "Wrapping"]
