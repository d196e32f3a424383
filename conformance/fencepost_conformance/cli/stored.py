"""What commands that work on a database have in common: the options that name it, and opening it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .trouble import Trouble, because

if TYPE_CHECKING:
    from fencepost.durable.host import DurableHost
    from fencepost.durable.store import Store

Command = TypeVar("Command", bound=Callable[..., Any])

DATABASE = click.option(
    "--db", "place", metavar="URL", required=True,
    help="A file of SQLite, or postgresql://USER@HOST/NAME.",
)  # fmt: skip
RESOURCE = click.option(
    "--resource", "uid", metavar="UID", help="The Workflow resource. [default: workflow-1]"
)


def options(command: Command) -> Command:
    """The options that name a Workflow resource in a database."""
    return DATABASE(RESOURCE(command))


def store(place: str) -> Store:
    """The store at a place; trouble where it cannot be opened."""
    from fencepost.durable.store import SchemaRefused, Store, StoreUnavailable

    try:
        return Store(place)
    except (SchemaRefused, StoreUnavailable, ValueError) as error:
        raise Trouble(f"--db: {because(error)}") from None
    except ModuleNotFoundError:
        raise Trouble("a store needs an extra: pip install 'fencepost[durable]'") from None


@contextmanager
def host(place: str, uid: str | None, *, made: bool = False) -> Iterator[DurableHost]:
    """The caller's end of a Workflow resource; with `made` a file that is not there yet is made."""
    if not made and "://" not in place and not Path(place).is_file():
        raise Trouble(f"--db: there is no database at {place}")
    opened = store(place)
    from fencepost.durable.host import UID, DurableHost

    found = DurableHost(opened, uid or UID)
    try:
        yield found
    finally:
        found.close()


def said(call: Callable[[], Any]) -> Any:
    """What a call comes to; what the Host rejects is one line on standard error, and exit status 1."""
    from fencepost.host.calls import CallError

    try:
        return call()
    except CallError as error:
        click.echo(f"fencepost: {error.name}: {' '.join(error.message.split())}", err=True)
        click.get_current_context().exit(1)
