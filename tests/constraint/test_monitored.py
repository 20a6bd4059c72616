"""Monitors: masks that keep the meaning of a program, compared with oracles by enumeration."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.oracles.meaning_oracle import in_scope, well_typed
from workbench.base.limits import Limits
from workbench.constraint.monitored import Monitored
from workbench.grammar.gallery import load_gallery
from workbench.grammar.monitors.monitor import MONITORS, monitors_of
from workbench.grammar.monitors.scopes import LIBRARY, ScopeMonitor
from workbench.grammar.monitors.well_typed import TypeMonitor
from workbench.vocabulary.toy_vocabularies import all_bytes

TYPED = wb.Grammar.from_kbnf(load_gallery()["typed"].text)
C = wb.Grammar.from_kbnf(load_gallery()["domino_c"].text)


def vocabulary(words: list[str]) -> wb.Vocabulary:
    """All single bytes, some words, and an end token."""
    tokens = [*(bytes((byte,)) for byte in range(256)), *(word.encode() for word in words), None]
    return wb.Vocabulary(tokens, end=len(tokens) - 1)


def joined(grammar: wb.Grammar, monitor: str, words: list[str]) -> Monitored:
    constraint = wb.compile(grammar, vocabulary(words), monitor=monitor)
    assert isinstance(constraint, Monitored)
    return constraint


def programs(
    grammar: wb.Grammar, begin: str, words: list[str], most: int
) -> Iterator[tuple[bytes, bool]]:
    """Every text of a beginning and at most some words that begins a text of the grammar.

    With each whether the grammar accepts it.
    """
    constraint = wb.compile(grammar, vocabulary(words))
    state = constraint.step_bytes(constraint.initial, begin.encode())
    ids = range(256, 256 + len(words))
    waiting = [(state, begin.encode(), 0)]
    while waiting:
        state, text, length = waiting.pop()
        yield text, constraint.is_final(state)
        if length < most:
            for token_id in ids:
                if token_id in constraint.mask(state):
                    word = constraint.vocabulary.tokens[token_id] or b""
                    waiting.append((constraint.advance(state, token_id), text + word, length + 1))


_S = 'let s: string = "";\n'
_F = "let f: (x: number) => string = (x: number) => s;\n"
_WORDS = ["s", "f", "1", '"a"', ".length", ".charAt", "(", ")", " + ", " < ", ";\n", "true", "x"]
_LETS = [
    "let a: number",
    "let b: number",
    "let a: string",
    " = a;\n",
    " = b;\n",
    " = 1;\n",
    ' = "";\n',
]
_BLOCK = ["let x: number", "let y: number", " = x; ", " = y; ", " = f(x); ", "return x; }\n",
          "return y; }\n", "return f(y); }\n"]  # fmt: skip
_ARROW = ["g: () => number, ", "x: () => number, ", "x: string) => ", "g: string) => ", "g()", "x()",
          "x.length", "g.length", " < ", "1", ";\n"]  # fmt: skip
_STATEMENTS = ["int a=", "int b=", "a=", "b=", "a;", "b;", "1;", "return ", "if(b<1){", "}",
               "}else{", "}}"]  # fmt: skip
_FOR = ["int i", "i", "a", "=1;", "=i;", "i<1;", "a<i;", "i=i", "a=1", "){", "i=1;", "int i=2;",
        "}", "}}"]  # fmt: skip
_FUNCTIONS = ["int f(){", "int g(int a){", "int g(){", "return a;", "return f();", "return g();",
              "return while;", "intx=1;", "}"]  # fmt: skip

#   monitor  begins with                                    words        at most  because
SPACES: list[tuple[str, str, list[str], int, str]] = [
    ("types", _S + _F + "let n: number = ",                 _WORDS,      4, "a number from a text"),
    ("types", _S + _F + "let n: string = ",                 _WORDS,      4, "a text from a function"),
    ("types", _S + _F + "let n: boolean = ",                _WORDS,      4, "comparisons"),
    ("types", _S + _F + "let g: (y: number) => string = ",  [*_WORDS, "(x: number) => "], 4, "functions"),
    ("types", "",                                           _LETS,       6, "statements"),
    ("types", "function f(x: number): number { ",           _BLOCK,      5, "a block and its names"),
    ("types", "let h: (g: () => number, x: string) => boolean = (", _ARROW, 6, "arrow functions"),
    ("scope", "int f(int a){",                              _STATEMENTS, 5, "statements of a block"),
    ("scope", "int f(int a){if(a<1){int b=1;",              _STATEMENTS, 5, "an inner block ends its names"),
    ("scope", "int f(){for(",                               _FOR,        7, "the variable of a for"),
    ("scope", "",                                           _FUNCTIONS,  6, "functions"),
]  # fmt: skip

ORACLES: dict[str, Callable[[bytes], bool]] = {
    "types": well_typed,
    "scope": lambda text: in_scope(text, frozenset(LIBRARY)),
}
MADE: dict[str, tuple[wb.Grammar, Callable[[], ScopeMonitor | TypeMonitor]]] = {
    "types": (TYPED, TypeMonitor),
    "scope": (C, ScopeMonitor),
}


@pytest.mark.parametrize(
    ("name", "begin", "words", "most", "because"), SPACES, ids=[row[-1] for row in SPACES]
)
def test_a_text_is_read_iff_a_program_with_meaning_begins_with_it(
    name: str, begin: str, words: list[str], most: int, because: str
) -> None:
    grammar, make = MADE[name]
    oracle, monitor = ORACLES[name], make()
    accepted = refused = cut = 0
    for text, complete in programs(grammar, begin, words, most):
        state, read = monitor.read(text)
        if complete:
            meaning = oracle(text)
            assert (read == len(text) and monitor.is_final(state)) == meaning, text
            accepted, refused = accepted + meaning, refused + (not meaning)
        if read == len(text):
            whole = text + monitor.finish(state)
            assert oracle(whole), (text, whole)
            assert grammar.accepts(whole), (text, whole)
        else:
            cut += 1
            assert monitor.why(text[:read], text[read : read + 1])
    assert accepted, because
    assert cut, because


def test_the_mask_allows_exactly_the_tokens_that_a_program_continues() -> None:
    words = [
        *_WORDS,
        "s;\nlet ",
        " = s",
        "s.",
        ".length;\n",
        "t: number = s.l",
        '";\nlet t',
        "(s",
        "1)",
    ]
    constraint, monitor = joined(TYPED, "types", words), TypeMonitor()
    grammar = wb.compile(TYPED, constraint.vocabulary)
    draw = random.Random(3)
    for _ in range(12):
        state, inner, text = constraint.initial, grammar.initial, b""
        for _ in range(40):
            mask, wide = constraint.mask(state), grammar.mask(inner)
            for token_id in wide.without(constraint.vocabulary.ends):
                whole = text + (constraint.vocabulary.tokens[token_id] or b"")
                there, read = monitor.read(whole)
                expected = read == len(whole) and well_typed(whole + monitor.finish(there))
                assert (token_id in mask) == expected, whole
            assert constraint.vocabulary.end is not None
            assert (constraint.vocabulary.end in mask) == well_typed(text)
            choices = [i for i in mask if i >= 256 and i != constraint.vocabulary.end] or list(mask)
            token_id = draw.choice(choices)
            if token_id == constraint.vocabulary.end:
                break
            state, inner = constraint.advance(state, token_id), grammar.advance(inner, token_id)
            text += constraint.vocabulary.tokens[token_id] or b""
    assert constraint.is_exact


def test_a_token_that_ends_one_name_and_begins_another_is_decided_by_its_bytes() -> None:
    words = ["s;\nlet t", "q;\nlet t", "s;\nlet s", "s;\nlet sum"]
    constraint = joined(TYPED, "types", words)
    state = constraint.step_bytes(constraint.initial, b'let s: string = "";\nlet r: string = ')
    assert state is not None
    allowed = [constraint.vocabulary.tokens[i] for i in constraint.mask(state) if i >= 256]
    assert allowed == [b"s;\nlet t", b"s;\nlet s", b"s;\nlet sum"]
    after = constraint.advance(state, 256 + 2)  # a longer name may still begin with s
    colon = constraint.vocabulary.ids(b":")[0]
    assert colon not in constraint.mask(after)
    with pytest.raises(wb.TokenNotAllowed):
        constraint.advance(after, colon)


def test_an_earlier_state_continues_as_before() -> None:
    constraint = joined(C, "scope", ["int x=1;", "x=2;"])
    inside = constraint.step_bytes(constraint.initial, b"int f(){if(1<2){")
    assert inside is not None
    declares, uses = 256, 257
    assert uses not in constraint.mask(inside)
    declared = constraint.advance(inside, declares)
    assert uses in constraint.mask(declared)
    assert uses not in constraint.mask(inside)
    left = constraint.step_bytes(declared, b"}")
    assert left is not None
    assert uses not in constraint.mask(left)


def test_forced_bytes_follow_from_the_meaning() -> None:
    constraint = joined(TYPED, "types", [])
    state = constraint.step_bytes(constraint.initial, b'let size: string = "";\nlet n: number = s')
    assert state is not None
    assert constraint.forced(state) == b"ize."


def test_speculation_and_plain_decoding_agree() -> None:
    model = wb.load_model("builtin")
    constraint = wb.compile(TYPED, model.vocabulary, monitor="types", limits=Limits(seconds=60))
    plain = wb.generate(model, constraint, "let", wb.Sampling(seed=4), max_tokens=12)
    skipped = wb.generate(
        model, constraint, "let", wb.Sampling(seed=4), max_tokens=12, strategy=wb.JumpForward()
    )
    assert [s.token_id for s in plain] == [s.token_id for s in skipped]


class Weekdays:
    """A monitor by hand, without completions: words of a list, separated by spaces."""

    initial = b""
    words = (b"mon", b"tue", b"wed")

    def step(self, state: bytes, byte: int) -> bytes | None:
        if byte == ord(" "):
            return b"" if state in self.words else None
        longer = state + bytes((byte,))
        return longer if any(word.startswith(longer) for word in self.words) else None

    def is_final(self, state: bytes) -> bool:
        return state in self.words

    def finish(self, state: bytes) -> bytes | None:
        return None

    def why(self, text: bytes, token: bytes | None) -> str:
        return "no weekday"


def test_a_monitor_of_ones_own_needs_no_completions() -> None:
    grammar = wb.Grammar.from_regex("[a-z]+( [a-z]{3,4})?")
    tokens = wb.Vocabulary([b"mon", b"tue", b"tu", b"e", b" w", b"ed", b" ", b"x", b"<end>"], end=8)
    constraint = wb.compile(grammar, tokens, monitor=Weekdays())
    assert isinstance(constraint, Monitored)
    # "tu" leads to "tue"; after one weekday a space leads to another
    assert constraint.mask(constraint.initial).ids.tolist() == [0, 1, 2]
    after = constraint.advance(constraint.initial, 0)
    assert constraint.mask(after).ids.tolist() == [4, 6, 8]
    assert constraint.is_exact


def test_a_token_after_which_grammar_and_monitor_cannot_end_together_is_removed() -> None:
    grammar = wb.Grammar.from_regex("mon tue|tue (mo|wed)|wed.*zz")
    tokens = wb.Vocabulary([b"mon", b"tue", b"wed", b" ", b"mo", b"z", b"<end>"], end=6)
    constraint = wb.compile(grammar, tokens, monitor=Weekdays())
    # after "wed" the grammar needs zz, which no weekday ends with
    assert constraint.mask(constraint.initial).ids.tolist() == [0, 1]


def test_error_where_grammar_and_monitor_have_no_common_text() -> None:
    with pytest.raises(
        wb.WorkbenchError, match="no text is accepted by the grammar and the monitor"
    ):
        wb.compile(wb.Grammar.from_regex("[0-9]+"), all_bytes(), monitor=Weekdays())


#   grammar                         monitor     message
REFUSED: list[tuple[str, str, str]] = [
    ("[0-9]+",                      "types",    "does not fit this grammar"),
    ("[0-9]+",                      "names",    "there is no monitor 'names'"),
]  # fmt: skip


@pytest.mark.parametrize(("regex", "monitor", "message"), REFUSED)
def test_error_for_a_monitor_that_cannot_be_used(regex: str, monitor: str, message: str) -> None:
    with pytest.raises(wb.WorkbenchError, match=message):
        wb.compile(wb.Grammar.from_regex(regex), all_bytes(), monitor=monitor)


def test_error_where_a_monitored_text_must_end_in_a_budget() -> None:
    with pytest.raises(wb.WorkbenchError, match="not counted under a monitor"):
        wb.WithinBudget(joined(TYPED, "types", []), 20)


def test_monitors_fit_their_grammars() -> None:
    fitting = {name: monitors_of(wb.Grammar.from_text(e.text, e.notation, e.start))
               for name, e in load_gallery().items() if name in ("typed", "domino_c", "json")}  # fmt: skip
    assert fitting == {"typed": ("types",), "domino_c": ("scope",), "json": ("keys",)}
    for name, (_, make) in MADE.items():
        for sample in MONITORS[name].samples:
            assert ORACLES[name](sample.encode())
            state, read = make().read(sample.encode())
            assert read == len(sample.encode())
            assert make().is_final(state)


#   monitor     text read                                       token           reason
REASONS: list[tuple[str, str, str, str]] = [
    ("scope",   "int f(int a){return ",                         "b",            "no declared name begins with b; in scope: a, f"),
    ("scope",   "int f(int ab){return a",                       ";",            "a is not declared; in scope: ab, f"),
    ("scope",   "int f(int a){int a",                           "=",            "a is declared already in this block"),
    ("scope",   "int f(int a){a=",                              "while(",       "while is a keyword, not a name"),
    ("scope",   "int ",                                         "if(",          "if is a keyword"),
    ("types",   'let s: string = "";\nlet n: number = s',       ";",            "this is string, and number is expected"),
    ("types",   'let s: string = "";\nlet n: number = ',        "q",            "no declared name begins with q; possible: s"),
    ("types",   'let s: string = "";\nlet n: number = s.',      "size",         "string has no member size"),
    ("types",   'let f: () => boolean = ',                      "true",         "() => boolean is expected"),
    ("types",   "let n: number = 1",                            " <",           "a comparison is boolean, and number is expected"),
    ("types",   "let n: boolean = true",                        " +",           "boolean has no + that leads to boolean"),
    ("types",   "let n: number = 1;\nlet n",                    ":",            "n is declared already in this block"),
]  # fmt: skip


@pytest.mark.parametrize(("monitor", "text", "token", "reason"), REASONS)
def test_reasons_name_what_is_wrong(monitor: str, text: str, token: str, reason: str) -> None:
    grammar, make = MADE[monitor]
    found = make().why(text.encode(), token.encode())
    assert found == reason
    assert grammar.is_prefix(text + token), "the grammar alone allows it"


_TSC = Path(__file__).parents[2] / "node_modules" / "typescript" / "bin" / "tsc"


@pytest.mark.slow
@pytest.mark.skipif(not _TSC.exists(), reason="needs npm install")
def test_typescript_accepts_the_programs_that_the_monitor_accepts(tmp_path: Path) -> None:
    monitor, well, ill = TypeMonitor(), list[str](), list[str]()
    for name, begin, words, most, _ in SPACES:
        if name == "types":
            for text, complete in programs(TYPED, begin, words, most):
                state, read = monitor.read(text)
                if complete:
                    good = read == len(text) and monitor.is_final(state)
                    (well if good else ill).append(text.decode())
    draw = random.Random(1)
    chosen = draw.sample(well, min(150, len(well))), draw.sample(ill, min(150, len(ill)))
    errors = _typescript_errors(tmp_path, [*chosen[0], *chosen[1]])
    assert [chosen[0][i] for i in errors if i < len(chosen[0])] == []
    # the rest is refused too, but where TypeScript converts or takes fewer arguments
    assert len(errors) > 0.8 * len(chosen[1])


def _typescript_errors(folder: Path, texts: list[str]) -> set[int]:
    """The numbers of the programs in which the TypeScript compiler reports an error."""
    lines, owner = ["export {};"], [-1]
    for number, text in enumerate(texts):
        block = ["{", *text.splitlines(), "}"]  # a block each: its names are its own
        lines += block
        owner += [number] * len(block)
    (folder / "programs.ts").write_text("\n".join(lines) + "\n")
    options = ["--noEmit", "--strict", "--target", "es2022"]
    command = ["node", str(_TSC), *options, "programs.ts"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    return {owner[int(line) - 1] for line in re.findall(r"programs\.ts\((\d+),", said)}


@pytest.mark.parametrize("monitor", [3, object, object()])
def test_error_for_what_is_no_monitor(monitor: Any) -> None:
    with pytest.raises(wb.WorkbenchError, match="a text or None as 'monitor'"):
        wb.compile(wb.Grammar.from_regex("a"), all_bytes(), monitor=monitor)
