"""DBOS Transact on SQLite, as a foreign Host: `README.md` says what each shim translates, and how."""

from .adapter import DbosAdapter


def raw() -> DbosAdapter:
    """The smallest translation."""
    return DbosAdapter("raw")


def emulated() -> DbosAdapter:
    """The best that a careful user could do with the engine's own means."""
    return DbosAdapter("emulated")
