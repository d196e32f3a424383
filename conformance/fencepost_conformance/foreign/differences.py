"""What foreign engines do otherwise, in words: `differences.toml` beside each adapter, held against reports.

An entry speaks of one clause and says whether the engine's contract differs by design, or the engine
contradicts its own documentation, and where that documentation stands. A report whose failed clauses are not
all spoken of, and an entry of what has not failed, are refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

Sort = Literal["by design", "contradicts its documentation"]
SORTS: tuple[Sort, ...] = get_args(Sort)

PLACE = Path(__file__).parent

Document = Mapping[str, Any]


class BadDifferences(ValueError):
    """The entries do not fit, by themselves or the report: one line that says where and what to write."""


@dataclass(frozen=True)
class Difference:
    """What one clause wants and the engine does; `hosts` are the HOST strings that show it.

    `documentation` is the title and the address of the engine's own page, `scenario` a directed one that
    shows the difference, `reproducer` a script in the engine's own API, in a path below its adapter.
    """

    engine: str
    clause: str
    hosts: tuple[str, ...]
    sort: Sort
    words: str
    documentation: tuple[str, str]
    scenario: str
    reproducer: str = ""


def load(engine: str, place: Path = PLACE) -> tuple[Difference, ...]:
    """The differences of an engine, by clause; raises BadDifferences."""
    path = place / engine / "differences.toml"
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])
    return tuple(sorted((_entry(engine, path, each) for each in entries), key=lambda each: each.clause))


def _entry(engine: str, path: Path, entry: Document) -> Difference:
    try:
        shims = {"emulated": engine, "raw": f"{engine}-raw"}
        found = Difference(
            engine,
            entry["clause"],
            tuple(shims[each] for each in entry["shims"]),
            entry["sort"],
            " ".join(entry["words"].split()),
            (entry["documentation"]["title"], entry["documentation"]["url"]),
            entry["scenario"],
            entry.get("reproducer", ""),
        )
    except (KeyError, TypeError, AttributeError) as error:
        named = entry.get("clause", "an entry") if isinstance(entry, Mapping) else "an entry"
        wanted = 'clause, shims ("emulated", "raw"), sort, words, documentation {title, url} and scenario'
        raise BadDifferences(f"{path}: {named} has no {error}; give {wanted}") from None
    if found.sort not in SORTS:
        raise BadDifferences(
            f"{path}: {found.clause}: sort is {found.sort!r}; give one of {', '.join(SORTS)}"
        )
    if found.sort == SORTS[1] and not found.reproducer:
        raise BadDifferences(f"{path}: {found.clause}: a contradiction needs a reproducer")
    if found.reproducer and not (path.parent / found.reproducer).is_file():
        raise BadDifferences(f"{path}: {found.clause}: {found.reproducer} is not there")
    return found


def failed(reports: Iterable[Document]) -> set[str]:
    """The clauses that failed in any of these reports (`fencepost check --json`)."""
    return {each["id"] for report in reports for each in report["clauses"] if each["verdict"] == "failed"}


def problems(host: str, reports: Sequence[Document], found: Sequence[Difference]) -> Iterator[str]:
    """What the entries and the reports of a host say differently, a line each."""
    shown, spoken = failed(reports), {each.clause for each in found if host in each.hosts}
    for clause in sorted(shown - spoken):
        yield f"{host}: {clause} failed, and no entry speaks of it"
    for clause in sorted(spoken - shown):
        yield f"{host}: {clause} did not fail, and an entry speaks of it"
