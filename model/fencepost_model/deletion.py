"""A whole history in the words of `Resource`: what happened to each instance, and to the name.

Only a history in which a resource was closed touches this module. An instance of it has one step, so a run
becomes that one step at its end; what parks an instance is a failed attempt with a delay, and what wakes it a
wake. The Binding goes before the close and comes with the re-creation, which the next `create` shows. A
report that was refused may be one of an older UID: it is no action here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost_model.history import Row
from fencepost_model.projection import Logged, OutsideModule, Projected, owner_after

MODULE = "Resource"
_SHOWN = {"waiting": "sleeping", "errored": "complete"}


def touched(rows: Sequence[Row]) -> bool:
    """Whether a resource was closed in this history."""
    return any(row.action.name == "Close" and not row.refused for row in rows)


def project(rows: Sequence[Row]) -> Projected:
    """The whole history in the words of `Resource`, or OutsideModule."""
    ids = tuple(sorted({row.instance for row in rows}))
    return Projected(MODULE, (), tuple(_Deletion(rows[0]).logged(rows)), ids)


class _Deletion:
    def __init__(self, first: Row) -> None:
        self.first = first
        self.phase = "open"
        self.own: dict[str, int] = {}
        self.parked: set[str] = set()
        self.ended: set[str] = set()
        self.delayed: dict[str, bool] = {}  # whether the do that an instance began last has a delay
        self.unnamed: set[str] = set()  # ended in a way for which the module has no word

    def logged(self, rows: Sequence[Row]) -> Iterator[Logged]:
        yield Logged(self.first, "Bind")
        for row in rows:
            if row.refused:
                continue
            told = list(self.row(row))
            yield from told[:-1]
            if told:
                last = told[-1]
                status = (
                    ""
                    if row.instance in self.unnamed or not last.type
                    else _SHOWN.get(row.status, row.status)
                )
                yield Logged(row, last.action, last.token, last.type, result=last.result, status=status)
            self.own[row.instance] = owner_after(self.own.get(row.instance, 0), row)

    def row(self, row: Row) -> Iterator[Logged]:
        name, id, reply = row.action.name, row.instance, row.reply
        token = row.action["token"] or 0
        if name == "BeginStep" and reply.name == "Run":
            policy = row.action["arguments"].get("retry") or {}
            self.delayed[id] = min(policy.get("initialDelaySeconds", 0), policy.get("maxDelaySeconds", 1)) > 0
        if name == "Create":
            yield from self.create(row)
        elif name in ("Terminate", "EndLifetime"):
            if id not in self.ended:
                yield Logged(row, "Terminate", type=id)
            self.ended.add(id)
            if name == "EndLifetime":
                self.unnamed.add(id)
        elif name in ("Claim", "StopAck", "Crash", "Expire"):
            yield Logged(row, name, token, id)
        elif reply.name == "Parked":
            yield from self.park(row, token)
        elif name == "Wake" or reply["handed_over"]:
            if id in self.parked:
                self.parked.discard(id)
                yield Logged(row, "Wake", type=id)
        elif reply.name == "Stopped":
            self.ended.add(id)
            yield Logged(row, "BeginStep", token, id)
            yield Logged(row, "CommitAttempt", token, id, result="done")
            yield Logged(row, "Settle", token, id)
        elif name in ("Close", "Purge"):
            yield from self.deletion(row)

    def create(self, row: Row) -> Iterator[Logged]:
        if self.phase == "closing":
            raise OutsideModule(f"moment {row.number}: a create in a resource that nothing shows as purged")
        if self.phase == "free":
            yield Logged(row, "Recreate")
            yield Logged(row, "Bind")
            self.phase = "open"
        yield Logged(row, "Create", type=row.instance)

    def park(self, row: Row, token: int) -> Iterator[Logged]:
        """A sleep, a wait or a retry with a delay parks; a retry without one only needs another context."""
        if row.action.name == "CommitAttempt" and not self.delayed.get(row.instance):
            yield Logged(row, "Expire", type=row.instance)
            return
        self.parked.add(row.instance)
        yield Logged(row, "BeginStep", token, row.instance)
        yield Logged(row, "CommitAttempt", token, row.instance, result="again")

    def deletion(self, row: Row) -> Iterator[Logged]:
        wanted, after = ("open", "closing") if row.action.name == "Close" else ("closing", "free")
        if self.phase == wanted:
            self.phase = after
            if after == "closing":
                yield Logged(row, "Unbind")
            else:
                self.parked.clear()
                self.ended.clear()
                self.unnamed.clear()
            yield Logged(row, row.action.name)
