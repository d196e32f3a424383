"""The HTML report in a real browser; collected where FENCEPOST_CHROMIUM is the path of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.report import html

from . import broken_hosts, failing_runs
from .chromium import Chromium
from .test_html import attacked
from .test_report import hostile

PNG = b"\x89PNG\r\n\x1a\n"
PDF = b"%PDF-"
TAB, SPACE = ("Tab", 9, "\t"), (" ", 32, " ")

SHOWN = "[...document.querySelectorAll('tr[data-verdict]:not([hidden])')].map(row => row.id)"
LUMINANCE = """
(pairs) => {
  const style = getComputedStyle(document.documentElement);
  const light = (name) => {
    const [r, g, b] = style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/gi)
      .map((part) => parseInt(part, 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return pairs.map(([one, two]) => {
    const [low, high] = [light(one), light(two)].sort((a, b) => a - b);
    return [one, two, (high + 0.05) / (low + 0.05)];
  });
}
"""
TEXTS = [
    *[(f"--{ink}", f"--{on}") for ink in ("ink", "soft", "link") for on in ("paper", "card", "wash")],
    *[(f"--{ink}", "--card") for ink in ("failed", "errored", "unmeasured", "passed", "none", "deadline")],
    *[("--on", f"--{badge}") for badge in ("failed", "errored", "unmeasured", "passed", "effect")],
    *[("--on-status", f"--{each}") for each in ("queued", "running", "sleeping", "waiting", "complete")],
    *[("--on-status", f"--{each}") for each in ("errored-status", "terminated", "unknown")],
    ("--failed", "--failed-wash"),
    ("--ink", "--owner"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(os.environ["FENCEPOST_CHROMIUM"], tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of failing runs, one of them seen from outside, a qualified run, and one full of malice."""
    folder = tmp_path_factory.mktemp("pages")
    late, early = broken_hosts.newest_first, broken_hosts.terminated_too_early
    waits = ("worked/05-three-events-two-waits-any", "WFE/oldest-match-others-stay")
    made = {
        "failed": html.render(*failing_runs.run(late, *waits, "EVT/acceptance-order-survives-restart")),
        "early": html.render(*failing_runs.run(early, "TRM/an-unproven-stop", "TRM/already-terminal")),
        "foreign": html.render(*failing_runs.run(late, *waits, trace=False)),
        "qualified": html.render(*failing_runs.run(ReferenceAdapter, *waits)),
        "hostile": html.render(hostile(), {"A/one": attacked()}),
    }
    for name, page in made.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in made}


@pytest.mark.parametrize("name", ["failed", "early", "foreign", "qualified", "hostile"])
def test_a_page_asks_for_nothing_and_complains_of_nothing(
    browser: Chromium, pages: dict[str, str], name: str, tmp_path: Path
) -> None:
    browser.open(pages[name])
    assert browser.requests() == [pages[name]]
    assert browser.complaints() == []
    assert browser.evaluate("window.pwned === undefined")
    assert browser.screenshot(tmp_path / f"{name}.png").startswith(PNG)
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_filters_choose_clauses_and_the_address_keeps_them(
    browser: Chromium, pages: dict[str, str]
) -> None:
    browser.open(pages["failed"])
    everything = browser.evaluate(SHOWN)
    browser.evaluate("document.querySelector('input[value=failed]').click()")
    failed = browser.evaluate(SHOWN)
    assert 0 < len(failed) < len(everything)
    assert browser.evaluate("location.hash") == "#verdict=failed"
    assert browser.evaluate("document.getElementById('shown').textContent") == (
        f"{len(failed)} of {len(everything)} clauses"
    )
    browser.evaluate("document.querySelector('[type=reset]').click()")
    browser.evaluate("new Promise((done) => setTimeout(done))")
    assert browser.evaluate(SHOWN) == everything

    browser.open("about:blank")
    browser.open(f"{pages['failed']}#strength=derived&text=WFE-8")
    assert browser.evaluate(SHOWN) == ["clause-WFE-8"]
    assert browser.evaluate("document.querySelector('input[value=derived]').checked")
    hidden = "[...document.querySelectorAll('.chapter')].filter(each => !each.hidden).map(each => each.id)"
    assert browser.evaluate(hidden) == ["chapter-WFE"]

    browser.open("about:blank")
    browser.open(f"{pages['failed']}#text=no+clause+says+this")
    assert browser.evaluate(SHOWN) == []
    assert not browser.evaluate("document.getElementById('nothing').hidden")


def test_a_link_to_a_clause_that_is_filtered_away_shows_it(browser: Chromium, pages: dict[str, str]) -> None:
    browser.open("about:blank")
    browser.open(f"{pages['failed']}#text=WFE-8")
    browser.evaluate("document.querySelector('a[href=\"#chapter-EVT\"]').click()")
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert browser.evaluate("document.getElementById('chapter-EVT').checkVisibility()")


def test_everything_can_be_reached_and_worked_with_the_keyboard(
    browser: Chromium, pages: dict[str, str]
) -> None:
    browser.open("about:blank")
    browser.open(pages["failed"])
    about = "(({className, value, tagName}) => ({tagName, value, className}))(document.activeElement)"
    reached: list[Any] = []
    for _ in range(60):
        browser.press(*TAB)
        reached.append(browser.evaluate(about))
        if reached[-1].get("value") == "failed":
            break
    assert reached[0]["className"] == "skip"
    assert {"SUMMARY", "DIV", "A"} <= {each["tagName"] for each in reached}  # a picture scrolls by keys
    assert reached[-1]["value"] == "failed"
    browser.press(*SPACE)
    assert browser.evaluate("location.hash") == "#verdict=failed"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_in_dark(browser: Chromium, pages: dict[str, str], scheme: str) -> None:
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(pages["failed"])
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor").strip("rgb()").split(",")
    assert (int(paper[0]) < 128) is (scheme == "dark")
    contrasts = browser.evaluate(f"({LUMINANCE})({[list(pair) for pair in TEXTS]!r})")
    assert [each for each in contrasts if each[2] < 4.5] == []
    browser.ask("Emulation.setEmulatedMedia", features=[])


@pytest.mark.parametrize("name", ["failed", "early", "foreign", "hostile"])
def test_no_text_of_a_picture_leaves_its_place(browser: Chromium, pages: dict[str, str], name: str) -> None:
    browser.open(pages[name])
    browser.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    outside = """
    [...document.querySelectorAll('svg.timeline')].flatMap((svg) =>
      [...svg.querySelectorAll('text')].filter((text) => {
        const box = text.getBBox();
        return box.x < 0 || box.x + box.width > svg.viewBox.baseVal.width;
      }).map((text) => text.textContent))
    """
    assert browser.evaluate(outside) == []
    wider = """
    [...document.querySelectorAll('svg.timeline g > rect.span')].filter((span) => {
      const label = span.nextElementSibling;
      return label && label.getBBox().width > span.getBBox().width + 4;
    }).map((span) => span.parentNode.textContent)
    """
    assert browser.evaluate(wider) == []


def test_it_prints_with_every_picture_unfolded_and_no_filters(
    browser: Chromium, pages: dict[str, str]
) -> None:
    browser.open(pages["failed"])
    browser.evaluate("document.querySelectorAll('details.figure').forEach((each) => { each.open = false })")
    browser.evaluate("window.unfolded = 0")
    browser.evaluate(
        "addEventListener('beforeprint', () => {"
        " window.unfolded = document.querySelectorAll('details.figure[open]').length })"
    )
    assert browser.pdf().startswith(PDF)
    assert browser.evaluate("window.unfolded") == browser.evaluate(
        "document.querySelectorAll('.figure').length"
    )
    browser.ask("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.getElementById('filters')).display") == "none"
    browser.ask("Emulation.setEmulatedMedia", media="")


def test_a_narrow_window_does_not_scroll_sideways(browser: Chromium, pages: dict[str, str]) -> None:
    browser.open(pages["failed"], width=390)
    assert browser.evaluate("document.documentElement.scrollWidth <= 390")
