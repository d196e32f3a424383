"""Tries the mutants of a session of Cosmic Ray that have not been tried, one after the other.

Usage: python mutation/run.py SESSION [--again]

With `--again` those that survived are tried once more, as after a new scenario.

This takes the place of `cosmic-ray exec`, which starts Python anew for each mutant and runs every scenario on
it. Where a mutant changes what one function does, a process is split off from this one, gets the function's
new code, and runs those scenarios alone that the function answers otherwise. Any other mutant is written into
the file, and `check.py` is run as it is. So run this in a clone.
"""

from __future__ import annotations

import ast
import difflib
import gc
import os
import random
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import CodeType

import asked
import check
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkResult

TREE = Path(__file__).resolve().parents[1]
ORDER_SEED = 1
MEMORY_BYTES = 8 << 30
CALLED_WHEN_IMPORTED = ("latitude", "records")
"""Modules whose functions have done their work when the machine is loaded."""

Calls = Mapping[str, Mapping[str, Sequence[asked.Call]]]
"""By the name of a scenario on a host, and by the name of a function."""


def main(session: str, again: bool) -> int:
    """Try them and keep the results in the session."""
    if TREE not in asked.MACHINE.parents:
        print(f"the project that is installed is not of this tree; run pip install -e {TREE}")
        return 2
    gc.disable()  # all that is kept would be looked through again and again
    calls = explored()
    gc.freeze()  # what is not looked at is not copied when a process splits off
    gc.enable()
    with use_db(session, WorkDB.Mode.open) as database:
        for job, spec in wanted(database, again):
            began = time.monotonic()
            result = tried(spec, calls)
            database.set_result(job, result)
            outcome = (result.test_outcome or result.worker_outcome).value
            seconds = time.monotonic() - began
            print(f"{outcome} {spec.module_path.name}:{spec.start_pos[0]} {seconds:.1f} s {result.output}")
    return 0


def explored() -> Calls:
    """What each scenario asks of the machine as it is; SystemExit where one of them finds something."""
    calls = {}
    for name, finds in check.tries():
        with asked.kept() as made:
            if finds():
                raise SystemExit(f"without a change nothing may be found: {name}")
        calls[name] = made
    return calls


def wanted(database: WorkDB, again: bool) -> list[tuple[str, MutationSpec]]:
    """The mutants to try: those without a result, or those that survived; in an order drawn from a seed, so
    that those which are tried first are a sample of all."""
    survived = {job for job, result in database.results if result.test_outcome == TestOutcome.SURVIVED}
    pending = {item.job_id for item in database.pending_work_items}
    items = [(item.job_id, item.mutations[0]) for item in database.work_items]
    items.sort(key=lambda item: (str(item[1].module_path), item[1].operator_name, item[1].occurrence))
    random.Random(ORDER_SEED).shuffle(items)
    return [item for item in items if item[0] in (survived if again else pending)]


def tried(spec: MutationSpec, calls: Calls) -> WorkResult:
    """What became of a mutant."""
    path = asked.MACHINE / spec.module_path.name
    before = path.read_text(encoding="utf-8")
    after = mutate_code(before, get_operator(spec.operator_name)(**spec.operator_args), spec.occurrence)
    if after is None:
        return WorkResult(WorkerOutcome.NO_TEST, "")
    try:
        in_functions = path.stem not in CALLED_WHEN_IMPORTED and _skeleton(before) == _skeleton(after)
    except SyntaxError:
        return WorkResult(WorkerOutcome.SKIPPED, "it is no Python")
    diff = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))
    if any(line.startswith("-@dataclass") for line in diff):  # as with core/RemoveDecorator
        return WorkResult(WorkerOutcome.SKIPPED, "a decorator is that of a record")
    if in_functions:
        found = in_memory(path.stem, before, after, calls)
    else:
        path.write_text(after, encoding="utf-8")
        try:
            found = in_file()
        finally:
            path.write_text(before, encoding="utf-8")
    outcome = TestOutcome.KILLED if found else TestOutcome.SURVIVED
    return WorkResult(WorkerOutcome.NORMAL, found, outcome, "\n".join(diff))


def in_file() -> str:
    """What is found when everything starts anew."""
    command = [sys.executable, "-B", str(TREE / "mutation" / "check.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout[-4000:] or f"ended with {done.returncode}" if done.returncode else ""


def in_memory(module: str, before: str, after: str, calls: Calls) -> str:
    """What is found by those scenarios for which the mutant makes a difference."""

    def first() -> str:
        changed = swapped(module, before, after)

        def promising(name: str) -> bool:
            made = calls[name]
            return any(call.differs() for function in changed for call in made.get(function, ()))

        return check.first(promising)

    return apart(first)


def swapped(module: str, before: str, after: str) -> list[str]:
    """Have this process run the mutant; returns the names of the functions that it changes."""
    changed = []
    old, new = _codes(before), _codes(after)
    for function in asked.functions(import_module(f"fencepost.machine.{module}")):
        name = function.__qualname__
        if old[name] != new[name]:
            function.__code__ = new[name]
            changed.append(asked.name_of(function))
    asked.forget()
    return changed


def apart(work: Callable[[], str]) -> str:
    """What is returned by something done in a process split off from this one, or how it broke down."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            os.write(writes, work().encode()[:4000])
            status = 0
        except BaseException:
            os.write(writes, traceback.format_exc()[-4000:].encode())
        finally:
            os._exit(status)
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8", errors="replace") as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said or f"ended with {status}" if status else said


def _skeleton(source: str) -> str:
    """A module without what its functions do."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = []
    return ast.dump(tree)


def _codes(source: str) -> dict[str, CodeType]:
    """The code of everything in a module, by its qualified name."""
    found, left = {}, [compile(source, "mutant", "exec")]
    while left:
        code = left.pop()
        found[code.co_qualname] = code
        left += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--again" in sys.argv[2:]))
