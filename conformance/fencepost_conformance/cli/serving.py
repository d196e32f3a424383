"""`fencepost serve`: the reference Host on loopback, for a workflow class of the user's."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from fencepost.contexts.forkserver import CannotLoad, Export, Module
from fencepost.host.host import Host
from fencepost.host.running import RunningHost

from . import serving_api
from .trouble import Trouble, because, of_file

if TYPE_CHECKING:
    import socket

PORT = 8733
INTERRUPTED = 130
SCRIPTS = (".mjs", ".js")
LINES = (
    ("create an instance", """curl -d '{"id": "first", "params": {"name": "sales"}}' ADDRESS/instances"""),
    (
        "send it an event",
        """curl -d '{"type": "approved", "payload": {"by": "ann"}}' ADDRESS/instances/first/events""",
    ),
    ("ask how it is", "curl ADDRESS/instances/first/status"),
)
"""What to try first, to be copied into a terminal."""


@click.command(name="serve")
@click.argument("module_or_file", required=False)
@click.option("--class", "name", metavar="NAME", help="The workflow class in there.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=PORT, show_default=True,
    help="The port on 127.0.0.1; 0 for any that is free.",
)  # fmt: skip
@click.option(
    "--env", "pairs", metavar="KEY=VALUE", multiple=True,
    help="A text in the env that the class is made with; can be given again.",
)  # fmt: skip
@serving_api.options
def command(
    module_or_file: str | None,
    name: str | None,
    port: int,
    pairs: tuple[str, ...],
    with_api: bool,
    bundles: tuple[str, ...],
    credentials: tuple[str, ...],
    data: str | None,
    tls_certificate: str | None,
    tls_key: str | None,
) -> None:
    """Run a workflow class on this machine: HTTP and JSON for its callers, and a page that shows it live.

    MODULE_OR_FILE is a file in Python (.py) or JavaScript (.mjs, .js, with the extra js), or an importable
    module of Python. Every context has a process of its own. What happened is kept in memory: it is forgotten
    when this command ends. Ctrl-C ends it, and leaves nothing running. Only this machine can reach it.

    \b
    Example:
      fencepost serve examples/report.py --class ReportWorkflow --env REGION=north
      curl -d '{"id": "first", "params": {"name": "sales"}}' http://127.0.0.1:8733/instances
      curl -d '{"type": "approved", "payload": {"by": "ann"}}' http://127.0.0.1:8733/instances/first/events
      curl http://127.0.0.1:8733/instances/first/status

    \b
    Calls:
      POST /instances                  {"id"?, "params"?}
      GET  /instances/ID
      GET  /instances/ID/status
      POST /instances/ID/events        {"type", "payload"?}
      POST /instances/ID/terminate

    A rejected call is answered with {"error": {"name", "message"}}. A call that changes something and bears a
    header Idempotency-Key is harmless to send again.

    With --api there is no MODULE_OR_FILE: what runs is deployed through Host API v2, as bundles that come
    from the folders and origins that --bundles allows. A FOLDER stands for https://artifacts.invalid/.

    \b
    Example:
      fencepost serve --api --bundles bundles

    Needs the extra: pip install 'fencepost[serve]'
    """
    signal.signal(signal.SIGTERM, _end)
    if with_api:
        if module_or_file or name or pairs:
            raise Trouble("--api takes no MODULE_OR_FILE, --class or --env: classes are deployed through it")
        given = serving_api.Options(port, bundles, credentials, data, tls_certificate, tls_key)
        serving_api.serve(_server(), given)
        return
    if bundles or credentials or data or tls_certificate or tls_key:
        raise Trouble("--bundles, --credential, --data and --tls-... go with --api")
    if module_or_file is None or name is None:
        raise Trouble("give MODULE_OR_FILE and --class NAME, or --api")
    env = _env(pairs)
    server = _server()
    try:
        listening = server.listen(port)
    except server.CannotListen as error:
        raise Trouble(because(error)) from None
    with listening:
        host = _host(module_or_file, name, env)
        try:
            received = asyncio.run(_serve(server, host, listening, name, module_or_file))
        finally:
            host.close()
    if received is None:
        raise Trouble("the processes that run contexts are gone; start again")
    click.get_current_context().exit(INTERRUPTED if received == signal.SIGINT else 0)


def _end(*_: object) -> NoReturn:
    """SIGTERM before anything is served: end as if it had been."""
    sys.exit(0)


def _env(pairs: Sequence[str]) -> dict[str, str]:
    split = [pair.partition("=") for pair in pairs]
    wrong = [key for key, equals, _ in split if not (key and equals)]
    if wrong:
        raise Trouble(f"--env {wrong[0]}: give it as KEY=VALUE")
    return {key: value for key, _, value in split}


def _server() -> Any:
    """What serves, or the extra that it comes with."""
    try:
        from fencepost.serve import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("starlette", "uvicorn"):
            raise Trouble("'fencepost serve' needs an extra: pip install 'fencepost[serve]'") from None
        raise
    return server


def _host(module_or_file: str, name: str, env: dict[str, str]) -> RunningHost:
    path = Path(module_or_file)
    is_file = path.suffix in (".py", *SCRIPTS) or os.sep in module_or_file or path.is_file()
    if is_file and not path.is_file():
        raise Trouble(f"{module_or_file}: there is no such file")
    try:
        if path.suffix in SCRIPTS:
            return _javascript(path, name, env)
        sys.path.insert(0, os.getcwd())  # where a module is looked for, as `python -m` does
        module = Module(path=str(path.resolve())) if is_file else Module(name=module_or_file)
        return Host(Export(module, name), env=env)
    except CannotLoad as error:
        raise Trouble(f"{module_or_file}: {because(error)}") from None


def _javascript(path: Path, name: str, env: dict[str, str]) -> RunningHost:
    from fencepost.contexts.node import JavaScript
    from fencepost.contexts.node_tools import NodeMissing
    from fencepost.host.node_host import NodeHost

    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise of_file(path, error) from None
    except UnicodeDecodeError:
        raise Trouble(f"{path}: a module in JavaScript is text in UTF-8") from None
    try:
        return NodeHost(JavaScript(source, path.name), name, env=env)
    except NodeMissing as error:
        raise Trouble(because(error)) from None


async def _serve(
    server: Any, host: RunningHost, listening: socket.socket, name: str, source: str
) -> signal.Signals | None:
    address = f"http://{server.ADDRESS}:{listening.getsockname()[1]}"
    lines = [(what, line.replace("ADDRESS", address)) for what, line in LINES]
    about = {
        "class": name,
        "source": source,
        "address": address,
        "version": version("fencepost"),
        "lines": [{"what": what, "line": line} for what, line in lines],
    }

    def ready() -> None:
        click.echo(f"{name} of {source} is served; Ctrl-C ends it and all that it runs")
        click.echo(f"\n  the page            {address}/")
        for what, line in lines:
            click.echo(f"  {what:<18}  {line}")
        click.echo()
        sys.stdout.flush()

    received: signal.Signals | None = await server.serve(host, listening, about, ready)
    return received
