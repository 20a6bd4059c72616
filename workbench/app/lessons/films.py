"""The registry of figures: functions of a world and settings."""

from __future__ import annotations

from collections.abc import Callable

from workbench.app.lessons import (
    automaton_films,
    block_films,
    budget_films,
    composition_films,
    construction_films,
    constructions,
    distribution_films,
    domino_films,
    engine_films,
    index_films,
    mask_films,
    merge_automata_films,
    merge_films,
    method_films,
    monitor_films,
    region_tables,
    stack_films,
    strategy_films,
    token_films,
)
from workbench.app.lessons.lesson import Film, Frame, Given, Kind, View
from workbench.app.lessons.lesson_tables import call_by_name
from workbench.app.lessons.lesson_world import World
from workbench.drawing.subterminals import FIGURES
from workbench.drawing.transducers import figure


def named(world: World, given: Given, *, name: str) -> Film:
    """A figure of Koo, Liu & He 2024 by its number and position, or of DOMINO as ``domino-4``."""
    drawn = FIGURES[name]() if name in FIGURES else figure(name)
    return Film((drawn,), (Frame("", (View(),)),))


#: By the name in lesson files.
FILMS: dict[str, Callable[..., Film]] = {
    "figure": named,
    "characters": automaton_films.characters,
    "nondeterministic": automaton_films.nondeterministic,
    "construction": constructions.constructed,
    "subsets": construction_films.subsets,
    "minimise": construction_films.minimise,
    "tokens": token_films.over_tokens,
    "bytes": token_films.over_bytes,
    "transducer": composition_films.transducer,
    "detokenize": composition_films.detokenize,
    "algorithm 1": composition_films.algorithm_1,
    "merging": composition_films.merging,
    "composition": composition_films.composition,
    "index": index_films.index,
    "stack": stack_films.over_characters,
    "rules": stack_films.rules,
    "token stack": stack_films.over_tokens,
    "trees": stack_films.trees,
    "eager": method_films.eager,
    "chances": mask_films.chances,
    "side by side": method_films.side_by_side,
    "encoding": merge_films.encoding,
    "pair": merge_films.pair,
    "direct merge": merge_automata_films.direct_merge,
    "passes": strategy_films.passes,
    "cuts": region_tables.cuts,
    "algorithm 3 of domino": distribution_films.algorithm_3,
    "star": merge_automata_films.star,
    "product": merge_automata_films.product,
    "warm-up": method_films.warm_up,
    "scanner": domino_films.scanner,
    "subterminal tree": domino_films.tree,
    "pruned tree": domino_films.pruned,
    "algorithms 3 and 4": index_films.algorithms,
    "under": method_films.under,
    "trie walk": index_films.trie_walk,
    "labels": token_films.over_labels,
    "distances": budget_films.distances,
    "within budget": budget_films.within_budget,
    "mask cache": engine_films.mask_cache,
    "lexer and rows": engine_films.lexer_and_rows,
    "spanner table": engine_films.spanner,
    "mask store": engine_films.store,
    "prefix edges": engine_films.prefix_machine,
    "trellis": block_films.trellis,
    "monitored": monitor_films.monitored,
}


#: Figures of several machines, which need the whole width.
BROAD = frozenset(
    {
        "composition",
        "direct merge",
        "merging",
        "pair",
        "pruned tree",
        "scanner",
        "subterminal tree",
        "trees",
        "trellis",
    }
)

#: Figures drawn from the top down: trees.
UPRIGHT = frozenset({"pair", "pruned tree", "subterminal tree", "trees"})


#: Figures whose forbidden tokens the grammar forbids, so that it can explain them.
EXPLAINED = frozenset({"tokens", "bytes", "token stack"})


def film(kind: Kind, world: World, given: Given = None) -> Film:
    """The film of a step, for the lesson's input or the reader's.

    Raises: LessonError for an unknown figure, or settings it does not have.
    """
    result = call_by_name(FILMS, "figure", kind, kind.world or world, given)
    assert isinstance(result, Film)
    return result
