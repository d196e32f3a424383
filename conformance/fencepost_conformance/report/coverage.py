"""What generated scenarios exercised, as tables: words, clauses, and actions by the status that they met."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .console import generated_line, print_table
from .model import Generated

STATUSES = ("unknown", "queued", "running", "sleeping", "waiting", "complete", "errored", "terminated")
CLAUSES_IN_A_ROW = 8


def render(generated: Generated, console: Console) -> None:
    """Print the tables."""
    console.print(Text(f"Generated: {generated_line(generated)}", style="bold"))
    print_table(console, _counts("entry", generated.words))
    print_table(console, _actions(generated.actions))
    print_table(console, _clauses(generated.clauses))


def _counts(name: str, counts: Mapping[str, int]) -> Table:
    table = _table(name, "times")
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(word, str(count))
    return table


def _actions(actions: Mapping[str, Mapping[str, int]]) -> Table:
    table = _table("action", *STATUSES)
    for action, statuses in sorted(actions.items()):
        table.add_row(action, *(str(statuses.get(status) or "-") for status in STATUSES))
    return table


def _clauses(clauses: Mapping[str, int]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, title=None)
    for _ in range(CLAUSES_IN_A_ROW):
        table.add_column("clause", no_wrap=True)
        table.add_column("times", justify="right")
    cells = [
        cell for clause, count in sorted(clauses.items(), key=_by_chapter) for cell in (clause, str(count))
    ]
    width = 2 * CLAUSES_IN_A_ROW
    for start in range(0, len(cells), width):
        row = cells[start : start + width]
        table.add_row(*row, *[""] * (width - len(row)))
    return table


def _by_chapter(item: tuple[str, int]) -> tuple[str, int, str]:
    chapter, _, number = item[0].partition("-")
    digits = number.rstrip("abcdefghijklmnopqrstuvwxyz")
    return chapter, int(digits or 0), number


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right")
    return table
