"""Pages made from data when the docs are built: a page for each chapter of clauses, limits, instruments,
messages.

They are written as Markdown into `docs/generated/`, which is not kept in version control, and only where
their text has changed, so that an incremental build stays one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fencepost_conformance.adapter import INSTRUMENTS
from fencepost_conformance.messages import messages
from fencepost_spec.catalogue import Catalogue, Chapter, load
from fencepost_spec.clause import Clause
from fencepost_spec.limits import TABLE
from sphinx.application import Sphinx

STRENGTHS = {
    "required": "the source says it; a Host that breaks it fails",
    "derived": "it follows from the source by the argument shown; a Host that breaks it fails",
    "open": "the source leaves it to the Host; every choice listed is accepted, and the one seen is reported",
    "exclusion": "no duty of a Host, or nothing that can be seen from outside; never checked",
    "reference": "a promise of this project's own Host; never held against another",
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for its documents."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "generated"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(folder: Path) -> None:
    """Write every page, and remove those that are no longer made."""
    catalogue = load()
    pages = {
        f"{chapter.name}.md": chapter_page(catalogue, chapter) for chapter in catalogue.chapters.values()
    }
    pages |= {
        "index.md": index_page(catalogue),
        "limits.md": limits_page(),
        "instruments.md": instruments_page(),
        "messages.md": messages_page(),
    }
    folder.mkdir(exist_ok=True)
    for stale in set(folder.glob("*.md")) - {folder / name for name in pages}:
        stale.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def index_page(catalogue: Catalogue) -> str:
    """The chapters with their counts, and the strengths."""
    names = list(STRENGTHS)
    lines = [
        "# The clauses",
        "",
        f"What DurableWorkflow {catalogue.version} asks of a Host, one statement at a time.",
        f"The digest of this catalogue is `{catalogue.digest}`.",
        "",
        "| strength | what it means |",
        "|---|---|",
        *(f"| {name} | {meaning} |" for name, meaning in STRENGTHS.items()),
        "",
        f"| chapter | about | {' | '.join(names)} |",
        f"|---|---|{'---:|' * len(names)}",
    ]
    for chapter in catalogue.chapters.values():
        strengths = [catalogue.clauses[clause].strength for clause in chapter.clauses]
        counts = " | ".join(str(strengths.count(name) or "") for name in names)
        lines.append(f"| [{chapter.name}]({chapter.name}.md) | {cell(chapter.title)} | {counts} |")
    lines += ["", "```{toctree}", ":hidden:", "", *catalogue.chapters, "limits", "```", ""]
    return "\n".join(lines)


def chapter_page(catalogue: Catalogue, chapter: Chapter) -> str:
    """All clauses of a chapter."""
    lines = [f"# {chapter.name}: {chapter.title}", ""]
    for clause in chapter.clauses:
        lines += clause_lines(catalogue.clauses[clause])
    return "\n".join(lines)


def clause_lines(clause: Clause) -> Iterator[str]:
    """One clause: its anchor, strength, statement, and what belongs to its strength."""
    yield from (
        f"({clause.id.lower()})=",
        f"## {clause.id}",
        "",
        f"*{clause.strength}*",
        "",
        clause.statement,
        "",
    )
    if clause.argument:
        yield from (f"**Argument:** {clause.argument}", "")
    for choice in clause.choices:
        taken = " *(what the reference does)*" if choice.name == clause.reference else ""
        yield f"- **{choice.name}**: {choice.meaning}{taken}"
    if clause.choices:
        yield ""
    if clause.unobservable:
        yield from (f"**Cannot be observed:** {clause.unobservable}", "")
    pointers = ", ".join(f"`{sentence.pointer}`" for sentence in clause.source)
    yield from (f"Written from {pointers}", "")


def limits_page() -> str:
    """The table of limits."""
    rows = (
        f"| `{name}` | {limit.value:,} | {limit.unit} | {limit.clause} | {cell(limit.meaning)} |"
        for name, limit in TABLE.items()
    )
    head = ["# The limits", "", "| field | value | unit | clause | bounds |", "|---|---:|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def instruments_page() -> str:
    """The table of what a Host may let the kit do."""
    rows = (
        f"| {name} | {cell(instrument.meaning)} | {code(instrument.methods)} | {code(instrument.words)} |"
        for name, instrument in INSTRUMENTS.items()
    )
    head = [
        "# The instruments",
        "",
        "| instrument | what it is | methods | words that need it |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def messages_page() -> str:
    """The table of what the kit asks of an adapter in another process."""
    rows = (
        f"| `{each.op}` | {code(each.arguments)} | {each.ok} | {each.instrument} | {cell(each.meaning)} |"
        for each in messages()
    )
    head = [
        "# The messages",
        "",
        "What the kit asks of an adapter, and what `ok` of the answer holds. An argument with `?` may be",
        "missing.",
        "",
        "| op | arguments | ok | instrument | what it is |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def code(names: tuple[str, ...]) -> str:
    """Names, each as code."""
    return ", ".join(f"`{name}`" for name in names)


def cell(text: str) -> str:
    """A text that may stand in a table."""
    return text.replace("|", "\\|")
