"""One Hypothesis profile for every room, and a database of PostgreSQL for each process that runs tests.

The profile tries the same examples in each run, and has no deadline when the machine is busy. Where there is
no server, what needs one is left out, and one line says so.
"""

import os
from pathlib import Path

import pytest
from fencepost_conformance.foreign.engines import ENGINES
from hypothesis import settings

settings.register_profile("fencepost", derandomize=True, deadline=None)
settings.load_profile("fencepost")

SERVER = os.environ.get("FENCEPOST_POSTGRES")


def pytest_configure(config: pytest.Config) -> None:
    """Tests that hold the clock of a database do it in one of their own."""
    if SERVER:
        from fencepost_conformance.hosts.durable.database import VARIABLE, Database

        database = Database(Path())
        os.environ[VARIABLE] = database.place
        config.add_cleanup(database.close)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs PostgreSQL."""
    left_out = [] if SERVER else [item for item in items if item.get_closest_marker("postgresql")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out, and what to do about it."""
    lines = [] if SERVER else ["stores on PostgreSQL (set FENCEPOST_POSTGRES to the URL of a database)"]
    missing = ", ".join(each.name for each in ENGINES.values() if not each.is_installed)
    if missing:
        lines.append(f"foreign engines: {missing} ('fencepost install' and the name of one)")
    for line in lines:
        terminalreporter.write_line(f"left out: {line}")
