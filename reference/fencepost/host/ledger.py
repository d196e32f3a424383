"""What a Host in memory keeps beside the slots: the number, the entries and the commands of each run."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fencepost.history import Entry, History, Kept
from fencepost.host.commands import Command, Repeated
from fencepost.machine import Slot, Transition
from fencepost.machine.actions import Action, Create
from fencepost.machine.state import Instance

Key = tuple[str, str]


@dataclass
class Ledger:
    """One run."""

    number: int
    entries: list[Entry] = field(default_factory=list)
    commands: dict[str, tuple[Command, Kept]] = field(default_factory=dict)


class Ledgers:
    """The runs that are held, by where their instance lives; what is forgotten takes its commands along."""

    def __init__(self) -> None:
        self._held: dict[Key, Ledger] = {}
        self._about: dict[tuple[str, str], Key] = {}
        self._numbers = 0

    def keep(
        self, key: Key, before: Slot, action: Action, transition: Transition, left: Iterable[Entry]
    ) -> None:
        """Keep what a transition has left."""
        state = transition.state
        if state is not before and isinstance(action, Create):
            self._forget(key)
            self._numbers += 1
            self._held[key] = Ledger(self._numbers)
        elif not isinstance(state, Instance):
            self._forget(key)
        if key in self._held:
            self._held[key].entries.extend(left)

    def _forget(self, key: Key) -> None:
        gone = self._held.pop(key, None)
        for command in gone.commands if gone is not None else ():
            del self._about[key[0], command]

    def of(self, key: Key) -> Ledger:
        """What is kept of the run that is held under a key; KeyError where none is."""
        return self._held[key]

    def known(self, uid: str, command: Command) -> Repeated | None:
        """The answer to a command that was taken before; `CallError` if it is another one."""
        key = self._about.get((uid, command.id))
        return None if key is None else command.again(self._held[key].commands[command.id][0].content, key[1])

    def remember(self, key: Key, command: Command, at: int) -> None:
        """Keep a command that was taken."""
        self._held[key].commands[command.id] = (command, Kept(command.id, command.call, at))
        self._about[key[0], command.id] = key

    def history(self, key: Key, instance: Instance) -> History:
        """The history of a run."""
        held = self._held.get(key) or Ledger(0)
        return History(
            key[0], held.number, instance, held.entries, [kept for _, kept in held.commands.values()]
        )
