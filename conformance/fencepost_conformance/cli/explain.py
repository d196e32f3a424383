"""`fencepost explain`: what a word means, which clauses stand behind it, and which scenarios measure those.

A word may be several things at once (`terminated` is a status; `kill` an instrument): every meaning is
printed. The kinds of words are a table of look-ups, each from a word to its lines, or to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import click
from fencepost_spec import words
from fencepost_spec.catalogue import Clause
from fencepost_spec.clause import split_id
from fencepost_spec.limits import TABLE

from ..adapter import INSTRUMENTS
from . import screen, sources
from .trouble import Trouble

SHOWN_SCENARIOS = 12  # of one clause; 'fencepost list scenarios' has all of them
LookUp = Callable[[str], Iterable[str]]


@click.command(name="explain")
@click.argument("word")
def command(word: str) -> None:
    """Say what WORD means: a clause, a chapter, an error name, a status, a limit or an instrument.

    \b
    Examples:
      fencepost explain WFE-5
      fencepost explain wait_timeout
      fencepost explain sleeping
      fencepost explain inbox_events
    """
    output = screen.console()
    found = [lines for look_up in LOOK_UPS if (lines := list(look_up(word)))]
    if not found:
        raise Trouble(
            f"{word} is no word of the Form{sources.near(word, known()) or '; try a clause id such as WFE-5'}"
        )
    for index, lines in enumerate(found):
        if index:
            screen.say(output)
        for line in lines:
            screen.say(output, line)


def known() -> set[str]:
    """Every word that can be explained."""
    clauses = sources.catalogue()
    return {*clauses.clauses, *clauses.chapters, *TABLE, *INSTRUMENTS, *words.load(), *_quoted()}


def _clause(word: str) -> Iterator[str]:
    catalogue = sources.catalogue()
    clause = next(
        (each for name, each in catalogue.clauses.items() if name.casefold() == word.casefold()), None
    )
    if clause is None:
        return
    yield f"{clause.id}: {clause.strength}, in {catalogue.chapters[clause.chapter].title}"
    yield f"  {clause.statement}"
    if clause.argument:
        yield f"  It follows: {clause.argument}"
    if clause.unobservable:
        yield f"  It cannot be seen from outside: {clause.unobservable}"
    for choice in clause.choices:
        mark = " (the reference)" if choice.name == clause.reference else ""
        yield f"  choice {choice.name}{mark}: {choice.meaning}"
    yield f"  source: {', '.join(sentence.pointer for sentence in clause.source)}"
    if parts := _other_parts(clause):
        yield f"  see also: {', '.join(f'{part.id} ({part.strength})' for part in parts)}"
    yield from _checks(clause)


def _other_parts(clause: Clause) -> list[Clause]:
    """The clauses that share its number: the parts of one statement with several strengths."""
    return [
        each
        for each in sources.catalogue().clauses.values()
        if each.id != clause.id and split_id(each.id)[:2] == split_id(clause.id)[:2]
    ]


def _checks(clause: Clause) -> Iterator[str]:
    scenarios = sources.measuring().get(clause.id, ())
    for each in scenarios[:SHOWN_SCENARIOS]:
        yield f"  check {each.id}: {each.title}"
    if len(scenarios) > SHOWN_SCENARIOS:
        yield f"  and {len(scenarios) - SHOWN_SCENARIOS} more checks"
    if not scenarios:
        yield "  no scenario measures it"


def _chapter(word: str) -> Iterator[str]:
    catalogue = sources.catalogue()
    chapter = catalogue.chapters.get(word.upper())
    if chapter is None:
        return
    yield f"{chapter.name}: {chapter.title}"
    for name in chapter.clauses:
        clause = catalogue.clauses[name]
        yield f"  {name:8} {clause.strength:9} {clause.statement}"


def _limit(word: str) -> Iterator[str]:
    row = TABLE.get(word)
    if row is not None:
        yield f"{word}: {row.value:,} {row.unit}, {row.meaning}"
        yield from _named([sources.catalogue().clauses[row.clause]])


def _instrument(word: str) -> Iterator[str]:
    instrument = INSTRUMENTS.get(word)
    if instrument is not None:
        yield f"{word}: an instrument that an adapter may offer: {instrument.meaning}"
        if instrument.methods:
            yield f"  methods: {', '.join(instrument.methods)}"
        yield f"  words of a schedule that need it: {', '.join(instrument.words)}"


def _quoted() -> dict[str, list[Clause]]:
    """The words that clauses quote (statuses, error names, keys, calls), and the clauses that quote them."""
    quoted: dict[str, list[Clause]] = {}
    for clause in sources.catalogue().clauses.values():
        for word in dict.fromkeys(clause.statement.split("`")[1::2]):
            quoted.setdefault(word, []).append(clause)
    return quoted


def _word(word: str) -> Iterator[str]:
    meanings = words.load().get(word, ())
    clauses = {clause.id: clause for clause in _quoted().get(word, [])}
    for each in meanings:
        yield f"{word}: {each.kind_meaning}: {each.meaning}"
        clauses |= {id: sources.catalogue().clauses[id] for id in each.clauses}
    if clauses and not meanings:
        yield f"{word}: named by {', '.join(clauses)}"
    yield from _named(clauses.values())


def _named(clauses: Iterable[Clause]) -> Iterator[str]:
    for clause in clauses:
        yield f"  {clause.id} ({clause.strength}): {clause.statement}"
        for choice in clause.choices:
            yield f"    open: {choice.name}: {choice.meaning}"
        ids = [each.id for each in sources.measuring().get(clause.id, ())]
        if ids:
            more = f" and {len(ids) - SHOWN_SCENARIOS} more" if len(ids) > SHOWN_SCENARIOS else ""
            yield f"    checks: {', '.join(ids[:SHOWN_SCENARIOS])}{more}"


LOOK_UPS: tuple[LookUp, ...] = (_clause, _chapter, _limit, _instrument, _word)
