"""The first tables. A migration that was released is never changed: a later one changes the tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables, and the clock."""
    op.create_table(
        "clock",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("moved", sa.BigInteger(), nullable=False),
        sa.Column("held_at", sa.BigInteger(), nullable=True),
        sa.Column("wakes_held", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "instances",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("current", sa.Text(), nullable=True),
        sa.Column("inbox_bytes", sa.BigInteger(), nullable=False),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("outcome_at", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("output", sa.LargeBinary(), nullable=True),
        sa.Column("published", sa.Boolean(), nullable=False),
        sa.Column("terminal_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("uid", "id", name="instances_by_id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "instances_due",
        "instances",
        ["uid", "due_at"],
        unique=False,
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
    op.create_table(
        "resources",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("uid"),
    )
    op.create_table(
        "versions",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("class_name", sa.Text(), nullable=False),
        sa.Column("env", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("uid", "name"),
    )
    op.create_table(
        "workers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("began", sa.Text(), nullable=False),
        sa.Column("session", sa.Integer(), nullable=False),
        sa.Column("seen_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "attempts",
        sa.Column("instance", NUMBER, autoincrement=False, nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("token", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["instance"], ["instances.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("instance", "step", "attempt", "token"),
    )
    op.create_index(
        "one_outcome_an_attempt",
        "attempts",
        ["instance", "step", "attempt"],
        unique=True,
        sqlite_where=sa.text("outcome IS NOT NULL"),
        postgresql_where=sa.text("outcome IS NOT NULL"),
    )
    op.create_table(
        "contexts",
        sa.Column("instance", NUMBER, autoincrement=False, nullable=False),
        sa.Column("token", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("open", sa.Text(), nullable=True),
        sa.Column("replaying", sa.Boolean(), nullable=False),
        sa.Column("fenced", sa.Boolean(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["instance"], ["instances.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("instance", "token"),
    )
    op.create_index("contexts_of_worker", "contexts", ["worker", "fenced"], unique=False)
    op.create_table(
        "events",
        sa.Column("instance", NUMBER, autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.Column("accepted_at", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["instance"], ["instances.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("instance", "number"),
    )
    op.create_table(
        "late_reports",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("instance", NUMBER, nullable=True),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["instance"], ["instances.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_late_reports_instance", "late_reports", ["instance"], unique=False)
    op.create_table(
        "params",
        sa.Column("instance", NUMBER, autoincrement=False, nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["instance"], ["instances.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("instance"),
    )
    op.create_table(
        "steps",
        sa.Column("instance", NUMBER, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("document", sa.LargeBinary(), nullable=True),
        sa.Column("deadline", sa.BigInteger(), nullable=True),
        sa.Column("type", sa.Text(), nullable=True),
        sa.Column("maximum_attempts", sa.Integer(), nullable=True),
        sa.Column("initial_delay", sa.Integer(), nullable=True),
        sa.Column("backoff", sa.Text(), nullable=True),
        sa.Column("maximum_delay", sa.Integer(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["instance"], ["instances.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("instance", "name"),
    )
    op.execute("INSERT INTO clock (number, moved, wakes_held) VALUES (1, 0, FALSE)")
