"""Small pieces of the page that more than one section is made of."""

from __future__ import annotations

from . import svg


def element(name: str, inner: str, kind: str = "") -> str:
    """An element around what is already markup."""
    return f'<{name} class="{kind}">{inner}</{name}>' if kind else f"<{name}>{inner}</{name}>"


def paragraph(words: str, kind: str = "") -> str:
    """A paragraph of text."""
    return element("p", svg.prose(words), kind)


def badge(verdict: str | None) -> str:
    """A verdict as a word on its colour."""
    return element("span", verdict or "no verdict", f"badge {verdict or 'none'}")


def code(line: str) -> str:
    """A line to copy."""
    return f'<pre class="line"><code>{svg.text(line)}</code></pre>'


def counted(count: int, what: str) -> str:
    """A number of things."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
