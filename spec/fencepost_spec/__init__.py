"""What must hold: clauses, limits and schemas, as data with a small loader."""
