"""Where the bytes of a bundle come from, and the Host's own store of those that were verified.

A URL of an artifact is absolute HTTPS. The operator says which URLs can be resolved at all: those below a
prefix that stands for a folder of this machine, or those of an origin that may be fetched. Nothing else is
asked for, so a spec cannot send the Host anywhere. Bytes count only once their digest is the one that was
named; then they are kept under it, and later they come from there.

Bytes that are not there yet are waited for: an operator's folder may be filled after the request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from fencepost import json_text
from fencepost.management.bundles import JAVASCRIPT, MAXIMUM_FILE_BYTES, MAXIMUM_FILES, File, Manifest
from fencepost.management.values import url_problem

FOLDER_URL = "https://artifacts.invalid/"
"""What a folder stands for where the operator names no other prefix; nobody can own this one."""

MAXIMUM_MANIFEST_BYTES = 1024 * 1024
_FETCH_SECONDS = 30.0
_FILE_KEYS = frozenset({"path", "url", "sha256", "mediaType"})
_DIGEST = re.compile(r"[0-9a-f]{64}")


class BadSource(ValueError):
    """A source that cannot be used: one line that says what to do."""


class NotYet(Exception):
    """The bytes are not there, and may come; one line that says what is missing."""


class Unsound(Exception):
    """What is there is no bundle; one line that says why."""


@dataclass(frozen=True)
class Source:
    """URLs below a prefix, and the folder they stand for; without a folder they are fetched."""

    prefix: str
    folder: Path | None = None

    def read(self, url: str, most: int) -> bytes:
        """The bytes of a URL below the prefix, at most one more than `most`; raises NotYet or Unsound."""
        return self._fetched(url, most) if self.folder is None else self._kept(self.folder, url, most)

    def _kept(self, folder: Path, url: str, most: int) -> bytes:
        try:
            inside = folder.resolve()
            path = (inside / unquote(url[len(self.prefix) :])).resolve()
            if not path.is_relative_to(inside):
                raise Unsound(f"{url} leads out of the folder")
            with path.open("rb") as file:
                return file.read(most + 1)
        except (OSError, ValueError, RuntimeError):  # also a name that no file can have, or links in a ring
            raise NotYet(f"there are no bytes for {url}") from None

    def _fetched(self, url: str, most: int) -> bytes:
        try:
            with build_opener(_NoRedirect).open(url, timeout=_FETCH_SECONDS) as answered:
                return bytes(answered.read(most + 1))
        except HTTPError as error:
            error.close()
            raise NotYet(f"{url} was answered with {error.code}") from None
        except (OSError, HTTPException) as error:
            raise NotYet(f"{url} cannot be fetched: {error}") from None


class _NoRedirect(HTTPRedirectHandler):
    """The origin that was allowed is the only one that is asked."""

    def redirect_request(self, *_: Any) -> None:
        return None


def source(text: str) -> Source:
    """A source as an operator writes it: `FOLDER`, `URL=FOLDER`, or an origin `https://HOST`."""
    prefix, equals, folder = text.partition("=")
    if not equals and text.startswith("https:"):
        prefix, folder = text, ""
    elif not equals:
        prefix, folder = FOLDER_URL, text
    if (problem := url_problem(prefix)) is not None:
        raise BadSource(f"{text}: {problem}, or a folder")
    if folder and not Path(folder).is_dir():
        raise BadSource(f"{folder}: there is no such folder")
    return Source(prefix.rstrip("/") + "/", Path(folder) if folder else None)


class Verified:
    """Bytes by their digest, on disk or, without a folder, in memory."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._memory: dict[str, bytes] = {}

    def get(self, sha256: str) -> bytes | None:
        """The bytes of a digest, if they are kept and still the same."""
        if self._folder is None:
            return self._memory.get(sha256)
        try:
            data = (self._folder / sha256).read_bytes()
        except OSError:
            return None
        return data if digest(data) == sha256 else None

    def put(self, data: bytes) -> None:
        """Keep bytes, whole or not at all."""
        name = digest(data)
        if self._folder is None:
            self._memory[name] = data
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._folder / f".{name}.part"
        partial.write_bytes(data)
        partial.replace(self._folder / name)


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


class Artifacts:
    """Resolves manifests and files, and remembers what was verified."""

    def __init__(self, sources: Iterable[Source], verified: Verified | None = None) -> None:
        self._sources = tuple(sources)
        self._verified = verified or Verified()

    def manifest(self, url: str, sha256: str) -> Manifest:
        """A verified bundle, with every byte of it kept; raises NotYet or Unsound."""
        text = self._bytes(url, sha256, MAXIMUM_MANIFEST_BYTES)
        given = _members(text)
        entries = given["files"]
        if not isinstance(entries, list) or len(entries) > MAXIMUM_FILES:
            raise Unsound(f"the manifest lists at most {MAXIMUM_FILES} files")
        files = tuple(self._file(each) for each in entries)
        return Manifest(digest(text), given["entrypoint"], files)

    def main(self, url: str, sha256: str) -> tuple[str, str]:
        """The text and the path of a bundle's main module; raises NotYet or Unsound."""
        manifest = self.manifest(url, sha256)
        for file in manifest.files:
            if file.path == manifest.entrypoint and file.media_type == JAVASCRIPT:
                data = self._verified.get(file.sha256)
                assert data is not None  # it was verified just now
                try:
                    return data.decode(), file.path
                except UnicodeDecodeError:
                    raise Unsound(f"{file.path} is no text in UTF-8") from None
        raise Unsound("the entrypoint is no JavaScript module of the bundle")

    def _file(self, entry: Any) -> File:
        if not isinstance(entry, dict) or set(entry) != _FILE_KEYS:
            raise Unsound("a file of a manifest has path, url, sha256 and mediaType")
        if not all(isinstance(value, str) for value in entry.values()):
            raise Unsound("path, url, sha256 and mediaType of a file are strings")
        data = self._bytes(entry["url"], entry["sha256"], MAXIMUM_FILE_BYTES)
        return File(entry["path"], entry["sha256"], entry["mediaType"], len(data))

    def _bytes(self, url: str, sha256: str, most: int) -> bytes:
        if not _DIGEST.fullmatch(sha256):
            raise Unsound(f"{sha256[:80]!r} is no SHA-256 in lower hexadecimal digits")
        if (kept := self._verified.get(sha256)) is not None:
            return kept
        if (problem := url_problem(url)) is not None:
            raise Unsound(f"{url[:200]}: {problem}")
        data = self._source(url).read(url, most)
        if len(data) > most:
            raise Unsound(f"{url} has more than {most} bytes")
        if digest(data) != sha256:
            raise Unsound(f"the bytes of {url} do not have the digest that was named")
        self._verified.put(data)
        return data

    def _source(self, url: str) -> Source:
        for each in self._sources:
            if url.startswith(each.prefix):
                return each
        raise Unsound(f"{urlsplit(url).netloc} is no origin that the operator has allowed")


def _members(text: bytes) -> Mapping[str, Any]:
    try:
        given = json_text.read(text, unique=True)
    except ValueError:
        given = None
    if not isinstance(given, dict) or set(given) != {"entrypoint", "files"}:
        raise Unsound("a manifest is a JSON object with entrypoint and files")
    if not isinstance(given["entrypoint"], str):
        raise Unsound("the entrypoint of a manifest is a path")
    return given
