"""Which texts rules have and which rules they call, computed from the program."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from workbench.automata.graphs import cyclic_components
from workbench.automata.regex_program import HAS_EMPTY, HAS_NONEMPTY, HAS_TEXT
from workbench.base.limits import LIMITS
from workbench.base.source import Source
from workbench.pushdown.cfg import RuleProgram, gathered, rule_program
from workbench.pushdown.recursion import kept_rules, left_recursive, visited_from
from workbench.pushdown.rule_facts import AT_END
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf


def rules(text: str) -> RuleProgram:
    tree = parse_kbnf(Source(text, "g"))
    return rule_program(tree, gathered(tree), LIMITS)


BOTH = HAS_TEXT | HAS_EMPTY | HAS_NONEMPTY

#   grammar                                      texts of a      because
TEXTS = [
    ("a ::= 'x';",                               HAS_TEXT | HAS_NONEMPTY,  "one text"),
    ("a ::= '';",                                HAS_TEXT | HAS_EMPTY,   "the empty one"),
    ("a ::= 'x'?;",                              BOTH,           "both"),
    ("a ::= a;",                                 0,              "never ends"),
    ("a ::= 'x' a;",                             0,              "never ends, although it reads"),
    ("a ::= a | 'x';",                           HAS_TEXT | HAS_NONEMPTY,  "also ends"),
    ("a ::= 'x'? b; b ::= b;",                   0,              "needs a part that never ends"),
    ("a ::= 'x'? b*; b ::= b;",                  BOTH,           "the part that never ends is optional"),
    ("a ::= b c; b ::= '' | c; c ::= b? d; d ::= '' | '';", HAS_TEXT | HAS_EMPTY, "the empty text, by many derivations"),
    ("a ::= b; b ::= c; c ::= d; d ::= 'x';",    HAS_TEXT | HAS_NONEMPTY,  "called before they are defined"),
    ("a ::= #'[^\\\\s\\\\S]y' | '';",            HAS_TEXT | HAS_EMPTY,   "a regex without texts"),
    ("a ::= #ex'x';",                            HAS_TEXT | HAS_NONEMPTY,  "a terminal with an automaton"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "texts", "because"), TEXTS, ids=[r[0] for r in TEXTS])
def test_the_kinds_of_texts_that_a_rule_has(text: str, texts: int, because: str) -> None:
    assert rules(text).texts_of(0) == texts, because


def inner_calls(program: RuleProgram) -> list[list[int]]:
    """The rules that each rule calls, without those at its end."""
    return program._calls(program.all_calls[:, AT_END] == 0)


def test_the_rules_that_a_rule_calls() -> None:
    found = rules("a ::= 'x' b | (c b) | c? d* e | b; b ::= 'y'; c ::= ''; d ::= d; e ::= 'z' b?;")

    def names_of(called: list[int]) -> str:
        return "".join(found.names[rule] for rule in called)

    assert names_of(found.calls[0]) == "bcbceb", "d never ends and is left out"
    assert names_of(found.first_calls[0]) == "cbceb", (
        "not b after 'x', but b after c, which is empty"
    )
    assert names_of(inner_calls(found)[0]) == "cc"
    e = found.names.index("e")
    assert (names_of(found.calls[e]), found.first_calls[e], inner_calls(found)[e]) == ("b", [], [])
    assert [found.names[rule] for rule in found.reached_from(0)] == ["a", "b", "c", "e"]


def kept_by_definition(program: RuleProgram, order: list[int]) -> set[int]:
    """The most called rule of each self-embedding component, and of each that remains."""
    uses = Counter(called for rule in order for called in program.calls[rule])
    kept: set[int] = set()
    while True:
        graph = {rule: set(program.calls[rule]) - kept for rule in order if rule not in kept}
        embedding = [
            component
            for component in cyclic_components(graph)
            if any(not component.isdisjoint(inner_calls(program)[rule]) for rule in component)
        ]
        if not embedding:
            return kept
        for component in embedding:
            kept.add(max(component, key=lambda rule: (uses[rule], -order.index(rule))))


def test_cycles_are_broken_at_the_most_called_rules() -> None:
    random = Random(5)
    many = 0
    for _ in range(300):
        names = "abcdefghijkl"[: random.randrange(2, 13)]

        def body(names: str = names) -> str:
            items = random.choices([*names, "'x'", "'y'?"], k=random.randrange(1, 4))
            return " ".join(items)

        options = {name: [body() for _ in range(random.randrange(1, 3))] for name in names}
        program = rules(" ".join(f"{n} ::= 'z' | {' | '.join(options[n])};" for n in names))
        order = program.reached_from(0)
        found = visited_from(program, 0)
        kept = kept_rules(program, found)
        assert kept == kept_by_definition(program, order), options
        assert found.order.tolist() == order
        assert sorted(found.callees_first.tolist()) == sorted(order)
        assert found.is_left_recursive is bool(left_recursive(program, order)), options
        uses = Counter(called for rule in order for called in program.calls[rule])
        inner = {called for rule in order for called in inner_calls(program)[rule]}
        assert found.uses.tolist() == [uses[rule] for rule in range(len(names))]
        copies = [uses[rule] - 1 if rule in inner else 0 for rule in range(len(names))]
        assert found.copies.tolist() == copies
        many += len(kept) > 1
    assert many > 50
