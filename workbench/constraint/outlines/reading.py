"""Reading a text by terminals: which terminal is being read, how far, and on which parser stack.

In come a grammar's terminals; out come sets of configurations. lark's lexer would take the longest
match and go on from there. A text is here what the grammar says it is, however it is cut, so every
cut is kept, and a configuration stands for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np

from workbench.automata.dfa import DEAD, State
from workbench.constraint.compose import cannot_spell
from workbench.constraint.domino.terminals import Terminals
from workbench.constraint.outlines.parser import Parser, Stack
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.pushdown.network import Network
from workbench.vocabulary.vocabulary import Vocabulary

#: The parser's stack before a terminal, the terminal, and the state of its automaton.
Configuration = tuple[Stack, int, State]

#: All ways the text can have been read.
Reading = frozenset[Configuration]

#: What stands for a terminal where nothing is read yet.
NOTHING = -1


def refuse_nothing(grammar: Grammar, vocabulary: Vocabulary) -> None:
    """A grammar of no text at all has terminals and rules like one of the empty text.

    Raises: VocabularyError for it, as every method does.
    """
    if not isinstance(grammar.reader, Network) and grammar.reader.is_empty:
        raise cannot_spell(vocabulary)


class Reader:
    """The parser over the automata of its terminals.

    A terminal is only begun where the parser accepts it, and an LALR(1) parser's stack is always
    the beginning of something its grammar derives; so the grammar can finish every configuration,
    and so can the parser, where no conflict was settled.
    """

    def __init__(self, terminals: Terminals, limits: Limits, *, strict: bool = True) -> None:
        self.terminals = terminals
        self.parser = Parser(terminals, limits, strict=strict)
        self.limits = limits
        self._machines = [terminal.dfa for terminal in terminals.each]
        self._goes_on = [(dfa.table != DEAD).any(axis=1).tolist() for dfa in self._machines]
        #: By byte the terminals that can begin with it.
        self._beginning: tuple[set[int], ...] = tuple(set() for _ in range(256))
        for terminal, dfa in enumerate(self._machines):
            for byte in np.flatnonzero(dfa.table[dfa.initial, dfa.classes] != DEAD).tolist():
                self._beginning[byte].add(terminal)
        self.initial: Reading = frozenset({(self.parser.initial, NOTHING, 0)})

    def ended(self, reading: Reading) -> Iterator[Stack]:
        """The stacks of the ways in which the last terminal is whole."""
        for stack, terminal, state in reading:
            if terminal == NOTHING:
                yield stack
            elif self._machines[terminal].is_final(state):
                shifted = self.parser.shifted(stack, terminal)
                assert shifted is not None, "only accepted terminals are begun"
                yield shifted

    def ways(self, reading: Reading) -> Iterator[Configuration]:
        """The terminals that may go on, and those that may begin, nothing of them read."""
        yield from self._under_way(reading)
        for stack in self.ended(reading):
            for terminal in self.parser.accepts(stack)[0]:
                yield stack, terminal, self._machines[terminal].initial

    def _under_way(self, reading: Reading) -> Iterator[Configuration]:
        """The terminals that are begun and may go on."""
        for stack, terminal, state in reading:
            if terminal != NOTHING and self._goes_on[terminal][state]:
                yield stack, terminal, state

    def is_final(self, reading: Reading) -> bool:
        """Whether the text read so far is accepted."""
        return any(self.parser.accepts(stack)[1] for stack in self.ended(reading))

    def moved(
        self, ways: Iterable[Configuration], step: Callable[[int, State], State]
    ) -> Reading | None:
        """The ways after each has moved inside its terminal; None where none can.

        Raises: LimitError past ``limits.configurations``.
        """
        there = set()
        for stack, terminal, state in ways:
            after = step(terminal, state)
            if after != DEAD:
                there.add((stack, terminal, after))
        self.limits.check("configurations", len(there), "the grammar can be cut in too many ways")
        return frozenset(there) or None

    def step(self, reading: Reading, byte: int) -> Reading | None:
        """All ways after one more byte, which may begin a terminal or go on with one."""
        machines = self._machines
        begun = (way for stack in self.ended(reading) for way in self._begun_with(stack, byte))
        ways = chain(self._under_way(reading), begun)
        return self.moved(ways, lambda terminal, at: machines[terminal].step(at, byte))

    def _begun_with(self, stack: Stack, byte: int) -> Iterator[Configuration]:
        """The terminals that may begin with a byte; the others are often thousands of words."""
        for terminal in sorted(self._beginning[byte].intersection(self.parser.accepts(stack)[0])):
            yield stack, terminal, self._machines[terminal].initial
