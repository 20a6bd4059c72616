"""Masks, closed forms and their edges, on the papers' own examples."""

from __future__ import annotations

import threading
from random import Random

import numpy as np
import pytest

from workbench.base.errors import LimitError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import METHODS, MethodOptions, compile
from workbench.constraint.engine.automaton import StackConstraint, automaton
from workbench.constraint.engine.compose import compose
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import Constraint
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import Vocabulary

FIGURE_4 = Vocabulary((b"f", b"oo", b"foo", b"for", b"food", b"<end>"), end=5)
FIGURE_7 = Vocabulary((b"a", b"b", b"bb", b"aaab", b"<end>"), end=4)
BYTES = Vocabulary((*(bytes([i]) for i in range(256)), b"<end>"), end=256)

FOO_D = Grammar.from_regex("(foo)+d")
ANBN = Grammar.from_kbnf("start ::= 'ab' | 'a' start 'b';")

#   tokens                      accepted  because
FIGURE_5 = [
    ("food",                    True,     "a token may cross the end of (foo)+"),
    ("foo food",                True,     "the longest tokens"),
    ("f oo food",               True,     "the same text, cut otherwise"),
    ("f oo f oo food",          True,     "two rounds in the smallest tokens"),
    ("",                        False,    "at least one foo"),
    ("foo",                     False,    "not finished: d is missing"),
    ("for",                     False,    "r is never read"),
    ("oo food",                 False,    "starts in the middle of a foo"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "accepted", "because"), FIGURE_5, ids=[row[0] or "nothing" for row in FIGURE_5]
)
def test_figure_5_accepts(tokens: str, accepted: bool, because: str) -> None:
    assert FOO_D.dfa is not None
    fsa = compose(FOO_D.dfa, FIGURE_4)
    assert fsa.accepts(FIGURE_4.ids(*tokens.split())) is accepted, because


def spelt(constraint: Constraint, state: object) -> set[str]:
    vocabulary = constraint.vocabulary
    mask = constraint.mask(state)
    return {(vocabulary.tokens[i] or b"<end>").decode() for i in mask}


@pytest.mark.parametrize("method", ["automaton", "composed"])
def test_figure_5_masks(method: str) -> None:
    constraint = compile(FOO_D, FIGURE_4, method)
    state = constraint.initial
    seen = [spelt(constraint, state)]
    for token in FIGURE_4.ids("f", "oo", "food"):
        state = constraint.advance(state, token)
        seen.append(spelt(constraint, state))
    assert seen == [{"f", "foo", "food"}, {"oo"}, {"f", "foo", "food"}, {"<end>"}]
    assert constraint.is_final(state)


@pytest.mark.parametrize("method", ["automaton", "composed"])
def test_figure_7_masks(method: str) -> None:
    constraint = compile(ANBN, FIGURE_7, method)
    state = constraint.initial
    seen = [spelt(constraint, state)]
    for token in FIGURE_7.ids("a", "aaab", "bb"):
        state = constraint.advance(state, token)
        seen.append(spelt(constraint, state))
    assert seen == [{"a", "aaab"}, {"a", "b", "aaab"}, {"b", "bb"}, {"b"}]
    assert constraint.forced(state) == b"b"


def test_dead_ends_are_trimmed_on_tokens() -> None:
    """b alone would leave c, which nothing spells."""
    vocabulary = Vocabulary((b"a", b"b", b"bcd", b"<end>"), end=3)
    constraint = automaton(Grammar.from_regex("abcd|ae?"), vocabulary, LIMITS)
    state = constraint.advance(constraint.initial, 0)
    assert spelt(constraint, state) == {"bcd", "<end>"}
    with pytest.raises(TokenNotAllowed):
        constraint.advance(state, 1)


def test_dead_ends_depend_on_the_stack() -> None:
    """Two b's must be one token, so an odd depth cannot end."""
    vocabulary = Vocabulary((b"a", b"ab", b"bb", b"<end>"), end=3)
    constraint = automaton(ANBN, vocabulary, LIMITS)
    state = constraint.initial
    assert spelt(constraint, state) == {"a", "ab"}
    state = constraint.advance(state, 0)
    assert spelt(constraint, state) == {"a"}, "a·ab leaves one b, a·a·ab two, a·bb is not in it"
    state = constraint.advance(state, 0)
    assert spelt(constraint, state) == {"a", "ab", "bb"}


def test_tokens_may_end_inside_a_character() -> None:
    vocabulary = Vocabulary((b"\xc3", b"\xa9", b"\xa8", "é".encode(), b"e", b"<end>"), end=5)
    constraint = automaton(Grammar.from_regex("[é]e"), vocabulary, LIMITS)
    assert constraint.mask(constraint.initial).ids.tolist() == [0, 3]
    assert constraint.mask(constraint.advance(constraint.initial, 0)).ids.tolist() == [1]


def test_duplicates_are_both_allowed_and_specials_never() -> None:
    vocabulary = Vocabulary((b"a", b"a", b"a", b"<end>"), end=3, special=(2,))
    constraint = automaton(Grammar.from_regex("aa"), vocabulary, LIMITS)
    assert constraint.mask(constraint.initial).ids.tolist() == [0, 1]
    with pytest.raises(TokenNotAllowed):
        constraint.advance(constraint.initial, 2)


def test_the_end_token_is_allowed_exactly_where_the_text_is_accepted() -> None:
    constraint = automaton(Grammar.from_regex("a*"), BYTES, LIMITS)
    state = constraint.initial
    assert 256 in constraint.mask(state)
    assert constraint.advance(state, 256) == state
    closed = automaton(Grammar.from_regex("ab"), BYTES, LIMITS)
    with pytest.raises(TokenNotAllowed):
        closed.advance(closed.initial, 256)


def test_one_row_serves_every_depth() -> None:
    grammar = Grammar.from_kbnf("start ::= '[' (start (',' start)*)? ']' | #'[0-9]+';")
    constraint = automaton(grammar, BYTES, LIMITS)
    assert isinstance(constraint, StackConstraint)
    state = constraint.initial
    for _ in range(30):
        state = constraint.advance(state, ord("["))
        constraint.mask(state)
    assert len(constraint._row_masks) <= 2, (
        "only a token that pops could tell depths apart, and single bytes look at one"
    )


def test_a_mask_is_cached() -> None:
    constraint = automaton(ANBN, FIGURE_7, LIMITS)
    mask = constraint.mask(constraint.initial)
    assert constraint.mask(constraint.initial) is mask
    with pytest.raises(ValueError, match="read-only"):
        mask.bits[0] = 0


def test_bit_layout_is_that_of_other_engines() -> None:
    mask = TokenMask.of([0, 31, 32, 40], 41)
    assert mask.bits.tolist() == [1 | 1 << 31, 1 | 1 << 8]
    assert mask.ids.tolist() == [0, 31, 32, 40]
    assert 40 in mask
    assert 41 not in mask
    assert -1 not in mask


def test_error_when_no_text_can_be_tokenized() -> None:
    for method in ("automaton", "composed"):
        with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
            compile(Grammar.from_regex("xyz"), FIGURE_4, method)
        with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
            compile(Grammar.from_kbnf("start ::= 'x' start 'y' | 'z';"), FIGURE_4, method)


def test_error_when_the_method_is_unknown() -> None:
    with pytest.raises(WorkbenchError, match="there is no method 'magic'") as raised:
        compile(FOO_D, FIGURE_4, "magic")
    assert raised.value.hint == f"choose one of {', '.join(METHODS)}"
    with pytest.raises(WorkbenchError, match="did you mean 'domino'"):
        compile(FOO_D, FIGURE_4, "Dominoes")
    with pytest.raises(WorkbenchError, match="expected a text as 'method', not None"):
        compile(FOO_D, FIGURE_4, None)  # type: ignore[arg-type]


def test_error_when_a_method_has_no_such_option() -> None:
    with pytest.raises(WorkbenchError, match="'automaton' has no option 'k'"):
        compile(FOO_D, FIGURE_4, k=1)
    with pytest.raises(WorkbenchError, match="did you mean 'conflicts'"):
        compile(FOO_D, FIGURE_4, "lalr", conflict="shift")  # type: ignore[call-arg]
    with pytest.raises(WorkbenchError, match="it has how, checker"):
        compile(FOO_D, FIGURE_4, "online", k=1)


def test_every_option_of_a_method_is_typed() -> None:
    described = {name for method in METHODS.values() for name in method.options}
    assert described == MethodOptions.__annotations__.keys()


def test_error_when_the_closed_form_is_too_large() -> None:
    assert FOO_D.dfa is not None
    with pytest.raises(LimitError, match="token edges"):
        compose(FOO_D.dfa, FIGURE_4, Limits(token_edges=3))


def test_a_refused_token_changes_nothing() -> None:
    constraint = automaton(ANBN, FIGURE_7, LIMITS)
    state = constraint.advance(constraint.initial, 0)
    before = constraint.mask(state)
    with pytest.raises(TokenNotAllowed):
        constraint.advance(state, 2)
    assert constraint.mask(state) is before


FOREIGN = {
    "a DFA": Grammar.from_regex("[a-z]{0,3}"),
    "a lazy DFA": Grammar.from_regex("(a|b)*a(a|b){200}"),
    "a stack": ANBN,
}


@pytest.mark.parametrize("grammar", FOREIGN.values(), ids=FOREIGN)
def test_error_for_a_state_of_another_constraint(grammar: Grammar) -> None:
    constraint = automaton(grammar, BYTES, LIMITS)
    state: object
    for state in (len(constraint._states), 10**6, 2**62, -1, None, "0"):
        with pytest.raises(WorkbenchError, match="not a state of this constraint"):
            constraint.mask(state)  # type: ignore[arg-type]
        with pytest.raises(WorkbenchError, match="not a state of this constraint"):
            constraint.advance(state, 97)  # type: ignore[arg-type]


def test_error_when_grammar_and_vocabulary_are_confused() -> None:
    with pytest.raises(WorkbenchError, match="expected a Grammar as 'grammar', not Vocabulary"):
        compile(BYTES, ANBN)  # type: ignore[arg-type]


def test_cached_rows_stay_within_the_limit() -> None:
    constraint = automaton(Grammar.from_regex("[a-z]{0,50}"), BYTES, Limits(rows=5))
    state = constraint.initial
    for _ in range(20):
        assert len(constraint.mask(state)) == 27
        state = constraint.advance(state, ord("q"))
    assert len(constraint._masks) == 5


def test_cached_rows_of_new_shapes_stay_within_the_limit() -> None:
    """Palindromes without a centre: every step is another set of stacks."""
    grammar = Grammar.from_kbnf("start ::= 'a' start 'a' | 'b' start 'b' | 'a' | 'b';")
    constraint = automaton(grammar, BYTES, Limits(rows=5))
    assert isinstance(constraint, StackConstraint)
    state = constraint.initial
    for byte in b"abbabaababba":
        assert {ord("a"), ord("b")} <= set(constraint.mask(state))
        state = constraint.advance(state, byte)
    assert len(constraint._row_masks) <= 5


def test_threads_share_one_constraint() -> None:
    grammar = Grammar.from_kbnf("start ::= '(' start ')' start | 'x';")
    constraint = automaton(grammar, BYTES, LIMITS)
    wrong: list[str] = []

    def walk(depth: int) -> None:
        state = constraint.initial
        for byte in b"(" * depth + b"x" + b")x" * depth:
            if byte not in constraint.mask(state):
                wrong.append(f"{depth}: {chr(byte)}")
                return
            state = constraint.advance(state, byte)
        if not constraint.is_final(state):
            wrong.append(f"{depth}: not final")

    threads = [threading.Thread(target=walk, args=(depth,)) for depth in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


_BRACKETS = "start ::= '(' start ')' start | '[' start ']' start | 'x';"


@pytest.mark.parametrize("method", ["automaton", "xgrammar"])
def test_texts_of_any_length_fit_into_the_memory(method: str) -> None:
    """Every state stays valid while the runner begins anew, as in a constraint that never does."""
    grammar, vocabulary = Grammar.from_kbnf(_BRACKETS), Vocabulary([*BYTES.tokens[:256], b"(("])
    endless = compile(grammar, vocabulary, method, Limits(megabytes=1))
    wide = compile(grammar, vocabulary)
    pairs, random = [(wide.initial, endless.initial)], Random(1)
    for _ in range(15_000):
        recent = pairs[-40:] if random.random() < 0.9 else pairs
        one, other = random.choice(recent)
        mask = wide.mask(one)
        assert np.array_equal(mask.bits, endless.mask(other).bits)
        assert wide.is_final(one) == endless.is_final(other)
        if len(mask):
            token_id = random.choice(mask.ids.tolist())
            pairs.append((wide.advance(one, token_id), endless.advance(other, token_id)))
    assert max(other >> 32 for _, other in pairs) >= 2, "the runner began anew several times"


def _renew(constraint: Constraint, times: int) -> None:
    """Read texts of brackets until the runner of a constraint began anew so often."""
    random, state = Random(1), constraint.initial
    while state >> 32 < times:
        state = constraint.initial
        for _ in range(100):  # 2 ** 100 stacks
            state = constraint.advance(state, ord(random.choice("([")))


def test_a_state_of_long_ago_is_refused() -> None:
    """The steps of earlier runners take a part of the memory; the initial state is always valid."""
    constraint = automaton(Grammar.from_kbnf(_BRACKETS), BYTES, Limits(megabytes=1))
    old = constraint.advance(constraint.initial, ord("("))
    _renew(constraint, 20)
    with pytest.raises(WorkbenchError, match="too old"):
        constraint.mask(old)
    assert constraint.mask(constraint.initial)


def test_distances_after_the_runner_began_anew() -> None:
    constraint = automaton(Grammar.from_kbnf(_BRACKETS), BYTES, Limits(megabytes=1))
    distances = constraint.token_distances()
    before = constraint.advance(constraint.initial, ord("["))
    assert distances.distance(before) == 3
    _renew(constraint, 1)
    state = constraint.initial
    for depth in range(1, 50):
        state = constraint.advance(state, ord("("))
        assert distances.distance(state) == 2 * depth + 1
    assert distances.distance(before) == 3


#: A single text of 2^40 letters: each byte is forced.
LONG_TEXT = Grammar.from_kbnf(
    "".join(f"r{i} ::= r{i + 1} r{i + 1};" for i in range(40)) + "r40 ::= 'a';", "r0"
)


@pytest.mark.parametrize(
    "method", ["automaton", "online", "domino", "lalr", "xgrammar", "llguidance", "pre3"]
)
def test_forced_bytes_end_at_the_limit(method: str) -> None:
    constraint = compile(LONG_TEXT, BYTES, method, Limits(seconds=0.5))
    assert constraint.forced(constraint.initial, 5) == b"aaaaa"
    with pytest.raises(LimitError, match=r"0\.5 seconds"):
        constraint.forced(constraint.initial)
