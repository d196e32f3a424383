"""The journal over HTTP: what is counted, what is answered, and what is said to a report that is none."""

import http.client
import json

import pytest
from fencepost_conformance.journal import Journal
from fencepost_conformance.journal_server import JournalServer, respond


class Probe:
    """A client that keeps its connection."""

    def __init__(self, base):
        _, _, address, self.token = base.split("/")
        self.connection = http.client.HTTPConnection(address, timeout=10)

    def ask(self, name, body=b"", method="POST", token=None, headers=()):
        self.connection.request(method, f"/{token or self.token}/{name}", body=body, headers=dict(headers))
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def report(self, report, /, **body):
        status, answer = self.ask(report, json.dumps(body))
        assert status == 200
        return json.loads(answer)


@pytest.fixture
def server():
    server = JournalServer()
    yield server
    server.close()


@pytest.fixture
def probe(server):
    probe = Probe(server.begin())
    yield probe
    probe.connection.close()


def test_reports_are_counted_and_answered(server, probe):
    assert probe.report("run", instance="i") == {}
    assert probe.report("mark", label="é") == {}
    assert probe.report("effect-start", instance="i", name="a") == {"execution": 1}
    assert probe.report("effect-start", instance="j", name="a") == {"execution": 1}
    assert probe.report("effect-start", instance="i", name="a", more=1) == {"execution": 2}
    assert probe.report("effect-end", instance="i", name="a") == {}
    assert server.counts() == {"effects": {"a": 3}, "marks": {"é": 1}, "runs": {"i": 1}}


def test_a_gate_is_closed_until_it_is_released(server, probe):
    assert probe.report("gate", name="g") == {"open": False}
    server.release("g")
    assert probe.report("gate", name="g") == {"open": True}
    assert probe.report("gate", name="h") == {"open": False}


def test_a_report_of_a_scenario_that_is_over_reaches_nobody(server, probe):
    server.begin()
    status, answer = probe.ask("run", b'{"instance": "i"}')
    assert status == 404
    assert b"this scenario is over" in answer
    assert server.counts()["runs"] == {}


@pytest.mark.parametrize(
    ("request_", "status", "text"),
    [
        ({"name": "run", "body": b"{"}, 400, 'run: POST {\\"instance\\": \\"text\\"}, as JSON'),
        ({"name": "run", "body": b"[" * 100_000}, 400, "as JSON"),
        ({"name": "mark", "body": b'{"label": 1}'}, 400, "mark: POST"),
        ({"name": "effect-start", "body": b'{"name": "a"}'}, 400, '\\"instance\\": \\"text\\", \\"name\\"'),
        ({"name": "run", "method": "GET"}, 405, "POST"),
        ({"name": "probe.mjs"}, 405, "GET probe.mjs"),
        ({"name": "nothing", "body": b"{}"}, 404, "POST to run, mark, effect-start, effect-end, gate"),
        ({"name": "run", "token": "x", "body": b'{"instance": "i"}'}, 404, "the journal that begin named"),
        ({"name": "run", "headers": {"Content-Length": "-1"}}, 400, "give the length"),
        ({"name": "run", "headers": {"Content-Length": "9999999"}}, 413, "send at most"),
        ({"name": "run", "headers": {"Transfer-Encoding": "chunked"}}, 411, "with a Content-Length"),
    ],
)
def test_what_is_no_report_is_answered_with_what_to_send(server, probe, request_, status, text):
    seen, answer = probe.ask(**request_)
    assert (seen, text in answer.decode(), answer.count(b"\n")) == (status, True, 1), answer
    assert server.counts() == {"effects": {}, "marks": {}, "runs": {}}


def test_a_host_can_answer_its_own_contexts_from_a_journal():
    journal, seen = Journal(), []
    journal.on_effect_start.append(
        lambda instance, name: seen.append((instance, name, dict(journal.effects)))
    )
    reply = respond(journal, "POST", "effect-start", b'{"instance": "i", "name": "a"}')
    assert (reply.status, json.loads(reply.body)) == (200, {"execution": 1})
    assert seen == [("i", "a", {"a": 1})]


def test_closing_twice_is_fine_and_closing_ends_open_connections(server, probe):
    probe.report("run", instance="i")
    server.close()
    server.close()
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        probe.ask("run", b"{}")
