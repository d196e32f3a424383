"""Which bounded models there are, and what each checks.

A configuration is a pair of files beside the modules: `MC<Module>.tla` has the bounded programs and
`MC<Module><Size>.cfg` the bounds and the properties. What a property means, and the clauses that it states,
stand in the module above its definition, in one form: `\\* Name (CLAUSE, CLAUSE): meaning`. They are read
from there, so that a report and the module cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from fencepost_model import tools

Kind = Literal["invariant", "property"]

SECTIONS: Mapping[str, Kind] = {
    "INVARIANT": "invariant",
    "INVARIANTS": "invariant",
    "PROPERTY": "property",
    "PROPERTIES": "property",
}
_KEYWORDS = {*SECTIONS, "SPECIFICATION", "CONSTANT", "CONSTANTS"}
_MODULES = ("DurableWorkflow", "Fencing", "Waits", "Resource")
SIZES = ("Small", "Fair", "CI", "Deep")
"""Seconds, for every change; liveness that is slow or needs other bounds; minutes; a nightly run."""

LIVENESS = frozenset(
    {"MovesOn", "HandedMovesOn", "EndIsPublished", "EveryRunEnds", "DeleteEnds", "RefinesFairly"}
)
"""The properties that need fairness; the others hold of every behaviour."""


class UnknownConfiguration(ValueError):
    """No configuration has this name; the text names those that are there."""


@dataclass(frozen=True)
class Property:
    """An invariant, a property or a bait of a module: what it means and the clauses that it states."""

    name: str
    meaning: str
    clauses: tuple[str, ...]


@dataclass(frozen=True)
class Configuration:
    """One bounded model: its module, the text of its bounds, and the names of what is checked."""

    module: str
    size: str
    specification: str
    constants: str
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.module}{self.size}"

    def only(self, name: str, kind: Kind) -> Configuration:
        """The same bounds with this one invariant or property."""
        wanted = "FairSpec" if name in LIVENESS else "Spec"
        chosen = ((name,), ()) if kind == "invariant" else ((), (name,))
        return Configuration(self.module, self.size, wanted, self.constants, *chosen)

    def bare(self) -> Configuration:
        """The same bounds with nothing checked: for its graph."""
        return Configuration(self.module, self.size, "Spec", self.constants)

    def text(self) -> str:
        """The configuration as TLC reads it."""
        parts = [f"SPECIFICATION {self.specification}", f"CONSTANTS\n{self.constants}"]
        parts += [f"INVARIANT {name}" for name in self.invariants]
        parts += [f"PROPERTY {name}" for name in self.properties]
        return "\n".join(parts) + "\n"


def parse(module: str, size: str, text: str) -> Configuration:
    """A configuration file in the few keywords that ours use."""
    section, found = "", dict[str, list[str]]()
    for line in text.splitlines():
        first, _, rest = line.strip().partition(" ")
        if first in _KEYWORDS:
            section, line = first, rest
        if line.strip():
            found.setdefault(section, []).append(line.strip())

    def names(kind: Kind) -> tuple[str, ...]:
        lines = [line for word, lines in found.items() if SECTIONS.get(word) == kind for line in lines]
        return tuple(name for line in lines for name in line.split())

    constants = "\n".join(f"  {line}" for word in ("CONSTANT", "CONSTANTS") for line in found.get(word, ()))
    return Configuration(
        module, size, found["SPECIFICATION"][0], constants, names("invariant"), names("property")
    )


def available() -> tuple[str, ...]:
    """The names of all configurations, the smallest of each module first."""
    folder = tools.modules()
    named = (f"{module}{size}" for module in _MODULES for size in SIZES)
    return tuple(name for name in named if (folder / f"MC{name}.cfg").is_file())


def load(name: str) -> Configuration:
    """The configuration of this name (`FencingSmall`), or UnknownConfiguration."""
    if name not in available():
        raise UnknownConfiguration(f"there is no configuration {name!r}; there are {', '.join(available())}")
    module = next(each for each in _MODULES if name.startswith(each))
    text = (tools.modules() / f"MC{name}.cfg").read_text(encoding="utf-8")
    return parse(module, name.removeprefix(module), text)


_COMMENT = re.compile(
    r"^\\\* (?P<name>\w+) \((?P<clauses>[A-Z]{2,3}-\d+\w?(?:, [A-Z]{2,3}-\d+\w?)*)\): "
    r"(?P<meaning>.*(?:\n\\\* .*)*)\n(?P=name) ==",
    re.MULTILINE,
)


@cache
def stated(module: str, folder: Path | None = None) -> Mapping[str, Property]:
    """All that a module states, by name, from the comments above the definitions."""
    text = ((folder or tools.modules()) / f"{module}.tla").read_text(encoding="utf-8")
    return {
        match["name"]: Property(
            match["name"], match["meaning"].replace("\n\\* ", " "), tuple(match["clauses"].split(", "))
        )
        for match in _COMMENT.finditer(text)
    }


def baits(module: str) -> tuple[Property, ...]:
    """The predicates that must be false somewhere, so that what is checked is not checked of nothing."""
    return tuple(each for name, each in stated(module).items() if name.startswith("Bait"))
