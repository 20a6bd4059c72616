"""Builds the drawable machine of a grammar for each kind; the tokens after a text, grouped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
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
from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import ArgumentValueError, LimitError, WorkbenchError, suggestion
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
from workbench.base.locks import WorkLock
from workbench.base.visible_text import columns, printable
from workbench.constraint.engine.compose import compose
from workbench.constraint.engine.compose_pda import compose_pda
from workbench.constraint.labels import label_vocabulary
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.constraint.methods.proper.proper_methods import (
    ProperAutomaton,
    proper,
    proper_automaton,
)
from workbench.constraint.protocol import TokenMask
from workbench.drawing import machines
from workbench.drawing.connectors import numbered
from workbench.drawing.dot import dot
from workbench.drawing.edge_labels import written_classes
from workbench.drawing.graph import Edge, Graph, Node
from workbench.drawing.machines import draw_dfa, draw_network, kinds_of, leaf_states
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
from workbench.drawing.token_edges import (
    MAX_SEARCHED,
    MAX_TOY_TOKENS,
    MAX_WRITTEN_OUT,
    MAX_WRITTEN_OUT_TOY,
    counted_edge,
)
from workbench.drawing.transducers import draw_detokenizer
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import encode_labels, labels_of
from workbench.grammar.notations import Notation
from workbench.pushdown.network import Network, dotted
from workbench.pushdown.runner import Runner, Situation
from workbench.syntax.machine_text import read_machine
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


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
    """The character automaton, a lazy one if it would explode; None for nonregular grammars.

    Terminal labels are read in their encoding.
    """
    grammar = encode_labels(grammar)
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
        return replace(_drawn(grammar, Machine(machine), vocabulary, limits), limits=limits)


def _drawn(
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
        graph = numbered(replace(drawn, is_json=is_json), stack=machine is Machine.STACK)
        states = leaf_states(network, leaves)
        return Drawn(Whole(graph), PicturedMachine.RULES, states, _numbers(graph))
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
        str(state): " ≡ ".join(one[0] if len(one) == 1 else f"{{{', '.join(one)}}}" for one in sets)
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
    constraint = proper(grammar, vocabulary, few)
    assert isinstance(constraint, ProperConstraint), "proper() returns it for regular grammars"
    return proper_automaton(constraint)


def _over_tokens(
    grammar: Grammar, machine: Machine, vocabulary: Vocabulary, limits: Limits
) -> Drawn:
    if machine is Machine.DETOKENIZER:
        return Drawn(Whole(draw_detokenizer(vocabulary)))
    if machine is Machine.PROPER:  # no run is traced in it
        return Drawn(ProperParts(spelt_properly(grammar, vocabulary, limits)))
    return draw_tokens(
        grammar, _drawn(grammar, machine_below(grammar), None, limits), vocabulary, limits
    )


def machine_below(grammar: Grammar) -> Machine:
    """The machine that the machine over tokens is composed of: of characters, or of rules."""
    return Machine.CHARACTERS if grammar.is_regular else Machine.STACK


# -- tokens after a text --------------------------------------------------------------------------
# The tokens that may be read after a text, grouped by where they lead and by their stack effect.
#
# The machine over the tokens of a context-free grammar can be large or infinite; the tokens of one
# configuration are found by a walk over the vocabulary's trie with the runner of the grammar's
# rules.


#: A state and the return states on its stack, the innermost last.
Standing = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Leaving:
    """The tokens after a text: the state and its stack, the edges, the tokens of each edge."""

    state: str
    stack: tuple[int, ...]
    edges: tuple[Edge, ...]
    tokens: tuple[tuple[TokenId, ...], ...]


class RuleTokens:
    """The token edges of a network of rules: of one configuration, or of the whole machine.

    ``composed`` builds the whole machine; it is called on first use. Safe to share between
    threads.
    """

    def __init__(
        self,
        network: Network,
        vocabulary: Vocabulary,
        limits: Limits,
        composed: Callable[[], TokenPdaParts],
    ) -> None:
        self.states = len(network)
        self._network = network
        self._vocabulary = vocabulary
        self._runner = Runner(network, limits)
        self._compose = composed
        self._lock = WorkLock()

    @cached_property
    def composed(self) -> TokenPdaParts:
        """The whole machine over tokens.

        Raises: LimitError if it is too large.
        """
        return self._compose()

    @property
    def as_written(self) -> bool:
        """Whether the machine has the states of these rules, not those of inlined rules."""
        return self.composed.network is self._network

    def whole(self) -> Graph:
        return self.composed.whole()

    def around(self, centre: str, count: int) -> Graph:
        return self.composed.around(centre, count)

    def tokens(self, source: str, target: str = "") -> list[TokenId]:
        return self.composed.tokens(source, target)

    def after(self, text: bytes, state: str = "", mask: TokenMask | None = None) -> Leaving | None:
        """The tokens that may follow a text; None if the text has left the language.

        With a ``mask`` those that it allows.

        If the text leads to several configurations, one is shown: one in ``state`` if there is any,
        and of these the one with the shortest stack. Of those that a token leads to, the one that
        pops the fewest symbols is shown: it has read the last byte, the others have returned since.

        Cost: a step for each node of the trie whose text can be read.
        Raises: LimitError if the text leads to too many configurations.
        """
        groups: defaultdict[tuple[int, int, tuple[int, ...]], list[TokenId]] = defaultdict(list)
        with self._lock:
            begin = self._runner.run(text)
            if begin == DEAD:
                return None
            here = self._standing(begin, state)
            for situation, tokens in self._reached(begin).items():
                target, stack = self._after_reading(situation, here)
                kept = _common(here[1], stack)
                allowed = tokens if mask is None else [i for i in tokens if i in mask]
                if allowed:
                    groups[target, len(here[1]) - kept, stack[kept:]] += allowed
        edges_with_ids = [
            (self._edge(here, target, pops, pushes, tokens), tuple(tokens))
            for (target, pops, pushes), tokens in groups.items()
        ]
        return Leaving(
            str(here[0]),
            here[1],
            tuple(edge for edge, _ in edges_with_ids),
            tuple(ids for _, ids in edges_with_ids),
        )

    def _standing(self, situation: Situation, state: str = "") -> Standing:
        """The configuration in a given state, else the one with the shortest stack."""
        return min(
            self._configurations(situation),
            key=lambda each: (str(each[0]) != state, len(each[1]), each),
        )

    def _after_reading(self, situation: Situation, before: Standing) -> Standing:
        """The configuration that pops the fewest symbols of ``before``, and pushes the most."""

        def effect(after: Standing) -> tuple[int, int, Standing]:
            return -_common(before[1], after[1]), -len(after[1]), after

        return min(self._configurations(situation), key=effect)

    def _configurations(self, situation: Situation) -> list[Standing]:
        runner = self._runner
        return [(end, runner.stack(node)) for end, node in runner.configurations(situation)]

    def _reached(self, begin: Situation) -> dict[Situation, list[TokenId]]:
        """The readable tokens, by the situation they lead to."""
        trie, runner = self._vocabulary.trie, self._runner
        reached: dict[Situation, list[TokenId]] = {}
        path = [begin] * (trie.height + 1)
        node, count = 0, len(trie)
        bytes_of, depths, skips = trie.byte.tolist(), trie.depth.tolist(), trie.skip.tolist()
        first, ids = trie.first.tolist(), trie.token_ids.tolist()
        while node < count:
            check_time_budget()
            depth = depths[node]
            situation = runner.step(path[depth], bytes_of[node])
            if situation == DEAD:
                node = skips[node]
                continue
            path[depth + 1] = situation
            if first[node] < first[node + 1]:
                reached.setdefault(situation, []).extend(ids[first[node] : first[node + 1]])
            node += 1
        return reached

    def _edge(
        self, here: Standing, state: int, pops: int, pushes: tuple[int, ...], ids: list[TokenId]
    ) -> Edge:
        vocabulary = self._vocabulary
        tokens = [vocabulary.tokens[token_id] or b"" for token_id in ids[:MAX_SEARCHED]]
        few = MAX_WRITTEN_OUT_TOY if len(vocabulary) <= MAX_TOY_TOKENS else MAX_WRITTEN_OUT
        edge = counted_edge(str(here[0]), str(state), tokens, len(ids), few)
        pieces = ("bytes",) if all(map(_is_piece, tokens)) else ()
        popped = tuple(self._items(reversed(here[1][len(here[1]) - pops :])))
        pushed = tuple(self._items(iter(pushes)))
        marks = (f"▼{pops}" if pops else "", f"▲{len(pushes)}" if pushes else "")
        lines = [edge.title, *(f"pops {one}" for one in popped)]
        lines += [f"pushes {one}" for one in pushed]
        return replace(
            edge,
            kinds=(*pieces, *kinds_of(popped, pushed)),
            mark=" ".join(filter(None, marks)),
            pops=popped,
            pushes=pushed,
            title="\n".join(lines),
        )

    def _items(self, states: Iterator[int]) -> Iterator[str]:
        """Stack symbols as dotted rules."""
        for state in states:
            yield printable(dotted(self._network, state).replace("\n", "⏎"))


def _is_piece(token: bytes) -> bool:
    """Whether a token ends inside a character."""
    try:
        token.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """The length of the common prefix."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same
