"""Every limit of the Form, once: its value, its unit, its clause and its meaning.

Theory of operation. ``Limits`` is what the machine, the Host and the kit are handed; ``FORM`` has the Form's
own values, and a model or a test passes smaller ones (``Limits(maximum_steps=3)``). ``TABLE`` says about each
field what it counts and which clause it comes from. Clause texts and schemas name a limit by its field, so
that no figure is written a second time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

_METADATA_KEY = "limit"


@dataclass(frozen=True)
class Limit:
    """One limit of the Form: its value in its unit, the clause that states it, and what it bounds."""

    value: int
    unit: str
    clause: str
    meaning: str


def _limit(value: int, unit: str, clause: str, meaning: str) -> int:
    """A field of ``Limits`` that knows its row of the table."""
    return field(default=value, metadata={_METADATA_KEY: Limit(value, unit, clause, meaning)})


@dataclass(frozen=True)
class Limits:
    """The limits that a Host applies; the defaults are those of the Form."""

    class_name_characters: int = _limit(64, "characters", "RES-2", "the longest className")
    deployment_weight: int = _limit(10_000, "weight", "CTX-2", "the sum of the weights of a Deployment")
    id_scalars: int = _limit(256, "scalar values", "BND-2", "the longest instance id")
    document_root_properties: int = _limit(
        1024, "properties", "DOC-1", "own properties at the root of a document"
    )
    document_bytes: int = _limit(1_048_576, "bytes", "DOC-2", "the largest document in canonical form")
    type_scalars: int = _limit(256, "scalar values", "EVT-1", "the longest event type")
    inbox_events: int = _limit(1024, "events", "EVT-3", "unconsumed events of one instance")
    inbox_bytes: int = _limit(
        1_048_576, "bytes", "EVT-3", "unconsumed events of one instance, in canonical form"
    )
    name_scalars: int = _limit(256, "scalar values", "STP-2", "the longest step name")
    maximum_steps: int = _limit(1024, "steps", "STP-9", "distinct step names of one instance")
    attempts_default: int = _limit(1, "attempts", "DO-2", "attempts of a do without a policy")
    attempts_maximum: int = _limit(100, "attempts", "DO-2", "the largest maxAttempts")
    delay_seconds_default: int = _limit(0, "seconds", "DO-2", "initialDelaySeconds where it is not given")
    default_maximum_delay_seconds: int = _limit(
        43_200, "seconds", "DO-2", "maxDelaySeconds where it is not given"
    )
    delay_seconds_maximum: int = _limit(43_200, "seconds", "DO-2", "the largest delay that a policy may name")
    sleep_seconds: int = _limit(31_536_000, "seconds", "SLP-1", "the longest sleep")
    wait_seconds_minimum: int = _limit(1, "seconds", "WFE-1", "the shortest timeout of a wait")
    wait_seconds_maximum: int = _limit(31_536_000, "seconds", "WFE-1", "the longest timeout of a wait")
    lifetime_seconds: int = _limit(
        31_536_000, "seconds", "LIF-1", "the lifetime of an instance from its creation"
    )
    retention_seconds: int = _limit(
        2_592_000, "seconds", "RET-1", "the least time for which a terminal instance is kept"
    )


FORM = Limits()

TABLE: Mapping[str, Limit] = MappingProxyType({f.name: f.metadata[_METADATA_KEY] for f in fields(Limits)})
