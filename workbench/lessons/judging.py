"""The effect of methods on a model, exactly: distributions and counterexamples.

The model is the one whose chances a step writes out, so every number can be checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench.drawing.text import visible
from workbench.evaluate.contenders import Contender
from workbench.evaluate.exact import Exact, exact
from workbench.evaluate.invasive import forbidden_at, searched
from workbench.evaluate.token_tree import token_tree
from workbench.lessons.asking import Asked, which
from workbench.lessons.chances import number, share
from workbench.lessons.lesson import Table
from workbench.lessons.methods import EXACT, Way, allowed_by, constrained, ids_of, name_of
from workbench.lessons.taking import choices
from workbench.lessons.world import World, spelt


def contender(way: Way) -> Contender:
    """A way of a lesson as the comparison knows it."""
    options = {k: v for k, v in way.items() if k not in ("name", "method")}
    method = str(way.get("method", "automaton"))
    return Contender(
        name=name_of(way), title=name_of(way), method=method, options=options, source="a lesson"
    )


def judged(world: World, methods: Sequence[Way]) -> Exact:
    """The model's own conditional over the step's finite language, and what methods make of it.

    Raises: WorkbenchError, as ``exact``; of a method that does not apply its own error.
    """
    ways = tuple(map(contender, methods))
    found = exact(world.model, "", world.grammar, ways, ended=True)
    for error in found.failed.values():
        raise error
    return found


def shares(world: World, *, methods: Sequence[Way]) -> Table:
    """Every text of a finite language: the model's own conditional, and under each method.

    Source: Tran-Thien 2024, challenge 1.
    """
    found, names = judged(world, methods), list(map(name_of, methods))
    rows = [
        (
            visible(text),
            share(found.own.probability[text]),
            *(share(found.methods[name].probability[text]) for name in names),
        )
        for text in found.texts
    ]
    if any(found.methods[name].lost for name in names):
        rows.append(("no text", "", *(share(found.methods[name].lost) for name in names)))
    apart = (number(found.distances[name].total_variation) for name in names)
    rows.append(("total variation", "", *apart))
    heads = ("text", "model, given that it is valid", *names)
    return Table("What is sampled, exactly", heads, tuple(rows))


def share_of(world: World, way: Way | None, text: str) -> float:
    """The probability of a text under a method, or the model's own among valid texts."""
    found = judged(world, () if way is None else (way,))
    whose = found.own if way is None else found.methods[name_of(way)]
    return whose.probability.get(text.encode(), 0.0)


def ranking(world: World, *, methods: Sequence[Way]) -> Table:
    """For each text what the model gives its spellings, of those a method can write.

    Source: Koo, Liu & He 2024, Appendix A.
    """
    tree = token_tree(world.model, "", world.constraint)
    columns = []
    for way in methods:
        constraint, sums = constrained(world, way), dict.fromkeys(tree.texts, 0.0)
        for ids, node, logprob in tree.spellings():
            if forbidden_at(constraint, (*ids, *_end(world))) is None:
                sums[node.text] += math.exp(logprob + node.end)
        columns.append(sums)
    told = [text for text in tree.texts if any(sums[text] for sums in columns)]
    rows = [(visible(text), *(number(sums[text]) for sums in columns)) for text in told]
    best = (visible(max(told, key=lambda text: sums[text])) for sums in columns)
    rows.append(("best", *best))
    return Table(
        "The score of each text, all its spellings together",
        ("text", *map(name_of, methods)),
        tuple(rows),
    )


def invasive(world: World, *, methods: Sequence[Way]) -> Table:
    """Whether some spelling of some valid text is forbidden, with the first one found.

    Source: Beurer-Kellner et al. 2024, Definition 2.1, for every model.
    """
    rows = []
    for way in methods:
        found = searched(world.constraint, constrained(world, way))
        if found.forbidden is None:
            said = "none" if found.complete else f"none among {found.pairs:,} places"
            rows.append((name_of(way), "✓", said, ""))
            continue
        ids = (*found.forbidden.before, found.forbidden.token_id, *(found.forbidden.after or ()))
        spelling = "  ".join(world.shown(i) for i in ids if i != world.vocabulary.end)
        rows.append((name_of(way), "✗", spelling, world.shown(found.forbidden.token_id)))
    heads = ("method", "minimally invasive", "counterexample", "forbidden there")
    return Table("Is every spelling of every valid text allowed?", heads, tuple(rows))


# -- questions ---------------------------------------------------------------------------------


def taken_away(world: World, *, by: Way, after: Sequence[str] = ()) -> Asked:
    """Which tokens a method forbids after some others, though the grammar allows them."""
    exactly = allowed_by(world, EXACT, after)
    right = exactly - allowed_by(world, by, after)
    every = choices(world, b"".join(map(spelt, after)))

    def why(token_id: int) -> str:
        if token_id in exactly:
            return f"{name_of(by)} lets this one through"
        return f"the grammar itself forbids it: {every[token_id].why}"

    return which(tuple(choice.text for choice in every), right, why)


def allowed(world: World, *, by: Way, after: Sequence[str] = ()) -> Asked:
    """Which tokens a method allows after some others."""
    right = allowed_by(world, by, after)
    every = choices(world, b"".join(map(spelt, after)))

    def why(token_id: int) -> str:
        if every[token_id].allowed:
            return f"the grammar can read it, and {name_of(by)} still forbids it"
        return every[token_id].why

    return which(tuple(choice.text for choice in every), right, why)


def writable(world: World, *, by: Way, options: Sequence[Sequence[str]]) -> Asked:
    """Which of these sequences of tokens a method allows from beginning to end."""
    constraint = constrained(world, by)
    sequences = [ids_of(world, tokens) for tokens in options]
    failing = [forbidden_at(constraint, (*ids, *_end(world))) for ids in sequences]
    right = {i for i, place in enumerate(failing) if place is None}

    def why(number: int) -> str:
        place = failing[number]
        assert place is not None, "it is wrong"
        ids = (*sequences[number], *_end(world))
        return f"{world.shown(ids[place])}, token {place + 1}, is forbidden"

    shown = tuple("  ".join(world.shown(i) for i in ids) for ids in sequences)
    return which(shown, right, why)


def _end(world: World) -> tuple[int, ...]:
    end = world.vocabulary.end
    return () if end is None else (end,)
