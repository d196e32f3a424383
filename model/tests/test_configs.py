"""Configurations and modules agree, every property says what it means, and the wheel has every file."""

import tomllib
from pathlib import Path

import pytest
from fencepost_model import configs, tools
from fencepost_spec import catalogue

ROOT = Path(__file__).resolve().parents[2]
NAMES = configs.available()


def test_every_module_has_a_small_and_a_ci_configuration() -> None:
    for module in ("DurableWorkflow", "Fencing", "Waits", "Resource"):
        assert {f"{module}Small", f"{module}CI"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_everything_checked_says_what_it_means(name: str) -> None:
    configuration = configs.load(name)
    checked = (*configuration.invariants, *configuration.properties)
    assert checked
    assert [each for each in checked if each not in configs.stated(configuration.module)] == []
    assert len(set(checked)) == len(checked)


@pytest.mark.parametrize("name", NAMES)
def test_liveness_is_checked_under_fairness_only(name: str) -> None:
    configuration = configs.load(name)
    fair = configuration.specification == "FairSpec"
    assert fair or not configs.LIVENESS & set(configuration.properties)


@pytest.mark.parametrize("module", ["DurableWorkflow", "Fencing", "Waits", "Resource"])
def test_everything_stated_is_checked_for_every_change(module: str) -> None:
    quick = [configs.load(name) for name in NAMES if name in (f"{module}Small", f"{module}Fair")]
    checked = {each for found in quick for each in (*found.invariants, *found.properties)}
    assert {each for each in configs.stated(module) if not each.startswith("Bait")} == checked


@pytest.mark.parametrize("module", ["DurableWorkflow", "Fencing", "Waits", "Resource"])
def test_every_clause_named_in_a_module_exists(module: str) -> None:
    known = set(catalogue.load().clauses)
    named = {clause for each in configs.stated(module).values() for clause in each.clauses}
    assert named - known == set()


@pytest.mark.parametrize("module", ["Fencing", "Waits", "Resource"])
def test_a_refining_module_has_baits(module: str) -> None:
    assert len(configs.baits(module)) >= 5


def test_an_unknown_configuration_names_those_that_exist() -> None:
    with pytest.raises(configs.UnknownConfiguration, match="FencingSmall"):
        configs.load("FencingTiny")


def test_a_configuration_is_written_as_it_was_read() -> None:
    first = configs.load("WaitsSmall")
    assert configs.parse("Waits", "Small", first.text()) == first


def test_one_property_alone_keeps_the_bounds() -> None:
    alone = configs.load("WaitsSmall").only("Fifo", "invariant")
    assert (alone.specification, alone.invariants, alone.properties) == ("Spec", ("Fifo",), ())
    assert alone.constants == configs.load("WaitsSmall").constants
    assert configs.load("WaitsSmall").only("MovesOn", "property").specification == "FairSpec"


def test_the_wheel_has_every_module_and_configuration() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = data["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    files = {path.name for pattern in ("*.tla", "*.cfg") for path in tools.modules().glob(pattern)}
    assert included == {f"model/{name}": f"fencepost_model/tla/{name}" for name in files}


def test_modules_are_plain_ascii() -> None:
    for path in tools.modules().glob("*.tla"):
        assert path.read_text(encoding="utf-8").isascii(), path.name
