"""Grammars with _INDENT and _DEDENT: the texts that lark accepts with its Indenter."""

from __future__ import annotations

import ast
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lark import Lark
from lark.exceptions import LarkError
from lark.indenter import Indenter, PythonIndenter

import workbench as wb
from workbench.analysis.advice import tree_advice
from workbench.analysis.outline import outline
from workbench.base.errors import BuildError, SourceError
from workbench.base.limits import Limits
from workbench.grammar.grammar import Grammar

#: The column limit of these tests; no text below has a wider line that is accepted.
LIMITS = Limits(columns=12, seconds=30.0)

PYTHONIC = r"""
start: (_NEWLINE | stmt)*
stmt: simple _NEWLINE | "i" ":" suite ["e" ":" suite]
simple: "x" | "(" [simple ("," simple)*] ")"
suite: simple _NEWLINE | _NEWLINE _INDENT stmt+ _DEDENT
_NEWLINE: /(\r?\n[\t ]*)+/
%ignore /[\t \f]+/
%ignore /\\[\t \f]*\r?\n/
%declare _INDENT _DEDENT
"""
#: In the style of the tree in lark's documentation.
TREES = r"""
start: _NL* tree+
tree: ("x" | "i" | "e" | "(") _NL [_INDENT tree+ _DEDENT]
%ignore /[\t ]+/
_NL: /(\r?\n[\t ]*)+/
%declare _INDENT _DEDENT
//%indenter {"NL_type": "_NL", "OPEN_PAREN_types": [], "CLOSE_PAREN_types": [], "tab_len": 2}
"""
#: The newline is in another rule than the block, blank lines are statements, and the last line
#: of a block needs no newline.
SEPARATED = r"""
start: stmt (_NEWLINE stmt)* _NEWLINE?
stmt: "x" | head block? | ":"
head: "i" _NEWLINE
block: _INDENT stmt (_NEWLINE stmt)* _NEWLINE? _DEDENT
_NEWLINE: /\r?\n[\t ]*/
%ignore / +/
%declare _INDENT _DEDENT
"""


def indenter(**attributes: Any) -> Indenter:  # as in lark
    kind: type[Indenter] = type("Ours", (PythonIndenter,), attributes)
    return kind()


#: Rules with a newline between brackets, where it is dropped; the start symbol calls itself.
MIXED = r"""
start: "x" | "(" start ")" | "e" line | "i" "(" line? ")"
line: ["i" ":"] _NEWLINE [_INDENT start _DEDENT] | "x" [_NEWLINE "e"]
_NEWLINE: /(\r?\n[\t ]*)+/
%ignore / +/
%declare _INDENT _DEDENT
"""

#: Terminals that look at the text around them.
LOOKING = r"""
start: (_NEWLINE | stmt)*
stmt: simple _NEWLINE | IF ":" suite [ELSE ":" suite]
simple: NAME | "(" [simple ("," simple)*] ")"
suite: simple _NEWLINE | _NEWLINE _INDENT stmt+ _DEDENT
IF: /i\b(?!\()/
ELSE: /e(?=:)/
NAME: /(?!i\b|e:)[xie]+\b/
_NEWLINE: /(\r?\n[\t ]*)+/
%ignore /[\t \f]+/
%ignore /\\[\t \f]*\r?\n/
%declare _INDENT _DEDENT
"""

GRAMMARS = {
    "looking": (LOOKING, indenter(OPEN_PAREN_types=["LPAR"], CLOSE_PAREN_types=["RPAR"])),
    "python": (PYTHONIC, indenter(OPEN_PAREN_types=["LPAR"], CLOSE_PAREN_types=["RPAR"])),
    "trees": (
        TREES,
        indenter(NL_type="_NL", OPEN_PAREN_types=[], CLOSE_PAREN_types=[], tab_len=2),
    ),
    "separated": (SEPARATED, indenter(OPEN_PAREN_types=[], CLOSE_PAREN_types=[])),
    "mixed": (MIXED, indenter(OPEN_PAREN_types=["LPAR"], CLOSE_PAREN_types=["RPAR"])),
}
PIECES = [
    "x",
    "e",
    "i(",
    "i:",
    "i",
    "e:",
    "\n",
    "\n ",
    "\n  ",
    "\n   ",
    " ",
    "(",
    ")",
    ",",
    "\\\n",
    "\n\t",
]


def random_text(random: Random) -> str:
    """A text of random pieces, or of nested blocks with a change or two."""
    if random.random() < 0.5:
        return "".join(random.choices(PIECES, k=random.randrange(1, 9)))
    text = "".join(block(random, 0, 0))
    for _ in range(random.choice([0, 0, 1, 2])):
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice(["", *PIECES]) + text[at + random.choice([0, 1]) :]
    return text


def block(random: Random, depth: int, column: int) -> list[str]:
    lines: list[str] = []
    blank = " " * column
    for _ in range(random.choice([1, 1, 2, 3])):
        if random.random() < 0.1:
            lines.append(" " * random.randrange(6) + "\n")
        if random.random() < 0.5 or depth > 2:
            lines.append(blank + random.choice(["x", "i", "(x)", "(\n x,x)", "( x\n\n)"]) + "\n")
            continue
        for head in ["i:", "e:"][: random.choice([1, 2])]:
            lines += [blank, head, "\n", *block(random, depth + 1, column + random.randrange(1, 4))]
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAMMARS)
def test_lark_accepts_the_same_texts(name: str) -> None:
    text, postlex = GRAMMARS[name]
    theirs = Lark(text, parser="lalr", postlex=postlex)
    ours = Grammar.from_lark(text, limits=LIMITS)
    random, accepted = Random(name), 0
    for _ in range(3_000):
        one = random_text(random)
        if not one.rpartition("\n")[2].strip() and one[-1:] in (" ", "\t"):
            continue  # blanks after the last newline: see the module
        expected = accepts(theirs, one)
        accepted += expected
        assert ours.accepts(one) is expected, one
    assert accepted >= 20


def accepts(lark: Lark, text: str) -> bool:
    try:
        lark.parse(text)
    except (LarkError, AssertionError):  # the assertion is about brackets
        return False
    return True


#   text                                  accepted   because
CASES = [
    ("i:\n x\n x\n",                       True,      "a block"),
    ("i:\n x\n  x\n",                      False,     "a line is indented inside a block"),
    ("i:\n  x\n x\n",                      False,     "a column of no open block"),
    ("i:\n  i:\n    x\nx\n",               True,      "two blocks end at once"),
    ("i:\n  i:\n    x\n  e: x\nx\n",       True,      "a rule goes on after a block"),
    ("i:\nx\n",                            False,     "no block where one is needed"),
    ("i:\n\n   \n  x\n\n\n  x\n",          True,      "blank lines at any column"),
    ("(\n   x,\nx)\n",                     True,      "lines between brackets"),
    ("i:\n  (\nx\n)\nx\n",                 True,      "brackets in a block"),
    ("i:\n\tx\n        x\n",               True,      "a tab is eight columns"),
    ("i:\n \tx\n\t x\n",                   True,      "wherever it is"),
    ("x \\\n  \n",                         True,      "a line that goes on"),
    ("  x\n",                              True,      "the first line at any column"),
    ("x",                                  False,     "no newline at the end"),
    ("i:\n x\n ",                          False,     "blanks after the last newline"),
    ("i:\n" + 12 * " " + "x\n",            True,      "the widest column"),
    ("i:\n" + 13 * " " + "x\n",            False,     "one column more"),
]  # fmt: skip


@pytest.fixture(scope="module")
def pythonic() -> Grammar:
    return Grammar.from_lark(PYTHONIC, limits=LIMITS)


@pytest.mark.parametrize(
    ("text", "accepted"), [row[:2] for row in CASES], ids=[row[2] for row in CASES]
)
def test_indentation_is_accepted_as_lark_accepts_it(
    pythonic: Grammar, text: str, accepted: bool
) -> None:
    assert pythonic.accepts(text) is accepted


def test_lookbehind_sees_the_newline_token() -> None:
    grammar = Grammar.from_lark(LOOKING.replace("e(?=:)", r"(?<=[\n ])e(?=:)"), limits=LIMITS)
    for text, accepted in {
        "i:\n x\ne:\n x\n": True,
        "i:\n i:\n  x\n e:\n  x\n": True,
        "i:\n x\n\te:\n x\n": False,  # a deeper column
        "i:\n\tx\n\\\ne:\n x\n": True,  # a continued line
        "i: x\ne: e\n": True,
        "i: x\ne: e:\n": False,
    }.items():
        assert grammar.accepts(text) is accepted, text


def test_note_names_the_widest_column() -> None:
    text = "// not this %declare _INDENT\n" + PYTHONIC
    (note,) = tree_advice(Grammar.from_lark(text, limits=LIMITS))
    assert note.message == "lines are indented by at most 12 columns here"
    assert note.span.start == text.rindex("_INDENT")
    assert text[note.span.start : note.span.end] == "_INDENT"


def test_columns_are_a_limit() -> None:
    text = "i:\n" + 3 * " " + "x\n"
    for columns in (2, 3):
        grammar = Grammar.from_lark(PYTHONIC, limits=Limits(columns=columns, seconds=30.0))
        assert grammar.accepts(text) is (columns == 3)


def test_a_tab_may_be_wider_than_the_limit() -> None:
    text = PYTHONIC + f'//%indenter {{"tab_len": {10**20}}}'
    grammar = Grammar.from_lark(text, limits=LIMITS)
    assert grammar.accepts("i:\n x\n")
    assert not grammar.accepts("i:\n\tx\n")


def test_mask_at_the_beginning_of_a_line(pythonic: Grammar) -> None:
    words = [b"x", b"i:", b"e:", b"\n", b"\n ", b" ", b"  ", b"(", b")", b"<end>"]
    constraint = wb.compile(pythonic, wb.Vocabulary(tuple(words), end=9))
    state = constraint.initial
    for word in (b"i:", b"\n ", b"x", b"\n"):
        state = constraint.advance(state, words.index(word))
    allowed = [words[token] for token in constraint.mask(state).ids]
    # at column 0 the block has ended; two blanks are too many unless the line stays blank
    assert allowed == [b"x", b"i:", b"e:", b"\n", b"\n ", b" ", b"  ", b"(", b"<end>"]
    state = constraint.advance(state, words.index(b" "))
    assert b"e:" not in [words[token] for token in constraint.mask(state).ids]


#: A prefix of an accepted text over ``WORDS`` is completed by one of these.
COMPLETIONS = [
    " " * blanks + rest
    for rest in (
        "",
        "\n",
        "x\n",
        "\nx\n",
        ":x\n",
        ": x",
        "x",
        ":\n       x\n",
        "\n       x\n",
        "\ne:x\n",
    )
    for blanks in range(7)
]
WORDS = ["x", "i", ":", "e:", "\n", " ", "  ", "i:", ":\n", "x\n", "\n ", ":\n  ", " i", "\n\n"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["python", "trees", "separated"])
def test_masks_by_completing_the_text(name: str) -> None:
    """A token is allowed if and only if lark accepts the text after it with some completion."""
    text, postlex = GRAMMARS[name]
    theirs = Lark(text, parser="lalr", postlex=postlex)
    tokens = [*(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS)]
    constraint = wb.compile(Grammar.from_lark(text, limits=LIMITS), wb.Vocabulary(tokens))
    random, known = Random(name), dict[str, bool]()

    def is_prefix(read: str) -> bool:
        if read not in known:
            known[read] = any(accepts(theirs, read + rest) for rest in COMPLETIONS)
        return known[read]

    for _ in range(12):
        read, state = "", constraint.initial
        for _ in range(8):
            mask = constraint.mask(state)
            allowed = [256 + k for k in range(len(WORDS)) if 256 + k in mask]
            expected = [256 + k for k, word in enumerate(WORDS) if is_prefix(read + word)]
            assert allowed == expected, read
            token = random.choice(allowed)
            read, state = read + WORDS[token - 256], constraint.advance(state, token)
            if not read.endswith(" ") or read.rpartition("\n")[2].strip():  # see the module
                assert constraint.is_final(state) is accepts(theirs, read), read
    assert sum(known.values()) > 50
    assert not all(known.values())


#   grammar                                                     under the carets   message
ERRORS = [
    (PYTHONIC.replace('")"', '"x"'),                             '"("',             "with its counterpart"),
    (PYTHONIC.replace("_DEDENT\n_NEW", "\n_NEW"),                "_INDENT",         "with its counterpart"),
    (PYTHONIC + '//%indenter {"NL_type": 1}',                    '{"NL_type": 1}',  "no attribute 'NL_type' like this"),
    (PYTHONIC + '//%indenter {"tabs": 1}',                       '{"tabs": 1}',     "no attribute 'tabs' like this"),
    (PYTHONIC + "//%indenter []",                                "[]",              "an object of attributes"),
    (PYTHONIC + '//%indenter {"NL_type": "_NL"}',                '{"NL_type": "_NL"}', "needs the terminal '_NL'"),
    (PYTHONIC.replace(")+/", ")+(?=x)/"),                         r"/(\r?\n[\t ]*)+(?=x)/", "in newlines or ignored text"),
    (PYTHONIC + '%extend simple: B\nB: "\\n\\nb"',                "_NEWLINE",        "continue '_NEWLINE'"),
    (PYTHONIC.replace("%declare _INDENT _DEDENT", "%declare _INDENT _DEDENT A\n%extend simple: A"), "A", "has no texts"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message"), ERRORS)
def test_error_in_an_indenter(text: str, place: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_lark(text, limits=LIMITS)
    error = caught.value
    assert message in error.message
    assert text[error.span.start : error.span.end] == place


DATA = Path(__file__).parents[1] / "data"

SNIPPETS = [
    "x = 1\n",
    "if x:\n    pass\nelif y: z\nelse:\n  w\n",
    "if x:\npass\n",
    "if x:\n    y\n  z\n",
    "if x:\n    y\n     z\n",
    "x\n  y\n",
    "def f(a, b: int = 2, *c, d=1, **e) -> int:\n    '''text'''\n    return a + b\n",
    "def f(:\n    pass\n",
    "def f():\n\treturn 1\n\n\nf()\n",
    "class A(B, metaclass=C):\n    x: int = 1\n\n    # comment\n    def f(self): return self.x\n",
    "class A:\n",
    "for i, j in range(10):\n    if i: continue\n    break\nelse:\n    print(i)\n",
    "while True:\n    try:\n        x()\n    except (A, B) as e:\n        raise\n    finally:\n        y\n",
    "try:\n    x\n",
    "try:\n    x\ny\n",
    "with a as b, c:\n    d[1:2, ::3] += [\n1,\n  2]\n",
    "x = (\n  1 +\n2\n)\n",
    "x = (1\n",
    "x = 1)\n",
    "@a.b(c)\n@d\ndef f(): pass\n",
    "@a\nx\n",
    "x = [i for i in y if i]\nz = {a: b for a, b in c}\nw = {*a, 1}\n",
    "x = y if z else w\nf = lambda a, b: a\n",
    "x = y if z\n",
    "from . import a\nfrom ..b.c import (d as e,\n  f,)\nimport g.h as i\n",
    "a = b = c, d\na, *b = c\ndel a[0], b.c\nassert a, 'b'\nglobal e\n",
    "x = 'a' \"b\" r'\\n' f\"{x}\"\ny = not a is not b and c not in d\n",
    "x = 'a\n",
    "x \\\n  = 1\n",
    "if a:\n\n\n    # b\n  # c\n    x = {\n# d\n}\n# e\n    y\n",
    "x = 1 # a\n    # b\ny\n",
    "if = 1\n",
    "x = class\n",
    "x y\n",
    "async def f():\n    await x\n    async with a as b:\n        yield b\n",
]  # fmt: skip


@pytest.fixture(scope="module")
def python() -> Grammar:
    text = (DATA / "python_subset.lark").read_text()
    return Grammar.from_lark(text, limits=Limits(seconds=30.0))


@pytest.mark.slow
@pytest.mark.parametrize("text", SNIPPETS)
def test_python_accepts_the_same_snippets(python: Grammar, text: str) -> None:
    assert python.accepts(text) is parses(text)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.slow
def test_python_files_are_accepted(python: Grammar) -> None:
    modules = sorted(Path(wb.__file__).parent.glob("base/*.py"))
    texts = [one.read_text() for one in modules if one.name != "diagnostics.py"]  # it has a match
    assert len(texts) > 5
    assert [text for text in texts if not python.accepts(text)] == []


@pytest.fixture(scope="module")
def larks_python() -> str:
    """The grammar ``python.lark`` of the installed lark."""
    return files("lark").joinpath("grammars", "python.lark").read_text("utf-8")


#: Texts that neither lark nor its grammar here accepts; the last ones because of lookarounds.
NOT_PYTHON = [
    "if x:\npass\n",
    "if x:\n    y\n  z\n",
    "x = (1\n",
    "x = y if z\n",
    "x y\n",
    'x = """a"\n',
    "x = '''a\n",
    'x = "a\\"\n',
    'x = """"\n',
    "x = 01\n",
]


@pytest.mark.slow
def test_larks_python_accepts_the_same_texts(larks_python: str) -> None:
    theirs = Lark(larks_python, parser="lalr", start="file_input", postlex=PythonIndenter())
    ours = Grammar.from_lark(larks_python, "file_input")
    sources = [one.read_text() for one in Path(wb.__file__).parent.glob("base/*.py")]
    for text in [*SNIPPETS, *sources]:
        if accepts(theirs, text):
            assert ours.accepts(text), text
    # our language is larger: it has keywords as names, and comments that end before their line
    for text in NOT_PYTHON:
        assert not accepts(theirs, text)
        assert not ours.accepts(text)


@pytest.mark.slow
def test_first_tokens_of_larks_python(larks_python: str) -> None:
    grammar = Grammar.from_lark(larks_python, "file_input", limits=Limits(seconds=60.0))
    words = [b"def", b" f", b"(", b")", b":", b"\n", b"\n    ", b"return", b" x", b"]", b"<end>"]
    vocabulary = wb.Vocabulary(tuple(words), end=len(words) - 1)
    constraint = wb.compile(grammar, vocabulary, limits=Limits(seconds=60.0))
    state = constraint.initial
    allowed = []
    for word in (b"def", b" f", b"(", b")", b":", b"\n    ", b"return", b" x", b"\n"):
        allowed.append([words[token] for token in constraint.mask(state).ids])
        state = constraint.advance(state, words.index(word))
    assert b"]" not in allowed[0]
    assert allowed[4] == [b":"]
    assert b"\n" in allowed[5]
    assert b"<end>" not in allowed[-1]
    assert b"<end>" in [words[token] for token in constraint.mask(state).ids]


def test_outline_has_the_rules_of_the_text(pythonic: Grammar) -> None:
    assert pythonic.tree is not None
    names = [rule.name for rule in outline(pythonic.tree)]
    rules = ["start", "stmt", "simple", "suite", "_NEWLINE"]
    assert names == [*rules, "ignored", "_INDENT", "_DEDENT"]


def test_error_when_the_start_symbol_is_not_defined() -> None:
    with pytest.raises(BuildError, match="start symbol 'begin' has no rule"):
        Grammar.from_lark(PYTHONIC, "begin", limits=LIMITS)
