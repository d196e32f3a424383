"""Paths of the graph as scenarios that the kit can run against any Host.

Every edge of the universe belongs to a class: its action, and the status that callers see before it. Paths
are chosen until each class that can be reached lies on one of them, and each path becomes a *judged*
scenario: a program, a schedule that steers a Host along the path with the kit's instruments, and no
expectations. A Host may run ahead of the path (nothing holds a claim back), so what it does is for the judge
to admit; the path is where its faults are looked for.

| on the path | in the schedule |
|---|---|
| a step is begun | settle; its effect stands at a gate, one for each execution |
| an attempt is committed | release that gate, settle |
| a fenced context that is not stopped at once | stuck before, unstuck where it stops |
| the lease runs out | pause, recover; resume where that context stops |
| a crash of the owner | kill |
| a tick, a wake | advance; wakes are held back until the path has them |
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.machine import Slot, status_of
from fencepost.machine.actions import Action, CommitAttempt, SendEvent
from fencepost.machine.state import Instance
from fencepost_spec.limits import FORM

from fencepost_model import abstraction
from fencepost_model.messages import Entry
from fencepost_model.resource import Name
from fencepost_model.universe import Call, Move, One, OneInstance, Universe
from fencepost_model.waits import Waits

Document = dict[str, Any]
EdgeClass = tuple[str, str]
"""An action, and the status before it; for a resource the phase of the resource too."""

FORMAT = "fencepost.scenario@1"
UNKNOWN = "unknown"
TICK_SECONDS = 600
"""A second of the model, long beside any lease."""

_STOPS = ("StopAck", "Crash")


@dataclass(frozen=True)
class Path:
    """A way through a universe from its initial world, and the classes of its edges."""

    moves: tuple[Move[Any], ...]
    classes: tuple[EdgeClass, ...]


def seen(world: Any, id: str = "i") -> str:
    """The status that callers see in a world."""
    slot: Slot = world.present[id].slot if isinstance(world, Name) else world.slot
    return status_of(slot) if isinstance(slot, Instance) else UNKNOWN


def edge_class(world: Any, move: Move[Any]) -> EdgeClass:
    """The class of an edge."""
    return move.name, _moved(world, move)


def _moved(world: Any, move: Move[Any]) -> str:
    """The status before the move of the instance that it moves."""
    if not isinstance(world, Name):
        return seen(world)
    before, after = world.present, move.world.present
    moved = [id for id in before if id in after and before[id] != after[id]]
    return seen(world, moved[0]) if moved else world.standing.phase


def paths(walked: Universe[Any], longest: int = 60) -> tuple[Path, ...]:
    """Paths that together have every reachable class, long ones first so that few are needed."""
    came, found = _shortest(walked)
    wanted = dict(sorted(found.items(), key=lambda item: -_depth(came, item[1][0])))
    chosen: list[Path] = []
    covered: set[EdgeClass] = set()
    for name, (world, move) in wanted.items():
        if name not in covered:
            path = _path(walked, came, world, move, longest)
            chosen.append(path)
            covered.update(path.classes)
    return tuple(chosen)


_Came = dict[Any, tuple[Any, Move[Any]] | None]


def _shortest(walked: Universe[Any]) -> tuple[_Came, dict[EdgeClass, tuple[Any, Move[Any]]]]:
    """How each world is reached first, and the first edge of each class."""
    first = walked.initial()
    came: _Came = {first: None}
    found: dict[EdgeClass, tuple[Any, Move[Any]]] = {}
    queue = deque([first])
    while queue:
        world = queue.popleft()
        for move in walked.moves(world):
            found.setdefault(edge_class(world, move), (world, move))
            if move.world not in came:
                came[move.world] = (world, move)
                queue.append(move.world)
    return came, found


def _depth(came: _Came, world: Any) -> int:
    depth = 0
    while (step := came[world]) is not None:
        world, depth = step[0], depth + 1
    return depth


def _path(walked: Universe[Any], came: _Came, world: Any, last: Move[Any], longest: int) -> Path:
    """The shortest way to an edge, and on from there to an end."""
    way = [(world, last)]
    while (step := came[way[0][0]]) is not None:
        way.insert(0, step)
    world = last.world
    for name in _ONWARD * longest:
        move = next((each for each in walked.moves(world) if each.name == name), None)
        if move is not None and len(way) < longest:
            way.append((world, move))
            world = move.world
    return Path(tuple(move for _, move in way), tuple(edge_class(*each) for each in way))


_ONWARD = ("StopAck", "Park", "CommitAttempt", "Settle", "Wake", "BeginStep", "Claim")
"""What brings an instance to its end, in the order in which it is tried."""


def scenario(walked: Universe[Any], path: Path, title: str) -> Document:
    """The judged scenario of a path."""
    if isinstance(walked, OneInstance):
        return _Script(walked, path).document(title)
    return _ResourceScript(path).document(title)


def scenarios(walked: Universe[Any], limit: int | None = None) -> Iterator[Document]:
    """The scenarios of all chosen paths, or the first `limit`."""
    for number, path in enumerate(paths(walked)[:limit], 1):
        yield scenario(walked, path, f"{walked.module}, path {number}: {_words(path.classes)}")


def _words(classes: Iterable[EdgeClass]) -> str:
    ends = list(dict.fromkeys(f"{name} while {status}" for name, status in classes))
    return "; ".join(ends[-3:])


@dataclass
class _Script:
    """Writes the schedule of one instance's path."""

    universe: OneInstance
    path: Path
    entries: list[Document] = field(default_factory=list)
    outcomes: dict[str, list[Document]] = field(default_factory=dict)
    unawaited: set[str] = field(default_factory=set)
    open: dict[int, tuple[str, str]] = field(default_factory=dict)
    calls: int = 0
    elapsed: int = 0
    stuck: bool = False
    paused: bool = False

    def document(self, title: str) -> Document:
        """The whole scenario."""
        program: tuple[Call, ...] = ()
        clocked = isinstance(self.universe, Waits)
        if clocked:
            self.entries.append({"holdWakes": True})
        for index, move in enumerate(self.path.moves):
            program = self.universe.program(move.world.slot) or program
            self._before(index)
            self._play(move, clocked)
        if clocked:
            self.entries.append({"holdWakes": False})
        self.entries += [{"settle": True}, {"status": "i"}]
        return {
            "format": FORMAT,
            "title": title,
            "clauses": ["PUB-1"],
            "judged": True,
            "programs": {"main": self._operations(program)},
            "schedule": self.entries,
        }

    def _operations(self, program: Sequence[Call]) -> list[Document]:
        operations = [self._operation(each) for each in program]
        for at, each in enumerate(program):
            if each.name in self.unawaited:
                operations[at:] = [{"unawaited": operations[at]}]
                break
        return [*operations, {"return": {}}]

    def _operation(self, call: Call) -> Document:
        if call.kind == "sleep":
            return {"sleep": call.name, "seconds": call.delay * self._scale}
        if call.kind == "wait":
            wait = {
                "wait": call.name,
                "type": call.arguments["type"],
                "timeoutSeconds": call.delay * self._scale,
            }
            return {**wait, "catch": f"{call.name}_late"}
        effect: Document = {"attempts": [*self.outcomes.get(call.name, []), {"value": {}}]}
        policy = {"maxAttempts": call.attempts, "initialDelaySeconds": call.delay * self._scale}
        return {"do": call.name, "effect": effect, "retry": policy}

    @property
    def _scale(self) -> int:
        return TICK_SECONDS

    def _before(self, index: int) -> None:
        """Make a stop unprovable where the path fences a context and does not stop it next."""
        move = self.path.moves[index]
        before = self.path.moves[index - 1].world if index else self.universe.initial()
        if self.stuck or not isinstance(before.slot, Instance) or not isinstance(move.world.slot, Instance):
            return
        fences = before.slot.owner and not move.world.slot.owner and move.name not in ("Expire", "Crash")
        following = self.path.moves[index + 1].name if index + 1 < len(self.path.moves) else "StopAck"
        if fences and following not in _STOPS:
            self.entries.append({"stuck": "i"})
            self.stuck = True

    def _play(self, move: Move[One], clocked: bool) -> None:
        action = move.actions[0] if move.actions else None
        token = getattr(action, "token", 0)
        name = move.name
        if name == "Create":
            self.entries.append({"create": "i", "program": "main"})
        elif name == "SendEvent":
            assert isinstance(action, SendEvent)
            payload = {abstraction.NUMBER: _number(action.payload)}
            self._begin({"sendEvent": "i", "type": action.type, "payload": payload})
        elif name == "Terminate":
            self._begin({"terminate": "i"})
        elif name == "BeginStep":
            self._begun(token, dict(move.world.code)[token])
        elif name == "CommitAttempt":
            self._committed(token, action)
        elif name == "Settle" and token in self.open:
            self.unawaited.add(self.open.pop(token)[0])
        elif name == "Expire":
            self.entries += [{"pause": "i", "at": "now"}, {"recover": True}]
            self.paused = True
        elif name in _STOPS:
            self._stopped(name)
        elif name == "Tick":
            self._tick(move)
        elif name in ("Wake", "EndLifetime"):
            self._wake(name, clocked)
        if name not in ("Tick", "SendEvent", "Terminate"):
            self.entries.append({"settle": True})
        self.entries.append({"status": "i"})

    def _begin(self, call: Document) -> None:
        self.calls += 1
        self.entries.append({"start": call, "as": f"c{self.calls}"})

    def _begun(self, token: int, step: str) -> None:
        gate = f"{step}{len(self.outcomes.get(step, ())) + 1}"
        self.open[token] = (step, gate)
        if any(each.name == step and each.kind == "do" for each in self._program()):
            self.outcomes.setdefault(step, []).append({"gate": gate, "then": {"value": {}}})

    def _program(self) -> tuple[Call, ...]:
        worlds = (move.world.slot for move in self.path.moves)
        return next((found for slot in worlds if (found := self.universe.program(slot))), ())

    def _committed(self, token: int, action: Action | None) -> None:
        step, gate = self.open.pop(token)
        assert isinstance(action, CommitAttempt)
        if action.failed:
            for outcome in self.outcomes[step]:
                if outcome["gate"] == gate:
                    outcome["then"] = {"throw": "no"}
        self.entries.append({"release": gate})

    def _stopped(self, name: str) -> None:
        if self.stuck:
            self.entries.append({"unstuck": "i"})
            self.stuck = False
        elif self.paused:
            self.entries.append({"resume": "i"})
            self.paused = False
        elif name == "Crash":
            self.entries.append({"kill": "i", "at": "now"})

    def _tick(self, move: Move[One]) -> None:
        """One second of the model; the last of a lifetime, or of a retention, is as long as in the Form."""
        slot, seconds = move.world.slot, TICK_SECONDS
        assert isinstance(slot, Instance)
        if slot.live and slot.ends_at <= 0:
            seconds = max(FORM.lifetime_seconds - self.elapsed, TICK_SECONDS)
        elif slot.terminal is not None:
            seconds = FORM.retention_seconds
        self.elapsed += seconds
        self.entries.append({"advance": seconds})

    def _wake(self, name: str, clocked: bool) -> None:
        if clocked:
            self.entries += [{"holdWakes": False}, {"settle": True}, {"holdWakes": True}]
        else:
            self.entries.append({"advance": TICK_SECONDS})


def _number(payload: Any) -> int:
    return int(abstraction.carried(payload if isinstance(payload, bytes) else None))


_STEP = "a"


@dataclass
class _ResourceScript:
    """Writes the schedule of a resource's path: two instances at one gate, and the resource's life."""

    path: Path
    entries: list[Document] = field(default_factory=list)
    bound: bool = True

    def document(self, title: str) -> Document:
        """The whole scenario."""
        if self.path.moves and self.path.moves[0].name != "Bind":
            self.entries.append({"unbind": True})
            self.bound = False
        world: Any = None
        for move in self.path.moves:
            self._play(world, move)
            world = move.world
        retry = {"maxAttempts": 100, "initialDelaySeconds": TICK_SECONDS}
        effect = {"attempts": [{"gate": "g", "then": {"throw": "no"}}, {"value": {}}]}
        return {
            "format": FORMAT,
            "title": title,
            "clauses": ["DEL-3"],
            "judged": True,
            "programs": {"main": [{"do": _STEP, "effect": effect, "retry": retry}, {"return": {}}]},
            "schedule": [*self.entries, {"settle": True}],
        }

    def _play(self, world: Any, move: Move[Any]) -> None:
        name = move.name
        id = next(
            (
                each
                for each in move.world.present
                if world is None or move.world.present[each] != world.present.get(each)
            ),
            "i",
        )
        if name == "Unbind":
            self.entries.append({"unbind": True})
            self.bound = False
        elif name == "Close":
            self.entries += [{"deleteResource": True}]
        elif name == "Recreate":
            self.entries += [{"recreateResource": True}]
            self.bound = True
        elif name == "Create":
            self.entries.append({"create": id, "program": "main"})
        elif name == "Terminate":
            self.entries.append({"start": {"terminate": id}, "as": f"c{len(self.entries)}"})
        elif name == "CommitAttempt":
            self.entries.append({"release": "g"})
        elif name == "Wake":
            self.entries.append({"advance": TICK_SECONDS})
        elif name == "Expire":
            self.entries += [{"pause": id, "at": "now"}, {"recover": True}, {"resume": id}]
        elif name == "Crash":
            self.entries.append({"kill": id, "at": "now"})
        if name in ("Claim", "BeginStep", "CommitAttempt", "StopAck", "Wake", "Settle"):
            self.entries.append({"settle": True})


def along(walked: Universe[Any], trace: Sequence[Entry]) -> Path | None:
    """The path of a counterexample through the universe, or None where the machine cannot go that way."""
    worlds: list[tuple[Any, tuple[Move[Any], ...], tuple[EdgeClass, ...]]] = [(walked.initial(), (), ())]
    for entry in trace[1:]:
        following: dict[Any, tuple[Any, tuple[Move[Any], ...], tuple[EdgeClass, ...]]] = {}
        for world, moves, classes in worlds:
            for move in walked.moves(world):
                if move.name == entry.action and walked.image(move.world) == entry.state:
                    met = (move.world, (*moves, move), (*classes, edge_class(world, move)))
                    following.setdefault(move.world, met)
        if not following:
            return None
        worlds = list(following.values())
    return Path(worlds[0][1], worlds[0][2])
