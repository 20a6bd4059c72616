"""Tokens at borders: half characters, the end of a prompt, forced bytes.

A wide state has hundreds of such tokens for each guess, and a counted repetition hundreds of such
states, all alike. Two things are the same for many of them and asked once: whether the bytes that
are missing can be spelt at all, in any text (most of what cannot be, cannot be anywhere), and
whether they can be spelt so that the text stands where any token may have ended, which depends on
the next few bytes of the machine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import VocabularyError
from workbench.constraint.methods.proper import live_edges
from workbench.constraint.methods.proper.guide_guesses import ANEW, INSIDE, Guess, Guesses, Ints
from workbench.constraint.methods.proper.live_edges import Live
from workbench.constraint.protocol import Constraint
from workbench.constraint.protocol import State as ConstraintState
from workbench.vocabulary.tokenization.bpe import Bpe
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
                live_edges.precede(self._live.bpe.tables, tokens, witness, fine)
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


def after_prompt(bpe: Bpe, token_ids: Sequence[TokenId]) -> tuple[tuple[Guess, ...], TokenId]:
    """The guesses after a prompt, and its last token, −1 where nothing joins it.

    Special tokens are no text: what follows one stands alone.

    Raises: VocabularyError where the prompt is not spelt as its tokenizer would.
    """
    guesses, last = Guesses.of(bpe), -1
    held = {guesses.start}
    for token in token_ids:
        if not 0 <= token < len(bpe.vocabulary):
            raise VocabularyError(f"token {token} is not in {bpe.vocabulary.name}")
        if bpe.vocabulary.tokens[token] is None:
            held, last = {guesses.start}, -1
            continue
        found = {guesses.take_one(guess, token, ANEW) for guess in held}
        if last < 0 or bpe.pair_ok(last, token):
            found |= {guesses.take_one(guess, token, INSIDE) for guess in held}
        held, last = found - {-1}, token
        if not held:
            raise VocabularyError(
                f"{bpe.vocabulary.name} would not spell the prompt so:"
                f" {bpe.vocabulary.tokens[token]!r} joins the token before it",
                "encode the prompt with the model's own tokenizer",
            )
    return tuple(sorted(held)), last


def nothing_follows(vocabulary: Vocabulary, last: TokenId) -> VocabularyError:
    """The error of a prompt after which no accepted text is spelt properly."""
    told = repr(vocabulary.tokens[last]) if last >= 0 else "the prompt"
    return VocabularyError(
        f"after {told} no accepted text begins with a separate token: all would be merged",
        "end the prompt earlier, or leave the prompt out",
    )


#: Ways to spell what is forced that are followed side by side; more cut it short.
_WAYS = 256


def first_bytes(vocabulary: Vocabulary) -> npt.NDArray[np.int16]:
    """The first byte of each token, −1 where it spells nothing, (V,); kept with the vocabulary."""
    known = vars(vocabulary).get("_first_bytes")
    if known is None:
        firsts = [-1 if token is None else token[0] for token in vocabulary.tokens]
        known = vars(vocabulary)["_first_bytes"] = np.array(firsts, np.int16)
    return known


def forced(constraint: Constraint, state: ConstraintState) -> bytes:
    """The bytes every accepted text goes on with; empty where it branches or may end.

    For constraints whose states know only whole tokens: all spellings are read side by side.
    """
    found = bytearray()
    ways: dict[tuple[bytes, ConstraintState], None] = {(b"", state): None}
    while len(ways) <= _WAYS:
        opened = _opened(constraint, ways)
        if opened is None:
            break
        heads = {rest[0] for rest, _ in opened}
        if len(heads) != 1:
            break
        found.append(heads.pop())
        ways = {(rest[1:], there): None for rest, there in opened}
    return bytes(found)


def _opened(
    constraint: Constraint, ways: dict[tuple[bytes, ConstraintState], None]
) -> dict[tuple[bytes, ConstraintState], None] | None:
    """The ways with at least one byte to read each; None where one may end or branches."""
    tokens = constraint.vocabulary.tokens
    opened: dict[tuple[bytes, ConstraintState], None] = {}
    for rest, state in ways:
        if rest:
            opened[rest, state] = None
            continue
        ids = constraint.mask(state).ids
        heads = first_bytes(constraint.vocabulary)[ids]
        if constraint.is_final(state) or (heads != heads[0]).any() or len(ids) > _WAYS:
            return None
        for token_id in ids.tolist():
            opened[tokens[token_id] or b"", constraint.advance(state, token_id)] = None
    return opened
