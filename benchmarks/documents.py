"""Documents and megabytes per second of `encode` and `decode`, beside the bare packages, in one run.

Run it with `python benchmarks/documents.py [seconds]`; the seconds are for each line (default 0.3).
`rfc8785.dumps` checks nothing and recurses; `json.dumps` is not canonical for all data. They are the two
floors between which a canonical encoder written in Python can lie.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import rfc8785
from fencepost.documents import decode, encode


def nested(levels: int) -> dict[str, Any]:
    """A document of so many levels, objects and arrays in turn."""
    value: Any = 1
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return {"deep": value}


ROWS = [
    {"id": index, "name": f"row {index}", "price": index * 1.25, "sold": index % 2 == 0, "tags": ["a", "b"]}
    for index in range(5000)
]
DOCUMENTS: dict[str, dict[str, Any]] = {
    "small": {"status": "ok", "attempt": 3, "items": [1, 2, 3], "owner": {"name": "report", "kind": None}},
    "rows": {"rows": ROWS},
    "numbers": {"numbers": [index / 7 for index in range(40_000)]},
    "text": {"text": "å line of text. " * 60_000},
    "deep": nested(20_000),
}


def plain(document: dict[str, Any]) -> bytes:
    """What the standard library makes of it with the same options."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def rate(call: Callable[[], object], seconds: float) -> float | None:
    """Calls per second, of the fastest of three rounds; None for what recurses too far."""
    best = 0.0
    try:
        for _ in range(3):
            count, started = 0, time.perf_counter()
            while (passed := time.perf_counter() - started) < seconds / 3 or count == 0:
                call()
                count += 1
            best = max(best, count / passed)
    except RecursionError:
        return None
    return best


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3
    print(f"{'document':10}{'bytes':>10}  {'call':16}{'documents/s':>14}{'MB/s':>10}")
    for name, document in DOCUMENTS.items():
        data = encode(document)
        calls: dict[str, Callable[[], object]] = {
            "encode": partial(encode, document),
            "rfc8785.dumps": partial(rfc8785.dumps, document),
            "json.dumps": partial(plain, document),
            "decode": partial(decode, data),
            "json.loads": partial(json.loads, data),
        }
        for label, call in calls.items():
            found = rate(call, seconds)
            shown = (
                "too deep for it" if found is None else f"{found:>14,.1f}{found * len(data) / 1e6:>10,.1f}"
            )
            print(f"{name:10}{len(data):>10,}  {label:16}{shown}")


if __name__ == "__main__":
    main()
