"""How management is shown to a caller: Resource, Operation, support and discovery documents, as plain JSON
data."""

from __future__ import annotations

from typing import Any

from fencepost.management.forms import KINDS, URLS
from fencepost.management.state import Operation, Resource, Rules
from fencepost.management.values import from_text, timestamp

API = "forms.takoform.com/v2"
OPERATIONS = ("create", "read", "update", "delete")


def resource(record: Resource) -> dict[str, Any]:
    """The Resource document: the management record and the last observation, however old it is (OBS-2)."""
    return {
        "uid": record.uid,
        "form": URLS[record.kind],
        "space": record.space,
        "name": record.name,
        "generation": record.generation,
        "observedGeneration": record.observed_generation,
        "observedAt": None if record.observed_at is None else timestamp(record.observed_at),
        "phase": record.phase,
        "spec": from_text(record.spec),
        "observed": from_text(record.observed),  # OBS-2
        "output": {},  # OBS-1
        "lastOperation": record.last_operation,
    }


def operation(record: Operation) -> dict[str, Any]:
    """The Operation document; `error` stands where it failed, or where its reconciling says why."""
    document: dict[str, Any] = {
        "id": record.id,
        "resourceUid": record.resource_uid,
        "action": record.action,
        "generation": record.generation,
        "status": record.status,
        "effect": record.effect,
        "createdAt": timestamp(record.created_at),
        "updatedAt": timestamp(record.updated_at),
        "retainUntil": timestamp(record.retain_until),
    }
    if record.error is not None:
        document["error"] = {"code": record.error[0], "message": record.error[1]}
    return document


def support(form: str) -> dict[str, Any]:
    """Whether a Form is supported, as a whole (EXT-2); the URL is echoed and never fetched."""
    supported = form in KINDS
    return {
        "form": form,
        "supported": supported,
        "operations": list(OPERATIONS) if supported else [],
        "privateInputs": False,
    }


def discovery(
    rules: Rules,
    base_url: str,
    documentation: str,
    authentication: str,
    schemes: tuple[str, ...] = ("Bearer",),
) -> dict[str, Any]:
    """What the Host says about itself to anyone; the HTTP face knows the absolute URLs."""
    return {
        "api": API,
        "baseUrl": base_url,
        "documentation": documentation,
        "authentication": {"schemes": list(schemes), "documentation": authentication},
        "capabilities": {"offerings": False, "previews": False, "privateInputs": False},
        "limits": {
            "maxRequestBytes": rules.maximum_request_bytes,
            "maxPageSize": rules.maximum_page_size,
            "replayWindowSeconds": rules.replay_window_seconds,
        },
    }
