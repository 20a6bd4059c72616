"""Halves: tokens that end inside a character come in, those that can be gone on with go out.

A wide state has hundreds of such tokens for each guess, and a counted repetition hundreds of such
states, all alike. Two things are the same for many of them and asked once: whether the bytes that
are missing can be spelt at all, in any text (most of what cannot be, cannot be anywhere), and
whether they can be spelt so that the text stands where any token may have ended, which depends on
the next few bytes of the machine alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.constraint.proper import judging
from workbench.constraint.proper.edges import Live
from workbench.constraint.proper.guesses import Guess
from workbench.constraint.proper.tables import Ints
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: How many bytes of a character follow its first, by that byte; bytes that begin none have none.
_MORE = np.zeros(256, np.int8)
_MORE[0xC2:0xE0], _MORE[0xE0:0xF0], _MORE[0xF0:0xF5] = 1, 2, 3


def lacking(vocabulary: Vocabulary) -> Ints:
    """How many bytes the last character of each token lacks, as far as the token tells, (V,).

    0 also for a token that is a piece of a character begun before it. Kept with the vocabulary.
    """
    known = vars(vocabulary).get("_lacking")
    if known is None:
        found = [_lacking(token) if token else 0 for token in vocabulary.tokens]
        known = vars(vocabulary)["_lacking"] = np.array(found, np.int32)
    assert isinstance(known, np.ndarray)
    return known


def _lacking(token: bytes) -> int:
    for back in range(1, min(4, len(token)) + 1):
        byte = token[-back]
        if byte >= 0xC0:
            return max(0, int(_MORE[byte]) + 1 - back)
        if byte < 0x80:
            return 0
    return 0


class Halves:
    """What follows half characters in one machine."""

    def __init__(
        self,
        dfa: Dfa,
        live: Live,
        can_follow: Callable[[tuple[State, Guess]], tuple[Ints, Ints, Ints, Ints]],
    ) -> None:
        self._dfa, self._live, self._can_follow = dfa, live, can_follow
        self._tokens = live.bpe.vocabulary.tokens
        self._bytes = dfa.classes[0x80:0xC0]
        free: dict[State, list[Guess]] = {}
        for (state, guess), number in live.places.items():
            if live.free[number]:
                free.setdefault(state, []).append(guess)
        self._free = {state: frozenset(guesses) for state, guesses in free.items()}
        self._shapes: dict[tuple[State, int], int] = {}
        self._numbers: dict[object, int] = {}
        self._known: dict[tuple[int, Guess, bytes], Ints] = {}

    def finished(self, state: State, guess: Guess, tokens: Ints, left: int) -> Ints:
        """Of tokens that lead to a place, those after which ``left`` bytes can be spelt properly.

        So that any token may end where they do; there may be others that lead on otherwise.
        """
        key = (self._shape(state, left), guess, tokens.tobytes())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._found(state, guess, tokens, left)
        return known

    def _found(self, state: State, guess: Guess, tokens: Ints, left: int) -> Ints:
        found = [tokens[:0]]
        for witness, there, after in self._within(state, guess, left):
            if not len(tokens):
                break
            rest = left - len(self._tokens[witness] or b"")
            if rest:
                goes_on = len(self.finished(there, after, np.array([witness], np.int32), rest)) > 0
            else:
                goes_on = after in self._free.get(there, ())
            if goes_on:
                fine = np.zeros(len(tokens), np.uint8)
                judging.precede(self._live.bpe.tables, tokens, witness, fine)
                found.append(tokens[fine == 1])
                tokens = tokens[fine == 0]
        return np.concatenate(found)

    def _within(self, state: State, guess: Guess, left: int) -> list[tuple[TokenId, State, Guess]]:
        """The tokens that go on from a place and not past its character, the longest first."""
        tokens, states, guesses, _ = self._can_follow((state, guess))
        rows = zip(tokens.tolist(), states.tolist(), guesses.tolist(), strict=True)
        short = [row for row in rows if len(self._tokens[row[0]] or b"") <= left]
        return sorted(short, key=lambda row: -len(self._tokens[row[0]] or b""))

    def _shape(self, state: State, left: int) -> int:
        """A number for what the next bytes of a character do, the same for states that are alike.

        Where the character is over, which guesses are free there is all that counts.
        """
        known = self._shapes.get((state, left))
        if known is None:
            shape: object
            if not left:
                shape = self._free.get(state, frozenset())
            else:
                targets = self._dfa.table[state, self._bytes].tolist()
                numbers = {
                    target: DEAD if target == DEAD else self._shape(target, left - 1)
                    for target in set(targets)
                }
                shape = tuple(numbers[target] for target in targets)
            known = self._shapes[state, left] = self._numbers.setdefault(shape, len(self._numbers))
        return known
