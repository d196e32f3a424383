"""Faulty hosts: the reference with exactly one rule broken in each, so that the kit can be seen to bite.

One module for a chapter or two; `table` says how a fault is written. `load` gives all of them. That every
clause which can be broken has a fault, or a reason in `UNBROKEN` why it has none, is held by a test.
`promises` gives those that break what the reference promises beyond the Form, for the suite of guarantees.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from .table import PROMISES, TABLE, Fault

MODULES = (
    "binding",
    "documents",
    "events",
    "endings",
    "contexts",
    "steps",
    "attempts",
    "parking",
    "resources",
    "deletion",
)

UNBROKEN: Mapping[str, str] = {
    "EXT-2": "it is the sum of all other clauses: whoever breaks one of them breaks it",
}


@cache
def load() -> Mapping[str, Fault]:
    """Every fault by its name, in the order of the modules."""
    for module in MODULES:
        import_module(f".{module}", __package__)
    return TABLE


@cache
def promises() -> Mapping[str, Fault]:
    """Every fault that breaks a promise of the reference (GRT), by its name."""
    load()
    import_module(".guarantees", __package__)
    return PROMISES


__all__ = ["UNBROKEN", "Fault", "load", "promises"]
