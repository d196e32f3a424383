"""What brings an older database to the present tables, one step for each version; run by Alembic."""
