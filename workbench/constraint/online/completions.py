"""Synchromesh's completion engine: the terminals that may come next, matched by derivatives.

In come a grammar's terminals, out comes a recogniser. At a completion point the engine answers with
regexes of what may follow; a token is matched against them byte by byte, and where a terminal is
whole the engine is asked again, so tokens may cross terminals (Poesia et al. 2022, constrained
semantic decoding). A state of a terminal's automaton is the derivative of its regex.

Decided: Synchromesh goes on from the last completion point of a text; here every way to cut it is
kept, which is what the grammar means, so nothing is lost (DOMINO's Table 1: minimally invasive).
Its engine for grammars is an LALR(1) parser of lark's, and so is this one: grammars that are not
are refused.
"""

from __future__ import annotations

from workbench.constraint.domino.terminals import terminals_of
from workbench.constraint.online.recogniser import Remembering
from workbench.constraint.outlines.reading import Reader, Reading
from workbench.grammar import Grammar
from workbench.limits import Limits


class Completions(Remembering[Reading]):
    """A text read by terminals, byte by byte.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); LimitError.
    """

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        super().__init__(limits)
        self._reader = Reader(terminals_of(grammar), limits.begun())
        self.initial = self._reader.initial

    def made(self, state: Reading, byte: int) -> Reading | None:
        return self._reader.step(state, byte)

    def is_final(self, state: Reading) -> bool:
        return self._reader.is_final(state)
