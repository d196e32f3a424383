"""A client without sockets: it speaks ASGI with an application, and knows how the API is called."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.api.access import granted
from fencepost.api.artifacts import FOLDER_URL, Artifacts, source
from fencepost.api.face import Face
from fencepost.api.steward import Steward
from fencepost.api.store import Memory
from fencepost.api.table import GENERATION, KEY, ROOT
from fencepost.management import forms
from fencepost.management.bundles import JAVASCRIPT
from fencepost.management.machine import STATUSES
from fencepost.management.state import Kind, Rules
from starlette.types import ASGIApp

ORIGIN = "http://127.0.0.1:8734"
OWNER, STRANGER = "owner-secret-0123456789", "stranger-secret-0123456789"
ENVIRONMENT = {"OWNER": OWNER, "STRANGER": STRANGER}
GRANTS = ("owner=OWNER:default,other", "stranger=STRANGER")
MISSING = object()

_numbers = itertools.count(1)
Headers = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Told:
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        return self.json.get("code") if self.status >= 400 else None


async def exchange(app: ASGIApp, method: str, path: str, headers: Headers, body: bytes) -> Told:
    """One request and its response, as a server passes them on."""
    raw, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": raw,
        "raw_path": raw.encode("ascii"),
        "query_string": query.encode("ascii"),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "server": ("127.0.0.1", 8734),
        "client": ("127.0.0.1", 1),
    }
    sent: list[Any] = []
    half = len(body) // 2
    parts = iter(
        [
            {"type": "http.request", "body": body[:half], "more_body": True},
            {"type": "http.request", "body": body[half:], "more_body": False},
        ]
    )

    async def receive() -> Any:
        return next(parts, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    head = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Told(sent[0]["status"], head, b"".join(each.get("body", b"") for each in sent[1:]))


def send(app: ASGIApp, method: str, path: str, headers: Headers = (), body: bytes = b"") -> Told:
    """One request from loopback; the headers that are given come before those of every client."""
    given = list(headers)
    named = {name.lower() for name, _ in given}
    given += [each for each in (("Host", "127.0.0.1:8734"),) if each[0].lower() not in named]
    return asyncio.run(exchange(app, method, path, given, body))


def fresh_key() -> str:
    """An Idempotency-Key that nobody has used."""
    return f"test-key-{next(_numbers):010d}"


class Client:
    """One principal's calls below the root."""

    def __init__(self, app: ASGIApp, secret: str = OWNER) -> None:
        self.app, self.secret = app, secret

    def call(
        self,
        method: str,
        target: str,
        body: Any = MISSING,
        *,
        key: str | None = None,
        generation: Any = None,
        headers: Headers = (),
    ) -> Told:
        """One call, with what is given and nothing else but the credential."""
        sent = [("Authorization", f"Bearer {self.secret}"), *headers]
        sent += [(KEY, key)] if key is not None else []
        sent += [(GENERATION, str(generation))] if generation is not None else []
        data = b""
        if body is not MISSING:
            sent.append(("Content-Type", "application/json"))
            data = json.dumps(body).encode()
        return send(self.app, method, ROOT + target, sent, data)

    def create(self, kind: Kind, spec: Any, name: str | None = None, **more: Any) -> Told:
        """POST a Resource of a Form."""
        body = {
            "form": forms.URLS[kind],
            "space": "default",
            "name": name or f"r-{next(_numbers)}",
            "spec": spec,
        }
        return self.call("POST", "/resources", body | more, key=fresh_key())

    def change(self, method: str, uid: str, body: Any = MISSING) -> Told:
        """PUT or DELETE at the present generation."""
        generation = self.call("GET", f"/resources/{uid}").json["generation"]
        return self.call(method, f"/resources/{uid}", body, key=fresh_key(), generation=generation)

    def settled(self, told: Told, seconds: float = 20.0) -> dict[str, Any]:
        """The Operation that a call began, once it is terminal."""
        assert told.status in (200, 202), told.body
        limit = time.monotonic() + seconds
        while (shown := self.call("GET", f"/operations/{told.json['id']}").json)["status"] not in (
            "succeeded",
            "failed",
        ):
            assert time.monotonic() < limit, shown
            time.sleep(0.005)
        return dict(shown)

    def made(self, kind: Kind, spec: Any, name: str | None = None) -> str:
        """The UID of a Resource that is there."""
        shown = self.settled(self.create(kind, spec, name))
        assert shown["status"] == "succeeded", shown
        return str(shown["resourceUid"])


def reference(uid: str) -> dict[str, str]:
    """A reference by UID."""
    return {"resourceUid": uid}


def published(folder: Path, source: str, path: str = "main.mjs", **changes: Any) -> dict[str, Any]:
    """Lay a bundle of one module into a folder; the `spec` of a WorkerBundle on it."""
    data = source.encode()
    sha256 = hashlib.sha256(data).hexdigest()
    (folder / sha256).write_bytes(data)
    file = {"path": path, "url": FOLDER_URL + sha256, "sha256": sha256, "mediaType": JAVASCRIPT}
    manifest = json.dumps({"entrypoint": path, "files": [file]} | changes).encode()
    digest = hashlib.sha256(manifest).hexdigest()
    (folder / digest).write_bytes(manifest)
    return {"artifact": {"url": FOLDER_URL + digest, "sha256": digest}}


class Still:
    """A data plane in which nothing ever runs; `exports` of a module are its first line, as JSON."""

    def __init__(self) -> None:
        self.stopped = True
        self.shut_down: set[str] = set()
        self.running: set[str] = set()
        self.ended: set[str] = set()

    def counts(self, uid: str) -> Mapping[str, int]:
        return dict.fromkeys(STATUSES, 0)

    def shut(self, uid: str) -> None:
        self.shut_down.add(uid)

    def purge(self, uid: str) -> bool:
        return self.stopped

    def retire(self, worker: str) -> bool:
        return self.stopped

    def exports(self, source: str, name: str) -> Mapping[str, bool] | None:
        found: dict[str, bool] | None = json.loads(source.partition("\n")[0])
        return found

    def look_again(self) -> None:
        pass

    def cut(self, versions: frozenset[str]) -> None:
        self.ended |= versions

    def contexts(self) -> Mapping[str, int]:
        return dict.fromkeys(self.running, 1)


@dataclass
class Desk:
    """A face and its steward on a still data plane."""

    folder: Path
    plane: Still = field(default_factory=Still)
    store: Memory = field(default_factory=Memory)
    rules: Rules = field(default_factory=Rules)
    patience: float = 60.0
    asleep: bool = False  # nobody looks after what is accepted

    def __enter__(self) -> Desk:
        self.steward = Steward(
            self.plane,
            Artifacts([source(str(self.folder))]),
            store=self.store,
            rules=self.rules,
            patience=self.patience,
        )
        access = granted(GRANTS, ENVIRONMENT)
        self.app = Face(self.steward.answer, access, ORIGIN, rules=self.rules)
        self.client = Client(self.app)
        if not self.asleep:
            self.steward.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.steward.close()
