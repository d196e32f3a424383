"""Statements of SQLAlchemy Core that are compiled once, and go straight to the driver.

What Core does for each execution takes several times as long as what SQLite does. So the hot path keeps the
compiled text, and what has to be done to values: texts are escaped on their way in, and restored on the way
out.
"""

from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Boolean, Connection
from sqlalchemy.engine import Dialect

from fencepost.durable.tables import Scalars

Values = Mapping[str, Any]
_TEXT = Scalars()


class Prepared:
    """One statement for one dialect; values are given by the names of its parameters."""

    def __init__(self, statement: Any, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        self._order: Sequence[str] | None = compiled.positiontup
        self._fixed = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        self._escaped = [name for name, bind in compiled.binds.items() if isinstance(bind.type, Scalars)]
        columns = list(statement.exported_columns)
        self._row: Any = namedtuple("Row", [each.name for each in columns])  # type: ignore[misc]
        self._restored = [at for at, each in enumerate(columns) if isinstance(each.type, Scalars)]
        self._flags = [at for at, each in enumerate(columns) if isinstance(each.type, Boolean)]

    def rows(self, connection: Connection, values: Values) -> list[Any]:
        """The rows of a query, as named tuples."""
        cursor = connection.connection.cursor()
        cursor.execute(self._text, self._given(values))
        found = cursor.fetchall()
        cursor.close()
        return [self._read(row) for row in found]

    def write(self, connection: Connection, *every: Values) -> int:
        """Run it for every one of these; how many rows the last one was about."""
        cursor = connection.connection.cursor()
        for values in every:
            cursor.execute(self._text, self._given(values))
        count: int = cursor.rowcount
        cursor.close()
        return count

    def _given(self, values: Values) -> Any:
        given = {**self._fixed, **values}
        for name in self._escaped:
            text = given[name]
            if text is not None and ("\\" in text or "\0" in text):
                given[name] = _TEXT.process_bind_param(text, None)
        return given if self._order is None else [given[name] for name in self._order]

    def _read(self, row: Sequence[Any]) -> Any:
        if not (self._restored or self._flags):
            return self._row(*row)
        read = list(row)
        for at in self._restored:
            read[at] = _TEXT.process_result_value(read[at], None)
        for at in self._flags:
            read[at] = bool(read[at])
        return self._row(*read)


@lru_cache(maxsize=256)
def prepared(statement: Any, dialect: Dialect) -> Prepared:
    """The statement, compiled once for each dialect of a database."""
    return Prepared(statement, dialect)
