"""The author of programs: draws one phrase after the other.

Every step has a name that begins with the program's own prefix (but for the few that the language has taken),
so that the journal's counts belong to one create. A name is used again on purpose: finished, pending, or
under another kind. What a step gave is kept in the document `out`, which is what most programs return, so
that an order or a payload that is wrong shows in the output; an effect that was begun again gives another
number than before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fencepost_spec.limits import FORM
from hypothesis import strategies as st

from .boundaries import (
    AWAITED_TYPES,
    FIT,
    FIT_ODDITIES,
    FITTING,
    LANGUAGE,
    NAME,
    PADDING,
    POLICIES,
    REFUSED,
    TWINS,
    UNFIT,
    padded,
)

Operation = dict[str, Any]

TYPES = ("go", "stop")
SLEEPS = (1, 5, 0, 60, 3600, FORM.sleep_seconds, 172_800)
TIMEOUTS = (5, 1, 60, FORM.wait_seconds_maximum)
PAUSES = (5, 60)  # in which something may come
SOON = (1, 1, 2)  # on real time, where nobody waits for a minute
DEEPEST = 2  # blocks inside of blocks
PHRASES = 5  # at most, of one block at the top
MANY = 100  # a program with as many steps as there may be is drawn once in so many times: it takes a second

_VALUES: tuple[Any, ...] = (*({"n": 1}, {}, {"$params": True}) * 2, *FIT)
_MESSAGES = ("here", "step_failed", "lifetime_exceeded")
_OUT: Operation = {"return": {"$": "out"}}
_COUNTED: tuple[Operation, ...] = ({"value": {"n": 1}}, {"value": {"n": 2}}, {"value": {"n": 3}})


@cache
def below(count: int) -> st.SearchStrategy[int]:
    """An index; made once for each count, since making strategies costs more than drawing from them."""
    return st.integers(0, count - 1)


@dataclass
class Author:
    """Writes one program; `draw` is Hypothesis's, `prefix` begins every name. On real time most deadlines
    come soon."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    prefix: str
    real_time: bool = False
    used: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    _count: int = 0
    _marks: int = 0

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[self.draw(below(len(choices)))]

    def chance(self, one_in: int) -> bool:
        """True once in so many; shrinks to False."""
        return bool(self.draw(below(one_in)) == one_in - 1)

    def fresh(self) -> str:
        self._count += 1
        name = f"{self.prefix}{self._count}"
        if self.chance(30):
            name = padded(name, self.pick(PADDING))
        self.used.append(name)
        return name

    def soon(self, otherwise: Sequence[int]) -> int:
        """Seconds."""
        short = self.real_time and not self.chance(4)
        return int(self.pick(SOON if short else otherwise))

    # Programs of their own

    def overtaken(self) -> tuple[Operation, ...]:
        """An effect whose executions can be told apart, and contexts after it."""
        name = self.fresh()
        counted: dict[str, Any] = {"attempts": list(_COUNTED)}
        effect = {"gate": f"g-{name}", "then": counted} if self.chance(3) else counted
        step: Operation = {"do": name, "effect": effect}
        parking = self.pick((self.sleep, self.wait))(self.fresh())
        return (*self._opening(), step, *self._kept(step), parking, self.do(self.fresh()), _OUT)

    def queue(self) -> tuple[Operation, ...]:
        """Time for events to come, and then a wait for each of them."""
        operations: list[Operation] = [{"sleep": self.fresh(), "seconds": self.soon(PAUSES)}]
        type = self.pick(TYPES)
        for _ in range(3):
            step: Operation = {"wait": self.fresh(), "type": type, "timeoutSeconds": 60}
            operations += [step, *self._kept(step)]
        return (*self._opening(), *operations, _OUT)

    # Blocks

    def write(self) -> tuple[Operation, ...]:
        """A whole program."""
        body = self.many() if self.chance(MANY) and not self.real_time else self.block(PHRASES, 0)
        return (*self._opening(), *body, *self._closing())

    def _opening(self) -> list[Operation]:
        opening: list[Operation] = [{"set": "out", "to": {}}]
        if self.chance(5):
            counter = self.pick(("moduleCounter", "instanceCounter"))
            opening += [{counter: "c"}, {"set": "out.c", "to": {"$": "c"}}]
        return opening

    def _closing(self) -> list[Operation]:
        endings: list[Operation] = [_OUT] * 6
        endings += [{"return": {}}, {"throw": "last"}]
        return [self.pick(endings)] if not self.chance(8) else []

    def block(self, most: int, depth: int) -> list[Operation]:
        phrases = _PHRASES if depth < DEEPEST else _FLAT
        count = 1 + self.draw(below(most))
        return [each for _ in range(count) for each in self.pick(phrases)(self)]

    # Steps

    def step(self, name: str | None = None) -> Operation:
        return dict(self.pick(_STEPS)(self, name or self.fresh()))

    def do(self, name: str) -> Operation:
        step: Operation = {"do": name, "effect": self.effect(name)}
        if self.chance(2):
            step["retry"] = dict(self.pick(POLICIES))
        return step

    def sleep(self, name: str) -> Operation:
        return {"sleep": name, "seconds": self.soon(SLEEPS)}

    def wait(self, name: str) -> Operation:
        type = self.pick(AWAITED_TYPES) if self.chance(12) else self.pick(TYPES)
        return {"wait": name, "type": type, "timeoutSeconds": self.soon(TIMEOUTS)}

    def effect(self, name: str, depth: int = 0) -> dict[str, Any]:
        made: dict[str, Any] = self.pick(_EFFECTS if depth == 0 else _PLAIN_EFFECTS)(self, name)
        return made

    # Phrases

    def plain(self) -> list[Operation]:
        step = self.step()
        if self.chance(3):
            return [step]
        if self.chance(4):
            error = self._error(step)
            return [step, {"if": {"$": error}, "then": [_keep(f"{error}.name", error)]}]
        return [step, *self._kept(step)]

    def _kept(self, step: Operation) -> list[Operation]:
        name = next(step[kind] for kind in ("do", "sleep", "wait") if kind in step)
        step["as"] = f"r{name}"
        self.kept.append(step["as"])
        phrases = [{"if": {"$": step["as"]}, "then": [_keep(step["as"], name)]}]
        if "do" in step and self.chance(6):
            phrases.insert(0, {"if": {"$": f"{step['as']}.m"}, "then": [{"throw": "mutated"}]})
            phrases.append({"if": {"$": step["as"]}, "then": [{"set": f"{step['as']}.m", "to": 9}]})
        return phrases

    def _error(self, step: Operation) -> str:
        step["catch"] = f"e{len(self.errors) + 1}"
        self.errors.append(step["catch"])
        return str(step["catch"])

    def retried(self) -> list[Operation]:
        name = self.fresh()
        failures = 1 + self.draw(below(3))
        effects: list[Any] = [{"throw": "again"}] * failures + [{"value": {"n": failures}}]
        if self.chance(4):  # an attempt that takes its time
            effects[0] = {"gate": f"g-{name}", "then": effects[0]}
        step: Operation = {"do": name, "effect": {"attempts": effects}, "retry": dict(self.pick(POLICIES))}
        return [step, *self._kept(step)]

    def order(self) -> list[Operation]:
        """Waits of one type, whose payloads show the order."""
        steps: list[Operation] = []
        type = self.pick(TYPES)
        if self.chance(2):  # time for events to come before anybody waits for them
            steps.append({"sleep": self.fresh(), "seconds": self.soon((5, 1, 60))})
        for _ in range(1 + self.draw(below(2))):
            step: Operation = {"wait": self.fresh(), "type": type, "timeoutSeconds": self.soon(TIMEOUTS)}
            steps += [step, *self._kept(step)]
            if self.chance(2):  # the journal shows which event it was, even if the run comes to no end
                shown = f"{step['wait']}-of-${{{step['as']}.n}}"
                steps.append({"do": shown, "effect": {"value": {}}})
        return steps

    def again(self) -> list[Operation]:
        """A name once more: finished or pending, as itself or under another kind."""
        if not self.used:
            return self.plain()
        step = self.step(self.pick(self.used))
        if self.chance(2):
            return [step, *self._kept(step)]
        return [step]

    def guarded(self) -> list[Operation]:
        error = f"e{len(self.errors) + 1}"
        body = self.both() if self.chance(5) else self.block(2, DEEPEST - 1)
        phrase: Operation = {"try": body, "catch": error}
        self.errors.append(error)
        phrase["handler"] = [*self._marked(), _keep(f"{error}.name", error), *self._handling(error)]
        if self.chance(3):
            phrase["finally"] = [*self._marked(), *self.block(1, DEEPEST)]
        return [phrase]

    def _marked(self) -> list[Operation]:
        """A mark, which the journal gets from code that was to be stopped, too."""
        self._marks += 1
        return [{"mark": f"{self.prefix}-mark{self._marks}"}] if self.chance(2) else []

    def _handling(self, error: str) -> list[Operation]:
        handlings: tuple[list[Operation], ...] = (
            [],
            [],
            [{"rethrow": error}],
            [{"throwCopyOf": error}],
            [{"throwCauseOf": error}],
            [self.step()],
            [{"return": {"caught": {"$": f"{error}.name"}}}],
            [{"set": f"out.of-{error}", "to": {"$describe": error}}],
        )
        return self.pick(handlings)  # type: ignore[no-any-return]

    def finally_only(self) -> list[Operation]:
        return [{"try": self.block(2, DEEPEST), "finally": [*self._marked(), *self.block(1, DEEPEST)]}]

    def later(self) -> list[Operation]:
        """A caught failure that is thrown after something else."""
        name, error = self.fresh(), f"e{len(self.errors) + 1}"
        self.errors.append(error)
        throwing = {"do": name, "effect": {"throw": "kept"}, "catch": error}
        return [throwing, *self.pick(([], [self.step()])), {"rethrow": error}]

    def beyond(self) -> list[Operation]:
        """What reaches beyond the lifetime: a long step that is begun late."""
        first: Operation = {"sleep": self.fresh(), "seconds": self.soon((5, 1, 60))}
        sleeping: Operation = {"sleep": self.fresh(), "seconds": FORM.sleep_seconds}
        waiting: Operation = {
            "wait": self.fresh(),
            "type": self.pick(TYPES),
            "timeoutSeconds": FORM.wait_seconds_maximum,
        }
        return [first, self.pick((sleeping, waiting))]

    def passed_on(self) -> list[Operation]:
        """A Host error that was caught, thrown inside of another effect: one more attempt that fails."""
        error = f"e{len(self.errors) + 1}"
        self.errors.append(error)
        failing: Operation = {"do": self.fresh(), "effect": {"throw": "kept"}, "catch": error}
        effects = [{"nested": {"rethrow": error}}, {"value": {}}]
        passing: Operation = {"do": self.fresh(), "effect": {"attempts": effects}}
        if self.chance(2):
            passing["retry"] = {"maxAttempts": 2}
        return [failing, passing, *self._kept(passing)]

    def both(self) -> list[Operation]:
        first = self.step()
        second = self.step(self.pick(self.used) if self.chance(3) else None)
        return [{self.pick(("together", "race")): [first, second]}]

    def unawaited(self) -> list[Operation]:
        return [{"unawaited": self.step()}, *self.pick(([], [self.step()], [{"throw": "after"}]))]

    def loop(self) -> list[Operation]:
        step, count = self.step(f"{self.fresh()}-${{x}}"), 1 + self.draw(below(3))
        self.used.append(f"{self.prefix}{self._count}-0")
        return [{"repeat": count, "index": "x", "ops": [step]}]

    def same_in_loop(self) -> list[Operation]:
        """One name in every turn of a loop: it replays from the second on."""
        return [{"repeat": 2, "ops": [self.step()]}]

    def odd(self) -> list[Operation]:
        """A result or an output that is no document, or only just one."""
        kind = self.pick(FIT_ODDITIES) if self.chance(4) else self.pick(UNFIT)
        if self.chance(4):
            return [{"return": {"$oddity": kind}}]
        step: Operation = {"do": self.fresh(), "effect": {"oddity": kind}}
        if self.chance(3):
            step["retry"] = dict(self.pick(POLICIES))
        if kind in FIT_ODDITIES:
            return [step, *self._kept(step)]
        error = self._error(step)
        return [step, {"if": {"$": error}, "then": [_keep(f"{error}.name", error)]}]

    def thrown(self) -> list[Operation]:
        return [*self._marked(), {"throw": self.pick(_MESSAGES)}]

    def refused(self) -> list[Operation]:
        """A bad argument, and sometimes the same name used rightly after it."""
        bad = dict(self.pick(REFUSED))
        kind = next(kind for kind in ("do", "sleep", "wait") if kind in bad)
        placed = bad[kind] == NAME
        if placed:
            bad[kind] = self.fresh()
        error = self._error(bad)
        rightly = [self.step(bad[kind])] if placed and self.chance(2) else []
        return [bad, {"if": {"$": error}, "then": [_keep(f"{error}.name", error)]}, *rightly]

    def fitting(self) -> list[Operation]:
        """Arguments that just fit."""
        step = dict(self.pick(FITTING))
        kind = next(kind for kind in ("do", "sleep", "wait") if kind in step)
        step[kind] = self.fresh()
        error = self._error(step)
        return [step, {"if": {"$": error}, "then": [_keep(f"{error}.name", error)]}]

    def twins(self) -> list[Operation]:
        """Two names that are nearly one, or that the language has taken."""
        if self.chance(3):
            names = list(LANGUAGE)
        else:
            name = self.fresh()
            names = [f"{name}{each}" for each in self.pick(TWINS)]
        return [each for name in names for each in self._recorded(name)]

    def _recorded(self, name: str) -> list[Operation]:
        step: Operation = {"do": name, "effect": {"value": {"of": len(self.kept)}}}
        return [step, *self._kept(step)]

    def many(self) -> list[Operation]:
        """As many steps as there may be, or one more, some of them failed, refused or called again."""
        others = [each for _ in range(2) for each in self.pick(_COUNTED_OR_NOT)(self)]
        count = FORM.maximum_steps - 2 + self.pick((0, 1, 2))
        step: Operation = {"sleep": f"{self.fresh()}-${{x}}", "seconds": 0}
        loop: Operation = {"repeat": count, "index": "x", "ops": [step]}
        if self.chance(2):
            loop = {"try": [loop], "catch": "limit", "handler": [{"return": {"caught": True}}]}
        return [*others, loop, self.sleep(self.fresh())] if self.chance(3) else [*others, loop]


def _keep(path: str, key: str) -> Operation:
    return {"set": f"out.{key}", "to": {"$": path}}


Effect = Callable[[Author, str], dict[str, Any]]

_VALUE: Effect = lambda author, name: {"value": author.pick(_VALUES)}  # noqa: E731
_THROW: Effect = lambda author, name: {"throw": "boom"}  # noqa: E731
_UNDEFINED: Effect = lambda author, name: {"undefined": True}  # noqa: E731
_GATE: Effect = lambda author, name: {  # noqa: E731
    "gate": f"g-{name}",
    "then": {"attempts": list(_COUNTED)},
}
_PLAIN_EFFECTS: tuple[Effect, ...] = (_VALUE, _THROW, _UNDEFINED)

_EFFECTS: tuple[Effect, ...] = (
    *[_VALUE] * 3,
    *[lambda author, name: {"attempts": list(_COUNTED)}] * 3,
    _THROW,
    _UNDEFINED,
    lambda author, name: {"gate": f"g-{name}", "then": author.effect(name, 1)},
    *[_GATE] * 3,
    lambda author, name: {"attempts": [author.effect(name, 1) for _ in range(2 + author.draw(below(2)))]},
    lambda author, name: {"nested": author.step()},
    lambda author, name: {"oddity": author.pick(UNFIT)},
)

_STEPS: tuple[Callable[[Author, str], Operation], ...] = (Author.do, Author.sleep, Author.wait)

_FLAT: tuple[Callable[[Author], list[Operation]], ...] = (
    *[Author.plain] * 4,
    Author.again,
    Author.thrown,
    Author.retried,
    Author.refused,
)

_PHRASES: tuple[Callable[[Author], list[Operation]], ...] = (
    *[Author.plain] * 9,
    *[Author.retried] * 3,
    *[Author.order] * 6,
    *[Author.again] * 2,
    *[Author.guarded] * 4,
    Author.finally_only,
    Author.later,
    Author.passed_on,
    *[Author.beyond] * 2,
    *[Author.both] * 2,
    *[Author.unawaited] * 2,
    Author.loop,
    Author.same_in_loop,
    *[Author.refused] * 3,
    Author.thrown,
    *[Author.odd] * 2,
    Author.fitting,
    Author.twins,
)

_COUNTED_OR_NOT: tuple[Callable[[Author], list[Operation]], ...] = (
    *[Author.plain] * 2,
    Author.retried,
    Author.refused,
    Author.same_in_loop,
)
"""What counts as one step, or as none."""
