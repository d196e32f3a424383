"""What the project says of itself outside of the code: its README and its packaging agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALL_AND_CHECK = "python -m venv .venv && .venv/bin/pip install . && .venv/bin/fencepost check"
INSTALL_AND_TEST = ".venv/bin/pip install '.[all,dev]' && .venv/bin/pytest -q"


def name_of(requirement: str) -> str:
    """The name of a distribution, without version and extras."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match
    return match[0].lower()


def required() -> set[str]:
    """Every distribution that the project may install, but itself."""
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    return {name_of(requirement) for group in groups for requirement in group} - {PROJECT["name"]}


def explained() -> set[str]:
    """Every distribution that has a row with a reason in the README's tables of dependencies."""
    section = README.partition("\n## Dependencies\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line
    ]
    return {
        name.strip()
        for row in rows
        if row[-1] and set(row[-1]) != {"-"} and row[-2] != "package"
        for name in row[-2].split(",")
    }


def test_every_dependency_is_explained_and_nothing_else() -> None:
    assert explained() == required()


def test_the_two_commands_stand_at_the_top() -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert commands[:2] == [INSTALL_AND_CHECK, INSTALL_AND_TEST]


def test_the_same_commands_run_before_a_change_lands() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in ("environment base .", 'fencepost" check', "'.[all,dev]'", 'pytest" -q'):
        assert command in script


def test_the_changelog_begins_with_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+?),? ", changes, re.MULTILINE)[0] == PROJECT["version"]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_to_files_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    assert [target for target in targets if not (ROOT / target).exists()] == []
