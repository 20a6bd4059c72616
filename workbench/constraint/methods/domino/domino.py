"""The method ``domino``: prunes subterminal trees with a parser (Beurer-Kellner et al. 2024).

Source: Beurer-Kellner et al. 2024, §3.4, Figure 3(e); upwards for a single token, §3.5.

In come scanner and parser as one network, in which every terminal is a rule of its own, and a small
vocabulary. Vocabularies with a token for each byte the grammar uses need none of this.

In come a grammar, a vocabulary and a lookahead; out comes a ``Constraint``.

**What k means** (§3.4, Figure 3e): how many further subterminals a token may reach past its first.
"After traversing one level of this tree (k = 0)" every token is allowed that stays inside one
subterminal: the rest of the terminal being read, a whole terminal, the beginning of one; after
``(12`` these are the numbers, ``+`` and ``)``. A token that crosses into a second subterminal
(``+1``) needs k = 1, into a third k = 2: a token is in the mask if one of its nodes at depth ≤ k of
a tree is reached by terminals the parser allows. k = ∞ (None) follows every tree to its leaves; its
mask is the exact one, so it is minimally invasive (Definition 2.1).

**k = 0 is enough** (§3.5) where every byte the grammar uses is a token of its own: one byte is
never more than one subterminal, so no mask is empty before the end. Over other vocabularies that is
false: ``ab`` of two terminals may be there only as the token ``ab``. There a finite k keeps the
tokens after which tokens of one byte can finish the text, and is refused where they can finish
none; k = ∞ keeps those after which any tokens can, as the exact method does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, State
from workbench.base.dfa import State as ScannerState
from workbench.base.errors import TokenNotAllowed, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.constraint.engine.coaccessible import Coaccessibility
from workbench.constraint.engine.compose import cannot_spell
from workbench.constraint.engine.mask_rows import used_bytes
from workbench.constraint.mask import TokenMask, pack
from workbench.constraint.methods.domino.scanner import BETWEEN, Scanner, terminals_of
from workbench.constraint.methods.domino.subterminal_trees import SubterminalTree, Trees
from workbench.constraint.methods.domino.terminal_parser import (
    Parser,
    ParserState,
    Reading,
    Readings,
    ReadingState,
)
from workbench.grammar.grammar import Grammar
from workbench.pushdown.network import CALLS, Network
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


def pruned(tree: SubterminalTree, parser: Parser, state: ParserState) -> list[int]:
    """The nodes to which the parser allows all terminals from the root on.

    A terminal that has only begun, or only ends here, is asked for like a whole one.
    """
    terminal, depth, skip = tree.lists
    step, path = parser.step, [state] * (len(terminal) + 1)
    found, node = [], 0
    while node < len(terminal):
        below = depth[node]
        there = step(path[below], terminal[node])
        if there == DEAD:
            node = skip[node]
            continue
        path[below + 1] = there
        found.append(node)
        node += 1
    return found


def reaches(tree: SubterminalTree, parser: Parser, state: ParserState, token_id: TokenId) -> bool:
    """Whether one of a token's nodes is left by the parser."""
    for node in tree.nodes_of(token_id):
        here = state
        for terminal in tree.path(node):
            if (here := parser.step(here, terminal)) == DEAD:
                break
        else:
            return True
    return False


class Endings:
    """Whether tokens can finish a reading: any tokens, or only those that are one byte.

    Raises: LimitError where the vocabulary is too large to look for dead ends.
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
    ) -> Endings | None:
        """What a lookahead k has to ask; None where no dead end threatens.

        Raises: VocabularyError where no text can be finished from the beginning.
        """
        single = vocabulary.single_bytes
        if used_bytes(scanner.table, scanner.classes) <= single:
            return None
        if k is not None:
            # the last one is special, so that there is one where no byte is a token
            bytes_alone = [*(bytes((b,)) for b in sorted(single)), None]
            vocabulary = Vocabulary(bytes_alone, name=vocabulary.name)
        endings = Endings(scanner, parser, vocabulary, limits)
        if not endings.finish([(BETWEEN, parser.initial)]):
            if k is None:
                raise cannot_spell(vocabulary)
            raise VocabularyError(
                f"with a finite lookahead texts must be spelled with the single bytes of"
                f" {vocabulary.name}, which spell none",
                "leave k out, or add the characters the grammar needs to the vocabulary",
            )
        return endings

    def finish(self, readings: Iterable[Reading]) -> bool:
        """Whether tokens lead from one of some readings to an accepted text."""
        return any(
            self._coaccessibility.is_coaccessible(at, stack)
            for reading in readings
            for at, stack in self._configurations(*reading)
        )

    def _configurations(self, at: State, parsed: int) -> Iterator[tuple[State, tuple[State, ...]]]:
        """A reading as states of the whole network, each with what waits, the innermost first."""
        parser, network = self._parser, self._parser.network
        terminal = int(self._scanner.owner[at])
        for here, stack in parser.configurations(parsed):
            if at == BETWEEN:
                yield here, stack
                continue
            for opened, pushed in network.openings(here):
                for read, there in parser.edges(opened):
                    if read == terminal:
                        yield self._first + at, (there, *reversed(pushed), *stack)


def whole_network(scanner: Scanner, parser: Parser) -> Network:
    """Scanner and parser as one machine over bytes: a terminal is a rule that is called.

    Accepts what the grammar does; states of the parser first, then those of the scanner.
    """
    network = parser.network
    rules, width, first = len(network.names), scanner.table.shape[1], len(network)
    terminals = len(scanner.terminals)
    table = np.full((first + len(scanner), width + rules + terminals), DEAD, np.int32)
    table[:first, width : width + rules] = network.table[:, network.classes[CALLS:]]
    for state in parser.between:
        for terminal, there in parser.edges(state):
            table[state, width + rules + terminal] = there
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


class DominoConstraint:
    """A grammar over tokens by scanner, trees and parser.

    A state is the set of all readings of the text so far. Masks are remembered by state, what
    they are made of by reading. Safe to share between threads.

    Cost:   made in 7 ms for JSON and 45 ms for C (DOMINO's grammars) over 6,000 tokens, 21 and
            170 ms over 32k, 60 and 530 ms over 131k, on one idle core; a mask seen before 0.1 µs,
            a new one 10 to 50 µs over 6,000 tokens.
    Raises: LimitError where scanner, parser or trees are too large; VocabularyError where the
            vocabulary spells no accepted text; WorkbenchError for a k below 0.
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
        begun = limits.begun()
        self.grammar, self.vocabulary, self.limits, self.k = grammar, vocabulary, limits, k
        terminals = terminals_of(grammar, begun)
        self.scanner = Scanner.of(terminals.each)
        self.parser = Parser(terminals, begun)
        #: How many subterminals of a token are looked at.
        self.levels = vocabulary.trie.height if k is None else k + 1
        self.trees = Trees(self.scanner, self.parser.follows, vocabulary.trie, begun, self.levels)
        self.readings = Readings(self.scanner, self.parser, limits)
        self._endings = Endings.of(self.scanner, self.parser, vocabulary, k, limits)
        self._most = limits.rows_of(4 * ((len(vocabulary) + 31) // 32))
        self._masks: dict[ReadingState, TokenMask] = {}
        self._rows: dict[Reading, npt.NDArray[np.bool_]] = {}
        self._steps: dict[tuple[ReadingState, TokenId], ReadingState | None] = {}
        self._growing = threading.RLock()

    @property
    def initial(self) -> ReadingState:
        return self.readings.initial

    def subterminal(self, state: ReadingState) -> tuple[ScannerState, ...]:
        """α of §3.6: where in which terminals the scanner is; ``scanner.owner`` tells which."""
        return tuple(sorted({at for at, _ in self.readings[state]}))

    def parser_substate(self, state: ReadingState) -> tuple[int, ...]:
        """β of §3.6: where in which rules the parser is, whatever waits for their ends.

        With the whole stack every depth of nesting would have to be learnt anew.
        """
        parsed = {parsed for _, parsed in self.readings[state]}
        return tuple(sorted({rule for each in parsed for rule in self.parser.substate(each)}))

    def mask(self, state: ReadingState) -> TokenMask:
        """The tokens that may come next."""
        known = self._masks.get(state)
        return known if known is not None else self._make_mask(state)

    def allows(self, state: ReadingState, token_id: TokenId) -> bool:
        """Whether a token may come next, without the mask (opportunistic masking, §3.5).

        From the nodes linked to the token up to the root: is there one to which the parser
        allows all terminals on the way?
        """
        known = self._masks.get(state)
        if known is not None:
            return token_id in known
        if token_id == self.vocabulary.end:
            return self.is_final(state)
        with self._growing:
            if not any(self._leads_to(reading, token_id) for reading in self.readings[state]):
                return False
            return self._endings is None or self._step(state, token_id) is not None

    def advance(self, state: ReadingState, token_id: TokenId) -> ReadingState:
        """The state after a token; the end token leads to the same state.

        Raises: TokenNotAllowed where the token is not in the mask.
        """
        if token_id == self.vocabulary.end and self.is_final(state):
            return state
        with self._growing:
            there = self._step(state, token_id)
            # without an end to the lookahead whatever can be read is allowed
            if there is None or (self.k is not None and not self.allows(state, token_id)):
                raise TokenNotAllowed(f"token {token_id} is not allowed here")
        return there

    def is_final(self, state: ReadingState) -> bool:
        """Whether the text read so far is accepted."""
        return self.readings.is_final(state)

    def forced(self, state: ReadingState) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        found, readings = bytearray(), self.readings
        with self._growing:
            while not self.is_final(state) and len(following := readings.next_bytes(state)) == 1:
                found += bytes(following)
                there = readings.after(state, bytes(following))
                assert there is not None, "it is a byte that follows"
                state = there
        return bytes(found)

    def _step(self, state: ReadingState, token_id: TokenId) -> ReadingState | None:
        """The state after a token, whatever k; None where no accepted text goes on so."""
        key = (state, token_id)
        if key in self._steps:
            return self._steps[key]
        if len(self._steps) > 16 * self.limits.rows:
            self._steps.clear()
        token = self.vocabulary.tokens[token_id] if 0 <= token_id < len(self.vocabulary) else None
        there = None if token is None else self.readings.after(state, token)
        if there is not None and self._endings is not None:
            there = there if self._endings.finish(self.readings[there]) else None
        self._steps[key] = there
        return there

    def _make_mask(self, state: ReadingState) -> TokenMask:
        with self._growing:
            while len(self._masks) >= self._most:
                del self._masks[next(iter(self._masks))]
            allowed = np.zeros(len(self.vocabulary), np.bool_)
            for reading in self.readings[state]:
                allowed |= self._row(reading)
            if self._endings is not None:
                for token_id in np.flatnonzero(allowed).tolist():
                    allowed[token_id] = self._step(state, token_id) is not None
            if self.vocabulary.end is not None:  # r_EOS of Lemma 3.1
                allowed[self.vocabulary.end] = self.is_final(state)
            made = self._masks[state] = TokenMask(pack(allowed), len(self.vocabulary))
        return made

    def kept(self, reading: Reading) -> list[int]:
        """The nodes the parser leaves of a reading's tree: Figure 3(e)."""
        at, parsed = reading
        tree = self.trees.get(at)
        return [] if tree is None else pruned(tree, self.parser, parsed)

    def _row(self, reading: Reading) -> npt.NDArray[np.bool_]:
        """The tokens one reading allows."""
        known = self._rows.get(reading)
        if known is None:
            if len(self._rows) >= self._most // 8:  # they take eight times as much as masks
                self._rows.clear()
            known = np.zeros(len(self.vocabulary), np.bool_)
            tree = self.trees.get(reading[0])
            if tree is not None:
                for low, high in tree.spans(self.kept(reading)):
                    known[tree.tokens[low:high]] = True
            self._rows[reading] = known  # not before it is whole: the parser may give up
        return known

    def _leads_to(self, reading: Reading, token_id: TokenId) -> bool:
        """Whether the parser allows a way from the root of a reading's tree to a token."""
        at, parsed = reading
        tree = self.trees.get(at)
        return tree is not None and reaches(tree, self.parser, parsed, token_id)


@cache
def ready() -> None:
    """Have the kernel compiled before a clock runs that would count it in."""
    vocabulary = Vocabulary((b"a",))
    DominoConstraint(Grammar.from_regex("a"), vocabulary, Limits(seconds=600.0))


def domino(
    grammar: Grammar, vocabulary: Vocabulary, limits: Limits, k: int | None = None
) -> DominoConstraint:
    """Scanner, subterminal trees and parser, with lookahead k."""
    ready()
    return DominoConstraint(grammar, vocabulary, limits, k)
