"""Chapter DOC in the reference: what a document is, what its bytes are, and that no caller's code runs."""

from __future__ import annotations

import json
import math
import struct
import sys
import tracemalloc
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import pytest
import rfc8785
from fencepost import json_text
from fencepost.documents import (
    DocumentError,
    DocumentTooLarge,
    InvalidDocument,
    decode,
    encode,
    event_bytes,
    scalars,
)
from fencepost_spec.limits import FORM
from hypothesis import example, given
from hypothesis import strategies as st

SAFE = 2**53
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = (
    st.integers(-SAFE + 1, SAFE - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([-0.0, 5e-324, 1e21, 1e-7, 123456789012345680000.0, sys.float_info.max])
)
leaves = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
documents = st.dictionaries(texts, values, max_size=4)


def like_json(value: Any) -> Any:
    """A value as a double-based reader sees it, so that 1 and 1.0 and -0.0 compare as they should."""
    if isinstance(value, dict):
        return {key: like_json(child) for key, child in value.items()}
    if isinstance(value, list):
        return [like_json(child) for child in value]
    if isinstance(value, float | int) and not isinstance(value, bool):
        return ("number", struct.pack(">d", float(value) or 0.0))
    return (type(value).__name__, value)


@given(documents)
@example({"\ue000": 1, "\U0001f600": 2, "é": 3, "z": 4})  # UTF-16 order differs from code point order
@example({"__proto__": 1, "constructor": [], "toJSON": {}, "then": None})  # DOC-10
def test_the_package_is_the_oracle_of_the_canonical_form(document: dict[str, Any]) -> None:
    data = encode(document)
    assert data == rfc8785.dumps(document)
    assert like_json(decode(data)) == like_json(document)
    assert encode(decode(data)) == data


@given(documents)
def test_the_deep_reader_agrees_with_the_standard_library(document: dict[str, Any]) -> None:
    spaced = json.dumps(document, indent=1)
    assert like_json(json_text._read_deep(spaced)) == like_json(json.loads(spaced))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_double_comes_back_as_itself(number: float) -> None:
    back = decode(encode({"n": number}))["n"]
    assert struct.pack(">d", back) == struct.pack(">d", number or 0.0)  # DOC-9: -0 has become 0


@pytest.mark.parametrize("number", [SAFE, -SAFE, SAFE + 2, 10**20, 2**1000, -(2**1023)])
def test_an_integer_that_a_double_holds_is_written_as_that_double(number: int) -> None:
    assert encode({"n": number}) == rfc8785.dumps({"n": float(number)})


@pytest.mark.parametrize(
    "number",
    [SAFE + 1, -SAFE - 1, 10**23, 2**1024, 2**20_000],
    ids=lambda number: f"{number.bit_length()} bits",
)
def test_an_integer_that_no_double_holds_is_refused(number: int) -> None:
    with pytest.raises(InvalidDocument, match=r"^\$\.n: an integer that no double holds"):
        encode({"n": number})


# DOC-1


@pytest.mark.parametrize("root", [None, True, 1, 1.5, "x", [], [{}]])
def test_only_an_object_is_a_root(root: Any) -> None:
    with pytest.raises(InvalidDocument, match="is no root"):
        encode(root)
    with pytest.raises(InvalidDocument, match="is no root"):
        decode(json.dumps(root).encode())


def wide(count: int) -> dict[str, int]:
    return {f"k{index}": index for index in range(count)}


def test_a_root_has_at_most_1024_properties() -> None:
    assert decode(encode(wide(1024))) == wide(1024)
    with pytest.raises(InvalidDocument, match=r"^\$: 1025 properties; an object has at most 1024$"):
        encode(wide(1025))
    with pytest.raises(InvalidDocument):
        encode(wide(1025), bound_nested=False)


def test_the_bound_on_properties_holds_below_the_root_unless_a_latitude_says_otherwise() -> None:
    document = {"a": [wide(1025)]}
    with pytest.raises(InvalidDocument, match=r"^\$\.a\[0\]: 1025 properties"):
        encode(document)  # DOC-13, the reference's choice
    assert encode(document, bound_nested=False) == rfc8785.dumps(document)


# DOC-2


def of_size(count: int, text: str = "x") -> dict[str, str]:
    """A document of exactly so many canonical bytes."""
    room = count - len('{"k":""}')
    each = len(text.encode())
    return {"k": text * (room // each) + "x" * (room % each)}


@pytest.mark.parametrize("text", ["x", "é", "\U0001f600"])
def test_the_limit_on_bytes_is_inclusive(text: str) -> None:
    assert len(encode(of_size(FORM.document_bytes, text))) == FORM.document_bytes
    with pytest.raises(DocumentTooLarge, match=rf"^\$\.k: more than {FORM.document_bytes} bytes"):
        encode(of_size(FORM.document_bytes + 1, text))


@given(documents)
def test_the_limit_is_exact_for_every_document(document: dict[str, Any]) -> None:
    size = len(encode(document))
    assert len(encode(document, replace(FORM, document_bytes=size))) == size
    with pytest.raises(DocumentTooLarge):
        encode(document, replace(FORM, document_bytes=size - 1))


def test_a_graph_that_unfolds_without_end_is_refused_in_bounded_memory() -> None:
    shared: list[Any] = ["leaf"]
    for _ in range(1000):
        shared = [shared, shared]
    tracemalloc.start()
    try:
        with pytest.raises(DocumentTooLarge):
            encode({"a": shared}, replace(FORM, document_bytes=20_000))
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", [[0] * 600_000, ["x" * 60] * 20_000, "x" * 2_000_000, {"x" * 2_000_000: 0}])
def test_what_cannot_fit_is_refused_as_too_large(value: Any) -> None:
    with pytest.raises(DocumentTooLarge):
        encode({"a": value})


# DOC-3 and DOC-4


def cycle() -> list[Any]:
    inner: list[Any] = []
    inner.append({"back": inner})
    return inner


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (math.nan, "$.a[1]", "not finite"),
        (math.inf, "$.a[1]", "not finite"),
        (-math.inf, "$.a[1]", "not finite"),
        ("\ud800", "$.a[1]", "lone surrogate"),
        ("x" * 200 + "\udfff", "$.a[1]", "lone surrogate"),
        ({"\ud800": 1}, '$.a[1]["\\ud800"]', "lone surrogate"),
        ({1: 2}, "$.a[1]", "an integer is no key"),
        ({"k": {None: 2, "x": 1}}, "$.a[1].k", "null is no key"),
        (cycle(), "$.a[1][0].back", "a cycle"),
        ((1, 2), "$.a[1]", "class tuple"),
        ({1}, "$.a[1]", "class set"),
        (b"x", "$.a[1]", "class bytes"),
        (1j, "$.a[1]", "class complex"),
        (OrderedDict(a=1), "$.a[1]", "class OrderedDict"),
        (object(), "$.a[1]", "class object"),
        (print, "$.a[1]", "class builtin_function_or_method"),
        ({"odd key": {"$ok": {"x": [{}, ()]}}}, '$.a[1]["odd key"].$ok.x[1]', "class tuple"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(value: Any, path: str, reason: str) -> None:
    with pytest.raises(InvalidDocument, match=reason) as caught:
        encode({"a": [0, value]})
    assert caught.value.path == path
    assert "\n" not in str(caught.value)


def test_a_deep_path_is_shown_by_its_ends() -> None:
    value: Any = object()
    for _ in range(20_000):
        value = [value]
    with pytest.raises(InvalidDocument) as caught:
        encode({"a": value})
    assert caught.value.path.startswith("$.a[0]")
    assert len(caught.value.path) < 100


def hostile_classes() -> list[type]:
    """Subclasses of what is allowed, and a class of a hostile metaclass: each look at them fails."""

    def trap(*_: object, **__: object) -> Any:
        raise AssertionError("a document's code ran")

    names = [
        "__getattribute__",
        "__iter__",
        "__len__",
        "__getitem__",
        "__eq__",
        "__hash__",
        "__lt__",
        "__repr__",
    ]
    names += ["__str__", "__bool__", "__float__", "__int__", "__index__", "keys", "items", "toJSON"]
    traps = dict.fromkeys(names, trap)
    meta = type("Meta", (type,), {**traps, "__name__": property(trap), "__instancecheck__": trap})
    bases = (dict, list, str, int, float, object)
    return [*(type("Sub", (base,), traps) for base in bases), meta("Odd", (), traps)]


@pytest.mark.parametrize("index", range(7))
def test_no_code_of_a_foreign_class_runs(index: int) -> None:
    foreign: Any = hostile_classes()[index]
    value = object.__new__(foreign) if index > 4 else foreign.__new__(foreign)
    for document in (value, {"a": value}, {"a": [0, value]}):
        with pytest.raises(InvalidDocument, match=r"a value of class (Sub|Odd)"):
            encode(document)


def test_a_key_of_a_foreign_class_is_refused_before_it_is_compared() -> None:
    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __lt__(self, other: object) -> bool:
            raise AssertionError("a document's code ran")

        def __eq__(self, other: object) -> bool:
            raise AssertionError("a document's code ran")

    with pytest.raises(InvalidDocument, match="a value of class Key is no key"):
        encode({"b": 1, Key("a"): 2})


def test_a_boolean_is_a_boolean_and_never_a_number() -> None:
    assert encode({"a": [True, 1, False, 0, 1.0]}) == b'{"a":[true,1,false,0,1]}'


# DOC-5, DOC-9 and depth


def test_shared_objects_are_written_at_each_place() -> None:
    shared = {"x": [1, 2]}
    assert encode({"a": shared, "b": [shared, shared]}) == (
        b'{"a":{"x":[1,2]},"b":[{"x":[1,2]},{"x":[1,2]}]}'
    )


def test_decoded_copies_share_nothing() -> None:
    data = encode({"a": {"n": 1}})
    first = decode(data)
    first["a"]["n"] = 2
    assert decode(data) == {"a": {"n": 1}}


@pytest.mark.parametrize(
    ("begin", "end"),
    [(b'{"a":', b"}"), (b"[", b"]"), (b'[0,{"a":', b',"b":[]},{}]')],
    ids=["objects", "arrays", "both"],
)
def test_twenty_thousand_levels_are_ordinary(begin: bytes, end: bytes) -> None:
    data = b'{"deep":' + begin * 20_000 + b"1e+21" + end * 20_000 + b"}"
    assert encode(decode(data)) == data


# Text that is no document


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a":1,}',
        '{"a" 1}',
        "{a:1}",
        '{"a":NaN}',
        '{"a":-Infinity}',
        '{"a":01}',
        '{"a":[1 2]}',
        '{"a":1}{',
        "\ufeff{}",
        '{"a":"\n"}',
        '{"a":"\\x"}',
        '{"a":"',
        '{"a":[}',
        '{"a":nul}',
        '{"a":+1}',
        '{"a":.5}',
        "{1:2}",
        '{"a":1]',
    ],
)
def test_bytes_that_are_no_json_object_are_refused(text: str) -> None:
    with pytest.raises(InvalidDocument, match="give a JSON object"):
        decode(text.encode())
    with pytest.raises(ValueError, match=r".+"):
        json_text._read_deep(text)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(InvalidDocument, match="utf-8"):
        decode(b'{"a":"\xff"}')


@pytest.mark.parametrize("depth", [0, 100_000])
@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '{"b":{"a":[],"c":0,"\\u0061":{}}}'])
def test_a_key_that_is_there_twice_is_found_where_it_is_asked_for(text: str, depth: int) -> None:
    data = ("[" * depth + text + "]" * depth).encode()
    json_text.read(data)
    with pytest.raises(ValueError, match='the key "a" twice'):
        json_text.read(data, unique=True)
    assert json_text.read(b'{"a":{"a":10000000000000001}}', unique=True) == {"a": {"a": 1e16}}


def test_an_error_is_one_line_and_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"^\$\.a: a value of class set is not JSON") as caught:
        encode({"a": {1}})
    assert isinstance(caught.value, DocumentError)


# Sizes of events and lengths of texts


@given(texts, st.none() | documents)
def test_an_event_counts_as_its_canonical_object(type: str, payload: dict[str, Any] | None) -> None:
    whole: dict[str, Any] = {"type": type} if payload is None else {"type": type, "payload": payload}
    assert event_bytes(type, None if payload is None else encode(payload)) == len(rfc8785.dumps(whole))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u0301", 2),
        ("\U0001f600", 1),
        ("\ud800", None),
        ("a\udfff", None),
        ("\ud83d\ude00", None),
    ],
)
def test_scalars_are_counted_and_lone_surrogates_are_seen(text: str, count: int | None) -> None:
    assert scalars(text) == count
