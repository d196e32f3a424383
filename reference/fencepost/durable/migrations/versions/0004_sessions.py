"""When the leader of a worker's session began: its id is given away again once nothing of it is left."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add it; of workers that are there it is not known."""
    op.add_column("workers", Column("session_began", Text, nullable=False, server_default=""))
