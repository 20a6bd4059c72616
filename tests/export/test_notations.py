"""The text of exported KBNF, GBNF and Lark, construct by construct."""

from __future__ import annotations

import pytest

from workbench.automata.build import regex_dfa
from workbench.base.errors import BuildError
from workbench.base.source import Source, Span
from workbench.grammar.export.registry import EXPORTS, export, named_by_suffix
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build
from workbench.syntax.grammar_tree import (
    Automaton,
    Expression,
    GrammarTree,
    Literal,
    Nonterminal,
    Repetition,
    Rule,
    Sequence,
)
from workbench.syntax.regex.parser import parse_regex

HERE = Span(0, 1)

#   KBNF                                      GBNF, Lark, why
WRITTEN = [
    ("start ::= 'a\\n\"' | \"\\\\\" start;",
     'root ::= "a\\n\\"" | "\\\\" root\n',
     'start: "a\\n\\"" | "\\\\" start\n',             "strings, and the name of the start rule"),
    ("start ::= a_b aB; a_b ::= 'x'; aB ::= 'y';",
     'root ::= a-b aB\na-b ::= "x"\naB ::= "y"\n',
     'start: a_b ab\na_b: "x"\nab: "y"\n',            "names as each notation has them"),
    ("start ::= root Root; root ::= 'x'; Root ::= 'y';",
     'root ::= root-2 Root\nroot-2 ::= "x"\nRoot ::= "y"\n',
     'start: root root_2\nroot: "x"\nroot_2: "y"\n',  "no two names are one"),
    ("start ::= true Regex true_2; true ::= 'x'; Regex ::= 'y'; true_2 ::= 'z';",
     'root ::= true-2 Regex-2 true-2-2\ntrue-2 ::= "x"\nRegex-2 ::= "y"\ntrue-2-2 ::= "z"\n',
     'start: true regex true_2\ntrue: "x"\nregex: "y"\ntrue_2: "z"\n', "what xgrammar takes for values and macros"),
    ("start ::= #'[a-z]{2,3}[^\\\\]^-]?';",
     "root ::= [a-z]{2,3} [^\\u002D\\]\\u005E]?\n",
     "start: /[a-z]/~2 .. 3 /[^\\-\\]\\^]/?\n",          "regexes in strings and sets"),
    ("start ::= ('x' | '') 'y';",
     'root ::= ("x" | "") "y"\n',
     'start: "x"? "y"\n',                             "Lark has no empty string"),
    ("start ::= #'a*' 'b';",
     'root ::= "a"* "b"\n',
     'start: /a+/? "b"\n',                            "and no terminal that may read nothing"),
    ("start ::= #'a+' 'ab';",
     'root ::= "a"+ "ab"\n',
     'start: "a"+ "ab"\n',                            "/a+/ would leave no a"),
    ("start ::= 'é' #'[😀-😎]' '\\u{7}' '\\u{AD}';",
     'root ::= "é" [😀-😎] "\\u0007" "\\u00AD"\n',
     'start: "é" /[😀-😎]/ "\\u0007" "\\u00ad"\n',     "characters that are seen, and that are not"),
    ("(* one *) start ::= a; (* of a\n  twice *)\n(* two *)\na ::= 'x'; (* beside *)",
     '# one\n# of a\n# twice\nroot ::= a\n\n# two\n# beside\na ::= "x"\n',
     '// one\n// of a\n// twice\nstart: a\n\n// two\n// beside\na: "x"\n', "comments before, beside, behind"),
    ("start ::= 'x'; gone ::= 'y';",
     'root ::= "x"\n',
     'start: "x"\n',                                  "what no text reaches is left out"),
]  # fmt: skip


@pytest.mark.parametrize(("kbnf", "gbnf", "lark", "because"), WRITTEN, ids=[r[-1] for r in WRITTEN])
def test_a_grammar_is_written_in_every_notation(
    kbnf: str, gbnf: str, lark: str, because: str
) -> None:
    grammar = Grammar.from_kbnf(kbnf)
    assert export(grammar, "gbnf") == gbnf, because
    assert export(grammar, "lark") == lark, because
    assert export(grammar, "kbnf") == kbnf, "a text of the same notation is unchanged"


#   GBNF                                      KBNF, why
TO_KBNF = [
    ('root ::= a-b?\na-b ::= "x" # two',
     "start ::= a_b?;\n\n(* two *)\na_b ::= 'x';\n",                 "names and comments"),
    ('# ends *) early\nroot ::= "x"',
     "(* ends * ) early *)\nstart ::= 'x';\n",                        "the end of a comment in one"),
    ('root ::= [a-z]{2,5}',
     "start ::= #'[a-z]{2,5}';\n",                                   "a count of a set is a regex"),
    ('root ::= r{3} "."\nr ::= "x" r "y" | "z"',
     "start ::= (r r r) '.';\nr ::= 'x' r 'y' | 'z';\n",             "a count of a rule is written out"),
    ('root ::= r{2,} "."\nr ::= "x" r "y" | "z"',
     "start ::= (r r+) '.';\nr ::= 'x' r 'y' | 'z';\n",              "and one without end"),
]  # fmt: skip


@pytest.mark.parametrize(("gbnf", "kbnf", "because"), TO_KBNF, ids=[row[-1] for row in TO_KBNF])
def test_to_kbnf(gbnf: str, kbnf: str, because: str) -> None:
    assert export(Grammar.from_gbnf(gbnf), "kbnf") == kbnf, because


def test_regexes_keep_their_words_in_kbnf() -> None:
    assert (
        export(Grammar.from_regex("(?P<y>[0-9]+)-x"), "kbnf") == "start ::= #'(?P<y>[0-9]+)-x';\n"
    )
    shared = export(Grammar.from_regex(r"x\Z"), "kbnf")  # Rust reads no \Z
    assert shared == "start ::= #'x';\n"


def test_many_copies_are_rules_of_rules() -> None:
    text = export(Grammar.from_gbnf('root ::= r{0,1000}\nr ::= "(" r ")" | "x"'), "kbnf")
    assert len(text) < 20_000
    assert max(map(len, text.splitlines())) < 200
    again = Grammar.from_kbnf(text)
    assert again.accepts("x" * 1000)
    assert again.accepts("(x)" * 17)
    assert not again.accepts("x" * 1001)
    exact = Grammar.from_kbnf(
        export(Grammar.from_gbnf('root ::= r{77}\nr ::= "(" r ")" | "x"'), "kbnf")
    )
    assert [n for n in range(70, 80) if exact.accepts("x" * n)] == [77]


def made(*items: Expression) -> Grammar:
    """A grammar of a row of items, as a maker of trees builds it."""
    tree = GrammarTree((Rule("start", Sequence(items, HERE), HERE, HERE),), Source("?", "made"))
    return Grammar(tree.source, Notation.JSON_SCHEMA, build(tree), tree=tree)


def machine(pattern: str) -> Automaton:
    regex = parse_regex(Source(pattern, "regex"))
    return Automaton(regex_dfa(regex), "any word", HERE)


def test_machines_are_rules_by_their_labels() -> None:
    long = machine("[a-z]{3}-[A-Z]{3}-[0-9]{3}-[α-ω]{3}-[!-/]{3}")
    text = export(made(long, Literal(b" ", HERE), long), "gbnf")
    assert text.startswith('root ::= any-word " " any-word\nany-word ::= [a-z]{3} "-" [A-Z]{3}')
    assert text.count("any-word ::=") == 1
    assert export(made(machine("[a-z]+")), "gbnf") == "root ::= [a-z]+\n", "short ones stay inside"


def test_machines_without_a_short_regex_are_rules_of_states() -> None:
    word = bytes(97 + n * n % 26 for n in range(80))
    tree = f"start ::= '<' #substrs'{word.decode()}' '>';"
    grammar = Grammar.from_kbnf(tree)
    again = Grammar.from_gbnf(export(grammar, "gbnf"))
    for text in (b"<>", b"<" + word + b">", b"<" + word[7:30] + b">", b"<" + word[:9] + b"!>"):
        assert again.accepts(text) == grammar.accepts(text)


#   grammar                                                   notation   message
REFUSED = [
    ("start ::= '(' start? ')' except!('a', 1) except!('b', 1);", "gbnf", "two terminals that may share a character"),
    ("start ::= #'(?P<TEXT_TOKEN>)' 'x';",                     "lark",    "the label TEXT_TOKEN"),
]  # fmt: skip


@pytest.mark.parametrize(("kbnf", "notation", "message"), REFUSED, ids=[r[-1] for r in REFUSED])
def test_error_for_what_has_no_sign(kbnf: str, notation: str, message: str) -> None:
    with pytest.raises(BuildError, match=message) as caught:
        export(Grammar.from_kbnf(kbnf), notation)
    assert caught.value.span.start > 0
    assert caught.value.hint


#   notation, text, as KBNF, as a regex
LABELLED = [
    (Notation.REGEX, "[a-c]+(?P<TEXT_TOKEN>)x", "start ::= #'[a-c]+(?P<TEXT_TOKEN>)x';\n", ""),
    (Notation.REGEX, r"(?a:\w)(?P<IMAGE>)?", "start ::= #'[0-9A-Z_a-z](?P<IMAGE>)?';\n", ""),
    (Notation.REGEX, "(?P<IMAGE>)(?P<TEXT_UNTIL>a)", "start ::= #'(?P<IMAGE>)(?P<TEXT_UNTIL>a)';\n", ""),
    (Notation.KBNF, "start ::= x (#'(?P<IMAGE>)')? x;x ::= 'a';", "", "a(?P<IMAGE>)?a"),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "kbnf", "regex"), LABELLED)
def test_labels_stay_labels_where_regexes_know_them(
    notation: Notation, text: str, kbnf: str, regex: str
) -> None:
    grammar = Grammar.from_text(text, notation)
    assert export(grammar, "kbnf") == (kbnf or text)
    assert export(grammar, "regex") == (regex or text)
    with pytest.raises(BuildError, match="cannot say the label"):
        export(grammar, "outlines")


def test_error_for_a_label_next_to_an_automaton() -> None:
    grammar = Grammar.from_regex(r"\w(?P<IMAGE>)(?P<TEXT_UNTIL>a)")
    with pytest.raises(
        BuildError, match=r"KBNF cannot say the label IMAGE.*, in addition to parts"
    ):
        export(grammar, "kbnf")


def test_error_for_bytes_that_are_no_text() -> None:
    for notation in ("kbnf", "gbnf", "lark"):
        with pytest.raises(BuildError, match="not valid UTF-8"):
            export(made(Literal(b"\xff", HERE)), notation)


def test_halves_of_characters_in_a_language_without_a_stack() -> None:
    grammar = Grammar.from_kbnf("start ::= except!('a', 1) except!('b', 1);")  # é is one byte each
    again = Grammar.from_gbnf(export(grammar, "gbnf"))
    assert [t for t in ("é", "xy", "ab", "ba", "é!", "bb") if again.accepts(t)] == ["é", "xy", "ba"]


def test_recursion_that_a_rule_hides_keeps_its_signs() -> None:
    inner = Repetition(Nonterminal("start", HERE), 0, 1, HERE)
    grammar = made(Literal(b"(", HERE), inner, Literal(b")", HERE))
    assert export(grammar, "gbnf") == 'root ::= "(" root? ")"\n'
    assert export(grammar, "kbnf") == "start ::= '(' start? ')';\n"


def test_notations_by_the_ends_of_names() -> None:
    found = [named_by_suffix(f"x{one.suffix}") for one in EXPORTS.values()]
    assert found[:6] == ["kbnf", "gbnf", "lark", "regex", "machine", "machine"]
    assert found[6:8] == ["structural_tag", "request"]
    assert set(found[8:]) == {"transformers"}
    assert named_by_suffix("x.txt") is None
