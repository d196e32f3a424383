"""Versions and their weights are facts of management, and are kept there alone."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the table that had them."""
    op.drop_table("versions")
