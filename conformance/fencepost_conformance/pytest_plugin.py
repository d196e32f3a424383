"""`pytest --fencepost-host=HOST`: the kit's checks as test items, for a Host's own test suite.

Each scenario is an item that is named by the clauses that it measures, so that ``-k WFE-5`` chooses, ``-x``
stops at the first failure and ``-n`` of pytest-xdist spreads them. Items whose instruments the Host lacks are
skipped, with the instruments that would close them. One item more generates scenarios and has them judged.
Without the option nothing of this is there.

| option | meaning |
|---|---|
| `--fencepost-host=HOST` | a HOST as `fencepost check` takes it |
| `--fencepost-profile=NAME` | how much to generate: `quick`, `ci`, `soak`, or `none` |
| `--fencepost-seed=N` | the seed of what is generated |
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .adapter import Connection
    from .results import CheckResult
    from .scenario import Scenario

PROFILES = ("quick", "ci", "soak", "none")  # spelled out: nothing is imported where nothing is asked
DEFAULT_SEED = 0  # the same scenarios in each run and each worker
PLACE = "fencepost-failures"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fencepost", "the conformance kit for durable workflow Hosts")
    group.addoption("--fencepost-host", metavar="HOST", help="run the kit's checks against this Host")
    group.addoption(
        "--fencepost-profile", choices=PROFILES, default="quick", help="how much to generate (default: quick)"
    )
    group.addoption(
        "--fencepost-seed", type=int, default=DEFAULT_SEED, metavar="N", help="seed of what is generated"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the checks to what was collected, before anything is deselected."""
    address = config.getoption("--fencepost-host")
    if address:
        items.extend(_items(session, address, config.getoption("--fencepost-profile")))


def _items(session: pytest.Session, address: str, profile: str) -> list[pytest.Item]:
    from . import hosts, scenario

    try:
        host = SharedHost(address, session.config)
    except hosts.UnknownHost as error:
        raise pytest.UsageError(str(error)) from error
    chosen = scenario.select(scenario.shipped(), reference=address in hosts.BUILT_IN)
    items: list[pytest.Item] = [
        Check.from_parent(session, name=f"{','.join(each.clauses)}[{each.id}]", scenario=each, host=host)
        for each in chosen
    ]
    if profile != "none":
        items.append(
            GeneratedCheck.from_parent(session, name=f"generated[{profile}]", profile=profile, host=host)
        )
    return items


class SharedHost:
    """One connection for all items of a process, made when the first needs it."""

    def __init__(self, address: str, config: pytest.Config) -> None:
        from . import hosts

        self.address = address
        self.connect = hosts.resolve(address)
        self._connection: Connection | None = None
        config.add_cleanup(self.close)

    def live(self) -> Connection:
        """A connection that works; made anew after the adapter broke down."""
        if self._connection is None or self._connection.broken:
            self._connection = self.connect()
        return self._connection

    def close(self) -> None:
        """End the adapter."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class CheckFailed(Exception):
    """A check found a difference, or could not be made."""


class _Item(pytest.Item):
    host: SharedHost

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The differences alone: a traceback of the kit helps nobody."""
        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class Check(_Item):
    """One directed scenario."""

    def __init__(self, *, scenario: Scenario, host: SharedHost, **rest: Any) -> None:
        super().__init__(**rest)
        self.scenario, self.host = scenario, host
        self.extra_keyword_matches.update((*scenario.clauses, scenario.id))

    def runtest(self) -> None:
        """Run the scenario and fail with its differences."""
        from .runner import run_scenario

        result = run_scenario(self.host.live(), self.scenario)
        if result.outcome == "unmeasured":
            pytest.skip(f"needs {' and '.join(result.missing)}")
        if result.outcome != "passed":
            raise CheckFailed(_told(result, self.scenario.id, self.host.address))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the item says that it comes from."""
        return self.session.path, None, self.name


class GeneratedCheck(_Item):
    """Generated scenarios, each of them judged."""

    def __init__(self, *, profile: str, host: SharedHost, **rest: Any) -> None:
        super().__init__(**rest)
        self.profile, self.host = profile, host
        self.extra_keyword_matches.add("generated")

    def runtest(self) -> None:
        """Generate, and fail with each scenario that is not admitted."""
        from .generate import profiles
        from .generate.at_once import search_at_once
        from .generate.search import search
        from .runner import AT_ONCE, greet

        seed = self.config.getoption("--fencepost-seed")
        if "clock" in greet(self.host.live()).instruments:
            found = search(self.host.connect, profiles.PROFILES[self.profile], seed)
        else:
            profile = profiles.REAL_TIME[self.profile]
            found = search_at_once(self.host.connect, profile, seed, at_once=AT_ONCE)
        if found.results:
            pairs = zip(found.results, found.scenarios, strict=True)
            raise CheckFailed("\n\n".join(self._kept(result, scenario) for result, scenario in pairs))

    def _kept(self, result: CheckResult, scenario: Scenario) -> str:
        from .cli import sources
        from .report.model import HostFacts
        from .reproducer import reproducer, save
        from .runner import greet

        greeting = greet(self.host.live())
        facts = HostFacts(
            self.host.address, greeting.name, greeting.version, tuple(sorted(greeting.instruments))
        )
        place = self.config.rootpath / PLACE
        place.mkdir(exist_ok=True)
        seed = self.config.getoption("--fencepost-seed")
        file = save(place, reproducer(scenario.document, result, sources.kit(), facts, seed))
        return _told(result, str(file), self.host.address)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the item says that it comes from."""
        return self.session.path, None, self.name


def _told(result: CheckResult, file: str, address: str) -> str:
    from .report import facts

    replay = shlex.join(["fencepost", "replay", file, address])
    lines = [result.title]
    for difference in result.differences:
        lines += [
            f"{difference.clause} at {difference.at}: {difference.message}",
            f"  expected {facts.value(difference.expected)}",
            f"  seen     {facts.value(difference.seen)}",
        ]
    return facts_plain("\n".join([*lines, *filter(None, [result.detail]), replay]))


def facts_plain(text: str) -> str:
    """Several lines with the control characters of each escaped."""
    from .report import facts

    return "\n".join(facts.plain(line) for line in text.split("\n"))
