"""`fencepost vectors`: the scenarios and the reference's answers, for kits in other languages."""

from __future__ import annotations

from pathlib import Path

import click

from .. import vectors
from ..scenario import shipped
from . import screen
from .trouble import Trouble, because, of_file


@click.command(name="vectors")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing; say what is not as the reference has it now.")
@click.option("--seed", default=vectors.SEED, show_default=True, help="The seed of the generated ones.")
@click.option(
    "--sample",
    type=click.IntRange(0),
    default=vectors.SAMPLE,
    show_default=True,
    help="How many generated ones.",
)
def command(directory: Path, check: bool, seed: int, sample: int) -> None:
    """Write every directed scenario and a sample of generated ones with the reference's answers.

    DIRECTORY receives a JSON file for each chapter and a manifest with their digests. A kit in another
    language reads them without Python: the scenario says what any Host may answer, the answers what the
    reference does.

    \b
    Examples:
      fencepost vectors conformance/vectors
      fencepost vectors conformance/vectors --check
    """
    console = screen.console()
    try:
        if check:
            found = list(vectors.differences(directory))
            for line in found:
                screen.say(console, line)
            screen.say(console, f"{len(found)} differences" if found else "all as the reference has it")
            click.get_current_context().exit(1 if found else 0)
        with screen.progress(len(shipped()) + sample) as advance:
            for name in vectors.write(directory, seed, sample):
                advance(name)
    except OSError as error:
        raise of_file(str(directory), error) from error
    except ValueError as error:
        raise Trouble(f"{directory}: no vectors: {because(error)}") from error
    screen.say(console, f"{len(shipped())} directed and {sample} generated scenarios in {directory}")
