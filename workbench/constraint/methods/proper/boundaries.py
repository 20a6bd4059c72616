"""Tokens at borders: partial characters, the end of a prompt, forced bytes.

A looping state has hundreds of tokens that end inside a character, for each guess, and a counted
repetition has hundreds of such states, all similar. ``PartialCharacters`` decides for many of them
together whether the missing bytes can be tokenized so that any token may end after them. This
depends only on the next few bytes of the machine. Whether the missing bytes can be tokenized in any
text at all is cached for all machines (``proper.is_completable``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from workbench.base.dfa import DEAD, Dfa, State
from workbench.base.errors import VocabularyError
from workbench.base.limits import check_time_budget, time_budget
from workbench.constraint.methods.proper.guide_states import (
    NEW_PIECE,
    SAME_PIECE,
    Guess,
    Guesses,
    Ints,
)
from workbench.constraint.methods.proper.live_edges import Live
from workbench.constraint.protocol import Constraint
from workbench.constraint.protocol import State as ConstraintState
from workbench.constraint.token_machine import ASK_FOR_LESS
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.pair_test import may_precede
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: By first byte of a character: the number of bytes that follow; 0 for other bytes.
_CONTINUATION_BYTES = np.zeros(256, np.int8)
_CONTINUATION_BYTES[0xC2:0xE0] = 1
_CONTINUATION_BYTES[0xE0:0xF0] = 2
_CONTINUATION_BYTES[0xF0:0xF5] = 3


def missing_bytes(vocabulary: Vocabulary) -> Ints:
    """The number of bytes that the last character of each token lacks, (V,).

    Also 0 for a token inside a character that an earlier token begins. Cached with the vocabulary.
    """
    return vocabulary.derived(_missing_bytes_of_all)


def _missing_bytes_of_all(vocabulary: Vocabulary) -> Ints:
    counts = [_missing_bytes(token) if token else 0 for token in vocabulary.tokens]
    return np.array(counts, np.int32)


def _missing_bytes(token: bytes) -> int:
    for back in range(1, min(4, len(token)) + 1):
        byte = token[-back]
        if byte >= 0xC0:
            return max(0, int(_CONTINUATION_BYTES[byte]) + 1 - back)
        if byte < 0x80:
            return 0
    return 0


class PartialCharacters:
    """The completions of partial characters in one machine."""

    def __init__(
        self,
        dfa: Dfa,
        live: Live,
        can_follow: Callable[[tuple[State, Guess]], tuple[Ints, Ints, Ints, Ints]],
    ) -> None:
        self._dfa, self._live, self._can_follow = dfa, live, can_follow
        self._guesses = Guesses.of(live.bpe)
        self._tokens = live.bpe.vocabulary.tokens
        self._bytes = dfa.classes[0x80:0xC0]
        free: dict[State, list[Guess]] = {}
        for (state, guess), number in live.positions.items():
            if live.free[number]:
                free.setdefault(state, []).append(guess)
        self._free = {state: frozenset(guesses) for state, guesses in free.items()}
        self._shapes: dict[tuple[State, int], int] = {}
        self._numbers: dict[object, int] = {}
        self._results: dict[tuple[int, Guess, bytes], Ints] = {}
        self._short: dict[tuple[State, Guess, int], list[tuple[TokenId, State, Guess]]] = {}

    def completable(self, state: State, guess: Guess, tokens: Ints, missing: int) -> Ints:
        """Of tokens that lead to a position, those that ``missing`` more bytes complete properly.

        Sufficient, not necessary: after these bytes any token may end; others may be live too.
        """
        key = (self._shape(state, missing), guess, tokens.tobytes())
        cached = self._results.get(key)
        if cached is None:
            cached = self._results[key] = self._compute(state, guess, tokens, missing)
        return cached

    def _compute(self, state: State, guess: Guess, tokens: Ints, missing: int) -> Ints:
        result = [tokens[:0]]
        for witness, target_state, after in self._within(state, guess, missing):
            if not len(tokens):
                break
            rest = missing - len(self._tokens[witness] or b"")
            if rest:
                alone = np.array([witness], np.int32)
                is_live = len(self.completable(target_state, after, alone, rest)) > 0
            else:
                base = self._guesses.base(after)
                is_live = base in self._free.get(target_state, ())
            if is_live:
                pair_ok = may_precede(self._live.bpe.tables, tokens, witness)
                result.append(tokens[pair_ok])
                tokens = tokens[~pair_ok]
        return np.concatenate(result)

    def _within(
        self, state: State, guess: Guess, missing: int
    ) -> list[tuple[TokenId, State, Guess]]:
        """The tokens at a position that stay inside its character, the longest first."""
        inside = self._short.get((state, guess, missing))
        if inside is None:
            tokens, states, guesses, _ = self._can_follow((state, guess))
            rows = zip(tokens.tolist(), states.tolist(), guesses.tolist(), strict=True)
            short = [row for row in rows if len(self._tokens[row[0]] or b"") <= missing]
            inside = sorted(short, key=lambda row: -len(self._tokens[row[0]] or b""))
            self._short[state, guess, missing] = inside
        return inside

    def _shape(self, state: State, missing: int) -> int:
        """A number for the next bytes of a character, equal for states with equal continuations.

        At the end of the character, a state is described by its free guesses.
        """
        cached = self._shapes.get((state, missing))
        if cached is None:
            shape: object
            if not missing:
                shape = self._free.get(state, frozenset())
            else:
                targets = self._dfa.table[state, self._bytes].tolist()
                numbers = {
                    target: DEAD if target == DEAD else self._shape(target, missing - 1)
                    for target in set(targets)
                }
                shape = tuple(numbers[target] for target in targets)
            cached = self._shapes[state, missing] = self._numbers.setdefault(
                shape, len(self._numbers)
            )
        return cached


def after_prompt(bpe: Bpe, token_ids: Sequence[TokenId]) -> tuple[tuple[Guess, ...], TokenId]:
    """The guesses after a prompt, and its last token, −1 if the text cannot join it.

    Special tokens are not text: the text after one is separate.

    Raises: VocabularyError where the prompt is not tokenized canonically.
    """
    guesses, last = Guesses.of(bpe), -1
    possible = {guesses.start}
    for token in token_ids:
        if not 0 <= token < len(bpe.vocabulary):
            raise VocabularyError(f"token {token} is not in {bpe.vocabulary.name}")
        if bpe.vocabulary.tokens[token] is None:
            possible, last = {guesses.start}, -1
            continue
        result = {guesses.take_one(guess, token, NEW_PIECE) for guess in possible}
        if last < 0 or bpe.pair_ok(last, token):
            result |= {guesses.take_one(guess, token, SAME_PIECE) for guess in possible}
        possible, last = result - {-1}, token
        if not possible:
            raise VocabularyError(
                f"{bpe.vocabulary.name} would not spell the prompt so:"
                f" {bpe.vocabulary.tokens[token]!r} joins the token before it",
                "encode the prompt with the model's own tokenizer",
            )
    return tuple(sorted(possible)), last


def nothing_follows(vocabulary: Vocabulary, last: TokenId) -> VocabularyError:
    """The error of a prompt after which no accepted text has a canonical tokenization."""
    where = repr(vocabulary.tokens[last]) if last >= 0 else "the prompt"
    return VocabularyError(
        f"after {where} no accepted text begins with a separate token: all would be merged",
        "end the prompt earlier, or leave the prompt out",
    )


#: The most tokenizations of the forced bytes that are followed in parallel; with more they end.
_MAX_PATHS = 256


def first_bytes(vocabulary: Vocabulary) -> npt.NDArray[np.int16]:
    """The first byte of each token, −1 for special tokens, (V,); cached with the vocabulary."""
    return vocabulary.derived(_first_bytes)


def _first_bytes(vocabulary: Vocabulary) -> npt.NDArray[np.int16]:
    firsts = [-1 if token is None else token[0] for token in vocabulary.tokens]
    return np.array(firsts, np.int16)


def forced(constraint: Constraint, state: ConstraintState, most: int, seconds: float) -> bytes:
    """The bytes that every accepted text continues with; empty at a branch or a final state.

    For constraints that step only by whole tokens: all tokenizations are followed in parallel.

    Raises: LimitError past the seconds.
    """
    result = bytearray()
    paths: dict[tuple[bytes, ConstraintState], None] = {(b"", state): None}
    with time_budget(seconds):
        while len(result) < most and len(paths) <= _MAX_PATHS:
            expanded = _expand(constraint, paths)
            if expanded is None:
                break
            first_bytes_read = {rest[0] for rest, _ in expanded}
            if len(first_bytes_read) != 1:
                break
            result.append(first_bytes_read.pop())
            paths = {(rest[1:], target_state): None for rest, target_state in expanded}
    return bytes(result)


def _expand(
    constraint: Constraint, paths: dict[tuple[bytes, ConstraintState], None]
) -> dict[tuple[bytes, ConstraintState], None] | None:
    """The paths, each with at least one byte to read; None if one may end or branches."""
    tokens = constraint.vocabulary.tokens
    expanded: dict[tuple[bytes, ConstraintState], None] = {}
    for rest, state in paths:
        check_time_budget(ASK_FOR_LESS)
        if rest:
            expanded[rest, state] = None
            continue
        ids = constraint.mask(state).ids
        first_bytes_read = first_bytes(constraint.vocabulary)[ids]
        if (
            constraint.is_final(state)
            or (first_bytes_read != first_bytes_read[0]).any()
            or len(ids) > _MAX_PATHS
        ):
            return None
        for token_id in ids.tolist():
            expanded[tokens[token_id] or b"", constraint.advance(state, token_id)] = None
    return expanded
