"""parse_gbnf(): accepted texts of grammars, and errors with their spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.advice import lint
from workbench.base.errors import LimitError, SourceError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.grammar.grammar import Grammar
from workbench.syntax.gbnf import parse_gbnf
from workbench.syntax.grammar_tree import Literal, Sequence

#   grammar                                  accepted              rejected          because
LANGUAGES = [
    ('root ::= "a" | "b"',                   ["a", "b"],           ["ab", ""],       "alternatives"),
    ('root ::= | "a"',                       ["", "a"],            ["aa"],           "an empty alternative"),
    ('root ::= () "a"',                      ["a"],                [""],             "an empty group"),
    ('root ::= "a"\n\n  "b" # c\n | "d"',    ["ab", "d"],          ["a", "c"],       "lines and comments between items"),
    ('root ::= "a" b\nb ::= "c"',            ["ac"],               ["a"],            "a rule ends where the next begins"),
    ('root ::= a-b-1 "#"\na-b-1 ::= "x"',    ["x#"],               ["x"],            "dashes and digits in a name"),
    ('root ::= a.b .\na.b ::= "x"',          ["xy", "x\n"],        ["x"],            "a dot in a name, and any character"),
    ('root ::= [^a-c\\]\\-"]',               ["d", "\n", "é"],     ["a", "]", "-"],  "a class of all others"),
    ("root ::= [-a] [a-] [+--]",             ["--+", "aa,"],       ["b--", "--a"],   "dashes at the ends of classes"),
    (r"root ::= [\x41-\u0043\U0001F600\t]",  ["B", "😀", "\t"],    ["D", "x"],       "numbers of characters"),
    (r'root ::= "\x80\"\\\n\e"',             ["\x80\"\\\n\x1b"],   ["\x80"],         "escapes; 80 is a character, no byte"),
    ('root ::= "ab"{2} "c"{1,} "d"{,1}',     ["ababc", "ababccd"], ["abc", "ababcdd"], "counts, of a whole string"),
    ('root ::= "a"{ 1 , 2 }{2}',             ["aa", "aaaa"],       ["a", "aaaaa"],   "a count of a count"),
    ('root ::= ("a"+)? "b"*',                ["", "aab"],          ["ba"],           "signs after brackets"),
    ('root ::= "a"{2, -1}',                  ["aa", "aaa"],        ["a"],            "no end, as xgrammar writes it"),
    ('root ::= "a"{0} "b"',                  ["b"],                ["ab"],           "no copy at all"),
    ('root ::= x "c"\nx ::= "a" (= "c")',    ["ac"],               ["a"],            "an assertion reads nothing"),
    ('root ::= root "a" | "b"',              ["b", "baa"],         ["a"],            "left recursion"),
    ('root ::= r ">"\nr[lazy] ::= .* "x"',   ["abx>"],             ["axbx>"],        "the shortest texts of a rule"),
    ('root ::= r\nr[max_chars=2] ::= [é]*',  ["", "éé"],           ["ééé"],          "characters are counted, no bytes"),
    ('root ::= r\nr[capture="r"] ::= "a"',   ["a"],                ["r"],            "an attribute that says nothing of texts"),
    ('root ::= s\ns[lazy] ::= t "c"\nt[max_chars=1] ::= [a-c]*', ["c", "ac"], ["cc", "aac"],            "a cut rule that calls one"),
    (r'root ::= Regex("\\d+\\.$")',          ["12."],              ["١.", "12"],     "a regex of ASCII, ending anywhere"),
    (r'root ::= Regex("^a/b\\/\\cA")',       ["a/b/\x01"],         ["a/b/A"],        "escapes of JavaScript"),
    ('root ::= Regex("a.", flags="i")',      ["AB"],               ["a\n"],          "flags: a dot is no line feed then"),
    ('root ::= Regex(".", json_string=true)', ["a", "é"],          ['"', "\\", "\n"], "characters that a JSON string does not escape"),
    ('root ::= Substring("ab", "c", "ab")',  ["", "abc", "cab"],   ["b", "abab"],    "pieces of a row of chunks"),
    ('root ::= Substring("a", "b", "a")',    ["", "ba", "aba"],    ["aa"],           "chunks of one letter"),
    ('root ::= Regex ("a")\nRegex ::= "b"',  ["ba"],               ["a"],            "a rule that is called like a macro"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "accepted", "rejected"),
    [row[:3] for row in LANGUAGES],
    ids=[row[3] for row in LANGUAGES],
)
def test_what_a_grammar_means(text: str, accepted: list[str], rejected: list[str]) -> None:
    grammar = Grammar.from_gbnf(text)
    assert [one for one in accepted if not grammar.accepts(one)] == []
    assert [one for one in rejected if grammar.accepts(one)] == []


DISPATCH = 'root ::= TagDispatch(("<a>", r), ("<b>", s){more})\nr ::= "1"\ns ::= "2"'
#   more arguments                     accepted                    rejected               because
DISPATCHED = [
    ("",                               ["", "x<", "<a>1", "x<b>2y<a>1<"], ["<a>", "<a>2", "<<b>"], "tags have their rules"),
    (", loop_after_dispatch=false",    ["x", "x<a>1"],             ["<a>1x", "<a>1<a>1"], "nothing comes after one"),
    (', excludes=("!", "??")',         ["?", "<a>1?"],             ["!", "<a>1??"],       "what no free text holds"),
    (', excludes="!"',                 ["x"],                      ["x!<a>1"],            "one alone needs no brackets"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("more", "accepted", "rejected"),
    [row[:3] for row in DISPATCHED],
    ids=[row[3] for row in DISPATCHED],
)
def test_tags_in_free_text(more: str, accepted: list[str], rejected: list[str]) -> None:
    grammar = Grammar.from_gbnf(DISPATCH.format(more=more))
    assert [one for one in accepted if not grammar.accepts(one)] == []
    assert [one for one in rejected if grammar.accepts(one)] == []


#   grammar                       under the carets    message                      kind
ERRORS = [
    ("",                          "",                 "at least one rule",      "syntax"),
    ("root",                      "",                 "expected '::='",         "syntax"),
    ("root ::=",                  "",                 "expected something",     "syntax"),
    ('root := "a"',               ":=",               "expected '::='",         "syntax"),
    ('root ::= "a',               '"',                "never closed",           "syntax"),
    ("root ::= [a",               "[",                "class is never closed",  "syntax"),
    ('root ::= ("a"',             "(",                "never closed",           "syntax"),
    ('root ::= ("a"\nb ::= "c"',  "(",                "never closed",           "syntax"),
    ('root ::= "a")',             ")",                "closes nothing",         "syntax"),
    ('root ::= * "a"',            "*",                "something before",       "syntax"),
    ("root ::= 'a'",              "'",                "double quotes",          "syntax"),
    ('root ::= "a";',             ";",                "ends where",             "syntax"),
    ('root ::= "a" // b',         "//",               "not a comment",            "syntax"),
    ("root ::= []",               "[]",               "at least one character", "syntax"),
    ("root ::= [z-a]",            "z-a",              "lower to a higher",      "syntax"),
    ('root ::= "a"{2,1}',         "{2,1}",            "lower bound",            "syntax"),
    ('root ::= "a"{ }',           "{ }",              "number of copies",       "syntax"),
    ('root ::= "a"{1234567890}',  "{1234567890}",     "9 decimal digits",       "syntax"),
    ('root ::= "a"\nroot ::= "b"', "root",            "already written in line 1", "syntax"),
    (r'root ::= "\x4"',           r"\x",              "two hexadecimal digits", "bad_escape"),
    (r'root ::= "\ud800"',        r"\ud800",          "not U+D800",             "bad_escape"),
    (r"root ::= [\d]",            r"\d",              "an escape that exists",  "bad_escape"),
    ("root ::= <think>",          "<think>",          "the token <think>",      "unsupported"),
    ("root ::= !<[12]>",          "!<[12]>",          "the token !<[12]>",      "unsupported"),
    ("root ::= Token(1)",         "Token",            "the macro Token()",      "unsupported"),
    ('root ::= Regex("(")',       "(",                "expected ')'",           "bad_regex"),
    ('root ::= Regex("a", "b")',  'Regex("a", "b")',  "takes one string",       "syntax"),
    ('root ::= Regex("a", flags="m")', '"m"',         "the flag 'm'",           "unsupported"),
    ('root ::= Regex("a", x=true)', "true",           "no argument 'x'",        "unsupported"),
    ("root ::= Substring()",      "Substring()",      "at least one string",    "syntax"),
    ('root ::= TagDispatch(("ab", root), ("b", root))', None, "'b' is in 'ab'", "unsupported"),
    ('r[max_tokens=3] ::= "a"',   "max_tokens=3",     "depends on the vocabulary", "unsupported"),
    ('r[eager] ::= "a"',          "eager",            "no attribute 'eager'",   "syntax"),
    ('root ::= r\nr[lazy] ::= "(" r ")" | "x"', "lazy", "of a rule that calls itself", "unsupported"),
    ('root ::= r\nr[lazy] ::= s\ns ::= "(" s ")" | "x"', "s", "without a stack", "unsupported"),
    ('root ::= rot "a"',          "rot",              "'rot' is not written",   "undefined_nonterminal"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message", "kind"), ERRORS)
def test_error_has_span_and_kind(text: str, place: str | None, message: str, kind: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_gbnf(text)
    error = caught.value
    assert message in error.message
    assert error.kind == kind
    assert error.hint
    if place is not None:
        assert text[error.span.start : error.span.end] == place


WHOLE = """# a comment
root ::= (name "=" [^\\n"]* "\\n"){1,3} | Regex("a+", flags="i") # more
name[max_chars=9] ::= [a-z] ([a-z0-9] | "\\u00e9")* (= "=")
"""


@pytest.mark.parametrize("end", range(len(WHOLE)))
def test_every_prefix_parses_or_raises_a_source_error(end: int) -> None:
    error = wrong(WHOLE[:end])
    assert error is None or (error.hint and error.span.end <= end)


@given(st.text(alphabet='ab"[]{}()|*+?:=<>#.,-^\\ \n1', max_size=30))
def test_any_text_parses_or_raises_a_source_error(text: str) -> None:
    error = wrong(f"root ::= {text}")
    assert error is None or error.hint


def wrong(text: str) -> SourceError | None:
    """The error in the text of a grammar, or None."""
    try:
        parse_gbnf(Source(text, "grammar"), LIMITS.clock())
    except SourceError as error:
        return error
    return None


def test_spans_of_rules() -> None:
    text = 'root ::= "ab" b\nb ::= [c]'
    first, second = parse_gbnf(Source(text, "grammar")).rules
    assert text[second.name_span.start :] == "b ::= [c]"
    assert text[first.span.start : first.span.end] == 'root ::= "ab" b'
    body = first.body
    assert isinstance(body, Sequence)
    assert [text[one.span.start : one.span.end] for one in body.items] == ['"ab"', "b"]
    assert isinstance(body.items[0], Literal)


def test_a_reversed_range_has_no_characters_as_in_llama_cpp() -> None:
    grammar = Grammar.from_gbnf(r"root ::= [^a\]-[\x00-\x20]+ | [z-ax]")
    assert [grammar.accepts(text) for text in ("b", "x", "z", "a", " ")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    (advice,) = [each for each in lint(grammar).advice if each.kind == "reversed_range"][:1]
    assert grammar.source.text[advice.span.start : advice.span.end] == r"\]-["


def test_a_byte_order_mark_is_no_part_of_a_grammar() -> None:
    assert Grammar.from_gbnf('\ufeffroot ::= "a"').accepts("a")
    assert Grammar.from_lark('\ufeffstart: "a"').accepts("a")


def test_error_for_deep_nesting() -> None:
    assert Grammar.from_gbnf("root ::= " + "(" * 128 + '"a"' + ")?" * 128).accepts("a")
    with pytest.raises(SourceError, match="nested deeper than 128"):
        Grammar.from_gbnf("root ::= " + "(" * 10_000)


def test_error_when_a_string_is_longer_than_a_machine() -> None:
    limits = Limits(states=1_000)
    with pytest.raises(LimitError, match="1,000 states"):
        parse_gbnf(Source(f'root ::= "{"a" * 2_000}"', "grammar"), limits.clock())


def test_five_thousand_rules_are_read() -> None:
    rules = "".join(f'r{i} ::= "{i}" | r{i + 1} "x"\n' for i in range(5_000))
    tree = parse_gbnf(Source(f'{rules}r5000 ::= "z"', "grammar"), LIMITS.clock())
    assert len(tree.rules) == 5_001
