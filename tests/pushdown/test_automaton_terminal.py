"""A terminal given as a machine reads the same texts as the regex of that machine."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tests.oracles.exactness.recogniser import Recogniser, Terms, bodies_of_grammar
from workbench.analysis.earley import SourceRecognizer
from workbench.analysis.outline import outline
from workbench.analysis.redundant_alternatives import redundant_advice
from workbench.automata.build import regex_dfa
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import BuildError, WorkbenchError
from workbench.base.limits import LIMITS
from workbench.base.source import Source, Span
from workbench.drawing.railroad import draw_railroad
from workbench.pushdown.build import build, context_free, network_of
from workbench.pushdown.runner import Runner
from workbench.syntax.grammar_printer import print_kbnf
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Pattern,
    Rule,
    Sequence,
    Stop,
)
from workbench.syntax.regex.parser import parse_regex

HERE = Span(0, 4)

#: A grammar, given how its terminals are written.
Write = Callable[[Callable[[str], Expression]], GrammarTree]


def machine(pattern: str) -> Dfa:
    return regex_dfa(parse_regex(Source(pattern, "regex")))


def as_machine(pattern: str) -> Expression:
    return Automaton(machine(pattern), pattern, HERE)


def as_regex(pattern: str) -> Expression:
    return Pattern(parse_regex(Source(pattern, "regex")), Stop.ANYWHERE, pattern, HERE)


def tree(**rules: Expression) -> GrammarTree:
    named = (Rule(name, body, HERE, HERE) for name, body in rules.items())
    return GrammarTree(tuple(named), Source("here", "grammar"))


def row(*items: Expression) -> Expression:
    return Sequence(items, HERE)


def any_of(*options: Expression) -> Expression:
    return Choice(options, HERE)


def literal(text: str) -> Expression:
    return Literal(text.encode(), HERE)


START = Nonterminal("start", HERE)

#   grammar over a way to write terminals                         because
GRAMMARS = [
    (lambda t: tree(start=t("-?(0|a[a0]*)")),                     "all of a grammar"),
    (lambda t: tree(start=row(t("a*"), literal("0"), t("a*"))),   "it may be empty, at the start and at the end"),
    (lambda t: tree(start=row(literal("a"), any_of(t("0*a"), START), literal("0"))), "inside a rule that nests"),
    (lambda t: tree(start=any_of(row(START, t("0|aa?")), t("a"))), "after left recursion"),
    (lambda t: tree(start=any_of(row(t("é|0"), t("é0"), START), literal("a"))), "characters of two bytes"),
]  # fmt: skip


def reads(grammar: GrammarTree) -> Runner:
    whole = build(grammar)
    return Runner(network_of(whole) if isinstance(whole, Dfa) else whole, LIMITS)


@pytest.mark.parametrize(("write", "because"), GRAMMARS, ids=[row[1] for row in GRAMMARS])
def test_a_machine_reads_what_its_regex_reads(write: Write, because: str) -> None:
    ours, plain = write(as_machine), write(as_regex)
    engines, places = (reads(ours), reads(plain)), SourceRecognizer.of_grammar(ours)
    terms = Terms()
    slow = Recogniser(bodies_of_grammar(ours, terms), "start", terms)
    accepted = 0
    for length in range(6):
        for letters in product("a0-é", repeat=length):
            text = "".join(letters).encode()
            states = [engine.run(text) for engine in engines]
            oracle, reached = slow.run(text), places.after(text)
            assert len({state == DEAD for state in (*states, oracle)}) == 1, text
            assert (reached is None) == (oracle == DEAD), text
            if reached is not None:
                finals = [e.is_final(s) for e, s in zip(engines, states, strict=True)]
                assert {*finals, slow.accepts(oracle)} == {reached.may_end}, text
                accepted += reached.may_end
    assert accepted, because


def test_a_machine_without_texts_is_left_out() -> None:
    nothing = Automaton(machine("[^\\s\\S]"), "nothing", HERE)
    whole = build(tree(start=any_of(nothing, row(nothing, START), literal("a"))))
    assert isinstance(whole, Dfa)
    assert whole.accepts(b"a")
    assert len(whole) == 2
    with pytest.raises(BuildError):
        build(tree(start=nothing))


def test_one_machine_is_written_down_once() -> None:
    leaf = as_machine("[a-z]{3}")
    twice = context_free(tree(start=row(leaf, literal("0"), leaf)), "start", LIMITS).program
    once = context_free(tree(start=row(leaf, literal("0"))), "start", LIMITS).program
    assert len(twice.data) == len(once.data)


def test_pictures_and_facts_name_it() -> None:
    leaf = Automaton(machine("[a-z]+"), "any word", HERE)
    grammar = tree(start=row(literal("<"), leaf))
    assert "any word" in draw_railroad(grammar).svg
    assert not outline(grammar)[0].is_nullable


def test_alternatives_are_compared_by_their_machines() -> None:
    less, more = as_machine("a"), as_machine("a|0")
    grammar = tree(start=any_of(less, more, as_machine("0a")))
    found = redundant_advice(context_free(grammar, "start", LIMITS), grammar)
    assert [advice.kind for advice in found] == ["included_alternative"]
    twice = tree(start=any_of(more, more))
    found = redundant_advice(context_free(twice, "start", LIMITS), twice)
    assert [advice.kind for advice in found] == ["duplicate_alternative"]


def test_error_when_printed_as_kbnf() -> None:
    with pytest.raises(WorkbenchError, match="any word"):
        print_kbnf(tree(start=Automaton(machine("[a-z]+"), "any word", HERE)))
