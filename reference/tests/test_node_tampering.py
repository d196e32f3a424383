"""Application code that puts its own in the place of the language changes nothing that is committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fencepost.machine.state import Failed, Succeeded

PREAMBLE = """
const boom = () => { throw new Error("boom"); };
const failure = async (step) => {
  try { await step.do("failing", boom); } catch (error) { return error; }
};
"""

TAMPERING = {
    "Promise_constructor": "Promise.prototype.constructor = function () { throw new Error(); };",
    "Promise_species": "Object.defineProperty(Promise, Symbol.species, { get() { throw new Error(); } });",
    "Promise_then": "Promise.prototype.then = function () { return this; };",
    "Array_sort": "Array.prototype.sort = function () { return this.reverse(); };",
    "Array_iterator": 'Array.prototype[Symbol.iterator] = function* () { yield "tampered"; };',
    "Array_index": 'Object.defineProperty(Array.prototype, "0", { set() {}, get: () => 7 });',
    "Object_value": "Object.prototype.value = 7; Object.prototype.get = () => 7; "
    "Object.prototype.set = null;",
    "Object_failed": 'Object.prototype.failed = "x"; Object.prototype.recorded = "{}"; '
    "Object.prototype.run = 1;",
    "Object_toJSON": 'Object.prototype.toJSON = () => ({}); String.prototype.toJSON = () => "tampered";',
    "Object_enumerable": "Object.prototype.enumerable = false; Object.prototype.writable = false;",
    "JSON": 'JSON.parse = () => ({}); JSON.stringify = () => "{}";',
    "Reflect": "for (const key of Object.keys(Object.getOwnPropertyDescriptors(Reflect))) "
    'if (key !== "constructor") Reflect[key] = () => undefined;',
    "Map_and_WeakMap": 'Map.prototype.get = () => 7; WeakMap.prototype.get = () => "step_failed"; '
    "Set.prototype.has = () => true; WeakMap.prototype.has = () => true;",
    "Object_statics": "Object.defineProperty = () => ({}); Object.freeze = () => {}; "
    "Object.getOwnPropertyDescriptor = () => undefined; Object.hasOwn = () => true; "
    "Array.isArray = () => false;",
    "String": 'String.prototype.isWellFormed = () => false; String.prototype.slice = () => "tampered";',
    "Function": "Function.prototype.call = () => 7; Function.prototype.apply = () => 7; "
    "Function.prototype.bind = () => () => 7;",
    "globals": "Number.isFinite = () => false; for (const name of ['Error', 'TypeError', 'Promise', 'Map', "
    "'WeakMap', 'Set', 'Object', 'Reflect', 'Proxy', 'Uint8Array']) globalThis[name] = null;",
    "Error_hooks": "Error.prepareStackTrace = () => { throw 1; }; Error.stackTraceLimit = 0;",
    "typed_arrays": "Object.getPrototypeOf(Uint8Array.prototype).set = () => { throw 1; }; "
    "Uint8Array.prototype.subarray = () => { throw 1; };",
}
"""Statements after which a workflow must end as if they had not been there."""

SPOILS_THE_OTHERS = {"Function", "Object_failed", "Object_value", "Promise_then"}
"""After these the application itself would not come to its steps."""

TAMPERED = """
  const error = await failure(step);
  const first = await step.do("first", () => ({ b: 1, a: [1, { c: 2 }], "\\u00e9": "\\ud83d\\ude00" }));
  await step.do("second", async () => ({ z: 0, y: [] }));
  return { name: error.name, first };
"""

TAMPERED_ENDS = {
    "name": "step_failed",
    "first": {"a": [1, {"c": 2}], "b": 1, "é": "😀"},
}


@pytest.fixture(scope="module")
def stage(stage_of: Callable[[str], Any]) -> Any:
    classes = (
        f"export class Tampers_{name} {{ async run(event, step) {{ {statements} {TAMPERED} }} }}"
        for name, statements in TAMPERING.items()
    )
    return stage_of(PREAMBLE + "\n".join(classes))


@pytest.mark.parametrize("name", TAMPERING)
def test_what_is_committed_is_as_without_it(stage: Any, name: str) -> None:
    holds(stage, f"Tampers_{name}")


def test_nor_where_the_module_does_it_all_at_once(stage_of: Callable[[str], Any]) -> None:
    statements = "\n".join(each for name, each in TAMPERING.items() if name not in SPOILS_THE_OTHERS)
    holds(
        stage_of(f"{PREAMBLE}\n{statements}\nexport class W {{ async run(event, step) {{ {TAMPERED} }} }}"),
        "W",
    )


def holds(stage: Any, class_name: str) -> None:
    host = stage.host(class_name)
    host.create("i")
    host.settle()
    history = host.slot((host.uid, "i")).history
    assert {each: history[each].outcome for each in history} == {
        "failing": Failed("step_failed"),
        "first": Succeeded('{"a":[1,{"c":2}],"b":1,"é":"😀"}'.encode()),
        "second": Succeeded(b'{"y":[],"z":0}'),
    }
    assert stage.ended(host) == TAMPERED_ENDS
