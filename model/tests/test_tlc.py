"""TLC on the smallest configurations, and that nothing of it is left behind."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fencepost_model import check, tlc, tools
from fencepost_model.messages import Progress, Run


@pytest.mark.parametrize("module", ["DurableWorkflow", "Fencing", "Waits", "Resource"])
def test_small_holds(tlc_tools: tools.Tools, module: str) -> None:
    heard: list[Progress] = []
    result = check.check(f"{module}Small", heard.append, seconds=300)
    assert result.passed, result.run
    assert result.run.distinct > 500
    assert heard
    assert heard[-1].queue == 0


def test_a_bait_is_reached(tlc_tools: tools.Tools) -> None:
    found = next(check.reach("FencingSmall", seconds=120))
    assert found.reached
    assert found.depth > 2


def test_the_graph_of_a_configuration(tlc_tools: tools.Tools) -> None:
    graph = check.explore("FencingSmall", seconds=120)
    actions = {action for edges in graph.edges.values() for action, _ in edges}
    assert actions == {
        "BeginStep", "Claim", "CommitAttempt", "Crash", "Create", "Expire", "Park", "Settle", "StopAck",
        "Terminate", "Wake",
    }  # fmt: skip
    assert len(graph.initial) == 1


def test_a_run_that_takes_too_long_leaves_no_process(
    tlc_tools: tools.Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[str]] = []

    def remember(command: list[str], **options: object) -> subprocess.Popen[str]:
        process = real([sys.executable, "-c", "import time; time.sleep(600)"], **options)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    real = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", remember)
    with pytest.raises(tlc.Timeout, match="did not end within"):
        check.check("FencingSmall", seconds=0.2)
    assert started[0].poll() is not None


@pytest.mark.skipif(os.name == "nt", reason="process groups are a matter of POSIX")
def test_an_interrupt_leaves_no_process(tlc_tools: tools.Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []
    real = subprocess.Popen

    def remember(*arguments: object, **options: object) -> subprocess.Popen[str]:
        started.append(real(*arguments, **options))  # type: ignore[call-overload]
        return started[0]

    def interrupt(found: object, progress: object = None) -> Run:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", remember)
    monkeypatch.setattr(tlc, "read", interrupt)
    with pytest.raises(KeyboardInterrupt):
        check.check("FencingSmall")
    assert started[0].poll() is not None


def test_whoever_leaves_early_stops_what_runs() -> None:
    def work(item: int, stop: threading.Event) -> int:
        if item:
            started.set()
            assert stop.wait(60)
            ended.set()
        else:
            assert started.wait(60)
        return item

    started, ended = threading.Event(), threading.Event()
    for item in tlc.together(work, [0, 1, 2], 2):
        assert item == 0
        break
    assert ended.wait(60)


def test_a_run_that_is_told_to_stop_ends(tlc_tools: tools.Tools) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(tlc.Stopped):
        check.check("FencingSmall", stop=stop)


def test_a_module_that_is_not_there_has_failed(tlc_tools: tools.Tools, tmp_path: Path) -> None:
    configuration = tmp_path / "MC.cfg"
    configuration.write_text("SPECIFICATION Spec\n", encoding="utf-8")
    assert tlc.run(tmp_path / "Nothing.tla", configuration, seconds=60).outcome == "failed"
