"""Findings → a text that says what was compared and what was wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from workbench.bench.exactness.run import Findings, Tally
from workbench.bench.exactness.walk import Wrong
from workbench.bench.table import aligned

_HEAD = ("vocabulary", "constraints", "states", "decisions", "undecided", "wrong")

_NOTE = (
    "Every token of a vocabulary is decided at states met on random walks: by the engine's mask, "
    "and byte by byte by an Earley recogniser that shares nothing with it but the tree."
)


def report(findings: Findings) -> str:
    """The findings, ready to print."""
    rows = [_HEAD, *map(_cells, findings.tallies.values()), _cells(total(findings))]
    lines = [_NOTE, "", aligned(rows), ""]
    lines.extend(_remarks(findings))
    lines.append(
        f"{findings.decisions:,} (state, token) decisions checked in {findings.seconds:,.0f} s, "
        f"wrong: {findings.wrong:,}"
    )
    for wrong in findings.examples:
        lines.extend(_told(wrong))
    if len(findings.examples) < findings.wrong:
        lines.append(f"  … the first {len(findings.examples)} of {findings.wrong:,}")
    return "\n".join(lines) + "\n"


def records(findings: Findings) -> Iterator[dict[str, object]]:
    """The same as objects for programs: wrong decisions, vocabularies, the whole."""
    for wrong in findings.examples:
        yield {"kind": "wrong", **asdict(wrong)}
    for tally in findings.tallies.values():
        yield {"kind": "exactness", **asdict(tally)}
    yield {
        "kind": "exactness",
        **asdict(total(findings)),
        "missing": findings.missing,
        "seed": findings.plan.seed,
        "seconds": round(findings.seconds, 1),
    }


def total(findings: Findings) -> Tally:
    """All vocabularies together."""
    whole = Tally("all")
    for name in _COUNTED:
        setattr(whole, name, sum(getattr(t, name) for t in findings.tallies.values()))
    return whole


_COUNTED = (
    "constraints", "states", "decisions", "undecided", "wrong", "refused", "limits", "unread",
)  # fmt: skip


def _cells(tally: Tally) -> tuple[str, ...]:
    counts = (tally.constraints, tally.states, tally.decisions, tally.undecided, tally.wrong)
    return (tally.vocabulary, *(f"{count:,}" for count in counts))


def _remarks(findings: Findings) -> Iterator[str]:
    """What was not compared, and why."""
    whole = total(findings)
    if whole.refused:
        yield f"{whole.refused:,} constraints derive or spell nothing, as the recogniser agrees"
    if whole.limits:
        yield f"{whole.limits:,} constraints came to a budget of the engine's limits"
    if whole.unread:
        yield f"{whole.unread:,} made-up constraints are no text of their notation"
    if whole.undecided:
        yield "undecided: a token may lead to a dead end farther off than the recogniser looks"
    for name, reason in findings.missing.items():
        yield f"{name} was not asked: {reason}"


def _told(wrong: Wrong) -> Iterator[str]:
    should = "should be allowed" if wrong.expected else "should not be allowed"
    yield f"  {wrong.token} {should} after {wrong.prefix} over {wrong.vocabulary}, in"
    yield from (f"    {line}" for line in wrong.grammar.splitlines() or [""])
