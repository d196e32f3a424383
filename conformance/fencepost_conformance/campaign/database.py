"""A place for one campaign: a file of SQLite, or a schema of its own in a database of PostgreSQL.

What is read from it is what the Host has on record: rows, and no rule.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.durable import statements as sql
from fencepost.durable.store import Store, url_of
from sqlalchemy import create_engine, select, text


@contextlib.contextmanager
def opened(place: str | None) -> Iterator[str]:
    """Where a campaign's tables may be, and are no more afterwards; ValueError where that cannot be.

    None is a file that is made for it; a file that is named must not exist yet, and is kept.
    """
    if place is None:
        with tempfile.TemporaryDirectory(prefix="fencepost-", ignore_cleanup_errors=True) as folder:
            yield str(Path(folder) / "crashes.db")
        return
    url = url_of(place)
    if url.drivername == "sqlite":
        if Path(url.database or "").exists():
            raise ValueError(f"{place}: a campaign begins with nothing; name a file that is not there yet")
        yield place
        return
    schema = f"crashes_{secrets.token_hex(4)}"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    try:
        own = url.update_query_dict({"options": f"-csearch_path={schema}"})
        yield own.render_as_string(hide_password=False)
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
        engine.dispose()


@dataclass(frozen=True)
class Rows:
    """Everything that is on record when a campaign is over, of one resource; rows by instance id."""

    instances: Mapping[str, Any]
    steps: Mapping[str, list[Any]]
    events: Mapping[str, list[Any]]
    contexts: Mapping[str, list[Any]]
    history: Mapping[str, list[Any]]  # entries in the order in which they were committed
    ids: list[str] = field(default_factory=list)  # of all rows of instances, also where there are too many


def read(store: Store, uid: str) -> Rows:
    """All rows of a resource."""

    def of(table: Any) -> dict[str, list[Any]]:
        rows = store.rows(
            select(sql.instances.c.id.label("of"), table)
            .join(sql.instances, sql.instances.c.number == table.c.instance)
            .where(sql.instances.c.uid == uid)
        )
        found: dict[str, list[Any]] = {}
        for row in rows:
            found.setdefault(row.of, []).append(row)
        return found

    instances = store.rows(select(sql.instances).where(sql.instances.c.uid == uid))
    return Rows(
        {row.id: row for row in instances},
        of(sql.steps),
        of(sql.events),
        of(sql.contexts),
        {id: sorted(rows, key=lambda row: row.number) for id, rows in of(sql.history).items()},
        [row.id for row in instances],
    )


_OUTCOMES = (
    select(sql.instances.c.id, sql.steps.c.name, sql.steps.c.outcome, sql.steps.c.document)
    .join(sql.instances, sql.instances.c.number == sql.steps.c.instance)
    .where(sql.steps.c.outcome.is_not(None))
)
_ENDS = select(
    sql.instances.c.id,
    sql.instances.c.outcome,
    sql.instances.c.reason,
    sql.instances.c.output,
    sql.instances.c.terminal_at,
).where(sql.instances.c.published)


@dataclass
class Watch:
    """Looks at outcomes while the campaign goes on, and remembers the first of each that it saw.

    `changed` are those that were others when they were looked at again: what, the first, and the other one.
    """

    store: Store
    uid: str
    steps: dict[tuple[str, str], Any] = field(default_factory=dict)
    ends: dict[str, Any] = field(default_factory=dict)
    sessions: set[tuple[int, str]] = field(default_factory=set)
    changed: dict[Any, tuple[Any, Any]] = field(default_factory=dict)

    def look(self) -> None:
        """Look now."""
        of = sql.instances.c.uid == self.uid
        outcomes = {(row[0], row[1]): tuple(row[2:]) for row in self.store.rows(_OUTCOMES.where(of))}
        ends = {row[0]: tuple(row[1:]) for row in self.store.rows(_ENDS.where(of))}
        both: tuple[tuple[dict[Any, Any], dict[Any, Any]], ...] = ((self.steps, outcomes), (self.ends, ends))
        for known, seen in both:
            for key, first in known.items():
                if seen.get(key) != first:
                    self.changed.setdefault(key, (first, seen.get(key)))
            known.update({key: value for key, value in seen.items() if key not in known})
        found = self.store.rows(select(sql.workers))
        self.sessions.update((row.session, row.session_began) for row in found)
