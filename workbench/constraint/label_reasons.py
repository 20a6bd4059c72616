"""Why a token is allowed or forbidden beside terminal labels: tokens taken in, a sentence out.

What characters alone say of a text is ``explanation``'s; here it counts how the text is cut into
tokens, for a label reads whole ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.automata.describe import expected as in_words
from workbench.constraint.compile import compile
from workbench.constraint.labelled import Labelled, read_by
from workbench.constraint.protocol import Constraint, State
from workbench.constraint.signs import SIGNS, labels_of, signed, spelt
from workbench.errors import WorkbenchError
from workbench.explanation import explain
from workbench.grammar import Grammar
from workbench.syntax.regex_labels import LABELS, Label
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


def label_reason(
    grammar: Grammar, vocabulary: Vocabulary, so_far: Sequence[TokenId], token_id: TokenId
) -> str:
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
    token = vocabulary.tokens[token_id]
    read = b"".join(read_by(constraint, so_far))
    if token is None:
        return str(explain(grammar, spelt(read), None))
    machine = signed(grammar)
    if told := _label_told(machine, read, token):
        return told
    verdict = machine.check_each(read, [token])[0]
    failed = len(token) if verdict.byte is None else verdict.byte - len(read)
    begun = token[: max(0, failed)].decode("utf-8", "replace")
    told = (
        f"after {begun!r}: " * bool(begun) + f"expected {in_words([verdict.expected], end=False)}"
    )
    would_fit = grammar.is_prefix(spelt(read) + token)
    return f"{told}, for what stands before it was read as text" if would_fit else told


def _read(constraint: Constraint, state: State, token_id: TokenId) -> str:
    label = constraint.label(state, token_id) if isinstance(constraint, Labelled) else None
    if label is not None:
        return f"read by {label.name}, {label.what}"
    return "the text ends here" if token_id == constraint.vocabulary.end else "read as text"


def _label_told(grammar: Grammar, read: bytes, token: bytes) -> str:
    """What a label has to do with it; ``grammar`` is the one with signs."""
    for place in range(len(token) - 1, -1, -1):
        begun, rest = token[:place].decode("utf-8", "replace"), token[place:]
        label = _open_label(grammar, read + token[:place])
        if label is None:
            continue
        if place:
            return (
                f"{begun!r} is read as text, and {label.name} reads a whole token: "
                f"{rest.decode('utf-8', 'replace')!r} would have to be one"
            )
        return f"expected {label.what} ({label.name}), or what the text goes on with"
    return ""


def _open_label(grammar: Grammar, read: bytes) -> Label | None:
    """The first label that can be read after a text with signs."""
    return next((one for one in LABELS if grammar.is_prefix(read + SIGNS[one.name])), None)
