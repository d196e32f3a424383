"""Faults of the caller's binding: ids, statuses, outcomes, and how calls fail (chapter BND)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fencepost.host.calls import CallError
from fencepost.host.managed import ManagedHost
from fencepost.machine import Slot, Transition, Vacant
from fencepost.machine.actions import Action, Create
from fencepost.machine.arguments import Misfit
from fencepost.machine.replies import Done, Reply
from fencepost.machine.state import Instance

from ..hosts.reference import ReferenceAdapter
from .table import altered, fault, rules, swapped


def code_units(text: Any, what: str, most: int) -> str:
    """A check of texts that counts UTF-16 code units."""
    if not isinstance(text, str) or not 1 <= len(text.encode("utf-16-le", "surrogatepass")) // 2 <= most:
        raise Misfit(f"{what} must have 1 to {most} code units")
    return text


@fault("BND-1")
class HandleBearsAnotherId(ManagedHost):
    """The handle that create gives bears the resource's UID in front of the id."""

    def create(self, id: Any = None, params: Any = None) -> str:
        return f"{self.uid}/{super().create(id, params)}"


@fault("BND-2")
class IdsUpTo255Scalars(ManagedHost):
    """An id may have 255 scalars, no more."""

    broken_rules = rules(id_scalars=255)


@fault("BND-2")
class IdsOfAnyLength(ManagedHost):
    """An id may have 257 scalars and more."""

    broken_rules = rules(id_scalars=100_000)


@fault("BND-2")
class IdsCountedInCodeUnits(ManagedHost):
    """The length of an id is counted in UTF-16 code units."""

    def transition(self, slot: Slot, action: Action) -> Transition:
        from fencepost.machine import instances

        with swapped(instances, check_text=code_units):
            return super().transition(slot, action)


@fault("BND-2")
class IdsOfAnyKind(ManagedHost):
    """An id that is no string is turned into one."""

    def create(self, id: Any = None, params: Any = None) -> str:
        return super().create(None if id is None else str(id), params)


@fault("BND-2", "BND-3")
class IssuedIdsRepeat(ManagedHost):
    """The ids that the Host issues repeat themselves."""

    def _issue(self) -> str:
        return "instance"


class Recreating(ManagedHost):
    """A Host that decides by itself what a create meets where an instance is held."""

    def again(self, held: Instance, action: Create) -> Transition | None:
        """What becomes of a create under a held id; None for the rule."""
        raise NotImplementedError

    def anew(self, held: Instance, action: Create) -> Transition:
        """The instance begins again; contexts of the old one are fenced."""
        made = super().transition(Vacant(held.rules), action)
        fresh = altered(made.state, token=held.token, contexts=held.contexts)
        return Transition(fresh if isinstance(made.state, Instance) else held, made.reply)

    def transition(self, slot: Slot, action: Action) -> Transition:
        if isinstance(action, Create) and isinstance(slot, Instance) and not slot.closed:
            return self.again(slot, action) or super().transition(slot, action)
        return super().transition(slot, action)


@fault("BND-3")
class SecondCreateRunsAgain(Recreating):
    """A second create with the same id starts a second run."""

    def again(self, held: Instance, action: Create) -> Transition | None:
        return self.anew(held, action)


@fault("BND-3")
class SecondCreateGivesTheHandle(Recreating):
    """A second create with the same id succeeds and gives the handle of the first."""

    def again(self, held: Instance, action: Create) -> Transition | None:
        return Transition(held, Done())


@fault("BND-3", "RET-1")
class EndedIdsAreFree(Recreating):
    """The id of an instance that has ended can be created again at once."""

    def again(self, held: Instance, action: Create) -> Transition | None:
        return self.anew(held, action) if held.terminal is not None else None


@fault("BND-3")
class CreatedInMemory(ManagedHost):
    """An instance is durable only once the Host has come to rest after its create."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.volatile: set[Any] = set()

    def perform(self, key: Any, action: Action) -> Reply:
        reply = super().perform(key, action)
        if isinstance(action, Create) and isinstance(reply, Done):
            self.volatile.add(key)
        return reply

    def settle(self) -> None:
        super().settle()
        self.volatile.clear()

    def restart(self) -> None:
        super().restart()
        for key in self.volatile:
            self.slots.pop(key, None)
        self.volatile.clear()


@fault("BND-4")
class EveryIdIsKnown(ManagedHost):
    """get gives a handle for any id."""

    def get(self, id: Any) -> str:
        self.reach()
        return str(id)


@fault("BND-4", "BND-13")
class UnknownIsNotFound(ManagedHost):
    """get of an unknown id fails, under another name."""

    def get(self, id: Any) -> str:
        try:
            return super().get(id)
        except CallError as error:
            raise CallError("not_found" if error.name == "unknown_instance" else error.name, "") from None


@fault("BND-5", "EXT-1")
class AnEighthStatus(ManagedHost):
    """An instance that waits for a retry shows the status `retrying`."""

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        slot = self.slot((self.uid, id))
        step = slot.history.get(slot.current) if isinstance(slot, Instance) and slot.current else None
        if shown["status"] == "sleeping" and step is not None and step.kind == "do":
            return {"status": "retrying"}
        return shown


@fault("BND-5", "EXT-1", "PUB-1")
class TerminatingIsAStatus(ManagedHost):
    """An instance whose end is decided and not yet published shows the status `terminating`."""

    def status(self, id: Any) -> dict[str, Any]:
        slot = self.slot((self.uid, id))
        shown = super().status(id)
        return {"status": "terminating"} if isinstance(slot, Instance) and slot.decision else shown


@fault("BND-6")
class OutputBesideEveryStatus(ManagedHost):
    """An instance that has no output shows an empty one."""

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        return shown if shown["status"] == "complete" else {**shown, "output": {}}


@fault("BND-6")
class StatusOfAFailureFails(ManagedHost):
    """status of an errored instance is rejected with its reason."""

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        if shown["status"] == "errored":
            raise CallError(shown["error"]["reason"], "the run failed")
        return shown


class Reasons(ManagedHost):
    """A Host with names of its own for reasons."""

    names: ClassVar[Mapping[str, str]]

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        if "error" in shown:
            reason = shown["error"]["reason"]
            return {**shown, "error": {"reason": self.names.get(reason, reason)}}
        return shown


@fault("BND-7")
class ReasonsOfItsOwn(Reasons):
    """A mismatch and too many steps share the reason `invalid_workflow`."""

    names: ClassVar[Mapping[str, str]] = {
        "step_definition_mismatch": "invalid_workflow",
        "step_limit_exceeded": "invalid_workflow",
    }


@fault("BND-7", "LIF-1")
class LifetimeIsATimeout(Reasons):
    """The end of the lifetime has the reason `timed_out`."""

    names: ClassVar[Mapping[str, str]] = {"lifetime_exceeded": "timed_out"}


@fault("BND-8")
class UnreachableIsUnknown(ManagedHost):
    """A caller whose backend is out of reach is told that the instance is unknown."""

    def reach(self) -> None:
        if not self.backend_up:
            raise CallError("unknown_instance", "no such instance")


@fault("BND-8")
class UnreachableIsAnInternalError(ManagedHost):
    """A caller whose backend is out of reach gets the store's own error."""

    def reach(self) -> None:
        if not self.backend_up:
            raise CallError("ConnectionRefused", "127.0.0.1")


@fault("BND-8", "TRM-2")
class TerminatesOutOfReach(ManagedHost):
    """terminate succeeds though the backend is out of reach, and comes to nothing."""

    def terminate(self, id: Any) -> Any:
        from concurrent.futures import Future

        if self.backend_up:
            return super().terminate(id)
        done: Future[None] = Future()
        done.set_result(None)
        return done


@fault("BND-12", "BND-7")
class ErroredWithoutAReason(ManagedHost):
    """An errored instance gives a message and no reason."""

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        return {**shown, "error": {"message": "the run failed"}} if "error" in shown else shown


@fault("BND-12", "ABI-3")
class UndefinedOutputIsEmpty(ManagedHost):
    """A run that returned undefined has the output `{}`."""

    def status(self, id: Any) -> dict[str, Any]:
        shown = super().status(id)
        return {"output": {}, **shown} if shown["status"] == "complete" else shown


@fault("BND-12")
class OutcomesInMemory(ManagedHost):
    """What a run returned is not there any more after a restart of the Host."""

    def restart(self) -> None:
        super().restart()
        for key, slot in self.slots.items():
            if isinstance(slot, Instance) and slot.terminal is not None:
                self.slots[key] = altered(slot, terminal=altered(slot.terminal, output=None))


@fault("BND-13", "BND-3", "BND-4", "EVT-2", "EVT-3", "DOC-8")
class ErrorsAreNameless(ManagedHost):
    """A failed call is rejected with an `Error` that has the word in its message."""

    def _call(self, key: Any, action: Action, run: bool = True) -> Reply:
        try:
            return super()._call(key, action, run)
        except CallError as error:
            raise CallError("Error", f"{error.name}: {error.message}") from None


@fault("BND-13", "BND-3", "BND-4", "EVT-2")
class FailedCallsSucceed(ReferenceAdapter):
    """A call that fails resolves with the error as a value."""

    def get(self, id: Any) -> Any:
        try:
            return super().get(id)
        except Exception as error:
            return {"error": str(error)}

    def send_event(self, id: Any, type: Any, payload: Any) -> Any:
        try:
            return super().send_event(id, type, payload)
        except Exception as error:
            return {"error": str(error)}


__all__ = ["Reasons", "Recreating", "code_units"]
