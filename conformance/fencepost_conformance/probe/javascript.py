"""The probe in JavaScript: where its module is, what it says, and the digest that a report names it by."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

_FILE = "probe.mjs"


@dataclass(frozen=True)
class Source:
    """A module of JavaScript: its file, its text, and ``sha256:`` with the digest of its bytes."""

    path: Path
    text: str
    digest: str


@cache
def source() -> Source:
    """The probe's module, as it is installed; read once."""
    path = Path(__file__).with_name(_FILE)
    data = path.read_bytes()
    return Source(path, data.decode("utf-8"), f"sha256:{sha256(data).hexdigest()}")
