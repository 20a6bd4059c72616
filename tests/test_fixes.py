"""A fix of a problem, applied to the text, removes the problem, in every notation."""

from __future__ import annotations

import pytest

from workbench import Grammar, WorkbenchError
from workbench.analysis.advice import tree_advice
from workbench.base.diagnostics import Problem, nearest, suggestion
from workbench.base.errors import SourceError

#: Notation, a text with one mistake, and the text after its fix.
ERRORS = [
    # -- regex
    ("regex", "a{5,2}", "a{2,5}"),
    ("regex", "ab)", r"ab\)"),
    ("regex", "(ab", "(ab)"),
    ("regex", "[ab", "[ab]"),
    ("regex", "*a", r"\*a"),
    ("regex", "a|+", r"a|\+"),
    ("regex", r"\j", "j"),
    ("regex", r"\p{Gre}", r"\p{Grek}"),
    ("regex", r"\p{Alphabetik}", r"\p{Alphabetic}"),
    ("regex", "(?P<word[a-z])", "(?P<word>[a-z])"),
    ("regex", "(?'word'[a-z])", "(?P<word>[a-z])"),
    ("regex", "(?|a|b)", "(?:a|b)"),
    ("regex", "[[:alpha:]_]", "[a-zA-Z_]"),
    ("regex", "[[:xdigit:]]+", "[0-9A-Fa-f]+"),
    ("regex", "[z-a]", "[a-z]"),
    ("regex", r"[\x7a-\x61]", r"[\x61-\x7a]"),
    ("regex", r"[a-\d]", r"[a\-\d]"),
    ("regex", "a(?i)b", "(?i)ab"),
    ("regex", "a+{2}", "(?:a+){2}"),
    ("regex", "^*a", "^a"),
    ("regex", "(?P<QUOTED_TEXT>a)", "(?P<QUOTED_TEXT>)"),
    # -- structural tags
    (
        "structural_tag",
        '{"type": "any_text"}',
        '{"type": "structural_tag", "format": {"type": "any_text"}}',
    ),
    (
        "structural_tag",
        '{"type": "structural_tag", "format": {"type": "anytext"}}',
        '{"type": "structural_tag", "format": {"type": "any_text"}}',
    ),
    (
        "structural_tag",
        '{"type": "structural_tag", "format": {"type": "const_string", "valu": "a"}}',
        '{"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}',
    ),
    (
        "structural_tag",
        '{"type": "structural_tag", "format": {"type": "regex", "pattern": "a\\\\d)"}}',
        '{"type": "structural_tag", "format": {"type": "regex", "pattern": "a\\\\d\\\\)"}}',
    ),
    # -- KBNF
    ("kbnf", "start ::= nmae; name ::= 'a';", "start ::= name; name ::= 'a';"),
    ("kbnf", "start ::= Name; name ::= 'a';", "start ::= name; name ::= 'a';"),
    ("kbnf", "start ::= 'a'", "start ::= 'a';"),
    ("kbnf", "start ::= b\nb ::= 'a';", "start ::= b;\nb ::= 'a';"),
    ("kbnf", "start ::= ('a';", "start ::= ('a');"),
    ("kbnf", "start ::= ('a';\nb ::= 'a';", "start ::= ('a');\nb ::= 'a';"),
    ("kbnf", "start ::= ('a'];", "start ::= ('a');"),
    ("kbnf", "start ::= 'a;", "start ::= 'a';"),
    ("kbnf", "start ::= #'a;", "start ::= #'a';"),
    ("kbnf", "start ::= 'a'; (* all", "start ::= 'a'; (* all *)"),
    ("kbnf", "start ::= # 'a';", "start ::= #'a';"),
    ("kbnf", "start ::= 'a'; // all", "start ::= 'a'; (* all *)"),
    ("kbnf", "start ::= 'a'; # all", "start ::= 'a'; (* all *)"),
    ("kbnf", "start ::= <b>; b ::= 'a';", "start ::= b; b ::= 'a';"),
    ("kbnf", "start := 'a';", "start ::= 'a';"),
    ("kbnf", "start : 'a';", "start ::= 'a';"),
    ("kbnf", "start -> 'a';", "start ::= 'a';"),
    ("kbnf", "start ::= ‘a’;", "start ::= 'a';"),
    ("kbnf", "start ::= “a”;", 'start ::= "a";'),
    ("kbnf", "start ::= /[a-z]+/;", "start ::= #'[a-z]+';"),
    ("kbnf", "start ::= [a-z];", "start ::= #'[a-z]';"),
    ("kbnf", "two-words ::= 'a'; start ::= two_words;", "two_words ::= 'a'; start ::= two_words;"),
    ("kbnf", "start ::= .;", "start ::= #'.';"),
    ("kbnf", "start ::=\u00a0'a';", "start ::= 'a';"),
    ("kbnf", "start ::= exept!('b');", "start ::= except!('b');"),
    ("kbnf", "start ::= 'a' | ;", "start ::= 'a' | '' ;"),
    ("kbnf", "start ::= ;", "start ::= '' ;"),
    ("kbnf", "start ::= | 'a';", "start ::= '' | 'a';"),
    ("kbnf", "start ::= 'a';;", "start ::= 'a';"),
    ("kbnf", r"start ::= #'\d+\.\d';", r"start ::= #'\\d+\\.\\d';"),
    ("kbnf", r"start ::= 'a\.b';", r"start ::= 'a\\.b';"),
    ("kbnf", "start ::= #'a{5,2}';", "start ::= #'a{2,5}';"),
    ("kbnf", "start ::= #'a)';", r"start ::= #'a\\)';"),
    ("kbnf", "start ::= #'(a';", "start ::= #'(a)';"),
    ("kbnf", "start ::= #'[z-a]';", "start ::= #'[a-z]';"),
    ("kbnf", "(* all *)\nb ::= 'a';", "(* all *)\nstart ::= b;\nb ::= 'a';"),
    ("kbnf", "b ::= c; c ::= 'a' b?;", "start ::= b;\nb ::= c; c ::= 'a' b?;"),
    # -- GBNF
    ("gbnf", 'b ::= "a"', 'root ::= b\nb ::= "a"'),
    ("gbnf", 'root ::= nmae\nname ::= "a"', 'root ::= name\nname ::= "a"'),
    ("gbnf", "root ::= 'a'", 'root ::= "a"'),
    ("gbnf", 'root ::= "a";', 'root ::= "a"'),
    ("gbnf", 'root := "a"', 'root ::= "a"'),
    ("gbnf", 'root ::= "a" // all', 'root ::= "a" # all'),
    ("gbnf", "root ::= /[a-z]+/", "root ::= [a-z]+"),
    ("gbnf", "root ::= “a”", 'root ::= "a"'),
    ("gbnf", 'root ::= "a', 'root ::= "a"'),
    ("gbnf", 'root ::= ("a"\nb ::= "b"', 'root ::= ("a")\nb ::= "b"'),
    ("gbnf", "root ::= [z-a]", "root ::= [a-z]"),
    ("gbnf", 'root ::= "a"{5,2}', 'root ::= "a"{2,5}'),
    ("gbnf", 'root ::= Regx("[a-z]+")', 'root ::= Regex("[a-z]+")'),
    ("gbnf", 'root ::= Regex("a", falgs="i")', 'root ::= Regex("a", flags="i")'),
    ("gbnf", 'root ::= Regex("a{5,2}")', 'root ::= Regex("a{2,5}")'),
    # -- Lark
    ("lark", '?b: b "x" | "a"', 'start: b\n?b: b "x" | "a"'),
    ("lark", '%ignore " "\nb: "a"', '%ignore " "\nstart: b\nb: "a"'),
    ("lark", 'start: nmae\nname: "a"', 'start: name\nname: "a"'),
    ("lark", 'start ::= "a"', 'start : "a"'),
    ("lark", "start: INT", "start: INT\n%import common.INT\n"),
    ("lark", "start: INT\n", "start: INT\n%import common.INT\n"),
    ("lark", "start: INT\n%import common.INTT -> INT", "start: INT\n%import common.INT -> INT"),
    ("lark", "start: INT\n%import comon.INT", "start: INT\n%import common.INT"),
    ("lark", "start: INT\n%imprt common.INT", "start: INT\n%import common.INT"),
    ("lark", 'start: "a"\n%ingore " "', 'start: "a"\n%ignore " "'),
    ("lark", "start: 'a'", 'start: "a"'),
    ("lark", 'start: "a";', 'start: "a"'),
    ("lark", 'start: "a" /* all */', 'start: "a" // all'),
    ("lark", 'start: "z".."a"', 'start: "a".."z"'),
    ("lark", 'start: ("a"\nb: "b"', 'start: ("a")\nb: "b"'),
    ("lark", 'start: "a', 'start: "a"'),
    ("lark", "start: /a{5,2}/", "start: /a{2,5}/"),
    ("lark", "start: /a)/", r"start: /a\)/"),
    ("lark", "start: /a/il", "start: /a/i"),
    ("lark", "start: B\nB[lasy]: /a+b/", "start: B\nB[lazy]: /a+b/"),
    # -- JSON Schema
    ("json_schema", '{"type": "strng"}', '{"type": "string"}'),
    ("json_schema", '{"type": "int"}', '{"type": "integer"}'),
    ("json_schema", '{"type": ["String", "null"]}', '{"type": ["string", "null"]}'),
    ("json_schema", '{"type": "dict"}', '{"type": "object"}'),
    ("json_schema", '{"type": "array",}', '{"type": "array"}'),
    ("json_schema", '{"enum": [1, 2,]}', '{"enum": [1, 2]}'),
    ("json_schema", '{"minimum": 1 "maximum": 2}', '{"minimum": 1, "maximum": 2}'),
    ("json_schema", '{"const": True}', '{"const": true}'),
    ("json_schema", '{"const": None}', '{"const": null}'),
    ("json_schema", "{\"const\": 'a'}", '{"const": "a"}'),
    ("json_schema", '{type: "string"}', '{"type": "string"}'),
    ("json_schema", '{"type": "string" // a text\n}', '{"type": "string" \n}'),
    ("json_schema", '{"pattern": "a{5,2}"}', '{"pattern": "a{2,5}"}'),
    ("json_schema", '{"pattern": "^(a"}', '{"pattern": "^(a)"}'),
    (
        "json_schema",
        '{"$ref": "#/$defs/perosn", "$defs": {"person": {"type": "string"}}}',
        '{"$ref": "#/$defs/person", "$defs": {"person": {"type": "string"}}}',
    ),
    # -- dataclass
    ("dataclass", "@dataclass\nclass A:\n    x: strr", "@dataclass\nclass A:\n    x: str"),
    ("dataclass", "@dataclass\nclass A:\n    x: string", "@dataclass\nclass A:\n    x: str"),
    ("dataclass", "@dataclass\nclass A:\n    x: Int", "@dataclass\nclass A:\n    x: int"),
    (
        "dataclass",
        "@dataclass\nclass A:\n    x: Litteral['a']",
        "@dataclass\nclass A:\n    x: Literal['a']",
    ),
    (
        "dataclass",
        "import typing\n@dataclass\nclass A:\n    x: typing.Litteral['a']",
        "import typing\n@dataclass\nclass A:\n    x: typing.Literal['a']",
    ),
    (
        "dataclass",
        "from typing import Litteral\n@dataclass\nclass A:\n    x: int",
        "from typing import Literal\n@dataclass\nclass A:\n    x: int",
    ),
    (
        "dataclass",
        "from typng import Literal\n@dataclass\nclass A:\n    x: int",
        "from typing import Literal\n@dataclass\nclass A:\n    x: int",
    ),
    ("dataclass", "@dataclas\nclass A:\n    x: int", "@dataclass\nclass A:\n    x: int"),
    ("dataclass", "class A:\n    x: int", "@dataclass\nclass A:\n    x: int"),
    ("dataclass", "class A(BaseModel):\n    x: int", "@dataclass\nclass A:\n    x: int"),
    (
        "dataclass",
        "from pydantic import BaseModel, Field\n@dataclass\nclass A:\n    x: int",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int",
    ),
    ("dataclass", "@dataclass\nclass A:\n    x: list", "@dataclass\nclass A:\n    x: list[str]"),
    ("dataclass", "@dataclass\nclass A:\n    x: datetime", "@dataclass\nclass A:\n    x: str"),
    (
        "dataclass",
        "@dataclass\nclass A:\n    x: Mapping[str, int]",
        "@dataclass\nclass A:\n    x: dict[str, int]",
    ),
    (
        "dataclass",
        '@dataclass\nclass Node:\n    x: "Nod | None"',
        '@dataclass\nclass Node:\n    x: "Node | None"',
    ),
    (
        "dataclass",
        "class C(Enumm):\n    R = 1\n@dataclass\nclass A:\n    x: C",
        "class C(Enum):\n    R = 1\n@dataclass\nclass A:\n    x: C",
    ),
    (
        "dataclass",
        "class C(Enum):\n    RED = 1\n@dataclass\nclass A:\n    x: Literal[C.RDE]",
        "class C(Enum):\n    RED = 1\n@dataclass\nclass A:\n    x: Literal[C.RED]",
    ),
]

#: The same for advice on a text that can be read.
ADVICE = [
    (
        "json_schema",
        '{"patternPropertis": {"a": {"type": "string"}}}',
        '{"patternProperties": {"a": {"type": "string"}}}',
    ),
    ("json_schema", '{"requierd": ["a"]}', '{"required": ["a"]}'),
    ("json_schema", '{"format": "datetime"}', '{"format": "date-time"}'),
    ("json_schema", '{"format": "url"}', '{"format": "uri"}'),
    (
        "json_schema",
        '{"properties": {"name": {}}, "required": ["nmae"]}',
        '{"properties": {"name": {}}, "required": ["name"]}',
    ),
    ("regex", "(?P<QUOTED_TXT>)", "(?P<QUOTED_TEXT>)"),
    ("regex", r"/a[0-9]\/b/", r"a[0-9]\/b"),
    ("regex", "/ab+c/gi", "(?i)ab+c"),
    ("kbnf", "start ::= #'(?P<UNQUOTED_TEX>)';", "start ::= #'(?P<UNQUOTED_TEXT>)';"),
]


def fixed(text: str, problem: Problem) -> str:
    """The text with the fix of a problem."""
    assert problem.fix is not None, f"no fix: {problem.message}; {problem.hint}"
    assert problem.fix_span is not None
    return text[: problem.fix_span.start] + problem.fix + text[problem.fix_span.end :]


def error_of(text: str, notation: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        Grammar.from_text(text, notation).check("")
    return caught.value


@pytest.mark.parametrize(("notation", "text", "wanted"), ERRORS)
def test_a_fix_of_an_error_makes_the_text_readable(notation: str, text: str, wanted: str) -> None:
    error = error_of(text, notation)
    assert fixed(text, Problem.of(error)) == wanted
    Grammar.from_text(wanted, notation).check("")


@pytest.mark.parametrize(("notation", "text", "wanted"), ADVICE)
def test_a_fix_of_advice_removes_it(notation: str, text: str, wanted: str) -> None:
    grammar = Grammar.from_text(text, notation)
    grammar.check("")
    (advice,) = (one for one in tree_advice(grammar) if one.hint.startswith("did you mean"))
    assert fixed(text, Problem.advised(advice, grammar.source)) == wanted
    mended = Grammar.from_text(wanted, notation)
    mended.check("")
    assert not [one for one in tree_advice(mended) if one.hint.startswith("did you mean")]


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("regex", "(?P=a)"),
        ("kbnf", "start ::= 'a'{2,3};"),
        ("gbnf", "root ::= x"),
        ("lark", "start: x"),
        ("json_schema", '{"type": 3}'),
        ("dataclass", "@dataclass\nclass A:\n    x: Quaternion"),
    ],
)
def test_an_error_that_only_the_author_can_decide_has_no_fix(notation: str, text: str) -> None:
    assert Problem.of(error_of(text, notation)).fix is None


@pytest.mark.parametrize(
    ("word", "known", "wanted"),
    [
        ("strng", ("string", "number"), "string"),
        ("STRING", ("string", "number"), "string"),
        ("xyz", ("string", "number"), None),
        ("", ("string",), None),
        ("a", (), None),
    ],
)
def test_the_nearest_name_is_suggested(
    word: str, known: tuple[str, ...], wanted: str | None
) -> None:
    assert nearest(word, known) == wanted
    hint, fix = suggestion(word, known, "write one of them")
    assert fix == wanted
    assert hint == ("write one of them" if wanted is None else f"did you mean {wanted!r}?")


def test_an_unknown_word_that_is_intended_gets_no_suggestion() -> None:
    grammar = Grammar.from_text('{"units": "m", "x-order": 1}', "json_schema")
    assert [one.fix for one in tree_advice(grammar)] == [None]


@pytest.mark.parametrize("path", ["/usr/bin", "/usr/bin/", "/a", "a/b", "/a/x", "//"])
def test_the_slashes_of_a_path_are_no_mistake(path: str) -> None:
    assert not tree_advice(Grammar.from_regex(path))


def test_errors_without_a_place_have_no_fix() -> None:
    assert Problem.of(WorkbenchError("too large")).fix is None
