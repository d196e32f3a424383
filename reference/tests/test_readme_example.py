"""The workflow in the README runs, and prints what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_is_said_to_print(tmp_path: Path) -> None:
    section = README.partition("\n## A workflow in Python\n")[2].partition("\n## ")[0]
    found = re.fullmatch(r"\s*```python\n(.*?)```\n\nIt prints\n\n```\n(.*?)```\n.*", section, re.DOTALL)
    assert found is not None
    program = tmp_path / "report.py"
    program.write_text(found[1], encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.stderr) == (found[2], "")
