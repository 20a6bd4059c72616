"""Why a token is allowed or forbidden beside terminal labels: tokens taken in, a sentence out.

What characters alone say of a text is ``explanation``'s; here it counts how the text is cut into
tokens, for a label reads whole ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.analysis.explain import explain
from workbench.automata.describe import expected as in_words
from workbench.base.errors import WorkbenchError
from workbench.constraint.compile import compile
from workbench.constraint.labels import Labelled, read_by
from workbench.constraint.protocol import Constraint, State
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_encoding import LABEL_CODES, encode_labels, labels_of, plain_text
from workbench.syntax.regex.extensions import LABELS, Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a token is allowed or forbidden, in a sentence and in a few words."""

    sentence: str
    note: str

    def __str__(self) -> str:
        return self.sentence


def label_reason(
    grammar: Grammar, vocabulary: Vocabulary, so_far: Sequence[TokenId], token_id: TokenId
) -> Reason:
    """How a token is read after others, or why it is forbidden.

    Raises: TokenNotAllowed where one of the tokens so far is not allowed; WorkbenchError for a
            grammar without labels; VocabularyError, LimitError.
    """
    if not labels_of(grammar):
        raise WorkbenchError("expected a grammar with terminal labels", "'explain' is for others")
    constraint = compile(grammar, vocabulary)
    state = constraint.initial
    for taken in so_far:
        state = constraint.advance(state, taken)
    if token_id in constraint.mask(state):
        return _read(constraint, state, token_id)
    token, read = vocabulary.tokens[token_id], b"".join(read_by(constraint, so_far))
    if token is None:
        found = explain(grammar, plain_text(read), None)
        return Reason(str(found), found.note)
    machine = encode_labels(grammar)
    if (told := _beside_label(machine, read, token)) is not None:
        return told
    verdict = machine.check_each(read, [token])[0]
    failed = len(token) if verdict.byte is None else verdict.byte - len(read)
    begun = token[: max(0, failed)].decode("utf-8", "replace")
    wanted = in_words([verdict.expected], end=False)
    sentence = f"after {begun!r}: " * bool(begun) + f"expected {wanted}"
    if grammar.is_prefix(plain_text(read) + token):
        sentence += ", since the text before it was read as text"
    return Reason(sentence, f"needs {wanted}")


def _read(constraint: Constraint, state: State, token_id: TokenId) -> Reason:
    label = constraint.label(state, token_id) if isinstance(constraint, Labelled) else None
    if label is not None:
        return Reason(f"read by {label.name}, {label.what}", f"by {label.name}")
    told = "the text ends here" if token_id == constraint.vocabulary.end else "read as text"
    return Reason(told, told)


def _beside_label(grammar: Grammar, read: bytes, token: bytes) -> Reason | None:
    """What a label has to do with a forbidden token; ``grammar`` is the one with signs."""
    for place in range(len(token) - 1, -1, -1):
        label = _open_label(grammar, read + token[:place])
        if label is None:
            continue
        if not place:
            return Reason(
                f"expected {label.what} ({label.name}), or the text that may follow",
                f"{label.name} has it not",
            )
        begun, rest = (part.decode("utf-8", "replace") for part in (token[:place], token[place:]))
        return Reason(
            f"{begun!r} is read as text, and {label.name} reads a whole token: "
            f"{rest!r} would have to be one",
            f"{label.name} reads whole tokens",
        )
    return None


def _open_label(grammar: Grammar, read: bytes) -> Label | None:
    """The first label that can be read after a text with signs."""
    return next((one for one in LABELS if grammar.is_prefix(read + LABEL_CODES[one.name])), None)
