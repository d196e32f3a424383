"""A whole Host: the data plane, the steward, and the faces in front of them, made and ended together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from fencepost.api.access import Access
from fencepost.api.artifacts import Artifacts, Source, Verified
from fencepost.api.face import Face
from fencepost.api.front import Front
from fencepost.api.kept import Kept
from fencepost.api.plane import Plane
from fencepost.api.steward import PATIENCE_SECONDS, Steward
from fencepost.durable.store import Store as Database
from fencepost.management.state import Rules, State


class ApiHost:
    """Host API v2 at an origin, with all that it deploys; `app` is its ASGI application.

    `place` is the database: a file of SQLite, a URL, `:memory:`, or one that is open. Raises NodeMissing
    where there is no Node, and StoreUnavailable, ValueError or SchemaRefused where the database cannot be
    used.
    """

    def __init__(
        self,
        origin: str,
        access: Access,
        sources: Iterable[Source] = (),
        *,
        verified: Verified | None = None,
        place: Database | str | Path = ":memory:",
        rules: Rules | None = None,
        patience: float = PATIENCE_SECONDS,
        log: IO[Any] | int | None = None,
    ) -> None:
        artifacts = Artifacts(sources, verified)
        self._database = place if isinstance(place, Database) else Database(place)
        try:
            self.plane = Plane(self._database, self._state, artifacts, log=log)
            kept = Kept(self._database, rules or Rules())
            self.steward = Steward(self.plane, artifacts, store=kept, rules=rules, patience=patience)
        except BaseException:
            self._database.close()
            raise
        front = Front(self.plane.workers, origin)
        self.app = Face(self.steward.answer, access, origin, rules=self.steward.state.rules, other=front)
        self.plane.begin()
        self.steward.begin()

    def _state(self) -> State:
        return self.steward.state

    def __enter__(self) -> ApiHost:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything that runs; may be called twice."""
        self.steward.close()
        self.plane.close()
        self._database.close()

    def until_closed(self) -> None:
        """Return once this is closed, or has lost what runs its contexts."""
        self.plane.until_closed()
