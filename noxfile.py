"""The project's chores, each in a fresh environment: `nox` runs all of them, `nox -s tests` one."""

from __future__ import annotations

import nox

nox.needs_version = ">=2024.4"
nox.options.sessions = ["lint", "types", "docs", "check", "tests"]
nox.options.error_on_missing_interpreters = True


def prepare(session: nox.Session) -> None:
    """Install the project as a user would, with every extra and the developers' tools."""
    session.install(".[all,dev]")


@nox.session
def lint(session: nox.Session) -> None:
    """Rules of style, and the one format."""
    prepare(session)
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Strict types in the four packages."""
    prepare(session)
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """The pages, where a warning is an error."""
    prepare(session)
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-b", "html", "docs", "docs/_build/html")
    session.log("read docs/_build/html/index.html")


@nox.session
def check(session: nox.Session) -> None:
    """The kit against the reference: the main job."""
    prepare(session)
    session.run("fencepost", "check", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Every room's tests, with coverage of the four packages."""
    prepare(session)
    session.run("pytest", "-q", "--cov", "--cov-report=term", *session.posargs)
