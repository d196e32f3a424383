"""Tests that run TLC need the extra `model`; without it they are skipped, and say so."""

import pytest
from fencepost_model import tools


@pytest.fixture(scope="session")
def tlc_tools() -> tools.Tools:
    """Java and TLC, or a skip with the reason."""
    try:
        return tools.find()
    except tools.MissingTools as missing:
        pytest.skip(str(missing))
