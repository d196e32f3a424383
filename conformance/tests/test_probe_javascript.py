"""The probe in JavaScript does what the probe in Python does: the same calls and reports in the same turns.

Both run under a step and a journal that are nobody's Host. The step records at once, so that one context goes
through a whole program: a name is done once and replayed, an effect is tried as often as its policy says, a
sleep takes one turn, and of four waits the third times out and the fourth gets no payload. The twin of it
is `probe_harness.mjs`, which runs all programs of a test in one process of Node.
"""

import datetime
import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace

import pytest
from fencepost.contexts.node_tools import NodeMissing, node
from fencepost.contexts.turns import Turns
from fencepost.documents import DocumentError, decode, encode
from fencepost.workflow import StepError
from fencepost_conformance import calls
from fencepost_conformance.adapter import ABSENT
from fencepost_conformance.bench import live
from fencepost_conformance.generate.programs import programs
from fencepost_conformance.probe import load
from fencepost_conformance.probe.javascript import source
from fencepost_conformance.probe.oddities import NULL, ODDITIES, UNDEFINED, at_root
from fencepost_conformance.probe.values import build, error_name
from fencepost_conformance.scenario import shipped
from hypothesis import HealthCheck, Phase, given, seed, settings

HARNESS = Path(__file__).with_name("probe_harness.mjs")
TIMER_ROUNDS = 3
LONG = 64
MOST_ATTEMPTS = 4
GENERATED = 80
STEPS = frozenset({"do", "sleep", "wait"})
BESIDE = frozenset({"together", "race", "unawaited"})
SPIN = frozenset({"spin"})  # JavaScript's would never come back
NO_DOCUMENT = re.compile(
    r'\["(undefined|function|symbol|symbol key|bigint|number", "[NI]|date|map|instance|accessor|cycle|extra)'
)


class World:
    """The twin of the harness's: a step, a journal and a binding that write down what reaches them."""

    def __init__(self):
        self.driver = Turns()
        self.turn = 1
        self.trace = []
        self.finished = {}
        self.executions = Counter()
        self.waits = 0

    def note(self, *entry):
        self.trace.append([self.turn, *entry])

    # The journal

    def run(self, instance):
        self.note("run", instance)

    def mark(self, label):
        self.note("mark", label)

    async def effect_start(self, instance, name):
        self.note("effect-start", instance, name)
        self.executions[name] += 1
        execution = self.executions[name]
        await self.driver.next_turn()
        return execution

    async def effect_end(self, instance, name):
        self.note("effect-end", instance, name)
        await self.driver.next_turn()

    async def gate(self, name):
        self.note("gate", name)
        await self.driver.next_turn()

    async def tick(self, milliseconds):
        await self.driver.tick()

    # The step

    def do(self, name, effect, *policy):
        self.note("do", describe(name), describe(effect), *map(describe, policy))
        return self.once(name, lambda: self.effect(name, effect, policy))

    def sleep(self, name, seconds):
        self.note("sleep", describe(name), describe(seconds))
        return self.once(name, lambda: self.slept(seconds))

    def wait_for_event(self, name, *, type, timeout_seconds):
        self.note("wait", describe(name), describe({"type": type, "timeoutSeconds": timeout_seconds}))
        return self.once(name, lambda: self.waited(type, timeout_seconds))

    def once(self, name, work):
        if not is_text(name):
            return self.driver.start(refuse())
        if name not in self.finished:
            self.finished[name] = self.driver.start(work())
        return self.finished[name]

    async def effect(self, name, effect, policy):
        most = (policy[0].get("maxAttempts") if isinstance(policy[0], dict) else None) if policy else 1
        if not callable(effect) or not is_count(most, 1):
            raise TypeError("effect or policy")
        for _ in range(min(most, MOST_ATTEMPTS)):
            try:
                result = await effect()
                described = describe(UNDEFINED if result is None else result)
                self.note("result", name, described)
                if is_fit(described):
                    return result
            except Exception as error:
                self.note("failure", name, describe(error))
        raise StepError("step_failed")

    async def slept(self, seconds):
        if not is_count(seconds, 0):
            raise TypeError("seconds")
        await self.driver.next_turn()

    async def waited(self, type, seconds):
        if not is_text(type) or not is_count(seconds, 1):
            raise TypeError("options")
        self.waits += 1
        number = self.waits
        await self.driver.next_turn()
        if number % 4 == 3:
            raise StepError("wait_timeout")
        return {"n": number} if number % 4 else None

    # The caller's binding

    async def get(self, id):
        self.note("get", id)

        async def terminate():
            self.note("terminate", id)

        return SimpleNamespace(terminate=terminate)


def is_text(value):
    return isinstance(value, str) and value != ""


def is_count(value, least):
    """As JavaScript counts, to which 5.0 is 5; a large int stands in for a BigInt."""
    whole = value < 2**53 if type(value) is int else type(value) is float and value.is_integer()
    return whole and value >= least


def is_fit(described):
    """Whether a step's result is a document or undefined, by its description."""
    if described == ["undefined"]:
        return True
    root = isinstance(described, dict) or (isinstance(described, list) and described[0] == "long object")
    return root and not NO_DOCUMENT.search(json.dumps(described))


async def refuse():
    raise TypeError("name")


def in_python(params, version="v1"):
    """What the Python probe does with a program, in the words of the harness."""
    world = World()
    probe = load(version)()["Probe"]({"VERSION": version, "JOURNAL": world, "PROBE": world})
    run = world.driver.start(probe.run(SimpleNamespace(instance_id="i", params=params), world))
    outcome = None

    def turn():
        nonlocal outcome
        world.driver.turn()
        if run.settled and outcome is None:
            outcome = [world.turn, *ended(run)]

    def quiet():
        turn()
        while not world.driver.idle:
            world.turn += 1
            turn()

    quiet()
    for _ in range(TIMER_ROUNDS):
        world.turn += 1
        world.driver.fire_ticks()
        quiet()
    world.driver.discard()
    return {"trace": world.trace, "outcome": outcome}


def ended(run):
    if run.error is None:
        return ["returned", describe(UNDEFINED if run.value is None else run.value)]
    return ["threw", describe(run.error), isinstance(run.error, StepError)]


def describe(value, above=()):
    """The same as the harness's `describe`, of the stand-ins that Python has for JavaScript's values."""
    kind = type(value)
    if value is None or value is NULL:
        return None
    if kind is str:
        units = value.encode("utf-16-le", "surrogatepass")
        last = units[-2:].decode("utf-16-le", "surrogatepass")
        return value if len(units) <= 2 * LONG else ["text", len(units) // 2, last]
    if kind in (int, float):
        return number(value)
    if kind in STAND_INS:
        return STAND_INS[kind](value)
    if isinstance(value, Exception):
        return ["error", error_name(value)]
    if any(each is value for each in above):
        return ["cycle"]
    if isinstance(value, list):
        return listed(value, [["extra"]] if hasattr(value, "extra") else [], (*above, value))
    if isinstance(value, dict):
        return filled(value, (*above, value))
    return ["function"] if callable(value) else value


def number(value):
    if value == 2**64 + 1 and type(value) is int:
        return ["bigint"]
    value = float(value)
    if math.isnan(value) or math.isinf(value):
        return ["number", "NaN" if math.isnan(value) else "Infinity"]
    return ["number", "-0"] if value == 0 and math.copysign(1, value) < 0 else value


def listed(value, extra, above):
    if len(value) > LONG:
        return ["long array", len(value), describe(value[0], above), describe(value[-1], above), *extra]
    return ["array", *(describe(each, above) for each in value), *extra]


def filled(value, above):
    if not all(isinstance(key, str) for key in value):
        return ["symbol key"]
    if len(value) > LONG:
        return ["long object", len(value), next(iter(value)), list(value)[-1]]
    return {key: describe(each, above) for key, each in value.items()}


STAND_INS = {
    bool: bool,
    object: lambda value: ["symbol"],
    set: lambda value: ["map"],
    type(UNDEFINED): lambda value: ["undefined"],
    datetime.datetime: lambda value: [
        "date",
        value.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    ],
    type(ODDITIES["accessor"]()): lambda value: {"a": ["accessor"]},
    type(ODDITIES["accessorThatThrows"]()): lambda value: {"a": ["accessor"]},
    type(ODDITIES["classInstance"]()): lambda value: ["instance"],
}


# The harness


@pytest.fixture(scope="module")
def in_node():
    """Does jobs in one process of Node."""
    try:
        program = node()
    except NodeMissing as missing:
        pytest.skip(str(missing))

    def do(*jobs):
        command = [str(program), str(HARNESS), str(source().path)]
        done = subprocess.run(command, input=json.dumps(jobs).encode(), capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return do


def run_of(program, version="v1", **params):
    """The job that runs a program, with what a Host would hand over of its params."""
    document = decode(encode({"program": program, **params}))
    return {"job": "run", "params": document, "version": version}


def alike(in_node, jobs):
    """Both probes do the same with each program, in the same turns and with the same end."""
    found = []
    for label, job, theirs in zip(jobs, jobs.values(), in_node(*jobs.values()), strict=True):
        ours = in_python(job["params"], job["version"])
        told = by_turns if has(job["params"], BESIDE) else list
        if (told(ours["trace"]), ours["outcome"]) != (told(theirs["trace"]), theirs["outcome"]):
            both = zip_longest(ours["trace"], theirs["trace"])
            first = next((pair for pair in both if pair[0] != pair[1]), None)
            found.append(f"{label}: first difference {first}, ends {ours['outcome']}, {theirs['outcome']}")
    assert not found, "Python's probe, then JavaScript's:\n" + "\n".join(found)


def by_turns(trace):
    """The step calls in their order, and what each turn held: who comes first in it is the language's."""
    return [entry for entry in trace if entry[1] in STEPS], sorted(trace, key=json.dumps)


def has(params, words):
    """Whether a program has one of the words."""
    if isinstance(params, list):
        return any(has(each, words) for each in params)
    return isinstance(params, dict) and (not words.isdisjoint(params) or has(list(params.values()), words))


# The same programs


def directed() -> Iterator[tuple[str, dict]]:
    """Every program of every shipped scenario, on every Version, with the params of its first create."""
    for scenario in shipped():
        creates = {entry["program"]: entry for entry in reversed(creating(scenario)) if "program" in entry}
        for name in scenario.programs:
            call = creates.get(name)
            for version in scenario.versions:
                yield f"{scenario.id} {name} {version}", job_of(scenario, name, call, version)


def creating(scenario):
    entries = (entry.get("start", entry.get("dropResponse", entry)) for entry in scenario.schedule)
    return [entry for entry in entries if isinstance(entry, dict) and "create" in entry]


def job_of(scenario, name, call, version):
    if call is not None and not scenario.heavy:
        try:
            document = build(calls.params(call, scenario, {}), {})
            return {"job": "run", "params": decode(encode(document)), "version": version}
        except DocumentError:
            pass  # params that no Host lets through
    return run_of(scenario.programs[name], version)


def test_programs_of_directed_scenarios(in_node):
    jobs = {label: job for label, job in directed() if not has(job["params"], SPIN)}
    alike(in_node, jobs)


def test_generated_programs(in_node):
    drawn = []

    @seed(20)
    @settings(
        max_examples=GENERATED,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs("s", versions=True))
    def draw(program):
        drawn.append({"v1": list(program.operations), "v2": list(program.newer)})

    draw()
    jobs = {
        f"{place} {version} {program[version]}": run_of(program, version, n=1)
        for place, program in enumerate(drawn)
        for version in program
    }
    alike(in_node, jobs)


def do(name, effect=None, **more):
    return {"do": name, "effect": effect or {"value": {}}, **more}


def keep(*values):
    """Does a step for each VALUE, so that it is seen; the output holds them too."""
    steps = [do(f"s{place}", {"value": {"v": value}}) for place, value in enumerate(values)]
    return [*steps, {"return": {"all": list(values)}}]


HAND_WRITTEN = {
    "no end": [],
    "an output that is undefined": [{"return": {"$": "nothing"}}],
    "forms": keep(
        {"$repeat": ["ab", 3]},
        {"$array": [{"$repeat": ["x", 2]}, 3]},
        {"$string": [97, 0xD83D, 0xDE00]},
        {"$size": 2},
        {"$size": 12},
        {"$literal": {"$": "x", "__proto__": {"$size": 2}}},
        {"$": "nothing.at.all", "two": 1},
        {"constructor": 1},
        {"__proto__": {"$repeat": ["p", 2]}},
        [{"$isUndefined": "nothing"}, {"$isUndefined": "$params"}],
        {"$params": True},
    ),
    "forms that are no documents": [
        do(f"s{place}", {"value": {"v": value}}, catch="e")
        for place, value in enumerate(
            [{"$string": [0xD83D]}, {"$": "x"}, {"$error": "x"}, {"$describe": "x"}, {"$oddity": "hole"}]
        )
    ],
    "paths": [
        {"set": "o", "to": {"a": {"b": [1, {"c": "text"}]}, "__proto__": {"d": 1}, "n": None}},
        *keep(
            {"$": "o.a.b.1.c"},
            {"$": "o.a.b.length"},
            {"$": "o.a.b.1.c.length"},
            {"$": "o.__proto__.d"},
            [
                {"$isUndefined": path}
                for path in ("o.a.x", "o.n.x", "o.a.constructor", "o.a.b.7", "o.toString", "p")
            ],
        ),
    ],
    "assignments": [
        {"set": "o", "to": {"list": [1], "a": {}}},
        {"set": "o.list.0", "to": 2},
        {"set": "o.list.1", "to": 3},
        {"set": "o.a.b", "to": {"$": "o.list"}},
        {"set": "o.__proto__", "to": {"x": 1}},
        {"set": "o.__proto__.x", "to": 2},
        {"set": "__proto__", "to": 4},
        {"return": {"o": {"$": "o"}, "p": {"$": "__proto__"}, "none": {"$isUndefined": "constructor"}}},
    ],
    "an assignment into nothing": [{"set": "o.a", "to": 1}],
    "an assignment into a string": [{"set": "o", "to": "text"}, {"set": "o.a", "to": 1}],
    "what was handed out is changed": [
        do("a", {"value": {"list": [1]}}, **{"as": "o"}),
        {"set": "o.n", "to": 9},
        do("a", **{"as": "p"}),
        {"return": {"o": {"$": "o"}, "p": {"$": "p"}}},
    ],
    "names": [
        {"set": "x", "to": {"y": "z"}},
        {"repeat": 2, "index": "n", "ops": [do("s${n}-${x.y}-${nothing}-${", {"value": {"n": {"$": "n"}}})]},
        do({"$repeat": ["long", 99]}),
        do({"$": "nothing"}, catch="e"),
        do({"$literal": 7}, catch="e"),
        do("", catch="e"),
        {"return": {"e": {"$": "e.name"}}},
    ],
    "arguments": [
        {"do": "a", "catch": "e"},
        *({"do": f"e{place}", "effect": effect, "catch": "e"} for place, effect in enumerate([7, "x", {}])),
        do("null", {"value": {}}, retry={"maxAttempts": {"$": "nothing"}}, catch="e"),
        do("text", retry="2", catch="e"),
        do("odd", retry={"maxAttempts": 2, "initialDelaySeconds": {"$oddity": "nan"}}),
        {"sleep": "b", "catch": "e"},
        {"sleep": "c", "seconds": {"$oddity": "bigint"}, "catch": "e"},
        {"wait": "d", "catch": "e"},
        {"wait": "f", "type": ["t"], "timeoutSeconds": 1, "catch": "e"},
        {"wait": "g", "type": "t", "timeoutSeconds": {"$array": [1, 2]}, "catch": "e"},
    ],
    "effects": [
        do("undefined", {"undefined": True}, **{"as": "u"}),
        do("gate", {"gate": "g", "then": {"value": {"n": 1}}}, **{"as": "g"}),
        do("bare gate", {"gate": "g"}, **{"as": "b"}),
        do("throw", {"throw": {"$repeat": ["no", 2]}}, catch="t"),
        do("attempts", {"attempts": [{"throw": "1"}, {"value": {"n": 2}}]}, retry={"maxAttempts": 4}),
        do("last", {"attempts": [{"throw": "1"}, {"throw": "2"}]}, retry={"maxAttempts": 4}, catch="l"),
        do("nested", {"nested": do("inner", {"value": {"n": 3}}, **{"as": "i"})}, **{"as": "n"}),
        do("failing", {"nested": do("inside", {"throw": "x"})}, catch="f"),
        *keep({"$isUndefined": "u"}, {"$isUndefined": "n"}),
        {"return": {"i": {"$": "i"}, "g": {"$": "g"}}},
    ],
    "an effect that ticks": [
        {"race": [do("t", {"ticking": "l", "everyMs": 5}), {"sleep": "s", "seconds": 0}]},
    ],
    "a ticker": [{"ticker": "l", "everyMs": 5}, {"sleep": "s", "seconds": 0}],
    "errors": [
        do("a", {"throw": "no"}, catch="genuine"),
        {"try": [{"throw": "own"}], "catch": "own"},
        {"try": [{"throwCopyOf": "genuine"}], "catch": "copy"},
        {"try": [{"throwCauseOf": "genuine"}], "catch": "wrapper"},
        {"try": [{"rethrow": "genuine"}], "catch": "same"},
        {"try": [{"rethrow": "nothing"}], "catch": "none"},
        {"return": {
            "genuine": [{"$error": "genuine"}, {"$describe": "genuine"}],
            "own": [{"$error": "own"}, {"$isUndefined": "own.cause"}, {"$isUndefined": "own.code"}],
            "copy": [{"$error": "copy"}, {"$describe": "copy"}],
            "wrapper": [{"$error": "wrapper"}, {"$": "wrapper.cause.name"}],
            "same": {"$error": "same"},
            "none": {"$error": "none"},
        }},
    ],
    "the same error": [do("a", {"throw": "no"}, catch="e"), {"sleep": "s", "seconds": 0}, {"rethrow": "e"}],
    "a copy of it": [do("a", {"throw": "no"}, catch="e"), {"throwCopyOf": "e"}],
    "a wrapper of it": [do("a", {"throw": "no"}, catch="e"), {"throwCauseOf": "e"}],
    "blocks": [
        {"repeat": 3, "index": "n", "ops": [{"if": {"$": "n"}, "then": [{"mark": "m"}], "else": []}]},
        {"try": [{"try": [{"throw": "a"}], "finally": [{"mark": "f"}]}], "handler": [{"mark": "h"}]},
        {"try": [{"try": [{"throw": "a"}], "handler": [{"throw": "b"}], "finally": [{"mark": "g"}]}],
         "catch": "e"},
        {"if": {"$": "e"}, "then": [do("in", {"value": {"e": {"$": "e.message"}}})]},
        {"repeat": 9, "ops": [{"try": [{"return": {"n": 1}}], "finally": [{"mark": "over"}]}]},
    ],
    "a return in finally": [{"try": [{"throw": "a"}], "finally": [{"return": {"n": 1}}]}],
    "a throw in finally": [{"try": [{"return": {}}], "finally": [{"throw": "b"}]}],
    "truth": [
        {"if": value, "then": [{"mark": "true"}], "else": [{"mark": "false"}]}
        for value in ["", "a", 0, 1, None, True, [], {}, {"$oddity": "nan"}, {"$oddity": "map"}, {"$": "x"}]
    ],
    "beside each other": [
        {"together": [do("a", **{"as": "a"}), {"sleep": "s", "seconds": 0}, {"wait": "w", "type": "t"}],
         "catch": "e"},
    ],
    "all of them": [
        {"together": [do("a", **{"as": "a"}), do("b")]},
        {"together": []},
        {"return": {"$": "a"}},
    ],
    "one of them": [{"race": [do("slow", {"gate": "g"}), do("a", {"undefined": True})]}, {"return": {}}],
    "one that fails": [{"race": [do("slow", {"gate": "g"}), do("", {"undefined": True})]}],
    "none of them": [{"race": []}, {"return": {}}],
    "not awaited": [{"unawaited": do("a")}, {"unawaited": {"sleep": "", "seconds": 0}}, {"return": {}}],
    "counters": [
        *[{"moduleCounter": "m"}, {"instanceCounter": "k"}] * 2,
        {"return": {"m": {"$": "m"}, "k": {"$": "k"}}},
    ],
    "the binding": [{"call": "terminate"}, {"return": {}}],
    "an unknown operation": [{"do something": "else"}],
}  # fmt: skip


def test_programs_written_for_this(in_node):
    alike(in_node, {name: run_of(program, n=1) for name, program in HAND_WRITTEN.items()})


def test_the_program_of_the_version_is_run_and_no_other(in_node):
    program = {"v1": [{"return": {"n": 1}}], "v2": [{"return": {"n": 2}}]}
    alike(in_node, {version: run_of(program, version) for version in ("v1", "v2")})
    without = {"job": "run", "params": {"n": 1}, "version": "v1"}
    alike(in_node, {"no program": without})


# What Python cannot show


def test_every_oddity_is_what_its_name_says(in_node):
    whole = {kind: at_root(kind) for kind in ODDITIES}
    jobs = [
        {"job": "oddity", "kind": kind, "whole": not (isinstance(root, dict) and "oddity" in root)}
        for kind, root in whole.items()
    ]
    answers = dict(zip(ODDITIES, in_node(*jobs), strict=True))
    assert answers == {kind: {"sound": [True] * 5, "fresh": True} for kind in ODDITIES}


def test_turns_are_those_of_code_written_by_hand(in_node):
    cases = [("nothing", False), ("flat", False), ("unawaited", False), ("guarded", False), ("guarded", True)]
    answers = in_node(*({"job": "turns", "name": name, "rejects": rejects} for name, rejects in cases))
    for case, answer in zip(cases, answers, strict=True):
        assert answer["probe"] == answer["byHand"], case
    assert [answer["atOnce"] for answer in answers] == [[], [], ["a"], ["a"], ["a"]]


def test_a_closed_gate_is_asked_again_after_a_timer(in_node):
    program = [do("a", {"gate": "g"}), {"return": {}}]
    (answer,) = in_node({**run_of(program), "closed": ["g"]})
    gates = [entry for entry in answer["trace"] if entry[1] == "gate"]
    assert len(gates) == 2
    assert answer["outcome"][1:] == ["returned", {}]


def test_nobody_waits_for_a_journal_that_is_away_but_effects(in_node):
    program = [{"mark": "m"}, do("a", catch="e"), {"return": {"e": {"$": "e.name"}}}]
    (answer,) = in_node({**run_of(program), "away": True})
    assert answer["trace"][1] == [1, "failure", "a", ["error", "TypeError"]]
    assert answer["outcome"] == [1, "returned", {"e": "step_failed"}]


def test_a_spin_computes_without_yielding(in_node):
    assert in_node({"job": "spin"}) == [[["run", "i"], ["mark", "before"]]]


def test_what_is_not_given_is_no_argument_and_null_is_one(in_node):
    program = [
        do("a"),
        do("b", retry=None, catch="e"),
        do("c", retry={"$": "nothing"}, catch="e"),
        {"do": "d", "effect": None, "catch": "e"},
        {"return": {}},
    ]
    (answer,) = in_node({"job": "run", "params": {"program": program}})
    calls_made = [entry[2:] for entry in answer["trace"] if entry[1] == "do"]
    effect = ["function"]
    assert calls_made == [["a", effect], ["b", effect, None], ["c", effect, ["undefined"]], ["d", None]]


def test_the_module_exports_what_the_one_in_python_does(in_node):
    (answer,) = in_node({"job": "exported"})
    assert answer == {
        "Probe": [True, True],
        "WithoutRun": [True, False],
        "NotConstructible": [False, False],
        "default": ["fetch"],
        "others": [],
    }


# The caller's Worker


def test_callers_calls_reach_the_binding_with_the_values_that_python_builds(in_node):
    """All calls of all shipped scenarios, but for the megabytes of the heavy ones."""
    made = [
        (f"{scenario.id} {entry}", word, calls.arguments(word, entry, scenario, {}))
        for scenario in shipped()
        if not scenario.heavy
        for entry in calling(scenario)
        for word in ("create", "sendEvent")
        if word in entry
    ]
    assert made
    jobs = [asked(word, **arguments) for _, word, arguments in made]
    for (label, word, arguments), answer in zip(made, in_node(*jobs), strict=True):
        built = live(calls.OPS[word], arguments)
        expected = {name: describe(value) for name, value in built.items() if value is not ABSENT}
        seen = {name: value for name, value in answer["trace"][-1][-1].items() if value != ["undefined"]}
        if word == "sendEvent":
            assert answer["trace"][0] == [1, "get", expected.pop("id")], label
        assert seen == expected, label


def asked(word, **arguments):
    return {"job": "call", "word": word, "body": json.dumps(arguments)}


def calling(scenario):
    for entry in scenario.schedule:
        call = entry.get("start", entry.get("dropResponse", entry))
        if isinstance(call, dict) and call.get("on") is None:
            yield call


def test_answers_of_the_callers_worker(in_node):
    answers = in_node(
        asked("create"),
        asked("create", id={"$": "nothing"}, colour="red"),
        asked("get", id="i"),
        asked("status", id="i"),
        asked("sendEvent", id="i", type="t", payload={"$": "nothing"}, colour="red"),
        asked("terminate", id="i"),
        asked("terminate", id="unknown"),
    )
    assert [answer["answer"] for answer in answers] == [
        {"ok": "issued"},
        {"ok": "issued"},
        {"ok": "i"},
        {"ok": {"status": "complete", "output": {"of": "i"}}},
        {"ok": None},
        {"ok": None},
        {"error": {"name": "unknown_instance", "message": "unknown_instance"}},
    ]
    undefined = ["undefined"]
    assert [answer["trace"][-1][1:] for answer in answers] == [
        ["create", {}],
        ["create", {"id": undefined, "colour": "red"}],
        ["get", "i"],
        ["get", "i"],
        ["sendEvent", "i", {"type": "t", "payload": undefined, "colour": "red"}],
        ["terminate", "i"],
        ["get", "unknown"],
    ]


def test_a_worker_without_a_binding_and_an_unknown_call_are_not_found(in_node):
    answers = in_node({**asked("get", id="i"), "unbound": True}, asked("constructor"))
    assert [answer["status"] for answer in answers] == [404, 404]


# The module as the kit has it


def test_the_module_is_named_by_its_digest():
    module = source()
    assert module.digest == f"sha256:{sha256(module.path.read_bytes()).hexdigest()}"
    assert module.text.encode() == module.path.read_bytes()


def test_the_module_imports_nothing():
    assert not re.search(r"^\s*import\b|\bimport\s*\(|\brequire\s*\(", source().text, re.MULTILINE)
