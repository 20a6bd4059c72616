"""Joining: the tokens of a prompt come in, how a text that is to follow them begins goes out."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.constraint.proper.guesses import Guess, Guesses
from workbench.constraint.proper.tables import ANEW, INSIDE
from workbench.errors import VocabularyError
from workbench.vocabulary.bpe.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


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
