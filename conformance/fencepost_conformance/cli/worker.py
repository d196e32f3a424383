"""`fencepost worker`: a process that runs the instances of a store in a database."""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.contexts.forkserver import CannotLoad, Export, Module

from . import stored
from .serving import INTERRUPTED, SCRIPTS, _env
from .trouble import Trouble, because, of_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.host.launching import Code, Launcher

SHOWN = "%(asctime)s %(levelname)s %(message)s"


@click.command(name="worker")
@stored.DATABASE
@click.option("--module", "file", metavar="FILE", required=True, help="The workflow class's module.")
@click.option("--class", "name", metavar="NAME", required=True, help="The workflow class in there.")
@click.option(
    "--env", "pairs", metavar="KEY=VALUE", multiple=True,
    help="A text in the env that the class is made with; can be given again.",
)  # fmt: skip
@stored.RESOURCE
@click.option(
    "--contexts", metavar="N", type=click.IntRange(1), help="How many at a time. [default: 64]",
)  # fmt: skip
@click.option(
    "--lease", metavar="SECONDS", type=click.FloatRange(1),
    help="How long an owner keeps its work that shows no life. [default: 30]",
)  # fmt: skip
def command(
    place: str,
    file: str,
    name: str,
    pairs: tuple[str, ...],
    uid: str | None,
    contexts: int | None,
    lease: float | None,
) -> None:
    """Run the instances of a Workflow that are kept in a database; start as many workers as you like.

    FILE is a file in Python (.py) or JavaScript (.mjs, .js, with the extra js), or an importable module of
    Python. Every context has a process of its own. Callers create instances in the same database, with
    `fencepost.durable.host.DurableHost`. Ctrl-C ends a worker, and leaves nothing running; what it was at is
    delivered to the next one. Nothing is lost when it is killed.

    \b
    Example:
      fencepost worker --db report.db --module examples/report.py --class ReportWorkflow --env REGION=north

    Needs the extra: pip install 'fencepost[durable]'
    """
    received: list[int] = []

    def end(number: int, _: object) -> None:
        received.append(number)
        if worker is None:
            sys.exit(0)
        worker.close()

    worker: Any = None
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    _log()
    env = _env(pairs)
    store = stored.store(place)
    try:
        launcher, code = _launcher(file, name, env)
        from fencepost.durable.host import UID
        from fencepost.durable.worker import CONTEXTS, Worker
        from fencepost.host.engine import LEASE_SECONDS

        worker = Worker(
            store, launcher, code, uid=uid or UID, contexts=contexts or CONTEXTS,
            lease_seconds=lease or LEASE_SECONDS,
        )  # fmt: skip
        click.echo(f"{name} of {file} runs what is in {store.url.render_as_string()}; Ctrl-C ends it")
        sys.stdout.flush()
        worker.run()
    finally:
        store.close()
    if worker.broken:
        raise Trouble("the processes that run contexts are gone; start again")
    click.get_current_context().exit(INTERRUPTED if signal.SIGINT in received else 0)


def _log() -> None:
    """Show what our own code has to say, on standard error."""
    shown, ours = logging.StreamHandler(sys.stderr), logging.getLogger("fencepost")
    shown.setFormatter(logging.Formatter(SHOWN))
    ours.addHandler(shown)
    ours.setLevel(logging.INFO)


def _launcher(file: str, name: str, env: Mapping[str, str]) -> tuple[Launcher, Code]:
    """What runs contexts, and what they run."""
    from fencepost.host.launching import Code, Forks

    path = Path(file)
    is_file = path.suffix in (".py", *SCRIPTS) or os.sep in file or path.is_file()
    if is_file and not path.is_file():
        raise Trouble(f"{file}: there is no such file")
    try:
        if path.suffix in SCRIPTS:
            return _javascript(path, name, env)
        sys.path.insert(0, os.getcwd())  # where a module is looked for, as `python -m` does
        forks = Forks(Export(Module(path=str(path.resolve())) if is_file else Module(name=file), name))
        forks.server.require(name)
    except CannotLoad as error:
        raise Trouble(f"{file}: {because(error)}") from None
    return forks, Code(name, env)


def _javascript(path: Path, name: str, env: Mapping[str, str]) -> tuple[Launcher, Code]:
    from fencepost.contexts.node import JavaScript
    from fencepost.contexts.node_tools import NodeMissing
    from fencepost.host.node_host import require
    from fencepost.host.node_launching import NodeCode, Nodes

    try:
        module = JavaScript(path.read_text(encoding="utf-8"), path.name)
    except OSError as error:
        raise of_file(path, error) from None
    except UnicodeDecodeError:
        raise Trouble(f"{path}: a module in JavaScript is text in UTF-8") from None
    try:
        nodes = Nodes()
    except NodeMissing as error:
        raise Trouble(because(error)) from None
    try:
        require(nodes, module, name)
    except BaseException:  # also an interrupt
        nodes.close()
        raise
    return nodes, NodeCode(name, env, module)
