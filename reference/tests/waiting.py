"""Waiting for a condition, as tests do that have processes of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
SECONDS = 20.0


def until(look: Callable[[], Value], seconds: float = SECONDS) -> Value:
    """The first true value; looks again and again."""
    given_up, pause = time.monotonic() + seconds, threading.Event()
    while not (value := look()):
        assert time.monotonic() < given_up, "it did not come about"
        pause.wait(0.005)
    return value
