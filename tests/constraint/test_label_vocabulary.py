"""Labels in a vocabulary: their tokens, and the trie with their codes."""

from __future__ import annotations

import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import VocabularyError
from workbench.constraint.compile import compile
from workbench.constraint.labels import label_vocabulary
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import Vocabulary


def test_error_when_a_vocabulary_has_no_image() -> None:
    with pytest.raises(VocabularyError) as caught:
        compile(Grammar.from_regex("a(?P<IMAGE>)?"), toy(["a"]))
    assert str(caught.value) == (
        "toy has no token for IMAGE, a token that stands for an image\n"
        "hint: take the vocabulary of a model that reads images: one with a special token such as "
        "[IMG] or <image> among its names"
    )


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("[IMG]", True),
        ("<image>", True),
        ("<|image_pad|>", True),
        ("<image_soft_token>", True),
        ("[IMG_BREAK]", False),
        ("<start_of_image>", False),
        ("<s>", False),
        ("[INST]", False),
    ],
)
def test_names_of_image_tokens(name: str, is_one: bool) -> None:
    vocabulary = Vocabulary((b"a", None), special=(1,), names={1: name})
    names = [one.label.name for one in label_vocabulary(vocabulary).labels]
    assert ("IMAGE" in names) is is_one


@pytest.mark.slow
@given(st.lists(st.binary(min_size=1, max_size=3), max_size=12), st.booleans())
def test_the_trie_with_label_codes_is_the_trie_of_all_tokens(
    words: list[bytes], with_reserved: bool
) -> None:
    words = [w if with_reserved or max(w) < 0xF8 else b"a" for w in [*words, b"z"]]
    made = label_vocabulary(Vocabulary(words))
    right = Trie.of(made.tokens)
    for name in ("byte", "depth", "skip", "first", "token_ids"):
        assert np.array_equal(getattr(made.trie, name), getattr(right, name)), name
    assert made.trie.height == right.height


def test_masks_are_cached_with_the_vocabulary() -> None:
    vocabulary = toy([*string.ascii_lowercase, "\n", "a\nb"])
    extended = label_vocabulary(vocabulary)
    assert label_vocabulary(vocabulary) is extended
    found = {one.label.name: set(one.mask) for one in extended.labels}
    assert found == {"PARAGRAPH_TOKEN": set(range(26)), "TEXT_TOKEN": set(range(28))}
