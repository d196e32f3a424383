"""One typed history instead of attempts and late reports apart, and the commands that callers gave an id."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

COLUMNS = "instance, kind, at, owner, step, attempt, outcome, settles, figure, version"

EARLIER = f"""
INSERT INTO history ({COLUMNS})
SELECT {COLUMNS} FROM (
  SELECT instance, 'delivery' AS kind, began_at AS at, token AS owner, step, attempt, '' AS outcome,
         FALSE AS settles, CAST(NULL AS BIGINT) AS figure, '' AS version
  FROM attempts
  UNION ALL
  SELECT attempts.instance, 'attempt', ended_at, token, step, attempt, attempts.outcome,
         attempts.outcome = 'succeeded'
         OR (COALESCE(steps.outcome, '') = 'step_failed' AND steps.failures = attempts.attempt),
         NULL, ''
  FROM attempts JOIN steps ON steps.instance = attempts.instance AND steps.name = attempts.step
  WHERE attempts.outcome IS NOT NULL
  UNION ALL
  SELECT instance, 'late', at, token, '', 0,
         CASE report WHEN 'BeginStep' THEN 'step' WHEN 'Park' THEN 'park' WHEN 'CommitAttempt' THEN 'result'
                     ELSE 'outcome' END,
         FALSE, NULL, ''
  FROM late_reports
) AS earlier
ORDER BY at, kind DESC
"""


def upgrade() -> None:
    """Make the tables, and take over what was kept."""
    op.create_table(
        "history",
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("instance", NUMBER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("settles", sa.Boolean(), nullable=False),
        sa.Column("figure", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["instance"], ["instances.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index("history_of_instance", "history", ["instance", "number"], unique=False)
    _one_outcome("one_outcome_an_execution", ["instance", "step"], "settles")
    op.create_table(
        "commands",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("instance", NUMBER, nullable=False),
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["instance"], ["instances.number"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("uid", "id"),
    )
    op.create_index("ix_commands_instance", "commands", ["instance"], unique=False)
    op.execute(EARLIER)
    op.drop_index("one_outcome_an_attempt", "attempts")
    op.drop_table("attempts")
    op.drop_index("ix_late_reports_instance", "late_reports")
    op.drop_table("late_reports")
    _one_outcome("one_outcome_an_attempt", ["instance", "step", "attempt"], "kind = 'attempt'")


def _one_outcome(name: str, columns: list[str], where: str) -> None:
    op.create_index(
        name,
        "history",
        columns,
        unique=True,
        sqlite_where=sa.text(where),
        postgresql_where=sa.text(where),
    )
