"""The method ``domino``: prunes subterminal trees with a parser (Beurer-Kellner et al. 2024).

A mask is the union of the tokens at the nodes of the trees that the parser allows (§3.4, Figure
3(e)); a single token is tested upwards, from its nodes to the root (§3.5).

**What k means** (§3.4, Figure 3e): how many further subterminals a token may reach past its first.
"After traversing one level of this tree (k = 0)" every token is allowed that stays inside one
subterminal: the rest of the current terminal, a whole terminal, or the beginning of one; after
``(12`` these are the numbers, ``+`` and ``)``. A token that crosses into a second subterminal
(``+1``) needs k = 1, into a third k = 2: a token is in the mask if one of its nodes at depth ≤ k of
a tree is reached by terminals that the parser allows. k = ∞ (None) follows every tree to its
leaves; its mask is exact, so it is minimally invasive (Definition 2.1).

**k = 0 is enough** (§3.5) if every byte that the grammar uses is a token: one byte never crosses a
terminal's border, so no mask is empty before the end. This is false over other vocabularies:
``ab``, two terminals, may be available only as the token ``ab``. There a finite k allows the tokens
after which tokens of one byte can complete the text, and is refused if these can complete none; k =
∞ allows the tokens after which any tokens can, as the exact engine does (``Completion``).
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, State, used_bytes
from workbench.base.dfa import State as ScannerState
from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
from workbench.base.locks import WorkLock
from workbench.constraint.engine.automaton import AutomatonConstraint, automaton
from workbench.constraint.engine.coaccessibility import Coaccessibility
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner, terminals_of
from workbench.constraint.methods.domino.subterminal_trees import SubterminalTree, Trees
from workbench.constraint.methods.domino.terminal_parser import (
    Parser,
    ParserState,
    Reading,
    Readings,
    ReadingState,
)
from workbench.constraint.token_machine import ASK_FOR_LESS, TokenMachine
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import CALLS, Network
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


def allowed_nodes(tree: SubterminalTree, parser: Parser, state: ParserState) -> list[int]:
    """The nodes for which the parser allows all terminals from the root to the node.

    A partial terminal is tested like a whole one.
    """
    terminal, depth, skip = tree.lists
    step, path = parser.step, [state] * (len(terminal) + 1)
    nodes, node = [], 0
    while node < len(terminal):
        check_time_budget()
        below = depth[node]
        target = step(path[below], terminal[node])
        if target == DEAD:
            node = skip[node]
            continue
        path[below + 1] = target
        nodes.append(node)
        node += 1
    return nodes


def reaches(tree: SubterminalTree, parser: Parser, state: ParserState, token_id: TokenId) -> bool:
    """Whether the parser allows one of a token's nodes."""
    for node in tree.nodes_of(token_id):
        current = state
        for terminal in tree.path(node):
            if (current := parser.step(current, terminal)) == DEAD:
                break
        else:
            return True
    return False


class Completion:
    """Decides whether tokens can complete a reading: any tokens, or only those of one byte.

    Scanner and parser become one network, in which every terminal is a rule, for the search for
    co-accessible configurations.

    Raises: LimitError where the vocabulary is too large for the search.
    """

    def __init__(
        self, scanner: Scanner, parser: Parser, vocabulary: Vocabulary, limits: Limits
    ) -> None:
        self._scanner, self._parser = scanner, parser
        self._coaccessibility = Coaccessibility(whole_network(scanner, parser), vocabulary, limits)
        self._first = len(parser.network)

    @staticmethod
    def of(
        scanner: Scanner, parser: Parser, vocabulary: Vocabulary, k: int | None, limits: Limits
    ) -> Completion | None:
        """The test that a lookahead k needs; None if no dead ends are possible.

        Raises: VocabularyError where no text can be completed from the beginning.
        """
        single = vocabulary.single_bytes
        if used_bytes(scanner.table, scanner.classes) <= single:
            return None
        if k is not None:
            # with a special token, so that the vocabulary is not empty if no byte is a token
            single_byte_tokens = [*(bytes((b,)) for b in sorted(single)), None]
            vocabulary = Vocabulary(single_byte_tokens, name=vocabulary.name)
        completion = Completion(scanner, parser, vocabulary, limits)
        if not completion.is_possible([(BETWEEN, parser.initial)]):
            if k is None:
                raise cannot_spell(vocabulary)
            raise VocabularyError(
                f"with a finite lookahead texts must be spelled with the single bytes of"
                f" {vocabulary.name}, which spell none",
                "leave k out, or add the characters the grammar needs to the vocabulary",
            )
        return completion

    def is_possible(self, readings: Iterable[Reading]) -> bool:
        """Whether tokens lead from one of the readings to an accepted text."""
        return any(
            self._coaccessibility.is_coaccessible(state, stack)
            for reading in readings
            for state, stack in self._configurations(*reading)
        )

    def _configurations(
        self, scanner_state: State, parsed: int
    ) -> Iterator[tuple[State, tuple[State, ...]]]:
        """A reading as states of the whole network with return states, the top first."""
        parser, network = self._parser, self._parser.network
        terminal = int(self._scanner.owner[scanner_state])
        for inner, stack in parser.configurations(parsed):
            if scanner_state == BETWEEN:
                yield inner, stack
                continue
            for opened, pushed in network.openings(inner):
                for read, target in parser.edges(opened):
                    if read == terminal:
                        yield self._first + scanner_state, (target, *reversed(pushed), *stack)


def whole_network(scanner: Scanner, parser: Parser) -> Network:
    """Scanner and parser as one network over bytes, in which a terminal is a rule.

    Its language is the grammar's; the states of the parser come first, then the scanner's.
    """
    network = parser.network
    rules, width, first = len(network.names), scanner.table.shape[1], len(network)
    terminals = len(scanner.terminals)
    table = np.full((first + len(scanner), width + rules + terminals), DEAD, np.int32)
    table[:first, width : width + rules] = network.table[:, network.classes[CALLS:]]
    for state in parser.between:
        for terminal, target in parser.edges(state):
            table[state, width + rules + terminal] = target
    table[first:, :width] = np.where(scanner.table == DEAD, DEAD, scanner.table + first)
    calls = np.arange(width, width + rules + terminals, dtype=np.uint16)
    return Network(
        names=(*network.names, *(terminal.name for terminal in scanner.terminals)),
        initials=(*network.initials, *(scanner.initials + first).tolist()),
        start=network.start,
        classes=np.concatenate([scanner.classes, calls]),
        table=table,
        finals=np.concatenate([network.finals, scanner.accepting]),
        owner=np.concatenate([network.owner, np.maximum(scanner.owner + rules, 0)]),
    )


class DominoConstraint(TokenMachine):
    """A grammar over tokens by scanner, subterminal trees and parser.

    A state is the set of all readings of the text read. Masks are cached by state, the rows
    they consist of by reading. Safe to share between threads.

    Cost:   built in 7 ms for JSON and 45 ms for C (DOMINO's grammars) over 6,000 tokens, 21 and
            170 ms over 32k, 60 and 530 ms over 131k, on one idle core; a cached mask 0.1 µs, a
            new one 10 to 50 µs over 6,000 tokens.
    Raises: LimitError where scanner, parser or trees are too large; VocabularyError where no
            accepted text can be tokenized; WorkbenchError for a k below 0.
    Source: Beurer-Kellner et al. 2024, §3.2 to §3.5.
    """

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary,
        limits: Limits = LIMITS,
        k: int | None = None,
    ) -> None:
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 0):
            raise WorkbenchError(
                f"expected a lookahead k of 0 or more, not {k!r}", "leave it out for no end"
            )
        if not grammar.is_prefix(b""):
            raise cannot_spell(vocabulary)
        work = limits.begun()
        self.grammar, self.vocabulary, self.limits, self.k = grammar, vocabulary, limits, k
        terminals = terminals_of(grammar, work)
        self.scanner = Scanner.of(terminals.each)
        self.parser = Parser(terminals, work)
        #: The most subterminals of a token that are considered.
        self.levels = vocabulary.trie.height if k is None else k + 1
        self.trees = Trees(self.scanner, self.parser.follows, vocabulary.trie, work, self.levels)
        self.readings = Readings(self.scanner, self.parser, limits)
        self._completion = Completion.of(self.scanner, self.parser, vocabulary, k, limits)
        self._max_masks = limits.rows_of(4 * ((len(vocabulary) + 31) // 32))
        self._masks: dict[ReadingState, TokenMask] = {}
        self._rows: dict[Reading, npt.NDArray[np.bool_]] = {}
        self._steps: dict[tuple[ReadingState, TokenId], ReadingState | None] = {}
        self._lock = WorkLock()

    @property
    def initial(self) -> ReadingState:
        return self.readings.initial

    def subterminal(self, state: ReadingState) -> tuple[ScannerState, ...]:
        """α of §3.6: the scanner's states; ``scanner.owner`` has their terminals."""
        return tuple(sorted({scanner_state for scanner_state, _ in self.readings[state]}))

    def parser_substate(self, state: ReadingState) -> tuple[int, ...]:
        """β of §3.6: the parser's positions in rules, without the callers of the rules.

        With the whole stack every depth of nesting would have to be learnt separately.
        """
        parsed = {parsed for _, parsed in self.readings[state]}
        return tuple(sorted({rule for each in parsed for rule in self.parser.substate(each)}))

    def state_key(self, state: ReadingState) -> Hashable:
        """(α, β) of §3.6: the subterminal and the parser substate."""
        return self.subterminal(state), self.parser_substate(state)

    def mask(self, state: ReadingState) -> TokenMask:
        """The tokens that may come next."""
        cached = self._masks.get(state)
        return cached if cached is not None else self._compute_mask(state)

    def allows(self, state: ReadingState, token_id: TokenId) -> bool:
        """Whether a token may come next, without the mask (opportunistic masking, §3.5).

        Tests the paths from the root to the token's nodes for one that the parser allows.
        """
        cached = self._masks.get(state)
        if cached is not None:
            return token_id in cached
        if token_id in self.vocabulary.ends:
            return self.is_final(state)
        with self._lock:
            if not any(self._reaches(reading, token_id) for reading in self.readings[state]):
                return False
            return self._completion is None or self._step(state, token_id) is not None

    def advance(self, state: ReadingState, token_id: TokenId) -> ReadingState:
        """The state after a token; an end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id in self.vocabulary.ends and self.is_final(state):
            return state
        with self._lock:
            target = self._step(state, token_id)
            # with unlimited lookahead, every readable token is allowed
            if target is None or (self.k is not None and not self.allows(state, token_id)):
                raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return target

    def is_final(self, state: ReadingState) -> bool:
        """Whether the text read is accepted."""
        return self.readings.is_final(state)

    def forced(self, state: ReadingState, most: int = sys.maxsize) -> bytes:
        text, readings, clock = bytearray(), self.readings, self.limits.clock()
        with self._lock:
            while len(text) < most and not self.is_final(state):
                clock.check(ASK_FOR_LESS)
                following = readings.next_bytes(state)
                if len(following) != 1:
                    break
                text += bytes(following)
                target = readings.after(state, bytes(following))
                assert target is not None, "the next byte can be read"
                state = target
        return bytes(text)

    def engine(self) -> TokenMachine:
        """With unlimited lookahead the masks are exact, so the exact engine's."""
        return self if self.k is not None else self._engine

    @cached_property
    def _engine(self) -> AutomatonConstraint:
        return automaton(self.grammar, self.vocabulary, self.limits)

    def _step(self, state: ReadingState, token_id: TokenId) -> ReadingState | None:
        """The state after a token, for unlimited k; None if no accepted text continues with it."""
        key = (state, token_id)
        if key in self._steps:
            return self._steps[key]
        if len(self._steps) > 16 * self.limits.rows:
            self._steps.clear()
        token = self.vocabulary.tokens[token_id] if 0 <= token_id < len(self.vocabulary) else None
        target = None if token is None else self.readings.after(state, token)
        if target is not None and self._completion is not None:
            target = target if self._completion.is_possible(self.readings[target]) else None
        self._steps[key] = target
        return target

    def _compute_mask(self, state: ReadingState) -> TokenMask:
        with self._lock, time_budget(self.limits.seconds):
            while len(self._masks) >= self._max_masks:
                del self._masks[next(iter(self._masks))]
            allowed = np.zeros(len(self.vocabulary), np.bool_)
            for reading in self.readings[state]:
                allowed |= self._row(reading)
            if self._completion is not None:
                for token_id in np.flatnonzero(allowed).tolist():
                    check_time_budget()
                    allowed[token_id] = self._step(state, token_id) is not None
            allowed[list(self.vocabulary.ends)] = self.is_final(state)  # r_EOS of Lemma 3.1
            mask = self._masks[state] = TokenMask(pack(allowed), len(self.vocabulary))
        return mask

    def allowed_nodes(self, reading: Reading) -> list[int]:
        """The nodes of a reading's tree that the parser allows: Figure 3(e)."""
        scanner_state, parsed = reading
        tree = self.trees.get(scanner_state)
        return [] if tree is None else allowed_nodes(tree, self.parser, parsed)

    def _row(self, reading: Reading) -> npt.NDArray[np.bool_]:
        """The tokens that one reading allows, (V,) bool."""
        cached = self._rows.get(reading)
        if cached is None:
            if (
                len(self._rows) >= self._max_masks // 8
            ):  # a row takes eight times as many bytes as a mask
                self._rows.clear()
            cached = np.zeros(len(self.vocabulary), np.bool_)
            tree = self.trees.get(reading[0])
            if tree is not None:
                for low, high in tree.spans(self.allowed_nodes(reading)):
                    cached[tree.tokens[low:high]] = True
            self._rows[reading] = cached  # only when complete: the parser may raise
        return cached

    def _reaches(self, reading: Reading, token_id: TokenId) -> bool:
        """Whether the parser allows a path from the root of a reading's tree to a token."""
        scanner_state, parsed = reading
        tree = self.trees.get(scanner_state)
        return tree is not None and reaches(tree, self.parser, parsed, token_id)


def domino(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits, k: int | None = None
) -> DominoConstraint:
    """Scanner, subterminal trees and parser, with lookahead k."""
    return DominoConstraint(grammar, vocabulary, limits, k)
