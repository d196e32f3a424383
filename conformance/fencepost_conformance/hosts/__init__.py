"""Hosts by name: what a HOST string means, and how to connect to what it names.

| HOST | the Host |
|---|---|
| `reference` | the reference, in this process |
| `reference-js` | the reference with contexts and callers in JavaScript (extra `js`) |
| `reference-durable` | the reference on a database, with worker processes (extras `durable` and `serve`) |
| `fault:NAME` | the reference with one rule broken, from the table of faulty hosts |
| `latitude:FIELD=CHOICE,...` | the reference under other admissible choices of open points |
| `python:MODULE:FACTORY` | what FACTORY of an importable MODULE makes, in a child process |
| `cmd:PROGRAM ARGUMENTS` | a program that answers on its standard output; `node` is that of the extra `js` |
| `http://HOST:PORT` | a server that answers each POST |
| `cloudflare`, `dbos`, `restate` | a foreign engine, which claims no Form, behind its best shim |
| `cloudflare-raw`, `dbos-raw`, `restate-raw` | the same behind its smallest one |
| `api:URL,folder=FOLDER` | Host API v2 at a base URL; the probe is deployed through it (see `api`) |
"""

import re
import shlex
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..adapter import AdapterFault, Connection
from ..foreign.engines import HOSTS as FOREIGN
from ..foreign.engines import NotInstalled, connecting
from ..inprocess import InProcess

BUILT_IN = {
    "reference": "the reference Host, in this process",
    "reference-js": "the reference Host with JavaScript, in processes of Node (extra js)",
    "reference-durable": "the reference Host on a database, with worker processes (extras durable and serve)",
}

_PYTHON = re.compile(r"python:(?P<module>[A-Za-z_][\w.]*):(?P<factory>[A-Za-z_][\w.]*)")


class UnknownHost(ValueError):
    """A HOST string that names nothing; one line that says what to give instead."""


def resolve(
    host: str, watch: Callable[[Connection], Connection] = lambda bare: bare
) -> Callable[[], Connection]:
    """A function that connects to a HOST; raises UnknownHost. Connecting raises AdapterFault.

    `watch` is put around what the adapter is spoken to by, where nothing of the kit is in between.
    """
    if host in BUILT_IN:
        return lambda: watch(InProcess(_make(host)))
    if host in FOREIGN:
        return _foreign(host, watch)
    kind, _, name = host.partition(":")
    if kind in _FAMILIES and name:
        connect = _FAMILIES[kind](host, name)
        return lambda: watch(connect())
    if kind in _APART:
        connect = _APART[kind](host, name)
        return lambda: _wired(watch(connect()))
    raise UnknownHost(
        f"{host}: no such Host; give {', '.join(BUILT_IN)}, python:MODULE:FACTORY, 'cmd:PROGRAM ARGUMENTS' "
        "or http://HOST:PORT"
    )


def _foreign(host: str, watch: Callable[[Connection], Connection]) -> Callable[[], Connection]:
    from fencepost.contexts.node_tools import NodeMissing

    try:
        return connecting(host, watch)
    except (NotInstalled, NodeMissing) as missing:
        raise UnknownHost(f"{host}: {missing}") from None


def is_ours(host: str) -> bool:
    """Whether a HOST takes the reference's own choices, so that what rests on them can be run on it."""
    return host in BUILT_IN or host.startswith("fault:")


def _fault(host: str, name: str) -> Callable[[], Connection]:
    from ..faults import load, promises

    fault = load().get(name) or promises().get(name)
    if fault is None:
        raise UnknownHost(f"{host}: no such faulty host; see 'fencepost list faults'")
    return lambda: InProcess(fault.make())


def _latitude(host: str, name: str) -> Callable[[], Connection]:
    from . import latitude

    try:
        latitude.parse(name)
    except latitude.UnknownChoice as error:
        raise UnknownHost(f"{host}: {error}") from None
    return lambda: InProcess(latitude.make(name))


def _python(host: str, name: str) -> Callable[[], Connection]:
    from ..child import python_child

    named = _PYTHON.fullmatch(host)
    if named is None:
        raise UnknownHost(f"{host}: give python:MODULE:FACTORY, such as python:my_host.adapter:make")
    return lambda: python_child(named["module"], named["factory"])


def _program(host: str, name: str) -> Callable[[], Connection]:
    from ..child import Child

    try:
        command = shlex.split(name)
    except ValueError as error:
        raise UnknownHost(f"{host}: {error}; quote it as for a shell") from None
    if not command:
        raise UnknownHost(f"{host}: give 'cmd:PROGRAM ARGUMENTS', such as 'cmd:node host.mjs'")
    if command[0] == "node":
        from fencepost.contexts.node_tools import NodeMissing, node

        try:
            command[0] = str(node())
        except NodeMissing as missing:
            raise UnknownHost(f"{host}: {missing}") from None
    return lambda: Child(command)


def _server(host: str, name: str) -> Callable[[], Connection]:
    from ..http_host import BadAddress, HttpHost, parsed

    try:
        parsed(host)
    except BadAddress as error:
        raise UnknownHost(str(error)) from None
    return lambda: HttpHost(host)


def _api(host: str, name: str) -> Callable[[], Connection]:
    from .api import Address, BadAddress

    try:
        address = Address.parsed(name)
    except BadAddress as error:
        raise UnknownHost(f"{host}: {error}") from None
    return lambda: InProcess(address.make())


def _wired(bare: Connection) -> Connection:
    from ..wired import Wired

    return Wired(bare)


_FAMILIES: dict[str, Callable[[str, str], Callable[[], Connection]]] = {
    "fault": _fault,
    "latitude": _latitude,
    "python": _python,
    "api": _api,
}

# those whose probe reports to the kit's journal by HTTP
_APART: dict[str, Callable[[str, str], Callable[[], Connection]]] = {
    "cmd": _program,
    "http": _server,
}


def _make(name: str) -> Any:
    try:
        return import_module(f".{name.replace('-', '_')}", __package__).make()
    except ImportError as error:
        raise AdapterFault(f"the Host {name} cannot be loaded: {error}") from error
