"""Documents in JavaScript: what is one, what it is written as, and that nothing of the application's runs."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from typing import Any

from fencepost import documents
from fencepost.machine.state import Failed, Instance, Succeeded

DOCUMENTS: dict[str, str | None] = {
    '({ ["__proto__"]: { a: 1 } })': '{"__proto__":{"a":1}}',
    "({ __proto__: { a: 1 } })": None,
    "({ __proto__: null, a: 1 })": '{"a":1}',
    "({ constructor: 1, toJSON: 2, then: 3 })": '{"constructor":1,"then":3,"toJSON":2}',
    "({ a: [1, , 3] })": None,
    "({ a: Object.assign([1, , 3], { extra: 1 }) })": None,
    "({ a: Object.assign([1], { extra: 1 }) })": None,
    "({ a: /(?<x>a)/.exec('a') })": None,
    "({ a: 'abc'.match(/b/) })": None,
    "({ a: (function () { return arguments; })(1) })": None,
    "({ a: Object.setPrototypeOf(new Date(0), Object.prototype) })": None,
    "({ a: Object.setPrototypeOf(new Map(), null) })": None,
    "({ a: new Date(0) })": None,
    "({ a: new (class {})() })": None,
    "({ a: new (class extends Array {})() })": None,
    "({ a: new String('x') })": None,
    "({ a: new Uint8Array(1) })": None,
    "({ a: new Proxy({}, {}) })": None,
    "({ a: (() => { const { proxy, revoke } = Proxy.revocable([], {}); revoke(); return proxy; })() })": None,
    "new Proxy({}, {})": None,
    "({ get a() { mark('ran'); return 1; } })": None,
    "({ a: [1, 2].map((n) => ({ get n() { mark('ran'); return n; } })) })": None,
    "({ toJSON() { mark('ran'); return {}; } })": None,
    "Object.defineProperty({}, 'a', { value: 1 })": None,
    "({ [Symbol()]: 1 })": None,
    "({ a: Symbol() })": None,
    "({ a: 1n })": None,
    "({ a: NaN })": None,
    "({ a: undefined })": None,
    "({ a: '\\ud800' })": None,
    "({ '\\ud800': 1 })": None,
    "({ a: -0, b: 1e21, c: 0.1, d: 5e-324, e: 1e-7, f: 333333333.33333329 })": (
        '{"a":0,"b":1e+21,"c":0.1,"d":5e-324,"e":1e-7,"f":333333333.3333333}'
    ),
    "({ a: '\\u20ac\\u0001\\u007f\\u2028\"\\\\/' })": '{"a":"€\\u0001\u007f\u2028\\"\\\\/"}',
    "({ '\\ud83d\\ude00': 1, '\\ufb33': 2, '\\u20ac': 3, '1': 4, '\\r': 5, '': 6 })": (
        '{"":6,"\\r":5,"1":4,"€":3,"😀":1,"\ufb33":2}'
    ),
    "((o) => ({ x: o, y: [o, o] }))({ a: {} })": '{"x":{"a":{}},"y":[{"a":{}},{"a":{}}]}',
    "((o) => { o.self = o; return o; })({})": None,
    "((o) => { o.list = [[o]]; return o; })({})": None,
    "({ a: {}, b: [], c: null, d: true, e: false, f: '' })": (
        '{"a":{},"b":[],"c":null,"d":true,"e":false,"f":""}'
    ),
    "undefined": "",
    "null": None,
    "[1]": None,
    "'text'": None,
    "Object.fromEntries(Array.from({ length: 1025 }, (_, n) => [n, 0]))": None,
    "({ a: Object.fromEntries(Array.from({ length: 1025 }, (_, n) => [n, 0])) })": None,
}
"""An expression and its canonical text: none where it is no document, empty where it is undefined."""

SIZES = {
    "({ a: 'x'.repeat(1048576 - 8) })": 1_048_576,
    "({ a: 'x'.repeat(1048576 - 7) })": None,
    "({ a: '\\u20ac'.repeat((1048576 - 10) / 3) + 'xx' })": 1_048_576,
    "({ a: '\\u20ac'.repeat((1048576 - 10) / 3) + 'xxx' })": None,
    "({ a: Array.from({ length: 524284 }, () => 1) })": 1_048_575,
    "({ a: Array.from({ length: 524285 }, () => 1) })": None,
    "(() => { let o = {}; for (let n = 0; n < 100; n++) o = { a: o, b: o }; return o; })()": None,
    "({ a: (() => { let o = []; for (let n = 0; n < 99999; n++) o = [o]; return o; })() })": 200_006,
}
"""An expression and the length of its canonical text: none where it is no document."""

SOURCE = """
const mark = (label) => { fetch(`http://marks/${label}`).catch(() => {}); };
const makers = [MAKERS];
export class Writes {
  async run(event, step) {
    for (const [index, make] of makers.entries()) {
      try { await step.do(`${index}`, make); } catch {}
    }
  }
}
"""


def written(stage_of: Callable[[str], Any], expressions: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """What each expression was recorded as, and what ran of the application's."""
    stage = stage_of(SOURCE.replace("MAKERS", ", ".join(f"() => {each}" for each in expressions)))
    host = stage.host("Writes")
    host.create("i")
    host.settle()
    slot = host.slot((host.uid, "i"))
    assert isinstance(slot, Instance)
    assert host.status("i") == {"status": "complete"}
    return [slot.history[str(index)].outcome for index in range(len(expressions))], stage.marks


def test_every_value_is_written_canonically_or_refused(stage_of: Callable[[str], Any]) -> None:
    outcomes, marks = written(stage_of, DOCUMENTS)
    for (expression, text), outcome in zip(DOCUMENTS.items(), outcomes, strict=True):
        if text is None:
            assert outcome == Failed("step_failed"), expression
        else:
            assert outcome == Succeeded(text.encode() or None), expression
    assert marks == [], "no getter and no toJSON runs"


def test_sizes_are_counted_to_the_byte_and_depth_is_no_limit(stage_of: Callable[[str], Any]) -> None:
    outcomes, _ = written(stage_of, SIZES)
    for (expression, size), outcome in zip(SIZES.items(), outcomes, strict=True):
        if size is None:
            assert outcome == Failed("step_failed"), expression
        else:
            assert isinstance(outcome, Succeeded), expression
            assert outcome.document is not None
            assert len(outcome.document) == size, expression


COPIES = """
export class Copies {
  async run({ params }, step) {
    for (const [index, value] of params.values.entries()) await step.do(`${index}`, () => ({ value }));
  }
}
"""

PLANES = (0x00, 0x1F, 0x20, 0x22, 0x5C, 0x7F, 0x100, 0x2028, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF)


def some_text(chance: random.Random) -> str:
    return "".join(chr(chance.choice(PLANES)) for _ in range(chance.randrange(6)))


def some_value(chance: random.Random, depth: int = 0) -> Any:
    """Any JSON, with doubles of every magnitude and texts from every plane."""
    kind = chance.randrange(7 if depth < 4 else 5)
    if kind == 0:
        return chance.choice([None, True, False, 0, -1, 0.1, ""])
    if kind == 1:
        double: float = struct.unpack("<d", chance.randbytes(8))[0]
        return double if math.isfinite(double) else -0.0
    if kind == 2:
        return float(chance.randrange(-(10**22), 10**22)) / 10.0 ** chance.randrange(30)
    if kind < 5:
        return some_text(chance)
    if kind == 5:
        return [some_value(chance, depth + 1) for _ in range(chance.randrange(5))]
    return {some_text(chance): some_value(chance, depth + 1) for _ in range(chance.randrange(5))}


def test_both_languages_write_the_same_bytes(stage_of: Callable[[str], Any]) -> None:
    chance = random.Random(8785)
    values = [some_value(chance) for _ in range(400)]
    host = stage_of(COPIES).host("Copies")
    host.create("i", {"values": values})
    host.settle()
    slot = host.slot((host.uid, "i"))
    assert host.status("i") == {"status": "complete"}
    for index, value in enumerate(values):
        assert slot.history[str(index)].outcome == Succeeded(documents.encode({"value": value}))
