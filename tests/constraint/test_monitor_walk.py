"""Masks with a monitor over thousands of tokens, compared with each token advanced by itself."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import workbench as wb
from workbench.base.limits import Limits
from workbench.constraint import monitored
from workbench.constraint.monitored import Monitored
from workbench.grammar.gallery import load_gallery
from workbench.grammar.monitors.json_keys import KeyMonitor
from workbench.grammar.monitors.monitor import MONITORS, ReadsNames

VOCABULARY = wb.load_model("builtin").vocabulary


def joined(grammar: wb.Grammar, monitor: Any) -> Monitored:
    constraint = wb.compile(grammar, VOCABULARY, monitor=monitor, limits=Limits(seconds=60))
    assert isinstance(constraint, Monitored)
    return constraint


def each_token(constraint: Monitored, text: bytes) -> set[int]:
    """The tokens of a mask by its definition: each is advanced, and needs an end."""
    start = constraint.step_bytes(constraint.initial, text)
    assert start is not None, text
    found = set()
    for token_id in constraint.a.mask(start[0]):
        token = constraint.vocabulary.tokens[token_id]
        after = start[1]
        for byte in token or b"":
            after = None if after is None else constraint.monitor.step(after, byte)
        if token is None:
            if constraint.is_final(start):
                found.add(token_id)
        elif after is not None:
            pair = constraint.a.advance(start[0], token_id), after
            if constraint.is_coaccessible(pair):
                found.add(token_id)
    return found


def schema(**keywords: Any) -> wb.Grammar:
    return wb.Grammar.from_json_schema(json.dumps({"type": "object", **keywords}), whitespace="any")


OPEN = schema(
    properties={"name": {"const": "x"}, "age": {"type": "integer"}},
    required=["name"],
    additionalProperties={"type": "string", "minLength": 1},
    minProperties=3,
)
SHORT = schema(
    propertyNames={"maxLength": 2}, additionalProperties={"type": "object"}, minProperties=2
)


def open_texts(draw: random.Random) -> Iterator[bytes]:
    while True:
        keys = draw.sample(["b", "the", "a", "caf\\u00e9", "é", "to", "\\ud83d"], 3)
        members = ['"name":"x"', *(f'"{key}":"y{key}"' for key in keys)]
        yield ("{" + ",".join(members) + "}").encode()


def short_texts(draw: random.Random) -> Iterator[bytes]:
    while True:
        inner = ",".join(f'"{key}":{{}}' for key in draw.sample(["a", "ab", "é", "z"], 2))
        yield f'{{"a":{{{inner}}},"zz":{{{inner}}}}}'.encode()


#: One letter more makes a key that is known already, and none may follow it.
HARD = (b'{"a":{"ab":{},"a', b'{"ab":{},"a', b'{"a\\u0062":{},"a')


def json_texts(draw: random.Random) -> Iterator[bytes]:
    while True:
        yield draw.choice(['[1,{"a":{"b":"c","d":-2.5e1},"the":[]}]', '{"":0,"to":"\\n"}']).encode()


def sample_texts(monitor: str) -> Callable[[random.Random], Iterator[bytes]]:
    def texts(draw: random.Random) -> Iterator[bytes]:
        while True:
            yield draw.choice(MONITORS[monitor].samples).encode()

    return texts


class Balanced:
    """A monitor by hand: as many opening as closing parentheses; it does not read names."""

    initial = 0

    def step(self, state: int, byte: int) -> int | None:
        after = state + (byte == ord("(")) - (byte == ord(")"))
        return after if after >= 0 else None

    def is_final(self, state: int) -> bool:
        return state == 0

    def finish(self, state: int) -> bytes | None:
        return None

    def why(self, text: bytes, token: bytes | None) -> str:
        return "unbalanced"


def balanced_texts(draw: random.Random) -> Iterator[bytes]:
    while True:
        yield draw.choice([b"(the (to) a))x", b"((a)b)", b"the ((("])


#   grammar                                               monitor      texts
WALKS: list[tuple[wb.Grammar, Any, Callable[[random.Random], Iterator[bytes]]]] = [
    (OPEN,                                                "keys",      open_texts),
    (SHORT,                                               "keys",      short_texts),
    (wb.Grammar.from_kbnf(load_gallery()["json"].text),     "keys",    json_texts),
    (wb.Grammar.from_kbnf(load_gallery()["typed"].text),    "types",   sample_texts("types")),
    (wb.Grammar.from_kbnf(load_gallery()["domino_c"].text), "scope",   sample_texts("scope")),
    (wb.Grammar.from_regex(r"[a-z() ]{0,20}x?"),          Balanced(),  balanced_texts),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "monitor", "texts"), WALKS)
def test_a_mask_is_that_of_each_token_advanced(
    grammar: wb.Grammar, monitor: Any, texts: Callable[[random.Random], Iterator[bytes]]
) -> None:
    draw = random.Random(8)
    constraint, slow = joined(grammar, monitor), joined(grammar, monitor)
    decided = 0
    cut = (text[: draw.randrange(len(text) + 1)] for text in texts(draw))
    for prefix in itertools.chain(HARD if grammar is SHORT else (), itertools.islice(cut, 7)):
        while (state := constraint.step_bytes(constraint.initial, prefix)) is None:
            prefix = prefix[:-1]
        expected = each_token(slow, prefix)
        assert set(constraint.mask(state)) == expected, prefix
        decided += len(expected)
    assert decided > 1000
    assert constraint.is_exact


def test_a_walk_with_too_many_pairs_leaves_the_mask_to_single_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    constraint, plain = joined(OPEN, "keys"), joined(OPEN, "keys")
    state = constraint.step_bytes(constraint.initial, b'{"name":"x","')
    walked = constraint.mask(state)
    monkeypatch.setattr(monitored, "_MAX_PAIRS", 3)
    assert plain.mask(state) == walked


def test_a_mask_in_a_name_takes_fewer_steps_of_the_monitor_than_it_has_tokens() -> None:
    class Counting(KeyMonitor):
        steps = 0

        def step(self, state: Any, byte: int) -> Any:
            Counting.steps += 1
            return super().step(state, byte)

    constraint = joined(OPEN, Counting())
    for text in (b'{"name":"x","', b'{"name":"x","b":"'):
        state = constraint.step_bytes(constraint.initial, text)
        Counting.steps = 0
        assert len(constraint.mask(state)) > 5000
        assert Counting.steps < 5000, text


#   monitor   text before the name                            letters                ends
NAMES: list[tuple[str, bytes, bytes, tuple[bytes, ...]]] = [
    ("keys",  b'[{"a":1,"ab":2,"\\u00e9":3,"',                "abé0".encode(),       (b'":0}]', b'":{"a":0}}]', b'":0,"b":0}]', b'0":0,"a0":0}]', b'b":0,"aa":0}]', b'\\u0061":0}]')),
    ("keys",  b'{"a":1,"b":{"a',                              b"ab",                 (b'":0}}', b'a":0,"ab":0}}', b'":0,"\\u0061":1}}', b'":0},"a":1}', b'":0')),
    ("keys",  b'{"\\ud83d":1,"\\ud83d',                       b"ab",                 (b'":0}', b'\\ude00":0}', b'":0,"\\ud83da":1}')),
    ("types", b'let a: number = 1;\nlet a',                   b"ab1",                (b': number = 1;\n', b': number = a;\n', b': number = 1;\nlet ab: string = "";\n', b': string = "a";\nlet aa: number = 1;\n', b'b: number = 1;\n')),
    ("scope", b'int f(int a){int a',                          b"ab1",                (b'=1;return a;}', b'=1;int ab=2;return ab;}', b'=a;}', b';}')),
]  # fmt: skip


@pytest.mark.parametrize(("monitor", "before", "letters", "ends"), NAMES)
def test_an_end_completes_every_name_that_does_not_clash(
    monitor: str, before: bytes, letters: bytes, ends: tuple[bytes, ...]
) -> None:
    reader = MONITORS[monitor].make(Limits())
    assert isinstance(reader, ReadsNames)

    def read(state: Any, text: bytes) -> Any:
        for byte in text:
            state = None if state is None else reader.step(state, byte)
        return state

    start = read(reader.initial, before)
    assert reader.letters(start) >= set(letters)
    known = completed = clashing = 0
    for end in ends:
        clashes = reader.clashes(start, end)
        known += clashes is not None
        for length in range(4):
            for rest in map(bytes, itertools.product(letters, repeat=length)):
                after = read(start, rest)
                assert reader.letters(after) == reader.letters(start)
                final = read(after, end)
                if clashes is not None and rest not in clashes:
                    assert final is not None, (rest, end)
                    assert reader.is_final(final), (rest, end)
                    completed += 1
                clashing += final is None
    assert known >= 2
    assert completed > 20
    assert clashing
