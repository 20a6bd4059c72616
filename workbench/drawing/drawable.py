"""Builds the drawable machine of a grammar for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import count

from workbench.analysis.run_tracing import PicturedMachine
from workbench.automata.code_points import fold
from workbench.automata.drawn_machine import sets_by_state
from workbench.automata.lazy_dfa import LazyDfa
from workbench.base.arguments import checked
from workbench.base.cached_property import cached_property
from workbench.base.dfa import Dfa
from workbench.base.diagnostics import suggestion
from workbench.base.errors import ArgumentValueError, LimitError, WorkbenchError
from workbench.base.limits import LIMITS, Limits, time_budget
from workbench.base.visible_text import columns
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.constraint.labels import label_vocabulary
from workbench.constraint.methods.proper.proper_methods import (
    ProperAutomaton,
    proper,
    proper_automaton,
)
from workbench.drawing import machines
from workbench.drawing.connectors import numbered
from workbench.drawing.dot import dot
from workbench.drawing.edge_labels import written_classes
from workbench.drawing.graph import Graph, Node
from workbench.drawing.machines import draw_dfa, draw_network, leaf_numbers, leaf_states
from workbench.drawing.next_tokens import RuleTokens
from workbench.drawing.parts import (
    LazyParts,
    LazyTokenParts,
    Parts,
    ProperParts,
    TokenFsaParts,
    TokenPdaParts,
    Whole,
)
from workbench.drawing.reductions import MAX_NODES, Shown, reduce
from workbench.drawing.render import renderer
from workbench.drawing.tikz import tikz
from workbench.drawing.transducers import draw_detokenizer
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import encode_labels, labels_of
from workbench.grammar.notations import Notation
from workbench.syntax.machine_text import read_machine
from workbench.vocabulary.vocabulary import Vocabulary


class Machine(StrEnum):
    """The machines of a grammar that can be drawn."""

    #: The automaton over characters; only regular languages have one.
    CHARACTERS = "characters"
    #: The automaton over a model's tokens.
    TOKENS = "tokens"
    #: The automaton over the canonical tokenizations.
    PROPER = "proper"
    #: The pushdown automaton.
    STACK = "stack"
    #: A small automaton for each rule, with calls between them.
    RULES = "rules"
    #: The vocabulary as a transducer from characters to tokens.
    DETOKENIZER = "detokenizer"


#: Machines that are different for every vocabulary.
OVER_TOKENS = frozenset({Machine.TOKENS, Machine.PROPER, Machine.DETOKENIZER})


#: The most rules a token may end in the picture of a machine in which it may end any number.
_MAX_SHOWN_POPS = 2

#: Of machines with more states only a part is drawn at a time; drawing all would take seconds.
_MAX_WHOLE_STATES = 10_000

#: The most states that are searched of a machine that is drawn in part.
_MAX_SEARCHED = 400

#: Notations whose texts are JSON, in which characters of strings have several spellings.
_JSON = frozenset({Notation.JSON_SCHEMA, Notation.DATACLASS, Notation.STRUCTURAL_TAG})

#: The most columns of a state's name, and the note where merged states have theirs.
_MAX_NAME = 16
_MERGED = "≡: states that the minimal machine merges"
#: The note of a picture of rules with permutation phrases.
_ANY_ORDER = "any order: each property or item at most once; those already written are not shown"

#: The most edges of the machine over proper tokens before it is minimized: half a second.
_MAX_PROPER_EDGES = 20_000


@dataclass(frozen=True, eq=False)
class Drawn:
    """A machine that can be drawn: whole, in part, as DOT, SVG, PNG or TikZ.

    Unit:   ``states`` is the most states in a picture; of a larger machine it has the part around
            the initial state.
    Raises: LimitError where the machine is too large to be built, or its layout takes too long.
    """

    parts: Parts
    #: The seconds of each picture.
    limits: Limits = field(default=LIMITS, kw_only=True)
    #: The traced machine whose states this one shows.
    followed: PicturedMachine | None = None
    #: For a state that is drawn as another one, that state.
    names: Mapping[str, str] = field(default_factory=dict)
    #: The number that the picture shows for each state; empty if it is the id.
    numbers: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Drawn({self.followed or ''})"

    @cached_property
    def graph(self) -> Graph:
        """The whole machine.

        Raises: LimitError if it is too large.
        """
        with time_budget(self.limits.seconds):
            return self.parts.whole()

    @cached_property
    def searched(self) -> Graph:
        """The graph in which states are searched: of a machine drawn in part, its first states."""
        with time_budget(self.limits.seconds):
            return self.parts.around("", _MAX_SEARCHED)

    def shown(self, states: int = MAX_NODES) -> Shown:
        """The graph of a legible picture: long chains are folded."""
        with time_budget(self.limits.seconds):
            return reduce(self.graph, states)

    def dot(self, states: int = MAX_NODES) -> str:
        """The picture as DOT text, for Graphviz."""
        return dot(self.shown(states).graph, start_arrow=True)

    def svg(self, states: int = MAX_NODES) -> str:
        """The picture as SVG, without scripts and links, in the text colour of its page."""
        return renderer().draw(self.shown(states).graph)

    def tikz(self, states: int = MAX_NODES) -> str:
        """The picture as a ``tikzpicture`` for LaTeX, with the positions of the SVG."""
        return tikz(self.svg(states))

    def png(self, states: int = MAX_NODES) -> bytes:
        """The picture as a PNG file, black on white, 144 dots an inch."""
        return renderer().png(self.dot(states))


def missing(grammar: Grammar, machine: Machine) -> str:
    """Why a grammar has no such machine; empty if it has one."""
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
    """The character automaton, a lazy one if it would explode; None if there is a stack.

    Terminal labels are read in their encoding.
    """
    grammar = encode_labels(grammar)
    if grammar.has_phrases:
        return None
    try:
        return grammar.dfa
    except LimitError:
        if isinstance(grammar.reader, LazyDfa):
            return grammar.reader
        raise


def count_states(grammar: Grammar) -> int:
    """The number of states in the picture of a grammar's characters, or of its stack machine.

    Of a machine that is drawn in part it is the number of states over bytes.

    Raises: LimitError if there are too many to build them all.
    """
    if labels_of(grammar):  # drawn as one edge each, which few grammars have
        return draw(grammar, machine_below(grammar)).parts.states
    if not grammar.is_regular:
        return machines.count_states(grammar.rules, grammar.leaf_rules)
    whole = grammar.machine
    assert isinstance(whole, Dfa), "it is regular"
    return len(whole) if len(whole) > _MAX_WHOLE_STATES else len(fold(whole).states)


@checked
def draw(
    grammar: Grammar,
    machine: str = "characters",
    vocabulary: Vocabulary | None = None,
    *,
    limits: Limits = LIMITS,
) -> Drawn:
    """A machine of a grammar, to be drawn: ``draw(grammar).svg()``.

    ``machine``     ``characters`` (the automaton of a regular language), ``rules`` (an automaton
                    for each rule, with calls), ``stack`` (the pushdown automaton), ``tokens`` (the
                    machine over a model's tokens), ``proper`` (over the tokenizer's own spellings)
                    or ``detokenizer`` (the vocabulary as a transducer).
    ``vocabulary``  the tokens; needed for the last three.

    Raises: WorkbenchError for an unknown machine, one that the grammar does not have, or a missing
            vocabulary; VocabularyError if the tokenizer's own spellings are not known exactly;
            LimitError.
    Source: Koo et al. 2024, §2 and §3, which draw these machines.
    """
    if machine not in list(Machine):
        hint, _ = suggestion(machine, Machine, f"choose one of {', '.join(Machine)}")
        raise ArgumentValueError(f"there is no machine {machine!r}", hint)
    with time_budget(limits.seconds):
        return replace(_draw(grammar, Machine(machine), vocabulary, limits), limits=limits)


def _draw(
    grammar: Grammar, machine: Machine, vocabulary: Vocabulary | None, limits: Limits
) -> Drawn:
    if why := missing(grammar, machine):
        raise WorkbenchError(why)
    if machine in OVER_TOKENS:
        if vocabulary is None:
            raise WorkbenchError("expected a vocabulary for a machine over tokens")
        return _over_tokens(grammar, machine, vocabulary, limits)
    grammar = encode_labels(grammar)
    is_json = grammar.notation in _JSON
    if machine in (Machine.RULES, Machine.STACK):
        network, leaves = grammar.rules, grammar.leaf_rules
        drawn = draw_network(network, leaves=leaves, written=written_classes(grammar))
        note = _ANY_ORDER if grammar.has_phrases else drawn.note
        graph = numbered(replace(drawn, is_json=is_json, note=note), stack=machine is Machine.STACK)
        states, numbers = leaf_states(network, leaves), leaf_numbers(network, leaves)
        return Drawn(Whole(graph), PicturedMachine.RULES, states, numbers | _numbers(graph))
    characters = characters_of(grammar)
    assert characters is not None, "missing() excludes the others"
    if isinstance(characters, LazyDfa) or len(characters) > _MAX_WHOLE_STATES:
        parts = LazyParts(characters, limits, is_json=is_json)
        return Drawn(parts, PicturedMachine.CHARACTERS)
    drawn = draw_dfa(characters, written=written_classes(grammar))
    graph = numbered(replace(drawn, is_json=is_json))
    if grammar.is_written_in(Notation.MACHINE):
        graph = _with_drawn_names(graph, grammar, characters, limits)
    return Drawn(Whole(graph), PicturedMachine.CHARACTERS, numbers=_numbers(graph))


def _with_drawn_names(graph: Graph, grammar: Grammar, dfa: Dfa, limits: Limits) -> Graph:
    """The states of a drawn machine's DFA under the names that their author gave them.

    ``{p, q}`` is the set of p and q; ``p ≡ q`` are the states p and q, merged. A state without a
    name, or with one that is too long, has a number that is no state's name.
    """
    drawn = read_machine(grammar.source, limits.clock())
    names = {
        str(state): " ≡ ".join(
            names[0] if len(names) == 1 else f"{{{', '.join(names)}}}" for names in sets
        )
        for state, sets in sets_by_state(drawn, dfa, limits).items()
    }
    taken = {state.name for state in drawn.states}
    free = (number for number in map(str, count()) if number not in taken)

    def named(node: Node) -> Node:
        if not node.label:
            return node
        name = names.get(node.id, "")
        label = name if name and columns(name) <= _MAX_NAME else next(free)
        title = node.title.replace(f"state {node.label}", f"state {name or label}", 1)
        return replace(node, label=label, title=title)

    nodes = tuple(map(named, graph.nodes))
    merged = any("≡" in node.label for node in nodes)
    return replace(graph, nodes=nodes, note=_MERGED if merged else graph.note)


def rules_of(stack: Drawn) -> Drawn:
    """The machine ``rules`` of a grammar from its machine ``stack``: without what calls push."""
    graph = stack.graph
    nodes = tuple(replace(node, mark="") if node.mark else node for node in graph.nodes)
    return replace(stack, parts=Whole(replace(graph, nodes=nodes)))


def _numbers(graph: Graph) -> dict[str, str]:
    return {node.id: node.label for node in graph.states if node.label}


def draw_tokens(grammar: Grammar, under: Drawn, vocabulary: Vocabulary, limits: Limits) -> Drawn:
    """The machine over tokens; ``under`` is the machine over characters, or the rules."""
    if labels_of(grammar):
        grammar, vocabulary = encode_labels(grammar), label_vocabulary(vocabulary)
    if under.followed is PicturedMachine.RULES:
        rules = RuleTokens(
            grammar.rules, vocabulary, limits, lambda: _token_pda(grammar, vocabulary, limits)
        )
        return Drawn(rules, PicturedMachine.RULES, under.names, under.numbers)
    if isinstance(under.parts, LazyParts):
        return Drawn(LazyTokenParts(under.parts, vocabulary), PicturedMachine.CHARACTERS)
    dfa = grammar.dfa
    assert dfa is not None, "it was drawn"
    parts = TokenFsaParts(compose(dfa, vocabulary, limits), dfa, under.graph)
    return Drawn(parts, PicturedMachine.CHARACTERS, parts.feet, under.numbers)


def _token_pda(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> TokenPdaParts:
    """The machine over tokens of the rules as written; if that is infinite, of inlined rules.

    If both are infinite, a machine without the edges that pop most. All attempts share the time
    limit: one that fails for lack of time would fail again.
    """
    limits = limits.begun()
    for network in (grammar.rules, grammar.network):
        with suppress(LimitError):
            return TokenPdaParts(compose_pda(network, vocabulary, limits))
    machine = compose_pda(grammar.rules, vocabulary, limits, _MAX_SHOWN_POPS)
    note = (
        f"tokens that end more than {_MAX_SHOWN_POPS} rules are left out: there is no end of them"
    )
    return TokenPdaParts(machine, note)


def spelt_properly(grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> ProperAutomaton:
    """The machine over the canonical tokenizations of a regular grammar's texts.

    Raises: VocabularyError if the tokenizer is not known exactly; LimitError if the machine is too
            large to be drawn.
    """
    few = replace(limits, token_edges=min(limits.token_edges, _MAX_PROPER_EDGES))
    return proper_automaton(proper(grammar, vocabulary, few))


def _over_tokens(
    grammar: Grammar, machine: Machine, vocabulary: Vocabulary, limits: Limits
) -> Drawn:
    if machine is Machine.DETOKENIZER:
        return Drawn(Whole(draw_detokenizer(vocabulary)))
    if machine is Machine.PROPER:  # no run is traced in it
        return Drawn(ProperParts(spelt_properly(grammar, vocabulary, limits)))
    return draw_tokens(
        grammar, _draw(grammar, machine_below(grammar), None, limits), vocabulary, limits
    )


def machine_below(grammar: Grammar) -> Machine:
    """The machine that the machine over tokens is composed of: of characters, or of rules."""
    return Machine.CHARACTERS if grammar.is_regular else Machine.STACK
