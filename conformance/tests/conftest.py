"""What is left out of the tests where a machine lacks something, said in one line each."""

from __future__ import annotations

import os

import pytest

NEEDS_CHROMIUM = "test_page.py"
collect_ignore = [] if os.environ.get("FENCEPOST_CHROMIUM") else [NEEDS_CHROMIUM]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not collected, and what to do about it."""
    if NEEDS_CHROMIUM in collect_ignore:
        line = "the HTML report in a browser (set FENCEPOST_CHROMIUM to the path of a Chromium)"
        terminalreporter.write_line(f"left out: {line}")
