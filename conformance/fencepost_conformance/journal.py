"""The journal: what the probe's effects report to, and what holds them back.

It counts the starts of effects by step name, marks by label and calls of `run` by instance id, over a whole
scenario. A report is counted at once, and answered in a later turn, so that no effect settles in the turn
that called it. A gate holds back whoever asks for it until it is released; from then on it is open.

The journal belongs to the kit and outlives owners, restarts and resources: a Host that is killed loses no
count. An answer to somebody who has been stopped reaches nobody.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from fencepost import workflow

Watcher = Callable[[str, str], None]  # instance id, step name


class Journal:
    """Counts, gates and answers of one scenario.

    A Host that wants to kill or freeze an owner at an effect's edge appends to `on_effect_start` or
    `on_effect_end`: they are called inside the turn that reported, after the report was counted.
    """

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.marks: Counter[str] = Counter()
        self.runs: Counter[str] = Counter()
        self.on_effect_start: list[Watcher] = []
        self.on_effect_end: list[Watcher] = []
        self.really_spin = False  # only where each context has a process of its own
        self._executions: Counter[tuple[str, str]] = Counter()
        self._open: set[str] = set()
        self._standing: defaultdict[str, list[Callable[[Any], None]]] = defaultdict(list)

    # What the probe calls.

    def run(self, instance: str) -> None:
        """`run` was called in a context of this instance."""
        self.runs[instance] += 1

    def mark(self, label: str) -> None:
        """The program passed this label, outside of any step."""
        self.marks[label] += 1

    async def effect_start(self, instance: str, name: str) -> int:
        """An effect began; the answer is this execution's number, from 1, for that step and instance."""
        execution = self.count_start(instance, name)
        await workflow.next_turn()
        return execution

    async def effect_end(self, instance: str, name: str) -> None:
        """An effect is about to settle."""
        self.count_end(instance, name)
        await workflow.next_turn()

    async def gate(self, name: str) -> None:
        """Stand at a gate until it is released."""
        if self.is_open(name):
            await workflow.next_turn()
            return
        answer, resolve, _ = workflow.deferred()
        self._standing[name].append(resolve)
        await answer

    async def tick(self, milliseconds: int) -> None:
        """A floating timer."""
        await workflow.tick(milliseconds)

    async def spin(self) -> None:
        """Compute for ever; in a process that is shared with the Host, only never come back."""
        while self.really_spin:
            pass
        never, _, _ = workflow.deferred()
        await never

    # What reports that arrive as messages come to.

    def count_start(self, instance: str, name: str) -> int:
        """Count the start of an effect; gives the number of this execution, from 1."""
        self.effects[name] += 1
        self._executions[instance, name] += 1
        execution = self._executions[instance, name]
        for watcher in self.on_effect_start:
            watcher(instance, name)
        return execution

    def count_end(self, instance: str, name: str) -> None:
        """Count the end of an effect."""
        self.ended[name] += 1
        for watcher in self.on_effect_end:
            watcher(instance, name)

    def is_open(self, gate: str) -> bool:
        """Whether a gate was released."""
        return gate in self._open

    # What the kit calls.

    def release(self, gate: str) -> None:
        """Open a gate for good."""
        self._open.add(gate)
        for resolve in self._standing.pop(gate, ()):
            resolve(None)

    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Everything counted so far."""
        return {"effects": dict(self.effects), "marks": dict(self.marks), "runs": dict(self.runs)}
