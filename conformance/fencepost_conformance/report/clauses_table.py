"""The part of the page that has every clause, by chapter, and the controls that filter it.

The controls are shown by the script only. What a row can be filtered by stands in its `data-` attributes.
"""

from __future__ import annotations

from collections import Counter

from fencepost_spec import catalogue

from ..verdict import CLAUSE_VERDICTS, ClauseRecord
from . import facts, svg
from .model import Report
from .parts import badge, counted, element, paragraph

text = svg.text

NO_VERDICT = "none"
NO_WORD = "no verdict"
STRENGTHS = ("required", "derived", "open", "exclusion", "reference")


def table(report: Report) -> str:
    """The section of clauses."""
    chapters = "".join(_chapter(report, chapter, records) for chapter, records in report.chapters())
    return (
        f'<section id="clauses"><h2>Clauses by chapter</h2>{_overview(report)}{_controls(report)}{chapters}'
        '<p id="nothing" class="note" hidden>No clause matches the filters.</p></section>'
    )


def _controls(report: Report) -> str:
    clauses = report.run.clauses
    verdicts = Counter(record.verdict or NO_VERDICT for record in clauses)
    strengths: Counter[str] = Counter(record.clause.strength for record in clauses)
    choices = (
        ("verdict", [(name, verdicts[name]) for name in (*CLAUSE_VERDICTS, NO_VERDICT)]),
        ("strength", [(name, strengths[name]) for name in STRENGTHS]),
    )
    groups = "".join(
        f"<fieldset><legend>{group}</legend>{''.join(_choice(group, name, count) for name, count in every)}"
        "</fieldset>"
        for group, every in choices
    )
    return (
        '<form id="filters" class="filters" hidden role="search" aria-label="Filter the clauses">'
        f'{groups}<p class="search"><label for="text">text</label> <input id="text" type="search" '
        'placeholder="id, words, scenario" autocomplete="off" spellcheck="false"> '
        '<button type="reset">Show all</button> <output id="shown" aria-live="polite"></output></p></form>'
    )


def _choice(group: str, name: str, count: int) -> str:
    shown = NO_WORD if name == NO_VERDICT else name
    off = "" if count else " disabled"
    return (
        f'<label class="choice {name}"><input type="checkbox" name="{group}" value="{name}"{off}> '
        f"{shown} <small>{count}</small></label>"
    )


def _chapter(report: Report, chapter: str, records: tuple[ClauseRecord, ...]) -> str:
    counts = Counter(record.verdict or NO_VERDICT for record in records)
    summary = " ".join(
        f'<span class="tally {name}">{counts[name]} {NO_WORD if name == NO_VERDICT else name}</span>'
        for name in (*CLAUSE_VERDICTS, NO_VERDICT)
        if counts[name]
    )
    rows = "".join(_row(report, record) for record in records)
    about = f'<span class="about">{text(_title(chapter))}</span>'
    return (
        f'<section class="chapter" id="chapter-{text(chapter)}">'
        f"<h3>{text(chapter)} <small>{about} {summary}</small></h3>"
        '<table class="clauses"><thead><tr><th scope="col">Clause</th><th scope="col">Verdict</th>'
        '<th scope="col">Strength</th><th scope="col">What it says</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></section>"
    )


def _title(chapter: str) -> str:
    """What a chapter is about."""
    known = catalogue.load().chapters.get(chapter)
    return known.title if known else ""


def _overview(report: Report) -> str:
    """A link to each chapter, in the colour of the worst verdict in it."""
    links = []
    for chapter, records in report.chapters():
        verdicts = {record.verdict for record in records}
        worst = next((verdict for verdict in CLAUSE_VERDICTS if verdict in verdicts), NO_VERDICT)
        count = sum((record.verdict or NO_VERDICT) == worst for record in records)
        says = f"{_title(chapter)}: {count} of {len(records)} {NO_WORD if worst == NO_VERDICT else worst}"
        links.append(
            f'<a class="tile {worst}" href="#chapter-{text(chapter)}" title="{text(says)}">'
            f"<b>{text(chapter)}</b> <span>{count}/{len(records)}</span></a>"
        )
    return f'<nav class="overview" aria-label="Chapters, by their worst verdict">{"".join(links)}</nav>'


def _row(report: Report, record: ClauseRecord) -> str:
    clause = record.clause
    verdict = record.verdict or NO_VERDICT
    failed = record.verdict == "failed"
    id = text(clause.id)
    named = f'<a href="#failed-{id}">{id}</a>' if failed else id
    return (
        f'<tr id="clause-{id}" data-verdict="{verdict}" data-strength="{text(clause.strength)}">'
        f'<th scope="row">{named}</th><td>{badge(record.verdict)}</td>'
        f"<td>{text(clause.strength)}</td><td>{_says(report, record)}</td></tr>"
    )


def _says(report: Report, record: ClauseRecord) -> str:
    clause = record.clause
    more = []
    if clause.argument:
        more.append(paragraph(f"It follows: {clause.argument}", "argument"))
    expectation = report.expectation(clause.id)
    if expectation is not None:
        more.append(paragraph(f"Expected to be {expectation.verdict}: {expectation.reason}", "note"))
    if record.checks:
        checks = "".join(
            f'<li><span class="dot {check.outcome}" aria-hidden="true"></span>{text(check.scenario)} '
            f"<small>{check.outcome}</small></li>"
            for check in record.checks
        )
        tally = ", ".join(f"{count} {outcome}" for outcome, count in record.outcomes.items())
        label = f"{counted(len(record.checks), 'check')}: {tally}"
        more.append(f"<details><summary>{label}</summary>{element('ul', checks, 'checks')}</details>")
    why = facts.why(record)
    reason = paragraph(why, "why") if why and record.verdict is not None else ""
    if record.standing == "unobservable":
        reason = paragraph(why, "why")
    return f"{paragraph(clause.statement, 'statement')}{reason}{''.join(more)}"
