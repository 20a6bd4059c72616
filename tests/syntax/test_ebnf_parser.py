"""EBNF of W3C and of ISO 14977: what each construct means, exceptions, errors."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest

import workbench as wb
from workbench import BuildError, Grammar, ParseError, problems
from workbench.base.errors import SourceError
from workbench.base.resources import GRAMMARS

W3C = [
    # grammar, accepted, rejected
    ("a ::= \"x\" 'y'", ["xy"], ["x", "XY"]),
    ("a ::= 'x' | 'y' 'z'", ["x", "yz"], ["xz"]),
    ("a ::= ('x' | 'y') 'z'", ["xz", "yz"], ["z"]),
    ("a ::= 'x'? 'y'* 'z'+", ["z", "xyyzz"], ["x", "xy"]),
    ("a ::= [a-cx]", ["a", "c", "x"], ["d", "-"]),
    ("a ::= [^a-c]", ["d", "é", "\n"], ["a", "c", ""]),
    ("a ::= [-a]", ["-", "a"], ["b"]),
    ("a ::= [a-]", ["-", "a"], ["b"]),
    ("a ::= [^]", ["^"], ["a"]),
    ("a ::= [#x41-#x43#xE9]", ["A", "C", "é"], ["D", "#", "x"]),
    ("a ::= [^#x0-#x7F]", ["é"], ["a"]),
    ("a ::= [#xD000-#xE000]", ["\ud000", "\ue000"], ["\uf000"]),
    ("a ::= [-'()+,./:=?;!*#@$_%]", ["#", "'", "-", "%"], ["a", '"']),
    ("a ::= #x9 | #x1F600", ["\t", "😀"], ["9"]),
    ("a ::= '\\' [tn\\]", ["\\t", "\\\\"], ["\t", "t"]),
    ("a ::= 'x' /* note | 'y' */ 'z'\n/* end */", ["xz"], ["y"]),
    ("[1] a ::= b\n[2a] b ::= 'x'", ["x"], ["1x"]),
    ("[1]\ta\t::=\t[1]\n[2] b ::= 'x'", ["1"], ["x"]),
    ("a ::= 'x' [ wfc: Unique ] [VC: Proper Nesting]\nb ::= 'y'", ["x"], ["y"]),
    ("a ::= b-c b\nb-c ::= 'x'\nb ::= 'y'", ["xy"], ["y"]),
    ("<a> ::= <two words> \"x\"\n<two words> ::= 'y'", ["yx"], ["x"]),
    ("a ::= [a-z] - 'x'", ["a", "y"], ["x", "A"]),
    ("a ::= b - c\nb ::= c | [a-d]\nc ::= 'b'", ["a", "c"], ["b"]),
    ("a ::= [a-z]+ - ('if' | 'do')", ["i", "iff", "of"], ["if", "do", ""]),
    ("a ::= [^<&]* - ([^<&]* ']]>' [^<&]*)", ["", "]]", "a]>b", "]]x>"], ["]]>", "a]]>b", "<"]),
    ("a ::= [a-e] - 'b' - 'c' 'x'", ["ax", "dx"], ["bx", "cx", "a"]),
    ("a ::= [ab]+ - 'ab' | 'ab' 'c'", ["a", "abc"], ["ab"]),
    ("a ::= b - 'x'\nb ::= 'x' b? ", ["xx", "xxx"], ["x", ""]),
]

ISO = [
    ("a = 'x', \"y\";", ["xy"], ["x", "XY"]),
    ("a = 'x' | 'y', 'z';", ["x", "yz"], ["xz"]),
    ("a = 'x' / 'y' ! 'z';", ["x", "y", "z"], ["xy"]),
    ("a = ('x' | 'y'), 'z';", ["xz", "yz"], ["z"]),
    ("a = ['x'], {'y'};", ["", "x", "xyy"], ["xx"]),
    ("a = (/ 'x' /), (: 'y' :);", ["", "x", "xyy"], ["xx"]),
    ("a = 3 * 'x', 2 * b; b = 'y';", ["xxxyy"], ["xxyy"]),
    ("a = {'x'}-;", ["x", "xx"], [""]),
    ("a = {['x']}-;", ["x", "xx"], [""]),
    ("a = {b}-; b = '(', [a], ')';", ["()", "(())()"], ["", "("]),
    ("a = letter - 'b'; letter = 'a' | 'b' | 'c';", ["a", "c"], ["b"]),
    ("a = {letter} - ('if' | 'do'); letter = 'a' … 'z';", ["", "i", "iff"], ["if", "do"]),
    ("a = 'x' | ;", ["x", ""], ["y"]),
    ("a = ;", [""], ["x"]),
    ("a = 'x', , 'y';", ["xy"], ["x"]),
    ("a (* note; 'y' *) = (**) 'x' (* more *);", ["x"], ["y"]),
    ("a = 'x'.", ["x"], ["x."]),
    ("a = two words, two; two words = 'x'; two = 'y';", ["xy"], ["y"]),
    ("a = two words; two = 'x'; words = 'y';", ["xy"], ["x"]),
    ("a = b c\nb = 'x'\nc = 'y'", ["xy"], ["x"]),
    ('a = "a" … "c" { "0" .. "9" } .', ["a", "b12"], ["d", "a.."]),
    ("a ::= { 'x' } [ 'y' ]\nb ::= 'z'", ["", "xxy"], ["z"]),
    ("<a> ::= { <b c> }\n<b c> ::= 'x'", ["", "xx"], ["y"]),
    ("a = `x`;", ["x"], ["`x`"]),
    ("größe = 'x';", ["x"], ["y"]),
    ("a = '\\n';", ["\\n"], ["\n"]),
]


@pytest.mark.parametrize(("text", "accepted", "rejected"), W3C + ISO)
def test_constructs(text: str, accepted: list[str], rejected: list[str]) -> None:
    grammar = Grammar.from_ebnf(text)
    assert [each for each in accepted if not grammar.accepts(each)] == []
    assert [each for each in rejected if grammar.accepts(each)] == []


ERRORS = [
    ("a ::= 'x", "this string is never closed"),
    ("a ::= [x", "this class is never closed"),
    ("a ::= /* x", "this comment is never closed"),
    ("a ::= 'x';", "ends where the next one begins"),
    ("a ::= 'x'\nb = 'y'", "expected '::='"),
    ("a ::= 'x', 'y'", "without a sign"),
    ("a ::= 'x' // note", "not a comment"),
    ("a ::= #9", "written #x and its number"),
    ("a ::= 'x'{2}\nb ::= [{]", "already written in line 0|expected"),
    ("a ::= #x110000", "not #x110000"),
    ("a ::= [#xD800]", "not #xD800"),
    ("a ::= [z-a]", "from a lower to a higher"),
    ('a ::= [ day-of-week "," ]', "brackets hold a class"),
    ("a ::=", "expected something"),
    ("a ::= +", "expected something before '+'"),
    ("a ::= ('x'", "never closed"),
    ("a ::= 'x')", "closes nothing"),
    ("a ::= 'x' -", "expected a string, a character"),
    ("a ::= 'x'\na ::= 'y'", "already written in line 1"),
    ("a ::= b", "the rule 'b' is not written"),
    ("a ::= b - 'x'\nb ::= '(' b? ')'", "one of its sides needs a stack"),
    ("a ::= [a-z] | a 'x' - a", "it calls the rule 'a', in which it is"),
    ("a = 'x", "this string is never closed"),
    ("a = ? x", "this special sequence is never closed"),
    ("a = (* x", "this comment is never closed"),
    ("a = 'x'+;", "a repetition in braces"),
    ("a = 'x'*;", "expected"),
    ("a : 'x';", "expected '='"),
    ("a = 3 'x';", "'*' after a number"),
    ("a = 'x';\n# note", "not a comment"),
    ("a = ('x';", "expected ','"),
    ("a = 'xy' … 'z';", "one character at each end"),
    ("a = 'z' … 'x';", "from a lower to a higher"),
    ("a = 'x'; a = 'y';", "already written in line 1"),
    ("a = b;", "the rule 'b' is not written"),
    ("a = 'x' 'y' b = 'z';", "expected"),
    ("a = ? any character ?;", "a description that cannot be read"),
    ("a = b - 'x'; b = '(', [b], ')';", "one of its sides needs a stack"),
    ("", "at least one rule"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_error_of_a_text(text: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_ebnf(text)
    assert re.search("|".join(map(re.escape, message.split("|"))), caught.value.message)
    assert caught.value.hint


FIXES = [
    ("a ::= 'x';", "a ::= 'x'"),
    ("a ::= 'x' 'y', 'z'", "a ::= 'x' 'y' 'z'"),
    ("a ::= number\nnumbr ::= 'x'", "a ::= numbr\nnumbr ::= 'x'"),
    ("a = number; numbr = 'x';", "a = numbr; numbr = 'x';"),
    ("a: 'x';", "a= 'x';"),
]


@pytest.mark.parametrize(("text", "fixed"), FIXES)
def test_error_fixes(text: str, fixed: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_ebnf(text)
    error = caught.value
    assert error.fix is not None
    assert text[: error.fix_span.start] + error.fix + text[error.fix_span.end :] == fixed
    Grammar.from_ebnf(fixed)


def test_a_special_sequence_that_the_start_rule_does_not_use_is_a_note() -> None:
    text = "a = 'x';\nb = ? any  character ?;"
    grammar = Grammar.from_ebnf(text)
    assert [(note.kind, text[note.span.start : note.span.end]) for note in grammar.notes] == [
        ("description", "? any  character ?")
    ]
    with pytest.raises(ParseError, match="any character"):
        Grammar.from_ebnf(text, "b")


def test_a_note_on_backslashes_in_w3c_ebnf() -> None:
    grammar = Grammar.from_ebnf("a ::= [^\\n] '\\'")
    assert [note.kind for note in grammar.notes] == ["backslash"]
    assert grammar.accepts("\n\\")
    assert not grammar.accepts("n\\")


def test_the_start_rule() -> None:
    text = "first ::= 'a'\nstart ::= 'b'\nother ::= 'c'"
    assert Grammar.from_ebnf(text).accepts("b")
    assert Grammar.from_ebnf(text, "other").accepts("c")
    assert Grammar.from_ebnf("first ::= 'a'\nother ::= 'c'").options == {}
    with pytest.raises(BuildError, match="the start symbol 'none' has no rule"):
        Grammar.from_ebnf(text, "none")


def test_all_problems_of_a_text() -> None:
    w3c = "a ::= b f 'x\nc ::= [z-a]\nd ::= e | 'g';\nf ::= q - 'x'"
    assert [(one.position, one.kind) for one in problems(w3c, "ebnf")] == [
        ((1, 7), "undefined_nonterminal"),
        ((1, 11), "syntax"),
        ((2, 8), "syntax"),
        ((3, 7), "undefined_nonterminal"),
        ((3, 14), "syntax"),
        ((4, 7), "undefined_nonterminal"),
    ]
    iso = "a = b, f, 'x;\nc = 3 'y';\nd = e | 'g'+;\nf = q;"
    assert [(one.position, one.kind) for one in problems(iso, "ebnf")] == [
        ((1, 5), "undefined_nonterminal"),
        ((1, 11), "syntax"),
        ((2, 7), "syntax"),
        ((3, 5), "undefined_nonterminal"),
        ((3, 12), "syntax"),
        ((4, 5), "undefined_nonterminal"),
    ]


# -- exceptions, from the definition ---------------------------------------------------------------


def _regular(choose: random.Random, depth: int) -> tuple[str, str]:
    """An expression of W3C EBNF and the same as a regex of Python."""
    if not depth or choose.random() < 0.3:
        return choose.choice([("'a'", "a"), ("'b'", "b"), ("[ab]", "[ab]"), ("'ab'", "(?:ab)")])
    ebnf, regex = zip(*(_regular(choose, depth - 1) for _ in range(2)), strict=True)
    match choose.choice("sar"):
        case "s":
            return f"({' '.join(ebnf)})", f"(?:{''.join(regex)})"
        case "a":
            return f"({' | '.join(ebnf)})", f"(?:{'|'.join(regex)})"
    sign = choose.choice("?*+")
    return f"({ebnf[0]}){sign}", f"(?:{regex[0]}){sign}"


@pytest.mark.parametrize("seed", range(80))
def test_exceptions_on_all_short_texts(seed: int) -> None:
    choose = random.Random(seed)
    (first, one), (second, two), (third, three) = (_regular(choose, 3) for _ in range(3))
    texts = ["".join(letters) for size in range(6) for letters in product("ab", repeat=size)]

    def matches(regex: str, text: str) -> bool:
        return re.fullmatch(regex, text) is not None

    grammar = f"s ::= {first} - {second} - c\nc ::= {third}"
    expected = {
        text
        for text in texts
        if matches(one, text) and not matches(two, text) and not matches(three, text)
    }
    try:
        read = Grammar.from_ebnf(grammar)
    except BuildError:
        assert not expected, "no text is left"
        return
    assert {text for text in texts if read.accepts(text)} == expected


XML = (GRAMMARS / "xml.ebnf").read_text("utf-8")

ELEMENTS = [
    "<a/>", "<a b='c' d = \"&lt;\">x<e></e>&amp;</a >", "<a><!-- b - c --></a>", "<é>x</é>",
    "<a><?b c?></a>", "<a><?xm c?></a>", "<a><![CDATA[ ]] ]> < ]]></a>", "<a>]]</a>",
]  # fmt: skip
NO_ELEMENTS = [
    "<a>", "<a b=c/>", "<a>]]></a>", "<a><!-- b -- c --></a>", "<a><!-- b ---></a>", "<1/>",
    "<a><?xml c?></a>", "<a><?XmL?></a>", "<a>&</a>", "<a><![CDATA[ ]]> ]]></a>",
]  # fmt: skip


def test_the_elements_of_xml() -> None:
    grammar = Grammar.from_ebnf(XML)
    assert [text for text in ELEMENTS if not grammar.accepts(text)] == []
    assert [text for text in NO_ELEMENTS if grammar.accepts(text)] == []


#: Part of the syntax of EBNF in itself (ISO/IEC 14977, section 8.1), without gaps.
ITSELF = r"""
(* The syntax of Extended BNF without gaps and comments. *)
syntax = syntax rule, {syntax rule};
syntax rule = meta identifier, '=', definitions list, ';';
definitions list = single definition, {'|', single definition};
single definition = term, {',', term};
term = factor, ['-', exception];
exception = factor;
factor = [integer, '*'], primary;
primary = optional sequence | repeated sequence | special sequence | grouped sequence
  | meta identifier | terminal string | empty;
empty = ;
optional sequence = '[', definitions list, ']';
repeated sequence = '{', definitions list, '}';
grouped sequence = '(', definitions list, ')';
terminal string = "'", character - "'", {character - "'"}, "'"
  | '"', character - '"', {character - '"'}, '"';
meta identifier = letter, {letter | decimal digit};
integer = decimal digit, {decimal digit};
special sequence = '?', {character - '?'}, '?';
character = letter | decimal digit | "'" | '"' | '?' | '-' | ';' | ' ';
letter = 'a' | 'b' | 'c' | 'x' | 'y' | 'z';
decimal digit = '0' | '1' | '2' | '3' | '9';
"""


def test_the_syntax_of_iso_ebnf_in_itself() -> None:
    grammar = Grammar.from_ebnf(ITSELF)
    for text in ("a=b;", "a=3*'x',[b|c]|{d-e};".replace("d-e", "b-c"), 'a=;b="\'";', "a=? b ?;"):
        assert grammar.accepts(text), text
    for text in ("a=b", "a='';", "1=b;", "a=?b??;", "a=''';"):
        assert not grammar.accepts(text), text


@pytest.mark.parametrize("text", [XML, ITSELF])
@pytest.mark.parametrize("notation", ["kbnf", "gbnf", "lark"])
def test_conversion(text: str, notation: str) -> None:
    grammar = Grammar.from_ebnf(text)
    again = Grammar.from_text(wb.export(grammar, notation), notation)
    for sample in wb.samples(grammar, 20, seed=1):
        assert again.accepts(sample)
    for sample in wb.samples(again, 20, seed=2):
        assert grammar.accepts(sample)
    if text is XML:
        assert [each for each in ELEMENTS if not again.accepts(each)] == []
        assert [each for each in NO_ELEMENTS if again.accepts(each)] == []
