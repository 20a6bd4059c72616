"""xgrammar reads a structural tag as the same set of texts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tests.oracles.tag_oracle import ALPHABET, Format, random_format, texts

pytestmark = pytest.mark.peers

MOST = 4


def in_xgrammar(form: Format) -> Callable[[str], bool]:
    xgrammar = pytest.importorskip("xgrammar")
    testing = pytest.importorskip("xgrammar.testing")
    written = json.dumps({"type": "structural_tag", "format": form})
    grammar = xgrammar.Grammar.from_structural_tag(written)
    return lambda text: bool(testing._is_grammar_accept_string(grammar, text))


def accepted(form: Format) -> frozenset[str]:
    accepts = in_xgrammar(form)
    every = ("".join(text) for size in range(MOST + 1) for text in product(ALPHABET, repeat=size))
    return frozenset(filter(accepts, every))


@pytest.mark.parametrize("seed", range(20))
def test_xgrammar_agrees_where_no_word_is_inside_another(seed: int) -> None:
    pytest.importorskip("xgrammar")
    draw = random.Random(1000 + seed)
    compared = 0
    for _ in range(20):
        form = random_format(draw, apart=True)
        try:
            found = accepted(form)
        except RuntimeError:  # it rejects a tag that nothing ends, as this library does
            continue
        assert found == texts(form, MOST), form
        compared += 1
    assert compared >= 10


def _triggered(triggers: list[str], begins: list[str], **more: Any) -> Format:
    nothing = {"type": "const_string", "value": ""}
    tags = [{"type": "tag", "begin": one, "content": nothing, "end": ""} for one in begins]
    return {"type": "triggered_tags", "triggers": triggers, "tags": tags, **more}


#: Where xgrammar 0.2 differs: a format, and a text that it accepts against the definition.
DIFFERENCES = [
    (_triggered(["aba", "b"], ["abac", "bb"]), "ab", "a trigger inside another one is missed"),
    (_triggered(["b"], ["bc"], excludes=["abc"]), "ab", "a trigger inside an excluded text"),
]


@pytest.mark.parametrize(("form", "text", "why"), DIFFERENCES)
def test_xgrammar_still_differs(form: Format, text: str, why: str) -> None:
    assert in_xgrammar(form)(text), why
    assert text not in texts(form, MOST)
