"""Adapters of others, in child processes that hang, crash and talk nonsense."""

import os
import select
import textwrap

import pytest
from fencepost_conformance.adapter import PROTOCOL, AdapterFault
from fencepost_conformance.child import LINE_SHOWN, python_child
from fencepost_conformance.runner import greet, run_many, run_scenario
from fencepost_conformance.scenario import Scenario

ADAPTERS = f"""
import asyncio, os, subprocess, sys, threading
from fencepost_conformance.adapter import ABSENT, HostError

class Good:
    def __init__(self):
        self.thread = threading.get_ident()
        self.ended = {{}}
    async def handshake(self, hello):
        return {{"protocol": {PROTOCOL!r}, "host": {{"name": "theirs", "version": "2"}},
                "instruments": ["clock", "journal", "restart"], "leaseSeconds": 5}}
    def begin(self, setup):
        assert self.thread in (None, threading.get_ident())
        self.setup = setup
    def end(self):
        return {{"unsprung": []}}
    async def create(self, id, params):
        self.params = params
        return "issued" if id is ABSENT else id
    def get(self, id):
        raise HostError("unknown_instance", "no such thing")
    def status(self, id):
        return {{"status": "complete", "output": {{"params": self.params["k"]}}}}
    async def terminate(self, id):
        await self.ended.setdefault(id, asyncio.Event()).wait()
    async def settle(self):
        pass
    async def advance(self, milliseconds):
        self.ended["i"].set()
    def restart(self):
        pass

class Hanging(Good):
    def restart(self):
        print("about to hang")
        subprocess.Popen(["sleep", "600"], stdout=open(os.environ["FIFO"], "wb"))
        threading.Event().wait()

class Crashing(Good):
    def restart(self):
        print("about to crash", flush=True)
        os._exit(3)

class Talking(Good):
    def get(self, id):
        print("looking\\n" * 3 + "x" * 100_000, flush=True)
        super().get(id)

class Killed(Good):
    def restart(self):
        os.kill(os.getpid(), 9)

class Spinning(Good):
    async def restart(self):
        while True:
            pass

class Odd(Good):
    def restart(self):
        return object()

class Exiting(Good):
    def restart(self):
        sys.exit("enough")

def writing(text):
    class Writing(Good):
        def restart(self):
            os.write(int(sys.argv[2]), text + b"\\n")
    return Writing

NotJson = writing(b"nonsense")
NoObject = writing(b"[1]")
NoTicket = writing(b'{{"ticket": 999, "ok": 1}}')
OddTicket = writing(b'{{"ticket": [], "ok": 1}}')
Shapeless = writing(b'{{"ticket": 3, "error": "x"}}')

def failing():
    raise ValueError("not today")

async def made():
    adapter = Good()
    adapter.thread = None
    return adapter

constant = 5
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    (tmp_path / "their_adapters.py").write_text(textwrap.dedent(ADAPTERS), encoding="utf-8")
    (tmp_path / "broken_adapter.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    children = []

    def connect(factory, module="their_adapters"):
        children.append(python_child(module, factory, patience=0.05, grace=0.0))
        return children[-1]

    yield connect
    for child in children:
        child.close()


def scenario(*schedule):
    programs = {"main": [{"return": {}}]}
    document = {"title": "t", "clauses": ["ONE"], "programs": programs, "schedule": list(schedule)}
    return Scenario("s", document)


def gone(child):
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    return True


@pytest.mark.parametrize("factory", ["Good", "made"])
def test_plain_and_async_methods_are_called_beside_each_other(theirs, factory):
    child = theirs(factory)
    result = run_scenario(
        child,
        scenario(
            {"create": None, "program": "main", "params": {"k": {"$repeat": ["é", 2]}}, "as": "x"},
            {"status": {"$": "x"}, "expect": {"status": "complete", "output": {"params": "éé"}}},
            {"get": "k", "expect": {"error": "unknown_instance"}},
            {"start": {"terminate": "i"}, "as": "c"},
            {"settle": True},
            {"pending": "c"},
            {"release": "g"},
            {"effects": {"a": 0}},
            {"advance": 1},
            {"await": "c"},
        ),
    )
    assert (result.outcome, result.detail) == ("passed", "")
    child.close()
    child.close()
    assert gone(child)


def test_a_hang_ends_with_the_whole_process_group(theirs, tmp_path, monkeypatch):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    monkeypatch.setenv("FIFO", str(fifo))
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    child = theirs("Hanging")
    greet(child)
    result = run_scenario(child, scenario({"restart": True}), deadline=1)
    assert result.outcome == "errored"
    assert result.detail == "restart was not answered within 1 s\nabout to hang"
    assert gone(child)
    assert select.select([reader], [], [], 10)[0]  # what the adapter had started is gone too: nobody writes
    assert os.read(reader, 1) == b""
    os.close(reader)


@pytest.mark.parametrize(
    ("factory", "text"),
    [
        (
            "Crashing",
            "the adapter's process ended with exit status 3, before the end of its input\nabout to crash",
        ),
        ("Killed", "the adapter's process was killed by SIGKILL"),
        ("Odd", "the adapter returned <object"),
        ("Exiting", "restart raised SystemExit: enough"),
        ("NotJson", "the adapter sent what is not JSON: 'nonsense'; send {"),
        ("NoObject", "the adapter sent no object"),
        (
            "NoTicket",
            "the adapter answered ticket 999, which was not asked; repeat the number of the request",
        ),
        ("OddTicket", "the adapter's answer has the ticket []; repeat the number of the request"),
        ("Shapeless", "the adapter's answer to restart is none of ok, error, fault"),
    ],
)
def test_a_child_that_breaks_the_protocol_is_errored_and_ended(theirs, factory, text):
    child = theirs(factory)
    result = run_scenario(child, scenario({"restart": True}))
    assert result.outcome == "errored"
    assert result.detail.startswith(text)
    assert child.broken
    assert gone(child)


@pytest.mark.parametrize(
    ("module", "factory", "text"),
    [
        ("no_such_module", "make", "cannot import no_such_module (ModuleNotFoundError"),
        ("broken_adapter", "make", "cannot import broken_adapter (ModuleNotFoundError"),
        ("their_adapters", "make", "their_adapters has no make"),
        ("their_adapters", "constant", "their_adapters.constant cannot be called"),
        ("their_adapters", "failing", "failing raised ValueError: not today"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_line(theirs, module, factory, text):
    child = theirs(factory, module)
    with pytest.raises(AdapterFault) as told:
        greet(child)
    assert str(told.value).startswith(text)
    assert "\n" not in str(told.value)
    assert gone(child)


def test_a_spinning_event_loop_is_ended_and_the_next_scenario_gets_a_new_child(theirs):
    greet(theirs("Good"))
    factories = iter(["Spinning", "Good"])
    made = []

    def connect():
        made.append(theirs(next(factories)))
        greet(made[-1])
        return made[-1]

    settled = scenario({"settle": True})
    results = run_many(connect, [settled, scenario({"restart": True}), settled], deadline=1)
    assert [result.outcome for result in results] == ["passed", "errored", "passed"]
    assert all(map(gone, made))


def test_an_interrupt_leaves_nothing_behind(theirs):
    def interrupted(result):
        raise KeyboardInterrupt

    child = theirs("Good")
    with pytest.raises(KeyboardInterrupt):
        run_many(lambda: child, [scenario({"settle": True})], interrupted)
    assert gone(child)


def test_a_child_whose_kit_is_gone_ends_itself(theirs):
    child = theirs("Good")
    greet(child)
    child._end.detach()
    os.close(child._write_to)
    assert child._process.wait(10) == -9
    os.close(child._read_from)
    child._log.close()


def test_what_was_logged_while_a_scenario_ran_is_kept_with_its_failure(theirs):
    child = theirs("Talking")
    made = scenario({"create": "i", "program": "main"}, {"get": "i"})
    result, again = run_scenario(child, made), run_scenario(child, made)
    assert result.outcome == "failed"
    assert result.log == ("looking (3 times)", "x" * LINE_SHOWN)
    assert again.log == result.log  # and nothing from before
