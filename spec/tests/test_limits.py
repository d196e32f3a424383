"""The figures of the Form against a witness, and that nobody writes them a second time."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, asdict
from pathlib import Path

import pytest
from fencepost_spec.limits import FORM, TABLE, Limits

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("spec", "reference", "model", "conformance", "benchmarks")
LARGE = ("31536000", "2592000", "1048576", "43200")

FIGURES = {
    "class_name_characters": 64,
    "deployment_weight": 10000,
    "id_scalars": 256,
    "document_root_properties": 1024,
    "document_bytes": 1048576,
    "type_scalars": 256,
    "inbox_events": 1024,
    "inbox_bytes": 1048576,
    "name_scalars": 256,
    "maximum_steps": 1024,
    "attempts_default": 1,
    "attempts_maximum": 100,
    "delay_seconds_default": 0,
    "default_maximum_delay_seconds": 43200,
    "delay_seconds_maximum": 43200,
    "sleep_seconds": 31536000,
    "wait_seconds_minimum": 1,
    "wait_seconds_maximum": 31536000,
    "lifetime_seconds": 31536000,
    "retention_seconds": 2592000,
}


def test_the_figures_are_those_of_the_form() -> None:
    assert asdict(FORM) == FIGURES


def test_the_table_says_about_every_limit_what_it_is() -> None:
    assert {name: limit.value for name, limit in TABLE.items()} == FIGURES
    for limit in TABLE.values():
        assert limit.unit
        assert limit.meaning
        assert limit.clause


def test_smaller_limits_can_be_handed_out_and_none_can_be_changed() -> None:
    small = Limits(maximum_steps=3)
    assert small.maximum_steps == 3
    assert small.inbox_events == FORM.inbox_events
    with pytest.raises(FrozenInstanceError):
        small.maximum_steps = 4  # type: ignore[misc]


def _places(path: Path) -> list[str]:
    """The lines of a file that write a large limit out, with or without separators."""
    places = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        figures = {
            re.sub(r"[_,]", "", figure) for figure in re.findall(r"(?<![\w.])\d[\d_,]*\d(?![\w.])", line)
        }
        if figures & set(LARGE):
            places.append(f"{path.relative_to(ROOT)}:{number}")
    return places


def test_no_large_limit_is_written_a_second_time() -> None:
    files = [
        path
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*"))
        if path.suffix in (".py", ".toml", ".json")
        and not {"tests", "scenarios", "vectors"} & set(path.relative_to(ROOT).parts)
        and path.name != "limits.py"
    ]
    assert len(files) > 40
    assert [place for path in files for place in _places(path)] == []


def test_the_search_for_figures_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "some.py"
    path.write_text(
        "a = 43200\nb = 31_536_000\nc = 'of 1,048,576 bytes'\nd = 143200\ne = '0.43200'\n", "utf-8"
    )
    assert _places(path) == ["some.py:1", "some.py:2", "some.py:3"]
