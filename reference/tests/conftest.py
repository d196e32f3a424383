"""What several tests of the machine share: playing a script of actions and what each must come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


class Stage:
    """Workflows in JavaScript under the virtual Host, with what they reported: `fetch` of a URL that ends in
    a label marks it."""

    def __init__(self, source: str) -> None:
        from fencepost.contexts.node import JavaScript

        self.module = JavaScript(source)
        self.marks: list[str] = []
        self._hosts: list[Any] = []

    def host(self, class_name: str, **more: Any) -> Any:
        """A Host for one class of the module; nothing was marked yet."""
        from fencepost.host.javascript import JavaScriptHost

        self.marks = []
        settings = {"class_name": class_name, "fetch": self.mark} | more
        host = JavaScriptHost({"v1": self.module}, {"v1": 10_000}, **settings)
        self._hosts.append(host)
        return host

    def play(self, class_name: str, settles: int = 2, **more: Any) -> Any:
        """How the instance `i` ends after so many settles: its output, its reason, or its status."""
        host = self.host(class_name, **more)
        host.create("i")
        for _ in range(settles):
            host.settle()
        return self.ended(host)

    def ended(self, host: Any) -> Any:
        """How the instance `i` has ended: its output, its reason, or its status where it has not."""
        shown = host.status("i")
        if shown["status"] == "errored":
            return shown["error"]["reason"]
        return shown.get("output") if shown["status"] == "complete" else shown["status"]

    def mark(self, request: Any, answer: Callable[[Any], None]) -> None:
        from fencepost.contexts.node import Response

        self.marks.append(request.url.rpartition("/")[2])
        answer(Response(200, b"{}"))

    def end(self) -> None:
        """Kill what still runs."""
        for host in self._hosts:
            host.end()


@pytest.fixture(scope="session", name="stage_of")
def stage_of_fixture() -> Iterator[Callable[[str], Stage]]:
    stages: list[Stage] = []

    def stage_of(source: str) -> Stage:
        stages.append(Stage(source))
        return stages[-1]

    yield stage_of
    for stage in stages:
        stage.end()
