"""Node is found in the wheel or where the variable says, and refused in one line."""

from pathlib import Path

import pytest
from fencepost.contexts import node_tools


def _program(folder: Path, text: str) -> Path:
    program = folder / "node"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def test_the_wheel_has_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(node_tools.VARIABLE, raising=False)
    assert node_tools.node().is_file()


def test_the_variable_names_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _program(tmp_path, "echo v99.0.0")
    monkeypatch.setenv(node_tools.VARIABLE, str(program))
    assert node_tools.node() == program


@pytest.mark.parametrize("text", ["echo v20.19.0", "echo hello", "exit 3"])
def test_what_is_too_old_or_no_node_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.setenv(node_tools.VARIABLE, str(_program(tmp_path, text)))
    with pytest.raises(node_tools.NodeMissing, match="FENCEPOST_NODE name Node 24 or newer"):
        node_tools.node()


def test_a_path_that_leads_nowhere_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(node_tools.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(node_tools.NodeMissing, match="is no Node that runs here"):
        node_tools.node()


def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(node_tools.VARIABLE, raising=False)
    monkeypatch.setattr(node_tools, "_PACKAGE", "no_such_package_at_all")
    with pytest.raises(node_tools.NodeMissing, match=r"pip install 'fencepost\[js\]'"):
        node_tools.node()
