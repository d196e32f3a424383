"""The worked cases with their right answers: each holds on the reference, and no other answer would.

For every expected value a copy of the scenario is made in which that value alone is another one. The copy
must fail, and the difference must name the place.
"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from fencepost_conformance import scenario as scenarios
from fencepost_conformance.hosts.reference import make
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.results import CheckResult
from fencepost_conformance.runner import run_scenario

WORKED = {each.id: each for each in scenarios.shipped() if each.id.startswith("worked/")}
CASES = range(1, 17)
COUNTS = ("effects", "marks", "runs", "counts")

Path = tuple[str | int, ...]


def expected_values(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where an expectation holds one plain value; alternatives and bounds are no single answer."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in ("choice", "of", "clause", "any", "atLeast", "atMost"):
                yield from expected_values(each, (*path, key))
    elif not isinstance(value, list):
        yield path


def places(document: dict[str, Any]) -> Iterator[Path]:
    """The paths of all expected values of a scenario's schedule."""
    for index, entry in enumerate(document["schedule"]):
        for key in ("expect", *COUNTS):
            if key in entry and not (key == "expect" and isinstance(entry[key], list)):
                yield from expected_values(entry[key], ("schedule", index, key))


def another(value: Any) -> Any:
    """A value of the same kind that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return {"complete": "errored", "errored": "complete", "run_threw": "step_failed"}.get(value, "run_threw")


def changed(document: dict[str, Any], path: Path) -> dict[str, Any]:
    """A copy in which the value at `path` is another one."""
    result = copy.deepcopy(document)
    *parents, last = path
    place: Any = result
    for key in parents:
        place = place[key]
    place[last] = another(place[last])
    return result


def run(document: dict[str, Any], name: str) -> CheckResult:
    return run_scenario(InProcess(make()), scenarios.from_document(document, name, validate=False))


def test_every_worked_case_is_shipped() -> None:
    assert {int(id.removeprefix("worked/")[:2]) for id in WORKED} == set(CASES)


def test_a_case_for_the_reference_has_a_fair_twin() -> None:
    for id, each in WORKED.items():
        if each.document.get("for") == "reference":
            assert f"{id}-any" in WORKED, id


@pytest.mark.parametrize("id", WORKED)
def test_a_worked_case_holds(id: str) -> None:
    result = run(dict(WORKED[id].document), id)
    assert (result.outcome, result.differences) == ("passed", ())


ANSWERS = [(id, path) for id, each in WORKED.items() for path in places(dict(each.document))]


@pytest.mark.parametrize(
    ("id", "path"), ANSWERS, ids=lambda part: part if isinstance(part, str) else ".".join(map(str, part))
)
def test_no_other_answer_holds(id: str, path: Path) -> None:
    result = run(changed(dict(WORKED[id].document), path), id)
    assert result.outcome == "failed"
    assert f"schedule[{path[1]}]" in [difference.at for difference in result.differences]
