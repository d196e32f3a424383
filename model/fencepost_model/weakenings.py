"""Weakens the modules, one line at a time: a property that no weakening breaks would say nothing.

`weakenings.toml` is the table: module, the exact line, what takes its place, and the property that must then
fail. Each runs on the module's `Small` configuration, or the one that the table names, with that property
alone. The unweakened modules must hold there; that is one run for each configuration with all of its
properties.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from fencepost_model import tlc, tools
from fencepost_model.check import QUICK_SIZE, execute
from fencepost_model.configs import Configuration, Kind, load
from fencepost_model.messages import Run

MODULES = ("DurableWorkflow", "Fencing", "Waits", "Resource")


class StaleWeakening(ValueError):
    """A weakening whose line does not stand exactly once in its module."""


@dataclass(frozen=True)
class Weakening:
    """One line of a module, what takes its place, and the property that must break."""

    module: str
    name: str
    line: str
    by: str
    property: str
    size: str = QUICK_SIZE


@dataclass(frozen=True)
class Row:
    """What came of one weakening: whether its property broke, and TLC's run with the counterexample."""

    weakening: Weakening
    caught: bool
    run: Run


@cache
def table() -> tuple[Weakening, ...]:
    """All weakenings, in the order of the table."""
    data = tomllib.loads((resources.files("fencepost_model") / "weakenings.toml").read_text(encoding="utf-8"))
    return tuple(Weakening(module, **entry) for module in MODULES for entry in data[module])


def weakened(text: str, weakening: Weakening) -> str:
    """The module with the one line replaced and its indent kept, or StaleWeakening."""
    lines = text.splitlines()
    places = [place for place, line in enumerate(lines) if line.strip() == weakening.line]
    if len(places) != 1:
        raise StaleWeakening(
            f"{weakening.module}, {weakening.name!r}: its line stands {len(places)} times; correct the table"
        )
    line = lines[places[0]]
    lines[places[0]] = line[: len(line) - len(line.lstrip())] + weakening.by
    return "\n".join(lines) + "\n"


def vacuous(configuration: Configuration, weakenings: Iterable[Weakening]) -> tuple[str, ...]:
    """The properties of a configuration that no weakening in the table is mapped to."""
    broken = {each.property for each in weakenings if each.module == configuration.module}
    return tuple(
        name for name in (*configuration.invariants, *configuration.properties) if name not in broken
    )


def run(weakening: Weakening, *, seconds: float | None = None, stop: threading.Event | None = None) -> Row:
    """Run one weakening in a folder of its own."""
    configuration = load(f"{weakening.module}{weakening.size}")
    kind: Kind = "invariant" if weakening.property in configuration.invariants else "property"
    with tempfile.TemporaryDirectory(prefix="fencepost-weakening-") as name:
        folder = Path(name)
        for module in tools.modules().glob("*.tla"):
            shutil.copy(module, folder)
        path = folder / f"{weakening.module}.tla"
        path.write_text(weakened(path.read_text(encoding="utf-8"), weakening), encoding="utf-8")
        found = execute(
            configuration.only(weakening.property, kind), folder=folder, seconds=seconds, stop=stop
        )
    caught = found.outcome == "violated" and found.violated in (None, weakening.property)
    return Row(weakening, caught, found)


def weaken(
    progress: Callable[[Row], None] | None = None,
    chosen: Iterable[Weakening] | None = None,
    *,
    workers: int = 1,
    seconds: float | None = None,
) -> Iterator[Row]:
    """Every weakening of the table, or those chosen, in order; `workers` is how many run at once."""

    def one(weakening: Weakening, stop: threading.Event) -> Row:
        return run(weakening, seconds=seconds, stop=stop)

    for row in tlc.together(one, table() if chosen is None else chosen, workers):
        if progress is not None:
            progress(row)
        yield row
