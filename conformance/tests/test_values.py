"""VALUEs and what they are built into."""

import math

import pytest
from fencepost import documents
from fencepost_conformance.probe.oddities import NULL, ODDITIES, UNDEFINED
from fencepost_conformance.probe.values import (
    build,
    described,
    document,
    interpolate,
    is_true,
    read,
    resolve,
    sized,
)

FINE = {"sharedObject", "nullPrototype", "ownProto", "negativeZero", "properties1024"}

VARIABLES = {"o": {"list": [1, {"k": 2}], "text": "a😀"}, "e": TypeError("no"), "n": None, "u": UNDEFINED}


@pytest.mark.parametrize(
    ("value", "built"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        ({"$": "o.list.1.k"}, 2),
        ({"$": "o.list.length"}, 2),
        ({"$": "o.text.length"}, 3),
        ({"$": "e.name"}, "TypeError"),
        ({"$error": "e"}, {"name": "TypeError", "message": "no"}),
        ({"$isUndefined": "o.nothing.deeper"}, True),
        ({"$isUndefined": "n"}, False),
        ({"$literal": {"$": "o"}}, {"$": "o"}),
        ({"$repeat": ["ab", 3]}, "ababab"),
        ({"$array": [{"$": "n"}, 2]}, [None, None]),
        ({"$string": [0xD83D, 0xDE00, 0xD800]}, "😀\ud800"),
        ({"$other": 1}, {"$other": 1}),
        (5.0, 5),
    ],
)
def test_a_value_is_built(value, built):
    assert build(value, VARIABLES) == built
    assert type(build(value, VARIABLES)) is type(built)


@pytest.mark.parametrize("path", ["nothing", "o.nothing", "o.list.2", "o.list.x", "n.a", "u"])
def test_a_missing_path_is_undefined(path):
    assert read(path, VARIABLES) is UNDEFINED


def test_a_variable_is_handed_out_as_it_is_and_the_rest_is_fresh():
    value = {"same": {"$": "o"}, "fresh": [{}]}
    built = build(value, VARIABLES)
    assert built["same"] is VARIABLES["o"]
    assert built["fresh"] is not value["fresh"]
    assert build({"$literal": value}, {}) is not value


@pytest.mark.parametrize("size", [2, 8, 9, 1000])
def test_a_sized_document_has_exactly_its_bytes(size):
    assert len(documents.encode(sized(size))) == size


@pytest.mark.parametrize("size", [0, 3, 7])
def test_a_size_without_a_document_is_refused(size):
    with pytest.raises(ValueError, match="give 2"):
        sized(size)


@pytest.mark.parametrize(
    ("value", "truth"),
    [({}, True), ([], True), ("0", True), (0, False), ("", False), (None, False), (UNDEFINED, False)],
)
def test_truth_is_that_of_javascript(value, truth):
    assert is_true(value) is truth


def test_not_a_number_is_false():
    assert not is_true(math.nan)
    assert math.copysign(1, build(-0.0, {})) == -1


def test_places_in_names_are_filled_as_javascript_writes_values():
    held = {"i": 3, "f": 2.0, "t": True, "n": None, "o": {"k": "v"}}
    assert interpolate("a${i}${f}${t}${n}${o.k}${u}$", held) == "a32truenullvundefined$"


def test_variables_are_resolved_and_nothing_else_is():
    value = {"id": {"$": "o.text"}, "all": [{"$": "o.list"}, {"$oddity": "nan"}], "none": {"$": "u"}}
    resolved = resolve(value, VARIABLES)
    assert resolved == {
        "id": "a😀",
        "all": [{"$literal": [1, {"k": 2}]}, {"$oddity": "nan"}],
        "none": {"$": "u"},
    }


@pytest.mark.parametrize("kind", sorted(ODDITIES))
def test_an_oddity_at_the_root_is_a_document_exactly_if_it_is_fine(kind):
    value = document({"$oddity": kind}, {})
    if kind in FINE:
        documents.encode(value)
    else:
        with pytest.raises(documents.DocumentError):
            documents.encode(value)


def test_null_at_the_root_is_no_missing_document():
    assert document(None, {}) is NULL
    assert document({"$oddity": "nullRoot"}, {}) is NULL
    assert document({"$": "nothing"}, {}) is UNDEFINED


class Sealed(Exception):
    name = property(lambda self: "step_failed")


def test_a_descriptor_is_found_out_by_trying():
    plain = Exception("m")
    assert described(plain) is UNDEFINED
    plain.name = "n"
    everything = {"value": "n", "writable": True, "enumerable": True, "configurable": True}
    assert described(plain) == everything
    nothing = {"value": "step_failed", "writable": False, "enumerable": False, "configurable": False}
    assert described(Sealed("m")) == nothing
