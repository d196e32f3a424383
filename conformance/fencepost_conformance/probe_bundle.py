"""The probe as a WorkerBundle: its bytes laid into a folder, under names that are their digests.

Every bundle is content: laying it down twice changes nothing, and many runs can share a folder. What is
withheld is not there yet, so that a Host that waits for bytes has a verification that is unfinished.
"""

from __future__ import annotations

import json
import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from .probe import javascript

MEDIA_TYPE = "application/javascript+module"
_MAIN = "probe.mjs"


class Bundles:
    """Bundles in a folder that a Host resolves URLs below `url` from."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url.rstrip("/") + "/"
        self._withheld: dict[str, bytes] = {}

    def spec(self, comment: str = "", *, withhold: bool = False) -> dict[str, Any]:
        """The `spec` of a WorkerBundle on the probe; a comment makes it another one."""
        text = javascript.source().text + (f"\n// {comment}\n" if comment else "")
        main = self._lay(text.encode("utf-8"), withhold)
        file = {"path": _MAIN, "url": self._url + main, "sha256": main, "mediaType": MEDIA_TYPE}
        manifest = self._lay(json.dumps({"entrypoint": _MAIN, "files": [file]}).encode("ascii"), False)
        return {"artifact": {"url": self._url + manifest, "sha256": manifest}}

    def release(self) -> None:
        """Lay down what was withheld."""
        withheld, self._withheld = self._withheld, {}
        for data in withheld.values():
            self._lay(data, False)

    def _lay(self, data: bytes, withhold: bool) -> str:
        name = sha256(data).hexdigest()
        if withhold:
            self._withheld[name] = data
        elif not (self._folder / name).exists():
            handle, partial = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(partial, 0o644)
            Path(partial).replace(self._folder / name)
        return name
