"""Checks a recorded history by TLC: is each life in it a behaviour of the modules that it touches?

A life becomes a log of actions with their parameters, and the log a module of its own that extends `Fencing`
or `Waits`: at each place only the logged action may happen, and what was seen afterwards must be so. TLC
follows it; when it cannot go on, the place that it reached is the moment that is refused. Nothing of the
machine is asked here, so a Host that broke a rule is seen even where the machine would break it too.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fencepost_model import deletion, tlc, tools
from fencepost_model.history import Life, Row, UnreadableHistory, lives
from fencepost_model.projection import Logged, OutsideModule, Projected, lifetime, project, quoted

MODULES = ("Fencing", "Waits")
NAME = "TraceOfLife"
MANY = 1_000_000
"""More tokens than any history has: no loss is ever one too many."""

LONGEST = 10_000
"""The most actions of one life; TLC's time grows with actions times steps."""

JAVA = (*tlc.QUICK, "-Xss64m")  # programs are walked by recursion


@dataclass(frozen=True)
class Followed:
    """What came of one life in one module: the refused row, or why the module does not speak of it."""

    instance: str
    module: str
    actions: int
    refused: Row | None = None
    outside: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the life is a behaviour of the module, or outside of it."""
        return self.refused is None


def follow(rows: Sequence[Row], workers: int = 2) -> Iterator[Followed]:
    """Every life of a history in every module that it touches, in order; `workers` of them at once.

    Where a resource was closed the whole history is followed through `Resource` too.
    """
    wanted: list[tuple[str, str, Callable[[], Projected]]] = []
    for life in lives(rows):
        for module in touched(life):
            wanted.append((life.instance, module, partial(project, life, module)))
    if deletion.touched(rows):
        wanted.append(("the resource", deletion.MODULE, partial(deletion.project, rows)))
    with ThreadPoolExecutor(max_workers=workers) as pool:
        yield from pool.map(lambda each: _followed(*each), wanted)


def touched(life: Life) -> tuple[str, ...]:
    """The modules that speak of a life: `Waits` where there is a clock to it, `Fencing` always."""
    clocked = any(
        row.action["kind"] in ("wait", "sleep") or row.action.name in ("SendEvent", "EndLifetime")
        for row in life.rows
        if not row.refused
    )
    return MODULES if clocked else MODULES[:1]


def follow_life(life: Life, module: str) -> Followed:
    """One life in one module."""
    return _followed(life.instance, module, partial(project, life, module))


def _followed(instance: str, module: str, projecting: Callable[[], Projected]) -> Followed:
    try:
        projected = projecting()
    except OutsideModule as why:
        return Followed(instance, module, 0, outside=str(why))
    if len(projected.log) > LONGEST:
        raise UnreadableHistory(
            f"{instance} has {len(projected.log):,} actions in {module}, of which at most {LONGEST:,} are"
            " followed; cut the history"
        )
    if not projected.log:
        return Followed(instance, module, 0, outside="nothing of it is the module's")
    reached = _follow(projected)
    refused = None if reached >= len(projected.log) else projected.log[reached].row
    return Followed(instance, module, len(projected.log), refused)


def _follow(projected: Projected) -> int:
    """How many actions of the log TLC could follow."""
    with tempfile.TemporaryDirectory(prefix="fencepost-trace-") as name:
        folder = Path(name)
        for module in tools.modules().glob("*.tla"):
            text = module.read_text(encoding="utf-8")
            (folder / module.name).write_text(_widened(text, projected), encoding="utf-8")
        path = folder / f"{NAME}.tla"
        path.write_text(module_text(projected), encoding="utf-8")
        configuration = folder / f"{NAME}.cfg"
        configuration.write_text(configuration_text(projected), encoding="utf-8")
        run = tlc.run(path, configuration, java=JAVA)
    if run.outcome == "failed":
        raise tools.MissingTools(f"TLC could not follow the history: {run.problem}")
    return len(projected.log) if run.outcome == "violated" else run.depth - 1


def _widened(text: str, projected: Projected) -> str:
    """A module with the steps of this life for its program.

    Written in as definitions, which TLC evaluates once; what a configuration substitutes it evaluates at each
    use.
    """
    names = ", ".join(f'"s{k}"' for k in range(1, max(len(projected.steps), 1) + 1))
    body = f"Body == [p |-> <<{', '.join(projected.steps)}>>]"
    text = re.sub(r"^  Body,.*\n", "", text, count=1, flags=re.MULTILINE)
    text = text.replace("Programs == DOMAIN Body", f"{body}\nPrograms == DOMAIN Body")
    return text.replace('Names == <<"a", "b", "c">>', f"Names == <<{names}>>")


def configuration_text(projected: Projected) -> str:
    """The bounds of a log: its own program, and no bound on faults."""
    lines = ["SPECIFICATION TraceSpec", "INVARIANT NotDone", "CONSTANTS"]
    lines += [f"  MaxToken = {MANY}", f"  MaxContexts = {MANY}"]
    if projected.module == "Resource":
        lines += [f"  Ids = {{{', '.join(map(quoted, projected.types))}}}", f"  MaxUid = {MANY}"]
    if projected.module == "Waits":
        life, kept = lifetime(projected)
        lines += ["  Size <- TraceSize", f"  MaxEvents = {MANY}", "  MaxInbox = 1024", f"  MaxBytes = {MANY}"]
        lines += [f"  Lifetime = {life}", f"  Retention = {kept}"]
    return "\n".join(lines) + "\n"


def module_text(projected: Projected) -> str:
    """The module that allows this log, and nothing else."""
    lines = [f"---- MODULE {NAME} ----", f"EXTENDS {projected.module}", "VARIABLE at", ""]
    if projected.module == "Waits":
        sizes = " @@ ".join(f"({quoted(each)} :> 0)" for each in projected.types) or '("none" :> 0)'
        lines[1] += ", TLC"
        lines += [f"TraceSize == {sizes}"]
    common = _COMMON if projected.module in MODULES else ""
    log = ",\n".join(map(_entry, projected.log))
    return "\n".join([*lines, "Trace == <<", log, ">>", common, _OWN[projected.module], _END])


def _entry(logged: Logged) -> str:
    fields = (
        f'a |-> "{logged.action}", t |-> {logged.token}, y |-> {quoted(logged.type)}, n |-> {logged.amount}'
    )
    return f'  [{fields}, r |-> "{logged.result}", s |-> "{logged.status}"]'


_COMMON = r"""
Same == UNCHANGED vars
Owns(t) == Live /\ t = own
Ended == IF term' # None THEN term' ELSE dec'
\* STA-1: awake, and not yet claimed, may be shown as it was parked.
Shown(e) == Status' = e.s \/ (Status' = "queued" /\ e.s \in {"sleeping", "waiting", "running"})

Common(e) ==
  \/ e.a = "Stutter" /\ Same
  \/ e.a = "Create" /\ Create("p")
  \/ e.a = "Terminate" /\ Terminate
  \/ e.a = "Claim" /\ Claim /\ own' = e.t
  \/ e.a = "BeginStep" /\ First = e.n /\ BeginStep(e.t)
  \/ e.a = "Replay" /\ Owns(e.t) /\ hist[Names[e.n]] # 0 /\ Same
  \/ e.a = "Park" /\ Park(e.t) /\ (e.r = "kept") = (own' = e.t)
  \/ e.a = "Settle" /\ Settle(e.t) /\ Ended = e.r
  \/ e.a = "Wake" /\ Wake
  \/ e.a = "Expire" /\ Expire
  \/ e.a = "Crash" /\ Crash(e.t)
  \/ e.a = "StopAck" /\ StopAck(e.t)
"""

_OWN = {
    "Fencing": r"""
Own(e) ==
  \/ Common(e)
  \/ e.a = "Refused" /\ ~Owns(e.t) /\ Same
  \/ e.a = "End" /\ Owns(e.t) /\ Decide("terminated") /\ UNCHANGED <<prog, hist>>
  \/ /\ e.a = "CommitAttempt"
     /\ CommitAttempt(e.t)
     /\ e.r = "again" <=> fails' > fails
     /\ e.r = "done" <=> \E s \in Steps : hist'[s] # hist[s] /\ hist'[s] = e.t
     /\ e.r = "failed" <=> HasFailed' /\ ~HasFailed
""",
    "Waits": r"""
Past(n, by, floor) == IF n - by > floor THEN n - by ELSE floor
\* So many ticks at once.
Elapse(n) ==
  /\ left' = IF Pending THEN Past(left, n, -1) ELSE left
  /\ life' = Past(life, n, 0)
  /\ keep' = Past(keep, n, 0)
  /\ UNCHANGED <<prog, own, token, ctx, hist, inbox, accepted, dec, term>>

Own(e) ==
  \/ Common(e)
  \/ e.a = "Elapse" /\ Elapse(e.n)
  \/ e.a = "Refused" /\ ~(Owns(e.t) /\ life > 0) /\ Same
  \/ e.a = "Works" /\ Owns(e.t) /\ life > 0 /\ Same
  \/ e.a = "EndLifetime" /\ EndLifetime
  \/ /\ e.a = "End"
     /\ Owns(e.t)
     /\ life > 0
     /\ Decide("terminated")
     /\ UNCHANGED <<prog, hist, accepted>>
  \/ /\ e.a = "SendEvent"
     /\ SendEvent(e.y)
     /\ accepted' = e.n
     /\ e.r = "handed" <=> hist' # hist
     /\ e.r = "queued" <=> inbox' # inbox
""",
    "Resource": r"""
\* Through a bound id: what is primed is the status of it, not the place in the log.
Shown(e) ==
  \E i \in Ids :
    /\ i = e.y
    /\ Status(i)' = e.s \/ (Status(i)' = "queued" /\ e.s \in {"sleeping", "running"})

Own(e) ==
  \/ e.a = "Bind" /\ Bind
  \/ e.a = "Unbind" /\ Unbind
  \/ e.a = "Close" /\ Close
  \/ e.a = "Purge" /\ Purge
  \/ e.a = "Recreate" /\ Recreate
  \/ e.a = "Create" /\ Create(e.y)
  \/ e.a = "Terminate" /\ Terminate(e.y)
  \/ e.a = "Claim" /\ Claim(e.y) /\ inst'[e.y].own = e.t
  \/ e.a = "BeginStep" /\ BeginStep(e.y, e.t)
  \/ /\ e.a = "CommitAttempt"
     /\ CommitAttempt(uid, e.y, e.t)
     /\ e.r = "done" <=> inst'[e.y].work # 0
  \/ e.a = "Settle" /\ Settle(e.y, e.t)
  \/ e.a = "Wake" /\ Wake(e.y)
  \/ e.a = "Expire" /\ Expire(e.y)
  \/ e.a = "Crash" /\ Crash(e.y, e.t)
  \/ e.a = "StopAck" /\ StopAck(e.y, e.t)
""",
}

_END = r"""
TraceInit == Init /\ at = 0
TraceNext ==
  /\ at < Len(Trace)
  /\ at' = at + 1
  /\ LET e == Trace[at + 1]
     IN  /\ Own(e)
         /\ IF e.s = "" THEN TRUE ELSE Shown(e)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, at>>
NotDone == at < Len(Trace)
====
"""
