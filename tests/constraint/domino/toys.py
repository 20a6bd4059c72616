"""Small grammars and vocabularies, and the slow, obvious twins of DOMINO's trees and masks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tests.oracles.grammar_oracle import GrammarOracle
from workbench.constraint.methods.domino.domino import DominoConstraint
from workbench.constraint.methods.domino.scanner import BETWEEN, Terminals, terminals_of
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

#: Every beginning of a text is tried with these; their bytes are tokens too.
PIECES = toy(("a", "b", "c", "ab", "ba", "abc", "aab", "bb", "cab", "abab", "ca"))

#: A sequence of subterminals: terminals, and whether the last of them is not at an end.
Sequence = tuple[tuple[int, ...], bool]


def readings(terminals: Terminals, text: bytes) -> Iterator[Sequence]:
    """All ways to cut a text into terminals, the last maybe only begun."""
    if not text:
        yield (), False
    for number, terminal in enumerate(terminals.each):
        for end in range(1, len(text) + 1):
            state = terminal.dfa.run(text[:end])
            if state == -1:
                break
            if end == len(text) and any(
                terminal.dfa.step(state, byte) != -1 for byte in range(256)
            ):
                yield (number,), True
            if terminal.dfa.is_final(state):
                for rest, partial in readings(terminals, text[end:]):
                    yield (number, *rest), partial


class Slow:
    """The mask of every k of one grammar by trying all readings of whole texts."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        self.terminals = terminals_of(grammar)
        self.vocabulary = vocabulary
        self.viable = cache(self._viable)

    def _viable(self, sequence: tuple[int, ...]) -> bool:
        codes = b"".join(map(self.terminals.code, sequence))
        return GrammarOracle(self.terminals.tree, codes, self.terminals.start).is_prefix

    def mask(self, text: bytes, k: int | None) -> set[int]:
        """The tokens after a text that reach at most k terminals past their first."""
        return {
            token_id
            for token_id, token in enumerate(self.vocabulary.tokens)
            if token is not None and any(k is None or n <= k for n in self.crossed(text, token))
        }

    def crossed(self, text: bytes, token: bytes) -> Iterator[int]:
        """For every way to read a text and a token, how many terminals begin inside the token."""
        for cut, begun in readings(self.terminals, text):
            for sequence, _ in self._on(text, cut, begun, token):
                if self.viable(sequence):
                    yield len(sequence) - len(cut) - (not begun)

    def _on(
        self, text: bytes, cut: tuple[int, ...], begun: bool, token: bytes
    ) -> Iterator[Sequence]:
        """The readings of text and token that cut the text so."""
        if not begun:
            for rest, partial in readings(self.terminals, token):
                yield (*cut, *rest), partial
            return
        for begin in self._begins(text, cut):
            dfa = self.terminals.each[cut[-1]].dfa
            for end in range(1, len(token) + 1):
                state = dfa.run(text[begin:] + token[:end])
                if state == -1:
                    break
                if end == len(token):
                    yield cut, True
                if dfa.is_final(state):
                    for rest, partial in readings(self.terminals, token[end:]):
                        yield (*cut, *rest), partial

    def _begins(self, text: bytes, cut: tuple[int, ...]) -> set[int]:
        """Where the last terminal of a reading, only begun, can have begun."""
        places = {0}
        for number in cut[:-1]:
            dfa = self.terminals.each[number].dfa
            places = {j for i in places for j in range(i + 1, len(text)) if dfa.accepts(text[i:j])}
        dfa = self.terminals.each[cut[-1]].dfa
        return {i for i in places if dfa.run(text[i:]) != -1}


def subterminals(
    constraint: DominoConstraint, state: int
) -> set[tuple[tuple[int, ...], int, bool]]:
    """Algorithm 2 token by token: sequences from a scanner's state, each with its token."""
    scanner, vocabulary = constraint.scanner, constraint.vocabulary
    follows = constraint.parser.follows

    def on(at: int, read: tuple[int, ...], rest: bytes) -> Iterator[tuple[tuple[int, ...], bool]]:
        if not rest:
            yield read, not scanner.accepting[at]
            return
        there = int(scanner.table[at, scanner.classes[rest[0]]])
        if there != -1:
            yield from on(there, read, rest[1:])
        if scanner.accepting[at]:
            yield from begin(read, rest, follows[read[-1]])

    def begin(read: tuple[int, ...], rest: bytes, next_ones: tuple[int, ...]) -> Iterator[Sequence]:
        for number in next_ones:
            there = int(scanner.table[scanner.initials[number], scanner.classes[rest[0]]])
            if there != -1:
                yield from on(there, (*read, number), rest[1:])

    found = set()
    for token_id, token in enumerate(vocabulary.tokens):
        if token is None:
            continue
        if state == BETWEEN:
            ways = begin((), token, tuple(range(len(scanner.terminals))))
        else:
            there = int(scanner.table[state, scanner.classes[token[0]]])
            own = int(scanner.owner[state])
            ways = on(there, (own,), token[1:]) if there != -1 else iter(())
        found |= {(sequence, token_id, partial) for sequence, partial in ways}
    return found
