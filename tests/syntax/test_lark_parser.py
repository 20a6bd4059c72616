"""parse_lark(): accepted texts of grammars, and errors with their spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import SourceError
from workbench.base.limits import LIMITS
from workbench.base.source import Source
from workbench.grammar.grammar import Grammar
from workbench.syntax.lark.lowering import parse_lark

#   grammar                                          accepted            rejected         because
LANGUAGES = [
    ('start: "a" | "b" -> other\n  | c\nc: "d"',     ["a", "b", "d"],    ["ab", "other"], "alternatives, aliases, lines"),
    ('?start: x\n!x.2: _y\n_y: "a"',                 ["a"],              ["x"],           "modifiers and priorities say nothing"),
    ('start: "a" ["b"] ("c" | "d")?',                ["a", "abd"],       ["b", "acd"],    "options in either brackets"),
    ('start: "a"~2 "b"~0..1 "c"{2,3}',               ["aacc", "aabccc"], ["acc", "aac"],  "counts in either notation"),
    ('start: "a".."c" "é".."ö"',                     ["bé", "cö"],       ["dé", "ba"],    "ranges"),
    ('start: "aB"i "É"i',                            ["Abé", "aBÉ"],     ["a"],           "strings in any case"),
    (r'start: "\n\t\"\\\x41\u00e9\U0001F600\/"',     ['\n\t"\\Aé😀/'],   ["n"],           "escapes"),
    (r'start: "\ud83d\ude00"',                       ["😀"],             [],              "halves of a character, together"),
    (r"start: /a.b\/\//",                           ["axb//"],          ["a\nb//"],      "a regex with slashes"),
    ("start: /a.b/s /c/i /d e/x",                    ["a\nbCde"],        ["axbcd e"],     "flags"),
    ("start: /a #1\n b/x",                           ["ab"],             ["a"],           "a regex of several lines"),
    ("start: /^a$/ /^b|c$/",                         ["ab", "ac"],       ["a"],           "anchors at the edges say nothing"),
    ("start: A\nA: B+ | C\nB: /x/\nC: \"y\"",        ["xx", "y"],        ["xy"],          "terminals of terminals"),
    ('start: a // "b"\na: "c" # "d"',                ["c"],              ["cb"],          "comments"),
    ('start: list{"x", ","}\nlist{i, s}: i (s i)*',  ["x", "x,x"],       ["x,"],          "a template"),
    ('start: t{"a"}\nt{x}: x | "(" t{x} ")"',        ["a", "((a))"],     ["(a"],          "a template that uses itself"),
    ('start: t{u{"a"}}\nt{x}: x x\nu{y}: y "b"',     ["abab"],           ["aab"],         "a template of a template"),
    ("start: T{A}\nT{x}: x /b/\nA: /a/",             ["ab"],             ["a"],           "a template that is a terminal"),
    ('start: a::2\na::_: "x" a::decr(_) %if not(is_zeros(_))\n | "." %if eq([0:2], 0)', ["xx."], ["x.", "xxx."], "a parameter"),
    ("%import common.INT -> N\nstart: N",            ["12"],             ["a"],           "an import under another name"),
    ('%import common.INT\nDIGIT: "x"\nstart: INT DIGIT', ["1x"],         ["x1"],          "a terminal that an import needs has a separate name"),
    ("%import common (WS, CNAME)\nstart: CNAME WS",  ["a_1 "],           ["1a "],         "several imports"),
    ("%import common.ESCAPED_STRING\nstart: ESCAPED_STRING", ['"a\\"b"'], ['"a"b"', '"\n"'], "a string ends at its first quote"),
    ("%import common.C_COMMENT\nstart: C_COMMENT",   ["/* a **/"],       ["/* */ */"],    "a comment ends at its first end"),
    ('%override A: "b"\n%import common.WS -> A\nstart: A', ["b"],        [" "],           "an import that is overridden"),
    ('A: "a"\n%extend A: "b"\nstart: A',             ["a", "b"],         ["ab"],          "a terminal that is extended"),
    ('%declare X\nstart: "a"',                       ["a"],              [],              "what is declared and not used"),
    ('%ignore " "\nstart: "a" B\nB: "b" "c"',        ["abc", " a  bc "], ["ab c"],        "ignored between terminals, not in them"),
    ('%ignore " "\nstart: start "a" | "b"',          [" b a", "ba "],    ["a"],           "ignored before a start that calls itself"),
    ('%llguidance {}\n%ignore " "\nstart: "a" "b"',  ["a b "],           [" ab"],         "under llguidance nothing is ignored before"),
    ('%llguidance {"allow_initial_skip": true}\n%ignore " "\nstart: "a"', [" a"], ["b"],  "unless it is message"),
    ('%llguidance {"skip_repetition": "once"}\n%ignore " "\nstart: "a" "b"', ["ab ", "a b"], ["a  b"], "once alone, if it is message"),
    ("start: A\nA: /[a-c]+/ & /[b-d]+/",             ["b", "cb"],        ["a", "d"],      "and"),
    ("start: A\nA: /[ab]+/ & ~/a+/ & ~/b+/",         ["ab"],             ["aa", "b"],     "and not, and not"),
    ('start: A\nA: T{"a"} & /[ab]+/\nT{x}: x x | /b/',  ["aa", "b"],         ["a", "ab"],     "and, of a template"),
    ('start: A\nA: %json {"type": "string"} & /"[a-c]*"/', ['"ab"'],  ['"d"', "ab"],   "and, of a schema"),
    ('start: A "b"\nA: ~(/a/ | /(?s:.){2,}/)',       ["b", "cb"],        ["ab", "aab"],   "not, of all texts"),
    ('start: r "b"\nr[lazy]: /a*b/',                 ["bb", "aabb"],     ["aab"],         "the shortest texts"),
    ('start: "<" r\nr[suffix=">", capture]: /.*/',   ["<a>"],            ["<a>>", "<a"],  "what ends a text is part of it"),
    ('start: r\nr[stop=/;+/]: /.*/',                 ["a;"],             ["a;;"],         "a regex that ends it"),
    ('start: r\nr[max_chars=2]: /é*/',               ["", "éé"],         ["ééé"],         "characters are counted"),
    ('start: h* T\nh[lazy]: T "<x>"\nT: /[^!]*/',    ["a<", "a<x>b"],    ["!"],           "free text ends where a lazy one does"),
    ('start: (h "1")* T\nh[lazy]: T "<x>"\nT: /[^!]*/', ["<x>1", "a<x"], ["<x>", "<x>2"], "what follows the lazy one has to come"),
    ('start: %regex {"substring_words": "a b. c"}',  ["", "b. c", "."],  ["a c", "b."[::-1]], "pieces by words"),
    ('start: "<" %regex {"substring_chars": "aéb"} ">"', ["<>", "<aé>"], ["<ab>"],        "pieces by characters"),
    ('start: %json {"enum": [1, "a"]} "."',          ["1.", '"a".'],     ["2.", "1 ."],   "a schema, with no blanks around"),
    ('start: %lark { start: a\na: "x" } a\na: "y"',  ["xy"],             ["xx"],          "a grammar inside has its own names"),
    ("start: /x{2,9000}/",                           ["xx", "x" * 9000], ["x", "x" * 9001], "a large count in a regex"),
    ('start: a-b\na-b: "c"->d',                      ["c"],              ["d"],           "a dash in a name, before an arrow none"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "accepted", "rejected"),
    [row[:3] for row in LANGUAGES],
    ids=[row[3] for row in LANGUAGES],
)
def test_what_a_grammar_means(text: str, accepted: list[str], rejected: list[str]) -> None:
    grammar = Grammar.from_lark(text)
    assert [one for one in accepted if not grammar.accepts(one)] == []
    assert [one for one in rejected if grammar.accepts(one)] == []


#   grammar                       under the carets    message                       kind
ERRORS = [
    ("start",                     "",                 "expected ':'",            "syntax"),
    ('start "a"',                 '"a"',              "expected ':'",            "syntax"),
    ('start: "a',                 '"',                "never closed",            "syntax"),
    ("start: /a",                 "/",                "regex is never closed",   "syntax"),
    ('start: ("a"',               "(",                "never closed",            "syntax"),
    ('start: ("a"\nb: "c"',       "(",                "never closed",            "syntax"),
    ('start: ["a")',              ")",                "expected ']'",            "syntax"),
    ('start: "a")',               ")",                "closes nothing",          "syntax"),
    ("start: 'a'",                "'",                "double quotes",           "syntax"),
    ('start: "a";',               ";",                "ends with its line",      "syntax"),
    ('start: "a" b: "c"',         ":",                "beginning of a line",     "syntax"),
    ('start: "a".."bc"',          '"a".."bc"',        "one character",           "syntax"),
    ('start: "b".."a"',           '"b".."a"',         "lower to a higher",       "syntax"),
    ('start: "a"~3..2',           "~3..2",            "lower bound",             "syntax"),
    ('start: "a" -> "b"',         '"b"',              "expected a name",         "syntax"),
    ("start: A & | B",            "|",                "a string, a regex",       "syntax"),
    ('start: "a"\nstart: "b"',    "start",            "defined in line 1",       "syntax"),
    ("%ignored",                  "%ignored",         "no statement %ignored",   "syntax"),
    ('%llguidance {"x": 1}',      '{"x": 1}',         "the option 'x'",          "unsupported"),
    ('%llguidance 1',             "1",                "an object of options",    "syntax"),
    ("%import common",            "",                 "expected a dot",          "syntax"),
    ("%import common.SW\nstart: SW", "SW",     "no terminal 'SW'",        "syntax"),
    ("%import .a.B",              "%import .",        "another file",            "unsupported"),
    ("%import pyton.NAME",        "pyton.NAME",       "the module 'pyton'",      "unsupported"),
    ('%extend A: "b"',            "A",                "cannot be changed",       "syntax"),
    ("%declare A\nstart: A",      "A",                "has no texts",            "unsupported"),
    ("start: WS",                 "WS",               "no rule or terminal is called 'WS'",  "undefined_nonterminal"),
    ('start: x\nX: "a"',          "x",                "no rule or terminal is called 'x'",   "undefined_nonterminal"),
    ('start: A\nA: b\nb: "c"',    "b",                "and 'b' is a rule",       "syntax"),
    ("start: A\nA: A & /x/",      "A",                "made of itself",          "syntax"),
    ("start: A\nA: T{/a/} & /b/\nT{x}: x & T{x}", "T{x}", "made of itself",     "syntax"),
    ('start: t\nt{x}: x "a"',     "t",                "used as t{…}",            "syntax"),
    ('start: t{"a", "b"}\nt{x}: x', 't{"a", "b"}',    "takes 1 parameters",      "syntax"),
    ('start: t{"a"}\nt{x}: t{(x "b")}', 't{(x "b")}', "nested deeper than 64",   "unsupported"),
    ('start: a\na::_: "x"',       "a",                "used as a::0",            "syntax"),
    ('start: a::_\na::_: "x"',    "_",                "no parameter here",       "syntax"),
    ('start: a::incr(1)\na::_: "x"', "incr(1)",       "takes a range of bits",   "syntax"),
    ('start: a::foo()\na::_: "x"', "foo()",           "no function 'foo'",       "syntax"),
    ('start: a::0\na::_: "x" a::incr(_) | "y"', "a::incr(_)", "more than 10,000 rules", "unsupported"),
    ('start: "x" %if true',       '"x" %if true',     "expected no condition",   "syntax"),
    (r'start: "\d"',              r"\d",              "an escape that exists",   "bad_escape"),
    (r'start: "\ud83d"',          r"\ud83d",          "not U+D83D",              "bad_escape"),
    ("start: A /b/\nA: /(a(?=b))*/ & %json {}", "/(a(?=b))*/", "next to a terminal that is no regex", "unsupported_regex"),
    ("start: /a/l",               "l",                "the flag 'l'",            "unsupported"),
    ("start: <|end|>",            "<|end|>",          "the token <|end|>",       "unsupported"),
    ("start: @other",             "@other",           "the grammar @other",      "unsupported"),
    ('start: r\nr[max_tokens=3]: "a"', "max_tokens=3", "depends on the vocabulary", "unsupported"),
    ('start: r\nr[stop=""]: "a"', 'stop=""',          "an empty stop",           "unsupported"),
    ('start: r\nr[lazy]: s\ns: "a"', "s",             "and 's' is a rule",       "syntax"),
    ('start: (h "1")* T | "-" T\nh[lazy]: T "<x>"\nT: /.*/', "h", "in some places only", "unsupported"),
    ("start: %json {",            "",                 "expected JSON",           "syntax"),
    ('start: %json {"type": "a"}', '"a"',             "/type",                   "schema"),
    ('start: %json {"x-guidance": {"lenient": true}}', '"lenient"', "x-guidance/lenient", "unsupported"),
    ("start: %regex {}",          "{}",               "one entry",               "syntax"),
    ('start: %regex {"a": "b"}',  '{"a": "b"}',       "%regex with 'a'",         "unsupported"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "place", "message", "kind"), ERRORS)
def test_error_has_span_and_kind(text: str, place: str, message: str, kind: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_lark(text)
    error = caught.value
    assert message in error.message
    assert error.kind == kind
    assert error.source.text == text
    assert text[error.span.start : error.span.end] == place


WHOLE = """// a comment
%import common (WS, INT)
%ignore WS
?start.2: list{pair, ","} -> all | %json {"type": "null"}
list{x, s}: x (s x)* "."~1..2
!pair[max_chars=9]: "k"i /[a-z]+/i | INT & ~/0+/
n::_: "a" n::incr([0:2]) %if lt([0:2], 3) | ["é".."ü"]
"""


@pytest.mark.parametrize("end", range(0, len(WHOLE), 2))
def test_every_prefix_parses_or_raises_a_source_error(end: int) -> None:
    error = wrong(WHOLE[:end])
    assert error is None or (error.hint and error.span.end <= end)


@given(st.text(alphabet='aAb_"/[]{}()|*+?:=<>%~&.,->\\ \n1', max_size=30))
def test_any_text_parses_or_raises_a_source_error(text: str) -> None:
    error = wrong(f"start: {text}")
    assert error is None or error.message


def wrong(text: str) -> SourceError | None:
    """The error in the text of a grammar, or None."""
    try:
        parse_lark(Source(text, "grammar"), LIMITS.clock())
    except SourceError as error:
        return error
    return None


@pytest.mark.parametrize(
    "text", ["start: A\nA: /a/ & /b/", "start: %json {}", "start: r\nr[lazy]: /a/"]
)
def test_error_without_language_operations(text: str) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        parse_lark(Source(text, "grammar"))


def test_unclosed_brackets_take_linear_time() -> None:
    with pytest.raises(SourceError, match="nested deeper than 128"):
        Grammar.from_lark("start: " + "[" * 20_000)


def test_rules_inside_an_automaton_are_dropped() -> None:
    tree = Grammar.from_lark("start: A\nA: B & C\nB: /a/\nC: D\nD: /[ab]/").tree
    assert tree is not None
    assert [rule.name for rule in tree.rules] == ["start", "A"]


def test_name_of_a_template_use() -> None:
    tree = Grammar.from_lark('start: t{x} t{x} t{"a"}\nt{p}: p "."\nx: "b"').tree
    assert tree is not None
    assert [rule.name for rule in tree.rules] == ["start", "x", "t_x", "t_2"]
