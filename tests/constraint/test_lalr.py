"""LALR(1) guiding by terminals: sound, exact for single bytes, and what crossing tokens lose."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.laws.test_mask_laws import grammar_of, trees
from workbench.base.errors import LimitError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.methods.lalr import LalrConstraint
from workbench.constraint.protocol import Constraint, State
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.toy_vocabularies import all_bytes, toy
from workbench.vocabulary.vocabulary import Vocabulary

#: Koo, Liu & He 2024, Appendix A: two calls, each spelt in two ways, with the model's scores.
KOO_SCORES = {
    ("fo", "o(1", "2", "3)"): 0.4,
    ("bar", "(", "456", ")"): 0.3,
    ("foo", "(", "123", ")"): 0.2,
    ("ba", "r(4", "5", "6)"): 0.1,
}
KOO_WORDS = toy(dict.fromkeys(token for row in KOO_SCORES for token in row))
#: Appendix A.1.
KOO_RULES = Grammar.from_kbnf(
    "S ::= Function '(' Number ')'; Function ::= 'foo' | 'bar'; Number ::= '123' | '456';", "S"
)

JSON = """
start ::= object | array | text | #'-?[0-9]+' | 'true' | 'null';
object ::= '{' (text ':' start (',' text ':' start)*)? '}';
array ::= '[' (start (',' start)*)? ']';
text ::= #'"[^"]*"';
"""
JSON_WORDS = toy(
    [*(bytes((i,)) for i in range(256)), '{"', '":', '"}', "[[", '"a"', "12", "true", "tr", 'ab"']
)


def allows(constraint: Constraint, words: tuple[str, ...]) -> bool:
    """Whether a sequence of tokens is allowed, the end token after it too."""
    vocabulary = constraint.vocabulary
    state = constraint.initial
    for token_id in vocabulary.ids(*words):
        if token_id not in constraint.mask(state):
            return False
        state = constraint.advance(state, token_id)
    return constraint.is_final(state)


def best(constraint: Constraint) -> str:
    """The text of the likeliest of the table's rows that a constraint allows."""
    _, words = max(
        (score, words) for words, score in KOO_SCORES.items() if allows(constraint, words)
    )
    return "".join(words)


def test_koo_appendix_a_the_ranking_is_inverted() -> None:
    exact = compile(KOO_RULES, KOO_WORDS, "automaton")
    by_terminals = compile(KOO_RULES, KOO_WORDS, "lalr")
    assert [allows(exact, words) for words in KOO_SCORES] == [True] * 4
    assert [allows(by_terminals, words) for words in KOO_SCORES] == [False, True, True, False]
    assert best(exact) == "foo(123)"
    assert best(by_terminals) == "bar(456)"


def test_no_token_into_a_terminal_that_cannot_be_completed() -> None:
    """``fo`` would need a token ``o``; the exact mask has ``o(1``."""
    constraint = compile(KOO_RULES, KOO_WORDS, "lalr")
    assert {KOO_WORDS.tokens[i] for i in constraint.mask(constraint.initial)} == {b"bar", b"foo"}


def test_terminals_that_cannot_be_tokenized_are_left_out() -> None:
    words = toy(["a", "b(", "(", ")"])
    constraint = compile(
        Grammar.from_kbnf("start ::= x* name '(' ')' y?; name ::= 'a' | 'b'; x ::= '-'; y ::= x;"),
        words,
        "lalr",
    )
    assert constraint.mask(constraint.initial).ids.tolist() == [0], "b crosses, - is no token"
    end = constraint.initial
    for token_id in (0, 2, 3):
        end = constraint.advance(end, token_id)
    assert constraint.mask(end).ids.tolist() == [4]


#   grammar                                               because
GRAMMARS = [
    (Grammar.from_kbnf(JSON),                             "JSON"),
    (Grammar.from_kbnf("start ::= start ',' x | x; x ::= #'[0-9]+' ('.' #'[0-9]+')?;"), "left recursion"),
    (Grammar.from_kbnf("start ::= 'a' start 'b' | 'ab';"), "self-embedding"),
    (Grammar.from_kbnf("start ::= ('=' | '==' | '<=')? #'[a-z]*' ' '?;"), "terminals that begin alike, and empty ones"),
    (Grammar.from_regex("(foo)+d|[0-9]+"),                "a regex: one terminal"),
    (Grammar.from_kbnf("start ::= kw #'[a-z]+' | #'[a-z]+' ';'; kw ::= 'if ';"), "a word may be a name"),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "because"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_single_bytes_lose_nothing(grammar: Grammar, because: str) -> None:
    compared = _compare(grammar, all_bytes(), exactly=True)
    assert compared > 3, because


def test_an_end_may_be_lost_with_the_token_that_crosses() -> None:
    """``ab`` is a·b, and the start of ab·b: as one token it can only be the second."""
    grammar = Grammar.from_kbnf("start ::= a? 'b'; a ::= 'a' | 'ab';")
    words = toy(["a", "b", "ab"])
    assert allows(automaton(grammar, words, LIMITS), ("ab",))
    constraint = LalrConstraint(grammar, words)
    assert not allows(constraint, ("ab",))
    assert allows(constraint, ("a", "b"))
    assert allows(constraint, ("ab", "b"))


@pytest.mark.parametrize(("grammar", "because"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_nothing_is_allowed_that_the_grammar_cannot_continue(
    grammar: Grammar, because: str
) -> None:
    assert _compare(grammar, JSON_WORDS, exactly=False) > 3, because


def _compare(grammar: Grammar, vocabulary: Vocabulary, *, exactly: bool, most: int = 25) -> int:
    """States the two reach together, their masks compared; how many there were."""
    constraint = LalrConstraint(grammar, vocabulary)
    exact = automaton(grammar, vocabulary, LIMITS)
    waiting: list[tuple[State, State]] = [(constraint.initial, exact.initial)]
    for here, there in waiting:  # grows while it is read
        mask, all_of_them = constraint.mask(here), exact.mask(there)
        assert len(mask), "never a dead end"
        assert set(mask) <= set(all_of_them)
        if exactly:
            assert mask == all_of_them, "the end token too"
            assert constraint.forced(here) == exact.forced(there)
        assert exact.is_final(there) or not constraint.is_final(here)
        for token_id in mask.ids.tolist()[:: max(1, len(mask) // 12)]:
            assert constraint.allows(here, token_id)
            after = constraint.advance(here, token_id), exact.advance(there, token_id)
            if token_id != vocabulary.end and len(waiting) < most and after not in waiting:
                waiting.append(after)
    return len(waiting)


@pytest.mark.exhaustive
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(trees())
def test_masks_over_bytes_are_exact_for_any_lalr_grammar(tree: GrammarTree) -> None:
    grammar = grammar_of(tree)
    try:
        LalrConstraint(grammar, all_bytes())
    except WorkbenchError as error:
        assume("LALR(1)" not in error.message)
        raise
    _compare(grammar, all_bytes(), exactly=True, most=12)
    _compare(grammar, toy(["a", "b", "c", "ab", "ba", "bc", "abc"]), exactly=False, most=12)


def test_tokens_inside_a_terminal_are_all_allowed() -> None:
    constraint = LalrConstraint(Grammar.from_kbnf(JSON), JSON_WORDS)
    allowed = {JSON_WORDS.tokens[i] for i in constraint.mask(constraint.initial)}
    assert {b"{", b'"', b'"a"', b"tr", b"true", b"12"} <= allowed
    assert not {b'{"', b"[["} & allowed, "they cross"
    inside = constraint.advance(constraint.initial, ord('"'))
    assert {b'ab"', b"[[", b"true"} <= {JSON_WORDS.tokens[i] for i in constraint.mask(inside)}


#   grammar                                                          lark says                because
CONFLICTS = [
    ("start ::= start '+' start | 'x';",                             "Shift/Reduce .*'\\+'.*<start : start '\\+' start>",
                                                                                              "an operator without a side"),
    ("start ::= ws ws 'a'; ws ::= (' ' ws)?;",                       "Shift/Reduce .* <ws : >", "white space twice"),
    ("start ::= a 'x' 'y' | b 'x' 'z'; a ::= 'q'; b ::= 'q';",       "Reduce/Reduce .* <a : 'q'>", "two terminals of look-ahead"),
    ("start ::= 'a' start 'a' | 'a';",                               "Shift/Reduce",          "the middle of a palindrome"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "said", "because"), CONFLICTS, ids=[row[2] for row in CONFLICTS])
def test_error_a_conflict_in_larks_words(rules: str, said: str, because: str) -> None:
    with pytest.raises(WorkbenchError, match=f"not LALR\\(1\\): {said}") as caught:
        compile(Grammar.from_kbnf(rules), all_bytes(), "lalr")
    assert "the method 'automaton'" in caught.value.hint, because


def test_conflicts_may_be_resolved_like_lark() -> None:
    sums = Grammar.from_kbnf("start ::= start '+' start | 'x';")
    constraint = compile(sums, all_bytes(), "lalr", conflicts="shift")
    assert allows(constraint, ("x", "+", "x", "+", "x"))
    twins = Grammar.from_kbnf("start ::= 'a' start 'a' | 'a';")
    lost = compile(twins, all_bytes(), "lalr", conflicts="shift")
    assert not allows(lost, ("a", "a", "a")), "it shifts past the middle, and never comes back"
    assert set(lost.mask(lost.initial)) <= set(automaton(twins, all_bytes(), LIMITS).mask(0))
    with pytest.raises(WorkbenchError, match="as 'conflicts', not 'guess'"):
        compile(sums, all_bytes(), "lalr", conflicts="guess")  # type: ignore[arg-type]


def test_error_reduce_reduce_conflicts_are_always_refused() -> None:
    rules = "start ::= a 'x' | b 'x'; a ::= 'q'; b ::= 'q';"
    with pytest.raises(WorkbenchError, match="Reduce/Reduce"):
        compile(Grammar.from_kbnf(rules), all_bytes(), "lalr", conflicts="shift")


def test_refused_tokens_change_nothing() -> None:
    constraint = LalrConstraint(KOO_RULES, KOO_WORDS)
    for refused in (-1, 0, KOO_WORDS.end or 0, 99):
        assert not constraint.allows(constraint.initial, refused)
        with pytest.raises(TokenNotAllowed):
            constraint.advance(constraint.initial, refused)


def test_error_no_text_can_be_tokenized() -> None:
    with pytest.raises(VocabularyError, match="no accepted text can be spelled"):
        compile(KOO_RULES, toy(["fo", "o(", "1"]), "lalr")


def test_error_too_deep() -> None:
    constraint = LalrConstraint(
        Grammar.from_kbnf("start ::= '(' start ')' | 'x';"), all_bytes(), Limits(stack_depth=30)
    )
    state = constraint.initial
    for _ in range(30):
        state = constraint.advance(state, ord("("))
    with pytest.raises(LimitError, match="stack depth"):
        constraint.mask(state)


def chain(length: int) -> Grammar:
    """Rules that each begin with the next: lark's first sets and look-ahead are cubic in it."""
    rules = "".join(f"r{i} ::= '{chr(200 + i)}' r{i + 1} | r{i + 1};" for i in range(length))
    text = f"start ::= r0; {rules} r{length} ::= 'c';"
    return Grammar.from_kbnf(text, limits=Limits(seconds=20))


#: lark's sets of a long rule are cubic in it, within one rule.
LONG_RULE = Grammar.from_kbnf("a ::= 'x' | 'y'; start ::= " + "a " * 3_000 + ";")


@pytest.mark.parametrize("grammar", [chain(300), LONG_RULE], ids=["many rules", "a long rule"])
def test_error_tables_take_too_long(grammar: Grammar) -> None:
    started = time.thread_time()
    with pytest.raises(LimitError, match="seconds"):
        compile(grammar, all_bytes(), "lalr", Limits(seconds=0.2))
    assert time.thread_time() - started < 1.5


def test_many_optional_parts_do_not_explode() -> None:
    parts = " ".join(f"#'[{chr(97 + i)}]'?" for i in range(26))
    constraint = compile(Grammar.from_kbnf(f"start ::= {parts} '!';"), all_bytes(), "lalr")
    assert len(constraint.mask(constraint.initial)) == 27
    m = constraint.advance(constraint.initial, ord("m"))
    assert len(constraint.mask(m)) == 14
