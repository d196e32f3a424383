"""Immutable maps: what has changed between two of them."""

import pytest
from fencepost.machine.records import FrozenMap

ONE, OTHER = object(), object()
EMPTY: FrozenMap[str, object] = FrozenMap()
FIRST = EMPTY.put("a", ONE)


@pytest.mark.parametrize(
    ("later", "earlier", "changed"),
    [
        (FIRST, EMPTY, ["a"]),
        (FIRST.put("b", ONE), FIRST, ["b"]),
        (FIRST.put("a", ONE), FIRST, []),
        (FIRST.put("a", OTHER), FIRST, ["a"]),
        (FIRST.put("a", OTHER).put("b", ONE), FIRST, ["a", "b"]),
        (FIRST.put("b", ONE).drop("a"), FIRST, ["b"]),
        (FIRST.put("b", ONE), EMPTY, ["a", "b"]),
        (FIRST.put("b", ONE), FrozenMap({"a": ONE}), ["b"]),
        (FrozenMap({"a": OTHER}), FIRST, ["a"]),
        (FIRST, FIRST, []),
    ],
)
def test_what_has_changed_is_told_by_the_values_themselves(
    later: FrozenMap[str, object], earlier: FrozenMap[str, object], changed: list[str]
) -> None:
    assert later.changed(earlier) == changed
