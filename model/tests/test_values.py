"""The parser of TLC's printed values, on what TLC prints."""

from typing import Any

import pytest
from fencepost.machine.records import FrozenMap
from fencepost_model.values import ModelValue, UnreadableValue, printed, state, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("-1", -1),
        ("TRUE", True),
        ("FALSE", False),
        ('"go"', "go"),
        ('"a \\"quoted\\" \\\\ word\\n"', 'a "quoted" \\ word\n'),
        ("NoValue", ModelValue("NoValue")),
        ("{}", frozenset()),
        ("{1, 2}", frozenset({1, 2})),
        ("1..3", frozenset({1, 2, 3})),
        ("-1..1", frozenset({-1, 0, 1})),
        ("<<>>", ()),
        ('<<1, "go">>', (1, "go")),
        ("<<<<1, <<>>>>>>", ((1, ()),)),
        ('[b |-> {}, a |-> "none"]', FrozenMap({"a": "none", "b": frozenset()})),
        ('("x" :> 1 @@ "y" :> 2)', FrozenMap({"y": 2, "x": 1})),
        ("(n1 :> <<1>>)", FrozenMap({ModelValue("n1"): (1,)})),
        ('{[token |-> 1, open |-> "none"],\n  [token |-> 2, open |-> "a"]}',
         frozenset({FrozenMap({"token": 1, "open": "none"}), FrozenMap({"token": 2, "open": "a"})})),
    ],
)  # fmt: skip
def test_a_value_is_read(text: str, expected: Any) -> None:
    assert value(text) == expected
    assert hash(value(text)) == hash(expected)


def test_a_model_value_is_no_string() -> None:
    assert value("{a}") != value('{"a"}')


def test_true_is_not_one() -> None:
    assert type(value("TRUE")) is bool


@pytest.mark.parametrize("text", ["", "{1, }", "<<1", "[a -> 1]", "1 2", '"open', "{1 2}", "(1 :> 2", "#"])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(UnreadableValue):
        value(text)


def test_a_state_may_wrap_its_values() -> None:
    context = '{ [token |-> 1, open |-> "none"],\n  [token |-> 2, open |-> "none"] }'
    text = f"/\\ own = 1\n/\\ ctx = {context}\n/\\ fails = 0"
    found = state(text)
    assert found["own"] == 1
    assert found["fails"] == 0
    assert len(found["ctx"]) == 2


def test_a_single_variable_stands_alone() -> None:
    assert state("x = <<1, 2>>") == FrozenMap({"x": (1, 2)})


def test_states_are_equal_in_any_order_of_variables() -> None:
    assert state("/\\ a = 1\n/\\ b = 2") == state("/\\ b = 2\n/\\ a = 1")


@pytest.mark.parametrize(
    "text",
    ["-3", "TRUE", '"a\\"b"', "{1, 2}", '<<1, "go">>', "[a |-> 1, b |-> {}]", "(1 :> 2 @@ 3 :> 4)", "m"],
)
def test_printing_is_the_way_back(text: str) -> None:
    assert printed(value(text)) == text
    assert value(printed(value(text))) == value(text)
