"""What an operator says of callers and of bundles: taken strictly, before anything is served."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette")

from api_client import OWNER
from fencepost.api.access import BadGrant, granted
from fencepost.api.artifacts import BadSource, source


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
