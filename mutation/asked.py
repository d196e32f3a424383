"""What is asked of the machine's functions, and so whether a mutant can make a difference.

The functions of the machine are pure. While a scenario runs on the machine as it is, each of their calls is
kept with its outcome. A mutant of a function that answers all of its calls alike leaves the scenario as it
was: it would be run in vain.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from operator import is_
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import fencepost.machine
from fencepost.machine.records import FrozenMap

MACHINE = Path(fencepost.machine.__path__[0])


@dataclass(frozen=True)
class Call:
    """A function of the machine, what it was given, and what it came to."""

    function: FunctionType
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    outcome: Any

    def differs(self) -> bool:
        """Whether it comes to something else now."""
        return not same(self.outcome, _outcome(self.function, self.arguments, self.named))


@contextmanager
def kept() -> Iterator[Mapping[str, Sequence[Call]]]:
    """The calls that are made meanwhile, by the name of the function; there at the end."""
    known = {function.__code__: function for module in modules() for function in functions(module)}
    made: dict[Any, Call] = {}

    def begins(frame: FrameType, event: str, argument: Any) -> None:
        function = known.get(frame.f_code)
        if function is None or special(function.__qualname__):
            return
        arguments, named = _given(frame.f_code, frame.f_locals)
        key = (function, *map(_identity, (*arguments, *named.values())))
        if key not in made:
            made[key] = Call(function, arguments, named, _outcome(function, arguments, named))

    calls: dict[str, list[Call]] = {}
    forget()
    sys.settrace(begins)
    try:
        yield calls
    finally:
        sys.settrace(None)
    for call in made.values():
        calls.setdefault(name_of(call.function), []).append(call)


def modules() -> list[ModuleType]:
    """The modules of the machine."""
    return [import_module(f"fencepost.machine.{each.name}") for each in pkgutil.iter_modules([str(MACHINE)])]


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """The functions of a module, inside of its classes too."""
    for value in _members(module):
        function: Any = inspect.unwrap(value.fget if isinstance(value, property) else value)
        if isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__:
            yield function


def forget() -> None:
    """Have whatever remembers results forget them, so that each scenario asks for itself."""
    for value in [each for module in modules() for each in _members(module)]:
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def _members(module: ModuleType) -> list[Any]:
    owners = [module, *(each for each in vars(module).values() if isinstance(each, type))]
    return [each for owner in owners for each in vars(owner).values()]


def name_of(function: FunctionType) -> str:
    """The name of a function, with its module."""
    return f"{function.__module__.rpartition('.')[2]}.py {function.__qualname__}"


def special(name: str) -> bool:
    """Whether a function is one of Python's own names, which may change what it is given: its calls are not
    kept."""
    return name.endswith("__")


def _given(code: CodeType, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    names, count = list(code.co_varnames), code.co_argcount
    arguments, rest = tuple(values[name] for name in names[:count]), names[count:]
    named = {name: values[name] for name in rest[: code.co_kwonlyargcount]}
    rest = rest[code.co_kwonlyargcount :]
    if code.co_flags & inspect.CO_VARARGS:
        arguments, rest = (*arguments, *values[rest[0]]), rest[1:]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named.update(values[rest[0]])
    return arguments, named


def _identity(argument: Any) -> Any:
    return (type(argument), argument) if isinstance(argument, int | str) else id(argument)


def _outcome(function: FunctionType, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    try:
        return function(*arguments, **named)
    except Exception as error:
        return type(error), str(error)


def same(one: Any, other: Any) -> bool:
    """Whether two outcomes are equal and of the same types, by no method of the machine."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, FrozenMap):
        one, other = one._entries, other._entries
    elif hasattr(one, "__dict__"):
        one, other = vars(one), vars(other)
    if isinstance(one, dict):
        one, other = (*one, *one.values()), (*other, *other.values())
    if isinstance(one, tuple):
        alike = len(one) == len(other)
        return alike and (all(map(is_, one, other)) or all(map(same, one, other)))
    return bool(one == other)
