"""Who keeps the machine's state: answers requests, moves Operations on, and brings it the reports.

Requests come from many threads and are taken one at a time; each change is kept by the store before anybody
hears of it. One thread of the steward's own looks after what was accepted: it takes the machine's own moves,
has bundles and Versions verified, and lets the data plane count, close, purge and retire. Nothing is held
while the data plane is asked, so it may read the state whenever it likes.

What was accepted before a restart is in the state that the store gives back, and is looked after like
anything else: a report that was on its way is simply made again.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Protocol

from fencepost.api.artifacts import Artifacts, NotYet, Unsound
from fencepost.api.store import Memory, Store, StoreUnavailable
from fencepost.management import forms, queries
from fencepost.management.actions import (
    Action,
    Living,
    Observe,
    Purged,
    Reply,
    Request,
    Retired,
    Transition,
    Verify,
    VerifyBundle,
)
from fencepost.management.bundles import Manifest
from fencepost.management.machine import apply, enabled
from fencepost.management.state import Resource, Rules, State, of_kind
from fencepost.management.values import from_text

LOOK_SECONDS = 0.05
"""How often what is awaited is asked for again: bytes that have not come, a stop that is not proven."""

IDLE_SECONDS = 5.0
LEFT_SECONDS = 15 * 60.0
"""How long contexts of a Version that has left the weights may go on, by the Form."""

PATIENCE_SECONDS = 60.0
"""How long the bytes of a bundle are waited for."""


class DataPlane(Protocol):
    """What runs the instances and the Workers. Its methods may be called by any thread."""

    def counts(self, uid: str) -> Mapping[str, int]:
        """How many instances of a Workflow have each status (OBS-1)."""

    def shut(self, uid: str) -> None:
        """Close a Workflow: no create, event or wake any more, every owner fenced (DEL-3)."""

    def purge(self, uid: str) -> bool:
        """Purge a closed Workflow; whether nothing of it runs or is left (DEL-3, DEL-4)."""

    def retire(self, worker: str) -> bool:
        """Stop every context of a Worker without a Deployment; whether that is proven."""

    def cut(self, versions: frozenset[str]) -> None:
        """Stop every context of these Versions, whose time is over."""

    def exports(self, source: str, name: str) -> Mapping[str, bool] | None:
        """Of each export of a module, whether it is a Workflow class (ABI-1); None where it is broken."""

    def look_again(self) -> None:
        """Start what can be started now: a Workflow has become ready, or has got other weights."""

    def contexts(self) -> Mapping[str, int]:
        """How many contexts run each Version, where any do."""


class Steward:
    """Keeps one Host's management going until it is closed."""

    def __init__(
        self,
        plane: DataPlane,
        artifacts: Artifacts,
        *,
        store: Store | None = None,
        rules: Rules | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._plane, self._artifacts, self._clock = plane, artifacts, clock
        self._store: Store = store or Memory()
        self._patience = patience
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._last_instant = 0
        self._selected: tuple[object, ...] = ()
        self._verifying: set[str] = set()
        self._verifier = ThreadPoolExecutor(1, "fencepost-verifier")
        self._left: dict[str, float] = {}  # since when a Version that runs has had no weight
        self._waited: dict[str, float] = {}  # since when the bytes of a bundle are waited for
        self.state = self._store.load() or State(rules or Rules())
        self._thread = threading.Thread(target=self._look_after, name="fencepost-steward", daemon=True)

    def begin(self) -> None:
        """Begin to look after what was accepted, also by an earlier process."""
        self._thread.start()

    def close(self) -> None:
        """Look after nothing any more; what is unfinished stays so in the store."""
        self._closed = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._verifier.shutdown(cancel_futures=True)

    def answer(self, request: Request) -> Reply:
        """The machine's reply to a request; StoreUnavailable where nothing was changed."""
        if request.method == "DELETE":
            self._report_living()
        transition = self._apply(request)
        self._wake.set()
        assert isinstance(transition.reply, Reply)
        return transition.reply

    def look(self) -> None:
        """Have what is awaited looked at now."""
        self._wake.set()

    def _now(self) -> int:
        self._last_instant = max(self._last_instant, self._clock())
        return self._last_instant

    def _apply(self, action: Action, at: int | None = None) -> Transition:
        """Take one action, at this instant or at an earlier one, and have what it leads to kept."""
        with self._lock:
            transition = apply(self.state, replace(action, now=self._now() if at is None else at))
            if transition.state is not self.state:
                self._store.commit(self.state, transition.state)
                self.state = transition.state
            return transition

    # -- looking after what was accepted -----------------------------------------------------------

    def _look_after(self) -> None:
        while not self._closed:
            self._wake.clear()
            try:
                while not self._closed and self._step():
                    pass
                waiting = self._awaits()
            except StoreUnavailable:
                waiting = True
            except Exception as error:  # a fault of ours ends one look, and not the looking
                traceback.print_exception(error)
                waiting = True
            self._wake.wait(LOOK_SECONDS if waiting else IDLE_SECONDS)

    def _awaits(self) -> bool:
        state = self.state
        return bool(queries.unverified(state) or queries.closing(state) or queries.retiring(state))

    def _step(self) -> bool:
        """Do all that can be done now; whether anything came of it."""
        before = self.state
        for move in enabled(before, max(self._last_instant, self._clock())):
            self._apply(move)
        for uid in (*queries.unobserved(self.state), *self._changed_readiness()):
            with self._lock:
                instant = self._now()
            self._apply(Observe(0, uid, self._plane.counts(uid)), instant)  # OBS-2: counted no earlier
        for resource in queries.unverified(self.state):
            if resource.uid not in self._verifying:
                self._verifying.add(resource.uid)
                self._verifier.submit(self._verify, resource)
        for uid in queries.closing(self.state):
            self._plane.shut(uid)
            if self._plane.purge(uid):
                self._apply(Purged(0, uid))  # DEL-4: only now may the Operation succeed
        for uid in queries.retiring(self.state):
            if self._plane.retire(forms.deployment(self.state.resources[uid]).worker):
                self._apply(Retired(0, uid))
        self._report_living()
        if overdue := self._overdue():
            self._plane.cut(overdue)
        if (selection := self._selection()) != self._selected:
            self._selected = selection
            self._plane.look_again()
        return self.state is not before

    def _selection(self) -> tuple[object, ...]:
        """What decides which contexts can be started: the weights in force, and who is ready."""
        ready = (
            each.uid for each in of_kind(self.state, "DurableWorkflow") if queries.ready(self.state, each.uid)
        )
        return (self.state.active, *ready)

    def _changed_readiness(self) -> list[str]:
        """The Workflows whose last observation does not say whether they are ready now."""
        return [
            each.uid
            for each in of_kind(self.state, "DurableWorkflow")
            if each.observed_at is not None
            and each.phase != "deleting"
            and from_text(each.observed).get("ready") is not queries.ready(self.state, each.uid)
        ]

    def _report_living(self) -> None:
        running = {uid for uid in self._plane.contexts() if uid in self.state.resources}
        for uid in running ^ self.state.living:
            self._apply(Living(0, uid, int(uid in running)))

    def _overdue(self) -> frozenset[str]:
        """The Versions that run although they have had no weight for too long."""
        selected = {uid for active in self.state.active.values() for uid, _ in active.weights}
        now = time.monotonic()
        self._left = {uid: self._left.get(uid, now) for uid in self.state.living - selected}
        return frozenset(uid for uid, since in self._left.items() if now - since >= LEFT_SECONDS)

    def _verify(self, resource: Resource) -> None:
        """Report what a verification found, in a thread of its own, since bytes may be slow."""
        try:
            if self._report_verified(resource):
                self._wake.set()
        except StoreUnavailable:
            pass  # it is still unverified, and will be looked at again
        except Exception as error:  # a fault of ours: the Operation is not left open for it
            traceback.print_exception(error)
            with contextlib.suppress(StoreUnavailable):
                self._apply(_faulty(resource))
        finally:
            self._verifying.discard(resource.uid)

    def _report_verified(self, resource: Resource) -> bool:
        """Whether there was anything to report."""
        if resource.kind == "WorkerBundle":
            spec = forms.bundle(resource)
            try:
                manifest: Manifest | None = self._artifacts.manifest(spec.url, spec.sha256)
                problem = ""
            except NotYet as missing:
                since = self._waited.setdefault(resource.uid, time.monotonic())
                if time.monotonic() - since < self._patience:
                    return False
                manifest, problem = None, str(missing)
            except Unsound as unsound:
                manifest, problem = None, str(unsound)
            self._waited.pop(resource.uid, None)
            self._apply(VerifyBundle(0, resource.uid, manifest, problem))
        else:
            self._apply(self._inspected(resource.uid))
        return True

    def _inspected(self, uid: str) -> Verify:
        """What the code of a Version exports; code runs for this only once its bundle is verified."""
        spec = queries.artifact(self.state, uid)
        try:
            exports = self._plane.exports(*self._artifacts.main(spec.url, spec.sha256))
        except (NotYet, Unsound) as problem:
            return Verify(0, uid, {}, str(problem))
        if exports is None:
            return Verify(0, uid, {}, "the main module cannot be evaluated; it may import nothing")
        if forms.version(self.state.resources[uid]).handlers and "default" not in exports:
            return Verify(0, uid, exports, "the main module has no default export, and so no handlers")
        return Verify(0, uid, exports)


def _faulty(resource: Resource) -> Action:
    problem = "this Host failed to verify it"
    if resource.kind == "WorkerBundle":
        return VerifyBundle(0, resource.uid, None, problem)
    return Verify(0, resource.uid, {}, problem)
