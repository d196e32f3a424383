"""`fencepost install`: what a foreign engine needs, from a package index."""

from __future__ import annotations

import subprocess

import click
from fencepost.contexts.node_tools import NodeMissing

from ..foreign.engines import ENGINES, VARIABLE
from .trouble import Trouble, because


@click.command(
    name="install",
    epilog=f"The packages from npm are laid below the folder that {VARIABLE} names, or the user's cache.",
)
@click.argument("engine", type=click.Choice(list(ENGINES)))
def command(engine: str) -> None:
    """Install what ENGINE needs, so that 'fencepost check ENGINE' can drive it.

    The engines are foreign Hosts: they do not claim the Form, and the kit measures how far they are from it.

    \b
    Examples:
      fencepost install cloudflare
      fencepost check cloudflare
    """
    chosen = ENGINES[engine]
    try:
        chosen.install()
        chosen.require()
    except NodeMissing as missing:
        raise Trouble(because(missing)) from missing
    except (OSError, subprocess.CalledProcessError) as error:
        raise Trouble(f"{chosen.title} could not be installed: {because(error)}") from error
    click.echo(f"{chosen.title} is installed: fencepost check {engine}")
