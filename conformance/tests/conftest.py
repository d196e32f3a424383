"""What is left out of the tests where a machine lacks something, said in one line each."""

from __future__ import annotations

import os

import pytest

NEEDS_CHROMIUM = ("test_page.py", "test_serve_page.py")
collect_ignore = [] if os.environ.get("FENCEPOST_CHROMIUM") else [*NEEDS_CHROMIUM]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not collected, and what to do about it."""
    if collect_ignore:
        line = "the pages in a browser: the HTML report, the live page (set FENCEPOST_CHROMIUM to its path)"
        terminalreporter.write_line(f"left out: {line}")
