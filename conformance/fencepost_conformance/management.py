"""Entries of a schedule that manage resources: what they ask of the adapter, and how their answers are
judged.

The adapter makes single management calls (`resource`) and names the UIDs of the probe's own resources
(`resources`). All else is done here by such calls: names and keys that no other scenario uses, the
generation that an update expects, waiting for an Operation, and an observation that is not older than the
entry that judges it.

| key | default |
|---|---|
| `name` | a fresh one, the same for an equal `key`; a plain string is made this scenario's own |
| `key` | a fresh one; an equal word gives the equal key, and the generation it was first sent with |
| `generation` | the Resource's own, read just before |
| `principal`, `space` | `owner`, the probe's own Space |
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .adapter import Answer
from .expectations import alternatives, is_range, same, within
from .observations import NO_ANSWER
from .probe.values import build, form_of

if TYPE_CHECKING:
    from .run import Run

TERMINAL = frozenset({"succeeded", "failed"})
UNFINISHED = frozenset({"queued", "running", "waiting_input", "reconciling"})
STATUSES = ("queued", "running", "sleeping", "waiting", "complete", "errored", "terminated")

_ACCEPTED = (200, 202)
_POLLS = 20  # of an Operation, each after the Host was let run
_KEY_LENGTH = 16  # the least that an Idempotency-Key has

Entry = Mapping[str, Any]


class Management:
    """The management calls of one scenario."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._fresh = itertools.count(1)
        self._generations: dict[str, Any] = {}
        self._kept: set[str] = set()
        self._deleted = ""

    # Entries

    def enter_deploy(self, entry: Entry) -> None:
        self._run.ask("deploy", weights=dict(entry["deploy"]))

    def enter_change(self, op: str, entry: Entry) -> None:
        self._run.ask(op)

    def enter_verify(self, entry: Entry) -> None:
        self._run.ask("verify", state=entry["verify"])
        if entry["verify"] == "done":
            self._run.settle()

    def enter_delete(self, entry: Entry) -> None:
        call = {"resource": "DELETE", "on": "workflow"}
        request = self.request(call)
        self._deleted = request["uid"]
        self.conclude(call, self._run.call("resource", {"request": request}), entry, "deleteResource")

    def enter_recreate(self, entry: Entry) -> None:
        self._run.ask("recreate_resource")
        uid = self._predefined().get("workflow")
        self._run.observe("recreateResource", {"uid": uid})
        if uid == self._deleted:
            self._run.differ(
                entry, {"uid": "a new one"}, {"uid": uid}, "the re-created resource has the old UID", "DEL-7"
            )

    def enter_observe(self, entry: Entry) -> None:
        self._run.observe("observe", self._observed(entry))

    def enter_ready(self, entry: Entry) -> None:
        observed = self._observed(entry)
        self._run.observe("ready", observed)
        if observed is not None and observed.get("ready") is not entry["ready"]:
            expected, seen = {"ready": entry["ready"]}, {"ready": observed.get("ready")}
            self._run.differ(entry, expected, seen, f"ready is {seen['ready']}, expected {expected['ready']}")

    def enter_counts(self, entry: Entry) -> None:
        observed = self._observed(entry)
        self._run.observe("counts", observed)
        if observed is None:
            return
        counts = observed.get("instanceCounts")
        if (
            not isinstance(counts, dict)
            or set(counts) != set(STATUSES)
            or not isinstance(observed.get("ready"), bool)
        ):
            wanted = {"ready": "a boolean", "instanceCounts": list(STATUSES)}
            self._run.differ(
                entry, wanted, observed, "observed lacks ready or one of the seven counts", "OBS-1"
            )
            return
        for status, expected in entry["counts"].items():
            if not within(expected, counts[status]):
                message = f"instanceCounts.{status} is {counts[status]}, expected {expected}"
                self._run.differ(entry, {status: expected}, {status: counts[status]}, message)

    # One call

    def request(self, call: Entry) -> dict[str, Any]:
        """The adapter's request for a `resource` call."""
        method, on = call["resource"], call["on"]
        request: dict[str, Any] = {"method": method, "principal": call.get("principal", "owner")}
        if method == "POST":
            request.update(kind=on, spec=self._value(call.get("body", {})), name=self._name(call))
            request.update(space=call.get("space", "default"), key=self._key(call))
            return request
        variable, _, part = on.partition(".")
        if part == "operation":
            return {**request, "operation": self._value({"$": on})}
        request["uid"] = self._value({"$": f"{variable}.uid"})
        if method != "GET":
            request.update(key=self._key(call), generation=self._generation(call, request["uid"]))
        if method == "PUT":
            request["spec"] = (
                self._value(call["body"]) if "body" in call else self._read(request["uid"]).get("spec")
            )
        return request

    def conclude(self, call: Entry, answer: Answer | None, entry: Entry, shown_as: str = "") -> bool:
        """Judge the answer to a `resource` call, once its Operation can be judged, and keep what it says."""
        expect = entry.get("expect", call.get("expect"))
        if expect is None and call["resource"] == "GET":
            expect = {"status": 200}
        if answer is not None and answer.error is None:
            answer = self._awaited(answer.value, expect)
        if shown_as:
            self._run.observe(shown_as, NO_ANSWER if answer is None else answer)
        blamed = {**call, **entry}
        held = self._run.hold(blamed, answer, expect if expect is not None else {}, self._mismatch)
        if (
            answer is not None
            and answer.error is None
            and "as" in call
            and answer.value.get("status") in _ACCEPTED
        ):
            self._keep(call, answer.value)
        return held

    def _awaited(self, seen: Mapping[str, Any], expect: Any) -> Answer:
        """The answer with its Operation as it is when the expectation can be judged."""
        operation = seen.get("operation")
        if not isinstance(operation, dict) or seen.get("status") not in _ACCEPTED:
            return Answer(dict(seen))
        admitted = {status for form in alternatives(expect or {}) for status in _statuses(form)}
        if expect is None or (admitted and admitted <= TERMINAL):
            operation = self._finished(operation)
        elif admitted:
            self._run.settle()
            operation = self._operation(operation)
        return Answer({**seen, "operation": operation})

    def _mismatch(self, form: Entry, answer: Answer, variables: Mapping[str, Any]) -> str | None:
        if "any" in form:
            return None
        if answer.error is not None:
            return f"rejected with {answer.error[0]}, an answer of the management API expected"
        seen = answer.value
        if not form.keys() & {"status", "code", "operation", "resource"}:
            form = {**form, "status": list(_ACCEPTED)}
            if seen.get("operation"):
                form["operation"] = {"status": "succeeded"}
        status = seen.get("status")
        if "status" in form and not _admits_status(form["status"], status):
            return f"status is {status}{_code(seen)}, {form['status']} expected"
        if "code" in form and not _one_of(form["code"], seen.get("code")):
            return f"code is {seen.get('code')}, {form['code']} expected"
        for part in ("operation", "resource"):
            for name, wanted in form.get(part, {}).items():
                found = (seen.get(part) or {}).get(name)
                if not _field(name, self._value(wanted), found):
                    return f"{part}.{name} is {found!r:.200}, {wanted!r:.200} expected"
        return None

    def _keep(self, call: Entry, seen: Mapping[str, Any]) -> None:
        resource = seen.get("resource") or {}
        operation = seen.get("operation") or {}
        uid = resource.get("uid") or operation.get("resourceUid")
        if not resource and uid:
            resource = self._read(uid)
        self._run.variables[call["as"]] = {
            "uid": uid,
            "name": resource.get("name"),
            "generation": resource.get("generation", operation.get("generation")),
            "spec": resource.get("spec"),
            "observed": resource.get("observed"),
            "operation": operation.get("id") or _id_of(resource.get("lastOperation")),
        }
        self._kept.add(call["as"])

    # Reading

    def _value(self, value: Any) -> Any:
        """A live value; the probe's own resources that it names are read anew."""
        names = set(_named(value)) - self._kept
        predefined = self._predefined() if names else {}
        for name in sorted(names & predefined.keys()):
            self._refresh(name, predefined[name])
        return build(value, self._run.variables)

    def _refresh(self, name: str, uid: str) -> None:
        self._keep({"as": name}, {"resource": {**self._read(uid), "uid": uid}})
        self._kept.discard(name)

    def _predefined(self) -> Mapping[str, str]:
        named = self._run.ask("resources")
        return named if isinstance(named, dict) else {}

    def _read(self, uid: str) -> Mapping[str, Any]:
        answer = self._run.ask("resource", request={"method": "GET", "uid": uid, "principal": "owner"})
        resource = answer.get("resource") if isinstance(answer, dict) else None
        return resource if isinstance(resource, dict) else {}

    def _operation(self, operation: Mapping[str, Any]) -> Mapping[str, Any]:
        request = {"method": "GET", "operation": operation.get("id"), "principal": "owner"}
        answer = self._run.ask("resource", request=request)
        read = answer.get("operation") if isinstance(answer, dict) else None
        return read if isinstance(read, dict) else operation

    def _finished(self, operation: Mapping[str, Any]) -> Mapping[str, Any]:
        """An Operation once it is terminal, or as it was after a bounded number of readings."""
        for _ in range(_POLLS):
            if operation.get("status") in TERMINAL:
                break
            self._run.settle()
            operation = self._operation(operation)
        return operation

    def _observed(self, entry: Entry) -> Mapping[str, Any] | None:
        """What the Host observes of a Resource after this entry began, or None when it cannot be had."""
        self._run.settle()
        call = {"resource": "PUT", "on": entry.get("on", "workflow")}
        request = self.request(call)
        answer = self._run.call("resource", {"request": request})
        if not self.conclude({**call, "clause": entry.get("clause")}, answer, {}):
            return None
        observed = self._read(request["uid"]).get("observed")
        return observed if isinstance(observed, dict) else {}

    # Names, keys, generations

    def _name(self, call: Entry) -> Any:
        name = call.get("name", f"of-{call['key']}" if "key" in call else f"r{next(self._fresh)}")
        return f"{self._run.token}-{name}" if isinstance(name, str) else self._value(name)

    def _key(self, call: Entry) -> str:
        word = call.get("key", f"fresh-{next(self._fresh)}")
        return f"{self._run.token}:{word}".ljust(_KEY_LENGTH, "-")

    def _generation(self, call: Entry, uid: str) -> Any:
        if "generation" in call:
            return self._value(call["generation"])
        if "key" in call and call["key"] in self._generations:
            return self._generations[call["key"]]
        generation = self._read(uid).get("generation")
        if "key" in call:
            self._generations[call["key"]] = generation
        return generation


def _statuses(form: Entry) -> Iterator[str]:
    """The statuses of an Operation that a form admits."""
    wanted = form.get("operation", {}).get("status")
    for status in wanted if isinstance(wanted, list) else [wanted] if wanted else ():
        yield from UNFINISHED if status == "unfinished" else (status,)


def _admits_status(wanted: Any, status: Any) -> bool:
    if isinstance(wanted, list):
        return any(_admits_status(each, status) for each in wanted)
    if isinstance(wanted, str):
        return isinstance(status, int) and str(status)[0] == wanted[0] and wanted[1:] == "xx"
    return bool(wanted == status)


def _one_of(wanted: Any, seen: Any) -> bool:
    return seen in wanted if isinstance(wanted, list) else seen == wanted


def _field(name: str, wanted: Any, seen: Any) -> bool:
    """Whether a field is as wanted; `observed` is compared by key, and a list gives the admissible values."""
    if isinstance(wanted, list):
        return any(_field(name, each, seen) for each in wanted)
    if name == "status" and wanted == "unfinished":
        return seen in UNFINISHED
    if is_range(wanted):
        return isinstance(seen, int | float) and within(wanted, seen)
    if name == "observed" and isinstance(wanted, dict) and wanted:
        return isinstance(seen, dict) and all(
            _field("observed", each, seen.get(key)) for key, each in wanted.items()
        )
    return same(wanted, seen)


def _code(seen: Mapping[str, Any]) -> str:
    return f" {seen['code']}" if "code" in seen else ""


def _id_of(operation: Any) -> Any:
    return operation.get("id") if isinstance(operation, dict) else operation


def _named(value: Any) -> Iterator[str]:
    """The variables that a VALUE reads."""
    if form_of(value) == "$":
        yield value["$"].split(".")[0]
    elif isinstance(value, dict):
        for child in value.values():
            yield from _named(child)
    elif isinstance(value, list):
        for child in value:
            yield from _named(child)
