"""A whole Host: the data plane, the steward, and the faces in front of them, made and ended together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

from fencepost.api.access import Access
from fencepost.api.artifacts import Artifacts, Source, Verified
from fencepost.api.face import Face
from fencepost.api.front import Front
from fencepost.api.plane import Plane
from fencepost.api.steward import PATIENCE_SECONDS, Steward
from fencepost.api.store import Store
from fencepost.management.state import Rules, State


class ApiHost:
    """Host API v2 at an origin, with all that it deploys; `app` is its ASGI application.

    Raises NodeMissing where there is no Node, and StoreUnavailable where the store cannot be read.
    """

    def __init__(
        self,
        origin: str,
        access: Access,
        sources: Iterable[Source] = (),
        *,
        verified: Verified | None = None,
        store: Store | None = None,
        rules: Rules | None = None,
        patience: float = PATIENCE_SECONDS,
        log: IO[Any] | int | None = None,
    ) -> None:
        artifacts = Artifacts(sources, verified)
        self.plane = Plane(self._state, artifacts, log=log)
        try:
            self.steward = Steward(self.plane, artifacts, store=store, rules=rules, patience=patience)
        except BaseException:
            self.plane.end_contexts()
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

    def until_closed(self) -> None:
        """Return once this is closed, or has lost what runs its contexts."""
        self.plane.until_closed()
