"""Imports between the four rooms run one way, and every room ships its types.

The rooms are read as text, so that an import inside a function or under `TYPE_CHECKING` counts too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Each room with its folder, and the rooms that it may import: only those to its left in the house.
ROOMS = {
    "fencepost_spec": ("spec", frozenset[str]()),
    "fencepost": ("reference", frozenset({"fencepost_spec"})),
    "fencepost_model": ("model", frozenset({"fencepost_spec", "fencepost"})),
    "fencepost_conformance": ("conformance", frozenset({"fencepost_spec", "fencepost", "fencepost_model"})),
}


def room(package: str) -> Path:
    return ROOT / ROOMS[package][0] / package


def imported(source: str) -> Iterator[tuple[int, str]]:
    """The line and the top-level name of every absolute import, dynamic ones with a literal name included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            argument = node.args[0].value
            if name in ("import_module", "__import__") and isinstance(argument, str):
                yield node.lineno, argument.partition(".")[0]


@pytest.mark.parametrize("package", ROOMS)
def test_a_room_imports_only_the_rooms_before_it(package: str) -> None:
    allowed = ROOMS[package][1] | {package}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted(room(package).rglob("*.py"))
        for line, name in imported(path.read_text(encoding="utf-8"))
        if name in ROOMS and name not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ROOMS)
def test_a_room_ships_its_types(package: str) -> None:
    assert (room(package) / "py.typed").is_file()
    assert (room(package) / "__init__.py").is_file()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import fencepost_model.graph as g, json", ["fencepost_model", "json"]),
        ("def f():\n    from fencepost_model import graph", ["fencepost_model"]),
        (
            "import importlib\nimportlib.import_module('fencepost_model.tlc')",
            ["importlib", "fencepost_model"],
        ),
        ("from .here import there", []),
    ],
)
def test_the_reading_of_imports_has_teeth(source: str, names: list[str]) -> None:
    assert [name for _, name in imported(source)] == names
