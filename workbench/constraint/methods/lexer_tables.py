"""The methods ``greatgramma`` and ``syncode``: tables by the states of a lexer.

The method ``greatgramma``: a table from lexer states and sequences of terminals to tokens.

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

import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, State
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner, terminals_of
from workbench.constraint.methods.domino.subterminal_trees import SubterminalTree, Trees
from workbench.constraint.methods.domino.terminal_parser import Parser as FollowParser
from workbench.constraint.methods.lalr import (
    NO_TERMINAL,
    LrTable,
    Reader,
    Reading,
    Reduction,
    Stack,
    refuse_empty_language,
)
from workbench.constraint.methods.recogniser import forced
from workbench.constraint.protocol import Precomputed, TokenByToken, TokenMask, pack, set_bits
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A known part of a parser's stack, the top last; empty: a reduction needed a state below it.
Known = tuple[int, ...]
UNKNOWN: Final[Known] = ()

S = TypeVar("S")


def shifted(table: LrTable, known: Known, terminal: int) -> Known | None:
    """The stack after a terminal, from its known part; None if the terminal is refused."""
    if known == UNKNOWN:
        return UNKNOWN
    while isinstance(action := table.actions[known[-1]].get(terminal), Reduction):
        if len(known) <= action.size:
            return UNKNOWN
        known = known[: len(known) - action.size]
        known = (*known, table.gotos[known[-1]][action.nonterminal])
    return None if action is None else (*known, action)


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


class TerminalConstraint(TokenByToken[Reading]):
    """Base of methods over terminals and an LALR(1) parser: a state is all readings of the text."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        refuse_empty_language(grammar, vocabulary)
        work = limits.begun()
        self.vocabulary, self.limits = vocabulary, limits
        self.terminals = terminals_of(grammar, work)
        self.reader = Reader(self.terminals, work)
        self.table = self.reader.parser.table
        self.scanner = Scanner.of(self.terminals.each)
        self.mask = lru_cache(maxsize=limits.rows_of(len(vocabulary) // 8 + 1))(self._mask)

    @property
    def initial(self) -> Reading:
        return self.reader.initial

    @abstractmethod
    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        """The tokens with bytes that may come next, packed; a new array."""

    @abstractmethod
    def precompute(self) -> Precomputed:
        """Make all tables."""

    def scanner_state(self, terminal: int, state: State) -> State:
        """The scanner's number of a state of a terminal's automaton."""
        initial = self.scanner.terminals[terminal].dfa.initial
        return int(self.scanner.initials[terminal]) - initial + state

    def _mask(self, state: Reading) -> TokenMask:
        with time_budget(self.limits.seconds):
            bits = self.allowed(state)
        set_bits(bits, self.vocabulary.ends, allowed=self.is_final(state))
        return TokenMask(bits, len(self.vocabulary))

    def target(self, state: Reading, token_id: TokenId) -> Reading | None:
        token = self.bytes_of(token_id)
        if token is None:
            return None
        here: Reading | None = state
        for byte in token:
            if here is None:
                return None
            here = self.reader.step(here, byte)
        return here

    def is_final(self, state: Reading) -> bool:
        return self.reader.is_final(state)

    def forced(self, state: Reading, most: int = sys.maxsize) -> bytes:
        return forced(self.reader, state, most, self.limits.clock())


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
    def nodes(self, at: State, stack: Stack) -> list[int]:
        """The nodes of a tree whose sequences a stack accepts, and the precomputed sets decide."""

    def places(self, reading: Reading) -> Iterator[tuple[State, Stack]]:
        """The states of the lexer, each with the parser's stack before its terminal."""
        for stack, terminal, state in reading:
            if terminal != NO_TERMINAL:
                at = self.scanner_state(terminal, state)
                if self.scanner.goes_on[at]:
                    yield at, stack
        for stack in self.reader.after_terminals(reading):
            yield BETWEEN, stack

    def tokens_of(self, at: State, nodes: list[int]) -> npt.NDArray[np.int32]:
        """The tokens at nodes of a tree."""
        tree = self.trees.get(at)
        slices = [] if tree is None else [tree.tokens[i:j] for i, j in tree.spans(nodes)]
        return np.concatenate([np.zeros(0, np.int32), *slices])

    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        for at, stack in self.places(reading):
            allowed[self.tokens_of(at, self.nodes(at, stack))] = True
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

    def entry(self, at: State, top: int) -> SpannerEntry:
        """What the top of the stack decides in a state of the lexer."""
        cached = self._entries.get((at, top))
        if cached is None:
            cached = self._entries[at, top] = self._decided(at, top)
        return cached

    def _decided(self, at: State, top: int) -> SpannerEntry:
        tree = self.trees.get(at)
        begin: Known = (top,)
        found = [] if tree is None else list(reached(tree, self._shifted, begin))
        always = [node for node, known in found if known != UNKNOWN]
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        allowed[self.tokens_of(at, always)] = True
        depends = tuple(node for node, known in found if known == UNKNOWN)
        return SpannerEntry(tuple(always), depends, pack(allowed))

    def _shifted(self, known: Known, terminal: int) -> Known | None:
        return shifted(self.table, known, terminal)

    def nodes(self, at: State, stack: Stack) -> list[int]:
        tree, entry = self.trees.get(at), self.entry(at, stack[-1])
        if tree is None or not entry.depends:
            return list(entry.always)
        within = {*entry.always, *entry.depends}
        return [node for node, _ in reached(tree, self._shifted, stack, within)]

    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        bits = np.zeros((len(self.vocabulary) + 31) // 32, np.uint32)
        for at, stack in self.places(reading):
            entry = self.entry(at, stack[-1])
            bits |= entry.bits
            depends = set(entry.depends)
            if depends:
                left = [node for node in self.nodes(at, stack) if node in depends]
                set_bits(bits, self.tokens_of(at, left).tolist(), allowed=True)
        return bits

    def precompute(self) -> Precomputed:
        """Make the entries of all pairs of a lexer state and a parser state that can meet."""
        actions = self.table.actions
        for at in (BETWEEN, *self.scanner.inside):
            owner = int(self.scanner.owner[at])
            for top, row in actions.items():
                if at == BETWEEN or owner in row:
                    self.entry(at, top)
        sizes = [entry.bytes for entry in self._entries.values()]
        trees = sum(4 * len(tree.tokens) for tree in self.trees.each.values())
        return Precomputed(len(sizes), sum(sizes) + trees)


# -- SynCode --------------------------------------------------------------------------------------
# The method ``syncode``: masks stored by the state of a terminal's DFA and the terminal after it.
#
# An *accept sequence* has the terminal being read and at most one more that the parser accepts
# after it. The *DFA mask store* has a row for each state of each terminal's DFA, and for each
# second terminal: the tokens that can be read from that state through the sequence. A step unites
# the rows of the current accept sequences, which the parser lists.
#
# A token may be longer than the sequence. Then its rest is not read at all, and the token is
# allowed. So no token that an accepted text needs is forbidden. But a token that covers more than
# two terminals may be allowed although no accepted text continues with it. Then the next mask is
# empty.
#
# Where the text may end, a sequence has the end in the place of the second terminal, and its row
# has only tokens that stay inside the first.
#
# The paper's lexer takes the longest match; here every segmentation of the text into terminals is
# kept. The paper calls a mask that forbids no valid token *sound*; here that is *complete*, as in
# the table of ``docs/engines.md``.
#
# Source: Ugare et al. 2024 (SynCode).


#: A state of the scanner, and the second terminal of an accept sequence; None for the end.
Key = tuple[State, int | None]


class MaskStore:
    """The rows of all states of the scanner and all second terminals, made on first use."""

    def __init__(self, owner: SynCodeConstraint) -> None:
        self._scanner, self._trie = owner.scanner, owner.vocabulary.trie
        self._size = len(owner.vocabulary)
        self._classes: list[int] = self._scanner.classes.tolist()
        self.rows: dict[Key, npt.NDArray[np.uint32]] = {}
        self._reads: dict[State, tuple[npt.NDArray[np.bool_], list[int]]] = {}
        self._below: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def row(self, state: State, second: int | None) -> npt.NDArray[np.uint32]:
        """The tokens that a sequence matches from a state of its first terminal, packed."""
        cached = self.rows.get((state, second))
        if cached is None:
            allowed, ends = self._read(state)
            allowed = allowed.copy()
            if second is not None:
                for low, high in (one for node in ends for one in self._rest(node, second)):
                    check_time_budget()
                    allowed[self._tokens(low, high)] = True
            cached = self.rows[state, second] = pack(allowed)
        return cached

    def allows(self, state: State, second: int | None, token_id: TokenId) -> bool:
        """Whether one token is in a row."""
        return token_id in TokenMask(self.row(state, second), self._size)

    def _tokens(self, low: int, high: int) -> npt.NDArray[np.int32]:
        trie = self._trie
        return trie.token_ids[trie.first[low] : trie.first[high]]

    def _read(self, state: State) -> tuple[npt.NDArray[np.bool_], list[int]]:
        """The tokens that stay inside the terminal, and the trie nodes at which it can end."""
        cached = self._reads.get(state)
        if cached is None:
            allowed = np.zeros(self._size, np.bool_)
            ends = [-1] if self._scanner.accepting[state] else []
            for node, target in self._walk(state, -1):
                allowed[self._tokens(node, node + 1)] = True
                if self._scanner.accepting[target]:
                    ends.append(node)
            cached = self._reads[state] = allowed, ends
        return cached

    def _rest(self, node: int, second: int) -> list[tuple[int, int]]:
        """Ranges of trie nodes below a node: what the second terminal reads, and all after it."""
        key = node, second
        if key not in self._below:
            found, passed = list[tuple[int, int]](), -1
            for inner, target in self._walk(int(self._scanner.initials[second]), node):
                if inner < passed:
                    continue
                if self._scanner.accepting[target]:
                    passed = int(self._trie.skip[inner])
                found.append((inner, max(passed, inner + 1)))
            self._below[key] = found
        return self._below[key]

    def _walk(self, state: State, root: int) -> Iterator[tuple[int, State]]:
        """The trie nodes below a node that a terminal reads from a state, with its states."""
        trie, table = self._trie, self._scanner.table
        node, stop, base = 0, len(trie), 0
        if root >= 0:
            node, stop, base = root + 1, int(trie.skip[root]), int(trie.depth[root]) + 1
        path = [state] * (trie.height + 1)
        while node < stop:
            check_time_budget()
            level = int(trie.depth[node]) - base
            target = int(table[path[level], self._classes[int(trie.byte[node])]])
            if target == DEAD:
                node = int(trie.skip[node])
                continue
            path[level + 1] = target
            yield node, target
            node += 1


class SynCodeConstraint(TerminalConstraint):
    """Masks from the store: every token that some accepted text needs, and others.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); LimitError;
            VocabularyError for an empty language.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits = LIMITS) -> None:
        super().__init__(grammar, vocabulary, limits)
        self.store = MaskStore(self)

    def sequences(self, reading: Reading) -> list[Key]:
        """The accept sequences, sorted: a state of the first terminal, and the second terminal."""
        found = set(self._sequences(reading))
        return sorted(found, key=lambda one: (one[0], -1 if one[1] is None else one[1]))

    def _sequences(self, reading: Reading) -> Iterator[Key]:
        for stack, terminal, state in reading:
            if terminal == NO_TERMINAL:
                first_terminals = self.reader.parser.accepts(stack)[0]
                begun = [(t, int(self.scanner.initials[t])) for t in first_terminals]
            else:
                begun = [(terminal, self.scanner_state(terminal, state))]
            for first, at in begun:
                after = self.reader.parser.shifted(stack, first)
                assert after is not None, "a terminal that is not accepted has begun"
                seconds, may_end = self.reader.parser.accepts(after)
                yield from ((at, second) for second in seconds)
                if may_end:
                    yield at, None

    def allowed(self, reading: Reading) -> npt.NDArray[np.uint32]:
        bits = np.zeros((len(self.vocabulary) + 31) // 32, np.uint32)
        for at, second in self.sequences(reading):
            bits |= self.store.row(at, second)
        return bits

    def target(self, state: Reading, token_id: TokenId) -> Reading | None:
        """The readings after a token: none, where the store allows a token wrongly."""
        target = super().target(state, token_id)
        if target is None and token_id in self.mask(state):
            return frozenset()
        return target

    def precompute(self) -> Precomputed:
        """Make the rows of all states and all terminals."""
        terminals = range(len(self.scanner.terminals))
        for at in range(1, len(self.scanner)):
            for second in (None, *terminals):
                self.store.row(at, second)
        return Precomputed(len(self.store.rows), sum(r.nbytes for r in self.store.rows.values()))
