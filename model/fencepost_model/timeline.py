"""A counterexample as people read it: a line for each action with what it changed, and the clause that broke.

A state of a dozen variables in which one changed is hard to read; so each line shows the differences alone:
what a set gained and lost, which entry of a map is another, else the old and the new value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost_model.check import Result
from fencepost_model.messages import Entry, Run
from fencepost_model.values import State, printed

_WIDTH = 14


def changes(before: Any, after: Any, name: str) -> Iterator[str]:
    """What differs between two values of one variable, in words."""
    if before == after:
        return
    if isinstance(before, frozenset) and isinstance(after, frozenset):
        yield from (f"{name} loses {printed(each)}" for each in sorted(before - after, key=printed))
        yield from (f"{name} gains {printed(each)}" for each in sorted(after - before, key=printed))
    elif isinstance(before, Mapping) and isinstance(after, Mapping) and set(before) == set(after):
        for key in sorted(before, key=str):
            yield from changes(before[key], after[key], f"{name}.{key}")
    else:
        yield f"{name}: {printed(before)} becomes {printed(after)}"


def moves(run: Run) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each action of the counterexample after the first state, with what it changed."""
    before: State | None = None
    for entry in run.trace:
        if before is not None:
            yield entry.action, _differences(before, entry)
        before = entry.state


def _differences(before: State, entry: Entry) -> tuple[str, ...]:
    return tuple(each for name in sorted(before) for each in changes(before[name], entry.state[name], name))


def render(result: Result) -> str:
    """The timeline of a broken property, or one line for a run that passed or failed by itself."""
    run, name = result.run, result.configuration.name
    if run.outcome == "passed":
        return f"{name}: holds on {run.distinct:,} states"
    if run.outcome == "failed":
        return f"{name}: TLC could not check it: {run.problem}"
    lines = []
    if result.broken is not None:
        lines.append(f"{name}: {result.broken.name} broke ({', '.join(result.broken.clauses)})")
        lines.append(f"  It says: {result.broken.meaning}")
    else:
        lines.append(f"{name}: {run.violated or 'a property'} broke")
    lines.append("")
    for number, (action, differences) in enumerate(moves(run), 2):
        lines.append(f"{number:>4}  {action:<{_WIDTH}}{'; '.join(differences) or 'changes nothing'}".rstrip())
    if run.loop is not None:
        lines.append(f"      and from here again as from {run.loop + 1}, for ever")
    elif run.stutters:
        lines.append("      and nothing more happens, for ever")
    return "\n".join(lines)
