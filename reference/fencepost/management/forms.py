"""The five Forms: their URLs, what a `spec` may say, and a typed, normalized view of it.

A Form URL is compared as an exact string. A spec is judged in two stages, both before any effect: its shape
by a JSON Schema, then what a schema cannot say (sums, duplicates, one name space for all of `env`, depth of
variables). What a Form offers but this Host leaves out is refused with a code that says so, never silently
ignored. The view of a spec is what "the same spec" means: order and omitted defaults play no part in it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, cast

from fencepost_spec import schemas
from jsonschema import Draft202012Validator

from fencepost.management.problems import Refusal
from fencepost.management.state import Kind, Resource, Weights
from fencepost.management.values import canonical, from_text, url_problem

_ROOT = "https://edge.forms.takoform.com/forms/"
URLS: Mapping[Kind, str] = MappingProxyType(
    {
        "ModuleWorker": f"{_ROOT}ModuleWorker/0.3.0/",
        "WorkerBundle": f"{_ROOT}WorkerBundle/0.2.0/",
        "WorkerVersion": f"{_ROOT}WorkerVersion/0.5.0/",
        "WorkerDeployment": f"{_ROOT}WorkerDeployment/0.4.0/",
        "DurableWorkflow": f"{_ROOT}DurableWorkflow/0.3.0/",
    }
)
KINDS: Mapping[str, Kind] = MappingProxyType({url: kind for kind, url in URLS.items()})

_SCHEMAS: Mapping[Kind, str] = MappingProxyType(
    {
        "ModuleWorker": "module-worker",
        "WorkerBundle": "worker-bundle",
        "WorkerVersion": "worker-version",
        "WorkerDeployment": "worker-deployment",
    }
)

# Members of WorkerVersion 0.5.0 that this Host leaves out, and the code that it gives when they are used.
LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "requiredSensitiveVars": "capability_required",
        "kvBindings": "unsupported_form",
        "sqliteBindings": "unsupported_form",
        "bucketBindings": "unsupported_form",
        "queueProducerBindings": "unsupported_form",
        "serviceBindings": "unsupported_form",
        "actorBindings": "unsupported_form",
        "assets": "unsupported_form",
    }
)

WEIGHT_SUM = 10_000
_VARIABLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_VARIABLE_DEPTH, _VARIABLE_MEMBERS, _VARIABLE_SCALARS = 8, 64, 8192


@dataclass(frozen=True, slots=True)
class Worker:
    """A ModuleWorker says nothing."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Where the manifest is, and the digest of its bytes."""

    url: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Version:
    """A fixed snapshot of code and environment; `bindings` are (name, UID of the DurableWorkflow)."""

    worker: str
    bundle: str
    handlers: tuple[str, ...]
    variables: str
    bindings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Deployment:
    """The weights of a Worker's Versions, as (UID, basis points) in the order of UIDs."""

    worker: str
    weights: Weights


@dataclass(frozen=True, slots=True)
class Workflow:
    """A Worker and the class that it exports."""

    worker: str
    class_name: str


Spec = Worker | Bundle | Version | Deployment | Workflow


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in a spec that names another Resource by UID, and the Form that it must have."""

    path: str
    uid: str
    kind: Kind


def schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of a Form's spec; a fresh copy."""
    if kind == "DurableWorkflow":
        return schemas.schema("resource-spec")
    text = files(__package__).joinpath("schemas", f"{_SCHEMAS[kind]}.json").read_text("utf-8")
    return cast(dict[str, Any], json.loads(text))


@cache
def _validator(kind: Kind) -> Draft202012Validator:
    return Draft202012Validator(schema(kind))


def _misfits(kind: Kind, spec: Mapping[str, Any]) -> Iterator[str]:
    if kind == "DurableWorkflow":
        for problem in schemas.problems("resource-spec", spec):  # RES-1, RES-2
            yield f"spec.{problem}".replace("spec.document: ", "spec: ")
    else:
        for error in _validator(kind).iter_errors(spec):
            yield f"{'.'.join(['spec', *map(str, error.absolute_path)])}: {error.message}"


def _variable_misfit(value: Any, depth: int = 0) -> str | None:
    if isinstance(value, str):
        return None if len(value) <= _VARIABLE_SCALARS else f"at most {_VARIABLE_SCALARS} scalars in a string"
    if not isinstance(value, list | dict):
        return None
    if depth == _VARIABLE_DEPTH:
        return f"at most {_VARIABLE_DEPTH} levels"
    if len(value) > _VARIABLE_MEMBERS:
        return f"at most {_VARIABLE_MEMBERS} members"
    if isinstance(value, dict) and not all(_VARIABLE_NAME.fullmatch(key) for key in value):
        return "keys like those of vars"
    members = value if isinstance(value, list) else value.values()
    return next((misfit for member in members if (misfit := _variable_misfit(member, depth + 1))), None)


def _bundle_rest(spec: Mapping[str, Any]) -> None:
    if problem := url_problem(spec["artifact"]["url"]):
        raise Refusal("invalid_spec", f"spec.artifact.url: {problem}")


def _version_rest(spec: Mapping[str, Any]) -> None:
    for member, code in LEFT_OUT.items():
        if spec.get(member):
            raise Refusal(code, f"spec.{member}: leave it out, this Host does not offer it")
    if "bundle" not in spec:
        raise Refusal("invalid_spec", "spec.bundle: name a bundle; a Version without one needs assets")
    names = [*spec.get("vars", {}), *(binding["name"] for binding in spec.get("workflowBindings", []))]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise Refusal("invalid_spec", f"spec: give {twice[0]!r} to one variable or Binding only")
    for name, value in spec.get("vars", {}).items():
        if misfit := _variable_misfit(value):
            raise Refusal("invalid_spec", f"spec.vars.{name}: {misfit}")


def _deployment_rest(spec: Mapping[str, Any]) -> None:
    uids = [entry["workerVersion"]["resourceUid"] for entry in spec["versions"]]
    if len(set(uids)) != len(uids):
        raise Refusal("invalid_spec", "spec.versions: name each Version once")
    if (total := sum(entry["weight"] for entry in spec["versions"])) != WEIGHT_SUM:
        raise Refusal(
            "invalid_spec", f"spec.versions: make the weights sum to {WEIGHT_SUM}, not {int(total)}"
        )


_REST: Mapping[Kind, Callable[[Mapping[str, Any]], None]] = MappingProxyType(
    {"WorkerBundle": _bundle_rest, "WorkerVersion": _version_rest, "WorkerDeployment": _deployment_rest}
)


def check(kind: Kind, spec: Mapping[str, Any]) -> None:
    """Refuse a spec that its Form does not allow, before any effect (RES-1, RES-2 for a DurableWorkflow)."""
    clauses = ("RES-1", "RES-2") if kind == "DurableWorkflow" else ()
    if misfit := next(_misfits(kind, spec), None):
        raise Refusal("invalid_spec", misfit, *clauses)  # RES-1
    if rest := _REST.get(kind):
        rest(spec)


@lru_cache(maxsize=1024)
def _view(kind: Kind, text: str) -> Spec:
    spec = from_text(text)
    worker = spec["worker"]["resourceUid"] if "worker" in spec else ""
    match kind:
        case "ModuleWorker":
            return Worker()
        case "WorkerBundle":
            return Bundle(spec["artifact"]["url"], spec["artifact"]["sha256"])
        case "WorkerVersion":
            bindings = sorted(
                (b["name"], b["resource"]["resourceUid"]) for b in spec.get("workflowBindings", [])
            )
            return Version(
                worker,
                spec["bundle"]["resourceUid"],
                tuple(sorted(spec["handlers"])),
                canonical(spec.get("vars", {})),
                tuple(bindings),
            )
        case "WorkerDeployment":
            weights = sorted((e["workerVersion"]["resourceUid"], int(e["weight"])) for e in spec["versions"])
            return Deployment(worker, tuple(weights))
        case "DurableWorkflow":
            return Workflow(worker, spec["className"])


def view(kind: Kind, text: str) -> Spec:
    """The normalized view of a checked spec: two specs are the same when their views are equal."""
    return _view(kind, text)


def version(resource: Resource) -> Version:
    """The view of a WorkerVersion's spec."""
    return cast(Version, _view("WorkerVersion", resource.spec))


def deployment(resource: Resource) -> Deployment:
    """The view of a WorkerDeployment's spec."""
    return cast(Deployment, _view("WorkerDeployment", resource.spec))


def workflow(resource: Resource) -> Workflow:
    """The view of a DurableWorkflow's spec."""
    return cast(Workflow, _view("DurableWorkflow", resource.spec))


def bundle(resource: Resource) -> Bundle:
    """The view of a WorkerBundle's spec."""
    return cast(Bundle, _view("WorkerBundle", resource.spec))


def references(spec: Spec) -> tuple[Reference, ...]:
    """Every UID that a spec names, with the Form that it must have (RES-3, RES-5)."""
    if isinstance(spec, Worker | Bundle):
        return ()
    named = [Reference("spec.worker", spec.worker, "ModuleWorker")]
    if isinstance(spec, Version):
        named.append(Reference("spec.bundle", spec.bundle, "WorkerBundle"))
        named.extend(
            Reference(f"spec.workflowBindings {name}", uid, "DurableWorkflow") for name, uid in spec.bindings
        )
    elif isinstance(spec, Deployment):
        named.extend(Reference("spec.versions", uid, "WorkerVersion") for uid, _ in spec.weights)
    return tuple(named)
