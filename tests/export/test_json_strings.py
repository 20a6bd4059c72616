"""Exported JSON strings: contents, escaped forms, and the rules for them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.random_texts import samples
from workbench.base.dfa import Dfa
from workbench.base.limits import LIMITS
from workbench.grammar.export.json_strings import json_character, json_contents
from workbench.grammar.export.registry import export
from workbench.grammar.export.terminals import machine_regex
from workbench.grammar.grammar import Grammar
from workbench.schema.string_sets import StringSet
from workbench.syntax.ranges import Ranges, contains, normalized
from workbench.syntax.regex.printer import pattern

HALVES = range(0xD800, 0xE000)
#: Where spellings change: controls, short escapes, digits of ``\\uXXXX``, halves of pairs.
EDGES = [0, 8, 0x1F, 0x20, 0x22, 0x2F, 0x5C, 0x7F, 0xFF, 0xFFF, 0xD7FF, 0xE000, 0xFFFF, 0x10000]
EDGES += [0x103FF, 0x10400, 0x107FF, 0x1F600, 0x10FFFF]

codes = st.one_of(st.sampled_from(EDGES), st.integers(0, 0x10FFFF)).filter(
    lambda c: c not in HALVES
)
sets = st.lists(codes, min_size=2, max_size=6).map(
    lambda some: normalized(
        (low, high)
        for low, high in zip(sorted(some)[::2], sorted(some)[1::2], strict=False)
        if not low < HALVES.start <= high
    )
)


def spellings(code: int) -> set[str]:
    units = chr(code).encode("utf-16-be").hex()
    numbers = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    strings = json.dumps(chr(code)), json.dumps(chr(code), ensure_ascii=False)
    return {numbers, numbers.upper().replace("U", "u"), *(text[1:-1] for text in strings)}


@pytest.mark.slow
@given(sets.filter(bool), st.lists(codes))
def test_a_character_in_all_its_spellings(ranges: Ranges, others: list[int]) -> None:
    read = re.compile(pattern(json_character(ranges)))
    edges = {code + by for piece in ranges for code in piece for by in (-1, 0, 1)}
    for code in (c for c in {*edges, *others} if 0 <= c <= 0x10FFFF and c not in HALVES):
        for spelling in spellings(code):
            assert bool(read.fullmatch(spelling)) is contains(ranges, code), (code, spelling)


#   texts                                     what they say, why
CONTENTS = [
    (StringSet.everything(),                          "(?s:.)*",      "any string"),
    (StringSet.pattern("^[a-z]{3,255}$"),             "[a-z]{3,255}", "a pattern and its count"),
    (StringSet.lengths(0, 3),                         "(?s:.){0,3}",  "a length"),
    (StringSet.pattern("^(é|[😀😁]\\n)+$"),            "(?:é|[😀😁]\\n)+", "escapes and pairs of halves"),
    (StringSet.of(["abcé"]),                          None,           "ASCII of a word is spelled plainly"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("texts", "said", "because"), CONTENTS, ids=[r[-1] for r in CONTENTS])
def test_the_contents_of_a_json_string_as_a_regex(
    texts: StringSet, said: str | None, because: str
) -> None:
    found = json_contents(texts.machine(LIMITS))
    assert (found is None) is (said is None), because
    if found is not None:
        content, quoted = found
        assert quoted
        regex = machine_regex(content, 600)
        assert regex is not None
        assert pattern(regex) == said, because


#: Texts of regexes that are strings but for one thing.
UNLIKE = [
    (r'"a"',                     "no other spelling"),
    (r'"(a|\\u0061)*',           "no quote behind"),
    (r'"(a|\\u0061)*"b?',        "something behind the quote"),
    (r'"?(a|\\u0061)*"',         "the first quote may be left out"),
    (r'"(a|\\u0061|\\u006A)*"',  "J in one case alone"),
    (r'"(/|\\u002[fF])*"',       "no short escape"),
]  # fmt: skip


@pytest.mark.parametrize(("regex", "because"), UNLIKE, ids=[row[-1] for row in UNLIKE])
def test_what_is_no_string_of_json(regex: str, because: str) -> None:
    reader = Grammar.from_regex(regex).reader
    assert isinstance(reader, Dfa)
    assert json_contents(reader) is None, because


def test_one_that_is() -> None:
    reader = Grammar.from_regex(r'"(a|\\u0061)*"').reader
    assert isinstance(reader, Dfa)
    assert json_contents(reader) is not None


def test_a_long_string_is_short_in_rules() -> None:
    schema = {"type": "string", "pattern": "^[a-z]{3,255}$"}
    grammar = Grammar.from_json_schema(schema, whitespace="compact")
    written = export(grammar, "gbnf")
    assert '"\\"" character-a-z{3,255} "\\""' in written
    assert len(written) < 400
    again = Grammar.from_gbnf(written)
    for text in ('"abc"', r'"\u0061bc"', '"ab"', '"abC"', *samples(grammar, 20)):
        assert again.accepts(text) is grammar.accepts(text), text
