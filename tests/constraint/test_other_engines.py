"""The methods of other engines, compared with the exact masks: what each allows and forbids."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.constraint.test_lalr import GRAMMARS, JSON, JSON_WORDS
from tests.laws.test_mask_laws import grammar_of, trees
from workbench.base.errors import LimitError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.compile import compile
from workbench.constraint.methods.adaptive_cache import AdaptiveCacheConstraint, Storage
from workbench.constraint.methods.lexeme_earley import LexemeConstraint
from workbench.constraint.methods.lexer_tables import GreatGrammaConstraint
from workbench.constraint.methods.pre3 import Pre3Constraint, PrefixMachine
from workbench.constraint.methods.syncode import SynCodeConstraint
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.toy_vocabularies import all_bytes, toy
from workbench.vocabulary.vocabulary import Vocabulary

#: The grammar and the vocabulary of the lesson "Other engines, opened".
LISTS = Grammar.from_kbnf(
    "value ::= string | '[' (value (',' value)*)? ']'; string ::= #'\"[a-z]*\"';", "value"
)
WORDS = toy(
    ["[", "]", ",", '"', "a", "ab", '"a', 'b"', '",', '"]', "],", "]]", '","', '["', '"],', "]]]"]
)

#: Methods whose masks are the exact ones, for the grammars that they read.
EXACT = ("xgrammar", "greatgramma", "pre3")


def compared(
    method: str, grammar: Grammar, vocabulary: Vocabulary, depth: int, most: int = 400
) -> Counter[str]:
    """Masks of all short texts of tokens: equal tokens, tokens allowed and forbidden wrongly."""
    exact, made = compile(grammar, vocabulary), compile(grammar, vocabulary, method)
    queue: list[tuple[Any, Any, int]] = [(exact.initial, made.initial, 0)]
    found: Counter[str] = Counter(masks=0, allowed=0, forbidden=0)
    for right, state, length in islice(queue, most):  # the list grows during the loop
        wanted, mask = set(exact.mask(right)), set(made.mask(state))
        found += Counter(
            masks=1, allowed=len(mask - wanted), forbidden=len(wanted - mask), equal=mask == wanted
        )
        assert made.is_final(state) == any(end in mask for end in vocabulary.ends)
        for token_id in sorted(wanted & mask - set(vocabulary.ends)):
            if length < depth:
                steps = exact.advance(right, token_id), made.advance(state, token_id)
                queue.append((*steps, length + 1))
        for token_id in set(range(len(vocabulary))) - mask:
            with pytest.raises(TokenNotAllowed):
                made.advance(state, token_id)
    return found


@pytest.mark.parametrize("method", [*EXACT, "llguidance"])
def test_the_masks_of_lists_are_exact(method: str) -> None:
    found = compared(method, LISTS, WORDS, depth=4)
    assert found["masks"] > 300
    assert (found["allowed"], found["forbidden"]) == (0, 0)


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize(("grammar", "because"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_the_masks_are_exact(method: str, grammar: Grammar, because: str) -> None:
    words = toy([*(bytes((i,)) for i in range(256)), "ab", "if x", "==a", "a,", "1.5,", "foofoo"])
    found = compared(method, grammar, words, depth=2, most=120)
    assert found["masks"] > 3
    assert (found["allowed"], found["forbidden"]) == (0, 0), because


@pytest.mark.parametrize("method", [*EXACT, "llguidance"])
def test_the_masks_of_json_are_exact(method: str) -> None:
    found = compared(method, Grammar.from_kbnf(JSON), JSON_WORDS, depth=3, most=120)
    assert (found["allowed"], found["forbidden"]) == (0, 0)


@pytest.mark.exhaustive
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees())
def test_random_grammars(tree: GrammarTree) -> None:
    grammar = grammar_of(tree)
    words = toy([*(bytes((i,)) for i in range(256)), "ab", "ba", "abc", "aab", "cc"])
    small = Limits(seconds=20.0)
    for method in (*EXACT, "syncode"):
        try:
            compile(grammar, words, method, small)
        except (LimitError, VocabularyError, WorkbenchError):
            assume(method != "xgrammar")
            continue
        found = compared(method, grammar, words, depth=2, most=40)
        assert found["forbidden"] == 0, method
        assert method == "syncode" or found["allowed"] == 0, method


# -- xgrammar ----------------------------------------------------------------------------------


def _spelt(vocabulary: Vocabulary, ids: Any) -> set[str]:
    return {(vocabulary.tokens[i] or b"end").decode() for i in ids}


def _after(constraint: Any, *words: str) -> Any:
    state = constraint.initial
    for token_id in constraint.vocabulary.ids(*words):
        state = constraint.advance(state, token_id)
    return state


def test_the_stack_decides_the_tokens_that_leave_a_list() -> None:
    made = AdaptiveCacheConstraint(LISTS, WORDS)
    inside = _after(made, "[", '"a')
    (position,) = made.positions(inside)
    entry = made.entry(position)
    # by hand: the string is read in the rule of its list, so "] and what follows the string is too
    assert _spelt(WORDS, entry.accepted) == {'"', "a", "ab", 'b"'}
    assert _spelt(WORDS, entry.dependent) == {'",', '"]', '","', '"],'}
    assert _spelt(WORDS, made.undecided(inside)) == {'",', '"]', '","', '"],'}
    assert _spelt(WORDS, made.mask(inside)) == {'"', "a", "ab", 'b"', '",', '"]', '","'}
    # the end of a list: whether ]] closes two lists is a question to the stack
    (position,) = made.positions(_after(made, "[", "[", '"a', '"'))
    assert position not in made.positions(inside)


def test_context_expansion_rejects_what_no_caller_reads() -> None:
    grammar = Grammar.from_kbnf("start ::= '<' x '>' | '(' x ')'; x ::= 'a' x? 'b';")
    words = toy(["<", ">", "(", ")", "a", "b", "b>", "b)", "b]", "b<", "]"])
    made = AdaptiveCacheConstraint(grammar, words)
    (position,) = made.positions(_after(made, "<", "a"))
    entry = made.entry(position)
    assert _spelt(words, entry.dependent) == {"b>", "b)"}
    assert _spelt(words, entry.rejected) >= {"b]", "b<"}


def test_an_entry_is_stored_in_its_smallest_form() -> None:
    words = toy([*map(chr, range(128)), *(f"w{i}" for i in range(300))])
    made = AdaptiveCacheConstraint(Grammar.from_kbnf(JSON), words)
    forms = {
        text: {made.entry(at).storage for at in made.positions(_after(made, *text))}
        for text in ("[", '["', "[1")
    }
    assert forms['["'] == {Storage.ACCEPT_HEAVY}
    assert forms["[1"] == {Storage.REJECT_HEAVY}
    for position in range(len(made.network)):
        entry = made.entry(position)
        split = [*entry.accepted, *entry.rejected, *entry.dependent]
        assert sorted(split) == list(range(428)), "every token is in one of the three sets"
        assert entry.bytes <= 4 * 14 + entry.dependent.nbytes


# -- llguidance --------------------------------------------------------------------------------


def test_slices_change_no_mask_and_shorten_the_walk() -> None:
    texts = ["plain", "text", "of", "some", "length", 'end"', '"', "\\n", "a\\"]
    words = toy([*(bytes((i,)) for i in range(128)), *texts, *(f"w{i}" for i in range(200))])
    grammar = Grammar.from_kbnf(
        r"""start ::= '[' text ']'; text ::= #'"([^"\\\\\\x00-\\x1F\\x7F]|\\\\[n"])*"';"""
    )
    sliced, whole = (LexemeConstraint(grammar, words, slices=how) for how in ("json", "none"))
    for text in ([], ["["], ["[", '"'], ["[", '"', "plain"], ["[", '"', "\\"], ["[", '"', '"']):
        assert sliced.mask(_after(sliced, *text)) == whole.mask(_after(whole, *text))
    inside = _after(sliced, "[", '"')
    fitting = sliced.fitting(inside)
    assert fitting is not None
    assert int(fitting.tokens.sum()) > 250
    assert sliced.fitting(_after(sliced, "[")) is None
    assert sliced.fitting(_after(sliced, "[", '"', "\\")) is None, "after a backslash one character"
    assert sliced.walked(inside)[0] * 3 < whole.walked(inside)[0]


def test_slices_are_cached_with_the_vocabulary() -> None:
    first, second = LexemeConstraint(LISTS, WORDS), LexemeConstraint(LISTS, WORDS)
    assert first.slices is second.slices
    assert LexemeConstraint(LISTS, WORDS, slices="none").slices == ()


def test_the_longest_match_loses_a_text_and_allows_a_dead_end() -> None:
    grammar = Grammar.from_kbnf("start ::= word 'a'; word ::= #'a+';")
    found = compared("llguidance", grammar, toy(["a", "aa"]), depth=3)
    # after aa the text may end; the lexer still reads the word
    assert found["forbidden"] > 0
    lost = compared(
        "llguidance", Grammar.from_kbnf("start ::= #'a+' 'b' | 'aa' 'c';"), toy(["a", "b", "c"]), 4
    )
    assert lost["forbidden"] == 0, "both lexemes are read at once, and both end before c"


def test_an_earley_row_is_shared_by_repetitions() -> None:
    made = LexemeConstraint(LISTS, WORDS)
    state = _after(made, "[", '"a', '",')
    rows = []
    for _ in range(20):
        state = _after_from(made, state, '"a', '",')
        rows.append(len(made.parser.rows))
    assert rows[-1] == rows[4]


def _after_from(constraint: Any, state: Any, *words: str) -> Any:
    for token_id in constraint.vocabulary.ids(*words):
        state = constraint.advance(state, token_id)
    return state


def test_error_for_slices_that_are_no_regex() -> None:
    with pytest.raises(WorkbenchError, match="a-z"):
        compile(LISTS, WORDS, "llguidance", slices="[a-z")


# -- GreatGramma -------------------------------------------------------------------------------


def test_the_parser_state_decides_most_sequences() -> None:
    made = GreatGrammaConstraint(LISTS, WORDS)
    made.precompute()
    decided = sum(len(entry.always) for entry in made._entries.values())
    left = sum(len(entry.depends) for entry in made._entries.values())
    assert decided > 0
    assert left > 0
    # after ["a the first bracket is decided, and what follows it is left to the stack
    ((at, stack),) = list(made.places(_after(made, "[", '"a')))
    entry = made.entry(at, stack[-1])
    assert _spelt(WORDS, made.tokens_of(at, list(entry.always))) >= {"a", "ab", '"', 'b"', '"]'}
    assert _spelt(WORDS, made.tokens_of(at, list(entry.depends))) == {'"],'}


# -- Pre³ --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("grammar", "because"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_the_edges_read_as_the_parser_reduces(grammar: Grammar, because: str) -> None:
    made = Pre3Constraint(grammar, all_bytes())
    parser, terminals = made.reader.parser, range(len(made.terminals.each))
    stacks = [parser.initial]
    for stack in islice(stacks, 200):  # the list grows during the loop
        for terminal in terminals:
            wanted = parser.shifted(stack, terminal)
            assert made.machine.step(stack, terminal) == wanted, because
            if wanted is not None and wanted not in stacks:
                stacks.append(wanted)


@pytest.mark.parametrize(("grammar", "because"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_no_condition_is_a_part_of_another(grammar: Grammar, because: str) -> None:
    machine: PrefixMachine = Pre3Constraint(grammar, all_bytes()).machine
    for top, row in machine.table.actions.items():
        for terminal in row:
            conditions = [edge.condition for edge in machine.edges(top, terminal)]
            for one in conditions:
                longer = [c for c in conditions if len(c) >= len(one) and c[-len(one) :] == one]
                assert longer == [one], because


def test_right_recursion_has_an_edge_that_only_reduces() -> None:
    grammar = Grammar.from_kbnf("start ::= '(' list ')'; list ::= 'a' list | 'a';")
    machine = Pre3Constraint(grammar, all_bytes()).machine
    assert any(not edge.reads for _, _, edge in machine.every)
    found = compared("pre3", grammar, toy(["(", ")", "a", "aa", "a)", "aaa)", "))"]), depth=5)
    assert (found["allowed"], found["forbidden"]) == (0, 0)


# -- SynCode -----------------------------------------------------------------------------------


def test_syncode_forbids_nothing_and_allows_too_much() -> None:
    found = compared("syncode", LISTS, WORDS, depth=4)
    assert found["forbidden"] == 0
    assert found["allowed"] > 0


def test_the_tokens_that_syncode_allows_wrongly_by_hand() -> None:
    exact, made = compile(LISTS, WORDS), SynCodeConstraint(LISTS, WORDS)
    after = ["[", '"a']
    wrong = set(made.mask(_after(made, *after))) - set(exact.mask(_after(exact, *after)))
    assert _spelt(WORDS, wrong) == {'"],'}, "string and ] are read, the comma is not"
    state = _after(made, *after, '"],')
    assert len(made.mask(state)) == 0, "nothing can follow a token that was allowed wrongly"
    # the store has no stack: one bracket may close, so that all may
    state = _after(made, "[", '"a', '"')
    assert _spelt(WORDS, made.mask(state)) >= {"]", "]]", "]]]", "],"}


def test_single_bytes_make_syncode_exact() -> None:
    found = compared("syncode", Grammar.from_kbnf(JSON), all_bytes(), depth=3, most=100)
    assert (found["allowed"], found["forbidden"]) == (0, 0)


# -- all ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*EXACT, "llguidance", "syncode"])
def test_error_for_an_empty_language(method: str) -> None:
    with pytest.raises(VocabularyError):
        compile(Grammar.from_kbnf("start ::= 'x';"), toy(["a"]), method)


@pytest.mark.parametrize("method", ["greatgramma", "syncode", "pre3"])
def test_error_for_rules_that_are_not_lalr(method: str) -> None:
    with pytest.raises(WorkbenchError, match=r"not LALR\(1\)"):
        compile(Grammar.from_kbnf("start ::= 'a' start 'a' | 'a';"), toy(["a"]), method)


@pytest.mark.parametrize("method", [*EXACT, "llguidance", "syncode"])
def test_forced_text(method: str) -> None:
    made = compile(LISTS, WORDS, method, LIMITS)
    assert made.forced(_after(made, "[", '["', 'b"', "]]")) == b""
    other = compile(Grammar.from_kbnf("start ::= 'abc' ('d' | 'e');"), all_bytes(), method)
    assert other.forced(other.initial) == b"abc"
