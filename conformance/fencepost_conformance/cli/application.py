"""The group of commands: lazy imports from a table, and errors on one line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from fencepost_conformance import __name__ as _package

from .trouble import Trouble

# command -> the module that holds it, as an attribute named `command`, or after a dot
COMMANDS = {
    "check": "check",
    "replay": "replay",
    "ask": "ask",
    "serve": "serving",
    "worker": "worker",
    "create": "calling.create",
    "send": "calling.send",
    "terminate": "calling.terminate",
    "history": "history",
    "install": "install",
    "explain": "explain",
    "list": "listing",
    "self-test": "self_test",
    "vectors": "vectors",
    "model": "model",
}
INTERRUPTED = 130


class Application(click.Group):
    """A group that imports a command when it is named, and reports every misuse on one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which a reader needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; None when there is none of the name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(".")
        command = getattr(import_module(f"{_package}.cli.{module}"), name or "command")
        assert isinstance(command, click.Command)
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit with its status."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            status = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as help_wanted:
            click.echo(help_wanted.format_message(), err=True)
            sys.exit(2)
        except click.ClickException as error:
            click.echo(f"fencepost: {_one_line(error)}", err=True)
            sys.exit(2)
        except click.Abort:
            click.echo("fencepost: interrupted", err=True)
            sys.exit(INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)


def _one_line(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    if isinstance(error, Trouble) or not isinstance(error, click.UsageError) or error.ctx is None:
        return text
    return f"{text} Try '{error.ctx.command_path} --help'."


@click.command(cls=Application, name="fencepost", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fencepost", prog_name="fencepost", message="%(prog)s %(version)s")
def application() -> None:
    """The reference and the conformance kit for DurableWorkflow Hosts.

    \b
    Judge a Host, clause by clause:        fencepost check HOST
    See one failure again:                 fencepost replay FILE HOST
    Ask what must happen:                  fencepost ask FILE
    Serve a workflow of your own:          fencepost serve report.py --class Report
    Look up a clause, error or limit:      fencepost explain WFE-5
    See what there is:                     fencepost list clauses

    Exit status: 0 qualified, 1 not qualified, 2 bad usage or a broken adapter, 3 incomplete.
    """
