"""The SVG of a picture and the page around it: well formed, in place, and safe against what a Host says."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from fencepost_conformance import scenario as scenarios
from fencepost_conformance.hosts.reference import ReferenceAdapter
from fencepost_conformance.report import html, layout, svg
from fencepost_conformance.report.picture import Lane, Mark, Picture, Row, Span
from fencepost_conformance.results import Difference

from . import broken_hosts, failing_runs
from .test_report import hostile

NAMESPACE = "{http://www.w3.org/2000/svg}"
ATTACK = "</text></svg><script>window.pwned = 1</script>\x00\ud800\u202e\" onload='x' &"
VOID = {"meta", "input", "link", "br", "img"}


def drawn(
    make: object = broken_hosts.newest_first, id: str = "worked/05-three-events-two-waits-any"
) -> Picture:
    return failing_runs.pictured(make, scenarios.load(id))  # type: ignore[arg-type]


def attacked() -> Picture:
    difference = Difference("X-1", "schedule[0]", {ATTACK: 1}, ATTACK, ATTACK)
    row = Row(0, "entry", ATTACK, ATTACK, 0, (difference,), (ATTACK,))
    lanes = (Lane("c", "caller", ATTACK), Lane(ATTACK, "instance", ATTACK))
    return Picture(
        ATTACK,
        ATTACK,
        lanes,
        (row, replace(row, at=1, entry=1)),
        (Span(ATTACK, ATTACK, ATTACK, 0, 1),),
        (Mark(ATTACK, 0, "wrong", ATTACK),),
    )


class Outline(HTMLParser):
    """Checks that tags nest, and keeps ids, links and the texts of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetching: list[str] = []
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.ids += [value for key, value in given.items() if key == "id" and value]
        self.links += [value for key, value in given.items() if key == "href" and value]
        self.fetching += [key for key in given if key in ("src", "srcset", "poster", "action", "background")]
        self.scripts += [""] if tag == "script" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("picture", [drawn(), attacked(), Picture("t", "s", (), ())])
def test_a_picture_is_well_formed_and_says_in_words_what_it_shows(picture: Picture) -> None:
    root = ET.fromstring(svg.render(picture, "k"))
    assert root.tag == f"{NAMESPACE}svg"
    assert root.get("role") == "img"
    title, description = root[0], root[1]
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    for row in picture.rows:
        for difference in row.wrong:
            assert svg.facts.plain(difference.message) in (description.text or "")


def test_every_mark_and_span_stands_in_its_lane_and_row() -> None:
    picture = drawn()
    places = layout.lay_out(picture)
    root = ET.fromstring(svg.render(picture, "k"))
    rings = root.findall(f".//{NAMESPACE}g[@class='mark mark-wrong']/{NAMESPACE}rect")
    wrong = [mark for mark in picture.marks if mark.kind == "wrong"]
    assert len(rings) == len(wrong) > 0
    for ring, mark in zip(rings, wrong, strict=True):
        left, width = places.lanes[mark.lane]
        assert left <= float(ring.get("x", "")) <= left + width
        row = places.rows[mark.row]
        assert row.top - 1 <= float(ring.get("y", "")) <= row.middle
    bars = [each for each in root.iter(f"{NAMESPACE}rect") if "span" in (each.get("class") or "").split()]
    assert len(bars) == len(picture.spans)
    for bar in bars:
        top = float(bar.get("y", ""))
        assert layout.HEAD <= top <= top + float(bar.get("height", "")) <= places.height


def test_rows_go_downwards_and_gaps_grow_with_the_time_but_fit_a_year() -> None:
    picture = failing_runs.pictured(ReferenceAdapter, scenarios.load("worked/15-sleep-beyond-the-lifetime"))
    places = layout.lay_out(picture).rows
    assert all(one.bottom <= two.top for one, two in itertools.pairwise(places))
    heights = [layout.gap_height(each) for each in (0, 1, 1_000, 60_000, 31_536_000_000)]
    assert heights == sorted(set(heights))
    assert heights[0] == 0
    assert heights[-1] < 100
    root = ET.fromstring(svg.render(picture, "k"))
    labels = ["".join(each.itertext()) for each in root.findall(f".//{NAMESPACE}text[@class='passes']")]
    assert "364 d 23 h 59 min 58.999 s idle" in labels
    instants = ["".join(each.itertext()) for each in root.findall(f".//{NAMESPACE}text[@class='instant']")]
    assert {"0 s", "31,535,999.999 s", "31,536,000 s"} <= set(instants)


def test_a_long_text_is_cut_where_it_stands_and_whole_in_its_title() -> None:
    long = "x" * 500
    picture = Picture("t", "s", (Lane("c", "caller", long),), (Row(0, "entry", long, long, 0),))
    root = ET.fromstring(svg.render(picture, "k"))
    (row,) = root.findall(f".//{NAMESPACE}g[@class='row row-entry']")
    assert long in (row[0].text or "")
    assert len("".join(row[1].itertext())) <= layout.CHARACTERS + 4


@pytest.mark.parametrize(
    "page",
    [
        html.render(*failing_runs.run(broken_hosts.newest_first, "worked/05-three-events-two-waits-any")),
        html.render(*failing_runs.run(ReferenceAdapter, "WFE/event-at-the-deadline-wins")),
        html.render(hostile(), {"A/one": attacked()}),
    ],
    ids=["failed", "qualified", "hostile"],
)
def test_a_page_nests_refers_to_itself_only_and_runs_only_its_own_script(page: str) -> None:
    outline = Outline(page)
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
    assert outline.fetching == []
    assert "url(" not in re.sub(r"url\(#timeline-\d+-hatch\)", "", page)
    assert "@import" not in page
    (script,) = outline.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    page.encode("utf-8")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", page.replace("\t", ""))


def test_a_page_shows_verdict_failures_latitudes_and_every_clause() -> None:
    report, pictures = failing_runs.run(
        broken_hosts.newest_first, "worked/05-three-events-two-waits-any", "WFE/event-at-the-deadline-wins"
    )
    page = html.render(report, pictures)
    assert ">not qualified</h1>" in " ".join(page.split()).replace("</span> ", ">")
    for record in report.run.clauses:
        assert f'id="clause-{record.clause.id}"' in page
    for record in report.run.of("failed"):
        assert f'id="failed-{record.clause.id}"' in page
    assert report.replay_line("worked/05-three-events-two-waits-any") in page
    assert page.count("<svg ") == len(pictures) == 1
    choices = html.render(hostile())
    assert 'id="latitudes"' in choices
    assert "<b>late</b>" in choices


def test_a_qualified_page_has_neither_failures_nor_pictures() -> None:
    page = html.render(*failing_runs.run(ReferenceAdapter, "WFE/event-at-the-deadline-wins"))
    assert 'class="verdict qualified"' in page
    assert 'id="failures"' not in page
    assert "<svg" not in page


def test_a_picture_is_drawn_once_and_linked_to_where_another_clause_fails_by_it() -> None:
    report = hostile()
    both = tuple(replace(Difference("A-2", "schedule[6]", 1, 2, "m"), clause=each) for each in ("A-1", "A-2"))
    from .test_report import report as made
    from .test_verdict import check

    failing = replace(check("failed", "A-1", "A-2", name="A/one"), differences=both)
    page = html.render(made(failing), {"A/one": attacked()})
    assert page.count("<svg ") == 1
    assert page.count("The timeline is above.") == 1
    assert report.run.of("failed")
