"""The manifest of a WorkerBundle, and what makes one unsound.

The Host fetches and hashes; this says only whether what it found is a bundle. Verification never runs code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

JAVASCRIPT = "application/javascript+module"
MEDIA_TYPES = frozenset({JAVASCRIPT, "text/plain", "application/octet-stream", "application/wasm"})

# The bounds of WorkerBundle 0.2.0: number of files, bytes of one, bytes of all.
MAXIMUM_FILES = 512
MAXIMUM_FILE_BYTES = 16 * 1024 * 1024
MAXIMUM_TOTAL_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class File:
    """One file of a bundle, its digest and size as they were found."""

    path: str
    sha256: str
    media_type: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest whose files were all read: `sha256` is that of its own bytes."""

    sha256: str
    entrypoint: str
    files: tuple[File, ...]

    @property
    def total_bytes(self) -> int:
        """The size of all files together, in bytes."""
        return sum(file.bytes for file in self.files)


def defect(manifest: Manifest, expected_sha256: str) -> str | None:
    """Say why a manifest is no sound bundle, or nothing."""
    if manifest.sha256 != expected_sha256:
        return "the manifest's digest is not the one that the spec names"
    if not 1 <= len(manifest.files) <= MAXIMUM_FILES:
        return f"a bundle has 1 to {MAXIMUM_FILES} files"
    paths = {file.path for file in manifest.files}
    if len(paths) != len(manifest.files):
        return "a path occurs twice"
    for file in manifest.files:
        segments = file.path.split("/")
        if any(segment in ("", ".", "..") for segment in segments) or set(file.path) & set("\\?#"):
            return f"the path {file.path!r} is no plain relative path"
        if file.media_type not in MEDIA_TYPES:
            return f"the media type {file.media_type!r} is not one that a Worker can import"
        if file.bytes > MAXIMUM_FILE_BYTES:
            return f"a file has at most {MAXIMUM_FILE_BYTES} bytes"
    if manifest.total_bytes > MAXIMUM_TOTAL_BYTES:
        return f"all files together have at most {MAXIMUM_TOTAL_BYTES} bytes"
    if not any(file.path == manifest.entrypoint and file.media_type == JAVASCRIPT for file in manifest.files):
        return "the entrypoint is no JavaScript module of the bundle"
    return None


def observed(manifest: Manifest) -> dict[str, Any]:
    """The `observed` document of a verified bundle."""
    return {
        "manifestSha256": manifest.sha256,
        "fileCount": len(manifest.files),
        "totalBytes": manifest.total_bytes,
        "entrypoint": manifest.entrypoint,
        "files": [
            {"path": file.path, "sha256": file.sha256, "mediaType": file.media_type, "byteSize": file.bytes}
            for file in manifest.files
        ],
    }
