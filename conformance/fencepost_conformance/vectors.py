"""Vectors: every directed scenario and a sample of generated ones, each with the reference's answers.

A kit or a Host in another language needs no Python to use them: a vector is a scenario document and, for
each entry of its schedule that shows something, what the reference showed. The scenario's own expectations
say what any Host may answer; the answers say what this reference does.

`write` makes a directory of them: a JSON file for each chapter of directed scenarios, one for the generated
ones, and a manifest with the digest of each file. `differences` holds a directory against the reference as it
is. A generated scenario is kept as a document, so that it does not depend on the library that drew it.

The form of an answer is told in `conformance/vectors/README.md`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import rfc8785
from fencepost_spec import catalogue

from . import scenario as scenarios
from .adapter import Answer
from .generate.profiles import PROFILES
from .generate.search import Search
from .generate.stage import Stage
from .hosts.reference import make
from .inprocess import InProcess
from .observations import IN_FLIGHT, NO_ANSWER, Observation
from .run import Run
from .runner import greet
from .scenario import Scenario

FORMAT = "fencepost.vectors@1"
MANIFEST = "manifest.json"
GENERATED = "generated"
SAMPLE = 40
SEED = 1
WHOLE_BYTES = 4096
TOKEN = "vectors"  # in the names of resources that scenarios make

Vector = dict[str, Any]


def vectors(chosen: Iterable[Scenario]) -> Iterator[Vector]:
    """Each scenario with the reference's answers, one after the other."""
    connection = InProcess(make())
    handshake = greet(connection)
    for each in chosen:
        run = Run(connection, handshake, each)
        run.token = TOKEN
        run.play()
        yield {"scenario": each.id, "document": each.document, "answers": [*map(_answer, run.observations)]}


def sample(seed: int = SEED, count: int = SAMPLE) -> list[Scenario]:
    """Generated scenarios, the same for an equal seed and an equal version of Hypothesis."""
    search = _Sampling(lambda: InProcess(make()), PROFILES["quick"])
    for turn in range(count):
        search.draw(f"{seed}:{turn}")
    return [Scenario(f"{GENERATED}/{turn:04}", document) for turn, document in enumerate(search.drawn, 1)]


def write(directory: Path, seed: int = SEED, count: int = SAMPLE) -> Iterator[str]:
    """Write the vectors of this version, and name each scenario once it is done; raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    files = []
    chapters = groupby(scenarios.shipped(), key=lambda each: each.id.partition("/")[0])
    groups = [(chapter, list(members)) for chapter, members in chapters]
    for name, members in (*groups, (GENERATED, sample(seed, count))):
        made = []
        for vector in vectors(members):
            made.append(vector)
            yield vector["scenario"]
        data = _text(made).encode("ascii")
        (directory / f"{name}.json").write_bytes(data)
        files.append({"file": f"{name}.json", "scenarios": len(made), "digest": _digest(data)})
    known = catalogue.load()
    manifest = {
        "format": FORMAT,
        "kit": version("fencepost"),
        "catalogue": {"version": known.version, "digest": known.digest},
        "sample": {"seed": seed, "scenarios": count},
        "files": files,
    }
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="ascii")


def differences(directory: Path, heavy: bool = True) -> Iterator[str]:
    """What is not as the reference has it now, a line each; raises OSError or ValueError without vectors.

    Without `heavy` the scenarios with megabyte documents are compared, and not played.
    """
    manifest = json.loads((directory / MANIFEST).read_text(encoding="ascii"))
    shipped = {each.id: each for each in scenarios.shipped()}
    for listed in manifest["files"]:
        data = (directory / listed["file"]).read_bytes()
        if _digest(data) != listed["digest"]:
            yield f"{listed['file']}: not the file that the manifest names; write the vectors anew"
        for vector in json.loads(data):
            name = vector["scenario"]
            directed = not name.startswith(f"{GENERATED}/")
            now = shipped.pop(name, None) if directed else Scenario(name, vector["document"])
            if now is None:
                yield f"{name}: no longer among the scenarios"
            elif now.document != vector["document"]:
                yield f"{name}: the scenario has changed"
            elif now.heavy and not heavy:
                continue
            elif (answers := next(vectors([now]))["answers"]) != vector["answers"]:
                yield f"{name}: {_first(vector['answers'], answers)}"
    yield from (f"{name}: not among the vectors" for name in shipped)


class _Sampling(Search):
    """A search that keeps what was drawn."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.drawn: list[dict[str, Any]] = []

    def draw(self, seed: str) -> None:
        """Draw one more scenario."""
        self._generate_one(seed)

    def finished(self, stage: Stage) -> None:
        self.drawn.append(stage.document)


def _answer(seen: Observation) -> dict[str, Any]:
    answer = seen.answer
    if answer in (IN_FLIGHT, NO_ANSWER):
        return {"entry": seen.index, "inFlight" if answer == IN_FLIGHT else "noAnswer": True}
    if isinstance(answer, Answer):
        if answer.error is not None:
            return {"entry": seen.index, "error": answer.error[0]}
        answer = answer.value
    data = rfc8785.dumps(answer)
    if len(data) > WHOLE_BYTES:
        return {"entry": seen.index, "digest": _digest(data), "bytes": len(data)}
    return {"entry": seen.index, "ok": answer}


def _first(before: list[Mapping[str, Any]], now: list[Mapping[str, Any]]) -> str:
    if len(before) != len(now):
        return f"{len(now)} answers, and not {len(before)}"
    old, new = next(pair for pair in zip(before, now, strict=True) if pair[0] != pair[1])
    return f"schedule[{old['entry']}]: {json.dumps(new)}, and not {json.dumps(old)}"


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _text(made: list[Vector]) -> str:
    """One scenario a line: what changes in one is seen in one place."""
    return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=True) for each in made) + "\n]\n"
