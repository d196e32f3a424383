"""What generated scenarios alone found of each faulty host: one document from the run to console and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..selftest import Teeth

FORMAT = "fencepost.teeth@1"

Document = dict[str, Any]


def document(profile: str, seed: int, found: Sequence[Teeth], seconds: float) -> Document:
    """Everything that was found, as JSON data."""
    return {
        "format": FORMAT,
        "profile": profile,
        "seed": seed,
        "seconds": round(seconds, 1),
        "faults": [
            {
                **asdict(each),
                "seconds": round(each.seconds, 2),
                "caught": each.caught,
                "rightly": each.rightly,
            }
            for each in found
        ],
    }


def numbers(found: Document) -> str:
    """The figures on one line."""
    faults = found["faults"]
    caught = [each for each in faults if each["caught"]]
    rightly = sum(each["rightly"] for each in caught)
    named = sum(standing(each) == "named" for each in caught)
    return (
        f"generated scenarios alone (profile {found['profile']}, seed {found['seed']}) catch "
        f"{len(caught)} of {len(faults)} faulty hosts; the clause that is blamed is right for {rightly}, "
        f"and named beside another for {named}"
    )


def standing(row: Mapping[str, Any]) -> str:
    """Whether a host was caught, and how well it was blamed, in one word."""
    if not row["caught"]:
        return "missed"
    if row["rightly"]:
        return "rightly"
    return "named" if {row["clause"], *row["also"]} & set(row["named"]) else "wrongly"


def cell(row: Mapping[str, Any] | None) -> str:
    """A host in the kill table: the clause that was blamed, and whether that is right."""
    if row is None:
        return ""
    word = standing(row)
    return word if word == "missed" else f"{row['blamed']} ({word})"


__all__ = ["FORMAT", "cell", "document", "numbers", "standing"]
