"""What an operator says of callers and of bundles: taken strictly, before anything is served."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")

from api_client import OWNER
from fencepost.api.access import BadGrant, granted
from fencepost.api.artifacts import BadSource, NotYet, Unsound, Verified, digest, source


@pytest.mark.parametrize(
    ("grants", "message"),
    [
        (["owner"], "give PRINCIPAL=VARIABLE"),
        (["owner=1"], "give PRINCIPAL=VARIABLE"),
        (["owner=OWNER:a b"], "give PRINCIPAL=VARIABLE"),
        (["owner=UNSET"], "set the variable UNSET"),
        (["owner=SHORT"], "set the variable SHORT"),
        (["a=OWNER", "b=OWNER"], "a secret of its own"),
    ],
)
def test_grants_are_strict(grants: list[str], message: str) -> None:
    with pytest.raises(BadGrant, match=message):
        granted(grants, {"OWNER": OWNER, "SHORT": "short"})


def test_without_grants_this_machine_is_the_boundary() -> None:
    access = granted([], {})
    caller = access.caller([])
    assert access.schemes == ("None",)
    assert caller is not None
    assert (caller.principal, caller.spaces) == ("local", {"default"})


@pytest.mark.parametrize("text", ["no/such/folder", "http://plain.example=.", "https://u@a.example/=."])
def test_sources_are_strict(text: str) -> None:
    with pytest.raises(BadSource):
        source(text)


def test_an_origin_that_does_not_answer_may_do_so_later() -> None:
    allowed = source("https://127.0.0.1:1")
    assert allowed.folder is None
    with pytest.raises(NotYet, match="cannot be fetched"):
        allowed.read("https://127.0.0.1:1/a", 10)


def test_a_folder_is_all_that_its_url_reaches(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    folder = tmp_path / "bundles"
    folder.mkdir()
    (folder / "a b").write_bytes(b"12345")
    (folder / "link").symlink_to(tmp_path / "secret")
    allowed = source(f"https://a.example/x={folder}")
    assert allowed.read("https://a.example/x/a%20b", 10) == b"12345"
    assert allowed.read("https://a.example/x/a%20b", 2) == b"123"  # one more than was asked for, no more
    for path in ("../secret", "%2e%2e/secret", "link", "%2e%2e%2fsecret"):
        with pytest.raises(Unsound, match="out of the folder"):
            allowed.read(f"https://a.example/x/{path}", 10)
    for path in ("nothing", "", "%00"):
        with pytest.raises(NotYet):
            allowed.read(f"https://a.example/x/{path}", 10)


def test_what_was_verified_is_not_asked_for_again(tmp_path: Path) -> None:
    kept = Verified(tmp_path / "verified")
    kept.put(b"bytes")
    name = digest(b"bytes")
    assert kept.get(name) == b"bytes"
    (tmp_path / "verified" / name).write_bytes(b"other")  # rotten
    assert kept.get(name) is None
    assert kept.get("0" * 64) is None
