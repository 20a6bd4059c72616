"""Vegas configurations: figure 6, and the masks of the method ``vegas`` against ``proper``."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import workbench as wb
from tests.automata.machines import dfa_of
from tests.constraint.proper.oracles import cases, figures, toy
from tests.constraint.proper.test_proper import sequences
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import WorkbenchError
from workbench.constraint.methods.proper.guide_states import SAME_PIECE
from workbench.constraint.methods.proper.live_edges import Live, live_edges
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.constraint.methods.proper.vegas_regions import (
    Cut,
    RegionCache,
    adjacent_bytes,
    cuts,
    only_guess,
    regions,
)
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import Vocabulary

FIGURE_6 = figures()["figure_6"]
pytest.importorskip("mistral_common")


def tokens_of(bits: npt.NDArray[np.uint32]) -> list[int]:
    found = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))
    return [int(token) for token in found]


def exact_cuts(dfa: Dfa, live: Live) -> frozenset[Cut]:
    """The edges before which a token always ends, found by all live edges.

    Live tokens read such an edge only with their first byte, and any live token that ends before
    it may be followed by any that begins with it.

    Cost: a row for each live edge.
    """
    crossed: set[Cut] = set()
    ending_tokens: dict[State, set[int]] = defaultdict(set)
    leaving_tokens: dict[Cut, npt.NDArray[np.uint32]] = {}
    for (state, _), number in live.positions.items():
        for token in tokens_of(live.bits(number, SAME_PIECE)):
            here, text = state, live.bpe.vocabulary.tokens[token] or b""
            for index, byte in enumerate(text):
                edge = here, int(dfa.classes[byte])
                if index:
                    crossed.add(edge)
                else:
                    row = leaving_tokens.setdefault(edge, np.zeros(live.words, np.uint32))
                    row[token >> 5] |= np.uint32(1 << (token & 31))
                here = dfa.step(here, byte)
            ending_tokens[here].add(token)
    return frozenset(
        edge
        for edge, row in leaving_tokens.items()
        if edge not in crossed
        and not any((live.bpe.row_mask(t) & row).any() for t in ending_tokens[edge[0]])
    )


def mistral() -> Bpe:
    return Bpe.of(Vocabulary.load("mistral-v1"))


@pytest.mark.parametrize("figure", FIGURE_6, ids=["strings", "booleans"])
def test_cuts_of_figure_6(figure: dict[str, Any]) -> None:
    dfa = dfa_of(figure["regex"])
    found: dict[int, set[int]] = defaultdict(set)
    for state, column in cuts(dfa, adjacent_bytes(mistral())):
        found[state].add(column)
    leaving = {state: set(np.flatnonzero(dfa.table[state] != DEAD).tolist()) for state in found}
    entirely = [state for state in sorted(found) if found[state] == leaving[state]]
    assert entirely == figure["cut_at_every_outgoing_character"]
    partly = {
        str(state): bytes(np.flatnonzero(np.isin(dfa.classes, list(columns))).tolist()).decode()
        for state, columns in found.items()
        if state not in entirely
    }
    assert partly == figure["cut_at_some_outgoing_characters"]


@pytest.mark.parametrize("figure", FIGURE_6, ids=["strings", "booleans"])
def test_regions_of_figure_6(figure: dict[str, Any]) -> None:
    bpe = mistral()
    library = RegionCache.of(bpe)
    alike: dict[Any, list[Any]] = defaultdict(list)
    dfa = dfa_of(figure["regex"])
    for region in regions(dfa, cuts(dfa, adjacent_bytes(bpe))):
        count = library.region(region).edge_count
        alike[region.key].append([region.entry, list(region.inner), count])
    assert (
        sum(row[2] for rows in alike.values() for row in rows) == figure["permissive_token_edges"]
    )
    assert sum(rows[0][2] for rows in alike.values()) == figure["token_edges_stored_once"]
    repeated = [rows for rows in alike.values() if len(rows) > 1]
    assert sorted(repeated) == sorted(figure["repeated_regions_[entry,inner_states,token_edges]"])


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURE_6, ids=["strings", "booleans"])
def test_cuts_by_live_edges_include_the_others(figure: dict[str, Any]) -> None:
    bpe, dfa = mistral(), dfa_of(figure["regex"])
    guess = only_guess(bpe)
    assert guess is not None
    live = live_edges(dfa, bpe, [guess])
    assert live.edge_count - len(live.dead) == figure["live_token_edges"]
    assert cuts(dfa, adjacent_bytes(bpe)) <= exact_cuts(dfa, live)


def test_cuts_found_only_by_live_edges() -> None:
    """aa is a token, but in this text the fourth a goes with the b after it: aa, a, ab, …."""
    case = next(case for case in cases("proper.json") if case["regex"] == "aaaabaacac")
    bpe, dfa = Bpe.of(toy(case["alphabet"], case["merges"])), dfa_of(case["regex"])
    extra = exact_cuts(dfa, live_edges(dfa, bpe, [0])) - cuts(dfa, adjacent_bytes(bpe))
    assert extra == {(3, int(dfa.classes[ord("a")]))}


@pytest.mark.parametrize("case", cases("proper.json"), ids=lambda case: case["id"])
def test_case_files(case: dict[str, Any]) -> None:
    vocabulary = toy(case["alphabet"], case["merges"])
    found = wb.compile(Grammar.from_regex(case["regex"]), vocabulary, "vegas")
    assert isinstance(found, ProperConstraint)
    assert sequences(found, case["max_len"]) == sorted(map(tuple, case["proper_sequences"]))


SAME = [
    (FIGURE_6[0]["regex"], "two strings"),
    (
        r'\{"n": -?[0-9]+(\.[0-9]+)?, "s": "[^"\\]{0,5}"\}\n?',
        "numbers, half characters, a line end",
    ),
    ("(a|b| )*", "the start is inside a region"),
    (" +x", "spaces, which share a rank"),
]


@pytest.mark.parametrize(("regex", "reason"), SAME)
@pytest.mark.parametrize("prompt", [None, "Answer:\n", "<<"])
def test_masks_are_those_of_the_method_proper(regex: str, reason: str, prompt: str | None) -> None:
    bpe = mistral()
    joined = None if prompt is None else bpe.encode(prompt)
    grammar = Grammar.from_regex(regex)
    one, other = (
        wb.compile(grammar, bpe.vocabulary, method, joined=joined) for method in ("proper", "vegas")
    )
    waiting = [(one.initial, other.initial)]
    for here, there in waiting:
        assert one.mask(here) == other.mask(there), reason
        assert one.is_final(here) == other.is_final(there)
        ids = [i for i in one.mask(here) if i != bpe.vocabulary.end]
        if len(waiting) < 150:
            some = ids[:: max(1, len(ids) // 6)]
            waiting += [(one.advance(here, i), other.advance(there, i)) for i in some]


def test_a_second_grammar_uses_cached_regions() -> None:
    library = RegionCache.of(mistral())
    library.live(dfa_of(r'\{"a": "[a-z]+"\}'))
    known = len(library)
    library.live(dfa_of(r'\{"a": "[a-z]+", "a": "[a-z]+"\}'))
    assert len(library) <= known + 3  # a comma, and what is around it


def test_error_of_a_grammar_with_a_stack() -> None:
    with pytest.raises(WorkbenchError, match="needs a stack"):
        wb.compile(Grammar.from_kbnf("start ::= 'a' start 'b' | 'c';"), toy("abc", []), "vegas")
