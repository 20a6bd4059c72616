"""Advice on a tree: the message, the span, and the fix."""

from __future__ import annotations

import time

import pytest

from workbench.analysis.advice import advice, lint, tree_advice
from workbench.base.diagnostics import Advice
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

UNENDING = "has no end: a model may never leave it"

#   grammar
#   piece it is about, kind, message, hint, fix
KBNF: list[tuple[str, list[tuple[str, str, str, str, str | None]]]] = [
    ("start ::= 'a' b; b ::= 'b' | 'c'; c ::= 'd';", [
        ("c ::= 'd';", "unreachable_rule", "the rule 'c' is never used",
         "delete it, or call it from a rule that 'start' reaches", ""),
    ]),
    ("start ::= except!(mark) mark; mark ::= '!' | '?';", []),
    ("start ::= 'a' | 'b' z; z ::= 'c' z;", [
        ("'b' z", "unproductive", "no text can be derived from this, so it is left out",
         "give 'z' an alternative that has a text", None),
        ("z", "unproductive", "the rule 'z' never ends: no text can be derived from it",
         "give it an alternative that does not call it again", None),
    ]),
    (r"start ::= 'a' | #'[^\\s\\S]';", [
        (r"#'[^\\s\\S]'", "unproductive", "no text can be derived from this, so it is left out",
         "delete it", None),
    ]),
    ("start ::= 'x' | #ex'a*';", [
        ("#ex'a*'", "nullable_complement",
         "this complement excludes every text: its regex matches the empty text, which is part of them all",
         "let the regex match at least one character", None),
    ]),
    ("start ::= 'x' #e'a*|b?';", [
        ("#e'a*|b?'", "nullable_first_match",
         "the empty match of this regex never counts: #e reads at least one byte, up to the first match",
         "write the regex without the empty match, or follow the terminal with '?'", None),
    ]),
    ("start ::= 'x' #e'a+' #ex'a+' #'a*';", []),
    ("start ::= 'x' #'[0-9]*';", [
        ("[0-9]*", "unbounded_loop", f"this repetition of digits {UNENDING}",
         "bound it, for instance with {0,8}", "[0-9]{0,8}"),
    ]),
    (r"start ::= 'x' #'a\\s+b';", [
        (r"\\s+", "unbounded_loop", f"this repetition of white space {UNENDING}",
         "bound it, for instance with {1,8}", r"\\s{1,8}"),
    ]),
    ("start ::= 'x' #'[0-9]{6,}';", [
        ("[0-9]{6,}", "unbounded_loop", f"this repetition of digits {UNENDING}",
         "bound it, for instance with {6,12}", "[0-9]{6,12}"),
    ]),
    (r"start ::= 'x' #'[0-9 ]*?';", [
        ("[0-9 ]*?", "unbounded_loop", f"this repetition of white space and digits {UNENDING}",
         "bound it, for instance with {0,8}", "[0-9 ]{0,8}"),
    ]),
    ("start ::= 'x' #'[0-9]'+;", [
        ("#'[0-9]'+", "unbounded_loop", f"this repetition of digits {UNENDING}",
         "write it as a regex with an end, such as #'[0-9]{1,8}'", "#'[0-9]{1,8}'"),
    ]),
    ("start ::= 'x' {' '};", [
        ("{' '}", "unbounded_loop", f"this repetition of white space {UNENDING}",
         "write it as a regex with an end, such as #' {0,8}'", "#' {0,8}'"),
    ]),
    ("start ::= 'x' digit*; digit ::= #'[0-9]';", [
        ("digit*", "unbounded_loop", f"this repetition of digits {UNENDING}",
         "write it as a regex with an end, such as #'…{0,8}'", None),
    ]),
    ("start ::= 'x' ws; ws ::= (#'[ \\t]' ws)?;", [
        ("ws", "unbounded_loop", "'ws' calls itself without end to read white space: a model may never leave it",
         "write it as one regex with an end, such as #'…{0,8}'", None),
    ]),
    ("start ::= 'x' (#'[0-9]'+)*;", [
        ("(#'[0-9]'+)*", "unbounded_loop", f"this repetition of digits {UNENDING}",
         "write it as a regex with an end, such as #'…{0,8}'", None),
    ]),
    ("start ::= 'x' '-'+ ('+' '-')*;", [
        ("'-'+", "unbounded_loop", f"this repetition of punctuation {UNENDING}",
         "write it as a regex with an end, such as #'-{1,8}'", "#'-{1,8}'"),
    ]),
    ("start ::= 'x' #'[a-z]*' #'.'* #'[0-9]{3}' #'(1,)*' #'[0-9]?';", []),
    ("start ::= 'x' | y; y ::= 'y'; unused ::= #'[0-9]*';", [
        ("unused ::= #'[0-9]*';", "unreachable_rule", "the rule 'unused' is never used",
         "delete it, or call it from a rule that 'start' reaches", ""),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), KBNF, ids=[text for text, _ in KBNF])
def test_error_advice_on_rules(
    text: str, expected: list[tuple[str, str, str, str, str | None]]
) -> None:
    tree = Grammar.from_kbnf(text).tree
    assert tree is not None
    found = advice(tree)
    assert [
        (text[one.span.start : one.span.end], one.kind, one.message, one.hint, one.fix)
        for one in found
    ] == expected


#   grammar                                  why its fix is right: the language it comes to
FIXED = [
    ("start ::= 'x' #'[0-9]*';",             ["x", "x1", "x12345678"], ["x123456789"]),
    ("start ::= 'x' #'[0-9]'+;",             ["x1", "x12345678"], ["x", "x123456789"]),
    ("start ::= 'x' '\\t'* 'y';",            ["xy", "x\t\ty"], ["x" + "\t" * 9 + "y"]),
    ("start ::= 'x' '*'+;",                  ["x*", "x" + "*" * 8], ["x", "x" + "*" * 9]),
    ("start ::= 'x' '\\\\'+;",               ["x\\", "x\\\\"], ["x", "x" + "\\" * 9]),
    ("start ::= 'x' \"]\"*;",                ["x", "x]]"], ["x" + "]" * 9]),
    ("start ::= 'x' '^'+;",                  ["x^"], ["x"]),
    ("start ::= 'x' '\\''+;",                ["x'"], ["x"]),
    ("start ::= 'x'; y ::= 'z';",            ["x"], ["z"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "accepts", "rejects"), FIXED, ids=[text for text, *_ in FIXED])
def test_a_fix_gives_a_grammar(text: str, accepts: list[str], rejects: list[str]) -> None:
    (one,) = tree_advice(Grammar.from_kbnf(text))
    assert one.fix is not None
    mended = Grammar.from_kbnf(text[: one.span.start] + one.fix + text[one.span.end :])
    assert tree_advice(mended) == ()
    assert [mended.accepts(sample) for sample in accepts] == [True] * len(accepts)
    assert [mended.accepts(sample) for sample in rejects] == [False] * len(rejects)


#   regex             pieces that loop
REGEXES = [
    (r"\d+",          [(r"\d+", r"\d{1,8}")]),
    (r"a( *b)*",      [(" *", " {0,8}")]),
    (r"(?x) a [0-9] *", [("[0-9] *", "[0-9]{0,8}")]),
    (r"(\d\d)*x",     [(r"(\d\d)*", r"(\d\d){0,8}")]),
    (r"\s*,\s*",      [(r"\s*", r"\s{0,8}")] * 2),
    (r"\w+|[^x]*",    []),
    (r"\d{1,9}",      []),
    (r"=+x[.!?]*",   [("=+", "={1,8}"), ("[.!?]*", "[.!?]{0,8}")]),
    (r"(-)*([a.])*(--)*", [("(-)*", "(-){0,8}")]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "expected"), REGEXES, ids=[pattern for pattern, _ in REGEXES])
def test_advice_on_a_regex(pattern: str, expected: list[tuple[str, str]]) -> None:
    found = tree_advice(Grammar.from_regex(pattern))
    assert [(pattern[one.span.start : one.span.end], one.fix) for one in found] == expected
    assert {one.kind for one in found} <= {"unbounded_loop"}


#   regex             pieces that match nothing, why
UNMATCHED = [
    (r"a[^\s\S]|b",     [r"[^\s\S]"], "the set in a branch"),
    (r"b(x|[^\s\S])?",  [r"[^\s\S]"], "inside a group"),
    (r"[^\s\S]",        [r"[^\s\S]"], "all of it"),
    (r"b[^\s\S]*",      [r"[^\s\S]"], "what may be left out"),
    (r"[^a]",           [], "a set with members"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "expected", "why"), UNMATCHED, ids=[why for *_, why in UNMATCHED]
)
def test_parts_of_a_regex_that_match_nothing(pattern: str, expected: list[str], why: str) -> None:
    found = [one for one in tree_advice(Grammar.from_regex(pattern)) if one.kind == "unproductive"]
    assert [pattern[one.span.start : one.span.end] for one in found] == expected, why
    assert {one.severity for one in found} <= {"warning"}


def test_conflicts_are_advice_at_their_rule() -> None:
    text = "start ::= 'x' s; s ::= 'if ' s ('else ' s)? | 'y ';"
    ambiguous, one = lint(Grammar.from_kbnf(text)).advice
    assert ambiguous.kind == "ambiguous"
    assert one == Advice(
        "after 'xif if y ', 'e' can belong to 's' or to the 's' around it",
        one.span,
        "conflict",
        "the engine follows both; a deterministic grammar would let them begin with different "
        "characters, or mark where the first one ends",
    )
    assert (one.span.start, one.span.end) == (text.index("s ::="), text.index("s ::=") + 1)


@pytest.mark.slow
def test_long_chains_of_rules_take_no_long_time() -> None:
    rules = [f"r{i} ::= r{i + 1} 'x';" for i in range(2_000)]
    tree = Grammar.from_kbnf(f"start ::= r0; {' '.join(rules)} r2000 ::= 'y' ' '*;").tree
    assert tree is not None
    began = time.thread_time()
    assert [one.kind for one in advice(tree)] == ["unbounded_loop"]
    assert time.thread_time() - began < 10


@pytest.mark.parametrize("name", list(load_gallery()))
def test_gallery_costs_little(name: str) -> None:
    example = load_gallery()[name]
    grammar = Grammar.from_text(example.text, example.notation, example.start)
    began = time.thread_time()
    found = lint(grammar, seconds=0.1).advice
    assert time.thread_time() - began < 5, "some milliseconds are needed"
    kinds = {one.kind for one in found}
    # of examples that show them; RFCs and XML have rules that another document uses
    notes = {"indentation", "nondeterministic", "longest_match", "empty_rule", "unreachable_rule"}
    assert kinds <= {"unbounded_loop", "conflict", "ambiguous", "unicode_class"} | notes


#   grammar                                        the rule or part   message                                               in the hint, its fix, why
CAUSES = [
    ("start ::= 'x'; a ::= b; b ::= 'y';",          "b ::= 'y';",      "the rule 'b' is used only where 'start' never leads", "delete it together with 'a'", None, "a rule that is not reached calls it"),
    ("start ::= 'x'; a ::= 'y' a?;",                "a ::= 'y' a?;",   "the rule 'a' is never used",                          "delete it", "", "it calls itself alone"),
    ("start ::= 'a' | x; x ::= y; y ::= y 'b';",    "x",               "no text can be derived from the rule 'x'",            "give 'y' an alternative", None, "it calls one that never ends"),
    ("start ::= 'a' | x; x ::= y; y ::= y 'b';",    "y",               "the rule 'y' never ends: no text can be derived from it", "that does not call it again", None, "it calls itself"),
    ("start ::= 'a' | x; x ::= #'[^\\\\s\\\\S]';",    "x",               "no text can be derived from the rule 'x'",            "that matches a text", None, "it calls none"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "place", "message", "hint", "fix", "why"), CAUSES, ids=[row[-1] for row in CAUSES]
)
def test_advice_names_the_cause(
    text: str, place: str, message: str, hint: str, fix: str | None, why: str
) -> None:
    found = {one.message: one for one in tree_advice(Grammar.from_kbnf(text))}
    one = found[message]
    assert text[one.span.start : one.span.end] == place, why
    assert hint in one.hint
    assert one.fix == fix


@pytest.mark.parametrize(
    ("text", "is_loop", "why"),
    [
        ("start ::= start | '1';", False, "each text is one digit"),
        ("start ::= '1' start | '1';", True, "a digit before each call"),
        ("start ::= ('1' | start '2');", True, "a digit after each call"),
        ("start ::= ('' start) | '1';", False, "nothing is read beside the call"),
    ],
)
def test_a_rule_that_calls_itself_without_reading_is_no_loop(
    text: str, is_loop: bool, why: str
) -> None:
    found = tree_advice(Grammar.from_kbnf(text))
    assert any(one.kind == "unbounded_loop" for one in found) is is_loop, why
