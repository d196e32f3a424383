"""The typed history of an instance, for diagnosis: what was committed, and apart from it what was delivered.

`entries` says what a transition leaves behind, for every Host in one place; a Host keeps the entries beside
the state, in the same commit. `history` puts state and entries together under stable identities, answers the
two questions that have to be kept apart (GRT-6), and writes the JSON form, `fencepost.history@1`.
"""

from fencepost.history.entries import Entry, entries
from fencepost.history.history import FORMAT, History, Kept, document

__all__ = ["FORMAT", "Entry", "History", "Kept", "document", "entries"]
