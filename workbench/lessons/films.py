"""The registry of figures: functions of a world, the reader's input and settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from workbench.drawing.figures import figure
from workbench.drawing.subterminals import FIGURES
from workbench.lessons import (
    asked_online,
    chances,
    composing,
    constructing,
    crossing,
    deriving,
    direct,
    finishing,
    indexing,
    labelling,
    merging,
    methods,
    naturalising,
    pairing,
    passing,
    planting,
    regions,
    running,
    stacking,
    taking,
    tracing,
    transducing,
    translating,
    under,
    warming,
)
from workbench.lessons.lesson import Film, Frame, Given, Kind, LessonError, View
from workbench.lessons.world import World


def named(world: World, given: Given, *, name: str) -> Film:
    """A figure of Koo, Liu & He 2024 by its number and place, or of DOMINO as ``domino-4``."""
    drawn = FIGURES[name]() if name in FIGURES else figure(name)
    return Film((drawn,), (Frame("", (View(),)),))


#: By the name a lesson's file uses.
FILMS: dict[str, Callable[..., Film]] = {
    "figure": named,
    "characters": running.characters,
    "nondeterministic": running.nondeterministic,
    "subsets": constructing.subsets,
    "minimise": constructing.minimise,
    "tokens": taking.over_tokens,
    "bytes": taking.over_bytes,
    "transducer": translating.transducer,
    "detokenize": translating.detokenize,
    "algorithm 1": transducing.algorithm_1,
    "merging": transducing.merging,
    "composition": composing.composition,
    "index": indexing.index,
    "stack": stacking.over_characters,
    "rules": stacking.rules,
    "token stack": stacking.over_tokens,
    "trees": deriving.trees,
    "eager": finishing.eager,
    "chances": chances.chances,
    "side by side": methods.side_by_side,
    "encoding": merging.encoding,
    "pair": pairing.pair,
    "direct merge": direct.direct_merge,
    "passes": passing.passes,
    "cuts": regions.cuts,
    "algorithm 3 of domino": naturalising.algorithm_3,
    "star": crossing.star,
    "product": crossing.product,
    "warm-up": warming.warm_up,
    "scanner": planting.scanner,
    "subterminal tree": planting.tree,
    "pruned tree": planting.pruned,
    "algorithms 3 and 4": tracing.algorithms,
    "under": under.under,
    "trie walk": asked_online.trie_walk,
    "labels": labelling.over_labels,
}


#: Those with several machines side by side or one below the other, which need the whole width.
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
    }
)

#: Those drawn from the top down: trees.
UPRIGHT = frozenset({"pair", "pruned tree", "subterminal tree", "trees"})


#: Those whose forbidden tokens the grammar itself forbids, and can explain.
EXPLAINED = frozenset({"tokens", "bytes", "token stack"})


def film(kind: Kind, world: World, given: Given = None) -> Film:
    """The film of a step, of what the lesson names or of what a reader gave.

    Raises: LessonError for an unknown figure, or settings it does not have.
    """
    made = called(FILMS, "figure", kind, kind.world or world, given)
    assert isinstance(made, Film)
    return made


def called(known: Mapping[str, Callable[..., Any]], what: str, kind: Kind, *given: object) -> Any:  # noqa: ANN401
    """Call what a lesson names with its settings.

    Raises: LessonError for a name that is none, or settings it does not have.
    """
    if kind.name not in known:
        raise LessonError(f"expected a {what}, not {kind.name!r}", f"there are {', '.join(known)}")
    make = known[kind.name]
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
