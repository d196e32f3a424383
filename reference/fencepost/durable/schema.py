"""The version of a database's tables: brought up to ours when it is opened, refused when it is newer.

Alembic is asked only when there is something to do. `HEAD` is the newest migration in `migrations/versions`.
"""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

HEAD = "0004"
MIGRATIONS = Path(__file__).with_name("migrations")
_LOCK = 0x66_65_6E_63_65  # any number that others are unlikely to lock


class SchemaRefused(ValueError):
    """The database's tables are of a version that this program does not know."""


def version_of(connection: Connection) -> str | None:
    """The version of the tables, None where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


def known() -> list[str]:
    """Every version of the tables, the oldest first."""
    return sorted(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def bring_up(engine: Engine) -> None:
    """Migrate to `HEAD`; `SchemaRefused` for a newer version, or without what migrates."""
    with engine.connect() as connection:
        with connection.begin():
            found = version_of(connection)
        if found == HEAD:
            return
        if found is not None and found not in known():
            raise SchemaRefused(
                f"the database has tables of version {found}, and this program knows {HEAD}; update fencepost"
            )
        try:
            from alembic import command
            from alembic.config import Config
        except ModuleNotFoundError:
            raise SchemaRefused("a store needs an extra: pip install 'fencepost[durable]'") from None
        with connection.begin():
            if connection.dialect.name == "postgresql":  # one process at a time; SQLite's begin sees to it
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            config = Config()
            config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
