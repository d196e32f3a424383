"""Where text goes: coloured on a terminal, plain everywhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ..report import facts

PIPED_WIDTH = 200  # wide enough that no table is folded in a log
PIPED_REPORTS = 10  # plain progress lines for one run


def console(stream: TextIO | None = None) -> Console:
    """A console on standard output: colour only on a terminal, no markup, no wrapping in a pipe."""
    stream = stream or sys.stdout
    terminal = stream.isatty()
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # a Host's text must not break an ASCII terminal
    return Console(
        file=stream,
        force_terminal=terminal,
        no_color=None if terminal else True,
        color_system="auto" if terminal else None,
        width=None if terminal else PIPED_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
    )


def say(screen: Console, text: str = "", style: str = "") -> None:
    """Print one line, with control characters escaped and never folded."""
    screen.print(Text(facts.plain(text), style=style), soft_wrap=True)


class Advance:
    """What a run calls after each check."""

    def __call__(self, name: str) -> None:
        """One more check is done."""


class _Bar(Advance):
    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def __call__(self, name: str) -> None:
        self._progress.update(self._task, advance=1, description=facts.plain(name))


class _Lines(Advance):
    def __init__(self, stream: TextIO, total: int) -> None:
        self._stream, self._total, self._done = stream, total, 0
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        with self._lock:  # checks may run in several threads
            before = self._done * PIPED_REPORTS // self._total
            self._done += 1
            if self._done * PIPED_REPORTS // self._total > before:
                print(f"checked {self._done} of {self._total}", file=self._stream, flush=True)


@contextmanager
def progress(total: int) -> Iterator[Advance]:
    """A progress bar on a terminal's standard error, a few plain lines elsewhere."""
    stream = sys.stderr
    if not stream.isatty():
        yield _Lines(stream, total)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console(stream), transient=True) as bar:
        yield _Bar(bar, total)
