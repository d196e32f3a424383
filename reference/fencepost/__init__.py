"""The reference: one pure machine, documents, workflow replay, and the Host built on them."""
