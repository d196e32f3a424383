"""A driver in process: it holds the state, issues ids from a counter, and gives the machine its reports.

The service does what a Host's management loop does, without a clock and without threads: every call brings
`now` (ms since 1970), and `settle` takes the machine's own moves and its verifications until nothing is
left to do. Two things only the data plane knows: the counts of instances, which it supplies as `counts`,
and the proof that code has stopped, which it reports with `purged` and `retired`. State, counter and
artifacts are public, so that a driver can be built again on what an earlier one left behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fencepost.management import documents, forms, queries
from fencepost.management.actions import (
    ABSENT,
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
from fencepost.management.bundles import JAVASCRIPT, File, Manifest
from fencepost.management.machine import STATUSES, apply, enabled
from fencepost.management.state import Kind, Operation, Resource, Rules, State

PRINCIPAL = "owner"
SPACE = "default"
FRESH = "fresh"  # as a key or generation: a new key, the present generation

Counts = Callable[[str], Mapping[str, int]]


def inspect(exports: Mapping[str, Any]) -> dict[str, bool]:
    """Say of each export whether it is a Workflow class: constructible, with a callable `run` (ABI-1)."""
    return {
        name: isinstance(export, type) and callable(getattr(export, "run", None))
        for name, export in exports.items()
    }


def no_instances(uid: str) -> Mapping[str, int]:
    """Counts where no data plane is attached."""
    return dict.fromkeys(STATUSES, 0)


@dataclass(frozen=True, slots=True)
class Artifact:
    """A published bundle: where it is, what is in it, and what its main module exports."""

    url: str
    manifest: Manifest
    exports: Mapping[str, bool]

    @property
    def spec(self) -> dict[str, Any]:
        """The `spec` of a WorkerBundle on this artifact."""
        return {"artifact": {"url": self.url, "sha256": self.manifest.sha256}}


class Refused(Exception):
    """A set-up call was refused, or its Operation failed; the message says which and why."""


class Driver:
    """The management machine with its counter, its reports and one caller by default."""

    def __init__(
        self,
        counts: Counts = no_instances,
        *,
        state: State | None = None,
        rules: Rules | None = None,
        serial: int = 0,
        artifacts: Mapping[str, Artifact] | None = None,
        grants: Mapping[str, Iterable[str]] = MappingProxyType({PRINCIPAL: (SPACE,), "other": (SPACE,)}),
    ) -> None:
        self.state = state if state is not None else State(rules or Rules())
        self.serial = serial
        self.artifacts: dict[str, Artifact] = dict(artifacts or {})
        self.held = False
        self.trace: list[tuple[Action, Transition]] = []
        self._counts = counts
        self._grants = {principal: frozenset(spaces) for principal, spaces in grants.items()}

    # -- the machine

    def apply(self, action: Action) -> Transition:
        """Take one action and keep what it leads to."""
        transition = apply(self.state, action)
        self.state = transition.state
        self.trace.append((action, transition))
        return transition

    def _fresh(self, kind: str) -> str:
        self.serial += 1
        return f"{kind}-{self.serial:08d}"

    def request(
        self,
        now: int,
        method: str,
        target: str,
        body: Any = ABSENT,
        *,
        key: str | None = FRESH,
        generation: str | int | None = FRESH,
        principal: str | None = PRINCIPAL,
        query: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        settle: bool = True,
    ) -> Reply:
        """Send one management call and settle; `None` leaves the key, generation or principal out."""
        pairs = query.items() if isinstance(query, Mapping) else query
        mutation = method in ("POST", "PUT", "DELETE")
        if generation == FRESH:
            generation = self._generation(target, (principal or "", key or "")) if mutation else None
        if key == FRESH:
            key = self._fresh("idempotency-key") if mutation else None
        action = Request(
            now=now,
            method=method,
            target=target,
            uid=self._fresh("uid"),
            operation=self._fresh("operation"),
            principal=principal,
            spaces=self._grants.get(principal or "", frozenset()),
            key=key,
            generation=generation,
            query=tuple(pairs),
            body=body,
        )
        reply = self.apply(action).reply
        assert isinstance(reply, Reply)
        if settle and mutation:  # a GET moves no Operation on
            self.settle(now)
        return reply

    def _generation(self, target: str, key: tuple[str, str]) -> int | None:
        """The present generation of what a mutation is on; that of the original where the key is known."""
        if key in self.state.keys:
            return self.state.operations[self.state.keys[key].operation].generation - 1 or None
        resource = self.state.resources.get(target.rpartition("/")[2])
        return resource.generation if resource is not None else None

    def settle(self, now: int) -> None:
        """Take every move and give every report that needs no data plane, until nothing is left to do."""
        before: State | None = None
        while self.state is not before:  # a report that is refused, by a clock put back, ends it too
            before = self.state
            if moves := enabled(self.state, now):
                self.apply(moves[0])
            elif uids := queries.unobserved(self.state):
                self.observe(now, uids[0])
            elif not self.held and (waiting := queries.unverified(self.state)):
                self._verify(now, waiting[0])

    def _verify(self, now: int, resource: Resource) -> None:
        if resource.kind == "WorkerBundle":
            artifact = self.artifacts.get(forms.bundle(resource).url)
            self.apply(VerifyBundle(now, resource.uid, artifact.manifest if artifact else None))
        else:
            artifact = self.artifacts.get(queries.artifact(self.state, resource.uid).url)
            problem = "" if artifact else "the artifact is lost"
            self.apply(Verify(now, resource.uid, artifact.exports if artifact else {}, problem))

    # -- reports and instruments

    def observe(self, now: int, uid: str) -> None:
        """Observe a Workflow now: count its instances and note whether it is ready (OBS-1)."""
        self.apply(Observe(now, uid, self._counts(uid)))

    def purged(self, now: int, uid: str) -> None:
        """The data plane has fenced, stopped and purged all instances of a Workflow (DEL-3)."""
        self.apply(Purged(now, uid))
        self.settle(now)

    def retired(self, now: int, uid: str) -> None:
        """The data plane has stopped every context of a Deployment being deleted."""
        self.apply(Retired(now, uid))
        self.settle(now)

    def living(self, now: int, version: str, contexts: int) -> None:
        """How many contexts run a Version; while one does, the Version is not deleted."""
        self.apply(Living(now, version, contexts))

    def hold_verification(self, on: bool, now: int) -> None:
        """Keep verifications of bundles and Versions pending, or let them finish."""
        self.held = on
        self.settle(now)

    def publish(self, name: str, exports: Mapping[str, bool]) -> Artifact:
        """Make an artifact for a WorkerBundle; `exports` is class name -> whether its ABI is right."""
        digests = [hashlib.sha256(f"{part}:{name}".encode()).hexdigest() for part in ("manifest", "main")]
        files = (File("main.mjs", digests[1], JAVASCRIPT, len(name)),)
        url = f"https://artifacts.invalid/{name}/manifest.json"
        artifact = Artifact(url, Manifest(digests[0], "main.mjs", files), dict(exports))
        self.artifacts[url] = artifact
        return artifact

    # -- conveniences

    def create(self, now: int, kind: Kind, name: str, spec: Mapping[str, Any], **options: Any) -> Reply:
        """POST a Resource of a Form under a name of the default Space."""
        body = {"form": forms.URLS[kind], "space": SPACE, "name": name, "spec": dict(spec)}
        return self.request(now, "POST", "/resources", body, **options)

    def made(self, now: int, kind: Kind, name: str, spec: Mapping[str, Any]) -> str:
        """The UID of a Resource that is created here and now; `Refused` when it is not."""
        reply = self.create(now, kind, name, spec)
        self.succeeded(reply)
        return str(reply.body["resourceUid"])

    def succeeded(self, reply: Reply) -> None:
        """Raise `Refused` unless the Operation has succeeded (or waits for a held verification)."""
        if reply.code is not None:
            raise Refused(f"{reply.status} {reply.code}: {reply.body['detail']}")
        operation = self.operation(reply)
        if operation.status != "succeeded" and not (self.held and operation.status == "running"):
            raise Refused(f"the Operation is {operation.status}: {operation.error}")

    def operation(self, reply: Reply) -> Operation:
        """The present state of the Operation that a reply told of."""
        return self.state.operations[reply.body["id"]]

    def shown(self, reply: Reply) -> dict[str, Any]:
        """The present Operation document that a reply told of."""
        return documents.operation(self.operation(reply))

    def named(self, name: str) -> Resource | None:
        """The undeleted Resource of a name in the default Space."""
        return queries.named(self.state, SPACE, name)
