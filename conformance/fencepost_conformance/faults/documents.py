"""Faults in what is taken for a document, and in how one is written and kept (chapter DOC)."""

import datetime
import json
from typing import Any, ClassVar

from fencepost import documents
from fencepost.admission import admit
from fencepost.contexts.execution import Execution
from fencepost.contexts.turns import Promise
from fencepost.host.calls import CallError
from fencepost.host.managed import ManagedHost
from fencepost.machine.actions import Action, Document, Unfit
from fencepost.machine.replies import Reply
from fencepost.machine.state import Kind, Succeeded
from fencepost_spec.limits import FORM, Limits

from ..probe.values import NULL, UNDEFINED
from .table import Settled, fault, form


class _Taking(Execution):
    def admit(self, value: Any) -> Document:
        return self._port.host.take(value)  # type: ignore[attr-defined, no-any-return]


class Documents(ManagedHost):
    """A Host that takes documents in one place, those of its callers and those of its workflows."""

    execution_class = _Taking
    broken_limits: ClassVar[Limits] = form()

    def admit(self, value: Any) -> Document:
        return self.take(value)

    def take(self, value: Any) -> Document:
        """A live value as the machine is told of it."""
        if value is None or self.broken_limits == form():
            return admit(self.repaired(value), self.latitude)
        try:
            return documents.encode(value, self.broken_limits)
        except documents.DocumentTooLarge:
            return Unfit.TOO_LARGE
        except documents.DocumentError:
            return Unfit.INVALID

    def repaired(self, value: Any) -> Any:
        """The root that is taken in place of a value."""
        return value


class Repairing(Documents):
    """A Host that makes a document out of what is none, value by value."""

    def repaired(self, value: Any) -> Any:
        return self.whole(value)

    def whole(self, value: Any, depth: int = 0) -> Any:
        """A value with everything in it repaired."""
        value = self.repair(value)
        if depth > 200:
            return value
        if type(value) is dict:
            pairs = ((key, self.whole(child, depth + 1)) for key, child in value.items())
            return dict(filter(self.kept, pairs))
        return [self.whole(child, depth + 1) for child in value] if type(value) is list else value

    def repair(self, value: Any) -> Any:
        """What is taken in place of one value."""
        return value

    def kept(self, member: tuple[Any, Any]) -> bool:
        """Whether a member of an object is taken at all."""
        return True


# Roots


@fault("DOC-1")
class ArraysAreRoots(Documents):
    """An array at the root is taken, as the object of its indices."""

    def repaired(self, value: Any) -> Any:
        return {str(index): child for index, child in enumerate(value)} if type(value) is list else value


@fault("DOC-1")
class StringsAreRoots(Documents):
    """A string at the root is taken, inside of an object."""

    def repaired(self, value: Any) -> Any:
        return {"value": value} if type(value) is str else value


@fault("DOC-1")
class Roots1025Properties(Documents):
    """A root may have 1,025 properties."""

    broken_limits = form(document_root_properties=1025)


@fault("DOC-1")
class Roots1023Properties(Documents):
    """A root may have 1,023 properties, no more."""

    broken_limits = form(document_root_properties=1023)


@fault("DOC-7", "DOC-1")
class NullIsNone(Documents):
    """null in place of a document means that there is none."""

    def repaired(self, value: Any) -> Any:
        return None if value is NULL else value


@fault("DOC-7")
class EmptyIsNone(Documents):
    """An empty document means that there is none."""

    def repaired(self, value: Any) -> Any:
        return None if value == {} else value


# Size


@fault("DOC-2")
class OneByteTooMany(Documents):
    """A document may have one byte more than the limit."""

    broken_limits = form(document_bytes=1_048_577)


@fault("DOC-2")
class OneByteTooFew(Documents):
    """A document must have one byte less than the limit."""

    broken_limits = form(document_bytes=1_048_575)


class Measured(Documents):
    """A Host that measures documents with a rule of its own."""

    def take(self, value: Any) -> Document:
        try:
            taken = documents.encode(value, form(document_bytes=16_000_000)) if value is not None else None
        except documents.DocumentError:
            return super().take(value)
        return (
            taken if taken is None or self.measured(value, taken) <= FORM.document_bytes else Unfit.TOO_LARGE
        )

    def measured(self, value: Any, taken: bytes) -> int:
        """The size that counts."""
        raise NotImplementedError


@fault("DOC-2")
class SizeInCharacters(Measured):
    """The size of a document is counted in characters."""

    def measured(self, value: Any, taken: bytes) -> int:
        return len(taken.decode())


@fault("DOC-2")
class SizeOfEscapes(Measured):
    """The size of a document is that of a form in which everything beyond ASCII is escaped."""

    def measured(self, value: Any, taken: bytes) -> int:
        return len(json.dumps(json.loads(taken), separators=(",", ":")))


@fault("DOC-2")
class SizeBeforeTheCanonicalForm(Measured):
    """The size of a document is that of what was given: 1e21 has four bytes, 1.0 has three."""

    def measured(self, value: Any, taken: bytes) -> int:
        return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("e+", "e").encode())


# Values


@fault("DOC-3", "DOC-4")
class LoneSurrogatesAreReplaced(Repairing):
    """A lone surrogate becomes the replacement character."""

    def repair(self, value: Any) -> Any:
        if type(value) is dict:
            return {_well_formed(key): child for key, child in value.items()}
        return _well_formed(value)


def _well_formed(text: Any) -> Any:
    if type(text) is not str:
        return text
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)


@fault("DOC-3")
class TextIsNormalized(Repairing):
    """Strings are brought into the normal form NFC."""

    def repair(self, value: Any) -> Any:
        import unicodedata

        return unicodedata.normalize("NFC", value) if type(value) is str else value


@fault("DOC-3")
class DepthIsBounded(Documents):
    """A document that is deeper than 64 levels is refused."""

    def take(self, value: Any) -> Document:
        taken = super().take(value)
        if isinstance(taken, bytes) and self._depth(taken) > 64:
            return Unfit.INVALID
        return taken

    def _depth(self, data: bytes) -> int:
        depth = deepest = 0
        for letter in data:
            depth += (letter in b"{[") - (letter in b"}]")
            deepest = max(deepest, depth)
        return deepest


@fault("DOC-3")
class NumbersAreThirtyTwoBits(Repairing):
    """An integer beyond 32 bits wraps around."""

    def repair(self, value: Any) -> Any:
        if type(value) is int and not -(2**31) <= value < 2**31:
            return (value + 2**31) % 2**32 - 2**31
        return value


@fault("DOC-4", "DOC-3")
class UndefinedIsLeftOut(Repairing):
    """A member that is undefined or a function is left out, as JSON.stringify does."""

    def kept(self, member: tuple[Any, Any]) -> bool:
        return member[1] is not UNDEFINED and not callable(member[1])


@fault("DOC-4", "DOC-3")
class NotANumberIsNull(Repairing):
    """A number that is not finite becomes null, as JSON.stringify does."""

    def repair(self, value: Any) -> Any:
        return None if type(value) is float and value - value != 0 else value


@fault("DOC-4", "DOC-3")
class HolesAreNull(Repairing):
    """A hole in an array becomes null, as JSON.stringify does."""

    def repair(self, value: Any) -> Any:
        return [None if child is UNDEFINED else child for child in value] if type(value) is list else value


@fault("DOC-4", "DOC-3")
class DatesAreText(Repairing):
    """A date becomes its text, as JSON.stringify does."""

    def repair(self, value: Any) -> Any:
        return value.isoformat() if isinstance(value, datetime.datetime) else value


@fault("DOC-4")
class BigintsAreText(Repairing):
    """An integer that no double holds becomes its text."""

    def repair(self, value: Any) -> Any:
        return str(value) if type(value) is int and int(float(value)) != value else value


@fault("DOC-4")
class InstancesAreObjects(Repairing):
    """An instance of a class is taken with its fields."""

    def repair(self, value: Any) -> Any:
        return dict(vars(value)) if hasattr(value, "__dict__") and not callable(value) else value


@fault("DOC-4")
class CyclesAreCut(Repairing):
    """A reference back to an object that encloses it becomes null."""

    def repaired(self, value: Any) -> Any:
        return self._cut(value, ())

    def _cut(self, value: Any, above: tuple[int, ...]) -> Any:
        if id(value) in above:
            return None
        above = (*above, id(value))
        if type(value) is dict and len(above) < 9:
            return {key: self._cut(child, above) for key, child in value.items()}
        return value


@fault("DOC-4")
class ArraysLoseProperties(Repairing):
    """Further properties of an array are passed over."""

    def repair(self, value: Any) -> Any:
        return list(value) if isinstance(value, list) else value


@fault("DOC-4")
class SymbolsAreLeftOut(Repairing):
    """A member whose key or value is a symbol is left out, as JSON.stringify does."""

    def kept(self, member: tuple[Any, Any]) -> bool:
        return type(member[0]) is str and type(member[1]) is not object


@fault("DOC-5")
class SharedIsACycle(Documents):
    """An object that is met a second time is refused as a cycle."""

    def take(self, value: Any) -> Document:
        seen: set[int] = set()
        pending = [value]
        while pending:
            held = pending.pop()
            if type(held) in (dict, list):
                if id(held) in seen:
                    return Unfit.INVALID
                seen.add(id(held))
                pending.extend(held.values() if type(held) is dict else held)
        return super().take(value)


@fault("DOC-6", "DOC-4")
class GettersRun(Repairing):
    """A getter is run, and its value taken."""

    def repair(self, value: Any) -> Any:
        names = [name for name, held in vars(type(value)).items() if isinstance(held, property)]
        return {name: getattr(value, name) for name in names} if names else value


@fault("DOC-6", "DOC-4")
class ToJsonRuns(Repairing):
    """A method toJSON is run, and its result taken."""

    def repair(self, value: Any) -> Any:
        return value["toJSON"]() if type(value) is dict and callable(value.get("toJSON")) else value


# Refusals


@fault("DOC-8")
class BadParamsAreATypeError(ManagedHost):
    """Params that are no document fail as TypeError."""

    def create(self, id: Any = None, params: Any = None) -> str:
        try:
            return super().create(id, params)
        except CallError as error:
            name = "TypeError" if error.name == "invalid_params" else error.name
            raise CallError(name, error.message) from None


@fault("DOC-8", "DOC-2")
class TooLargeIsInvalid(ManagedHost):
    """A document that is too large fails as an invalid one."""

    def _call(self, key: Any, action: Action, run: bool = True) -> Reply:
        try:
            return super()._call(key, action, run)
        except CallError as error:
            name = "invalid_params" if error.name == "document_too_large" else error.name
            raise CallError(name, error.message) from None


@fault("DOC-8")
class BadParamsRunAllTheSame(Documents):
    """A create with params that are no document runs without params."""

    def create(self, id: Any = None, params: Any = None) -> str:
        return super().create(id, None if self.take(params) is Unfit.INVALID else params)


# What is kept


class _Sharing(Execution):
    """Hands out one and the same object for equal records."""

    def _settle_promise(self, promise: Promise, kind: Kind, reply: Settled) -> None:
        outcome = reply.outcome
        if isinstance(outcome, Succeeded) and outcome.document is not None:
            kept: dict[bytes, Any] = self._port.host.decoded  # type: ignore[attr-defined]
            value = kept.setdefault(outcome.document, documents.decode(outcome.document))
            promise.resolve(value)
            return
        super()._settle_promise(promise, kind, reply)


@fault("DOC-9", "STP-3")
class ResultsAreShared(ManagedHost):
    """Every context is given the same object for a recorded result, so that changes to it stay."""

    execution_class = _Sharing

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.decoded: dict[bytes, Any] = {}


@fault("DOC-9")
class ParamsAreShared(ManagedHost):
    """Every context is given the same object as its params."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.decoded: dict[bytes, Any] = {}

    def _start(self, key: Any, claim: Any) -> None:
        from fencepost.host import virtual

        from .table import swapped

        with swapped(virtual, documents=self):
            super()._start(key, claim)

    def decode(self, data: bytes) -> Any:
        """The one object for these bytes."""
        return self.decoded.setdefault(data, documents.decode(data))


@fault("DOC-9", "DOC-2", "EVT-3")
class NegativeZeroIsKept(Documents):
    """-0 is written as -0 and not as 0."""

    def take(self, value: Any) -> Document:
        taken = super().take(value)
        if not isinstance(taken, bytes):
            return taken
        written = json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("-0.0", "-0").encode()
        return written if b"-0" in written and written.replace(b"-0", b"0") == taken else taken


class Keys(Repairing):
    """A Host that drops some keys."""

    dropped: ClassVar[frozenset[str]]

    def kept(self, member: tuple[Any, Any]) -> bool:
        return member[0] not in self.dropped


@fault("DOC-10")
class ProtoIsSwallowed(Keys):
    """A member named __proto__ is swallowed."""

    dropped = frozenset({"__proto__"})


@fault("DOC-10")
class ConstructorIsSwallowed(Keys):
    """A member named constructor is swallowed."""

    dropped = frozenset({"constructor"})


@fault("DOC-10")
class ToJsonIsSwallowed(Keys):
    """A member named toJSON is swallowed, whatever its value."""

    dropped = frozenset({"toJSON"})


@fault("DOC-10")
class ThenIsSwallowed(Keys):
    """A member named then is swallowed, whatever its value."""

    dropped = frozenset({"then"})


__all__ = ["Documents", "Repairing"]
