"""Hosts by name: what a HOST string means, and how to connect to what it names.

| HOST | the Host |
|---|---|
| `reference` | the reference, in this process |
| `fault:NAME` | the reference with one rule broken, from the table of faulty hosts |
| `latitude:FIELD=CHOICE,...` | the reference under other admissible choices of open points |
| `python:MODULE:FACTORY` | what FACTORY of an importable MODULE makes, in a child process |
"""

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..adapter import AdapterFault, Connection
from ..inprocess import InProcess

BUILT_IN = {"reference": "the reference Host, in this process"}

_PYTHON = re.compile(r"python:(?P<module>[A-Za-z_][\w.]*):(?P<factory>[A-Za-z_][\w.]*)")


class UnknownHost(ValueError):
    """A HOST string that names nothing; one line that says what to give instead."""


def resolve(host: str) -> Callable[[], Connection]:
    """A function that connects to a HOST; raises UnknownHost. Connecting raises AdapterFault."""
    if host in BUILT_IN:
        return lambda: InProcess(_make(host))
    named = _PYTHON.fullmatch(host)
    if named is not None:
        from ..child import Child

        return lambda: Child(named["module"], named["factory"])
    kind, _, name = host.partition(":")
    if kind in _FAMILIES and name:
        return _FAMILIES[kind](host, name)
    if host.startswith("python:"):
        raise UnknownHost(f"{host}: give python:MODULE:FACTORY, such as python:my_host.adapter:make")
    raise UnknownHost(f"{host}: no such Host; give {', '.join(BUILT_IN)} or python:MODULE:FACTORY")


def is_ours(host: str) -> bool:
    """Whether a HOST takes the reference's own choices, so that what rests on them can be run on it."""
    return host in BUILT_IN or host.startswith("fault:")


def _fault(host: str, name: str) -> Callable[[], Connection]:
    from ..faults import load

    if name not in load():
        raise UnknownHost(f"{host}: no such faulty host; see 'fencepost list faults'")
    return lambda: InProcess(load()[name].make())


def _latitude(host: str, name: str) -> Callable[[], Connection]:
    from . import latitude

    try:
        latitude.parse(name)
    except latitude.UnknownChoice as error:
        raise UnknownHost(f"{host}: {error}") from None
    return lambda: InProcess(latitude.make(name))


_FAMILIES: dict[str, Callable[[str, str], Callable[[], Connection]]] = {
    "fault": _fault,
    "latitude": _latitude,
}


def _make(name: str) -> Any:
    try:
        return import_module(f".{name}", __package__).make()
    except ImportError as error:
        raise AdapterFault(f"the Host {name} cannot be loaded: {error}") from error
