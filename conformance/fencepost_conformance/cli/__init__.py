"""The command line, `fencepost`: one module for each command, imported only when it is called.

| exit status | meaning |
|---|---|
| 0 | qualified; every expectation held; the failure is fixed; the question is answered |
| 1 | not qualified; an expectation did not hold; an entry of the expected failures is stale or unknown |
| 2 | bad usage or input, or a broken adapter |
| 3 | incomplete: nothing failed, and something could not be measured |
| 4 | a reproducer that was replayed fails now and then |
| 130 | interrupted; what was served is ended by Ctrl-C like this |

Whatever the user can get wrong is a `Trouble`: one line on standard error that says what to do, and exit
status 2. A traceback is always a fault of ours.
"""

from __future__ import annotations

from .application import application


def main() -> None:
    """Run the command line."""
    application(prog_name="fencepost")


__all__ = ["application", "main"]
