"""with_leaf_rules(): every automaton in a tree becomes a rule, which pictures show as one edge."""

from __future__ import annotations

from workbench.automata.build import regex_machine
from workbench.base.dfa import Dfa
from workbench.base.source import Source, Span
from workbench.drawing.machines import draw_network, leaf_states
from workbench.grammar.grammar import Grammar
from workbench.pushdown.build import build
from workbench.pushdown.cfg import leaf_labels, with_leaf_rules
from workbench.syntax.grammar_tree import (
    Automaton,
    Choice,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.regex.parser import parse_regex

_HERE = Span(0, 0)


def _machine(pattern: str) -> Dfa:
    machine = regex_machine(parse_regex(Source(pattern, "leaf")))
    assert isinstance(machine, Dfa)
    return machine


def _tree(**bodies: Expression) -> GrammarTree:
    rules = tuple(Rule(name, body, _HERE, _HERE) for name, body in bodies.items())
    return GrammarTree(rules, Source("", "test"))


_DIGITS, _LETTERS = _machine("[0-9]+"), _machine("[a-z]+")
_TREE = _tree(
    start=Sequence(
        (
            Automaton(_DIGITS, "digits", _HERE),
            Repetition(Choice((Automaton(_LETTERS, "word", _HERE), Literal(b",", _HERE)), _HERE),
                       0, None, _HERE),
            Automaton(_DIGITS, "digits", _HERE),
            Automaton(_LETTERS, "digits", _HERE),
            Nonterminal("own", _HERE),
        ),
        _HERE,
    ),
    own=Automaton(_DIGITS, "number", _HERE),
)  # fmt: skip


def test_a_machine_with_one_label_has_one_rule() -> None:
    tree = with_leaf_rules(_TREE)
    assert [rule.name for rule in tree.rules] == ["start", "own", "digits", "word", "digits 2"]
    assert leaf_labels(tree) == {
        "own": "number", "digits": "digits", "word": "word", "digits 2": "digits",
    }  # fmt: skip


def test_the_language_is_the_same() -> None:
    before, after = build(_TREE), build(with_leaf_rules(_TREE))
    assert isinstance(before, Dfa)
    assert isinstance(after, Dfa)
    for text in (b"1ab,2x3", b"12x3", b"1,2x", b"1a2b", b"", b"1,,x2x3"):
        assert before.accepts(text) == after.accepts(text), text


def test_a_schema_is_drawn_with_one_edge_for_each_leaf() -> None:
    grammar = Grammar.from_json_schema({"type": "array", "items": {"type": "string"}})
    network, leaves = grammar.rules, grammar.leaf_rules
    assert leaves["string"] == "string"
    graph = draw_network(network, leaves=leaves)
    drawn = [edge for edge in graph.edges if edge.labels == ("string",)]
    assert len(drawn) == 1
    assert sum(node.cluster == "string" for node in graph.nodes) == 2
    shown = {node.id for node in graph.nodes}
    assert set(leaf_states(network, leaves).values()) <= shown
    assert grammar.live_rules('["ab')[-1] == "string"
