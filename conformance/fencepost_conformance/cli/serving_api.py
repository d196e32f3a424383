"""`fencepost serve --api`: Host API v2 on loopback, with the Workers that are deployed through it."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from .trouble import Trouble, because

DATA = "fencepost-data"


@dataclass(frozen=True)
class Options:
    """What an operator says of the Host."""

    port: int
    bundles: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    data: str | None = None  # None: the default, in the present directory
    certificate: str | None = None
    key: str | None = None

    @property
    def scheme(self) -> str:
        """How the Host is reached."""
        return "https" if self.certificate else "http"

    def tls(self) -> dict[str, Any]:
        """What the server is told of the certificate."""
        if not self.certificate:
            return {}
        return {"ssl_certfile": self.certificate, "ssl_keyfile": self.key}


def options(command: Any) -> Any:
    """The options that go with --api."""
    for option in reversed(
        (
            click.option(
                "--api", "with_api", is_flag=True,
                help="Serve Host API v2 instead: classes come as bundles, deployed through it (extra js).",
            ),
            click.option(
                "--bundles", metavar="[URL=]FOLDER|ORIGIN", multiple=True,
                help="With --api: where bytes of bundles may come from; can be given again.",
            ),
            click.option(
                "--credential", "credentials", metavar="PRINCIPAL=VARIABLE[:SPACE,...]", multiple=True,
                help="With --api: the environment variable with a principal's bearer secret.",
            ),
            click.option(
                "--data", metavar="FOLDER",
                help=f"With --api: where everything is kept. [default: {DATA}]",
            ),
            click.option("--tls-certificate", metavar="FILE", help="With --api: serve HTTPS with it."),
            click.option("--tls-key", metavar="FILE", help="With --api: the certificate's private key."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def serve(server: Any, given: Options) -> None:
    """Serve until a signal comes."""
    from fencepost.api.access import BadGrant, granted
    from fencepost.api.artifacts import BadSource, Verified, source
    from fencepost.api.host import ApiHost
    from fencepost.contexts.node_tools import NodeMissing
    from fencepost.durable.schema import SchemaRefused

    try:
        if given.certificate:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(given.certificate, given.key)
    except OSError as error:
        raise Trouble(f"--tls-certificate, --tls-key: {because(error)}") from None
    try:
        access = granted(given.credentials, os.environ)
        sources = [source(each) for each in given.bundles]
        listening = server.listen(given.port)
    except (BadGrant, BadSource, server.CannotListen) as error:
        raise Trouble(because(error)) from None
    with listening:
        origin = f"{given.scheme}://{server.ADDRESS}:{listening.getsockname()[1]}"
        data = Path(given.data or DATA)
        try:
            data.mkdir(parents=True, exist_ok=True)
            kept = Verified(data / "bundles")
            host = ApiHost(origin, access, sources, verified=kept, place=data / "fencepost.db")
        except (NodeMissing, SchemaRefused, OSError) as error:
            raise Trouble(because(error)) from None

        async def end() -> None:
            await asyncio.to_thread(host.close)

        def ready() -> None:
            for line in _lines(origin, access.schemes, given.bundles, data):
                click.echo(line)
            sys.stdout.flush()

        try:
            received = asyncio.run(
                server.run(host.app, listening, host.until_closed, end, ready, **given.tls())
            )
        finally:
            host.close()
    if received is None:
        raise Trouble("the processes that run contexts are gone; start again")
    click.get_current_context().exit(130 if received == signal.SIGINT else 0)


def _lines(origin: str, schemes: tuple[str, ...], bundles: Sequence[str], data: Path) -> list[str]:
    from fencepost.api.table import DISCOVERY, ROOT

    return [
        "Host API v2 is served; Ctrl-C ends it and all that it runs",
        "",
        f"  discovery           {origin}{DISCOVERY}",
        f"  the API             {origin}{ROOT}  ({', '.join(schemes)})",
        f"  its OpenAPI         {origin}/openapi.json",
        f"  a deployed Worker   {origin}/workers/UID",
        f"  everything is kept  {data}",
        f"  bundles             {', '.join(bundles) or 'from nowhere: give --bundles FOLDER'}",
        "",
    ]
