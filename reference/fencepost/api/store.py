"""Where the state of management is kept: one interface, and memory as the first thing behind it.

The state is one immutable value with the Resources, the Operations and the Idempotency-Keys in it, so an
acceptance is one change of it. A store is told of both ends of a change and keeps the whole of it or nothing;
what differs between the two is what it has to write.
"""

from __future__ import annotations

from typing import Protocol

from fencepost.durable.store import StoreUnavailable
from fencepost.management.state import State

__all__ = ["Memory", "Store", "StoreUnavailable"]


class Store(Protocol):
    """Keeps the state of management. Used by one thread at a time."""

    def load(self) -> State | None:
        """What was kept last, or nothing where nothing was. Raises StoreUnavailable."""

    def commit(self, before: State, after: State) -> None:
        """Keep a change as one act, durable once this returns. Raises StoreUnavailable."""


class Memory:
    """Keeps the state until its process ends."""

    def __init__(self, state: State | None = None) -> None:
        self.state = state

    def load(self) -> State | None:
        """What was kept last."""
        return self.state

    def commit(self, before: State, after: State) -> None:
        """Keep a change."""
        self.state = after
