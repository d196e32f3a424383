"""The project's chores, each in a fresh environment: `nox` runs all of them, `nox -s tests` one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

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


@nox.session
def api(session: nox.Session) -> None:
    """The HTTP face against many more requests that are made up from its OpenAPI document."""
    prepare(session)
    more = {"FENCEPOST_API_EXAMPLES": "300"}
    session.run("pytest", "-q", "reference/tests/test_api_fuzzing.py", *session.posargs, env=more)


@nox.session
def self_test(session: nox.Session) -> None:
    """Faulty hosts must be caught, fair ones left alone; the page of the docs is written anew."""
    prepare(session)
    session.run("fencepost", "self-test", "--page", "docs/kill-table.md", *session.posargs)


@nox.session
def crashes(session: nox.Session) -> None:
    """The durable Host under thousands of kills and pauses, on SQLite and on PostgreSQL: see docs/crashes.md.

    FENCEPOST_POSTGRES names the second. `nox -s crashes -- --kills 50 --instances 30` is a smaller one.
    """
    database = os.environ.get("FENCEPOST_POSTGRES")
    if not database:
        session.error("set FENCEPOST_POSTGRES to the URL of a database in which a schema can be made")
    prepare(session)
    for place in ((), ("--db", database)):
        for pauses in ((), ("--pauses",)):
            campaign = ("python", "-m", "fencepost_conformance.campaign")
            session.run(*campaign, *place, *pauses, *session.posargs)


@nox.session
def foreign(session: nox.Session) -> None:
    """Engines that nobody here wrote, each in two shims and twice; writes docs/foreign-hosts.md.

    `nox -s foreign -- dbos` runs one of them, and leaves the page alone.
    """
    session.install(".[all,dbos,dev]")
    place, reports = Path("conformance/fencepost_conformance/foreign"), Path(session.create_tmp())
    engines = ("cloudflare", "dbos", "restate")
    for name in session.posargs or engines:
        session.run("fencepost", "install", name)
        for shim in ("", "-raw"):
            known = str(place / name / f"known{shim}.toml")
            for turn in (1, 2):
                report = str(reports / f"{name}{shim}-{turn}.json")
                check = ("fencepost", "check", f"{name}{shim}", "--seed", "1", "--expected-failures", known)
                session.run(*check, "--json", report, "--keep", str(reports / f"{name}{shim}"))
    if not session.posargs:
        written = [str(reports / f"{name}{shim}-{turn}.json")
                   for name in engines for shim in ("", "-raw") for turn in (1, 2)]  # fmt: skip
        session.run(
            "python", "-m", "fencepost_conformance.foreign.page", *written, "--to", "docs/foreign-hosts.md"
        )


@nox.session
def mutants(session: nox.Session) -> None:
    """The machine with one small change after the other, judged by the kit alone.

    `nox -s mutants -- endings.py events.py` tries two modules. mutation/README.md explains what survives.
    """
    tree = Path(session.create_tmp()) / "tree"  # some mutants are written into files: never into ours
    shutil.rmtree(tree, ignore_errors=True)
    session.run("git", "clone", "-q", ".", str(tree), external=True)
    session.install("cosmic-ray==8.7.0", "-e", str(tree))
    session.chdir(tree)
    config, found = Path("mutation/cosmic-ray.toml"), "mutants.sqlite"
    if session.posargs:
        machine = "reference/fencepost/machine"
        modules = ", ".join(f'"{machine}/{module}"' for module in session.posargs)
        config.write_text(config.read_text().replace(f'"{machine}"', f"[{modules}]"))
    session.run("cosmic-ray", "init", str(config), found)
    session.run("cr-filter-operators", found, str(config))
    session.run("python", "-u", "mutation/run.py", found)
    session.run("python", "mutation/report.py", found)
