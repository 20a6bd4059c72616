"""Why a token is allowed or forbidden with terminal labels: the exact sentences."""

from __future__ import annotations

import pytest

from workbench.analysis.explain import explain_id
from workbench.base.errors import TokenNotAllowed, WorkbenchError
from workbench.constraint.mask_answers import label_reason
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy

WORDS = toy(["*", " ", "* ", "a", " a", "\n", "do", "ne", "un", "x\n"])
BULLET = r"\* (?P<PARAGRAPH_TOKEN>)+\n"

#     regex, tokens taken, the token, sentence, note
ROWS = [
    (BULLET, [], "* ", "read as text", "read as text"),
    (
        BULLET,
        ["* "],
        "a",
        "read by PARAGRAPH_TOKEN, a token of text without a line feed",
        "by PARAGRAPH_TOKEN",
    ),
    (BULLET, ["* ", "a"], "\n", "read as text", "read as text"),
    (
        BULLET,
        ["*"],
        " a",
        "' ' is read as text, and PARAGRAPH_TOKEN reads a whole token: 'a' would have to be one",
        "PARAGRAPH_TOKEN reads whole tokens",
    ),
    (
        BULLET,
        ["* "],
        "x\n",
        "expected a token of text without a line feed (PARAGRAPH_TOKEN), or the text that "
        "may follow",
        "not a PARAGRAPH_TOKEN",
    ),
    (BULLET, [], "a", "expected '*'", "needs '*'"),
    (
        "(?P<TEXT_TOKEN>)*done",
        ["do"],
        "un",
        "expected 'n', since the text before it was read as text",
        "needs 'n'",
    ),
    (BULLET, ["* ", "a"], None, "the text is not finished", "the text is not finished"),
    ("a(?P<TEXT_TOKEN>)?", ["a"], None, "the text ends here", "the text ends here"),
]


@pytest.mark.parametrize(("regex", "taken", "token", "sentence", "note"), ROWS)
def test_the_reason_of_a_token_with_labels(
    regex: str, taken: list[str], token: str | None, sentence: str, note: str
) -> None:
    end = WORDS.end
    assert end is not None
    token_id = end if token is None else WORDS.ids(token)[0]
    told = label_reason(Grammar.from_regex(regex), WORDS, WORDS.ids(*taken), token_id)
    assert (str(told), told.note) == (sentence, note)


def test_error_for_a_text_without_tokens() -> None:
    """The space and the word are a text of the grammar; as one token they are forbidden."""
    grammar, so_far, token = Grammar.from_regex(BULLET), WORDS.ids("*"), WORDS.ids(" a")[0]
    assert grammar.is_prefix("* a")
    with pytest.raises(WorkbenchError, match="PARAGRAPH_TOKEN reads whole tokens") as caught:
        explain_id(grammar, WORDS, so_far, token)
    assert "label_reason" in caught.value.hint


def test_error_without_labels() -> None:
    with pytest.raises(WorkbenchError, match="expected a grammar with terminal labels"):
        label_reason(Grammar.from_regex("a"), WORDS, [], 0)


def test_error_when_the_tokens_so_far_are_not_allowed() -> None:
    with pytest.raises(TokenNotAllowed):
        label_reason(Grammar.from_regex(BULLET), WORDS, WORDS.ids("a"), 0)
