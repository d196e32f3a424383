"""One life in the words of `Fencing` and of `Waits`: which action of the module each row is.

A module says less than a Host does, so a life is looked at through each. What a module leaves out is left
out of its log, in ways under which a behaviour stays one:

- the program is the sequence of steps in the order in which they were first begun;
- in `Fencing` a wait is a sleep: one that ends while its owner runs takes no time, another wakes;
- in `Waits` a do is a sleep of 0 that begins when its result is committed, and a failed attempt that needs a
  fresh context is a loss of the owner;
- an end that a module has no word for is an end all the same, decided by the owner.

A row that was refused must be one that the module refuses. Whatever fits no rule here (a step that newer code
skips, say) makes the life one that the module does not speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd
from typing import Any

from fencepost_spec.limits import FORM

from fencepost_model.history import MILLISECONDS, Life, Row


class OutsideModule(ValueError):
    """A life that a module does not speak of; the text says why."""


@dataclass(frozen=True)
class Logged:
    """One action of the module with its parameters, what must come of it, and the row that it comes from.

    `amount` is what elapsed, in ticks; `result` what must be seen afterwards; `status` "" where it is not
    looked at.
    """

    row: Row
    action: str
    token: int = 0
    type: str = ""
    amount: int = 0
    result: str = ""
    status: str = ""


@dataclass(frozen=True)
class Projected:
    """A life in the words of a module: its program as TLA+ steps, and its log; a tick in milliseconds."""

    module: str
    steps: tuple[str, ...]
    log: tuple[Logged, ...]
    types: tuple[str, ...] = ()
    tick: int = MILLISECONDS


_ENDS = {
    "Fencing": {
        None: "complete",
        "step_failed": "step_failed",
        "step_definition_mismatch": "step_definition_mismatch",
    },
    "Waits": {None: "complete", "step_definition_mismatch": "step_definition_mismatch"},
}
_TERMINAL = frozenset({"complete", "errored", "terminated"})
_MOST_TICKS = 2_000_000_000
"""What TLC can count to, with room to add."""


@dataclass
class _Begun:
    """A step as the life shows it: its call, and whether it ever waited without an owner."""

    kind: str
    arguments: Mapping[str, Any]
    parks: bool = False


class _Projection:
    module = ""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.begun: dict[str, _Begun] = {}
        self.own = 0
        self.open: str | None = None
        self.calling = False  # a step that the present context called has not settled
        self.ended = False
        self.unnamed = False  # the module has no word for how it ended
        self._look_ahead()

    def _look_ahead(self) -> None:
        """What only the rest of the life tells of each step."""
        own, open = 0, None
        for row in self.life.rows:
            if row.refused:
                continue
            name, reply = row.action.name, row.reply
            if name == "Claim":
                own, open = row.action["token"], None
            elif name == "BeginStep" and reply.name in ("Run", "Pending"):
                open = row.action["name"]
                self.begun.setdefault(open, _Begun(row.action["kind"], row.action["arguments"]))
            elif open is not None and self._parks(row, own):
                self.begun[open].parks = True
            own = owner_after(own, row)

    def _parks(self, row: Row, own: int) -> bool:
        """Whether this row shows that the step which was called last waits without an owner."""
        if row.reply.name == "Parked" or (
            not own and (row.action.name == "Wake" or row.reply["handed_over"])
        ):
            return True
        return not owner_after(own, row) and row.status in ("sleeping", "waiting")

    def project(self) -> Projected:
        """The whole life, or OutsideModule."""
        log = tuple(each for row in self.life.rows for each in self.row(row))
        return Projected(self.module, tuple(self.step(each) for each in self.begun.values()), log)

    def step(self, begun: _Begun) -> str:
        raise NotImplementedError

    def row(self, row: Row) -> Iterator[Logged]:
        """What a row is in the module: nothing, an action, or several."""
        if row.reply.name == "Fenced":
            yield Logged(row, "Refused" if not self._lapses(row) else "Stutter", row.action["token"])
            return
        if row.refused:
            return
        told = list(_ROWS.get(row.action.name, _nothing)(self, row))
        yield from told[:-1]
        if told:
            last = told[-1]
            yield Logged(
                row, last.action, last.token, last.type, last.amount, last.result, self.status(row.status)
            )
        self.own = owner_after(self.own, row)
        settled = row.action.name in ("Park", "CommitAttempt") and row.reply.name == "Recorded"
        if settled or row.action.name == "Claim":
            self.calling = False

    def _lapses(self, row: Row) -> bool:
        """Whether an owner is refused only for its lease, which has run out and is looked at next (PUB-3)."""
        later = self.life.rows[self.life.rows.index(row) + 1 :]
        following = next((each for each in later if not each.refused), None)
        return row.action["token"] == self.own and (following is None or following.action.name == "Expire")

    def status(self, status: str) -> str:
        """The status that the module must show, or nothing where it has no word for it."""
        return "" if self.unnamed and status in _TERMINAL else status

    # What rows are; a subclass changes what its module says otherwise

    def create(self, row: Row) -> Iterator[Logged]:
        yield Logged(row, "Create")

    def terminate(self, row: Row) -> Iterator[Logged]:
        yield Logged(row, "Stutter" if self.ended else "Terminate")
        self.ended = True

    def claim(self, row: Row) -> Iterator[Logged]:
        self.open = None
        yield Logged(row, "Claim", row.action["token"])

    def begin_step(self, row: Row) -> Iterator[Logged]:
        name = row.action["name"]
        if row.reply.name == "Stopped":
            yield from self.settle(row)
        elif row.reply.name in ("Run", "Pending"):
            self.open, self.calling = name, True
            yield from self.opened(row)
        elif row.reply.name == "Recorded":
            yield Logged(row, "Replay", row.action["token"], amount=1 + list(self.begun).index(name))
        else:
            raise OutsideModule(f"moment {row.number}: {self.module} has no {row.reply.name} of a step call")

    def opened(self, row: Row) -> Iterator[Logged]:
        yield Logged(
            row, "BeginStep", row.action["token"], amount=1 + list(self.begun).index(row.action["name"])
        )

    def park(self, row: Row) -> Iterator[Logged]:
        yield Logged(
            row, "Park", row.action["token"], result="kept" if row.reply.name == "Recorded" else "fenced"
        )

    def commit_attempt(self, row: Row) -> Iterator[Logged]:
        raise NotImplementedError

    def settle(self, row: Row) -> Iterator[Logged]:
        self.ended = True
        end = _ENDS[self.module].get(row.reply["reason"])
        if row.reply["reason"] == "step_definition_mismatch" and not self.calling:
            end = None  # a name under another kind (STP-6)
        self.unnamed = end is None
        yield Logged(row, "Settle" if end else "End", row.action["token"], result=end or "")

    def wake(self, row: Row) -> Iterator[Logged]:
        yield Logged(row, "Wake")

    def end_lifetime(self, row: Row) -> Iterator[Logged]:
        self.ended = self.unnamed = True
        yield Logged(row, "Terminate")

    def expire(self, row: Row) -> Iterator[Logged]:
        yield Logged(row, "Expire")

    def crash(self, row: Row) -> Iterator[Logged]:
        yield Logged(row, "Crash", row.action["token"])

    def stop_ack(self, row: Row) -> Iterator[Logged]:
        yield Logged(row, "StopAck", row.action["token"])

    def send_event(self, row: Row) -> Iterator[Logged]:
        raise NotImplementedError

    def looked(self, row: Row) -> Iterator[Logged]:
        yield Logged(row, "Stutter")


class _Fencing(_Projection):
    module = "Fencing"
    failed = False  # whether a step has failed for good, uncaught

    def step(self, begun: _Begun) -> str:
        if begun.kind != "do":
            return f"Sleep({int(begun.parks)})"
        policy = begun.arguments.get("retry") or {}
        delay = min(policy.get("initialDelaySeconds", 0), policy.get("maxDelaySeconds", 1))
        return f"Do({policy.get('maxAttempts', 1)}, {int(delay > 0)})"

    def commit_attempt(self, row: Row) -> Iterator[Logged]:
        if row.reply.name == "Parked":
            result = "again"
        elif row.reply["outcome"].name == "Succeeded" or not self._uncaught():
            result = "done"  # a failure that the program catches: to the module it is an outcome
        else:
            result, self.failed = "failed", True
        yield Logged(row, "CommitAttempt", row.action["token"], result=result)

    def settle(self, row: Row) -> Iterator[Logged]:
        if row.reply["reason"] == "step_failed" and not self.failed:  # caught, and thrown again later
            self.ended = self.unnamed = True
            yield Logged(row, "End", row.action["token"])
        else:
            yield from super().settle(row)

    def _uncaught(self) -> bool:
        last = list(self.begun)[-1] if self.begun else None
        ends = [each for each in self.life.rows if each.action.name == "Settle" and not each.refused]
        return (
            self.open == last and all(each.reply["reason"] == "step_failed" for each in ends) and bool(ends)
        )

    def send_event(self, row: Row) -> Iterator[Logged]:
        yield Logged(row, "Wake" if row.reply["handed_over"] and not self.own else "Stutter")

    def status(self, status: str) -> str:
        return super().status("sleeping" if status == "waiting" else status)


class _Waits(_Projection):
    module = "Waits"

    def __init__(self, life: Life) -> None:
        super().__init__(life)
        self.at = life.rows[0].at
        self.tick = reduce(gcd, self._lengths(), MILLISECONDS)
        if life.rows[-1].at - self.at > _MOST_TICKS * self.tick:
            raise OutsideModule("it lasts longer than TLC can count in ticks of this length")

    def _lengths(self) -> Iterator[int]:
        yield from (row.at - self.at for row in self.life.rows)
        yield from (int(self._seconds(each) * MILLISECONDS) for each in self.begun.values())

    def _seconds(self, begun: _Begun) -> int:
        return int(begun.arguments.get("seconds") or begun.arguments.get("timeoutSeconds") or 0)

    def project(self) -> Projected:
        found = super().project()
        types = {
            row.action["type"] for row in self.life.rows if row.action.name == "SendEvent" and not row.refused
        }
        types |= {each.arguments["type"] for each in self.begun.values() if each.kind == "wait"}
        return Projected(found.module, found.steps, found.log, tuple(sorted(types)), self.tick)

    def step(self, begun: _Begun) -> str:
        ticks = self._seconds(begun) * MILLISECONDS // self.tick
        if ticks > _MOST_TICKS:
            raise OutsideModule("a deadline is further away than TLC can count in ticks of this length")
        if begun.kind == "wait":
            return f"Wait({quoted(begun.arguments['type'])}, {ticks})"
        return f"Sleep({ticks if begun.kind == 'sleep' else 0})"

    def row(self, row: Row) -> Iterator[Logged]:
        if row.at > self.at:
            yield Logged(row, "Elapse", amount=(row.at - self.at) // self.tick)
            self.at = row.at
        yield from super().row(row)

    def opened(self, row: Row) -> Iterator[Logged]:
        if row.action["kind"] == "do":
            yield Logged(row, "Works", row.action["token"])
        else:
            yield from super().opened(row)

    def commit_attempt(self, row: Row) -> Iterator[Logged]:
        token, name = row.action["token"], self.open
        if row.reply.name == "Parked":
            yield Logged(row, "Expire")
            return
        if name is None:
            raise OutsideModule(f"moment {row.number}: no step was open")
        yield Logged(row, "BeginStep", token, amount=1 + list(self.begun).index(name))
        yield Logged(row, "Park", token, result="kept")

    def settle(self, row: Row) -> Iterator[Logged]:
        mismatch = row.reply["reason"] == "step_definition_mismatch"
        if mismatch and self.calling and self.open is not None and self.begun[self.open].kind == "do":
            yield Logged(row, "BeginStep", row.action["token"], amount=1 + list(self.begun).index(self.open))
        yield from super().settle(row)

    def wake(self, row: Row) -> Iterator[Logged]:
        retry = self.open is not None and self.begun[self.open].kind == "do"
        yield Logged(row, "Stutter" if retry else "Wake")

    def end_lifetime(self, row: Row) -> Iterator[Logged]:
        self.ended = True
        yield Logged(row, "EndLifetime")

    def send_event(self, row: Row) -> Iterator[Logged]:
        result = "handed" if row.reply["handed_over"] else "queued"
        if self.ended:
            result = "purged"
        number = row.reply["number"] or 0
        yield Logged(row, "SendEvent", type=row.action["type"], amount=number, result=result)

    def status(self, status: str) -> str:
        retrying = self.open is not None and self.begun[self.open].kind == "do" and not self.own
        return "" if retrying and status == "sleeping" else super().status(status)


_Rule = Callable[[Any, Row], Iterator[Logged]]


def _nothing(projection: _Projection, row: Row) -> Iterator[Logged]:
    return iter(())


_ROWS: Mapping[str, _Rule] = {
    "Create": _Projection.create,
    "Get": _Projection.looked,
    "ReadStatus": _Projection.looked,
    "SendEvent": lambda projection, row: projection.send_event(row),
    "Terminate": lambda projection, row: projection.terminate(row),
    "Claim": lambda projection, row: projection.claim(row),
    "BeginStep": lambda projection, row: projection.begin_step(row),
    "Park": lambda projection, row: projection.park(row),
    "CommitAttempt": lambda projection, row: projection.commit_attempt(row),
    "Settle": lambda projection, row: projection.settle(row),
    "Wake": lambda projection, row: projection.wake(row),
    "EndLifetime": lambda projection, row: projection.end_lifetime(row),
    "Expire": lambda projection, row: projection.expire(row),
    "Crash": lambda projection, row: projection.crash(row),
    "StopAck": lambda projection, row: projection.stop_ack(row),
}
_PROJECTIONS: Mapping[str, type[_Projection]] = {"Fencing": _Fencing, "Waits": _Waits}


def owner_after(own: int, row: Row) -> int:
    """The token that may commit after an accepted row."""
    name, reply = row.action.name, row.reply.name
    if name == "Claim":
        return int(row.action["token"])
    gone = name == "Crash" and row.action["token"] == own
    fenced = gone or name in ("Expire", "EndLifetime", "Close", "Terminate") or reply in ("Parked", "Stopped")
    return 0 if fenced else own


def project(life: Life, module: str) -> Projected:
    """A life in the words of a module, or OutsideModule."""
    return _PROJECTIONS[module](life).project()


def lifetime(projected: Projected) -> tuple[int, int]:
    """The Form's lifetime and retention in ticks, or what TLC can count to where that is less."""
    wanted = (FORM.lifetime_seconds, FORM.retention_seconds)
    return tuple(min(each * MILLISECONDS // projected.tick, _MOST_TICKS) for each in wanted)  # type: ignore[return-value]


def quoted(text: str) -> str:
    """A string that TLA+ can hold: what is not plain ASCII is spelled out."""
    plain = "".join(
        each if each.isascii() and each.isprintable() and each not in '"\\' else f"U{ord(each):X}"
        for each in text
    )
    return f'"{plain}"'


__all__ = ["Logged", "OutsideModule", "Projected", "lifetime", "owner_after", "project", "quoted"]
