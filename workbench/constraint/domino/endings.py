"""Endings: which readings whole tokens can still finish, where some bytes are no tokens.

In come scanner and parser as one network, in which every terminal is a rule of its own, and a small
vocabulary. Vocabularies with a token for each byte the grammar uses need none of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from workbench.automata.dfa import DEAD, State
from workbench.constraint.compose import cannot_spell
from workbench.constraint.dead_ends import Spelling
from workbench.constraint.domino.parser import Parser
from workbench.constraint.domino.readings import Reading
from workbench.constraint.domino.scanner import BETWEEN, Scanner
from workbench.constraint.marking import used_bytes
from workbench.errors import VocabularyError
from workbench.limits import Limits
from workbench.pushdown.network import CALLS, Network
from workbench.vocabulary.vocabulary import Vocabulary


class Endings:
    """Whether tokens can finish a reading: any tokens, or only those that are one byte.

    Raises: LimitError where the vocabulary is too large to look for dead ends.
    """

    def __init__(
        self, scanner: Scanner, parser: Parser, vocabulary: Vocabulary, limits: Limits
    ) -> None:
        self._scanner, self._parser = scanner, parser
        self._spelling = Spelling(whole_network(scanner, parser), vocabulary, limits)
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
            self._spelling.finishes(at, stack)
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
