"""Counterexamples as people read them."""

import pytest
from fencepost.machine.records import FrozenMap
from fencepost_model import configs, timeline
from fencepost_model.check import Result
from fencepost_model.messages import Entry, Run
from fencepost_model.values import state

CONFIGURATION = configs.Configuration("Fencing", "Small", "Spec", "")
TRACE = (
    Entry("Init", state('/\\ own = 0\n/\\ ctx = {}\n/\\ hist = [a |-> 0, b |-> 0]')),
    Entry("Claim", state('/\\ own = 1\n/\\ ctx = {[token |-> 1]}\n/\\ hist = [a |-> 0, b |-> 0]')),
    Entry("Expire", state('/\\ own = 0\n/\\ ctx = {[token |-> 1]}\n/\\ hist = [a |-> 0, b |-> 0]')),
    Entry("CommitAttempt", state('/\\ own = 0\n/\\ ctx = {[token |-> 1]}\n/\\ hist = [a |-> 1, b |-> 0]')),
)  # fmt: skip


def test_a_timeline_names_the_clause_and_shows_what_changed() -> None:
    broken = configs.Property("OnlyOwnerCommits", "only the owner.", ("PUB-2", "TRM-4"))
    text = timeline.render(Result(CONFIGURATION, Run("violated", trace=TRACE), broken))
    assert text.splitlines() == [
        "FencingSmall: OnlyOwnerCommits broke (PUB-2, TRM-4)",
        "  It says: only the owner.",
        "",
        "   2  Claim         ctx gains [token |-> 1]; own: 0 becomes 1",
        "   3  Expire        own: 1 becomes 0",
        "   4  CommitAttempt hist.a: 0 becomes 1",
    ]


@pytest.mark.parametrize(
    ("run", "last"),
    [
        (Run("violated", trace=TRACE, loop=1), "and from here again as from 2, for ever"),
        (Run("violated", trace=TRACE, stutters=True), "and nothing more happens, for ever"),
    ],
)
def test_an_endless_counterexample_says_so(run: Run, last: str) -> None:
    assert timeline.render(Result(CONFIGURATION, run)).splitlines()[-1].strip() == last


def test_a_run_that_held_or_failed_is_one_line() -> None:
    assert (
        timeline.render(Result(CONFIGURATION, Run("passed", distinct=1234)))
        == "FencingSmall: holds on 1,234 states"
    )
    assert "could not check" in timeline.render(Result(CONFIGURATION, Run("failed", problem="why")))


def test_changes_of_maps_go_down_to_what_differs() -> None:
    before, after = FrozenMap({"i": FrozenMap({"own": 0})}), FrozenMap({"i": FrozenMap({"own": 2})})
    assert list(timeline.changes(before, after, "inst")) == ["inst.i.own: 0 becomes 2"]
