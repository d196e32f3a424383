"""The page about foreign engines: every failed clause is explained, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fencepost_conformance.foreign import differences
from fencepost_conformance.foreign.differences import BadDifferences, Difference
from fencepost_conformance.foreign.page import page

MANUAL = ("The manual", "https://example.org/manual")


def report(address: str, **verdicts: str) -> dict[str, Any]:
    clauses = [
        {"id": name.replace("_", "-"), "standing": "judged", "verdict": verdict}
        for name, verdict in verdicts.items()
    ]
    return {
        "kit": {"version": "1", "probe": "sha256:" + "ab" * 32},
        "spec": {"version": "0.3.0", "digest": "cd" * 32},
        "host": {"address": address, "name": "Engine", "version": "9"},
        "verdict": "not-qualified",
        "counts": {
            name: list(verdicts.values()).count(name)
            for name in ("passed", "failed", "unmeasured", "errored")
        },
        "clauses": clauses,
        "seed": 7,
        "startedAt": "2026-12-01T00:00:00Z",
        "seconds": 61.2,
    }


def difference(clause: str, *hosts: str, sort: Any = "by design") -> Difference:
    return Difference("dbos", clause, hosts, sort, "It | differs.", MANUAL, "BND/a-scenario")


def test_the_page_shows_verdicts_and_explains_each_failure() -> None:
    reports = [
        report("dbos", BND_3="passed", EVT_1="failed", DEL_1="unmeasured"),
        report("dbos-raw", BND_3="failed", EVT_1="failed", DEL_1="unmeasured"),
    ]
    entries = [difference("EVT-1", "dbos", "dbos-raw"), difference("BND-3", "dbos-raw")]
    made = page(reports, {"dbos": entries})
    assert "| BND-3 | passed | **failed** |" in made
    assert "| EVT-1 | **failed** | **failed** |" in made
    assert "Measured on none of them: DEL-1." in made
    assert "| EVT-1 | emulated, raw | It \\| differs. | [The manual](https://example.org/manual) |" in made
    assert "`fencepost check dbos-raw --scenario 'BND/a-scenario'`" in made
    assert "`fencepost check dbos --seed 7`" in made
    assert "### By design" in made
    assert "### Contradicts" not in made
    assert "## DBOS Transact: what differs" in made
    assert "probe `abababababab`" in made


def test_a_clause_whose_verdicts_differ_shows_them_all() -> None:
    reports = [report("dbos", EVT_1="failed"), report("dbos", EVT_1="passed")]
    made = page(reports, {"dbos": [difference("EVT-1", "dbos")]})
    assert "| clause | `dbos` |" in made
    assert "| EVT-1 | **failed** or passed |" in made


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([], "dbos: EVT-1 failed, and no entry speaks of it"),
        (
            [difference("EVT-1", "dbos"), difference("BND-3", "dbos")],
            "dbos: BND-3 did not fail, and an entry speaks of it",
        ),
    ],
)
def test_what_nobody_has_explained_is_not_published(entries: list[Difference], said: str) -> None:
    with pytest.raises(BadDifferences, match=said):
        page([report("dbos", BND_3="passed", EVT_1="failed")], {"dbos": entries})


ENTRY = """
[[difference]]
clause = "EVT-1"
shims = ["emulated", "raw"]
sort = "{sort}"
words = "It differs."
documentation = {{ title = "The manual", url = "https://example.org/manual" }}
scenario = "EVT/a-scenario"
"""


def written(place: Path, text: str) -> Path:
    (place / "engine").mkdir()
    (place / "engine" / "differences.toml").write_text(text)
    return place


def test_entries_are_read(tmp_path: Path) -> None:
    (found,) = differences.load("engine", written(tmp_path, ENTRY.format(sort="by design")))
    assert (found.hosts, found.words, found.documentation) == (
        ("engine", "engine-raw"),
        "It differs.",
        MANUAL,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ENTRY.format(sort="odd"), "EVT-1: sort is 'odd'"),
        (ENTRY.format(sort="contradicts its documentation"), "a contradiction needs a reproducer"),
        (ENTRY.format(sort="by design") + 'reproducer = "no.py"\n', "no.py is not there"),
        (ENTRY.replace("scenario", "scene").format(sort="by design"), "EVT-1 has no 'scenario'"),
        (ENTRY.replace('"emulated"', '"other"').format(sort="by design"), "EVT-1 has no 'other'"),
    ],
)
def test_an_entry_that_does_not_fit_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadDifferences, match=said):
        differences.load("engine", written(tmp_path, text))
