"""The monitor ``keys``: JSON texts without a repeated key, compared with Python's reader."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import workbench as wb
from workbench.constraint.monitored import Monitored
from workbench.grammar.gallery import load_gallery
from workbench.grammar.monitors.json_keys import KeyMonitor
from workbench.grammar.monitors.monitor import monitors_of

BYTES = [bytes((byte,)) for byte in range(256)]
PIECES = ["{", "}", "[", "]", ",", ":0", '"a"', '"\\u0061"', '"b"', '"{"', ":"]


def has_repeated_key(text: str) -> bool:
    """Whether an object of a JSON text has a key twice, by Python's reader."""
    repeated = False

    def look(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated |= len({key for key, _ in pairs}) < len(pairs)

    json.loads(text, object_pairs_hook=look)
    return repeated


def read(text: bytes) -> bool:
    """Whether the monitor accepts a text."""
    monitor = KeyMonitor()
    state = monitor.initial
    for byte in text:
        after = monitor.step(state, byte)
        if after is None:
            return False
        state = after
    return monitor.is_final(state)


def test_json_texts_are_read_unless_a_key_is_repeated() -> None:
    accepted = refused = 0
    for length in range(1, 6):
        for pieces in itertools.product(PIECES, repeat=length):
            text = "".join(pieces)
            try:
                repeated = has_repeated_key(text)
            except ValueError:
                continue
            assert read(text.encode()) is not repeated, text
            accepted, refused = accepted + (not repeated), refused + repeated
    assert accepted > 20
    assert refused == 0, "two members need more pieces"
    for inner, one, other in itertools.product(PIECES, ['"a"', '"\\u0061"'], ['"a"', '"b"']):
        for text in (f"{{{one}:0,{other}:{inner}}}", f'[{{"c":{{{one}:{inner},{other}:0}}}},1]'):
            try:
                repeated = has_repeated_key(text)
            except ValueError:
                continue
            assert read(text.encode()) is not repeated, text
            refused += repeated
    assert refused >= 8


def schema(**keywords: Any) -> wb.Grammar:
    return wb.Grammar.from_json_schema(json.dumps({"type": "object", **keywords}), whitespace="any")


def joined(grammar: wb.Grammar, *words: str) -> Monitored:
    tokens = [*BYTES, *(word.encode() for word in words), None]
    vocabulary = wb.Vocabulary(tokens, end=len(tokens) - 1)
    constraint = wb.compile(grammar, vocabulary, monitor="keys")
    assert isinstance(constraint, Monitored)
    return constraint


AB = schema(patternProperties={"^[ab]$": {"type": "boolean"}}, additionalProperties=False)
TWO = schema(
    patternProperties={"^[ab]$": {"type": "boolean"}}, additionalProperties=False, minProperties=2
)
OPEN = schema(
    properties={"name": {"const": "x"}},
    required=["name"],
    additionalProperties={"type": "integer"},
    minProperties=4,
)

#   grammar  after                              words                             allowed           because
MASKS = [
    (AB,     '{"a":true,"',                     ['a"', 'b"', "b"],                ['b"', "b"],      "a is written already, also its first letter"),
    (AB,     '{"a":true',                       [",", "}", ',"b', ',"a'],         [",", "}", ',"b'], "one name is left"),
    (AB,     '{"a":true,"b":true',              [",", "}"],                       ["}"],            "no name is left, so no comma"),
    (AB,     '{"\\u0061":true,"',               ['a"', 'b"', "\\u0061"],          ['b"'],           "an escape is the same key"),
    (TWO,    '{"a":true',                       ["}", ",", ',"a":'],              [","],            "two different ones are required"),
    (OPEN,   '{"name":"x","b":1,"',             ['b":', 'c":1,"d":1}', 'c":1}', 'c":1,"c', 'c":1,"c"'],
                                                ['c":1,"d":1}', 'c":1,"c'],                          "four different ones are required"),
    (OPEN,   '{"name":"x","b":1,"c":2,"',       ['d":1}', 'b":1}', 'bb":1}', 'name"'],
                                                ['d":1}', 'bb":1}'],                                 "all the letters of another key"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("grammar", "after", "words", "allowed", "because"), MASKS, ids=[row[-1] for row in MASKS]
)
def test_a_mask_leaves_out_keys_that_repeat(
    grammar: wb.Grammar, after: str, words: list[str], allowed: list[str], because: str
) -> None:
    constraint = joined(grammar, *words)
    state = constraint.step_bytes(constraint.initial, after.encode())
    assert state is not None
    mask = constraint.mask(state)
    assert [word for at, word in enumerate(words) if 256 + at in mask] == allowed, because
    assert constraint.is_exact


def test_every_mask_is_exact() -> None:
    """Every token against all members that can follow."""
    members = ['"a":true', '"b":true', '"a":false', '"b":false']
    texts = [
        "{" + ",".join(some) + "}"
        for length in range(5)
        for some in itertools.product(members, repeat=length)
    ]
    good = [text for text in texts if TWO.accepts(text) and not has_repeated_key(text)]
    words = ['a"', '"b"', 'true,"', "e}", ',"a', "{}"]
    constraint = joined(TWO, *words)
    tokens = [token for token in constraint.vocabulary.tokens if token]
    for prefix in {text[:end] for text in good for end in range(len(text))}:
        state = constraint.step_bytes(constraint.initial, prefix.encode())
        assert state is not None, prefix
        allowed = {tokens[token_id] for token_id in constraint.mask(state).ids.tolist()}
        rests = [text[len(prefix) :].encode() for text in good if text.startswith(prefix)]
        begun = {t for t in tokens if any(rest.startswith(t) for rest in rests)}
        assert begun <= allowed, prefix
        assert allowed - begun <= {b"\\", *(bytes((byte,)) for byte in b" \n\r\t")}, prefix


def test_error_where_every_text_repeats_a_key() -> None:
    grammar = wb.Grammar.from_regex(r'\{("a":0,)+"a":0\}')
    with pytest.raises(wb.WorkbenchError, match="no text is accepted by the grammar and the mon"):
        wb.compile(grammar, wb.Vocabulary(BYTES), monitor=KeyMonitor())


def test_generated_objects_differ_in_their_keys() -> None:
    grammar = schema(additionalProperties={"type": "integer"}, minProperties=3)
    constraint = wb.compile(grammar, wb.load_model().vocabulary, monitor="keys")
    state = constraint.initial
    for word in (b'{"', b"a", b'":', b"1", b',"', b"a"):
        (token_id,) = constraint.vocabulary.ids_of[word][:1]
        state = constraint.advance(state, token_id)
    assert b'"' not in [constraint.vocabulary.tokens[i] for i in constraint.mask(state).ids]


def test_where_it_fits_and_what_it_says() -> None:
    assert monitors_of(OPEN) == ("keys",)
    assert monitors_of(wb.Grammar.from_kbnf(load_gallery()["json"].text)) == ("keys",)
    assert not monitors_of(wb.Grammar.from_regex("a"))
    why = KeyMonitor().why
    assert why(b'{"a":1,"\\u0061', b'"') == 'this object has the key "a" already'
    assert why(b"[]", b"]") == "a bracket is closed twice"
    assert why(b"[", None) == "the text is not complete"
    assert not why(b'{"a', b"b")
    found = wb.explain(OPEN, '{"name":"x","b":1,"b', '"', monitor="keys")
    assert "already" in str(found)
