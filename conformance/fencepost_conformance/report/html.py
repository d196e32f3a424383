"""The report as one static page: open it from a disk, mail it, print it; it asks nothing of any network.

The page is put together from `page/template.html`, a style sheet and a short script, all of them inside the
file. Its content security policy forbids every request and every script but the one that it was written
with, by hash; so even a text of a Host that slipped through unescaped could do nothing. Without the script
the page shows everything; with it, the table of clauses can be filtered, and the address of the page keeps
the filters.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib import resources
from string import Template
from types import MappingProxyType

from ..verdict import Blame, ClauseRecord
from . import facts, svg
from .clauses_table import table
from .model import WORDS, Report
from .parts import badge, code, counted, element, paragraph
from .picture import Picture

text, prose = svg.text, svg.prose

NO_PICTURES: Mapping[str, Picture] = MappingProxyType({})
SENTENCES = {
    "qualified": "Every clause of the run that can be judged passed.",
    "not-qualified": "At least one clause was seen to be broken.",
    "incomplete": "No clause was seen to be broken, but not every clause could be judged.",
}
SYMBOLS = {"qualified": "✓", "not-qualified": "✗", "incomplete": "…"}
SHOWN_BLAMES = 5  # differences shown for one clause; the JSON report has all of them
SHOWN_VALUE = 400  # characters of an expected or seen value
_SCALE = "Lengths of time are not to scale: what lies idle is shortened and labelled."
OPEN_PICTURES = 4  # pictures that are unfolded at the start


def render(report: Report, pictures: Mapping[str, Picture] = NO_PICTURES) -> str:
    """The page, as text, with the pictures of failed scenarios by their ids."""
    script = _file("filters.js")
    figures = _Figures(pictures)
    return Template(_file("template.html")).substitute(
        title=text(f"{report.host.name}: {report.verdict_line}"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii"),
        style=_file("style.css"),
        header=_header(report),
        failures=_failures(report, figures),
        reasons=_reasons(report),
        latitudes=_latitudes(report),
        clauses=table(report),
        facts=_facts(report),
    )


def _file(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text(encoding="utf-8")


# The head


def _header(report: Report) -> str:
    verdict = report.run.verdict
    counts = report.run.counts
    judged = sum(counts.values())
    bar = "".join(
        f'<span class="part {name}" style="flex-grow:{count}" title="{count} {name}"></span>'
        for name, count in counts.items()
        if count
    )
    numbers = "".join(
        f'<li class="{name}"><b>{count}</b> {name}</li>'
        for name, count in counts.items()
        if count or name != "errored"
    )
    selection = (
        paragraph(f"This is the verdict of a selection: {report.selection}.", "note")
        if report.selection
        else ""
    )
    expected = "".join(paragraph(f"Expected failures: {each}", "note") for each in report.expected_problems)
    if report.expected:
        known = (
            f"{counted(len(report.expected), 'expected failure')}: the exit status is {report.exit_status}."
        )
        expected += paragraph(known, "note")
    return (
        f'<p class="what">Conformance of <b>{text(report.host.name)}</b> {text(report.host.version)}'
        " to DurableWorkflow</p>"
        f'<h1 class="verdict {verdict}"><span class="symbol" aria-hidden="true">{SYMBOLS[verdict]}</span> '
        f"{text(WORDS[report.run.suite][verdict].replace('-', ' '))}</h1>"
        f'<p class="sentence">{SENTENCES[verdict]}</p>{selection}{expected}'
        f'<div class="bar" role="img" aria-label="Of {judged} judged clauses: '
        f'{", ".join(f"{count} {name}" for name, count in counts.items())}">{bar}</div>'
        f'<ul class="numbers">{numbers}<li>of {judged} judged clauses, '
        f"by {counted(len(report.run.checks), 'check')}</li></ul>"
    )


def _facts(report: Report) -> str:
    host, kit = report.host, report.kit
    rows = {
        "Host": f"{host.name} {host.version}",
        **({"Which is": host.standing} if host.standing else {}),
        "Address": host.address,
        "Instruments": ", ".join(host.instruments) or "none",
        "Catalogue": f"{kit.catalogue_version}, {kit.catalogue_digest}",
        "Kit": f"fencepost {kit.version}",
        "Probe": kit.probe_digest,
        "Seed": str(report.seed),
        "Begun": report.started_at,
        "Took": f"{report.seconds:.1f} s",
        "Exit status": str(report.exit_status),
    }
    items = "".join(f"<div><dt>{name}</dt><dd>{text(value)}</dd></div>" for name, value in rows.items())
    return f'<dl class="facts">{items}</dl>'


# Failures


class _Figures:
    """The pictures of a page, each drawn once, where it is first needed."""

    def __init__(self, pictures: Mapping[str, Picture]) -> None:
        self.pictures = pictures
        self.drawn: dict[str, str] = {}

    def figure(self, scenario: str) -> str:
        """The picture of a scenario, a link to where it stands, or nothing where there is none."""
        picture = self.pictures.get(scenario)
        if picture is None:
            return ""
        if scenario in self.drawn:
            return f'<p class="again"><a href="#{self.drawn[scenario]}">The timeline is above.</a></p>'
        key = self.drawn[scenario] = f"timeline-{len(self.drawn) + 1}"
        unfolded = " open" if len(self.drawn) <= OPEN_PICTURES else ""
        return (
            f'<details class="figure" id="{key}"{unfolded}><summary>Timeline of {text(scenario)}</summary>'
            f'<figure><div class="scroll" tabindex="0" role="region" aria-label="{text(scenario)}, drawn">'
            f"{svg.render(picture, key)}</div>"
            f"<figcaption>{text(picture.source)} {_SCALE}</figcaption></figure></details>"
        )


def _failures(report: Report, figures: _Figures) -> str:
    records = report.run.of("failed")
    loose = report.run.unattributed
    if not records and not loose:
        return ""
    cards = [_failure(report, record, figures) for record in records]
    for check in loose:
        said = "".join(
            paragraph(f"{each.clause} {each.at}: {each.message}") for each in check.differences[:SHOWN_BLAMES]
        )
        cards.append(
            f'<article class="card"><h3>{text(check.scenario)} {badge("failed")}</h3>'
            f"{paragraph('It failed, blaming no clause that has a verdict.', 'note')}{said}"
            f"{code(report.replay_line(check.scenario))}{figures.figure(check.scenario)}</article>"
        )
    legend = _file("legend.html") if figures.pictures else ""
    return f'<section id="failures"><h2>What failed</h2>{legend}{"".join(cards)}</section>'


def _failure(report: Report, record: ClauseRecord, figures: _Figures) -> str:
    clause = record.clause
    known = report.expectation(clause.id)
    expected = paragraph(f"Expected: {known.reason}", "note") if known and known.verdict == "failed" else ""
    argument = paragraph(f"It follows: {clause.argument}", "argument") if clause.argument else ""
    grouped: dict[str, list[Blame]] = {}
    for blame in record.blames:
        grouped.setdefault(blame.scenario, []).append(blame)
    titles = {check.scenario: check.title for check in record.checks}
    shown = list(grouped.items())[:SHOWN_BLAMES]
    checks = "".join(_check(report, name, titles.get(name, name), blames, figures) for name, blames in shown)
    rest = [name for name, _ in list(grouped.items())[SHOWN_BLAMES:]]
    more = (
        paragraph(f"Blamed by {counted(len(rest), 'more check')}: {', '.join(rest)}", "note") if rest else ""
    )
    return (
        f'<article class="card" id="failed-{text(clause.id)}"><h3>{text(clause.id)} {badge("failed")} '
        f"<small>{text(clause.strength)}</small></h3><blockquote>{prose(clause.statement)}</blockquote>"
        f"{argument}{expected}{checks}{more}</article>"
    )


def _check(report: Report, scenario: str, title: str, blames: list[Blame], figures: _Figures) -> str:
    differences = "".join(_difference(blame) for blame in blames[:SHOWN_BLAMES])
    more = len(blames) - SHOWN_BLAMES
    rest = paragraph(f"and {counted(more, 'more difference')}", "note") if more > 0 else ""
    log = _log(report, scenario)
    return (
        f'<section class="check"><h4>{text(title)} <code>{text(scenario)}</code></h4>{differences}{rest}'
        f"{figures.figure(scenario)}{log}{code(report.replay_line(scenario))}</section>"
    )


def _log(report: Report, scenario: str) -> str:
    """What the adapter logged meanwhile."""
    lines = next((each.log for each in report.run.checks if each.scenario == scenario), ())
    if not lines:
        return ""
    label = f"{counted(len(lines), 'line')} that the adapter logged"
    body = text("\n".join(lines))
    return f'<details class="log"><summary>{label}</summary><pre tabindex="0">{body}</pre></details>'


def _difference(blame: Blame) -> str:
    each = blame.difference
    return (
        f'<dl class="difference"><div><dt>{text(each.at) or "seen"}</dt><dd>{text(each.message)}</dd></div>'
        f"<div><dt>expected</dt><dd><code>{text(facts.value(each.expected, SHOWN_VALUE))}</code></dd></div>"
        f"<div><dt>seen</dt><dd><code>{text(facts.value(each.seen, SHOWN_VALUE))}</code></dd></div></dl>"
    )


# What is left


def _reasons(report: Report) -> str:
    sections = []
    for verdict, heading in (
        ("errored", "What broke down"),
        ("unmeasured", "What was not measured, and why"),
    ):
        reasons: dict[str, list[str]] = {}
        for record in report.run.judged:
            if record.verdict == verdict:
                reasons.setdefault(facts.why(record), []).append(record.clause.id)
        rows = [
            element("tr", f'<td>{text(reason)}</td><td class="ids">{text(", ".join(ids))}</td>')
            for reason, ids in sorted(reasons.items(), key=lambda item: -len(item[1]))
        ]
        if rows:
            sections.append(
                f'<section id="{verdict}"><h2>{heading}</h2><table class="plain"><thead><tr><th scope="col">'
                f'Reason</th><th scope="col">Clauses</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
                "</section>"
            )
    return "".join(sections)


def _latitudes(report: Report) -> str:
    taken = [record for record in report.standing("open") if record.choices]
    if not taken:
        return ""
    rows = []
    for record in taken:
        id = text(record.clause.id)
        meanings = {choice.name: choice.meaning for choice in record.clause.choices}
        choices = "".join(
            f"<li><b>{text(name)}</b>: {prose(meanings.get(name, ''))} "
            f'<small title="{text(", ".join(seen))}">{counted(len(seen), "check")}</small></li>'
            for name, seen in record.choices.items()
        )
        rows.append(
            f'<tr><th scope="row"><a href="#clause-{id}">{id}</a></th>'
            f"<td>{prose(record.clause.statement)}</td><td><ul>{choices}</ul></td></tr>"
        )
    return (
        '<section id="latitudes"><h2>Open points, and what the Host was seen to do</h2>'
        "<p>The Form leaves these to the Host. Every choice shown is admissible.</p>"
        '<table class="plain"><thead><tr><th scope="col">Clause</th><th scope="col">What is open</th>'
        f'<th scope="col">Seen</th></tr></thead><tbody>{"".join(rows)}</tbody></table></section>'
    )
