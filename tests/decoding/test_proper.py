from __future__ import annotations

import pytest

from workbench.decoding.model import ToyModel
from workbench.decoding.retokenize import first_improper
from workbench.vocabulary.toy_vocabularies import toy

#: The toy model reads the longest token at each place, so that is how it would spell a text.
MODEL = ToyModel(toy(["a", "b", "ab", "abc", "c", " "]))


@pytest.mark.parametrize(
    ("prompt", "taken", "index", "proper", "why"),
    [
        ("", ["abc"], None, [], "as the tokenizer spells it"),
        ("", ["ab", "c"], 0, ["abc"], "one token would do"),
        ("", ["a", "a", "b"], 1, ["ab"], "the first that differs"),
        ("", [], None, [], "nothing to spell"),
        ("a ", ["ab", " "], None, [], "a prompt before it changes nothing"),
        ("a", ["b"], 0, ["ab"], "tokens would join over the prompt's end"),
    ],
)
def test_first_improper(
    prompt: str, taken: list[str], index: int | None, proper: list[str], why: str
) -> None:
    vocabulary = MODEL.vocabulary
    found = first_improper(MODEL, prompt, vocabulary.ids(*taken))
    if index is None:
        assert found is None, why
    else:
        assert found is not None, why
        assert (found.index, list(found.proper)) == (index, vocabulary.ids(*proper)), why


def test_a_token_across_the_end_of_the_prompt_is_reported() -> None:
    ids = MODEL.vocabulary.ids
    assert first_improper(MODEL, "a", ids("b")).at_prompt  # type: ignore[union-attr]
    assert not first_improper(MODEL, "c", ids("a", "b")).at_prompt  # type: ignore[union-attr]


def test_the_end_token_is_left_out() -> None:
    end = MODEL.vocabulary.end
    assert end is not None
    assert first_improper(MODEL, "", [*MODEL.vocabulary.ids("abc"), end]) is None
