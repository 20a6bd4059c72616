"""Strips: the runs of one prompt and seed → lines that begin where the texts first part."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.decoding.trace import Trace
from workbench.drawing.text import visible
from workbench.evaluate.compare import Ended, cut_differently, divergence
from workbench.vocabulary.vocabulary import TokenId

#: Characters of what all texts share, and of what follows, that are shown.
_BEFORE, _AFTER = 32, 76


def strips(ends: Sequence[Ended]) -> str:
    """What the runs share, then each from the token on in which it parts from the others.

    Runs of the same text are cut where their tokens first differ.
    """
    if not ends:
        return ""
    traces = [end.trace for end in ends]
    run = ends[0].run
    head = f"{_short(run.prompt)} · seed {run.seed}"
    place = divergence(traces)
    told = "they part after"
    if place is None:
        place, told = cut_differently(traces), "one text, spelt apart after"
    if place is None:
        return f"{head}\n  all alike: {_ending(traces[0].text)}"
    lines = [head, f"  {told} {_ending(traces[0].text[:place])}"]
    by_tokens: dict[tuple[TokenId, ...], list[Ended]] = {}
    for end in ends:
        by_tokens.setdefault(tuple(end.trace.token_ids), []).append(end)
    for alike in by_tokens.values():
        names = ", ".join(end.run.contender.name for end in alike)
        lines += [f"    {_pieces(alike[0].trace, place)}", f"      {names}"]
    return "\n".join(lines)


def _pieces(trace: Trace, place: int) -> str:
    """The tokens from the one on in which a byte stands, parted by bars; ■ is the end."""
    found, begin, length = [], 0, 0
    for step in trace.steps:
        begin += len(step.token)
        if begin <= place and not step.is_end:
            continue
        piece = "■" if step.is_end else visible(step.token)
        length += len(piece) + 1
        if length > _AFTER:
            found.append("…")
            break
        found.append(piece)
    return "|".join(found)


def _ending(text: bytes) -> str:
    whole = visible(text)
    return whole if len(whole) <= _BEFORE else f"…{whole[-_BEFORE:]}"


def _short(prompt: str) -> str:
    line = visible(prompt.encode())
    return line if len(line) <= _AFTER else f"{line[:_AFTER]}…"
