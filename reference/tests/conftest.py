"""What several tests of the machine share: playing a script of actions and what each must come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fencepost.machine import Rules, Slot, Vacant, apply, status_of
from fencepost.machine.actions import Action
from fencepost.machine.replies import Reply
from fencepost.machine.state import Instance

Entry = str | tuple[Action, Reply | type[Reply]]
Play = Callable[..., Any]


def play(*script: Entry, rules: Rules | None = None, start: Slot | None = None) -> Slot:
    """The slot after a script: an action with its reply (or the kind of it), or the status that must show."""
    slot: Slot = Vacant(rules or Rules()) if start is None else start
    for number, entry in enumerate(script):
        if isinstance(entry, str):
            assert isinstance(slot, Instance), f"entry {number}: nothing is held"
            assert status_of(slot) == entry, f"entry {number}"
            continue
        action, wanted = entry
        before, transition = slot, apply(slot, action)
        slot = transition.state
        found: object = transition.reply if isinstance(wanted, Reply) else type(transition.reply)
        assert found == wanted, f"entry {number}: {action} came to {transition.reply}"
        if transition.reply.refused:
            assert slot is before, f"entry {number}: refused, and yet something changed"
    return slot


@pytest.fixture(name="play")
def play_fixture() -> Play:
    return play
