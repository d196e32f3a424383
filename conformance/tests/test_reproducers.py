"""Reproducers that the kit wrote replay with the same result, in new processes and on real Hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fencepost_conformance import reproducer, scenario
from fencepost_conformance.cli import sources
from fencepost_conformance.generate.profiles import Profile
from fencepost_conformance.generate.search import search
from fencepost_conformance.hosts import resolve
from fencepost_conformance.report.model import HostFacts

FAULTS = (
    "every-id-is-known",
    "unreachable-is-an-internal-error",
    "second-create-gives-the-handle",
    "results-are-wrapped",
    "effects-run-twice",
    "an-eighth-status",
    "output-is-wrapped",
    "terminal-accepts",
    "steps-may-overlap",
    "sleeping-before-the-stop",
)
PROFILE = Profile("tests", 200, 15, 3.0)
SECONDS = 120  # of a process, on a busy machine


@dataclass(frozen=True)
class Written:
    """A reproducer file, the Host on which it failed, and the clause that it blames."""

    path: Path
    host: str
    clause: str


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Written]:
    """What generation found of several faulty hosts, as `fencepost check` writes it."""
    place = tmp_path_factory.mktemp("failures")
    files = []
    for name in FAULTS:
        host = f"fault:{name}"
        found = search(resolve(host), PROFILE, 1, most=1)
        assert [each.outcome for each in found.results] == ["failed"], name
        facts = HostFacts(host, "reference", "0.1.0", ())
        for result, failing in zip(found.results, found.scenarios, strict=True):
            made = reproducer.reproducer(failing.document, result, sources.kit(), facts, 1)
            files.append(Written(reproducer.save(place, made), host, result.clauses[0]))
    return files


def replays(pairs: list[tuple[Path, str]]) -> Iterator[tuple[int, list[str]]]:
    """The exit status and the lines of `fencepost replay`, each in a process of its own, two at a time."""
    command = [sys.executable, "-c", "from fencepost_conformance.cli import main; main()", "replay"]
    for place in range(0, len(pairs), 2):
        running = [
            subprocess.Popen(
                [*command, str(path), host], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            for path, host in pairs[place : place + 2]
        ]
        for each in running:
            output, _ = each.communicate(timeout=SECONDS)
            yield each.returncode, output.rstrip("\n").split("\n")


def test_every_reproducer_fails_again_in_a_new_process_with_the_same_observation(
    written: list[Written],
) -> None:
    for each, (status, lines) in zip(
        written, replays([(each.path, each.host) for each in written]), strict=True
    ):
        assert (status, lines[-1]) == (1, "failed"), (each, lines)
        assert "the same as was recorded" in lines
        assert any(line.startswith("schedule[") and f" {each.clause}: " in line for line in lines)


def test_every_reproducer_is_fixed_on_the_reference(written: list[Written]) -> None:
    for each, (status, lines) in zip(
        written, replays([(each.path, "reference") for each in written]), strict=True
    ):
        assert (status, lines[-1]) == (0, "fixed"), (each, lines)


def test_every_reproducer_is_a_scenario_with_what_was_expected_and_seen(written: list[Written]) -> None:
    assert len({each.host for each in written}) >= 8
    for each in written:
        document = json.loads(each.path.read_text(encoding="utf-8"))
        assert scenario.problems(document) == []
        (difference,) = document["observed"]["differences"]
        assert difference["clause"] == each.clause == document["clauses"][0]
        assert difference["expected"] != difference["seen"]
        assert difference["at"] == f"schedule[{len(document['schedule']) - 1}]"


HOSTS = """
from broken_hosts import TerminatedTooEarly
from fencepost.host.managed import ManagedHost
from fencepost_conformance.hosts.reference import ReferenceAdapter

begun = 0

class NowAndThen(ReferenceAdapter):
    def begin(self, setup):
        global begun
        begun += 1
        self.__init__(TerminatedTooEarly if begun % 2 else ManagedHost)
        return super().begin(setup)

class BreaksDown(ReferenceAdapter):
    def terminate(self, id):
        raise RuntimeError("the store is gone")
"""

STUCK = {
    "format": scenario.FORMAT,
    "title": "Terminated while its stop is not proven",
    "judged": True,
    "clauses": ["TRM-1"],
    "programs": {"p1": [{"wait": "a1", "type": "go", "timeoutSeconds": 60}]},
    "schedule": [
        {"stuck": "i"},
        {"create": "i", "program": "p1"},
        {"settle": True},
        {"start": {"terminate": "i"}, "as": "c"},
        {"status": "i"},
    ],
}


@pytest.mark.parametrize(
    ("host", "answer", "status"),
    [
        ("python:replayed:NowAndThen", "flaky", 4),
        ("python:replayed:BreaksDown", "errored", 2),
        ("python:broken_hosts:terminated_too_early", "failed", 1),
        ("reference", "fixed", 0),
    ],
)
def test_a_replay_says_how_several_runs_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, answer: str, status: int
) -> None:
    (tmp_path / "replayed.py").write_text(HOSTS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(Path(__file__).parent))))
    path = tmp_path / "stuck.json"
    path.write_text(json.dumps(STUCK))
    ((code, lines),) = replays([(path, host)])
    assert (lines[-1], code) == (answer, status), lines
