"""The live page in a real browser; collected where FENCEPOST_CHROMIUM is the path of one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost.serve.board import MOST_INSTANCES, STATUSES

from .chromium import Chromium
from .serving import Served, until
from .test_page import LUMINANCE, PNG, TAB

ENTER = ("Enter", 13, "\r")
HOSTILE = '<img src=x onerror="window.pwned=1">\u202e</script>'
TEXTS = [
    *[(f"--{ink}", f"--{on}") for ink in ("ink", "soft", "link") for on in ("paper", "card", "wash")],
    *[(f"--{ink}", "--chosen") for ink in ("ink", "soft", "link")],
    *[(f"--{ink}", "--card") for ink in ("failed", "good", "caller", "deadline")],
    *[("--on-status", f"--{status}") for status in STATUSES],
    ("--on", "--link"),
    ("--on", "--effect"),
    ("--ink", "--owner"),
    ("--soft", "--owner"),
    ("--failed", "--failed-wash"),
]  # fmt: skip
SHOWN = "[...document.querySelectorAll('#rows tr')].map(row => row.dataset.id)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(os.environ["FENCEPOST_CHROMIUM"], tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as served:
        yield served


class Page:
    """The page of a server, and what can be seen and done there."""

    def __init__(self, browser: Chromium, served: Served, hash: str = "", width: int = 1440) -> None:
        self.browser, self.served = browser, served
        browser.open("about:blank")
        browser.open(f"{served.address}/{hash}", width=width, height=900)
        self.see("document.body.dataset.link === 'live'")

    def see(self, condition: str) -> Any:
        """Wait until something holds in the page."""
        return until(lambda: self.browser.evaluate(condition))

    def text(self, id: str) -> str:
        """The text of an element, once it is there."""
        return str(self.browser.evaluate(f"document.getElementById({id!r}).innerText"))

    def click(self, selector: str) -> None:
        """Click on an element."""
        self.browser.evaluate(f"document.querySelector({selector!r}).click()")

    def fill(self, **values: str) -> None:
        """Put texts into fields by their names."""
        for name, value in values.items():
            fields = f"document.getElementsByName({name!r})"
            self.browser.evaluate(f"{fields}.forEach((each) => {{ each.value = {value!r} }})")

    def status(self, id: str) -> str:
        """Scripts that tell the status of an instance in the list."""
        return f"document.querySelector('tr[data-id={id}]')?.dataset.status"


def test_it_asks_nobody_else_and_complains_of_nothing(
    browser: Chromium, served: Served, tmp_path: Path
) -> None:
    page = Page(browser, served)
    asked = browser.requests()
    assert len(asked) > 4
    assert all(each.startswith(f"{served.address}/") for each in asked if each != "about:blank")
    assert browser.complaints() == []
    assert page.text("class") == "Program"
    assert served.address in page.text("source")
    assert browser.screenshot(tmp_path / "page.png").startswith(PNG)


def test_before_there_is_anything_it_says_what_to_do(browser: Chromium, tmp_path: Path) -> None:
    with Served() as fresh:
        page = Page(browser, fresh)
        page.see("!document.getElementById('empty').hidden")
        lines = [line[line.index("curl ") :] for line in fresh.said if "curl " in line]
        assert [line for line in lines if line not in page.text("empty")] == []
        assert "has no process" in browser.evaluate(
            "getComputedStyle(document.getElementById('contexts'), '::after').content"
        )
        fresh.create({"do": "nap"}, id="n1")
        page.see(f"{page.status('n1')} === 'sleeping'")
        assert browser.evaluate("document.getElementById('empty').hidden")

        fresh.end(signal.SIGTERM)  # and when the server is gone, it says so
        page.see("document.body.dataset.link === 'lost'")
        assert "Nothing is heard of the server" in page.text("lost")


def test_what_happens_appears_by_itself(browser: Chromium, served: Served, tmp_path: Path) -> None:
    page = Page(browser, served)
    served.create({"do": "wait"}, id="w1")
    page.see(f"{page.status('w1')} === 'waiting'")
    assert "times out in" in browser.evaluate("document.querySelector('tr[data-id=w1] .next').innerText")
    served.create({"do": "block"}, id="b1")
    page.see("document.querySelector('#contexts li')?.innerText.includes('b1')")
    page.see("document.querySelector('#contexts li')?.innerText.includes('do b')")
    assert browser.evaluate(SHOWN)[:2] == ["b1", "w1"]  # the newest first
    page.see("document.getElementById('moments').innerText.includes('context 1 starts')")
    browser.screenshot(tmp_path / "live.png")
    served.ask("POST", "/instances/b1/terminate")
    page.see(f"{page.status('b1')} === 'terminated'")
    page.see("!document.querySelector('#contexts li')")


def test_a_click_shows_a_life(browser: Chromium, served: Served, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    served.create({"do": "die_once", "mark": str(mark)}, id="d1")
    until(lambda: served.status("d1") == "complete")
    page = Page(browser, served)
    page.click("tr[data-id=d1] .open")
    page.see("document.querySelectorAll('.lanes .span').length > 0")
    assert browser.evaluate("location.hash") == "#id=d1"
    assert browser.evaluate("document.querySelectorAll('.lanes .mark.died').length") == 1
    assert browser.evaluate("document.querySelectorAll('.lanes .span.owner').length") == 2
    assert browser.evaluate("document.querySelectorAll('.lanes .span.effect').length") == 2
    assert "do dies" in page.text("parts")
    assert "context 1 died" in page.text("parts")
    assert browser.evaluate("document.getElementById('actions').hidden")  # it has ended
    aligned = """
    (() => {
      const [lanes, rows] = [".lanes", ".life-rows"].map((each) =>
        document.querySelector(each).getBoundingClientRect());
      return Math.abs(lanes.height - rows.height) < 1 && Math.abs(lanes.top - rows.top) < 1;
    })()
    """  # fmt: skip
    assert browser.evaluate(aligned)
    browser.screenshot(tmp_path / "life.png")
    browser.press("Escape", 27)
    page.see("document.getElementById('detail').hidden")
    assert browser.evaluate("location.hash") == ""


def test_the_address_keeps_what_is_looked_at(browser: Chromium, served: Served) -> None:
    served.create({"do": "nap"}, id="kept")
    page = Page(browser, served, "#status=sleeping&search=kep&id=kept")
    page.see("document.getElementById('facts').innerText.includes('sleeping')")
    assert browser.evaluate(SHOWN) == ["kept"]
    assert browser.evaluate("document.getElementById('search').value") == "kep"
    assert browser.evaluate("document.querySelector('.chip[data-status=sleeping]').ariaPressed") == "true"
    page.click(".chip[data-status=errored]")
    page.see("document.getElementById('empty').innerText.includes('No instance is errored')")
    page.click("#empty button")
    page.see(f"{SHOWN}.length > 1")


def test_instances_are_made_steered_and_ended_from_the_page(browser: Chromium, served: Served) -> None:
    page = Page(browser, served)
    page.click("#new")
    page.fill(id="made", params='{"do": "wait", "do": "nap"}')
    page.click("#create [type=submit]")
    page.see("document.getElementById('create-answer').innerText.includes('the key \"do\" twice')")
    page.fill(params='{"do": "wait"}, "id": "other"')
    page.click("#create [type=submit]")
    page.see("document.getElementById('create-answer').innerText.includes('the params is no JSON')")
    page.fill(params='{"do": "wait"}')
    page.click("#create [type=submit]")
    page.see(f"{page.status('made')} === 'waiting'")
    page.see("document.getElementById('detail-id').innerText === 'made'")

    page.fill(type="other", payload="[]")
    page.click("#event [type=submit]")
    page.see(
        "document.getElementById('answer').innerText.startsWith('TypeError: the payload is no document')"
    )
    page.fill(type="other", payload="")
    page.click("#event [type=submit]")
    page.see("document.getElementById('answer').innerText === 'other was accepted.'")
    page.see("document.getElementById('parts').innerText.includes('1 unconsumed')")

    page.click("#terminate")
    assert served.status("made") == "waiting"  # it asks first
    page.click("#terminate")
    page.see("document.getElementById('answer').innerText.startsWith('Terminated')")
    assert served.status("made") == "terminated"
    page.see("document.getElementById('actions').hidden")


def test_texts_of_anybody_stay_texts(browser: Chromium, served: Served, tmp_path: Path) -> None:
    served.create({"do": "quick", "with": HOSTILE}, id=HOSTILE)
    status, _ = served.ask("POST", "/instances", {"id": f"{HOSTILE}2", "params": {"do": HOSTILE}})
    assert status == 201
    page = Page(browser, served)
    page.see(f"{SHOWN}.length > 1")
    page.see("[...document.querySelectorAll('#rows tr')].some((row) => row.dataset.status === 'errored')")
    choose = (
        f"[...document.querySelectorAll('#rows tr')].find((row) => row.dataset.id === {HOSTILE!r}).click()"
    )
    browser.evaluate(choose)
    page.see("document.getElementById('parts').innerText.includes('run returned')")
    assert browser.evaluate("window.pwned === undefined && !document.querySelector('main img')")
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    browser.screenshot(tmp_path / "hostile.png")


def test_keys_reach_what_a_pointer_does(browser: Chromium, served: Served) -> None:
    served.create({"do": "nap"}, id="by-keys")
    page = Page(browser, served)
    page.see(f"{page.status('by-keys')} === 'sleeping'")
    for _ in range(40):
        browser.press(*TAB)
        if browser.evaluate("document.activeElement.innerText") == "by-keys":
            break
    browser.press(*ENTER)
    page.see("document.getElementById('detail-id').innerText === 'by-keys'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_in_dark(browser: Chromium, served: Served, scheme: str) -> None:
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    Page(browser, served)
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor").strip("rgb()").split(",")
    assert (int(paper[0]) < 128) is (scheme == "dark")
    contrasts = browser.evaluate(f"({LUMINANCE})({[list(pair) for pair in TEXTS]!r})")
    assert [each for each in contrasts if each[2] < 4.5] == []
    browser.ask("Emulation.setEmulatedMedia", features=[])


def test_a_narrow_window_does_not_scroll_sideways(browser: Chromium, served: Served) -> None:
    served.create({"do": "nap"}, id="narrow")
    page = Page(browser, served, "#id=narrow", width=390)
    page.see("document.querySelectorAll('.lanes .span').length > 0")
    assert browser.evaluate("document.documentElement.scrollWidth <= 390")


STREAM = """
  window.EventSource = class {
    constructor() { window.stream = this; }
    close() {}
  };
"""
FRAMES = """
  (count, shown, closed) => {
    const ids = Array.from({ length: shown }, (_, index) => `i${count - index}`);
    const instance = (id) => ({
      id, status: "running", createdAt: 0, endedAt: null, deadline: null, reason: null, output: "", inbox: 0,
      doing: { name: "a", kind: "do", type: null, failures: 0 }, steps: 1, finished: 0, contexts: 1,
    });
    window.stream.onmessage({ data: JSON.stringify({
      about: { class: "Many", source: "many.py", address: "", version: "1", lines: [] },
      now: 5000, closed, counts: { running: count }, fitting: count, order: ids, changed: ids.map(instance),
      contexts: ids.slice(0, 48).map((id) => ({ id, token: 1, owner: true, pid: 7, since: 0, doing: null })),
      running: count, moments: [],
    }) });
  }
"""


def test_only_the_newest_of_many_are_shown_and_it_says_so(browser: Chromium, served: Served) -> None:
    script = browser.ask("Page.addScriptToEvaluateOnNewDocument", source=STREAM)["identifier"]
    try:
        browser.open("about:blank")
        browser.open(served.address)
        until(lambda: browser.evaluate("window.stream !== undefined"))
        browser.evaluate(f"({FRAMES})(12345, {MOST_INSTANCES}, false)")
        shown = browser.evaluate(SHOWN)
        assert (len(shown), shown[0], shown[-1]) == (MOST_INSTANCES, "i12345", "i12146")
        said = "document.getElementById('cap').innerText"
        assert browser.evaluate(said) == f"The newest {MOST_INSTANCES} of 12,345 are shown."
        said = "document.getElementById('running').innerText"
        assert browser.evaluate(said) == "12,345 not stopped, the newest 48 are shown"
        browser.evaluate(f"({FRAMES})(3, 3, true)")
        assert browser.evaluate(SHOWN) == ["i3", "i2", "i1"]
        assert browser.evaluate("document.getElementById('cap').hidden")
        assert "The Host is closed" in browser.evaluate("document.getElementById('lost').innerText")
        assert browser.complaints() == []
    finally:
        browser.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
