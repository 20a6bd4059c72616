"""``Exercise.check``: verdicts, counterexamples, conditions and partial credit."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.oracles.brute_force import matches, texts
from workbench.analysis.conditions import CONDITIONS, Condition, conditions_of
from workbench.analysis.exercise import MIN_TEXTS, Outcome, alphabet, credit
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

EVEN = wb.Exercise(
    task="an even number of a", solution=wb.GrammarText("(b*ab*a)*b*", Notation.REGEX)
)
NEST = wb.Exercise(
    task="as many b as a",
    solution=wb.GrammarText("start ::= 'a' start 'b' | '';", Notation.KBNF),
)
QUICK = Limits(seconds=0.3)


#   exercise, answer                          outcome       text   gained  because
CASES = [
    (EVEN, "b*(ab*ab*)*",                      "right",      None,  False,  "written otherwise"),
    (EVEN, "start ::= ('a' 'b'* 'a' | 'b')*;", "right",      None,  False,  "another notation"),
    (EVEN, "[ab]*",                            "wrong",      b"a",  True,   "the shortest text gained"),
    (EVEN, "(aa)*",                            "wrong",      b"b",  False,  "the shortest text lost"),
    (EVEN, "(b*ab*a)+b*",                      "wrong",      b"",   False,  "the empty text is a text"),
    (EVEN, "(b*ab*a)*b*|aé",                   "wrong",      "aé".encode(), True, "one character of two bytes"),
    (EVEN, "(",                                "unreadable", None,  False,  "no regex"),
    (EVEN, " \n",                              "unreadable", None,  False,  "an empty file"),
    (EVEN, "((a{1000}){1000}){1000}",          "unreadable", None,  False,  "more than the limits allow"),
    (NEST, "start ::= 'a' mid 'b' | ''; mid ::= start;", "right", None, False, "one more rule"),
    (NEST, "start ::= 'a'* 'b'*;",             "wrong",      b"a",  True,   "no stack against a stack"),
    (NEST, "start ::= 'a' start 'b' | 'ab';",  "wrong",      b"",   False,  "a stack against a stack"),
    (NEST, "start ::= x | y | ''; x ::= 'a' start 'b'; y ::= 'aa' start 'bb';", "undecided", None, False,
     "the same language, ambiguous: no proof"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("exercise", "answer", "outcome", "text", "gained", "_because"),
    CASES,
    ids=lambda v: str(v)[:30],
)
def test_an_answer_has_its_outcome_and_counterexample(
    exercise: wb.Exercise,
    answer: str,
    outcome: str,
    text: bytes | None,
    gained: bool,
    _because: str,
) -> None:
    graded = exercise.check(answer, "kbnf" if "::=" in answer else "regex", limits=QUICK)
    assert graded.outcome == outcome
    assert graded.counterexample == text
    assert graded.gained is gained
    assert bool(graded) is (outcome == "right")
    assert graded.solved is (outcome in ("right", "undecided"))
    assert (graded.bound is not None) is (outcome == "undecided")
    assert (graded.problem is not None) is (outcome == "unreadable")
    assert (graded.share == 1) is graded.solved


def test_the_sentence_names_the_text() -> None:
    assert str(EVEN.check("[ab]*", "regex")) == (
        "the answer accepts 'a', which the language does not contain"
    )
    assert str(EVEN.check("(b*ab*a)+b*", "regex")) == (
        "the answer rejects the empty text, which the language contains"
    )


def test_an_unreadable_answer_has_the_place_of_its_problem() -> None:
    problem = NEST.check("start ::= 'a' ;\nnext ::= (", "kbnf").problem
    assert problem is not None
    assert problem.position is not None
    assert problem.position[0] == 2


DFA = "initial e\nfinal e\ne -> o : a\no -> e : a\ne -> e : b\no -> o : b\n"

#   conditions               notation  answer                                             satisfied
MET = [
    ({"no_alternation": True}, "regex", "b*(ab*ab*)*",                                      True),
    ({"no_alternation": True}, "regex", "(b|ab*a)*",                                        False),
    ({"no_alternation": True}, "kbnf",  "start ::= #'(b|ab*a)*';",                          False),
    ({"no_alternation": True}, "kbnf",  "start ::= ('b'* 'a' 'b'* 'a')* 'b'*;",             True),
    ({"no_repetition": True},  "kbnf",  "start ::= e; e ::= 'b' e | 'a' o | ''; o ::= 'b' o | 'a' e;", True),
    ({"no_repetition": True},  "regex", "b*(ab*ab*)*",                                      False),
    ({"no_sets": True},        "regex", "[b]*(ab*ab*)*",                                    True),
    ({"no_sets": True},        "regex", "([bb]|ab*a)*",                                     True),
    ({"no_sets": True},        "regex", "[ab]{0}b*(ab*ab*)*",                              False),
    ({"no_lookaround": True},  "regex", "(?![^a]*a[^a]*$)b*(ab*ab*)*",                      False),
    ({"no_lookaround": True},  "regex", "^b*(ab*ab*)*$",                                    True),
    ({"no_lookaround": True},  "regex", "b*(ab*ab*)*",                                      True),
    ({"stack": True},          "kbnf",  "start ::= e; e ::= 'b' e | 'a' o | ''; o ::= 'b' o | 'a' e;", False),
    ({"characters": 11},       "regex", "b*(ab*ab*)*",                                      True),
    ({"characters": 10},       "regex", "b*(ab*ab*)*",                                      False),
    ({"rules": 1},             "kbnf",  "start ::= e; e ::= ('a' 'b'* 'a' | 'b')*;",        False),
    ({"rules": 2},             "kbnf",  "start ::= e; e ::= ('a' 'b'* 'a' | 'b')*;",        True),
    ({"states": 2},            "machine", DFA,                                              True),
    ({"states": 1},            "machine", DFA,                                              False),
    ({"states": 9},            "regex", "b*(ab*ab*)*",                                      False),
    ({"deterministic": True, "complete": True}, "machine", DFA,                             True),
    ({"deterministic": True},  "machine", DFA + "e -> o : [a-a]",                           False),
    ({"deterministic": True},  "machine", "initial e f\nfinal e f\n" + DFA,                 False),
    ({"deterministic": True},  "machine", DFA + "e -> e : ε",                               False),
    ({"deterministic": True},  "machine", DFA + "e -> e : bb",                              False),
    ({"complete": True},       "machine", "initial e\nfinal e\nf\ne -> e : b\ne -> o : a\no -> o : b\no -> e : a\no -> t : c\nt -> t : a, b, c".replace("f\n", "", 1), False),
    ({"single_characters": True}, "machine", DFA + "e -> e : ε",                            True),
    ({"single_characters": True}, "machine", DFA + "e -> e : bb",                           False),
    ({"single_characters": True}, "machine", "initial e\nfinal e\ne -> e : (b*ab*a)*b*",    False),
    ({"unambiguous": True},    "kbnf",  "start ::= ('b' | 'a' 'b'* 'a')*;",                 True),
    ({"unambiguous": True},    "kbnf",  "start ::= x x; x ::= ('b' | 'a' 'b'* 'a')*;",      False),
]  # fmt: skip


@pytest.mark.parametrize(("conditions", "notation", "answer", "met"), MET)
def test_a_right_answer_that_breaks_a_condition_is_refused(
    conditions: Mapping[str, int | bool], notation: str, answer: str, met: bool
) -> None:
    exercise = wb.Exercise(task=EVEN.task, solution=EVEN.solution, conditions=conditions)
    graded = exercise.check(answer, notation)
    assert graded.outcome == ("right" if met else "refused"), graded.why
    assert bool(graded.unmet) is not met
    assert graded.share == (1 if met else 0)
    assert graded.language_share == 1


def test_a_wrong_language_in_the_wrong_form_has_no_credit() -> None:
    conditions = {"no_alternation": True}
    exercise = wb.Exercise(task=EVEN.task, solution=EVEN.solution, conditions=conditions)
    graded = exercise.check("(b|aa)*", "regex")
    assert (graded.outcome, graded.share) == ("wrong", 0)
    assert graded.language_share is not None
    assert 0 < graded.language_share < 1


def test_a_stack_is_needed() -> None:
    exercise = wb.Exercise(task=NEST.task, solution=NEST.solution, conditions={"stack": True})
    assert exercise.check("start ::= 'a' start 'b' | '';", "kbnf")


def test_a_notation_that_is_not_allowed_is_refused() -> None:
    exercise = wb.Exercise(task=EVEN.task, solution=EVEN.solution, notations=(Notation.REGEX,))
    graded = exercise.check("start ::= ('b' | 'a' 'b'* 'a')*;", "kbnf")
    assert graded.outcome is Outcome.REFUSED
    assert graded.unmet == ("written as Regex: it is KBNF",)


def test_notations_may_be_given_by_name() -> None:
    solution = wb.GrammarText("b*", "regex")  # type: ignore[arg-type]
    exercise = wb.Exercise(task="…", solution=solution, notations=("regex",))  # type: ignore[arg-type]
    assert exercise.check("b*", "regex")
    assert exercise.check("start ::= 'b'*;", "kbnf").unmet == ("written as Regex: it is KBNF",)


def test_each_condition_has_words() -> None:
    for kind, each in CONDITIONS.items():
        condition = Condition(kind, 4 if each.counts else 0)
        assert "{" not in str(condition).replace("{}", "")
        assert conditions_of({kind: condition.setting}) == (condition,)


@pytest.mark.parametrize("value", [0, -1, "four", 2.5, None, True])
def test_error_for_a_condition_that_is_no_number(value: object) -> None:
    with pytest.raises(WorkbenchError, match="condition 'rules'"):
        conditions_of({"rules": value})


def test_error_for_an_unknown_condition() -> None:
    with pytest.raises(WorkbenchError, match="there is no condition 'short'"):
        wb.Exercise(task="…", solution=EVEN.solution, conditions={"short": True})


def test_error_when_an_example_contradicts_the_solution() -> None:
    with pytest.raises(WorkbenchError, match="the solution rejects the example a"):
        wb.Exercise(task="…", solution=EVEN.solution, accepts=("aa", "a")).verify()
    with pytest.raises(WorkbenchError, match="accepts the example of the empty text"):
        wb.Exercise(task="…", solution=EVEN.solution, rejects=("",)).verify()
    with pytest.raises(WorkbenchError, match="condition “without repetition”"):
        wb.Exercise(task="…", solution=EVEN.solution, conditions={"no_repetition": True}).verify()


# -- partial credit --------------------------------------------------------------------------------

PATTERNS = [
    "a*",
    "(aa)*",
    "[ab]*",
    "a*b*",
    "ab|ba",
    "(b|ab*a)*",
    "a{2,4}",
    "",
    ".*",
    "(ab)*",
    "a+b",
]


def slow_credit(first: str, second: str) -> tuple[int, int, int, int]:
    """Length, texts of both, of either, and all; by listing all texts."""
    letters = alphabet(Grammar.from_regex(first), Grammar.from_regex(second))
    longest = max((len(text) for text in texts("ab", 6) if matches(first, text)), default=-1)
    both = either = count = length = 0
    while True:
        for text in map("".join, itertools.product(letters, repeat=length)):
            judged = matches(first, text), matches(second, text)
            both, either, count = both + all(judged), either + any(judged), count + 1
        if either >= MIN_TEXTS or (longest < 6 and length == longest + 1):
            return length, both, either, count
        length += 1


#: Languages with at least 100 texts of at most eight letters, or with few texts.
LISTED = ["(a|bb)*", "ab|ba", "(b|ab*a)*", "a{2,4}", "", "([ab]b)*"]


@pytest.mark.parametrize("first", LISTED)
@pytest.mark.parametrize("second", LISTED)
def test_credit_counts_as_a_list_of_all_texts(first: str, second: str) -> None:
    counted = credit(Grammar.from_regex(first), Grammar.from_regex(second), (), Limits())
    found = counted.length, counted.both, counted.either, counted.texts
    assert found == slow_credit(first, second)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_credit_is_the_whole_for_equal_languages_and_none_for_trivial_ones(pattern: str) -> None:
    grammar, limits = Grammar.from_regex(pattern), Limits()
    assert credit(grammar, grammar, (), limits).share == 1
    assert credit(grammar, Grammar.from_regex(r"[^\s\S]"), (), limits).share == 0
    if pattern != ".*":
        everything = credit(grammar, Grammar.from_regex(r"(?s).*"), (), limits)
        assert everything.share == 0


def test_credit_of_two_empty_languages_is_unknown() -> None:
    empty = Grammar.from_regex(r"[^\s\S]")
    assert credit(empty, empty, (), Limits()).share is None


def test_credit_of_rules_with_a_stack_by_hand() -> None:
    """Of the first 100 texts the empty one is missing; no other text is accepted."""
    graded = NEST.check("start ::= 'a' start 'b' | 'ab';", "kbnf")
    assert graded.credit is not None
    assert (graded.credit.both, graded.credit.either) == (99, 100)
    assert graded.share == pytest.approx(0.99)


@given(st.sampled_from(PATTERNS), st.sampled_from(PATTERNS))
def test_credit_is_symmetric_in_what_it_counts_at_one_length(first: str, second: str) -> None:
    one, other = Grammar.from_regex(first), Grammar.from_regex(second)
    here, there = credit(one, other, (), Limits()), credit(other, one, (), Limits())
    assert here.alphabet == there.alphabet
    if here.length == there.length:
        assert here == there


def test_the_counterexample_is_among_the_texts_of_its_length() -> None:
    digits = wb.Exercise(task="digits", solution=wb.GrammarText("[0-9]{1,3}", Notation.REGEX))
    graded = digits.check(r"\d{1,3}", "regex")
    assert graded.credit is not None
    assert graded.text in graded.credit.alphabet
    assert graded.share is not None
    assert graded.share < 1
