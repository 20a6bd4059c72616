"""Willard & Louf's index: the algorithms on small machines, and its masks against the exact ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.base.errors import LimitError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source, Span
from workbench.constraint.compile import compile
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.methods.outlines import (
    CharacterMachine,
    OutlinesConstraint,
    character_machine,
    find_sub_sequences,
    map_states_to_vocab,
    without_dead_ends,
)
from workbench.constraint.protocol import State
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.syntax.grammar_tree import GrammarTree, Literal, Rule
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Bytes
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

LETTERS = toy(["a", "b", "c", "ab", "bc", "ca", "aab", "0", "1", "10", "a0", "é", "ü", "aé", "éü"])


def machine(pattern: str) -> CharacterMachine:
    return character_machine(parse_regex(Source(pattern, "regex")))


def run(m: CharacterMachine, text: str) -> State | None:
    """The state after a text, by δ alone."""
    state: State | None = m.initial
    symbols = m.symbols(text)
    if symbols is None:
        return None
    for symbol in symbols:
        state = None if state is None else m.delta(state, symbol)
    return state


def test_algorithm_3_walks_from_every_state_that_reads_the_first_character() -> None:
    """The paper's own example is a number with a point: some states read ``.2``."""
    m = machine(r"[0-9]*\.[0-9]+")
    point = m.symbols(".2")
    assert point is not None
    paths = find_sub_sequences(m, point)
    assert {path[0] for path in paths} == {s for s in m.edges if m.delta(s, point[0]) is not None}
    assert all(len(path) == 3 for path in paths), "one state more than characters"
    assert {path[-1] for path in paths} <= m.finals
    assert m.initial in {path[0] for path in paths}


def test_algorithm_3_leaves_out_start_states_that_fail() -> None:
    m = machine("ab|ac")
    assert find_sub_sequences(m, m.symbols("bc") or ()) == []
    (path,) = find_sub_sequences(m, m.symbols("ab") or ())
    assert path[0] == m.initial
    assert path[-1] in m.finals


def test_algorithm_3_reads_the_first_character() -> None:
    """As printed the walk skips v₀: ``ba`` would be read wherever ``b`` begins and ``a`` follows."""
    m = machine("(ba)?[ab]")
    paths = find_sub_sequences(m, m.symbols("ba") or ())
    assert [path[0] for path in paths] == [m.initial]


def test_algorithm_4_maps_states_to_tokens() -> None:
    vocabulary = toy(["f", "oo", "foo", "for", "food"])
    m = machine("(foo)+d")
    index = map_states_to_vocab(m, vocabulary)
    spelt = {
        state: {(vocabulary.tokens[i] or b"").decode() for i in index.row(state)}
        for state in index.sigma
    }
    assert spelt[m.initial] == {"f", "foo", "food"}
    after_f = run(m, "f")
    assert after_f is not None
    assert spelt[after_f] == {"oo"}
    assert all("for" not in tokens for tokens in spelt.values())
    assert index.row(m.initial)[2] == index.target(m.initial, 2) == run(m, "foo"), (
        "where a token leads is kept"
    )


def test_characters_in_the_same_sets_are_one_symbol() -> None:
    m = machine(r"\w+é|[^a]")
    alphabet = {m.symbols(c) for c in "bcz_9ß漢"}
    assert len(alphabet) == 1
    assert m.symbols("a") not in alphabet
    assert m.symbols("é") not in alphabet
    assert machine("[a-c]+").symbols("abd") is None, "no set has it"


#   pattern                          because
PATTERNS = [
    ("(foo)+d|a*",                   "loops and a choice"),
    ("",                             "the empty text alone"),
    ("a?b?c?",                       "all optional"),
    ("(a|b)*a(a|b){3}",              "many states"),
    ("(ab|a)(bc|c)?",                "several ways to read one text"),
    ("(a*b)?c{2,4}",                 "counted; a*b must not become a*"),
    ("(a{2}){0,2}b{0}",              "counts of counts, and none at all"),
    ("((a|)b*){2,3}",                "copies of what may be empty"),
    ("[^ab]+",                       "all but some"),
    ("[é-ü]*a|.é",                   "characters of several bytes"),
    (r"(?a:\w)+é",                   "ASCII"),
    (r"\d+(a0)*",                    "all digits there are, not the ten"),
    ("a[^\\s\\S]|b",                 "a part that matches nothing"),
    ("(?i)AB|Ca",                    "flags are the parser's"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "because"), PATTERNS, ids=[row[1] for row in PATTERNS])
def test_masks_are_the_exact_ones(pattern: str, because: str) -> None:
    grammar = Grammar.from_regex(pattern)
    _compare(OutlinesConstraint(grammar, LETTERS, LIMITS), grammar, LETTERS)


def _compare(
    constraint: OutlinesConstraint, grammar: Grammar, vocabulary: Vocabulary, most: int = 60
) -> None:
    """Every state tokens lead to, together with the exact engine's."""
    exact = automaton(grammar, vocabulary, LIMITS)
    waiting = [(constraint.initial, exact.initial)]
    for here, there in waiting:  # grows while it is read
        mask = constraint.mask(here)
        assert mask == exact.mask(there)
        assert constraint.is_final(here) == exact.is_final(there)
        forced = constraint.forced(here)
        assert exact.forced(there).startswith(forced)
        for token_id in mask:
            after = constraint.advance(here, token_id), exact.advance(there, token_id)
            if token_id != vocabulary.end and after not in waiting and len(waiting) < most:
                waiting.append(after)


regexes = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", "é", "(?:)", "0"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda p: f"(?:{'|'.join(p)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    ),
    max_leaves=6,
)


@pytest.mark.exhaustive
@settings(max_examples=150, deadline=None)
@given(regexes)
def test_any_regex_has_the_exact_masks(pattern: str) -> None:
    """interegular's machine is made independently of this project's, so each checks the other."""
    grammar = Grammar.from_regex(pattern)
    try:
        constraint = OutlinesConstraint(grammar, LETTERS, LIMITS)
    except VocabularyError:
        with pytest.raises(VocabularyError):
            automaton(grammar, LETTERS, LIMITS)
        return
    _compare(constraint, grammar, LETTERS, most=15)


def test_tokens_of_partial_characters_are_lost() -> None:
    """é can be one token or two bytes; a machine over characters reads only the first."""
    halves = Vocabulary((b"a", "é".encode(), b"\xc3", b"\xa9", b"a\xc3", b"<end>"), end=5)
    grammar = Grammar.from_regex("[aé]+")
    exact = compile(grammar, halves, "automaton")
    constraint = compile(grammar, halves, "outlines")
    assert exact.mask(exact.initial).ids.tolist() == [0, 1, 2, 4]
    assert constraint.mask(constraint.initial).ids.tolist() == [0, 1]
    whole = Vocabulary((b"a", "é".encode(), None, None, None, b"<end>"), end=5, special=(2, 3, 4))
    _compare(OutlinesConstraint(grammar, halves, LIMITS), grammar, whole)


def test_error_text_that_needs_partial_characters() -> None:
    halves = Vocabulary((b"a", b"\xc3", b"\xa9", b"<end>"), end=3)
    grammar = Grammar.from_regex("aé")
    assert len(compile(grammar, halves).mask(0)) == 1
    with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
        compile(grammar, halves, "outlines")


def test_dead_ends_are_removed_after_algorithm_4() -> None:
    vocabulary = toy(["a", "b", "bcd"])
    m = machine("abcd|ae?")
    whole = map_states_to_vocab(m, vocabulary)
    after_a = whole.row(m.initial)[0]
    assert set(whole.row(after_a)) == {1, 2}, "as printed: b alone leaves c, which nothing spells"
    assert set(without_dead_ends(whole, m.finals).row(after_a)) == {2}


RULES = """
start ::= '{' pair (', ' pair)* '}';
pair ::= #'"[a-z]+"' ': ' value;
value ::= #'[0-9]+' | 'true' | 'é'?;
"""


def test_ascii_bytes_are_characters() -> None:
    grammar = Grammar.from_kbnf(r"start ::= #'(?-u:\\w)é';")
    _compare(OutlinesConstraint(grammar, LETTERS, LIMITS), grammar, LETTERS)


def test_rules_that_do_not_recurse_are_one_regex() -> None:
    words = toy([*'{}", :abtrue0123', "é", '": ', ', "', "tru", "true"])
    grammar = Grammar.from_kbnf(RULES)
    _compare(OutlinesConstraint(grammar, words, LIMITS), grammar, words)


def test_forced_text() -> None:
    constraint = compile(Grammar.from_regex("(foo|fod)é?"), LETTERS_AND_BYTES, "outlines")
    assert constraint.forced(constraint.initial) == b"fo"
    assert constraint.forced(constraint.advance(constraint.initial, ord("f"))) == b"o"
    assert (
        compile(Grammar.from_regex("aéb"), LETTERS_AND_BYTES, "outlines").forced(0)
        == "aéb".encode()
    )


LETTERS_AND_BYTES = toy([*(bytes((i,)) for i in range(256)), "é"])


def test_a_token_that_is_not_allowed() -> None:
    constraint = compile(Grammar.from_regex("ab"), LETTERS, "outlines")
    for refused in (1, 15, -1, 99):
        with pytest.raises(TokenNotAllowed):
            constraint.advance(constraint.initial, refused)
    ended = constraint.advance(constraint.initial, 3)
    assert constraint.advance(ended, 15) == ended
    assert constraint.forced(ended) == b""


#   grammar                                                       said                     because
REFUSED = [
    ("start ::= 'a' start 'b' | 'ab';",                           "its end, 'start'",     "recursion in the middle"),
    ("start ::= a; a ::= 'x' b 'y'; b ::= 'y' | a;",              "its end, 'b'",         "recursion through another rule"),
    ("start ::= #substrs'abc';",                                  "not a plain regex",        "pieces of a text"),
    ("start ::= #ex'ab' 'ab';",                                   "not a plain regex",        "a regex that stops before a match"),
]  # fmt: skip


#   rules                                                                     because
LOOPS = [
    ("start ::= 'a' ws 'b'; ws ::= (#'[ 0]' ws)?;",                               "white space as DOMINO writes it"),
    ("start ::= 'a' start | 'b';",                                                "a ::= x a | y"),
    ("start ::= #'[ab]' start?;",                                                 "the end left out"),
    ("start ::= a; a ::= 'a' b; b ::= 'b' | '0' a;",                              "through another rule"),
    ("start ::= start 'a' | 'b';",                                                "at its beginning"),
    ("start ::= 'a' start | 'b' 'c' start | 'c' | '0' x '1'; x ::= ('1' x | '');",  "several ways round, and another loop"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "because"), LOOPS, ids=[row[1] for row in LOOPS])
def test_a_rule_that_calls_itself_at_its_end_is_a_loop(rules: str, because: str) -> None:
    grammar = Grammar.from_kbnf(rules)
    _compare(OutlinesConstraint(grammar, LETTERS_AND_BYTES, LIMITS), grammar, LETTERS_AND_BYTES)


def test_a_loop_without_an_end_is_refused_by_the_grammar_already() -> None:
    with pytest.raises(WorkbenchError):
        Grammar.from_kbnf("start ::= 'a' start;")


@pytest.mark.parametrize(("text", "said", "because"), REFUSED, ids=[row[2] for row in REFUSED])
def test_error_grammars_that_are_not_one_regex(text: str, said: str, because: str) -> None:
    with pytest.raises(WorkbenchError, match=said) as caught:
        compile(Grammar.from_kbnf(text), LETTERS_AND_BYTES, "outlines")
    assert "the method 'automaton'" in caught.value.hint, because


def test_error_bytes_that_are_not_characters() -> None:
    nowhere = Span(0, 0)
    with pytest.raises(WorkbenchError, match="the regex is one of bytes"):
        character_machine(Bytes(((0x61, 0x80),), nowhere))
    rule = Rule("start", Literal(b"\xff", nowhere), nowhere, nowhere)
    tree = GrammarTree((rule,), Source("…", "made"))
    with pytest.raises(WorkbenchError, match="bytes that are not characters"):
        compile(
            Grammar(tree.source, Notation.KBNF, build(tree), tree=tree),
            LETTERS_AND_BYTES,
            "outlines",
        )


def test_error_rules_that_call_each_other_too_deeply() -> None:
    chain = "".join(f"r{i} ::= 'a' r{i + 1} 'b' | 'c';" for i in range(900))
    grammar = Grammar.from_kbnf(f"start ::= r0; {chain} r900 ::= 'c';")
    with pytest.raises(LimitError, match=r"too deeply|seconds"):  # by the recursion limit
        compile(grammar, LETTERS_AND_BYTES, "outlines")


@pytest.mark.slow
def test_error_many_words_take_too_long() -> None:
    """None of the small machines reaches the step at which the clock is looked at."""
    words = "|".join(f"{i:04}x" for i in range(4000))
    started = time.thread_time()
    with pytest.raises(LimitError, match=r"0\.3 seconds"):
        compile(Grammar.from_regex(words), LETTERS_AND_BYTES, "outlines", Limits(seconds=0.3))
    assert time.thread_time() - started < 2


#   pattern                     limits                  budget       because
EXPLODING = [
    ("(a|b)*a(a|b){20}",        Limits(seconds=0.3),    "seconds",   "a million states"),
    ("((a|b)*a(a|b){20})|.*",   Limits(seconds=0.3),    "seconds",   "a part explodes, the whole is small"),
    ("(a|b|c|0){0,300}",        Limits(megabytes=1, seconds=20), "megabytes", "three hundred wide states"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "limits", "budget", "because"), EXPLODING, ids=[r[3] for r in EXPLODING])  # fmt: skip
def test_error_a_machine_or_an_index_too_large(
    pattern: str, limits: Limits, budget: str, because: str
) -> None:
    words = toy([a + b + c + d for a in "abc0" for b in "abc0" for c in "abc0" for d in "abc0"])
    with pytest.raises(LimitError) as caught:
        compile(Grammar.from_regex(pattern), words, "outlines", limits)
    assert caught.value.budget == budget, because
