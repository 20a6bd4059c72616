"""Why a token is forbidden: in come the text so far and tokens, out comes a sentence for each."""

from __future__ import annotations

from workbench.automata.describe import describe
from workbench.drawing.text import visible
from workbench.grammar import Grammar

#: A reason is a note beside a bar, not a paragraph.
_LONGEST = 48


def reasons(grammar: Grammar, so_far: bytes, tokens: list[bytes | None]) -> list[str]:
    """For each token (None is the end) what the grammar expected where it fails.

    Empty where the token does not fail by itself: nothing that begins so may be missing
    from the grammar, only from the vocabulary.

    Cost: the text so far is read once a token.
    """
    if not grammar.is_prefix(so_far):
        return ["the text has left the grammar" for _ in tokens]
    return [_reason(grammar, so_far, token) for token in tokens]


def _reason(grammar: Grammar, so_far: bytes, token: bytes | None) -> str:
    verdict = grammar.check(so_far + (token or b""))
    if token is None:
        return "" if verdict.accepted else f"not finished: {_expected(grammar, so_far)}"
    if verdict.byte is None:
        return ""
    read = verdict.byte - len(so_far)
    if read < 0:
        return ""
    # back to where the character that fails begins
    while read > 0 and token[read] & 0xC0 == 0x80:
        read -= 1
    wanted = _expected(grammar, so_far + token[:read])
    return f"after {visible(token[:read])}: {wanted}" if read else wanted


def _expected(grammar: Grammar, text: bytes) -> str:
    verdict = grammar.check(text)
    told = describe(verdict.expected) if verdict.expected else ""
    ending = "the end" if verdict.may_end else ""
    wanted = " or ".join(part for part in (told, ending) if part) or "nothing"
    return f"expected {wanted if len(wanted) <= _LONGEST else wanted[: _LONGEST - 1] + '…'}"
