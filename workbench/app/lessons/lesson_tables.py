"""The registry of tables. A table is a function of a world and settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.app.lessons import (
    block_films,
    budget_films,
    composition_films,
    distribution_films,
    domino_films,
    engine_films,
    index_films,
    mask_films,
    merge_automata_films,
    merge_films,
    method_films,
    monitor_films,
    online_films,
    own_distribution_films,
    region_tables,
    strategy_films,
    theorems,
    token_films,
)
from workbench.app.lessons.construction_films import CharacterNfa, set_name, subset_steps
from workbench.app.lessons.lesson import Kind, LessonError, Table
from workbench.app.lessons.lesson_world import World, token_bytes
from workbench.app.lessons.mask_films import share
from workbench.app.lessons.token_films import choices, needed
from workbench.base.visible_text import visible
from workbench.constraint.engine.compose import compose
from workbench.drawing.machines import character_label
from workbench.grammar.notations import Notation
from workbench.vocabulary.vocabulary import Vocabulary


def call_by_name(
    registry: Mapping[str, Callable[..., Any]], what: str, kind: Kind, *given: object
) -> Any:  # noqa: ANN401
    """Call the registered function that a lesson names, with its settings.

    Raises: LessonError for an unknown name, or settings it does not have.
    """
    if kind.name not in registry:
        raise LessonError(
            f"expected a {what}, not {kind.name!r}", f"there are {', '.join(registry)}"
        )
    make = registry[kind.name]
    try:
        inspect.signature(make).bind(*given, **kind.settings)
    except TypeError as error:
        has = ", ".join(
            p for p, q in inspect.signature(make).parameters.items() if q.kind is q.KEYWORD_ONLY
        )
        raise LessonError(
            f"the {what} {kind.name!r} cannot be made: {error}",
            f"its settings are {has}" if has else "it has no settings",
        ) from None
    return make(*given, **kind.settings)


_YES, _NO = "✓", "✗"

#: A row that a lesson gives as settings.
_Given = Mapping[str, Any]


def index(world: World) -> Table:
    """The map σ: for each state the allowed tokens and their target states.

    Source: Willard & Louf 2023, Algorithm 4.
    """
    fsa = compose(world.dfa, world.vocabulary)
    rows = []
    for state in range(len(fsa)):
        edges = fsa.edges(state)
        tokens = "  ".join(world.shown(token_id) for token_id, _ in edges) or "∅"
        leads = "  ".join(f"{world.shown(i)} → {target}" for i, target in edges)
        rows.append((str(state), tokens, leads, _YES if fsa.finals[state] else _NO))
    return Table("The index", ("state", "σ(state)", "leads to", "may end"), tuple(rows))


def subset_table(world: World) -> Table:
    """The transition table of the subset construction, one row for each set."""
    nfa, rows = CharacterNfa.of(world.nfa, world.regex), {}
    steps = list(subset_steps(nfa))
    letters = sorted({step.letters for step in steps})
    for states in dict.fromkeys(s for step in steps for s in (step.source, step.target)):
        ends = {step.letters: set_name(step.target) for step in steps if step.source == states}
        final = _YES if states & nfa.finals else _NO
        rows[states] = (set_name(states), *(ends.get(letter, "∅") for letter in letters), final)
    heads = ("set", *map(character_label, letters), "accepts")
    return Table("The subset construction as a table", heads, tuple(rows.values()))


def verdicts(world: World, *, texts: Sequence[str], rows: Sequence[_Given] = ()) -> Table:
    """Which texts the grammar accepts, or each of several grammars."""
    worlds = [(str(row.get("name", "")), _world_of(row)) for row in rows] or [("", world)]
    lines = [
        (name or row_world.text, *(_YES if row_world.grammar.accepts(t) else _NO for t in texts))
        for name, row_world in worlds
    ]
    heads = ("written", *(visible(text) or "(empty)" for text in texts))
    return Table("What is accepted", heads, tuple(lines))


def _world_of(row: _Given) -> World:
    written = ((str(row[notation]), notation) for notation in Notation if notation in row)
    return World(*next(written, ()))


def blocked(world: World, *, after: str = "") -> Table:
    """Every token after a text: allowed, or what the grammar expected where it fails."""
    live = " ▸ ".join(world.grammar.live_rules(after))
    rows = tuple(
        (c.text, _YES if c.allowed else _NO, c.why) for c in choices(world, token_bytes(after))
    )
    caption = f"After {visible(after)}" if after else "At the beginning"
    return Table(
        caption + (f", inside {live}" if live else ""), ("token", "allowed", "why not"), rows
    )


def hand_masks(world: World, *, after: str) -> Table:
    """The two hand-written masks of the KBNF post for ``XXXXX*[YYYY]*``, with the exact one.

    ``after`` is written with the tokens of the world, the longest first. The second mask calls
    ``token.index("*]")`` for each token with ``*[``, which raises ValueError where ``*]`` is
    missing; *repaired* compares the place of ``*[`` instead.

    Source: the KBNF design post 2024.
    """
    text = after.encode()
    tokens = [token for token in world.vocabulary.tokens if token is not None]
    taken = _longest_first(text, sorted(tokens, key=len, reverse=True))
    rows = []
    for choice, token in zip(choices(world, text), world.vocabulary.tokens, strict=True):
        if token is None:
            continue
        first = token != b"*[" or b"*[" not in taken
        printed = _second_mask(text, token, b"*]", 1)
        repaired = _second_mask(text, token, b"*[", 2)
        signs = (_sign(allowed) for allowed in (choice.allowed, first, printed, repaired))
        rows.append((choice.text, *signs))
    heads = ("token", "exact", "first", "second, as printed", "second, repaired")
    return Table(f"Allowed after {visible(after)}", heads, tuple(rows))


def _second_mask(text: bytes, token: bytes, searched: bytes, rest: int) -> bool | None:
    """Whether the mask allows a token; None where its code raises ValueError."""
    inside = b"*[" in text
    if b"*[" in token:
        try:
            if token.index(searched) != len(token) - rest or inside:
                return False
        except ValueError:
            return None
    return not (inside and text.endswith(b"*") and b"[" in token)


def _sign(allowed: bool | None) -> str:
    return "ValueError" if allowed is None else _YES if allowed else _NO


def _longest_first(text: bytes, tokens: Sequence[bytes]) -> list[bytes]:
    taken: list[bytes] = []
    while text:
        taken.append(next(token for token in tokens if text.startswith(token)))
        text = text[len(taken[-1]) :]
    return taken


def live_stack(world: World, *, text: str) -> Table:
    """For each prefix of a text, the rules being read and what may follow."""
    rows = []
    for length in range(len(text) + 1):
        rules = " ▸ ".join(world.grammar.live_rules(text[:length]))
        follow = needed(world, text[:length].encode())
        rows.append((visible(text[:length]) or "(nothing)", rules, follow))
    return Table("The live rules", ("read", "rules", "may follow"), tuple(rows))


def utf8(world: World, *, characters: Sequence[str]) -> Table:
    """Characters and their bytes."""
    rows = tuple(
        (c, f"U+{ord(c):04X}", " ".join(f"<0x{b:02X}>" for b in c.encode())) for c in characters
    )
    return Table("UTF-8", ("character", "code point", "bytes"), rows)


def widths(world: World, *, vocabulary: str = "builtin") -> Table:
    """The number of allowed tokens of a real vocabulary in each state."""
    tokens = Vocabulary.load(vocabulary)
    fsa = compose(world.dfa, tokens)
    counts = [len(fsa.row(state)) for state in range(len(fsa))]
    rows = tuple(
        (str(s), f"{count:,}", share(count / len(tokens)), str(len({t for _, t in fsa.edges(s)})))
        for s, count in enumerate(counts)
    )
    heads = ("state", "token edges", "of the vocabulary", "states they lead to")
    return Table(f"{len(tokens):,} tokens, {sum(counts):,} edges", heads, rows)


def written(
    world: World, *, caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> Table:
    """A table of the source that no engine computes."""
    return Table(caption, tuple(heads), tuple(tuple(map(str, row)) for row in rows))


#: By the name in lesson files.
TABLES: dict[str, Callable[..., Table]] = {
    "index": index,
    "subsets": subset_table,
    "verdicts": verdicts,
    "blocked": blocked,
    "hand-written masks": hand_masks,
    "live rules": live_stack,
    "positions": block_films.positions,
    "block passes": block_films.passes,
    "rules of the hole": block_films.hole_rules,
    "tokens needed": budget_films.needed_after,
    "meanings": monitor_films.meanings,
    "removed by a monitor": monitor_films.taken_away,
    "cuts": merge_films.cuts,
    "spellings": merge_films.spellings,
    "utf-8": utf8,
    "path": mask_films.path,
    "widths": widths,
    "recorded run": mask_films.recorded,
    "written": written,
    "runs": method_films.runs,
    "masks": method_films.masks,
    "calls": method_films.calls,
    "machines": composition_films.machines,
    "shares": own_distribution_films.shares,
    "invasive": distribution_films.invasive,
    "weights": own_distribution_films.weights,
    "bounds": own_distribution_films.bounds,
    "attempts": own_distribution_films.attempts,
    "population": own_distribution_films.population,
    "distances": own_distribution_films.distances,
    "table 1": merge_films.table_1,
    "encoders": merge_films.encoders,
    "merge rules": merge_films.live,
    "proper": merge_films.sequences,
    "cases": merge_automata_films.cases,
    "pieces": domino_films.pieces,
    "strategies": strategy_films.strategies,
    "counts": strategy_films.counted,
    "regions": region_tables.regions,
    "rejection": strategy_films.rejection,
    "figure 2": distribution_films.figure_2,
    "intersection": merge_automata_films.intersection,
    "classes": merge_automata_films.classes,
    "pieces cut": merge_automata_films.piece_table,
    "algorithm 3": index_films.sub_sequences,
    "ranking": distribution_films.ranking,
    "asked": online_films.asked,
    "online costs": online_films.costs,
    "top k": index_films.top_k,
    "instances": token_films.instances,
    "opportunistic": strategy_films.opportunistic,
    "mask cache": engine_films.cache,
    "spanner table": engine_films.spanner_table,
    "mask store": engine_films.wrong_after,
    "prefix edges": engine_films.edges,
    "engines": engine_films.engines,
    "audit": engine_films.audited,
    "read by labels": token_films.read,
    "label sizes": token_films.sizes,
    "theorem 1": theorems.transduced,
    "theorems 2 and 3": theorems.composed_reads,
}


def table(kind: Kind, world: World) -> Table:
    """The table of a step.

    Raises: LessonError for an unknown table, or settings it does not have.
    """
    result = call_by_name(TABLES, "table", kind, kind.world or world)
    assert isinstance(result, Table)
    return result
