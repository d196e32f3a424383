"""`fencepost create`, `send` and `terminate`: the calls that change something, on a database.

Each takes a command id, which makes sending it again harmless: the Form's binding has none (EXT-1).
"""

from __future__ import annotations

import json
from typing import Any

import click
from fencepost import json_text

from . import stored
from .trouble import Trouble, because

COMMAND = click.option(
    "--command", "command_id", metavar="ID",
    help="An id of this call: sent again with it, the call does nothing more and is answered as it was.",
)  # fmt: skip


@click.command(name="create")
@stored.options
@click.option("--id", "id", metavar="ID", help="The instance's id; without it one is issued.")
@click.option("--params", metavar="JSON", help="The params, a JSON object.")
@COMMAND
def create(place: str, uid: str | None, id: str | None, params: str | None, command_id: str | None) -> None:
    """Create an instance in a database, and print its id. Workers run it: see 'fencepost worker'.

    Exit status: 0 created, 1 rejected, 2 bad usage or no database.

    \b
    Examples:
      fencepost create --db report.db --id first --params '{"name": "sales"}'
      fencepost create --db report.db --params '{"name": "sales"}' --command order-17
    """
    given = _document("--params", params)
    with stored.host(place, uid, made=True) as host:
        click.echo(stored.said(lambda: host.by(command_id).create(id, given)))


@click.command(name="send")
@click.argument("id")
@click.argument("type")
@stored.options
@click.option("--payload", metavar="JSON", help="The payload, a JSON object.")
@COMMAND
def send(
    id: str, type: str, place: str, uid: str | None, payload: str | None, command_id: str | None
) -> None:
    """Send the instance ID an event of TYPE; return once it is accepted.

    Exit status: 0 accepted, 1 rejected, 2 bad usage or no database.

    \b
    Example:
      fencepost send first approved --payload '{"by": "ann"}' --db report.db --command approval-17
    """
    given = _document("--payload", payload)
    with stored.host(place, uid) as host:
        stored.said(lambda: host.by(command_id).send_event(id, type, given))


@click.command(name="terminate")
@click.argument("id")
@stored.options
@click.option(
    "--seconds", type=click.FloatRange(0), default=30.0, show_default=True, metavar="SECONDS",
    help="How long to wait for the proof that nothing of it runs.",
)  # fmt: skip
@COMMAND
def terminate(id: str, place: str, uid: str | None, seconds: float, command_id: str | None) -> None:
    """Terminate the instance ID; return once its code is stopped and an outcome is published.

    Exit status: 0 ended, 1 rejected or not proven stopped in time, 2 bad usage or no database.

    \b
    Example:
      fencepost terminate first --db report.db --command cancel-17
    """
    with stored.host(place, uid) as host:
        try:
            stored.said(lambda: host.handle(id).terminate(seconds, command=command_id))
        except TimeoutError as error:
            click.echo(f"fencepost: {because(error)}", err=True)
            click.get_current_context().exit(1)


def _document(option: str, text: str | None) -> Any:
    if text is None:
        return None
    try:
        found = json_text.read(text.encode(), unique=True)
    except (ValueError, json.JSONDecodeError) as error:
        raise Trouble(f"{option}: no JSON: {because(error)}") from None
    if not isinstance(found, dict):
        raise Trouble(f"{option}: give a JSON object")
    return found
