"""ANTLR 4: what each construct means, what is left out, errors."""

from __future__ import annotations

import re

import pytest

import workbench as wb
from workbench import Grammar, ParseError, problems
from workbench.base.errors import SourceError

CONSTRUCTS = [
    # grammar, accepted, rejected
    ("a : 'x' | 'y' 'z' ;", ["x", "yz"], ["xz", "X"]),
    ("a : ('x' | 'y') 'z' ;", ["xz", "yz"], ["z"]),
    ("a : 'x'? 'y'* 'z'+ ;", ["z", "xyyzz"], ["x"]),
    ("a : 'x' | ;", ["x", ""], ["y"]),
    ("a : 'x'*? 'y'+? ;", ["y", "xxyy"], ["x"]),
    (r"a : '\n\t\\\'\u00e9\u{1F600}' ;", ["\n\t\\'é😀"], ["n"]),
    ("a : A ; A : [a-cx] ;", ["a", "c", "x"], ["d", "-"]),
    (r"a : A ; A : [\]\-\\\u0041-\u0043] ;", ["]", "-", "\\", "B"], ["D", "u"]),
    (r"a : A ; A : [\p{Lu}\P{L}] ;", ["Ж", "1"], ["ж"]),
    ("a : A ; A : [-a] [a-] ;", ["--", "aa"], ["ba"]),
    ("a : A ; A : ~[a-c] ;", ["d", "é", "\n"], ["a", ""]),
    ("a : A ; A : ~'a' ~('b' | [c-d]) ;", ["ba"], ["aa", "bb", "bc"]),
    ("a : A ; A : 'a'..'c' . ;", ["a\n", "cé"], ["d\n", "a"]),
    ("a : A ; A : B+ ; fragment B : 'x' | A2 ; fragment A2 : 'y' ;", ["xyx"], ["z"]),
    ("a : A 'b' ; A : 'a' ; WS : [ \\t]+ -> skip ;", ["ab", " a  b\t"], ["a\nb", "a b b"]),
    ("a : 'a' 'b' ; C : '#' -> channel(HIDDEN) ; D : '-' -> channel(0) ;", ["#a##b"], ["a-b"]),
    ("a : A ; A : 'x' | 'y' -> skip ;", ["x", "yxy"], ["y"]),
    ("a : A ; B : 'b' -> type(A) ; A : 'a' ;", ["a", "b"], ["c"]),
    ("tokens { A } a : A ; B : 'b' -> type(A) ;", ["b"], ["a"]),
    ("a : 'a' . ; A : 'x' ; fragment B : 'y' ; C : 'z' -> skip ;", ["ax", "aa"], ["ay", "az"]),
    ("a : ~('a' | X) ; b : 'a' 'b' ; X : 'x' ; Y : 'y' ;", ["b", "y"], ["a", "x"]),
    ("a : ~A ; A : 'a' ; b : 'a' 'b' ;", ["b"], ["a"]),
    ("a : 'x' EOF ;", ["x"], ["xx", ""]),
    ("a : b+ ; b : 'x' (';' | EOF) ;", ["x", "x;x", "x;x;"], ["xx", ";"]),
    ("a : n=b l+=b* ; b : 'x' ;", ["x", "xxx"], [""]),
    ("a : e # One | e '+' e # Two ; e : 'x' ;", ["x", "x+x"], ["x+"]),
    ("a : a '+' a | <assoc=right> a '^' a | 'x' ;", ["x", "x+x^x"], ["x+"]),
    ("a[int x] returns [int y] locals [int z] : b[1] 'c' ; b[int i] : 'b' ;", ["bc"], ["b"]),
    ("a options { k=1; } @init { int x = '}'; } : 'x' ; finally { } b : 'y' ;", ["x"], ["y"]),
    ("a throws E, F : 'x' ; catch [E e] { }", ["x"], ["y"]),
    ("a : { code(\"}\"); } 'x' { { } } | {p()}? 'y' ;", ["x", "y"], ["xy"]),
    ("a : (options { greedy=false; } : 'x')* 'y' ;", ["y", "xxy"], ["x"]),
    ("grammar G; options { caseInsensitive = true; } a : 'Get' A ; A : [x-z] ;", ["gETY"], ["get"]),
    ("a : A B ; A options { caseInsensitive=true; } : 'x' ; B : 'y' ;", ["Xy"], ["xY"]),
    ("lexer grammar L; A : 'a' ; B : 'b' -> skip ;", ["", "abba"], ["c"]),
    (
        "lexer grammar L; A : 'a' ; parser grammar P; options { tokenVocab=L; } p : A A ;",
        ["aa"],
        ["a"],
    ),
    ("a : A ; A : '(' (A | 'x')* ')' ;", ["(x(x)())"], ["(x"]),
    ("a : A ; mode M ; A : 'x' -> pushMode(M), type(A) ;", ["x"], ["y"]),
    ("// note\n/* note ' */ a : /** doc */ 'x' ;", ["x"], ["y"]),
]


@pytest.mark.parametrize(("text", "accepted", "rejected"), CONSTRUCTS)
def test_constructs(text: str, accepted: list[str], rejected: list[str]) -> None:
    grammar = Grammar.from_antlr(text)
    assert [each for each in accepted if not grammar.accepts(each)] == []
    assert [each for each in rejected if grammar.accepts(each)] == []


#: Rules of the lexer with lazy repetitions, and the regex of Python that ends as they do.
LAZY = [
    ("'/*' .*? '*/'", r"/\*[\s\S]*?\*/"),
    ("'\"' .*? '\"'", r'"[\s\S]*?"'),
    ("'\"' (ESC | .)*? '\"'", r'"(?:\\"|[\s\S])*?"'),
    ("'\"' (. | ESC)*? '\"'", r'"(?:[\s\S]|\\")*?"'),
    ("'/' .+? '/'", r"/[\s\S]+?/"),
    ("'/' .?? '/'", r"/[\s\S]??/"),
    ("'/' .*? ('*' | '*/')", r"/[\s\S]*?(?:\*|\*/)"),
    ("'*' .*? '/'+", r"\*[\s\S]*?/+"),
    ("'/' ('*' .*? '*')* '/'", r"/(?:\*[\s\S]*?\*)*/"),
]


@pytest.mark.parametrize(("rule", "regex"), LAZY)
def test_lazy_repetitions_end_where_a_matcher_ends_them(rule: str, regex: str) -> None:
    from itertools import product

    grammar = Grammar.from_antlr(f"a : A ; A : {rule} ; fragment ESC : '\\\\\"' ;")
    for size in range(7):
        for letters in product('/*"\\', repeat=size):
            text = "".join(letters)
            match = re.match(regex, text)
            assert grammar.accepts(text) == (match is not None and match.end() == size), text


ERRORS = [
    ("a : 'x", "this string is never closed"),
    ("a : [x", "this set is never closed"),
    ("a : { 'x'", "this action is never closed"),
    ("/* x", "this comment is never closed"),
    ('a : "x" ;', "ANTLR writes strings in single quotes"),
    ("a : 'x'", "expected '|', ';' or another item"),
    ("a 'x' ;", "expected ':'"),
    ("a : ('x' ;", "expected '|' or another item"),
    ("a : 'x') ;", "closes nothing"),
    ("a : + ;", "expected something before '+'"),
    ("a : [a-z] ;", "only rules of the lexer have sets"),
    ("a : A ; A : [z-a] ;", "from a lower to a higher"),
    ("a : A ; A : 'z'..'a' ;", "from a lower to a higher"),
    ("a : A ; A : [] ;", "at least one character"),
    (r"a : '\q' ;", "an escape that exists"),
    (r"a : '\u{110000}' ;", "not a higher number"),
    (r"a : '\p{Lu}' ;", "in a string"),
    (r"a : A ; A : [\p{Nope}] ;", "Nope"),
    ("a : A ; A : ~'ab' ;", "expected single characters after '~'"),
    ("a : ~b ; b : 'x' ;", "expected tokens after '~'"),
    ("a : A ; A : 'x' -> drop ;", "there is no command 'drop'"),
    ("a : A ; A : 'x' -> more ;", "the command 'more' cannot be read"),
    ("grammar G; import H; a : 'x' ;", "an imported grammar cannot be read"),
    ("a : 'x' ; a : 'y' ;", "already written in line 1"),
    ("a : b ;", "the rule 'b' is not written"),
    ("tokens { A } a : A ;", "the token 'A' is declared and has no texts"),
    ("grammar G;", "at least one rule"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_error_of_a_text(text: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_antlr(text)
    assert message in caught.value.message
    assert caught.value.hint


def test_error_of_a_parser_without_its_lexer() -> None:
    with pytest.raises(SourceError) as caught:
        Grammar.from_antlr("parser grammar P; options { tokenVocab = PLexer; } p : ID ;")
    assert caught.value.hint == "put the text of PLexer.g4 before this one"


def test_what_is_left_out_is_noted() -> None:
    text = """grammar G;
@header { import x; }
a : {p()}? A { act(); } B ;
A : 'x' -> pushMode(M) ;
mode M;
B : 'y' -> popMode ;
"""
    grammar = Grammar.from_antlr(text)
    assert [
        (note.kind, grammar.source.position(note.span.start), note.message)
        for note in grammar.notes
    ] == [
        ("action", (2, 1 + len("@header ")), "actions are left out: 2, the first here"),
        ("predicate", (3, 5), "predicates are left out"),
        (
            "longest_match",
            (4, 1),
            "a text may be split into any tokens, not only into the longest ones",
        ),
        ("lexer_mode", (4, 12), "lexer modes are left out: 3, the first here"),
    ]


def test_a_lazy_repetition_in_a_rule_that_calls_itself() -> None:
    """A nested comment: read as any number of copies, which a note says."""
    grammar = Grammar.from_antlr("a : A 'x' ; A : '/*' (A | .)*? '*/' ;")
    assert [note.kind for note in grammar.notes] == ["longest_match", "lazy_repetition"]
    assert grammar.accepts("/* a /* b */ c */x")
    assert not grammar.accepts("/* a x")


def test_the_start_rule() -> None:
    text = "A : 'x' ; first : A ; other : 'y' ;"
    assert Grammar.from_antlr(text).start == "first"
    assert Grammar.from_antlr(text).options == {"start": "first"}
    assert Grammar.from_antlr(text, "other").accepts("y")


def test_all_problems_of_a_text() -> None:
    text = "grammar G;\na : b 'x ;\nc\n  : C ( 'y' ;\nd : e | \"g\" ;\nfragment C : [z-a] ;\nf : q a c d ;"
    assert [(one.position, one.kind) for one in problems(text, "antlr", "f")] == [
        ((2, 5), "undefined_nonterminal"),
        ((2, 7), "syntax"),
        ((4, 13), "syntax"),
        ((5, 5), "undefined_nonterminal"),
        ((5, 9), "syntax"),
        ((6, 15), "syntax"),
        ((7, 5), "undefined_nonterminal"),
    ]


#: A grammar of JSON with the rules of the one that ANTLR's book has.
JSON = r"""
grammar JSON;
json : value EOF ;
obj : '{' pair (',' pair)* '}' | '{' '}' ;
pair : STRING ':' value ;
arr : '[' value (',' value)* ']' | '[' ']' ;
value : STRING | NUMBER | obj | arr | 'true' | 'false' | 'null' ;
STRING : '"' (ESC | SAFE)* '"' ;
fragment ESC : '\\' (["\\/bfnrt] | UNICODE) ;
fragment UNICODE : 'u' HEX HEX HEX HEX ;
fragment HEX : [0-9a-fA-F] ;
fragment SAFE : ~["\\\u0000-\u001F] ;
NUMBER : '-'? INT ('.' [0-9]+)? EXP? ;
fragment INT : '0' | [1-9] [0-9]* ;
fragment EXP : [Ee] [+\-]? [0-9]+ ;
WS : [ \t\n\r]+ -> skip ;
"""


@pytest.mark.parametrize("notation", ["kbnf", "gbnf", "lark"])
def test_conversion(notation: str) -> None:
    grammar = Grammar.from_antlr(JSON)
    again = Grammar.from_text(wb.export(grammar, notation), notation)
    for text in (' { "a" : [ 1 , -2.5e+7 , "\\u00e9" ] } ', "null", "[[]]"):
        assert grammar.accepts(text)
        assert again.accepts(text)
    for text in ("", "[1,]", "01", '"\t"', "nul l"):
        assert not grammar.accepts(text)
        assert not again.accepts(text)
    for sample in wb.samples(grammar, 20, seed=1):
        assert again.accepts(sample)
    with pytest.raises(ParseError):
        Grammar.from_antlr(JSON.replace("'{' '}'", "'{' '}"))
