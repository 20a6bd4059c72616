"""Summaries of results: a table with a row for each group of rows, and the reasons of failures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import figure
from workbench.tasks.task import Outcome, Record

if TYPE_CHECKING:
    import pandas as pd

#: Reasons of failures that are listed.
_MAX_SHOWN = 12


def failures_of(outcomes: Sequence[Outcome]) -> str:
    """A line for each reason of failure, with the first task and the number of tasks."""
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.status == "failed":
            reason = f"{outcome.error} ({outcome.hint})" if outcome.hint else outcome.error
            reasons.setdefault(reason, []).append(outcome.key)
    lines = [
        f"{keys[0]}{f' and {len(keys) - 1} more' if len(keys) > 1 else ''}: {reason}"
        for reason, keys in reasons.items()
    ]
    more = len(lines) - _MAX_SHOWN
    return "\n".join([*lines[:_MAX_SHOWN], *([f"and {more} other reasons"] if more > 0 else [])])


#: A value of a group of rows.
_Value = Callable[["pd.DataFrame"], float]


def _mean(column: str) -> _Value:
    return lambda rows: float(rows[column].dropna().astype(float).mean())


def _sum(column: str) -> _Value:
    return lambda rows: float(rows[column].dropna().astype(float).sum())


def _median(column: str) -> _Value:
    return lambda rows: float(rows[column].astype(float).median())


def _quantile(column: str, share: float) -> _Value:
    return lambda rows: float(rows[column].astype(float).quantile(share, "higher"))


def _count_ended(how: str) -> _Value:
    return lambda rows: float((rows["ended"] == how).sum())


def _perplexity(rows: pd.DataFrame) -> float:
    """Of all scored tokens together: exp of the mean surprisal; the end token is not scored."""
    counted = rows["tokens"].sum() - rows["ended"].sum()
    nats = rows["free_nats"].sum() + rows["forced_nats"].sum()
    return math.exp(nats / counted) if counted else math.nan


#: The columns of a summary: the fields that each needs, and its value for the rows of a group.
_SUMMARY: dict[str, tuple[tuple[str, ...], _Value]] = {
    # of compare
    "valid": (("valid",), _mean("valid")),
    "proper": (("proper",), _mean("proper")),
    "tokens": (("tokens",), _mean("tokens")),
    "perplexity": (("free_nats", "forced_nats", "tokens", "ended"), _perplexity),
    "interventions": (("interventions",), _mean("interventions")),
    "passes": (("forward_passes",), _mean("forward_passes")),
    "tokens/s": (("tokens_per_second",), _median("tokens_per_second")),
    # of audit
    "audited": (("ended", "over"), _count_ended("audited")),
    "over": (("over",), _sum("over")),
    "under": (("under",), _sum("under")),
    "by policy": (("by_policy",), _sum("by_policy")),
    "refused": (("ended", "engine"), _count_ended("refused")),
    "masks": (("masks",), _sum("masks")),
    # of bench --schemas
    "compiled": (("compiled",), _mean("compiled")),
    "passing": (("passing",), _mean("passing")),
    "first mask, ms": (("ms",), _median("ms")),
    "p99": (("ms",), _quantile("ms", 0.99)),
    # of all
    "seconds": (("task_seconds",), _sum("task_seconds")),
}

#: What rows are grouped by: the first columns that the results have; and what is drawn.
_GROUPS = ("model", "contender"), ("subset", "engine", "version"), ("engine", "version")
_DRAWN = "perplexity", "ms", "engine_seconds"


#: The columns from which a summary is computed.
SUMMARY_COLUMNS = frozenset(
    ["status", *(name for needed, _ in _SUMMARY.values() for name in needed)]
    + [name for names in _GROUPS for name in names]
)


def default_groups(rows: Sequence[Record]) -> Sequence[str]:
    """The columns by which the rows are grouped if none are named."""
    done = [row for row in rows if row["status"] == "done"]
    having = (names for names in _GROUPS if all(any(r.get(n) for r in done) for n in names))
    return next(having, ("status",))


def summary_of(rows: Sequence[Record], by: Sequence[str]) -> list[list[str]]:
    """A table with a row for each group of results that are done; the first row is the head.

    Raises: WorkbenchError for a column that the results lack.
    """
    import pandas as pd

    frame = pd.DataFrame([row for row in rows if row["status"] == "done"])
    if frame.empty:
        return []
    for name in by:
        if name not in frame:
            raise WorkbenchError(
                f"the results have no column {name!r}", f"they have {', '.join(frame.columns)}"
            )
    shown = {
        name: value
        for name, (needed, value) in _SUMMARY.items()
        if all(column in frame and frame[column].notna().any() for column in needed)
    }
    table = [[*by, "results", *shown]]
    for group, its in frame.groupby(list(by), sort=False):
        values = [value(its) for value in shown.values()]
        named = list(group) if isinstance(group, tuple) else [group]
        table.append(
            [*map(str, named), str(len(its)), *(figure(v if v == v else None) for v in values)]
        )
    return table


def column_drawn(rows: Sequence[Record]) -> str:
    """The column whose distribution is drawn if none is named."""
    having = (name for name in _DRAWN if any(name in row for row in rows))
    return next(having, _DRAWN[0])
