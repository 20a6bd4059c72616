"""The method ``greatgramma``: a table from lexer states and sequences of terminals to tokens.

The *token spanner table* has for each state of the lexer, and for each sequence of terminals that a
token can be read as from there, the tokens that are read so. (DOMINO's subterminal trees hold the
same pairs; a node is a sequence.) What the table adds is the parser: for each state of an LR parser
a sequence is tried in advance with only this state known of the stack. It is *always accepted*, or
*always rejected*, or a reduction needs a state below, and the sequence is left to the actual stack.
So a step unites precomputed sets and parses the few sequences that are left.

The paper's lexer takes the longest match with one character of lookahead. Here every segmentation
of the text into terminals is kept, as in the other methods over terminals, so that the masks are
those of the grammar. The parser is LALR(1).

Source: Park, Zhou & D'Antoni 2025 (GreatGramma).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import State
from workbench.base.limits import LIMITS, Limits, check_time_budget
from workbench.constraint.masks import pack, set_bits
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner, terminals_of
from workbench.constraint.methods.domino.subterminal_trees import SubterminalTree, Trees
from workbench.constraint.methods.domino.terminal_parser import Parser as FollowParser
from workbench.constraint.methods.lalr import (
    NO_TERMINAL,
    LrTable,
    Reader,
    Reading,
    ReadingConstraint,
    Reduction,
    Stack,
    refuse_empty_language,
)
from workbench.constraint.token_by_token import Precomputed
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A known part of a parser's stack, the top last; empty: a reduction needed a state below it.
Known = tuple[int, ...]
UNKNOWN: Final[Known] = ()

S = TypeVar("S")


def shifted(table: LrTable, top_states: Known, terminal: int) -> Known | None:
    """The stack after a terminal, from its known part; None if the terminal is refused."""
    if top_states == UNKNOWN:
        return UNKNOWN
    while isinstance(action := table.actions[top_states[-1]].get(terminal), Reduction):
        if len(top_states) <= action.size:
            return UNKNOWN
        top_states = top_states[: len(top_states) - action.size]
        top_states = (*top_states, table.gotos[top_states[-1]][action.nonterminal])
    return None if action is None else (*top_states, action)


def reached(
    tree: SubterminalTree,
    step: Callable[[S, int], S | None],
    begin: S,
    within: Collection[int] | None = None,
) -> Iterator[tuple[int, S]]:
    """The nodes of a tree whose terminals a parser accepts, each with the parser's state.

    Only nodes ``within`` a set are visited, if there is one; it holds the parents of its nodes.
    """
    terminal, depth, skip = tree.lists
    path, node = [begin] * (len(terminal) + 1), 0
    while node < len(terminal):
        check_time_budget()
        below = depth[node]
        target = None
        if within is None or node in within:
            target = step(path[below], terminal[node])
        if target is None:
            node = skip[node]
            continue
        path[below + 1] = target
        yield node, target
        node += 1


class TerminalConstraint(ReadingConstraint):
    """Base of methods with tables over the states of the scanner of all terminals."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        refuse_empty_language(grammar, vocabulary)
        work = limits.begun()
        self.vocabulary, self.limits = vocabulary, limits
        self.terminals = terminals_of(grammar, work)
        self.reader = Reader(self.terminals, work)
        self.table = self.reader.parser.table
        self.scanner = Scanner.of(self.terminals.each)

    @abstractmethod
    def precompute(self) -> Precomputed:
        """Make all tables."""

    def scanner_state(self, terminal: int, state: State) -> State:
        """The scanner's number of a state of a terminal's automaton."""
        initial = self.scanner.terminals[terminal].dfa.initial
        return int(self.scanner.initials[terminal]) - initial + state

    def target(self, state: Reading, token_id: TokenId) -> Reading | None:
        token = self.bytes_of(token_id)
        if token is None:
            return None
        current: Reading | None = state
        for byte in token:
            if current is None:
                return None
            current = self.reader.step(current, byte)
        return current


class SpannerConstraint(TerminalConstraint):
    """Base of methods that parse the sequences of terminals of tokens.

    The masks are those of the exact engine if every byte is a token; otherwise every text read can
    be completed by bytes.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); LimitError;
            VocabularyError for an empty language.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(grammar, vocabulary, limits)
        work, trie = limits.begun(), vocabulary.trie
        follows = FollowParser(self.terminals, work).follows
        #: A node of a tree is a sequence of terminals, with the tokens that are read as it.
        self.trees = Trees(self.scanner, follows, trie, work, trie.height)

    @abstractmethod
    def nodes(self, lexer_state: State, stack: Stack) -> list[int]:
        """The nodes of a tree whose sequences a stack accepts, and the precomputed sets decide."""

    def places(self, reading: Reading) -> Iterator[tuple[State, Stack]]:
        """The states of the lexer, each with the parser's stack before its terminal."""
        for stack, terminal, state in reading:
            if terminal != NO_TERMINAL:
                lexer_state = self.scanner_state(terminal, state)
                if self.scanner.goes_on[lexer_state]:
                    yield lexer_state, stack
        for stack in self.reader.after_terminals(reading):
            yield BETWEEN, stack

    def tokens_of(self, lexer_state: State, nodes: list[int]) -> npt.NDArray[np.int32]:
        """The tokens at nodes of a tree."""
        tree = self.trees.get(lexer_state)
        slices = [] if tree is None else [tree.tokens[i:j] for i, j in tree.spans(nodes)]
        return np.concatenate([np.zeros(0, np.int32), *slices])

    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        for lexer_state, stack in self.places(reading):
            allowed[self.tokens_of(lexer_state, self.nodes(lexer_state, stack))] = True
        return pack(allowed)


@dataclass(frozen=True, eq=False)
class SpannerEntry:
    """A lexer state and a parser state: which of the sequences of terminals are decided."""

    #: Nodes whose sequences every stack with this top accepts.
    always: tuple[int, ...]
    #: Nodes that only the stack decides; with a node its parents are here or in ``always``.
    depends: tuple[int, ...]
    #: The tokens of ``always``, one bit each.
    bits: npt.NDArray[np.uint32]

    @property
    def bytes(self) -> int:
        return int(self.bits.nbytes) + 4 * len(self.depends)


class GreatGrammaConstraint(SpannerConstraint):
    """The token spanner table with its sequences decided by the parser's state where possible."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(grammar, vocabulary, limits)
        self._entries: dict[tuple[State, int], SpannerEntry] = {}

    def entry(self, lexer_state: State, top: int) -> SpannerEntry:
        """What the top of the stack decides in a state of the lexer."""
        cached = self._entries.get((lexer_state, top))
        if cached is None:
            cached = self._entries[lexer_state, top] = self._decide(lexer_state, top)
        return cached

    def _decide(self, lexer_state: State, top: int) -> SpannerEntry:
        tree = self.trees.get(lexer_state)
        begin: Known = (top,)
        nodes = [] if tree is None else list(reached(tree, self._shift, begin))
        always = [node for node, top_states in nodes if top_states != UNKNOWN]
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        allowed[self.tokens_of(lexer_state, always)] = True
        depends = tuple(node for node, top_states in nodes if top_states == UNKNOWN)
        return SpannerEntry(tuple(always), depends, pack(allowed))

    def _shift(self, top_states: Known, terminal: int) -> Known | None:
        return shifted(self.table, top_states, terminal)

    def nodes(self, lexer_state: State, stack: Stack) -> list[int]:
        tree, entry = self.trees.get(lexer_state), self.entry(lexer_state, stack[-1])
        if tree is None or not entry.depends:
            return list(entry.always)
        within = {*entry.always, *entry.depends}
        return [node for node, _ in reached(tree, self._shift, stack, within)]

    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        bits = np.zeros((len(self.vocabulary) + 31) // 32, np.uint32)
        for lexer_state, stack in self.places(reading):
            entry = self.entry(lexer_state, stack[-1])
            bits |= entry.bits
            depends = set(entry.depends)
            if depends:
                undecided = [node for node in self.nodes(lexer_state, stack) if node in depends]
                set_bits(bits, self.tokens_of(lexer_state, undecided).tolist(), allowed=True)
        return bits

    def precompute(self) -> Precomputed:
        """Make the entries of all pairs of a lexer state and a parser state that can meet."""
        actions = self.table.actions
        for lexer_state in (BETWEEN, *self.scanner.inside):
            owner = int(self.scanner.owner[lexer_state])
            for top, row in actions.items():
                if lexer_state == BETWEEN or owner in row:
                    self.entry(lexer_state, top)
        sizes = [entry.bytes for entry in self._entries.values()]
        trees = sum(4 * len(tree.tokens) for tree in self.trees.each.values())
        return Precomputed(len(sizes), sum(sizes) + trees)
