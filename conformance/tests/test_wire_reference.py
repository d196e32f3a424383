"""The reference in another process, reached as any program and any server is, gets the verdict that it gets
in this one; and so does a broken Host."""

import importlib
import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from fencepost_conformance import hosts
from fencepost_conformance.inprocess import InProcess
from fencepost_conformance.remote_journal import RemoteJournal
from fencepost_conformance.runner import run_many
from fencepost_conformance.scenario import select, shipped

HERE = str(Path(__file__).parent)
ADAPTERS = {
    "sound": ("fencepost_conformance.hosts.reference", "make"),
    "broken": ("broken_hosts", "terminated_too_early"),
}
SERVE = [sys.executable, "-m", "fencepost_conformance.wire_host"]


@cache
def selection():
    """The first scenario of each chapter, and the first that uses each word."""
    fair = [each for each in select(shipped(), reference=False) if not each.heavy]
    chapters = {each.id.partition("/")[0]: each for each in reversed(fair)}
    words = {word: each for each in reversed(fair) for word in each.words}
    return tuple({each.id: each for each in (*chapters.values(), *words.values())}.values())


def verdicts(connect):
    """How each scenario ended, and with which clauses blamed where."""
    return {
        each.scenario: (each.outcome, each.detail, [(seen.clause, seen.at) for seen in each.differences])
        for each in run_many(connect, selection())
    }


@cache
def in_this_process(name):
    module, factory = ADAPTERS[name]
    make = getattr(importlib.import_module(module), factory)
    return verdicts(lambda: InProcess(make()))


@pytest.fixture(params=list(ADAPTERS))
def adapter(request, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", HERE, prepend=os.pathsep)
    monkeypatch.syspath_prepend(HERE)
    expected = in_this_process(request.param)
    assert {outcome for outcome, _, _ in expected.values()} == (
        {"passed"} if request.param == "sound" else {"passed", "failed"}
    )
    return f"python:{':'.join(ADAPTERS[request.param])}", expected


def test_a_program_gets_the_same_verdict(adapter):
    address, expected = adapter
    assert verdicts(hosts.resolve(f"cmd:{shlex.join([*SERVE, address])}")) == expected


def test_a_server_gets_the_same_verdict(adapter):
    address, expected = adapter
    with subprocess.Popen([*SERVE, address, "--http", "0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().removeprefix("listening on ").strip()
            assert verdicts(hosts.resolve(url)) == expected
        finally:
            server.kill()


def test_a_server_says_what_it_wants():
    import http.client

    command = [*SERVE, "python:fencepost_conformance.hosts.reference:make", "--http", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().removeprefix("listening on http://").strip()
            connection = http.client.HTTPConnection(url, timeout=10)
            connection.request("POST", "/", b"{}")
            response = connection.getresponse()
            assert (response.status, b'POST {\\"op\\": NAME' in response.read()) == (400, True)
            connection.close()
        finally:
            server.kill()


def test_a_name_that_is_none_is_refused():
    ended = subprocess.run([*SERVE, "reference"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "reference is not python:MODULE:FACTORY" in ended.stderr


def test_a_journal_that_is_gone_is_the_fault_of_nobody_s_host():
    journal = RemoteJournal("http://127.0.0.1:1/token")
    with pytest.raises(Exception, match="the journal does not answer"):
        journal.run("i")
