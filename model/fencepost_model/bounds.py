"""The bounds of a configuration as Python values: what its file fixes, and the programs of `MC*.tla`.

They are read from the very files that TLC reads, so that the two sides of a comparison cannot be bounded
differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fencepost_model import tools
from fencepost_model.configs import Configuration
from fencepost_model.values import value

NAMES = ("a", "b", "c")
"""The names of a program's steps, in their order: `Names` of the modules."""

_DEFINITION = re.compile(r"^(\w+) == (.*?)(?=^\w+ ==|^=+$)", re.MULTILINE | re.DOTALL)

# the operators by which the modules write a step, as the records that they stand for
_STEPS = (
    (re.compile(r"\bDo\((\d+), (\d+)\)"), r'[kind |-> "do", attempts |-> \1, delay |-> \2]'),
    (re.compile(r'\bWait\("(\w+)", (\d+)\)'), r'[kind |-> "wait", type |-> "\1", delay |-> \2]'),
    (re.compile(r"\bSleep\((\d+)\)"), r'[kind |-> "sleep", delay |-> \1]'),
)

Bounds = Mapping[str, Any]


def definitions(text: str) -> Mapping[str, str]:
    """The definitions of a bounding module, by name, with its steps written out."""
    found = {}
    for match in _DEFINITION.finditer(text):
        body = match[2]
        for pattern, record in _STEPS:
            body = pattern.sub(record, body)
        found[match[1]] = body
    return found


def bounds(configuration: Configuration) -> Bounds:
    """The constants of a configuration by name: numbers, sets, programs."""
    module = tools.modules() / f"MC{configuration.module}.tla"
    defined = definitions(module.read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    for line in configuration.constants.splitlines():
        name, substituted, text = line.strip().partition(" <- ")
        if substituted:
            found[name] = value(defined[text.strip()])
        else:
            name, _, text = line.strip().partition(" = ")
            found[name] = value(text)
    return found
