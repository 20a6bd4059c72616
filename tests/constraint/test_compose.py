"""The closed form of Algorithm 2, edge by edge against reading every token from every state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.automata.machines import dfa_of
from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import LimitError, VocabularyError
from workbench.base.limits import Limits
from workbench.constraint.engine.automaton import DfaConstraint
from workbench.constraint.engine.compose import TokenFsa, compose
from workbench.constraint.engine.compose_kernel import EDGE, LOOP, RANGE, RANGE_END
from workbench.constraint.engine.self_loops import SelfLoopCache
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

BYTES = tuple(bytes([i]) for i in range(256))
PIECES = (
    *(t.encode() for t in ("ab", "abc", "abcd", "bcd", 'ab"', '",', '"}', "é", "東京", 'é"', 'x\\"')),
    *(t.encode() for t in ("int", "int ", "in", "if(", "_x1", "a=", '": "', ', "', "ab", "  ", "    ")),
    *(b"\xe6\x9d", b"\x9d\xb1", b"a\xe6", b"\xb1a", b"\xb1\"", b"ab\xff", b"aab\xc3", b"\xa9b"),
    *(bytes([a, b]) for a in b'ab"\\ 1(=' for b in b'ab"\\ 1(='),
    *(bytes([a, b, c]) for a in b"abx" for b in b"abx" for c in b"abx"),
)  # fmt: skip


def vocabulary_of(*tokens: bytes) -> Vocabulary:
    return Vocabulary((*tokens, b"<end>"), end=len(tokens))


#: Every byte, many pairs, some twice.
WHOLE = vocabulary_of(*BYTES, *PIECES)


def by_reading(dfa: Dfa, vocabulary: Vocabulary) -> dict[State, list[tuple[TokenId, State]]]:
    """The rows of all states that tokens reach, without dead ends: everything tried."""
    rows: dict[State, list[tuple[TokenId, State]]] = {}
    waiting = [dfa.initial]
    while waiting:
        state = waiting.pop()
        if state not in rows:
            ends = (
                (i, dfa.run(token, state)) for i, token in enumerate(vocabulary.tokens) if token
            )
            rows[state] = [(i, end) for i, end in ends if end != DEAD]
            waiting.extend(end for _, end in rows[state])
    alive = {state for state in rows if dfa.finals[state]}
    while new := {s for s in rows if any(end in alive for _, end in rows[s])} - alive:
        alive |= new
    return {s: [(i, end) for i, end in rows[s] if end in alive] for s in rows if s in alive}


def check(fsa: TokenFsa, dfa: Dfa) -> None:
    """Everything that a machine reports of its edges, against the oracle."""
    expected = by_reading(dfa, fsa.vocabulary)
    first, ids, targets = fsa.first.tolist(), fsa.token_ids, fsa.targets
    assert fsa.edge_count == sum(map(len, expected.values())) == len(ids) == len(targets)
    for state in range(len(dfa)):
        row = expected.get(state, [])
        assert fsa.edges(state) == row
        assert fsa.row(state).tolist() == [i for i, _ in row]
        written = slice(first[state], first[state + 1])
        assert list(zip(ids[written], targets[written], strict=True)) == row
        stepped = [fsa.step(state, i) for i in range(len(fsa.vocabulary))]
        assert stepped == [dict(row).get(i, DEAD) for i in range(len(fsa.vocabulary))]
        assert bool(fsa.finals[state]) == (bool(dfa.finals[state]) and state in expected)


#   pattern                                       because
SHAPES = [
    (r"Red|Orange|Yellow",                        "nothing is shared"),
    (r'"([^"\\\x00-\x1f]|\\["n])*"',              "a string: nearly all tokens of a row are read inside the loop"),
    (r'\{"a": "([^"\\]|\\")*", "b": "([^"\\]|\\")*"\}', "two strings share a loop"),
    (r'" *([^ "\\]|\\n)( |[^ "\\]|\\n)*"',        "a state that leads into the string shares its row"),
    (r"(if|int|return|[a-z_][a-z0-9_]*)=1",       "keywords share the rows of names"),
    (r"[a-z ]*,[a-z,]*",                          "two loops, one after the other"),
    (r"[a-z]{0,60}x",                             "a counted row is one row, renamed"),
    (r"([ab]{0,9}x){0,9}",                        "renamed to a state visited before"),
    (r"[a-z]{0,3}x",                              "too few letters left for most tokens"),
    (r"\w+",                                      "more states inside characters than a loop may have"),
    (r"(.|\n)*",                                  "everything is read inside the loop"),
    (r"[\x20-\x7e]*é?",                           "one character past the loop"),
    (r"(a|b)*a(a|b){7}",                          "many small rows: the buffers grow"),
    (r"",                                         "nothing to read"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "because"), SHAPES, ids=[row[1] for row in SHAPES])
def test_every_edge(pattern: str, because: str) -> None:
    dfa = dfa_of(pattern)
    check(compose(dfa, WHOLE), dfa)


@pytest.mark.parametrize("pattern", [row[0] for row in SHAPES])
def test_rows_are_those_on_demand(pattern: str) -> None:
    """Over thousands of tokens, where reading each from each state would take minutes."""
    vocabulary = Vocabulary.load("builtin")
    fsa = compose(dfa := dfa_of(pattern), vocabulary)
    constraint = DfaConstraint(dfa, vocabulary)
    for state in range(len(dfa)):
        mask = set(constraint.mask(state)) - {vocabulary.end}
        assert set(fsa.row(state).tolist()) == mask


PARTS = st.sampled_from(
    ['"', "[a-z]", r"[^\"\\]", " ", "(if|int)", "[a-z_]", r"\\.", "é", ".", "=", "[ -~]", "[ab]"]
)  # fmt: skip
COUNTS = st.sampled_from(["", "*", "+", "?", "{1,3}", "{0,9}"])
PIECE = st.tuples(PARTS, COUNTS).map("".join)
REGEX = st.lists(PIECE, min_size=1, max_size=4).map("".join)
REGEXES = st.lists(REGEX, min_size=1, max_size=2).map("|".join)


@pytest.mark.slow
@given(REGEXES)
@settings(deadline=None, max_examples=40)
def test_every_edge_of_any_regex(pattern: str) -> None:
    dfa = dfa_of(pattern)
    assume(len(dfa) < 80)
    check(compose(dfa, WHOLE), dfa)


@given(REGEXES, st.sets(st.sampled_from([*BYTES[32:128], *PIECES]), min_size=1))
@settings(deadline=None, max_examples=60)
def test_dead_ends_of_any_vocabulary(pattern: str, tokens: set[bytes]) -> None:
    """Where single bytes are missing, tokens into dead ends are trimmed."""
    dfa, vocabulary = dfa_of(pattern), vocabulary_of(*sorted(tokens))
    assume(len(dfa) < 80)
    try:
        check(compose(dfa, vocabulary), dfa)
    except VocabularyError:
        assert dfa.initial not in by_reading(dfa, vocabulary)


def test_looping_states_share_the_loop_of_the_vocabulary() -> None:
    dfa, vocabulary = dfa_of(SHAPES[2][0]), vocabulary_of(*BYTES, *PIECES)
    fsa = compose(dfa, vocabulary)
    wide = [row for row in fsa.rows.arrays.rows.tolist() if row[LOOP] >= 0]
    assert len(wide) == 2
    assert wide[0][LOOP] == wide[1][LOOP]
    assert len(fsa.rows.arrays.edges) < fsa.edge_count / 2
    again = compose(dfa_of(r'<"([^"\\]|\\")*">'), vocabulary)
    assert again.rows.arrays.loop_members is fsa.rows.arrays.loop_members, (
        "remembered with the vocabulary"
    )
    assert len(vocabulary.trie.shared(SelfLoopCache).edge_table(vocabulary.trie).loops) == 1


def test_a_path_into_a_loop_shares_its_row() -> None:
    fsa = compose(dfa_of(SHAPES[3][0]), WHOLE)
    rows = fsa.rows.arrays.rows
    assert (rows[:, RANGE] < rows[:, RANGE_END]).any()


def test_rows_of_a_counted_repetition_share_edges() -> None:
    fsa = compose(dfa_of("[a-z]{0,200}x"), WHOLE)
    assert len(np.unique(fsa.rows.arrays.rows[:, EDGE])) < 10
    assert len(fsa.rows.arrays.edges) * 50 < fsa.edge_count


def test_a_full_loop_table_is_replaced() -> None:
    vocabulary = vocabulary_of(*BYTES, *PIECES)
    made = {
        p: compose(dfa_of(p), vocabulary) for p in (f"[a-{chr(97 + k)}A-Z]*" for k in range(24))
    }
    for pattern, fsa in made.items():
        check(fsa, dfa_of(pattern))


def test_more_loops_than_a_table_holds() -> None:
    dfa = dfa_of("|".join(f"{chr(97 + k)}[a-{chr(97 + k)}A-Z]*" for k in range(20)))
    check(compose(dfa, vocabulary_of(*BYTES, *PIECES)), dfa)


def test_error_when_there_are_too_many_edges() -> None:
    fsa = compose(dfa_of("[a-z]{0,60}x"), WHOLE, Limits(token_edges=2_000))
    assert fsa.edge_count > 2_000
    with pytest.raises(LimitError, match="more than 2,000 token edges"):
        _ = fsa.targets


def test_invalid_token_ids_lead_to_dead() -> None:
    fsa = compose(dfa_of("a*"), WHOLE)
    assert fsa.step(0, -1) == fsa.step(0, len(WHOLE)) == fsa.step(0, len(WHOLE) + 99) == DEAD
