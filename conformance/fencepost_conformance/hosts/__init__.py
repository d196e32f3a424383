"""Hosts by name: what a HOST string means, and how to connect to what it names.

| HOST | the Host |
|---|---|
| `reference` | the reference, in this process |
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
    if host.startswith("python:"):
        raise UnknownHost(f"{host}: give python:MODULE:FACTORY, such as python:my_host.adapter:make")
    raise UnknownHost(f"{host}: no such Host; give {', '.join(BUILT_IN)} or python:MODULE:FACTORY")


def _make(name: str) -> Any:
    try:
        return import_module(f".{name}", __package__).make()
    except ImportError as error:
        raise AdapterFault(f"the Host {name} cannot be loaded: {error}") from error
