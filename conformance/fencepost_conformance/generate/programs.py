"""Programs of generated scenarios: what `run` does, and what a second Version has for the same instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from .author import TYPES, Author, Operation
from .telling import told

__all__ = ["TYPES", "Program", "gates", "named", "programs", "special"]


@dataclass(frozen=True, repr=False)
class Program:
    """One program, and the code that a second Version has for the instances that were created with it."""

    operations: tuple[Operation, ...]
    newer: tuple[Operation, ...] | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of its steps, as far as they are written out."""
        return tuple(dict.fromkeys(name for _, name in named(self.operations)))

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the events for which it waits."""
        found = (node.get("type") for node in _nodes(self.operations) if "wait" in node)
        return tuple(dict.fromkeys(each for each in found if isinstance(each, str) and each))

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates at which its effects stand."""
        return tuple(dict.fromkeys(gates((*self.operations, *(self.newer or ())))))

    def __repr__(self) -> str:
        newer = "" if self.newer is None else f" | on v2: {told(self.newer)}"
        return f"<{told(self.operations)}{newer}>"


def named(operations: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """The kind and the name of every step call in a program."""
    for node in _nodes(operations):
        for kind in ("do", "sleep", "wait"):
            if isinstance(node.get(kind), str) and node[kind] and "${" not in node[kind]:
                yield kind, node[kind]


def gates(operations: Sequence[Any]) -> Iterator[str]:
    """Every gate in a program."""
    for node in _nodes(operations):
        if "gate" in node:
            yield node["gate"]


def _nodes(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        for child in value.values():
            yield from _nodes(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _nodes(child)


@st.composite
def programs(
    draw: Callable[[st.SearchStrategy[Any]], Any],
    prefix: str,
    versions: bool = False,
    real_time: bool = False,
) -> Program:
    """A program whose steps begin with `prefix`; with `versions`, a second Version of it too."""
    author = Author(draw, prefix, real_time)
    operations = author.write()
    return Program(operations, _newer(author, operations) if versions else None)


@st.composite
def special(
    draw: Callable[[st.SearchStrategy[Any]], Any], prefix: str, kind: str, real_time: bool = False
) -> Program:
    """A program of one of the author's own kinds."""
    author = Author(draw, prefix, real_time)
    return Program(author.overtaken() if kind == "overtaken" else author.queue())


def _newer(author: Author, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """What the second Version has for a program: the same, a changed step, a step less, other code."""
    choices: tuple[Callable[[], tuple[Operation, ...]], ...] = (
        lambda: operations,
        lambda: tuple(_changed(author, each) for each in operations),
        lambda: (*operations[:1], *operations[2:]),
        lambda: (*operations[:1], *author.again(), *author.again(), *author._closing()),
    )
    return author.pick(choices)()  # type: ignore[no-any-return]


def _changed(author: Author, operation: Operation) -> Operation:
    """The same operation; a step may have become one of another kind, or of other arguments."""
    for kind in ("do", "sleep", "wait"):
        if kind in operation and author.chance(2):
            rest: Operation = {key: operation[key] for key in ("as", "catch") if key in operation}
            return {**author.step(operation[kind]), **rest}
    return operation
