"""`python -m fencepost_conformance.campaign`: kill the durable Host, and see that nothing is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..adapter import AdapterFault
from .faults import FAULTS


@click.command()
@click.option(
    "--db", "place", metavar="URL",
    help="A file of SQLite that is not there yet, or postgresql://USER@HOST/NAME. [default: a new file]",
)  # fmt: skip
@click.option("--kills", type=click.IntRange(0), default=2000, show_default=True, help="Kills, at least.")
@click.option(
    "--instances", type=click.IntRange(1), default=500, show_default=True, help="Instances, at least."
)
@click.option("--workers", type=click.IntRange(1), default=3, show_default=True, help="Worker processes.")
@click.option("--seconds", type=click.FloatRange(1), help="Kill, and judge, no longer than this.")
@click.option("--seed", type=int, default=1, show_default=True, help="What everything is drawn from.")
@click.option("--pauses", is_flag=True, help="Workers also stand still for longer than their lease.")
@click.option(
    "--lease",
    type=click.FloatRange(0.2),
    default=1.0,
    show_default=True,
    help="A worker's lease, in seconds.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    default=Path("fencepost-failures"),
    show_default=True,
    help="Lives that the judge refuses are written into this folder.",
)
@click.option(
    "--judge",
    "life",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Kill nothing: judge a life that was kept, once more.",
)
@click.option(
    "--fault", type=click.Choice(sorted(FAULTS)), help="Break one promise, to see that it is noticed."
)
def command(
    place: str | None,
    kills: int,
    instances: int,
    workers: int,
    seconds: float | None,
    seed: int,
    pauses: bool,
    lease: float,
    keep: Path,
    life: Path | None,
    fault: str | None,
) -> None:
    """Kill workers and the Host API process of the durable Host again and again, and check what is left.

    Everything happens in a place of its own: in a file that is removed, in a file that you name, or in a
    schema of a database of PostgreSQL, which is dropped. Callers create instances, send events, and
    terminate some, directly and through the API. In the end every instance must be terminal or parked, no
    accepted event lost or used twice, no step with two outcomes, no terminal outcome changed, nothing
    committed by an owner that was fenced; and the judge must admit what every instance showed. Effects may
    be repeated, and are counted.

    The exit status is 0 when nothing was violated, else 1.

    \b
    Examples:
      python -m fencepost_conformance.campaign --kills 50 --instances 30
      python -m fencepost_conformance.campaign --pauses --db postgresql://postgres@127.0.0.1/postgres
      python -m fencepost_conformance.campaign --kills 20 --instances 20 --fault forgets-events
      python -m fencepost_conformance.campaign --judge fencepost-failures/i0248.json

    Needs the extras: pip install 'fencepost[durable,serve,js]'
    """
    from .campaign import Options, lines, run
    from .judged import judged
    from .kept import load

    options = Options(place, kills, instances, workers, seconds, seed, pauses, lease, fault=fault, keep=keep)
    try:
        if life is not None:
            answer = judged(load(life))
            click.echo(answer.refusal or "\n".join(["admitted", *answer.notes]))
            sys.exit(1 if answer.refusal else 0)
        result = run(options, lambda line: click.echo(line))
    except (ValueError, AdapterFault, ConnectionError) as error:
        click.echo(f"crashes: {error}", err=True)
        sys.exit(2)
    for line in lines(result, options):
        click.echo(line)
    sys.exit(1 if result.violations else 0)


if __name__ == "__main__":
    command()
