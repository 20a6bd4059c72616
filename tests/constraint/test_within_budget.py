"""Texts that always end: distances in tokens against a search, and masks under a budget."""

from __future__ import annotations

import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workbench as wb
from tests.constraint.proper.oracles import toy as merged
from tests.constraint.test_outlines import regexes
from tests.laws.test_mask_laws import grammar_of, slow, trees
from workbench.base.errors import LimitError, TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS
from workbench.constraint.engine.automaton import StackConstraint, automaton
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.token_distances import FAR
from workbench.constraint.within_budget import WithinBudget
from workbench.decoding.model import ToyModel
from workbench.decoding.strategy import Strategy
from workbench.grammar.gallery import load_gallery
from workbench.syntax.grammar_tree import GrammarTree
from workbench.vocabulary.toy_vocabularies import all_bytes, toy

#: Tokens over the letters of the random grammars; several of them end or begin rules inside.
WORDS = toy(["a", "b", "c", "ab", "ba", "cc", "abc", "bab", "aab"])

#: Tokens for the cases below.
SIGNS = toy(
    ["a", "b", "(", ")", "[", "]", "+", "*", "1", ",", "()", "))", ")))", "((", ")+", "+1", "1)", "aa", "bb", "ab", ")]", "],["]
)  # fmt: skip

#: The most tokens that the search tries.
DEEP = 7


def searched(constraint: Constraint, state: State, most: int = DEEP) -> int:
    """The fewest tokens to an accepted text by trying all of them; more than ``most``: ``FAR``."""
    level = {state}
    for tokens in range(most + 1):
        if any(map(constraint.is_final, level)):
            return tokens
        level = {
            constraint.advance(here, token)
            for here in level
            for token in constraint.mask(here)
            if token not in constraint.vocabulary.ends
        }
    return FAR


def agree(constraint: wb.TokenMachine, walks: int = 6, length: int = 5) -> None:
    """Distances equal the search's in the states of random walks, and after each token there."""
    distances = constraint.token_distances()
    chooser = random.Random(len(constraint.vocabulary))
    for _ in range(walks):
        state = constraint.initial
        for _ in range(length):
            expected = searched(constraint, state)
            assert distances.distance(state) == expected or (
                expected == FAR and distances.distance(state) > DEEP
            )
            ids, found = distances.after(state)
            least: dict[int, int] = {}
            for token, distance in zip(ids.tolist(), found.tolist(), strict=True):
                least[token] = min(distance, least.get(token, FAR))
            allowed = [i for i in constraint.mask(state) if i not in constraint.vocabulary.ends]
            assert {i for i, distance in least.items() if distance < FAR} == set(allowed)
            for token in allowed:
                assert least[token] == distances.distance(constraint.advance(state, token))
                assert least[token] <= distances.farthest(state)
            if not allowed:
                break
            state = constraint.advance(state, chooser.choice(allowed))


CASES = {
    "counted twice": "start ::= 'a' start 'b' | 'ab';",
    "any number of rules end at once": "start ::= '(' start? ')' | '(' start '+' start? | '1';",
    "a chain of operators": "start ::= sum; sum ::= product ('+' sum)?; product ::= value ('*' product)?;"
    " value ::= '1' | '(' sum ')';",
    "right recursion in brackets": "start ::= '(' list ')'; list ::= item (',' list)?; item ::= 'a'+ | start;",
    "several stacks": "start ::= 'a' start 'a' | 'b' start 'b' | 'a' | 'b' | 'aa' | 'bb';",
    "two kinds of brackets": "start ::= ('(' start ')' | '[' start ']' | '1' | 'a')+;",
    "lists in lists": "start ::= '[' (start (',' start)*)? ']' | '1';",
    "long way out": "start ::= 'a' | '(' deep ')'; deep ::= '((((((' start '))))))' | 'b' start;",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_the_first_distance_equals_that_of_all_texts(text: str) -> None:
    grammar = wb.Grammar.from_kbnf(text)
    words = [word.decode() for word in SIGNS.tokens if word is not None]
    found = (
        wb.compile(grammar, SIGNS).token_distances().distance(wb.compile(grammar, SIGNS).initial)
    )
    texts = ("".join(each) for each in itertools.product(words, repeat=found))
    assert any(map(grammar.accepts, texts))
    for shorter in range(found):
        assert not any(
            grammar.accepts("".join(each)) for each in itertools.product(words, repeat=shorter)
        )


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_distances_equal_a_search(text: str) -> None:
    constraint = wb.compile(wb.Grammar.from_kbnf(text), SIGNS)
    assert isinstance(constraint, StackConstraint)
    agree(constraint, walks=25, length=8)


@pytest.mark.parametrize("pattern", ["(a|b)*ab", "a{3,9}", "(aa)+b?|1", "1?", r"\((1|\+1)*\)"])
def test_distances_of_a_regex_equal_a_search(pattern: str) -> None:
    agree(wb.compile(wb.Grammar.from_regex(pattern), SIGNS), walks=10)


@pytest.mark.exhaustive
@slow
@given(trees())
def test_distances_of_random_grammars(tree: GrammarTree) -> None:
    try:
        constraint = automaton(grammar_of(tree), WORDS, LIMITS)
        agree(constraint, walks=3, length=4)
    except (VocabularyError, LimitError):
        assume(False)


@pytest.mark.exhaustive
@slow
@given(regexes)
def test_distances_of_random_regexes(pattern: str) -> None:
    try:
        agree(wb.compile(wb.Grammar.from_regex(pattern), WORDS), walks=3)
    except VocabularyError:
        assume(False)


def exact_within(inner: Constraint, budget: int, most_states: int = 300) -> None:
    """The masks under a budget equal those by trying all tokens, in the first states reached."""
    within = WithinBudget(inner, budget)
    ends = inner.vocabulary.ends
    end = bool(ends)
    waiting = [within.initial]
    seen = {within.initial}
    for state in waiting:  # the list grows during the loop
        expected = {
            token
            for token in inner.mask(state.inner)
            if token in ends
            or searched(inner, inner.advance(state.inner, token), state.left - 1 - end) < FAR
        }
        assert set(within.mask(state)) == expected
        assert expected or (not end and inner.is_final(state.inner)), "no dead end"
        assert within.fewest(state) == searched(inner, state.inner, state.left) + end
        for token in set(inner.mask(state.inner)) - set(ends):
            if token not in expected:
                with pytest.raises(TokenNotAllowed):
                    within.advance(state, token)
            elif (there := within.advance(state, token)) not in seen and len(seen) < most_states:
                seen.add(there)
                waiting.append(there)


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_a_mask_allows_exactly_what_can_still_end(text: str) -> None:
    exact_within(wb.compile(wb.Grammar.from_kbnf(text), SIGNS), 5)


STACK = wb.Grammar.from_kbnf(CASES["any number of rules end at once"])
REGULAR = wb.Grammar.from_regex(r"(a|b)*ab|\((1|\+1)*\)")
SHORT = wb.Grammar.from_regex(r"\((1|\+1){1,3}\)|aab?")

METHODS_OF = [
    *((STACK, method) for method in ("automaton", "composed", "domino", "online")),
    *((REGULAR, method) for method in ("automaton", "composed", "domino", "online", "outlines")),
    *((SHORT, method) for method in ("template", "lalr", "proper", "vegas", "unconstrained")),
]

#: A tokenizer that the proper methods know.
MERGES = merged("ab1()+", [("1", ")"), ("+", "1"), ("a", "a"), ("aa", "b")])


@pytest.mark.parametrize(("grammar", "method"), METHODS_OF, ids=lambda v: getattr(v, "name", v))
def test_every_method_is_exact(grammar: wb.Grammar, method: str) -> None:
    vocabulary = MERGES if method in ("proper", "vegas") else SIGNS
    exact_within(wb.compile(grammar, vocabulary, method), 5, 60)


def test_direct_merge_is_exact() -> None:
    exact_within(wb.compile(SHORT, MERGES, "direct_merge"), 7, 60)


def test_domino_with_a_finite_lookahead_is_exact() -> None:
    exact_within(wb.compile(SHORT, SIGNS, "domino", k=0), 6, 60)


def test_small_tokens_are_counted() -> None:
    for method in ("automaton", "composed", "domino"):
        exact_within(wb.compile(STACK, SIGNS, method, small_tokens=True), 6, 60)
    for small, fewest in ((False, 3), (True, 5)):
        within = WithinBudget(
            wb.compile(wb.Grammar.from_regex("aabb"), SIGNS, small_tokens=small), 9
        )
        assert within.fewest(within.initial) == fewest


def test_an_intersection_is_exact() -> None:
    even, short = (
        wb.compile(wb.Grammar.from_regex(regex), SIGNS) for regex in ("((a|b){2})+", "[ab]{3,4}")
    )
    exact_within(wb.Intersection(even, short), 4)


def test_several_end_tokens_and_none() -> None:
    words: list[bytes | None] = [b"a", b"b", b"ab", None, None, None]
    for ends in ((), (3,), (3, 4)):
        exact_within(wb.compile(wb.Grammar.from_regex("a+b?"), wb.Vocabulary(words, ends)), 3)


def test_a_vocabulary_without_single_bytes() -> None:
    holes = toy(["ab", "aab", "(", "b)", "))", "1"])
    exact_within(wb.compile(wb.Grammar.from_regex("(ab|a)*"), holes), 4)
    nested = wb.Grammar.from_kbnf("start ::= '(' start ')' | 'a'? 'b';")
    exact_within(wb.compile(nested, holes), 6)


@pytest.mark.parametrize("closing", ["</t>", "))"])
@pytest.mark.parametrize("budget", [0, 1, 2, 4])
@pytest.mark.parametrize("opening", ["", "("])
@pytest.mark.parametrize("small", [False, True])
def test_reasoning_is_exact(closing: str, budget: int, opening: str, small: bool) -> None:
    words = ["a", "b", "(", ")", "ab", "))", ")a", "))a", ")))", "b))ab"]
    vocabulary = wb.Vocabulary(
        [*(word.encode() for word in words), None, None],
        end=(10,),
        special=(11,),
        names={10: "<end>", 11: "</t>"},
    )
    answer = wb.compile(wb.Grammar.from_regex("(ab)+a?"), vocabulary, small_tokens=small)
    reasoning = wb.Reasoning(answer, opening, closing, budget)
    fewest = searched(reasoning, reasoning.initial) + 1
    for extra in (0, 1, 3):
        exact_within(reasoning, fewest + extra, 80)


def test_reasoning_with_special_markers_is_exact() -> None:
    names = {3: "<end>", 4: "<t>", 5: "</t>"}
    words: list[bytes | None] = [b"a", b"b", b"ab", None, None, None]
    vocabulary = wb.Vocabulary(words, end=(3,), special=(4, 5), names=names)
    answer = wb.compile(wb.Grammar.from_regex("(ab){2}"), vocabulary)
    for budget in (0, 1, 3):
        exact_within(wb.Reasoning(answer, "<t>", "</t>", budget), 7, 80)


def test_labels_are_exact() -> None:
    words: list[bytes | None] = [b"a", b"b", b"ab", b".", b"x", None]
    vocabulary = wb.Vocabulary(words, end=(5,))
    for regex in (r"(?P<TEXT_TOKEN>){2}\.", r"[ab]*(?P<TEXT_TOKEN>)\.", r"a(?P<TEXT_TOKEN>)|x{4}"):
        exact_within(wb.compile(wb.Grammar.from_regex(regex), vocabulary), 5, 100)


def test_error_where_a_label_is_never_read() -> None:
    words: list[bytes | None] = [b"a", b"b", None]
    grammar = wb.Grammar.from_regex("[ab]*(?P<TEXT_TOKEN>)")
    with pytest.raises(WorkbenchError, match="no text of the grammar ends"):
        WithinBudget(wb.compile(grammar, wb.Vocabulary(words, end=(2,))), 9)


#: Guesses of the tokens to come, for the strategies that need some.
DRAFT = ToyModel(all_bytes(), seed=1)

STRATEGIES: tuple[Strategy, ...] = (
    wb.JumpForward(),
    wb.Speculation(wb.ForcedProposer()),
    wb.DraftSpeculation(DRAFT),
    wb.CoupledSpeculation(DRAFT),
    wb.OpportunisticMasking(),
)


def test_strategies_end_within_the_budget() -> None:
    model = ToyModel(all_bytes(), sample='{"a": [1, 2, {"b": ""}]}')
    example = load_gallery()["json"]
    grammar = wb.Grammar.from_text(example.text, example.notation, example.start)
    constraint = wb.compile(grammar, model.vocabulary)
    runs = [wb.generate(model, constraint, "x", max_tokens=20) for _ in range(3)]
    traces = [run.trace for run in runs if list(run)]
    counts = wb.Speculation(wb.CountProposer.learnt(constraint, traces), least=0.1)
    for strategy, budget in itertools.product((*STRATEGIES, counts), (3, 5, 9)):
        sampling = wb.Sampling(temperature=1.5, seed=budget)
        run = wb.generate(
            model, constraint, "x", sampling, max_tokens=budget, strategy=strategy, finish=True
        )
        tokens = [step.token_id for step in run]
        assert run.trace.accepted, strategy
        assert grammar.accepts(run.trace.text)
        if isinstance(strategy, wb.JumpForward | wb.DraftSpeculation):
            continue  # other tokens of the same text; another draw
        plain = wb.generate(model, constraint, "x", sampling, max_tokens=budget, finish=True)
        assert [step.token_id for step in plain] == tokens, strategy


@pytest.mark.slow
def test_every_random_text_ends_within_every_budget() -> None:
    model = wb.load_model("builtin")
    for name in ("json", "arithmetic", "kbnf_digits", "date", "koo_bullets"):
        example = load_gallery()[name]
        grammar = wb.Grammar.from_text(example.text, example.notation, example.start)
        constraint = wb.compile(grammar, model.vocabulary)
        least = constraint.token_distances().distance(constraint.initial) + 1
        for budget, seed in itertools.product((least, least + 3), range(2)):
            sampling = wb.Sampling(temperature=1.5, seed=seed)
            made = wb.generate(
                model, constraint, example.prompt, sampling, max_tokens=budget, finish=True
            )
            trace = made.trace if list(made) else None
            assert trace is not None
            assert trace.stop in (wb.StopReason.ACCEPTED, wb.StopReason.FORCED_END)
            assert grammar.accepts(trace.text)


def test_an_ample_budget_changes_no_text() -> None:
    model, grammar = wb.load_model("builtin"), wb.Grammar.from_regex("[0-9]{4}-[01][0-9]")
    constraint = wb.compile(grammar, model.vocabulary)
    plain = wb.generate(model, constraint, "A month: ", max_tokens=40)
    ending = wb.generate(model, constraint, "A month: ", max_tokens=40, finish=True)
    assert [s.token_id for s in plain] == [s.token_id for s in ending]


def test_error_budget_too_small() -> None:
    constraint = wb.compile(wb.Grammar.from_regex("a{5}"), toy(["a"]))
    with pytest.raises(WorkbenchError) as caught:
        WithinBudget(constraint, 5)
    assert str(caught.value) == (
        "the shortest text needs 6 tokens with the end token; at most is 5\n"
        "hint: allow 6 tokens or more"
    )


def test_error_too_many_states() -> None:
    with pytest.raises(WorkbenchError) as caught:
        WithinBudget(wb.compile(STACK, SIGNS, "template"), 5, wb.Limits(states=50))
    assert str(caught.value) == (
        "this method has too many states to count the tokens to the end of a text\n"
        "hint: choose the method 'automaton', or a grammar without recursion and long repetitions"
    )


def test_error_a_prefix_that_leaves_too_little() -> None:
    model = ToyModel(all_bytes())
    constraint = wb.compile(wb.Grammar.from_regex("a{1,20}b"), model.vocabulary)
    a = model.vocabulary.ids_of[b"a"][0]
    with pytest.raises(
        TokenNotAllowed, match="the shortest text needs 2 tokens more; at most 1 may"
    ):
        wb.generate(model, constraint, "", max_tokens=1, prefix=[a, a], finish=True)


def test_a_budget_within_a_budget_is_the_smaller_one() -> None:
    inner = wb.compile(wb.Grammar.from_kbnf(CASES["counted twice"]), SIGNS)
    nested = WithinBudget(WithinBudget(inner, 4), 9)
    assert (nested.budget, nested.constraint) == (4, inner)


def test_transformers_loop_ends_in_the_budget() -> None:
    torch = pytest.importorskip("torch")
    inner = wb.compile(wb.Grammar.from_kbnf(CASES["two kinds of brackets"]), SIGNS)
    for seed in range(5):
        processor = wb.LogitsProcessor(WithinBudget(inner, 7))
        rows = torch.zeros((2, 1), dtype=torch.long)
        torch.manual_seed(seed)
        for _ in range(7):
            scores = processor(rows, torch.randn(2, len(SIGNS)))
            rows = torch.cat([rows, scores.argmax(dim=1, keepdim=True)], dim=1)
        grammar = wb.Grammar.from_kbnf(CASES["two kinds of brackets"])
        for row in rows[:, 1:].tolist():
            assert SIGNS.end in row
            assert grammar.accepts(SIGNS.decode(row[: row.index(SIGNS.end)]))


def test_threads_share_distances() -> None:
    inner = wb.compile(wb.Grammar.from_kbnf(CASES["two kinds of brackets"]), SIGNS)

    def walked(seed: int) -> bool:
        within, chooser = WithinBudget(inner, 40), random.Random(seed)
        state = within.initial
        while within.vocabulary.ends[0] != (
            token := chooser.choice([int(i) for i in within.mask(state)])
        ):
            state = within.advance(state, token)
        return within.is_final(state)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(walked, range(40)))


@given(st.integers(2, 12), st.integers(0, 5))
def test_a_prefix_counts_against_the_budget(budget: int, taken: int) -> None:
    within = WithinBudget(wb.compile(wb.Grammar.from_regex("a{0,20}"), toy(["a"])), budget)
    state = within.initial
    for _ in range(min(taken, budget - 1)):
        state = within.advance(state, 0)
    assert within.fewest(state) == 1
    assert state.left == budget - min(taken, budget - 1)


@pytest.mark.parametrize("budget", [None, 1.5, "3"])
def test_error_for_a_budget_that_is_no_count(budget: Any) -> None:
    with pytest.raises(WorkbenchError, match="expected an integer as 'budget'"):
        WithinBudget(wb.compile(wb.Grammar.from_regex("a"), WORDS), budget)
