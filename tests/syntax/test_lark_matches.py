"""Terminals of Lark match what ``re`` matches, and ignored text ends where lark ends it.

The oracles are ``re`` on all small texts, and lark's Earley parser with its complete lexer.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from random import Random

import pytest
from lark import Lark
from lark.exceptions import GrammarError, LarkError

from tests.syntax.test_lark_itself import accepts
from workbench.automata.build import regex_dfa
from workbench.base.errors import BuildError, ParseError
from workbench.base.source import Source
from workbench.constraint.compile import compile as compile_constraint
from workbench.grammar.grammar import Grammar
from workbench.syntax.grammar_tree import asserted_pattern
from workbench.syntax.regex.one_unambiguous import is_read_greedily
from workbench.syntax.regex.parser import parse_regex
from workbench.syntax.regex.tree import Operation, asserted, combined
from workbench.vocabulary.toy_vocabularies import all_bytes

COUNTS = ["*", "*?", "+", "+?", "?", "??", "{1,2}", "{0,2}?", "{2}", "{2,}?"]
TEXTS = ["".join(letters) for size in range(6) for letters in product("abc", repeat=size)]


def drawn_regex(random: Random, depth: int, leaves: tuple[str, ...]) -> str:
    kind = random.random()
    if depth == 0 or kind < 0.25:
        return random.choice(leaves)

    def parts() -> Iterator[str]:
        return (drawn_regex(random, depth - 1, leaves) for _ in range(random.choice([2, 2, 3])))

    if kind < 0.5:
        return f"(?:{'|'.join(parts())})"
    if kind < 0.75:
        return "".join(parts())
    return f"(?:{drawn_regex(random, depth - 1, leaves)}){random.choice(COUNTS)}"


def matched_whole(regex: str, texts: list[str]) -> set[str]:
    compiled = re.compile(regex)
    matches = {text: compiled.match(text) for text in texts}
    return {text for text, match in matches.items() if match and match.end() == len(text)}


@pytest.mark.parametrize("seed", range(40))
def test_leftmost_first_texts_are_those_that_re_matches_whole(seed: int) -> None:
    random = Random(seed)
    leaves = ("a", "b", "c", "[ab]", ".", "", "(?=b)", "(?!b)", "(?<=a)", "(?<!a)", r"\b")
    for _ in range(12):
        regex = drawn_regex(random, 3, leaves if seed % 2 else leaves[:6])
        tree = parse_regex(Source(regex, "regex"))
        first = combined(Operation.LEFTMOST_FIRST, asserted(tree) or tree)
        dfa = regex_dfa(asserted_pattern(first, regex, tree.span).regex)
        ours = {text for text in TEXTS if dfa.accepts(text.encode())}
        assert ours == matched_whole(regex, TEXTS), regex


@pytest.mark.parametrize("seed", range(40))
def test_a_regex_that_is_read_greedily_is_matched_whole(seed: int) -> None:
    random = Random(seed)
    read = 0
    while read < 8:
        regex = drawn_regex(random, 3, ("a", "b", "c", "[ab]", ""))
        tree = parse_regex(Source(regex, "regex"))
        if not is_read_greedily(tree):
            continue
        read += 1
        dfa = regex_dfa(tree)
        ours = {text for text in TEXTS if dfa.accepts(text.encode())}
        assert ours == matched_whole(regex, TEXTS), regex


@pytest.mark.parametrize("regex", [r'"(\\.|[^"\\])*"', r"[a-z_]\w*", r"\d+(\.\d+)?", "(a|b)?c"])
def test_terminals_of_languages_are_read_greedily(regex: str) -> None:
    assert is_read_greedily(parse_regex(Source(regex, "regex")))


@pytest.mark.parametrize("regex", ["a|ab", "a+?", "(a|ab)c", "a*a", "a*(ab)?", "(|a)"])
def test_regexes_in_which_the_order_may_matter_are_not(regex: str) -> None:
    assert not is_read_greedily(parse_regex(Source(regex, "regex")))


#   grammar, accepted, refused
CASES = [
    ('start: "a" "b"\n%ignore /\\/\\/[^\\n]*/', ["ab"], ["a//b", "a// x b", "a// x\nb"]),
    ('start: "a" "b"\n%ignore /\\/\\/[^\\n]*/\n%ignore /\\s+/', ["a// x\nb", "ab // c"], ["a//b"]),
    ('start: "a" N "b"\nN: "\\n"\n%ignore /#[^\\n]*/', ["a\nb", "a#x\nb", "a\nb#x"], ["a#x\nb#\n"]),
    ('start: S\nS: /".*?"/', ['"x"', '""'], ['"x"y"']),
    ('start: S "c"\nS: /a|ab/', ["ac"], ["abc"]),
    ('start: S "c"\nS: "a" | "ab"', ["ac", "abc"], ["bc"]),
    ('start: A "!"\nA: /a+?/', ["a!"], ["aa!"]),
    ('start: "a" "b"\n%ignore /\\/\\*[\\s\\S]*?\\*\\//', ["a/* x */b"], ["a/* x */ y */b"]),
    ('start: A\nA: /a|b/ "c"', ["a", "bc"], ["ac"]),
    ('start: "a" " x"\n%ignore / +/', ["a x"], ["a  x"]),
    ('start: "x" "y"\nI: "#" | "##a"\n%ignore I', ["x##ay", "x##y"], ["xay"]),
    ('start: A "z"\nA: B "c"\nB: /b|bc/', ["bz"], ["bcz", "bccz"]),
    ('start: S\nS: "<" _STRING_ESC_INNER ">"\n%import common._STRING_ESC_INNER', ["<a>"], ["<a>b>"]),
    ('start: A\nA: "x" | /x+/', ["x", "xx"], [""]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "accepted", "refused"), CASES)
def test_a_grammar_accepts_what_lark_accepts(
    text: str, accepted: list[str], refused: list[str]
) -> None:
    lark, ours = Lark(text, lexer="dynamic_complete"), Grammar.from_lark(text)
    for each in (*accepted, *refused):
        assert accepts(lark, each) is ours.accepts(each) is (each in accepted), each


@pytest.mark.parametrize(("text", "accepted", "refused"), CASES)
def test_masks_lead_to_accepted_texts_only(
    text: str, accepted: list[str], refused: list[str]
) -> None:
    constraint = compile_constraint(Grammar.from_lark(text), all_bytes())
    for each in (*accepted, *refused):
        state, is_read = constraint.initial, True
        for byte in each.encode():
            is_read = is_read and byte in constraint.mask(state)
            state = constraint.advance(state, byte) if is_read else state
        assert (is_read and constraint.is_final(state)) is (each in accepted), each


#: Ignored terminals: some end before they have to, some may be continued by a terminal.
IGNORED = [
    "/ +/", '" "', r"/[ \n]+/", r"/#[^\n]*/", r"/#.*?\n/", r"/#[^\n]*\n?/", "/#.*?#/", "/(#.*)+/",
    "/b+/", "/b#*/", r"/[ ]*#[^\n]*/", "/##?/", r"/#(\*(?!#)|[^*])*\*#/",
]  # fmt: skip
LEAVES = ("a", "b", "c", "[ab]", ".", r"[^a\n]", r"\w", "#", r"\n", " ")
STRINGS = ['"a"', '"b"', '"ab"', '"c"', '"a"i', r'"\n"', '" "', '"#"']


def drawn_grammar(random: Random) -> str:
    pick = random.choice
    names = ["A", "B", "C"][: random.choice([1, 2, 3])]
    items = [*names, '"a"', '"c"', f"/{drawn_regex(random, 1, LEAVES)}/", r'"\n"', "x"]

    def terminal(depth: int) -> str:
        kind = random.random()
        if depth == 0 or kind < 0.35:
            return pick(STRINGS) if kind < 0.2 else f"/{drawn_regex(random, 2, LEAVES)}/"
        if kind < 0.6:
            return f"({' | '.join(terminal(depth - 1) for _ in range(pick([2, 2, 3])))})"
        if kind < 0.85:
            return f"{terminal(depth - 1)} {terminal(depth - 1)}"
        return f"({terminal(depth - 1)}){pick(['*', '+', '?', '~1..2'])}"

    def body(depth: int) -> str:
        kind = random.random()
        if depth == 0 or kind < 0.5:
            return pick(items)
        if kind < 0.65:
            return f"({body(depth - 1)} | {body(depth - 1)})"
        if kind < 0.9:
            return f"{body(depth - 1)} {body(depth - 1)}"
        return f"({body(depth - 1)}){pick(['*', '+', '?'])}"

    lines = [f"start: {body(2)} {body(1)}", f'x: {body(1)} | "c"']
    for index, name in enumerate(names):
        calls = index + 1 < len(names) and random.random() < 0.2
        lines.append(f"{name}: {terminal(2)} {names[index + 1] if calls else ''}")
    lines += [f"%ignore {each}" for each in random.sample(IGNORED, pick([0, 1, 1, 2, 2]))]
    if random.random() < 0.3:
        lines += [f"I: {terminal(2)}", "%ignore I"]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(60))
def test_random_grammars_accept_what_lark_accepts(seed: int) -> None:
    random = Random(seed)
    while True:
        text = drawn_grammar(random)
        try:
            with warnings.catch_warnings(action="ignore"):
                lark = Lark(text, lexer="dynamic_complete")
        except (GrammarError, LarkError):  # lark knows no such terminal, for example an empty one
            continue
        break
    ours = read(text)
    letters = "abc# \n"
    texts = ["".join(each) for size in range(4) for each in product(letters, repeat=size)]
    texts = random.sample(texts, 60)
    texts += ["".join(random.choices(letters, k=random.randint(3, 9))) for _ in range(60)]
    for each in texts:
        try:
            wanted = accepts(lark, each)
        except (AttributeError, TypeError, AssertionError, RuntimeError, IndexError):
            continue  # a fault of lark, which has to be reported there
        assert (ours is not None and ours.accepts(each)) is wanted, (text, each)


#: Programs, and whether Python's tokenizer reads them.
PYTHON = {
    "x = 1 # c\n": True, "x = # c 1\n": False, "f(1 # c , 2)\n": False, "f(1 # c\n , 2)\n": True,
    'x = "a" b"\n': False, "x = 'a'b'\n": False, 'x = """a"""b"""\n': False, 'x = ""\n': True,
    'x = "a\\"b"\n': True, "# c\nx = 1\n": True, "def f():\n    # c\n    return 1\n": True,
}  # fmt: skip


def test_larks_python_has_the_strings_and_comments_of_python() -> None:
    text = files("lark").joinpath("grammars", "python.lark").read_text(encoding="utf-8")
    grammar = Grammar.from_lark(text, start="file_input")
    assert {program: grammar.accepts(program) for program in PYTHON} == PYTHON


#   import, accepted, refused
IMPORTS = [
    ("python (STRING, HEX_NUMBER)\nstart: (STRING | HEX_NUMBER)+", "'a'0xff", "'a"),
    ('unicode.WS_INLINE\nstart: "a" WS_INLINE "b"', "a\xa0b", "ab"),
    ("common.SIGNED_NUMBER -> NUMBER\nstart: NUMBER", "-1.5", "--1"),
]


@pytest.mark.parametrize(("statement", "accepted", "refused"), IMPORTS)
def test_terminals_of_larks_modules_are_imported(
    statement: str, accepted: str, refused: str
) -> None:
    grammar = Grammar.from_lark(f"%import {statement}")
    assert (grammar.accepts(accepted), grammar.accepts(refused)) == (True, False)


def test_an_ignored_terminal_that_is_too_large_is_refused_by_name() -> None:
    many = "|".join(f"a{{1,{size}}}b?" for size in range(2, 40))
    with pytest.raises(ParseError, match="too large to tell where its match ends"):
        Grammar.from_lark(f'start: "a" "b"\n%ignore /({many})*c?/')


def read(text: str) -> Grammar | None:
    """The grammar; None if it has no text."""
    try:
        return Grammar.from_lark(text)
    except BuildError as error:
        if error.kind not in ("unproductive", "empty_grammar"):
            raise
        return None
