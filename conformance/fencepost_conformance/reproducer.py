"""Reproducer files: a scenario that failed, together with what was seen when it did.

A seed alone does not survive the next version of the kit, so a failure is kept as the whole scenario. A
reproducer *is* a scenario document, with one more key, `observed`, that replaying leaves aside: the Host,
the seed, the kit and the catalogue by version and digest, the digest of the scenario itself, every
difference with its expected and seen values, and the last lines that the adapter logged meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .report.document import check as check_document
from .report.model import HostFacts, Kit
from .results import CheckResult
from .scenario import OBSERVED, dumps

KEY = OBSERVED


def digest(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a scenario, whatever the layout of its file and without what was observed."""
    bare = {key: value for key, value in document.items() if key != KEY}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def reproducer(
    document: Mapping[str, Any], result: CheckResult, kit: Kit, host: HostFacts, seed: int
) -> dict[str, Any]:
    """The scenario with what was observed beside its own keys."""
    observed = {
        "scenario": result.scenario,
        "scenarioDigest": digest(document),
        "host": {"name": host.name, "version": host.version, "instruments": list(host.instruments)},
        "kit": kit.version,
        "probe": kit.probe_digest,
        "spec": {"version": kit.catalogue_version, "digest": kit.catalogue_digest},
        "seed": seed,
        "outcome": result.outcome,
        "differences": check_document(result)["differences"],
        "detail": result.detail,
        **({"log": list(result.log)} if result.log else {}),
    }
    return {**{key: value for key, value in document.items() if key != KEY}, KEY: observed}


def file_name(scenario: str) -> str:
    """A file name for a scenario's id, the same on every file system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", scenario).strip("-.") + ".json"


def save(directory: Path, document: Mapping[str, Any]) -> Path:
    """Write a reproducer into a directory, and return its path; raises `OSError`."""
    path = directory / file_name(document[KEY]["scenario"])
    plain = json.loads(json.dumps(document, default=repr))  # what was seen may be no JSON
    path.write_text(dumps(plain), encoding="utf-8")
    return path
