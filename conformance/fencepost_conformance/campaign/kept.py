"""A life that the judge refused, as a file: what it was, and what was seen when, to be judged again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..adapter import Answer
from .lives import Counts, Life, Seen
from .plans import Move, Plan

FORMAT = "fencepost.life@1"


def save(folder: Path, life: Life) -> Path:
    """Write a life into a folder, which is made; its path. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{life.id}.json"
    path.write_text(json.dumps({"format": FORMAT, **asdict(life)}, indent=1, default=repr) + "\n", "utf-8")
    return path


def load(path: Path) -> Life:
    """The life in a file; raises OSError, or ValueError where it is none."""
    document = json.loads(path.read_text("utf-8"))
    try:
        if document.pop("format") != FORMAT:
            raise ValueError(f"{path}: the format is not {FORMAT}")
        plan = document["plan"]
        made = Plan(
            plan["id"], tuple(plan["program"]), tuple(Move(*each) for each in plan["moves"]), plan["parks"]
        )
        reported: list[tuple[float, Counts]] = [(at, counts) for at, counts in document["reported"]]
        return Life(made, [_seen(each) for each in document["seen"]], reported, document["end"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: no life that a campaign has kept: {error}") from error


def _seen(each: dict[str, Any]) -> Seen:
    answer = each.pop("answer")
    if answer is None:
        return Seen(answer=None, **each)
    value, error = answer
    return Seen(answer=Answer(value, None if error is None else tuple(error)), **each)
