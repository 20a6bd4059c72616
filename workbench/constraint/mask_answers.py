"""Answers about masks: why a label's token is allowed.

``analysis.explain`` does this for grammars without labels, by characters. With labels it also
matters how the text is tokenized, because a label matches a whole token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.analysis.explain import explain
from workbench.automata.class_descriptions import expected as in_words
from workbench.base.arguments import checked
from workbench.base.errors import WorkbenchError
from workbench.constraint.compile import compile
from workbench.constraint.labels import read_by
from workbench.constraint.protocol import State
from workbench.constraint.token_machine import TokenMachine
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import LABEL_CODES, encode_labels, labels_of, plain_text
from workbench.syntax.regex.extensions import LABELS, Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a token is allowed or forbidden: the result of ``label_reason``."""

    #: In a sentence.
    sentence: str
    #: In a few words, for a list.
    note: str

    def __str__(self) -> str:
        return self.sentence


@checked
def label_reason(
    grammar: Grammar, vocabulary: Vocabulary, so_far: Sequence[TokenId], token_id: TokenId
) -> Reason:
    """How a token is read after ``so_far``, or why it is forbidden.

    Raises: TokenNotAllowed where one of the previous tokens is not allowed; WorkbenchError for a
            grammar without labels; VocabularyError, LimitError.
    """
    if not labels_of(grammar):
        raise WorkbenchError("expected a grammar with terminal labels", "'explain' is for others")
    vocabulary.check_ids([token_id], "token_id")
    constraint = compile(grammar, vocabulary)
    state = constraint.initial
    for token_taken in so_far:
        state = constraint.advance(state, token_taken)
    if token_id in constraint.mask(state):
        return _read(constraint, state, token_id)
    token, read = vocabulary.tokens[token_id], b"".join(read_by(constraint, so_far))
    if token is None:
        explanation = explain(grammar, plain_text(read), None)
        return Reason(str(explanation), explanation.note)
    machine = encode_labels(grammar)
    if (reason := _label_reason(machine, read, token)) is not None:
        return reason
    verdict = machine.check_each(read, [token])[0]
    failed = len(token) if verdict.byte is None else verdict.byte - len(read)
    readable = token[: max(0, failed)].decode("utf-8", "replace")
    expected = in_words([verdict.expected], end=False)
    sentence = f"after {readable!r}: expected {expected}" if readable else f"expected {expected}"
    if grammar.is_prefix(plain_text(read) + token):
        sentence += ", since the text before it was read as text"
    return Reason(sentence, f"needs {expected}")


def _read(constraint: TokenMachine, state: State, token_id: TokenId) -> Reason:
    label = constraint.label(state, token_id)
    if label is not None:
        return Reason(f"read by {label.name}, {label.what}", f"by {label.name}")
    reason = "the text ends here" if token_id in constraint.vocabulary.ends else "read as text"
    return Reason(reason, reason)


def _label_reason(grammar: Grammar, read: bytes, token: bytes) -> Reason | None:
    """Why no label reads a forbidden token, or None; ``grammar`` is the encoded one."""
    for position in range(len(token) - 1, -1, -1):
        label = _open_label(grammar, read + token[:position])
        if label is None:
            continue
        if not position:
            return Reason(
                f"expected {label.what} ({label.name}), or the text that may follow",
                f"not a {label.name}",
            )
        readable, rest = (
            part.decode("utf-8", "replace") for part in (token[:position], token[position:])
        )
        return Reason(
            f"{readable!r} is read as text, and {label.name} reads a whole token: "
            f"{rest!r} would have to be one",
            f"{label.name} reads whole tokens",
        )
    return None


def _open_label(grammar: Grammar, read: bytes) -> Label | None:
    """The first label that can be read after a text with label codes."""
    return next(
        (label for label in LABELS if grammar.is_prefix(read + LABEL_CODES[label.name])), None
    )
