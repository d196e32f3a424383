"""The database of one adapter: a file of its own, or a database of its own on a server of PostgreSQL."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from fencepost.durable.store import url_of
from sqlalchemy import create_engine, exc, text
from sqlalchemy.engine import URL

from ...adapter import AdapterFault

VARIABLE = "FENCEPOST_POSTGRES"
"""The environment variable with the URL of a database of PostgreSQL, where others may be made and dropped."""


class Database:
    """Made new, and gone once it is closed. AdapterFault where the server does not let one be made."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder / "fencepost.db")
        self._server: URL | None = None
        if url := os.environ.get(VARIABLE):
            self._server, self._name = url_of(url), f"fencepost_{secrets.token_hex(8)}"
            self._say(f"CREATE DATABASE {self._name}")
            own = self._server.set(drivername="postgresql", database=self._name)
            self.place = own.render_as_string(hide_password=False)

    def close(self) -> None:
        """Drop it, whoever still has a connection; a file goes with its folder."""
        if self._server is not None:
            self._say(f"DROP DATABASE {self._name} WITH (FORCE)")

    def _say(self, words: str) -> None:
        assert self._server is not None
        engine = create_engine(self._server, isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                connection.execute(text(words))
        except exc.DBAPIError as error:
            raise AdapterFault(f"{VARIABLE}: {error.orig}") from error
        finally:
            engine.dispose()
