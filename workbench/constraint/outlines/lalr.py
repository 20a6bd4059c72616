"""The method ``lalr``: Outlines' guide for grammars, terminal by terminal.

In come a grammar and a vocabulary, out comes a constraint whose mask is the union of the rows of
the terminals lark's interactive parser accepts (Willard & Louf 2023, the extension to LALR(1)).

Sound: a token is allowed only where it goes on inside a terminal that is being read, or begins one
that the parser accepts, and either can be finished. Incomplete, as Outlines was (Koo et al. 2024,
§4.2 and A.1): a token that crosses from one terminal into the next is never allowed. With single
bytes alone nothing is lost.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from functools import lru_cache

import numpy as np

from workbench.automata.dfa import DEAD, Dfa
from workbench.constraint.automaton import DfaConstraint
from workbench.constraint.compose import cannot_spell
from workbench.constraint.domino.terminals import Terminals, terminals_of
from workbench.constraint.mask import TokenMask
from workbench.constraint.online.recogniser import forced
from workbench.constraint.outlines.reading import Reader, Reading, refuse_nothing
from workbench.constraint.token_by_token import TokenByToken
from workbench.errors import VocabularyError, WorkbenchError
from workbench.grammar import Grammar
from workbench.limits import LIMITS, Limits
from workbench.syntax.grammar_tree import (
    Choice,
    Expression,
    Literal,
    Nonterminal,
    Repetition,
    Sequence,
)
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class LalrConstraint(TokenByToken[Reading]):
    """A grammar by its terminals; a state is the set of all ways to have cut the text into them.

    ``conflicts`` is ``refuse``, or ``shift``: what lark does by itself, and Outlines with it. Then
    a mask may come to be empty before the end, where the text shifted into needs what was reduced.

    Raises: WorkbenchError where the rules over terminals are not LALR(1); VocabularyError where
            tokens that stay inside terminals spell no accepted text; LimitError.
    """

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary,
        limits: Limits = LIMITS,
        *,
        conflicts: str = "refuse",
    ) -> None:
        if conflicts not in ("refuse", "shift"):
            raise WorkbenchError(
                f"expected conflicts to be refused or shifted, not {conflicts!r}",
                "set conflicts to refuse or shift",
            )
        refuse_nothing(grammar, vocabulary)
        work = limits.begun()
        terminals = terminals_of(grammar)
        self.vocabulary = vocabulary
        self._rows = [_rows(terminal.dfa, vocabulary, limits) for terminal in terminals.each]
        unspelt = {terminals.code(i) for i, rows in enumerate(self._rows) if rows is None}
        if unspelt:
            terminals = _without(terminals, unspelt, vocabulary)
        self.reader = Reader(terminals, work, strict=conflicts == "refuse")
        self.mask = lru_cache(maxsize=limits.rows_of(len(vocabulary) // 8 + 1))(self._mask)

    @property
    def initial(self) -> Reading:
        return self.reader.initial

    def _mask(self, state: Reading) -> TokenMask:
        bits = np.zeros((len(self.vocabulary) + 31) // 32, np.uint32)
        for terminal, at in {way[1:] for way in self.reader.ways(state)}:
            bits |= self._rows_of(terminal).mask(at).bits
        end = self.vocabulary.end
        if end is not None:  # a terminal may end where the text may not
            bits[end >> 5] &= ~np.uint32(1 << (end & 31))
            if self.is_final(state):
                bits[end >> 5] |= np.uint32(1 << (end & 31))
        return TokenMask(bits, len(self.vocabulary))

    def target(self, state: Reading, token_id: TokenId) -> Reading | None:
        """All ways after a token, which stays inside one terminal."""
        spelt = self.spelt(token_id)
        if spelt is None:
            return None

        def step(terminal: int, at: int) -> int:
            rows = self._rows_of(terminal)
            there = rows.step_bytes(at, spelt)
            return there if there is not None and rows.leads_on(there) else DEAD

        return self.reader.moved(self.reader.ways(state), step)

    def _rows_of(self, terminal: int) -> DfaConstraint:
        rows = self._rows[terminal]
        assert rows is not None, "terminals that cannot be spelled are left out"
        return rows

    def is_final(self, state: Reading) -> bool:
        return self.reader.is_final(state)

    def forced(self, state: Reading) -> bytes:
        """The bytes every accepted text goes on with; empty where it branches or may end."""
        return forced(self.reader, state)


def _rows(dfa: Dfa, vocabulary: Vocabulary, limits: Limits) -> DfaConstraint | None:
    """The rows of a terminal; None where no tokens spell it."""
    try:
        return DfaConstraint(dfa, vocabulary, limits)
    except VocabularyError:
        return None


def _without(terminals: Terminals, unspelt: Set[bytes], vocabulary: Vocabulary) -> Terminals:
    """The rules without alternatives that need a terminal no tokens spell.

    Raises: VocabularyError where none is left.
    """
    bodies = {rule.name: rule.body for rule in terminals.tree.rules}
    known: dict[str, Expression] = {}
    while True:
        left = {
            name: part
            for name, body in bodies.items()
            if (part := _part(body, known.keys(), unspelt)) is not None
        }
        if left.keys() == known.keys():
            break
        known = left
    if terminals.start not in left:
        raise cannot_spell(vocabulary)
    rules = (replace(r, body=left[r.name]) for r in terminals.tree.rules if r.name in left)
    return replace(terminals, tree=replace(terminals.tree, rules=tuple(rules)))


def _part(node: Expression, known: Set[str], unspelt: Set[bytes]) -> Expression | None:
    """What of an expression can be spelt, given the rules that can; None where nothing can."""
    match node:
        case Literal(value=code):
            return None if code in unspelt else node
        case Nonterminal(name=name):
            return node if name in known else None
        case Choice(options=options):
            left = [p for option in options if (p := _part(option, known, unspelt)) is not None]
            return Choice(tuple(left), node.span) if len(left) > 1 else next(iter(left), None)
        case Sequence(items=items):
            parts = [p for item in items if (p := _part(item, known, unspelt)) is not None]
            return Sequence(tuple(parts), node.span) if len(parts) == len(items) else None
        case Repetition(item=item, low=low):
            part = _part(item, known, unspelt)
            if part is None:
                return Sequence((), node.span) if low == 0 else None
            return replace(node, item=part)
    raise AssertionError("terminals are literals here")
