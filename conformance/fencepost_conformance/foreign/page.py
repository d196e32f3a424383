"""`python -m fencepost_conformance.foreign.page REPORT... --to FILE`: the page about foreign engines.

Each report is what `fencepost check HOST --json` wrote. Every failed clause must have its entry among the
differences of its engine: what nobody has explained is not published. A HOST may have several reports, and a
clause whose verdicts differ among them shows them all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from ..verdict import CLAUSE_VERDICTS
from .differences import SORTS, BadDifferences, Difference, load, problems
from .engines import ENGINES

Report = Mapping[str, Any]

UNMEASURED = "unmeasured"
SIGNS = {"passed": "passed", "failed": "**failed**", UNMEASURED: "·", "errored": "errored"}
CODE = "conformance/fencepost_conformance/foreign"

INTRODUCTION = """\
# Foreign Hosts

A kit that has only met its own reference is untested. So it is run against engines that nobody here wrote,
each as it is installed from a package index, and driven by a thin adapter. **None of them claims the
Form**: a *foreign Host* has a contract of its own, and where it differs, that is a difference and no
defect. Each one is sorted: *by design*, with a pointer to the engine's own documentation, or *contradicts
its documentation*, with a script in the engine's own API.

Two shims stand between the kit and each engine. *Raw* is the smallest translation of the calls; *emulated*
is the best that a careful user could do with the engine's own means. What still differs under the second is
essential. All of them run on real time, so that what needs a clock to be moved is unmeasured (·), as is
what needs an instrument that there is not; a dot says nothing about the engine.
"""


def engine_of(host: str) -> str:
    """The engine behind a HOST string."""
    return host.removesuffix("-raw")


def page(reports: Sequence[Report], differences: Mapping[str, Sequence[Difference]]) -> str:
    """The page, in Markdown; raises BadDifferences where reports and entries do not agree."""
    hosts: dict[str, list[Report]] = {}
    for each in reports:
        hosts.setdefault(each["host"]["address"], []).append(each)
    wrong = [
        line for host, runs in hosts.items() for line in problems(host, runs, differences[engine_of(host)])
    ]
    if wrong:
        raise BadDifferences("\n".join(wrong))
    parts = (_runs(reports), _clauses(hosts), _differences(differences))
    return INTRODUCTION + "".join(f"{line}\n" for line in chain.from_iterable(parts))


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield from ("", _row(head), "|" + "---|" * len(head))
    yield from map(_row, rows)


def _runs(reports: Sequence[Report]) -> Iterator[str]:
    first = reports[0]
    yield from ("", "## The runs", "")
    yield (
        f"Kit {first['kit']['version']}, probe `{first['kit']['probe'].removeprefix('sha256:')[:12]}`, "
        f"clauses of {first['spec']['version']} `{first['spec']['digest'][:12]}`."
    )
    yield from _table(("command", "engine", "verdict", *CLAUSE_VERDICTS, "date", "time"), map(_run, reports))


def _run(report: Report) -> Iterator[str]:
    host, counts = report["host"], report["counts"]
    yield f"`fencepost check {host['address']} --seed {report['seed']}`"
    yield f"{host['name']} {host['version']}"
    yield report["verdict"]
    yield from (str(counts[verdict]) for verdict in CLAUSE_VERDICTS)
    yield from (report["startedAt"][:10], f"{report['seconds']:.0f} s")


def _clauses(hosts: Mapping[str, Sequence[Report]]) -> Iterator[str]:
    yield from ("", "## Clause by clause")
    shown: dict[str, dict[str, set[str]]] = {}
    for host, runs in hosts.items():
        for each in chain.from_iterable(report["clauses"] for report in runs):
            if each["standing"] == "judged":
                shown.setdefault(each["id"], {}).setdefault(host, set()).add(each["verdict"])
    measured = [id for id, by_host in shown.items() if any(seen != {UNMEASURED} for seen in by_host.values())]
    rows = ([id, *(_cell(shown[id].get(host, {UNMEASURED})) for host in hosts)] for id in measured)
    yield from _table(("clause", *(f"`{host}`" for host in hosts)), rows)
    left = [id for id in shown if id not in measured]
    if left:
        yield from ("", f"Measured on none of them: {', '.join(left)}.")


def _cell(seen: Collection[str]) -> str:
    """One verdict, or all that were seen in several runs."""
    return " or ".join(SIGNS[each] for each in CLAUSE_VERDICTS if each in seen)


def _differences(found: Mapping[str, Sequence[Difference]]) -> Iterator[str]:
    for engine, of_engine in found.items():
        yield from ("", f"## {ENGINES[engine].title}: what differs")
        for sort in SORTS:
            entries = [each for each in of_engine if each.sort == sort]
            if entries:
                yield from ("", f"### {sort[0].upper()}{sort[1:]}")
                head = ("clause", "shims", "in words", "documentation", "shown by")
                yield from _table(head, map(_difference, entries))


def _difference(each: Difference) -> Iterator[str]:
    title, url = each.documentation
    yield each.clause
    yield ", ".join("raw" if host.endswith("-raw") else "emulated" for host in each.hosts)
    yield each.words
    yield f"[{title}]({url})"
    script = f"; `{CODE}/{each.engine}/{each.reproducer}`" if each.reproducer else ""
    yield f"`fencepost check {each.hosts[0]} --scenario '{each.scenario}'`{script}"


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), required=True, help="Write the page to this file.")
def command(reports: tuple[Path, ...], to: Path) -> None:
    """Write the page about foreign engines from the reports of their runs."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in reports]
    engines = dict.fromkeys(engine_of(each["host"]["address"]) for each in read)
    try:
        made = page(read, {engine: load(engine) for engine in engines})
    except BadDifferences as error:
        sys.exit(str(error))
    to.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    command()
