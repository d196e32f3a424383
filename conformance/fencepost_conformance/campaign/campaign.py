"""The whole of a campaign: begin, kill until there were enough, let everything come to an end, check."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.api.artifacts import FOLDER_URL
from fencepost.durable import processes as system
from fencepost.durable.store import StoreUnavailable

from ..adapter import AdapterFault, Setup
from ..host_api import HostApi
from ..hosts.api_probe import Deployed
from ..journal import Journal
from ..loopback import reserved
from ..probe import load
from ..probe_bundle import Bundles
from . import database, kept, plans
from .api import SECRET
from .callers import Direct, ThroughApi
from .checks import Evidence, Violation, repeated, violations
from .journal import CampaignJournal
from .judged import Judged, judge_all
from .lives import Leader, Life
from .plans import Deed
from .processes import ApiSlot, Slot, Tally, WorkerSlot, prepare

_LOOK_SECONDS = 1.0
_QUIET_SECONDS = 30.0
_WEIGHT = 10_000


@dataclass(frozen=True)
class Options:
    """What a campaign is to be; `seconds` bound its kills and its judging, `patience` its wait;
    lives that the judge refuses are written into `keep`."""

    db: str | None = None
    kills: int = 2000
    instances: int = 500
    workers: int = 3
    seconds: float | None = None
    seed: int = 1
    pauses: bool = False
    lease: float = 2.0
    abreast: int = 24
    patience: float = 90.0
    fault: str | None = None
    keep: Path = Path("fencepost-failures")


@dataclass(frozen=True)
class Result:
    """What came of it."""

    tally: Tally
    instances: int
    effects: int
    repeated: int
    late_reports: int
    judged: Sequence[Judged]
    violations: Sequence[Violation]
    seconds: float

    @property
    def unseen(self) -> list[Judged]:
        """The lives that the judge did not look at to their ends."""
        return [each for each in self.judged if each.notes]


Say = Callable[[str], None]


def run(options: Options, say: Say = lambda line: None) -> Result:
    """Run a campaign; ValueError where its database cannot be used, AdapterFault where nothing comes up."""
    began = time.monotonic()
    with database.opened(options.db) as place, contextlib.ExitStack() as stack:
        campaign = _Campaign(options, place, stack, say)
        try:
            evidence = campaign.carry_out()
        finally:
            campaign.end()
        say(f"{_clock(began)} judging {len(campaign.lives)} lives")
        judged = list(judge_all(campaign.lives, options.seconds))
        lives = {life.id: life for life in campaign.lives}
        refused = [each for each in judged if each.refusal]
        places = [kept.save(options.keep, lives[each.id]) for each in refused]
        told = [
            Violation("judge", each.id, f"{each.refusal}\n  kept as {place}")
            for each, place in zip(refused, places, strict=True)
        ]
        return Result(
            campaign.tally,
            len(campaign.lives),
            sum(evidence.executions.values()),
            repeated(evidence),
            sum(each.kind == "late" for rows in evidence.rows.history.values() for each in rows),
            judged,
            [*violations(evidence), *told],
            time.monotonic() - began,
        )


class _Campaign:
    """One campaign under way; all that it opens is closed by `stack`."""

    def __init__(self, options: Options, place: str, stack: contextlib.ExitStack, say: Say) -> None:
        self.options, self.place, self.say = options, place, say
        self.tally = Tally()
        self.lives: list[Life] = []
        self._began = time.monotonic()
        self._calm, self._over, self._given_up = threading.Event(), threading.Event(), threading.Event()
        self._guard = threading.Lock()
        self._secret = os.environ[SECRET] = secrets.token_urlsafe(32)
        prepare()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fencepost-")))
        self._port = stack.enter_context(reserved())
        self._journal = CampaignJournal(plans.chance(options.seed, "effects"))
        stack.callback(self._journal.close)
        api, self._uid = self._deployed(folder)
        direct = Direct(place, self._uid)
        stack.callback(direct.close)
        self._watch = database.Watch(direct.store, self._uid)
        self._leader = Leader((direct, direct, api), self._journal.counts, self._drawn, self._given_up.is_set)
        for number in range(1, options.workers + 1):
            slot = WorkerSlot(
                number, self.tally, self._calm, self._over,
                seed=options.seed, lease=options.lease, pauses=options.pauses, work=self._work,
            )  # fmt: skip
            self._slots.append(slot)

    _slots: list[Slot]

    def _deployed(self, folder: Path) -> tuple[ThroughApi, str]:
        """The API process, with the probe deployed on it: who calls through it, and the Workflow's UID."""
        port = int(self._port.getsockname()[1])
        calling = threading.Event()
        slot = ApiSlot(
            0, self.tally, self._calm, self._over,
            seed=self.options.seed, serve=(self.place, str(folder), port, self._secret), calling=calling,
        )  # fmt: skip
        self._slots = [slot]
        self.say(f"{_clock(self._began)} the API process comes up, and the probe is deployed on it")
        first = slot.start(())
        slot.process = first
        try:
            slot.await_up()
            api = HostApi(slot.url, {"owner": SECRET})
            token = f"c{secrets.token_hex(4)}"
            setup = Setup(token, {"v1": load("v1")}, {"v1": _WEIGHT}, Journal())
            probe_of = Deployed(api, Bundles(folder, FOLDER_URL), setup, "default", self._journal.url("api"))
            probe_of.set_up()
            uid = probe_of.resources()["workflow"]
        finally:
            first.terminate()
            slot.await_end()
        return ThroughApi(f"{slot.url}/workers/{probe_of.caller}", calling), uid

    def _work(self, name: str, deeds: Sequence[Deed]) -> tuple[Any, ...]:
        options = self.options
        return self.place, self._uid, self._journal.url(name), options.lease, deeds, options.fault

    def _drawn(self, id: str) -> Any:
        return plans.chance(self.options.seed, "life", id)

    # -- its course --------------------------------------------------------------------------------

    def carry_out(self) -> Evidence:
        """Go through all of it; what is known afterwards."""
        self.say(f"{_clock(self._began)} instances are created, and processes killed")
        self._since = time.monotonic()
        for slot in self._slots:
            slot.begin()
        leaders = [threading.Thread(target=self._lead, daemon=True) for _ in range(self.options.abreast)]
        for leader in leaders:
            leader.start()
        while not self._enough():
            time.sleep(_LOOK_SECONDS)
            self._look()
            self._tell()
        self.say(f"{_clock(self._began)} calm: what is killed is started again, and all comes to an end")
        self._calm.set()
        limit = time.monotonic() + self.options.patience
        while any(leader.is_alive() for leader in leaders) and time.monotonic() < limit:
            time.sleep(_LOOK_SECONDS)
            self._look()
        self._given_up.set()
        for leader in leaders:
            leader.join()
        for life in self.lives:
            self._leader.look(life)
            last = (time.monotonic(), self._journal.counts(life.id))
            life.reported = [*self._journal.reported[life.id], last]
        return self._evidence()

    def end(self) -> None:
        """End whatever runs."""
        self._given_up.set()
        self._calm.set()
        self._over.set()
        for slot in self._slots:
            with contextlib.suppress(RuntimeError):  # it was never begun
                slot.join()

    def _enough(self) -> bool:
        options = self.options
        if options.seconds is not None and time.monotonic() - self._since > options.seconds:
            return True
        return self.tally.killed >= options.kills and len(self.lives) >= options.instances

    def _lead(self) -> None:
        while not self._calm.is_set():
            with self._guard:
                life = Life(plans.plan(self.options.seed, len(self.lives) + 1))
                self.lives.append(life)
            self._leader.lead(life)

    def _look(self) -> None:
        with contextlib.suppress(StoreUnavailable):
            self._watch.look()

    _told = _since = 0.0

    def _tell(self) -> None:
        if time.monotonic() - self._told < 10 * _LOOK_SECONDS:
            return
        self._told = time.monotonic()
        pauses = f", {sum(self.tally.pauses.values())} pauses" if self.options.pauses else ""
        over, of = sum(bool(life.end) for life in self.lives), len(self.lives)
        self.say(f"{_clock(self._began)} {self.tally.killed} kills{pauses}, {of} instances, {over} over")

    def _evidence(self) -> Evidence:
        limit = time.monotonic() + _QUIET_SECONDS
        store, uid = self._watch.store, self._uid
        while (rows := database.read(store, uid)).contexts and time.monotonic() < limit:
            time.sleep(_LOOK_SECONDS)
        self._look()
        self._over.set()
        for slot in self._slots:
            slot.join()
        left = [pid for session in self._watch.sessions for pid in system.members(*session)]
        return Evidence(
            self.lives, rows, self._journal.executions(), self._watch.changed, left, self.tally.broken
        )


def _clock(began: float) -> str:
    return f"{time.monotonic() - began:6.1f} s"


def lines(result: Result, options: Options) -> Iterator[str]:
    """What a reader is told of a result."""
    tally = result.tally
    for what, counts in (("kills", tally.kills), ("pauses", tally.pauses)):
        if counts:
            yield f"  {what} by point: " + ", ".join(
                f"{point} {count}" for point, count in counts.most_common()
            )
    if result.unseen:
        yield f"  the judge did not look at {len(result.unseen)} lives to their ends"
    for each in result.violations[:20]:
        yield f"  {each}"
    if len(result.violations) > 20:
        yield f"  and {len(result.violations) - 20} more"
    pauses = f"{sum(tally.pauses.values())} pauses, " if options.pauses else ""
    yield (
        f"{tally.killed} kills, {pauses}{result.instances} instances, {result.effects} effects, "
        f"{result.repeated} repeated (allowed), {result.late_reports} late reports refused, "
        f"{len(result.violations)} violations; seed {options.seed}, {result.seconds:.0f} s"
    )


__all__ = ["AdapterFault", "Options", "Result", "lines", "run"]
