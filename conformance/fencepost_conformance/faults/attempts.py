"""Faults of effects, attempts, retries, and of the errors that a workflow sees (chapters DO and ERR)."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

from fencepost.contexts import execution
from fencepost.contexts.execution import Execution, ProposeCommit, ProposeSettle
from fencepost.contexts.turns import Promise
from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot, Transition, endings, parked_on, steps
from fencepost.machine.actions import Action, BeginStep, CommitAttempt, Crash, SendEvent, Settle, Unfit
from fencepost.machine.replies import Parked, Recorded, Reply, Run
from fencepost.machine.state import NO_HISTORY, Failed, Instance, Kind, RetryPolicy, Step, Succeeded
from fencepost.workflow import StepError

from .steps import Lenient, Replaying
from .table import Settled, altered, fault, rules, swapped

# Effects


@fault("DO-1", "STP-4")
class EffectsNeedNotBeCallable(Lenient):
    """An effect that cannot be called is taken, and fails as an attempt."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        return {**action.arguments, "effect": True} if action.kind == "do" else action.arguments


@fault("DO-1")
class EffectsGetAnArgument(Execution):
    """An effect is called with the name of its step."""

    async def execute(self, effect: Any) -> Any:
        result = effect(self._call.name if self._call else "")
        return await result if inspect.isawaitable(result) else result


@fault("DO-1", "DO-8")
class EffectsAreNotAwaited(Execution):
    """The Promise that an effect gives is taken for its result."""

    async def execute(self, effect: Any) -> Any:
        self.turns.start(effect())
        return {}


@fault("DO-6a", "DO-6")
class EffectsRunTwice(Execution):
    """An attempt runs its effect twice."""

    async def execute(self, effect: Any) -> Any:
        await super().execute(effect)
        return await super().execute(effect)


@fault("DO-6", "STP-3", "DO-4")
class SuccessesInMemory(ManagedHost):
    """A restart of the Host loses the recorded successes of effects."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance) and slot.live:
                history = slot.history
                for name, step in slot.history.items():
                    if step.kind == "do" and isinstance(step.outcome, Succeeded):
                        history = history.drop(name)
                current = slot.current if slot.current in history else None
                self.slots[key] = altered(slot, history=history, current=current)


@fault("DO-6", "STP-3", "CTX-3")
class EveryContextRunsEffects(Replaying):
    """Each new context runs the effects of finished steps again."""

    def again(self, slot: Instance, action: BeginStep, step: Any) -> Transition | None:
        seen = self.__dict__.setdefault("seen", set())
        first = (slot.id, action.token, action.name) not in seen
        seen.add((slot.id, action.token, action.name))
        repeats = first and action.kind == step.kind == "do" and isinstance(step.outcome, Succeeded)
        return self.afresh(slot, action) if repeats else None


@fault("DO-4", "DO-6")
class ResultsAreCommittedLate(ManagedHost):
    """A result is committed with the next step only, and lost when the owner dies before."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Crash) and isinstance(slot, Instance) and slot.owner == action.token:
            context = slot.context(action.token)
            last = next(reversed(list(slot.history)), None)
            step = slot.history.get(last) if last is not None else None
            done = step is not None and step.kind == "do" and isinstance(step.outcome, Succeeded)
            if context is not None and context.open is None and done and last is not None:
                slot = altered(slot, history=slot.history.drop(last), current=None)
        return super().transition(slot, action)


# Results


class Accepting(ManagedHost):
    """A Host that records results that are no documents in a way of its own."""

    def instead(self, action: CommitAttempt) -> CommitAttempt:
        """The commit that is made."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, CommitAttempt) and isinstance(action.result, Unfit) and not action.failed:
            action = self.instead(action)
        return super().transition(slot, action)


@fault("DO-8")
class BadResultsAreUndefined(Accepting):
    """An effect that gives what is no document has the result undefined."""

    def instead(self, action: CommitAttempt) -> CommitAttempt:
        return altered(action, result=None)


@fault("DO-8")
class BadResultsAreEmpty(Accepting):
    """An effect that gives what is no document has the result `{}`."""

    def instead(self, action: CommitAttempt) -> CommitAttempt:
        return altered(action, result=b"{}")


@fault("DO-8")
class BadResultsHang(Execution):
    """An effect that gives what is no document leaves its instance hanging."""

    def _signal(self) -> Any:
        signal = super()._signal()
        if isinstance(signal, ProposeCommit) and isinstance(signal.result, Unfit):
            return execution.Quiet()
        return signal


@fault("DO-8", "DOC-2")
class LargeResultsAreUndefined(Accepting):
    """An effect that gives too large a document has the result undefined."""

    def instead(self, action: CommitAttempt) -> CommitAttempt:
        return altered(action, result=None) if action.result is Unfit.TOO_LARGE else action


# Policies


class Policies(ManagedHost):
    """A Host that reads retry policies in a way of its own."""

    def read(self, policy: RetryPolicy, given: Mapping[str, Any] | None) -> RetryPolicy:
        """The policy that is saved, for the one that should be and what was given."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, BeginStep) and isinstance(reply, Run) and isinstance(slot, Instance):
            step = state.history[action.name]  # type: ignore[union-attr]
            if action.name not in slot.history and isinstance(state, Instance) and step.policy is not None:
                step = altered(step, policy=self.read(step.policy, action.arguments.get("retry")))
                state = altered(state, history=state.history.put(action.name, step))
        return Transition(state, reply, clauses)


@fault("DO-2", "DO-7", "BND-7")
class TwoAttemptsWithoutAPolicy(Policies):
    """Without a policy there are two attempts."""

    def read(self, policy: RetryPolicy, given: Mapping[str, Any] | None) -> RetryPolicy:
        return policy if given is not None else altered(policy, maximum_attempts=2)


@fault("DO-2", "STP-4")
class MaxAttemptsHasADefault(Lenient):
    """A policy without maxAttempts allows three attempts."""

    def repaired(self, action: BeginStep) -> Mapping[str, Any]:
        retry = action.arguments.get("retry")
        if isinstance(retry, Mapping) and "maxAttempts" not in retry:
            return {**action.arguments, "retry": {**retry, "maxAttempts": 3}}
        return action.arguments


@fault("DO-2")
class NinetyNineAttempts(ManagedHost):
    """A policy may allow 99 attempts, no more."""

    broken_rules = rules(attempts_maximum=99)


@fault("DO-2", "STP-4")
class HundredAndOneAttempts(ManagedHost):
    """A policy may allow 101 attempts."""

    broken_rules = rules(attempts_maximum=101)


@fault("DO-2", "STP-4")
class LongerDelays(ManagedHost):
    """A policy may name a longer delay than the longest."""

    broken_rules = rules(delay_seconds_maximum=100_000)


@fault("DO-2")
class ShorterDelays(ManagedHost):
    """A policy may name delays of up to an hour only."""

    broken_rules = rules(delay_seconds_maximum=3600)


@fault("DO-2", "DO-3")
class BackoffIsExponential(Policies):
    """A policy without a backoff is exponential."""

    def read(self, policy: RetryPolicy, given: Mapping[str, Any] | None) -> RetryPolicy:
        named = given is None or "backoff" in given
        return policy if named else altered(policy, backoff="exponential")


@fault("DO-2", "DO-3")
class DelayOfOneSecond(Policies):
    """A policy without an initial delay waits a second."""

    def read(self, policy: RetryPolicy, given: Mapping[str, Any] | None) -> RetryPolicy:
        named = given is None or "initialDelaySeconds" in given
        return policy if named else altered(policy, initial_delay=1)


@fault("DO-2", "DO-3", "DO-10")
class DelaysEndAtAnHour(Policies):
    """A policy without a maximum delay waits an hour at most."""

    def read(self, policy: RetryPolicy, given: Mapping[str, Any] | None) -> RetryPolicy:
        named = given is None or "maxDelaySeconds" in given
        return policy if named else altered(policy, maximum_delay=3600)


class Delays(ManagedHost):
    """A Host that computes the delay before a retry in a way of its own."""

    def delay(self, policy: RetryPolicy, failures: int) -> int:
        """Seconds between a failed attempt and the next."""
        raise NotImplementedError

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(RetryPolicy, delay=lambda policy, failures: self.delay(policy, failures)):
            return super().transition(slot, action)


def _doubled(policy: RetryPolicy, exponent: int) -> int:
    if policy.backoff == "constant":
        return min(policy.maximum_delay, policy.initial_delay)
    return min(policy.maximum_delay, policy.initial_delay << exponent)


@fault("DO-3", "DO-10")
class ExponentIsOneTooHigh(Delays):
    """The first retry waits twice the initial delay already."""

    def delay(self, policy: RetryPolicy, failures: int) -> int:
        return _doubled(policy, failures)


@fault("DO-3", "DO-10")
class ExponentIsOneTooLow(Delays):
    """The second retry waits no longer than the first."""

    def delay(self, policy: RetryPolicy, failures: int) -> int:
        return _doubled(policy, max(0, failures - 2))


@fault("DO-3", "DO-10")
class DelaysOverflow(Delays):
    """The delay is computed in 32 bits, and overflows."""

    def delay(self, policy: RetryPolicy, failures: int) -> int:
        if policy.backoff == "constant":
            return _doubled(policy, 0)
        raw = (policy.initial_delay << (failures - 1)) & 0xFFFFFFFF
        signed = raw - 2**32 if raw >= 2**31 else raw
        return max(0, min(policy.maximum_delay, signed))


@fault("DO-3")
class DelaysAreUncapped(Delays):
    """The maximum delay does not count."""

    def delay(self, policy: RetryPolicy, failures: int) -> int:
        return policy.initial_delay << (failures - 1 if policy.backoff == "exponential" else 0)


@fault("DO-3")
class ConstantDelaysAreUncapped(Delays):
    """The maximum delay does not count for constant delays."""

    def delay(self, policy: RetryPolicy, failures: int) -> int:
        return policy.initial_delay if policy.backoff == "constant" else _doubled(policy, failures - 1)


@fault("DO-10", "DO-3")
class DelaysAreJittered(Delays):
    """The delay is cut by a tenth, so that retries spread."""

    def delay(self, policy: RetryPolicy, failures: int) -> int:
        exact = _doubled(policy, failures - 1)
        return exact - exact // 10


@fault("DO-10", "DO-3")
class DelaysFromTheBeginning(ManagedHost):
    """The delay counts from the beginning of the failed attempt."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.began: dict[str, int] = {}

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, CommitAttempt) and isinstance(slot, Instance):
            failed = endings.fail_attempt

            def earlier(step: Step, now: int) -> Step:
                later = failed(step, now)
                if later.deadline is None:
                    return later
                past = now - self.began.get(slot.id, now)
                return altered(later, deadline=max(now, later.deadline - past))

            with swapped(steps, fail_attempt=earlier):
                return super().transition(slot, action)
        made = super().transition(slot, action)
        if isinstance(made.reply, Run) and isinstance(slot, Instance):
            self.began[slot.id] = action.now
        return made


@fault("DO-10", "DO-3", "DO-4")
class RestartsRetryAtOnce(ManagedHost):
    """After a restart of the Host pending retries run at once."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            step = parked_on(slot) if isinstance(slot, Instance) else None
            if isinstance(slot, Instance) and step is not None and step.kind == "do":
                history = slot.history.put(slot.current, altered(step, deadline=None))  # type: ignore[arg-type]
                self.slots[key] = altered(slot, history=history)


@fault("DO-10", "EVT-7", "DO-3")
class EventsWakeRetries(ManagedHost):
    """An event that arrives lets a pending retry run at once."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, SendEvent) and isinstance(state, Instance) and not reply.refused:
            step = parked_on(state)
            if step is not None and step.kind == "do":
                history = state.history.put(state.current, altered(step, deadline=None))  # type: ignore[arg-type]
                state = altered(state, history=history)
        return Transition(state, reply, clauses)


# Attempts


class _Retrying(Execution):
    def deliver(self, reply: Reply) -> None:
        call = self._call
        if isinstance(reply, Run) and call is not None:
            call.began, call.running, call.proposed = False, None, False
            return
        super().deliver(reply)


@fault("DO-5", "CTX-1")
class RetriesStayInTheContext(ManagedHost):
    """A retry without a delay runs in the context of the failed attempt."""

    execution_class = _Retrying

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if (
            isinstance(action, CommitAttempt)
            and isinstance(made.reply, Parked)
            and isinstance(slot, Instance)
        ):
            name = slot.context(action.token).open  # type: ignore[union-attr]
            state = made.state
            if isinstance(state, Instance) and name is not None and state.history[name].deadline is None:
                again = altered(slot, history=state.history)
                return Transition(again, Run(state.history[name].failures + 1))
        return made


@fault("DO-4", "DO-7", "DO-2", "DO-5")
class AttemptsInMemory(ManagedHost):
    """A restart of the Host loses the count of failed attempts."""

    def restart(self) -> None:
        super().restart()
        for key, slot in list(self.slots.items()):
            if isinstance(slot, Instance):
                history = slot.history
                for name, step in slot.history.items():
                    if not step.finished:
                        history = history.put(name, altered(step, failures=0))
                self.slots[key] = altered(slot, history=history)


@fault("DO-7", "DO-2", "DO-3", "DO-4")
class OneAttemptTooMany(ManagedHost):
    """A policy of n attempts allows one more."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        failed = endings.fail_attempt

        def later(step: Step, now: int) -> Step:
            policy = step.policy
            if policy is None or policy.maximum_attempts == 1:
                return failed(step, now)
            wider = altered(policy, maximum_attempts=policy.maximum_attempts + 1)
            return altered(failed(altered(step, policy=wider), now), policy=policy)

        with swapped(steps, fail_attempt=later):
            return super().transition(slot, action)


@fault("DO-7", "DO-2", "DO-3", "DO-4")
class OneAttemptTooFew(ManagedHost):
    """A policy of n attempts allows one less."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        failed = endings.fail_attempt

        def sooner(step: Step, now: int) -> Step:
            return altered(failed(altered(step, failures=step.failures + 1), now), failures=step.failures + 1)

        with swapped(steps, fail_attempt=sooner):
            return super().transition(slot, action)


@fault("DO-7", "STP-3")
class LastFailuresAreNotRecorded(ManagedHost):
    """The last failure rejects, and is not recorded: a later context tries again."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        failed = isinstance(reply, Recorded) and reply.outcome == Failed("step_failed")
        if isinstance(action, CommitAttempt) and failed and isinstance(state, Instance):
            name = str(slot.context(action.token).open)  # type: ignore[union-attr]
            state = altered(state, history=state.history.drop(name), current=None)
        return Transition(state, reply, clauses)


@fault("DO-7", "ERR-3")
class LastFailuresAreUndefined(ManagedHost):
    """A step whose attempts are used up resolves to undefined."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        with swapped(endings, Failed=lambda name: Succeeded(None)):
            return super().transition(slot, action)


@fault("DO-12", "DO-6")
class LostAttemptsSucceed(ManagedHost):
    """An attempt that lost its owner before the commit is recorded as done."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        state, reply, clauses = super().transition(slot, action)
        if isinstance(action, Crash) and isinstance(slot, Instance) and slot.owner == action.token:
            context = slot.context(action.token)
            step = slot.history.get(context.open) if context is not None and context.open else None
            if step is not None and step.kind == "do" and not step.finished and isinstance(state, Instance):
                done = altered(step, outcome=Succeeded(None))
                state = altered(state, history=state.history.put(context.open, done))  # type: ignore[union-attr, arg-type]
        return Transition(state, reply, clauses)


@fault("DO-12", "DO-7", "STP-6")
class LostAttemptsEndTheInstance(ManagedHost):
    """An instance that lost its owner in the middle of an effect ends as `run_threw`."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        if (
            isinstance(action, Crash)
            and isinstance(slot, Instance)
            and slot.owner == action.token
            and slot.live
        ):
            context = slot.context(action.token)
            step = slot.history.get(context.open) if context is not None and context.open else None
            if step is not None and step.kind == "do" and isinstance(made.state, Instance):
                return Transition(endings.fail(made.state, "run_threw", action.now), made.reply)
        return made


# Errors


class _Renamed(StepError):
    names: ClassVar[Mapping[str, str]] = {
        "step_failed": "StepFailedError",
        "wait_timeout": "WaitTimeoutError",
    }

    @property
    def name(self) -> str:
        return self.names[super().name]


class _Writable(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Erring(Execution):
    """An execution whose Host errors are of another class."""

    error_class: Any

    def _settle_promise(self, promise: Promise, kind: Kind, reply: Settled) -> None:
        with swapped(execution, StepError=self.error_class):
            super()._settle_promise(promise, kind, reply)

    def _settlement(self, run: Promise) -> ProposeSettle:
        with swapped(execution, StepError=self.error_class):
            return super()._settlement(run)


@fault("ERR-1")
class ErrorsBearClassNames(Erring):
    """Host errors are named after their class."""

    error_class = _Renamed

    def _settlement(self, run: Promise) -> ProposeSettle:
        proposal = super()._settlement(run)
        words = {name: word for word, name in _Renamed.names.items()}
        return altered(proposal, provenance=words.get(proposal.provenance, proposal.provenance))


@fault("ERR-1")
class ErrorNamesCanBeWritten(Erring):
    """The name of a Host error can be written and enumerated."""

    error_class = _Writable


class Provenance(Execution):
    """An execution that tells genuine errors in a way of its own."""

    def genuine(self, error: BaseException) -> bool:
        """Whether an uncaught error ends the instance as `step_failed`."""
        raise NotImplementedError

    def _settlement(self, run: Promise) -> ProposeSettle:
        if run.error is None:
            return super()._settlement(run)
        name = "step_failed" if self.genuine(run.error) else None
        return ProposeSettle(threw=True, provenance=name, broken=self._broken)


@fault("ERR-2", "ERR-3")
class ErrorsAreKnownByName(Provenance):
    """Any error whose name is step_failed is taken for a genuine one."""

    def genuine(self, error: BaseException) -> bool:
        return getattr(error, "name", None) == "step_failed"


@fault("ERR-2", "ERR-5")
class ProvenanceEndsAtACatch(Provenance):
    """A genuine error that was caught and thrown again is genuine no more."""

    def genuine(self, error: BaseException) -> bool:
        frames, trace = 0, error.__traceback__
        while trace is not None:
            frames += trace.tb_frame.f_code.co_name == "_rethrow"
            trace = trace.tb_next
        return isinstance(error, StepError) and error.name == "step_failed" and not frames


@fault("ERR-5", "ERR-2")
class CausesAreGenuine(Provenance):
    """An error whose cause is a genuine one counts as genuine."""

    def genuine(self, error: BaseException) -> bool:
        chain = (error, error.__cause__)
        return any(isinstance(each, StepError) and each.name == "step_failed" for each in chain)


@fault("ERR-5", "ERR-2")
class OnlyTheLastIsGenuine(Execution):
    """Only the error of the step that failed last is genuine."""

    def _settle_promise(self, promise: Promise, kind: Kind, reply: Settled) -> None:
        self._genuine.clear()
        super()._settle_promise(promise, kind, reply)


@fault("ERR-3", "BND-7")
class TimeoutsAreStepFailures(Provenance):
    """An uncaught wait_timeout ends the instance as `step_failed`."""

    def genuine(self, error: BaseException) -> bool:
        return any(error is each for each in self._genuine)


@fault("ERR-3", "STP-4")
class TypeErrorsAreStepFailures(Provenance):
    """An uncaught TypeError of a step call ends the instance as `step_failed`."""

    def genuine(self, error: BaseException) -> bool:
        failed = isinstance(error, StepError) and error.name == "step_failed"
        return failed or isinstance(error, TypeError)


@fault("ERR-3", "ERR-2")
class EveryFailureIsRunThrew(Provenance):
    """An uncaught genuine step_failed ends the instance as `run_threw`."""

    def genuine(self, error: BaseException) -> bool:
        return False


@fault("ERR-4", "ERR-3")
class HandledFailuresCount(ManagedHost):
    """An instance with a failed step ends as `step_failed`, though the failure was handled."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        history = slot.history if isinstance(slot, Instance) else NO_HISTORY
        failed = any(step.outcome == Failed("step_failed") for step in history.values())
        if isinstance(action, Settle) and failed:
            action = altered(action, threw=True, provenance="step_failed")
        return super().transition(slot, action)


@fault("ERR-4", "ERR-3", "DO-7")
class FailuresEndTheInstance(ManagedHost):
    """The last failure of a step ends the instance at once."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        made = super().transition(slot, action)
        failed = isinstance(made.reply, Recorded) and made.reply.outcome == Failed("step_failed")
        if isinstance(action, CommitAttempt) and failed and isinstance(made.state, Instance):
            from fencepost.machine.replies import Stopped

            return Transition(endings.fail(made.state, "step_failed", action.now), Stopped("step_failed"))
        return made


@fault("ERR-6", "DO-7")
class HostErrorsPassThroughEffects(Execution):
    """A genuine Host error that an effect throws ends its step at once, without a retry."""

    def _signal(self) -> Any:
        signal = super()._signal()
        call = self._call
        if (
            isinstance(signal, ProposeCommit)
            and signal.failed
            and call is not None
            and call.running is not None
        ):
            error = call.running.error
            if any(error is each for each in self._genuine):
                self._settled = True
                return ProposeSettle(threw=True, provenance="step_failed")
        return signal


__all__ = ["Accepting", "Delays", "Erring", "Policies", "Provenance"]
