"""The drawable parts of a grammar's machine of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from workbench.analysis.run_tracing import Followed
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.dfa import Dfa
from workbench.base.errors import LimitError
from workbench.base.limits import Limits
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.constraint.labels import signed_vocabulary
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.constraint.methods.proper.proper_methods import SpeltOut, proper, spelt_out
from workbench.drawing.connectors import numbered
from workbench.drawing.edge_labels import written_classes
from workbench.drawing.graph import Graph
from workbench.drawing.machines import draw_dfa, draw_network, leaf_states
from workbench.drawing.parts import (
    LazyParts,
    LazyTokenParts,
    Parts,
    ProperParts,
    TokenFsaParts,
    TokenPdaParts,
    Whole,
)
from workbench.drawing.rule_tokens import RuleTokens
from workbench.drawing.transducers import draw_detokenizer
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import encode_labels, labels_of
from workbench.vocabulary.vocabulary import Vocabulary


class Machine(StrEnum):
    """What can be drawn of a grammar."""

    #: The automaton over characters; regular languages alone have one.
    CHARACTERS = "characters"
    #: The automaton over a model's tokens.
    TOKENS = "tokens"
    #: The same with the tokenizer's own spellings alone.
    PROPER = "proper"
    #: The pushdown automaton: what is read over what is popped and pushed.
    STACK = "stack"
    #: One small automaton a rule, with calls between them.
    RULES = "rules"
    #: The vocabulary as a transducer from characters to tokens.
    DETOKENIZER = "detokenizer"


#: Machines that are different for every vocabulary.
OVER_TOKENS = frozenset({Machine.TOKENS, Machine.PROPER, Machine.DETOKENIZER})


#: Rules one token may end in the picture of a machine in which it may end any number.
_SHOWN_POPS = 2

#: Of machines with more states a part is made into a picture at a time; of all it takes seconds.
_MANY = 10_000

#: Edges of the machine over proper tokens before it is made small; half a second's work.
_SPELT_OUT = 20_000


@dataclass(frozen=True, eq=False)
class Drawn:
    """A machine that can be drawn, and whose states it shows: None where no run can follow."""

    parts: Parts
    followed: Followed | None = None
    #: For a state that is drawn as another, which.
    names: Mapping[str, str] = field(default_factory=dict)
    #: The number a reader knows each state by; empty where that is its id.
    numbers: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def graph(self) -> Graph:
        """All of it.

        Raises: LimitError where it is too large.
        """
        return self.parts.whole()


def missing(grammar: Grammar, machine: Machine) -> str:
    """Why a grammar has no such machine; empty where it has one."""
    if machine is Machine.PROPER and not grammar.is_regular:
        return "rules that nest have no finite machine: the method proper has its masks"
    if machine is Machine.PROPER and (labels := labels_of(grammar)):
        return f"{labels[0][0].name} reads one token, which no tokenizer chose"
    if machine is Machine.CHARACTERS and not grammar.is_regular:
        return "rules that call themselves need a stack: see Stack"
    if machine is Machine.RULES and grammar.tree is None:
        return "a regex has no rules: see Characters"
    if machine is Machine.STACK and grammar.is_regular:
        return "a regular language needs no stack: see Characters"
    return ""


def characters_of(grammar: Grammar) -> Dfa | LazyDfa | None:
    """The character automaton, made as it is read where it would explode; None without one.

    Terminal labels are read as their signs.
    """
    grammar = encode_labels(grammar)
    try:
        return grammar.dfa
    except LimitError:
        if isinstance(grammar.reader, LazyDfa):
            return grammar.reader
        raise


def draw(grammar: Grammar, machine: Machine) -> Drawn:
    """A machine that is the same for every vocabulary, one that is not ``missing``."""
    grammar = encode_labels(grammar)
    if machine in (Machine.RULES, Machine.STACK):
        network, leaves = grammar.rules, grammar.leaf_rules
        drawn = draw_network(network, leaves=leaves, written=written_classes(grammar))
        graph = numbered(drawn, stack=machine is Machine.STACK)
        states = leaf_states(network, leaves)
        return Drawn(Whole(graph), Followed.RULES, states, _numbers(graph))
    characters = characters_of(grammar)
    assert characters is not None, "missing() speaks for the others"
    if isinstance(characters, LazyDfa) or len(characters) > _MANY:
        return Drawn(LazyParts(characters), Followed.CHARACTERS)
    graph = numbered(draw_dfa(characters, written=written_classes(grammar)))
    return Drawn(Whole(graph), Followed.CHARACTERS, numbers=_numbers(graph))


def _numbers(graph: Graph) -> dict[str, str]:
    return {node.id: node.label for node in graph.states if node.label}


def draw_tokens(grammar: Grammar, under: Drawn, vocabulary: Vocabulary, limits: Limits) -> Drawn:
    """The machine over tokens; ``under`` is the machine over characters, or the rules."""
    if labels_of(grammar):
        grammar, vocabulary = encode_labels(grammar), signed_vocabulary(vocabulary)
    if under.followed is Followed.RULES:
        rules = RuleTokens(
            grammar.rules, vocabulary, limits, lambda: _token_pda(grammar, vocabulary, limits)
        )
        return Drawn(rules, Followed.RULES, under.names, under.numbers)
    if isinstance(under.parts, LazyParts):
        return Drawn(LazyTokenParts(under.parts, vocabulary), Followed.CHARACTERS)
    dfa = grammar.dfa
    assert dfa is not None, "it was drawn"
    parts = TokenFsaParts(compose(dfa, vocabulary, limits), dfa, under.graph)
    return Drawn(parts, Followed.CHARACTERS, parts.feet, under.numbers)


def _token_pda(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> TokenPdaParts:
    """The machine over tokens of the rules as written; where that has no end, of fewer.

    Where neither has an end, a machine without the edges that take most off the stack. All that
    is tried shares the seconds: what fails for want of them would fail again.
    """
    limits = limits.begun()
    for network in (grammar.rules, grammar.network):
        with suppress(LimitError):
            return TokenPdaParts(compose_pda(network, vocabulary, limits))
    machine = compose_pda(grammar.rules, vocabulary, limits, _SHOWN_POPS)
    note = f"tokens that end more than {_SHOWN_POPS} rules are left out: there is no end of them"
    return TokenPdaParts(machine, note)


def spelt_properly(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> SpeltOut:
    """The machine over the tokenizer's own spellings of a regular grammar's texts.

    Raises: VocabularyError where nobody can say how the tokenizer spells; LimitError where it is
            too large to be looked at.
    """
    few = replace(limits, token_edges=min(limits.token_edges, _SPELT_OUT))
    constraint = proper(grammar, vocabulary, few)
    assert isinstance(constraint, ProperConstraint), "the method asked for"
    return spelt_out(constraint)


def draw_proper(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> Drawn:
    """That machine; no run is followed in it."""
    return Drawn(ProperParts(spelt_properly(grammar, vocabulary, limits)))


def draw_vocabulary(vocabulary: Vocabulary) -> Drawn:
    """The vocabulary itself, as the transducer from characters to tokens."""
    return Drawn(Whole(draw_detokenizer(vocabulary)))
