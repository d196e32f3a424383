"""How Alembic reaches the database: over the connection that opens the store, in its transaction."""

from alembic import context

from fencepost.durable.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
