"""`fencepost check --check-adapter`: does an adapter keep to the protocol?"""

from __future__ import annotations

from typing import NoReturn

import click
from click.core import ParameterSource

from .. import hosts
from ..adapter import Handshake
from ..adapter_check import check, not_offered
from ..report.console import STYLE
from . import screen, sources
from .trouble import Trouble, because

_WIDTH = 12
_OURS = ("host", "check_adapter")


def run(host: str) -> NoReturn:
    """Walk through the adapter of a HOST, print a line for each finding, and exit with 0 or 2."""
    context = click.get_current_context()
    for name in context.params:
        if name not in _OURS and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise Trouble("--check-adapter takes nothing but a HOST; leave the other options out")
    output = screen.console()
    found = 0
    try:
        for each in check(lambda watch: hosts.resolve(host, watch)()):
            if isinstance(each, Handshake):
                screen.say(output, f"{'':{_WIDTH}}{each.name} {each.version}, lease {each.lease_seconds:g} s")
                missing = ", ".join(not_offered(each)) or "nothing"
                screen.say(output, f"{'not offered':{_WIDTH}}{missing}")
                continue
            found += len(each.findings)
            for finding in each.findings:
                screen.say(output, f"{each.name:{_WIDTH}}{finding}", STYLE["failed"])
            if not each.findings:
                screen.say(output, f"{each.name:{_WIDTH}}ok")
    except hosts.UnknownHost as error:
        raise Trouble(f"{because(error)}{sources.near(host, hosts.BUILT_IN)}") from error
    context.exit(2 if found else 0)
