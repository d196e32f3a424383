"""The table of faulty hosts, and the few tools that a fault is written with.

A fault is a class that differs from the reference in one rule. Its name becomes the fault's (`OldestIsNewest`
is `fault:oldest-is-newest`), its docstring says what is broken, and the decorator which clause that breaks.
What the class may be says where the rule lives:

| a subclass of | the rule lives in |
|---|---|
| `ManagedHost` | the Host: the machine (`transition`, `moves`), the store, the calls, the clock, the stops |
| `Execution` | the application's side of a context |
| `Management` | the management of the Workflow resource |
| `ReferenceAdapter` | what the caller is told |

`swapped` lets a fault exchange one function of the reference for the length of one call; nothing outside of
that call, and no other Host, ever sees the exchange.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fencepost.contexts.execution import Execution
from fencepost.host.managed import ManagedHost
from fencepost.machine import REFERENCE, Latitude, Rules
from fencepost.machine.records import evolve
from fencepost.machine.replies import Recorded, Replaying
from fencepost.management.service import Management
from fencepost_spec.limits import FORM, Limits

from ..hosts.reference import ReferenceAdapter

Settled = Recorded | Replaying
"""The replies that settle the Promise of a step with an outcome."""

Made = TypeVar("Made", bound=type)
Record = TypeVar("Record")


@dataclass(frozen=True)
class Fault:
    """A faulty host: its name, the clause that it breaks, those that it breaks as much, and its adapter."""

    name: str
    clause: str
    also: tuple[str, ...]
    meaning: str
    make: Callable[[], Any]
    elsewhere: bool = (
        False  # it takes other choices than the reference, whose own scenarios say nothing of it
    )

    @property
    def blamable(self) -> frozenset[str]:
        """The clauses that may be blamed for it."""
        return frozenset((self.clause, *self.also))


TABLE: dict[str, Fault] = {}
PROMISES: dict[str, Fault] = {}
"""Those that break a promise of the reference (GRT) and maybe no rule of the Form."""


def fault(clause: str, *also: str, table: dict[str, Fault] = TABLE) -> Callable[[Made], Made]:
    """Enter a class into the table as a fault that breaks `clause`, and equally those of `also`."""

    def enter(broken: Made) -> Made:
        name = re.sub(r"(?<!^)(?=[A-Z])|(?<=[a-z])(?=[0-9])", "-", broken.__name__).lower()
        if name in TABLE or name in PROMISES:
            raise ValueError(f"there are two faults named {name}; rename one")
        meaning = " ".join((broken.__doc__ or "").split())
        chosen = getattr(broken, "broken_rules", Rules()).latitude
        table[name] = Fault(name, clause, also, meaning, _maker(broken), chosen != REFERENCE)
        return broken

    return enter


def _maker(broken: type) -> Callable[[], Any]:
    if issubclass(broken, ReferenceAdapter):
        return broken
    if issubclass(broken, Execution):
        return _adapter(type(broken.__name__, (ManagedHost,), {"execution_class": broken}))
    if issubclass(broken, Management):
        return _adapter(type(broken.__name__, (Managing,), {"management_class": broken}))
    return _adapter(broken)


def _adapter(host: type) -> Callable[[], Any]:
    return lambda: ReferenceAdapter(host, getattr(host, "broken_rules", None))


class Managing(ManagedHost):
    """A Host whose management is of another class."""

    management_class = Management

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.management.__class__ = self.management_class


def rules(latitude: Latitude = REFERENCE, **limits: int) -> Rules:
    """Rules with other limits than the Form's, for the attribute `broken_rules` of a Host."""
    return Rules(evolve(FORM, **limits), latitude)


def form(**limits: int) -> Limits:
    """The Form's limits with some of them changed."""
    return evolve(FORM, **limits)


def altered(record: Record, **changes: Any) -> Record:
    """A changed copy of a record of the machine, be it a dataclass or a named tuple."""
    if isinstance(record, tuple):
        return record._replace(**changes)  # type: ignore[attr-defined, no-any-return]
    return evolve(record, **changes) if hasattr(record, "__dict__") else replace(record, **changes)  # type: ignore[type-var]


@contextmanager
def swapped(place: Any, **functions: Any) -> Iterator[None]:
    """Exchange attributes of a module or class while a call runs."""
    kept = {name: getattr(place, name) for name in functions}
    for name, function in functions.items():
        setattr(place, name, function)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(place, name, function)
