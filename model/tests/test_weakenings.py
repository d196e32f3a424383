"""The table of weakenings fits the modules; a few of them run here, all of them by `weaken`."""

import pytest
from fencepost_model import configs, tools, weakenings
from fencepost_model.check import Result
from fencepost_model.timeline import render

TABLE = weakenings.table()
FEW = {
    "no token check at the commit",
    "the tie goes to the timeout",
    "the UID of a report is not looked at",
}


@pytest.mark.parametrize("weakening", TABLE, ids=lambda each: f"{each.module}-{each.name}".replace(" ", "-"))
def test_each_line_stands_once_in_its_module(weakening: weakenings.Weakening) -> None:
    text = (tools.modules() / f"{weakening.module}.tla").read_text(encoding="utf-8")
    changed = weakenings.weakened(text, weakening)
    assert len(changed.splitlines()) == len(text.splitlines())
    assert sum(a != b for a, b in zip(changed.splitlines(), text.splitlines(), strict=True)) == 1
    configuration = configs.load(f"{weakening.module}{weakening.size}")
    assert weakening.property in (*configuration.invariants, *configuration.properties)


def test_there_are_enough_and_no_two_are_one() -> None:
    assert len(TABLE) >= 25
    assert len({(each.module, each.name) for each in TABLE}) == len(TABLE)


@pytest.mark.parametrize("name", configs.available())
def test_no_property_is_vacuous(name: str) -> None:
    assert weakenings.vacuous(configs.load(name), TABLE) == ()


def test_a_stale_line_is_an_error() -> None:
    stale = weakenings.Weakening("Fencing", "stale", "no such line", "", "Once")
    with pytest.raises(weakenings.StaleWeakening, match="stands 0 times"):
        weakenings.weakened("one\ntwo\n", stale)


@pytest.mark.parametrize("name", sorted(FEW))
def test_a_weakening_breaks_its_property(tlc_tools: tools.Tools, name: str) -> None:
    weakening = next(each for each in TABLE if each.name == name)
    row = weakenings.run(weakening, seconds=120)
    assert row.caught, row.run.problem
    stated = configs.stated(weakening.module)[weakening.property]
    kind: configs.Kind = "property"
    shown = render(Result(configs.load(f"{weakening.module}Small").only(stated.name, kind), row.run, stated))
    assert stated.clauses[0] in shown.splitlines()[0]
    assert len(shown.splitlines()) == len(row.run.trace) + 2
