"""Checks bounded models: every property of a configuration, and the baits that show what is reached."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fencepost_model import graph, tlc, tools
from fencepost_model.configs import Configuration, Property, baits, load, stated
from fencepost_model.messages import Progress, Run

QUICK_SIZE = "Small"


@dataclass(frozen=True)
class Result:
    """What a check of one configuration came to; `broken` is the property of the counterexample."""

    configuration: Configuration
    run: Run
    broken: Property | None = None

    @property
    def passed(self) -> bool:
        return self.run.outcome == "passed"


@dataclass(frozen=True)
class Bait:
    """Whether the state of a bait was reached, and how deep."""

    bait: Property
    reached: bool
    depth: int


def check(
    configuration: str | Configuration,
    progress: Callable[[Progress], None] | None = None,
    *,
    seconds: float | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Check one configuration by TLC; raises MissingTools, UnknownConfiguration or Timeout."""
    chosen = load(configuration) if isinstance(configuration, str) else configuration
    run = execute(chosen, progress=progress, seconds=seconds, stop=stop)
    if run.outcome == "violated" and run.violated is None and len(chosen.properties) > 1:
        run = _named(chosen, run, seconds, stop)
    name = run.violated or next(iter((*chosen.invariants, *chosen.properties)), "")
    broken = stated(chosen.module).get(name) if run.outcome == "violated" else None
    return Result(chosen, run, broken)


def check_all(
    names: Iterable[str],
    progress: Callable[[str, Progress], None] | None = None,
    *,
    workers: int = 1,
    seconds: float | None = None,
) -> Iterator[Result]:
    """Check several configurations, `workers` at once, in their order; `progress` hears the name too."""

    def one(name: str, stop: threading.Event) -> Result:
        return check(name, partial(progress, name) if progress else None, seconds=seconds, stop=stop)

    return tlc.together(one, names, workers)


def _named(chosen: Configuration, run: Run, seconds: float | None, stop: threading.Event | None) -> Run:
    """The same violation with its name: of temporal properties TLC does not say which one broke."""
    for name in chosen.properties:
        alone = execute(chosen.only(name, "property"), seconds=seconds, stop=stop)
        if alone.outcome == "violated":
            return replace(alone, violated=name)
    return run


def execute(
    configuration: Configuration,
    *,
    folder: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    dump: Path | None = None,
    seconds: float | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """One run of TLC on a configuration, with the modules in `folder` or those of the package."""
    with written(configuration) as path:
        return tlc.run(
            (folder or tools.modules()) / f"MC{configuration.module}.tla",
            path,
            progress=progress,
            dump=dump,
            java=tlc.QUICK if configuration.size == QUICK_SIZE else tlc.LONG,
            seconds=seconds,
            stop=stop,
        )


def explore(
    configuration: str | Configuration,
    progress: Callable[[Progress], None] | None = None,
    *,
    seconds: float | None = None,
) -> graph.Graph:
    """The whole graph of a configuration, with the names of the actions on its edges; nothing is checked."""
    chosen = (load(configuration) if isinstance(configuration, str) else configuration).bare()
    with tempfile.TemporaryDirectory(prefix="fencepost-graph-") as folder:
        dump = Path(folder) / "graph.dot"
        run = execute(chosen, progress=progress, dump=dump, seconds=seconds)
        if run.outcome != "passed":
            raise graph.BrokenDump(f"TLC did not finish {chosen.name}: {run.problem or run.outcome}")
        return graph.load(dump, run)


def reach(name: str, *, seconds: float | None = None) -> Iterator[Bait]:
    """Every bait of a configuration's module: reached when TLC finds a state in which it is false."""
    chosen = load(name)
    for bait in baits(chosen.module):
        run = execute(chosen.only(bait.name, "invariant"), seconds=seconds)
        yield Bait(bait, run.outcome == "violated", len(run.trace))


@contextmanager
def written(configuration: Configuration) -> Iterator[Path]:
    """The configuration as a file for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="fencepost-configuration-") as folder:
        path = Path(folder) / f"MC{configuration.name}.cfg"
        path.write_text(configuration.text(), encoding="utf-8")
        yield path
