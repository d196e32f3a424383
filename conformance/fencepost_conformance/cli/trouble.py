"""What a user can get wrong, said on one line."""

from __future__ import annotations

import click


class Trouble(click.ClickException):
    """Bad usage, bad input or a broken adapter: one line that says what to do, and exit status 2."""

    exit_code = 2


def because(error: BaseException) -> str:
    """The first line of an error, or the name of its class when it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def of_file(path: object, error: OSError) -> Trouble:
    """A file that cannot be read or written."""
    return Trouble(f"{path}: {error.strerror or because(error)}")
