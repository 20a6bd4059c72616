"""Tables of added surprisals, for known probabilities or a recorded run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.drawing.text import visible
from workbench.gallery import recorded_run
from workbench.lessons.chances import bits, number, share, turns
from workbench.lessons.lesson import LessonError, Table
from workbench.lessons.world import World, spelt


def path(world: World, *, tokens: Sequence[str]) -> Table:
    """A text token by token: probability, surprisal, kept mass, bits of the mask."""
    ids = tuple(world.vocabulary.ids(*(spelt(token) for token in tokens)))
    made = turns(world, ids)
    rows = [
        (
            world.shown(t.token_id),
            share(t.before),
            number(bits(t.before)),
            share(t.kept),
            number(bits(t.kept)),
            share(t.after),
            number(bits(t.after)),
        )
        for t in made
    ]
    numbers = [
        [bits(t.before) for t in made],
        [bits(t.kept) for t in made],
        [bits(t.after) for t in made],
    ]
    totals = [sum(column) for column in numbers]
    rows.append(("together", "", number(totals[0]), "", number(totals[1]), "", number(totals[2])))
    heads = ("token", "before", "bits", "kept", "mask bits", "after", "bits")
    return Table("Token by token", heads, tuple(rows))


def recorded(world: World, *, example: str, first: int = 12) -> Table:
    """The run of the embedded model recorded for an example, its first tokens and its sums."""
    run = recorded_run(example) if example.isidentifier() else ""
    if not run:
        raise LessonError(f"expected an example with a recorded run, not {example!r}")
    records = [json.loads(line) for line in run.splitlines()]
    steps = [r for r in records if r["k"] == "step"]
    rows = [
        (
            _token_text(r["token"]),
            str(r["rank"]),
            number(r["s"]),
            share(r["kept"]),
            number(r["m"]),
            f"{r['allowed']:,}",
        )
        for r in steps[:first]
    ]
    asked = [r for r in steps if r["s"] is not None and not r["token"].get("end")]
    together = sum(r["s"] for r in asked)
    taken = sum(r["m"] for r in steps if r["m"] is not None)
    rows.append((f"all {len(steps)}", "", number(together), "", number(taken), ""))
    mean = 2 ** (together / len(asked))
    heads = ("token", "rank", "surprisal (bits)", "kept", "mask bits", "allowed")
    return Table(f"perplexity {number(mean)} over {len(asked)} tokens", heads, tuple(rows))


def _token_text(token: Mapping[str, Any]) -> str:
    if token.get("end"):
        return "end"
    return visible(bytes.fromhex(token["hex"]) if "hex" in token else str(token["text"]))
