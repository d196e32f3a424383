"""How a live value becomes what the machine is told: canonical bytes, none, or why it is no document."""

from typing import Any

from fencepost_spec.limits import FORM

from fencepost import documents
from fencepost.machine.actions import Document, Unfit
from fencepost.machine.latitude import Latitude


def admit(value: Any, latitude: Latitude) -> Document:
    """An omissible document of the Python surface, where None stands for `undefined` (DOC-7, DOC-8)."""
    if value is None:
        return None
    properties = len(value) if type(value) is dict else 0
    if properties > FORM.document_root_properties and latitude.unfit_root == "document-too-large":
        return Unfit.TOO_LARGE  # DOC-11
    try:
        return documents.encode(value, bound_nested=latitude.bound_of_properties == "every-level")  # DOC-13
    except documents.DocumentTooLarge:
        return Unfit.TOO_LARGE
    except documents.DocumentError:
        return Unfit.INVALID
