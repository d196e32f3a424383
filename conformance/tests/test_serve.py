"""`fencepost serve` from outside: its calls over HTTP, what it refuses and how, how it begins and ends.

Nothing here sleeps: a test waits for a condition, and gives up after a deadline.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fencepost.serve.answers import STATUS
from fencepost.serve.board import MOST_INSTANCES
from fencepost.serve.face import ANSWER_SECONDS
from fencepost.serve.requests import BODY_BYTES
from fencepost_conformance.cli import application
from fencepost_conformance.cli import serving as command
from fencepost_spec.limits import FORM

from .serving import ENTRY, WORKFLOWS, Served, gone, until

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served("--env", "REGION=north=pole", "--env", "EMPTY=") as served:
        yield served


# -- the five calls


def test_an_instance_lives_from_create_to_its_output(served: Served) -> None:
    status, headers, body = served.raw("POST", "/instances", {"id": "a/ü?", "params": {"do": "wait"}})
    assert (status, json.loads(body), headers["location"]) == (
        201,
        {"id": "a/ü?"},
        "/instances/a%2F%C3%BC%3F",
    )
    place = headers["location"]
    assert served.ask("GET", place) == (200, {"id": "a/ü?"})
    until(lambda: served.ask("GET", f"{place}/status") == (200, {"status": "waiting"}))
    assert served.ask("POST", f"{place}/events", {"type": "go", "payload": {"n": 1}}) == (200, {})
    ended = {"status": "complete", "output": {"n": 1}}
    until(lambda: served.ask("GET", f"{place}/status") == (200, ended))


def test_an_id_is_issued_where_none_is_given(served: Served) -> None:
    first, second = (served.ask("POST", "/instances")[1]["id"] for _ in range(2))
    assert first != second
    assert served.ask("POST", f"/instances/{first}/terminate") == (200, {})
    assert served.status(first) == "terminated"


def test_a_call_with_a_command_id_is_harmless_to_send_again(served: Served) -> None:
    def under(command: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return served.ask(method, path, body, {"Idempotency-Key": command})

    params = {"params": {"do": "wait"}}
    status, first = under("c1", "POST", "/instances", params)
    assert status == 201
    assert under("c1", "POST", "/instances", params) == (201, first)
    status, answer = under("c1", "POST", "/instances", {"params": {"do": "quick"}})
    assert (status, answer["error"]["name"]) == (409, "command_conflict")
    assert "'c1' was used for another call" in answer["error"]["message"]
    place = f"/instances/{first['id']}"
    until(lambda: served.status(first["id"]) == "waiting")
    go = {"type": "go", "payload": {"n": 1}}
    assert under("c2", "POST", f"{place}/events", go) == (200, {})
    assert under("c2", "POST", f"{place}/events", go) == (200, {})
    until(lambda: served.status(first["id"]) == "complete")
    assert under("c2", "POST", f"{place}/events", go) == (200, {})
    assert served.ask("POST", f"{place}/events", go)[0] == 409  # without it: instance_terminal
    for _ in range(2):
        assert under("c3", "POST", f"{place}/terminate") == (200, {})
    assert under("", "POST", "/instances")[1]["error"]["name"] == "TypeError"


def test_env_reaches_the_class(served: Served) -> None:
    id = served.create({"do": "quick", "with": [1.5, None, True]})
    until(lambda: served.status(id) == "complete")
    output = served.ask("GET", f"/instances/{id}/status")[1]["output"]
    assert output == {"got": [1.5, None, True], "env": {"REGION": "north=pole", "EMPTY": ""}}


def test_terminate_answers_once_the_process_is_gone(served: Served) -> None:
    id = served.create({"do": "block"})
    with served.frames(f"?search={id}") as frames:
        contexts = frames.until(lambda frame: any(each["id"] == id for each in frame["contexts"]))["contexts"]
    pid = next(each["pid"] for each in contexts if each["id"] == id)
    assert not gone(pid)
    assert served.ask("POST", f"/instances/{id}/terminate", {}) == (200, {})
    assert gone(pid)
    assert served.ask("GET", f"/instances/{id}/status") == (200, {"status": "terminated"})


def test_a_failure_has_its_reason_and_no_output(served: Served) -> None:
    id = served.create({"do": "retry"})
    until(lambda: served.status(id) == "errored")
    assert served.ask("GET", f"/instances/{id}/status")[1] == {
        "status": "errored", "error": {"reason": "step_failed"},
    }  # fmt: skip


def test_a_document_may_be_as_deep_and_as_large_as_the_form_admits(served: Served) -> None:
    depth = 100_000
    nested = '{"do":"quick","with":' + "[" * depth + "]" * depth + "}"
    status, answer = served.ask("POST", "/instances", f'{{"params":{nested}}}')
    assert status == 201
    until(lambda: served.raw("GET", f"/instances/{answer['id']}/status")[2].startswith(b'{"output":{"env"'))
    around = len('{"do":"wait","with":""}')
    text = "\\u0061" * (FORM.document_bytes - around)  # each character as long as it can be written
    whole = f'{{"params":{{"do":"wait","with":"{text}"}}}}'
    assert served.ask("POST", "/instances", whole)[0] == 201
    status, answer = served.ask("POST", "/instances", whole.replace("\\u0061", "\\u0061a", 1))
    assert (status, answer["error"]["name"]) == (413, "document_too_large")


# -- what is refused

LONG = "x" * (FORM.id_scalars + 1)
REFUSED: list[tuple[str, str, str, Any, int, str, str]] = [
    # what it is, method, path, body, status code, name, words in the message
    ("unknown get", "GET", "/instances/none", None, 404, "unknown_instance", "no instance"),
    ("unknown status", "GET", "/instances/none/status", None, 404, "unknown_instance", ""),
    ("unknown event", "POST", "/instances/none/events", {"type": "t"}, 404, "unknown_instance", ""),
    ("unknown terminate", "POST", "/instances/none/terminate", None, 404, "unknown_instance", ""),
    ("id taken", "POST", "/instances", {"id": "taken"}, 409, "instance_exists", ""),
    ("ended", "POST", "/instances/ended/events", {"type": "t"}, 409, "instance_terminal", "ended"),
    ("full", "POST", "/instances/full/events", {"type": "t"}, 429, "event_queue_full", "full"),
    ("no object", "POST", "/instances", {"params": [1]}, 400, "invalid_params", "$: an array is no root"),
    ("null", "POST", "/instances", {"params": None}, 400, "invalid_params", "null is no root"),
    ("surrogate", "POST", "/instances", '{"params":{"a":["\\ud800"]}}', 400, "invalid_params", "$.a[0]"),
    ("infinite", "POST", "/instances", '{"params":{"a":1e999}}', 400, "invalid_params", "finite"),
    ("id null", "POST", "/instances", {"id": None}, 400, "TypeError", "id must be"),
    ("id empty", "POST", "/instances", {"id": ""}, 400, "TypeError", "id must be"),
    ("id long", "POST", "/instances", {"id": LONG}, 400, "TypeError", "1 to 256"),
    ("id deep", "POST", "/instances", '{"id":' + "[" * 5000 + "]" * 5000 + "}", 400, "TypeError", "id must"),
    ("other key", "POST", "/instances", {"ID": "x"}, 400, "TypeError", "unknown key 'ID'; admitted: id"),
    ("no type", "POST", "/instances/taken/events", {}, 400, "TypeError", "type is missing"),
    ("type null", "POST", "/instances/taken/events", {"type": None}, 400, "TypeError", "type must be"),
    ("payload", "POST", "/instances/taken/events", {"type": "t", "payload": 1}, 400, "TypeError", "no root"),
    ("terminate body", "POST", "/instances/taken/terminate", {"now": 1}, 400, "TypeError", "nothing in it"),
    ("no JSON", "POST", "/instances", "id=x", 400, "bad_request", "no strict JSON"),
    ("array", "POST", "/instances", "[]", 400, "bad_request", "must be a JSON object"),
    ("deep", "POST", "/instances", "[" * 100_000, 400, "bad_request", "no strict JSON"),
    ("twice", "POST", "/instances", '{"params":{"a":1,"a":1}}', 400, "bad_request", 'the key "a" twice'),
    ("not UTF-8", "POST", "/instances", b'{"id":"\xff"}', 400, "bad_request", "utf-8"),
    ("NaN", "POST", "/instances", '{"params":{"a":NaN}}', 400, "bad_request", "NaN"),
    ("mark", "POST", "/instances", b"\xef\xbb\xbf{}", 400, "bad_request", "no strict JSON"),
    ("path", "GET", "/instances/%ff/status", None, 400, "bad_request", "UTF-8"),
    ("nowhere", "GET", "/instance", None, 404, "not_found", "nothing is here"),
    ("slash", "POST", "/instances/", None, 404, "not_found", ""),
    ("list", "GET", "/instances", None, 405, "method_not_allowed", "use POST"),
    ("put", "PUT", "/instances/taken", "{}", 405, "method_not_allowed", "use GET"),
]  # fmt: skip


@pytest.fixture(scope="module")
def prepared(served: Served) -> Served:
    for id, params in (("taken", {"do": "wait"}), ("ended", {"do": "quick"}), ("full", {"do": "nap"})):
        served.create(params, id=id)
    until(lambda: served.status("ended") == "complete")
    payload = {"a": "x" * (FORM.inbox_bytes - len('{"type":"t","payload":{"a":""}}'))}
    assert served.ask("POST", "/instances/full/events", {"type": "t", "payload": payload})[0] == 200
    return served


@pytest.mark.parametrize("case", REFUSED, ids=[case[0] for case in REFUSED])
def test_what_is_wrong_is_said_in_one_line(prepared: Served, case: tuple[Any, ...]) -> None:
    _, method, path, body, code, name, words = case
    status, answer = prepared.ask(method, path, body)
    assert (status, set(answer), set(answer["error"])) == (code, {"error"}, {"name", "message"})
    assert answer["error"]["name"] == name
    assert words in answer["error"]["message"]
    assert "\n" not in answer["error"]["message"]


def test_a_body_beyond_the_bound_is_refused_before_it_is_read(served: Served) -> None:
    head = f"POST /instances HTTP/1.1\r\nHost: localhost\r\nContent-Length: {BODY_BYTES + 1}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), 30) as connection:
        connection.sendall(head.encode())
        answer = connection.makefile("rb").readline()
    assert answer.startswith(b"HTTP/1.1 413")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", served.port), 30) as connection:
        connection.sendall(
            b"POST /instances HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(BODY_BYTES // 0x100000):
            connection.sendall(chunk)
        connection.sendall(chunk)
        assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    ("headers", "code", "name"),
    [
        ({"Host": "attacker.example"}, 421, "misdirected"),
        ({"Host": "127.0.0.1.attacker.example:80"}, 421, "misdirected"),
        ({"Host": "[::2]:80"}, 421, "misdirected"),
        ({"Host": "localhost:1", "Origin": "http://attacker.example"}, 403, "foreign_origin"),
        ({"Host": "localhost:1", "Origin": "http://localhost:2"}, 403, "foreign_origin"),
        ({"Host": "localhost:1", "Origin": "null"}, 403, "foreign_origin"),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 404, "unknown_instance"),
        ({"Host": "[::1]:1"}, 404, "unknown_instance"),
        ({"Host": "LocalHost"}, 404, "unknown_instance"),
    ],
)
def test_a_foreign_page_cannot_reach_in(
    served: Served, headers: dict[str, str], code: int, name: str
) -> None:
    status, answer = served.ask("POST", "/instances/none/terminate", None, headers)
    assert (status, answer["error"]["name"]) == (code, name)
    status, answer = served.ask("GET", "/instances/none/status", None, headers)
    assert (status, answer["error"]["name"]) == (code, name)


# -- beginning


def test_what_is_printed_can_be_copied(served: Served) -> None:
    lines = [line[line.index("curl ") :] for line in served.said if "curl " in line]
    assert len(lines) == len(command.LINES) == 3
    answers = [
        subprocess.run([*shlex.split(line), "-s"], capture_output=True, check=True).stdout for line in lines
    ]
    assert [json.loads(answer) for answer in answers[:2]] == [{"id": "first"}, {}]
    assert json.loads(answers[2])["status"] in ("queued", "running", "waiting")


def run(*arguments: str) -> tuple[int, str]:
    ended = subprocess.run([*ENTRY, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == ""
    return ended.returncode, ended.stderr.splitlines()[-1]


def test_a_port_that_is_taken_says_what_to_do(served: Served) -> None:
    arguments = (str(WORKFLOWS), "--class", "Program", "--port", str(served.port))
    remedy = "choose another with --port, or any free one with --port 0"
    assert run(*arguments) == (2, f"fencepost: port {served.port} is in use; {remedy}")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("none.py", "--class", "A"), "none.py: there is no such file"),
        (("no.such", "--class", "A"), "no.such: the module cannot be evaluated: ModuleNotFoundError"),
        ((str(WORKFLOWS), "--class", "NoWorkflow"), "has no workflow class NoWorkflow; it has Program"),
        (("json", "--class", "A"), "json: the module has no workflow class A; it has no class with a"),
        ((str(WORKFLOWS), "--class", "Program", "--env", "REGION"), "--env REGION: give it as KEY=VALUE"),
        ((str(EXAMPLES / "report.mjs"), "--class", "A"), "no workflow class A; it has ReportWorkflow"),
        (("none.mjs", "--class", "A"), "none.mjs: there is no such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_says_why(arguments: tuple[str, ...], line: str) -> None:
    status, said = run(*arguments, "--port", "0")
    assert status == 2
    assert line in said


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> Any:
        raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")

    monkeypatch.setattr("builtins.__import__", missing)
    with pytest.raises(command.Trouble, match=r"pip install 'fencepost\[serve\]'"):
        command._server()


def test_a_missing_node_is_named() -> None:
    arguments = [*ENTRY, str(EXAMPLES / "report.mjs"), "--class", "ReportWorkflow", "--port", "0"]
    environment = os.environ | {"FENCEPOST_NODE": "/no/such/node"}
    ended = subprocess.run(
        arguments, capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (2, "", 1)
    assert "/no/such/node is no Node that runs here" in ended.stderr


def test_help_teaches_with_an_example() -> None:
    shown = CliRunner().invoke(application, ["serve", "--help"]).output
    assert "fencepost serve examples/report.py --class ReportWorkflow" in shown
    assert all(
        re.sub("ADDRESS", f"http://127.0.0.1:{command.PORT}", line) in shown for _, line in command.LINES
    )


def test_an_importable_module_is_served_from_the_present_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(WORKFLOWS.read_text())
    monkeypatch.chdir(tmp_path)
    with Served(source="mine") as served:
        id = served.create({"do": "quick"})
        until(lambda: served.status(id) == "complete")


@pytest.mark.parametrize("file", ["report.py", "report.mjs"])
def test_the_example_does_what_its_page_says(file: str) -> None:
    source = EXAMPLES / file
    assert len(source.read_text().splitlines()) <= 20
    with Served("--env", "REGION=north", source=str(source), name="ReportWorkflow") as served:
        served.create({"name": "sales"}, id="first")
        served.ask("POST", "/instances/first/events", {"type": "approved", "payload": {"by": "ann"}})
        until(lambda: served.status("first") == "complete")
        output = served.ask("GET", "/instances/first/status")[1]["output"]
        assert {"status": "complete", "output": output} == json.loads(block("json"))


def block(language: str) -> str:
    """The first block of a language in the page of the docs."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_of_the_docs_agrees_with_the_code() -> None:
    for _, line in command.LINES:
        assert line.replace("ADDRESS", f"http://127.0.0.1:{command.PORT}") in PAGE
    rows = re.findall(r"^\| ([0-9, ]+) \| (.*?) \|", PAGE, re.MULTILINE)
    told = {name: codes for codes, names in rows for name in re.findall("`(.*?)`", names)}
    assert told.keys() == STATUS.keys() - {"internal_error"}
    assert [name for name, codes in told.items() if str(STATUS[name]) not in codes.split(", ")] == []
    for figure in (FORM.document_bytes, FORM.id_scalars, MOST_INSTANCES):
        assert f"{figure:,}" in PAGE
    assert ANSWER_SECONDS == 30  # half a minute


# -- the end


SPINNING = "export class Program { run(event, step) { return step.do('x', () => { for (;;); }); } }"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
@pytest.mark.parametrize("language", ["Python", "JavaScript"])
def test_a_signal_leaves_nothing_running(
    number: signal.Signals, code: int, language: str, tmp_path: Path
) -> None:
    (tmp_path / "spins.mjs").write_text(SPINNING)
    source = str(WORKFLOWS) if language == "Python" else str(tmp_path / "spins.mjs")
    with Served(source=source) as served, served.frames() as frames:
        ids = {served.create({"do": "block"}) for _ in range(3)}
        frame = frames.until(lambda frame: {each["id"] for each in frame["contexts"] if each["pid"]} == ids)
        pids = [each["pid"] for each in frame["contexts"]]
        assert not any(map(gone, pids))
        assert served.end(number) == code
        assert all(map(gone, pids))
        with pytest.raises(EOFError):
            frames.until(lambda frame: False)
        assert served.process.stderr is not None
        assert served.process.stderr.read() == ""


def test_a_signal_during_start_up_leaves_nothing_running(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    slow = tmp_path / "slow.py"
    slow.write_text(
        f"import os, time\nopen({str(mark)!r}, 'w').write(f'{{os.getpid()}}.')\ntime.sleep(3600)\n"
    )
    arguments = [*ENTRY, str(slow), "--class", "A", "--port", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until(lambda: mark.exists() and mark.read_text().endswith("."))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    until(lambda: gone(int(mark.read_text()[:-1])))


def test_killed_outright_it_leaves_no_context_either() -> None:
    with Served() as served, served.frames() as frames:
        id = served.create({"do": "block"})
        frame = frames.until(lambda frame: any(each["id"] == id for each in frame["contexts"]))
        served.process.kill()
        served.process.wait()
        until(lambda: gone(frame["contexts"][0]["pid"]))


def test_it_ends_when_what_runs_contexts_is_gone() -> None:
    with Served() as served:
        children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
        if not children.exists():
            pytest.skip("children of a process cannot be listed here")
        subprocess.run(["kill", "-9", *children.read_text().split()], check=True)
        began = time.monotonic()
        served.ask("POST", "/instances")
        assert served.process.wait(30) == 2
        assert time.monotonic() - began < 20
        assert served.process.stderr is not None
        assert "the processes that run contexts are gone" in served.process.stderr.read()
