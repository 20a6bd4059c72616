"""The method ``outlines``: a mask is a row of Willard & Louf's index, looked up."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from workbench.constraint.mask import TokenMask, pack
from workbench.constraint.outlines.characters import CharacterMachine, State, character_machine
from workbench.constraint.outlines.index import map_states_to_vocab, without_dead_ends
from workbench.constraint.outlines.regex_of import regex_of
from workbench.constraint.token_by_token import TokenByToken
from workbench.errors import LimitError, VocabularyError
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


class Indexed(TokenByToken[State]):
    """A regex over characters, its whole index made beforehand.

    The masks are the exact ones of the vocabulary without tokens that are no whole
    characters; where every character the regex needs is spelt by whole ones, nothing is lost
    but other ways to spell it.

    Cost:   a mask is looked up; what it costs to make the index, ``map_states_to_vocab`` says.
    Raises: WorkbenchError where the grammar is not one regex over characters; VocabularyError
            where whole characters spell no accepted text; LimitError.
    Source: Willard & Louf 2023, Algorithms 2, 3 and 4.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        work = limits.begun()
        self.vocabulary = vocabulary
        self.machine = _machine(grammar, work)
        #: σ, without dead ends.
        self.index = without_dead_ends(
            map_states_to_vocab(self.machine, vocabulary, work), self.machine.finals
        )
        if self.initial not in self.index.sigma:
            raise VocabularyError(
                f"no accepted text can be spelled with those tokens of {vocabulary.name}"
                " that are whole characters",
                "choose the method 'automaton', which reads half characters too",
            )
        self.mask = lru_cache(maxsize=limits.rows_of(len(vocabulary) // 8 + 1))(self._mask)

    @property
    def initial(self) -> State:
        return self.machine.initial

    def _mask(self, state: State) -> TokenMask:
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        for alike in self.index.sigma[state]:
            allowed[self.index.tokens[alike]] = True
        if self.vocabulary.end is not None and self.is_final(state):
            allowed[self.vocabulary.end] = True
        return TokenMask(pack(allowed), len(self.vocabulary))

    def target(self, state: State, token_id: TokenId) -> State | None:
        """Where a token leads, by the index."""
        return self.index.target(state, token_id)

    def is_final(self, state: State) -> bool:
        return state in self.machine.finals

    def forced(self, state: State) -> bytes:
        """The characters every text of the constraint goes on with; empty where it branches."""
        found = ""
        while not self.is_final(state):
            edges = self.machine.edges[state]
            if len(edges) != 1:
                break
            ((symbol, state),) = edges.items()
            character = self.machine.only_character(symbol)
            if character is None:
                break
            found += character
        return found.encode()


def _machine(grammar: Grammar, limits: Limits) -> CharacterMachine:
    try:
        return character_machine(regex_of(grammar, limits), limits)
    except RecursionError:
        raise LimitError(
            "the rules call each other too deeply to be written into one regex",
            "states",
            "choose the method 'automaton'",
        ) from None
