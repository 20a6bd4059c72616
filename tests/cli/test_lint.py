"""``workbench lint``: what it prints and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from workbench.analysis.advice import count_advice
from workbench.app.cli.main import app
from workbench.base.resources import GRAMMARS
from workbench.grammar.grammar import Grammar


def lint(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["lint", *arguments], input=stdin)


@pytest.mark.slow
def test_error_advice_is_printed_with_its_place() -> None:
    result = lint("--kbnf", "-", stdin="start ::= a;\na ::= '(' a ')' | #'[0-9]+';\nb ::= 'b';\n")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "-:2:21: warning: this repetition of digits has no end: a model may never leave it (unbounded_loop)",
        "  2 | a ::= '(' a ')' | #'[0-9]+';",
        "                          ^^^^^^",
        "  hint: bound it, for instance with {1,8}",
        "-:3:1: note: the rule 'b' is never used (unreachable_rule)",
        "  3 | b ::= 'b';",
        "      ^^^^^^^^^^",
        "  hint: delete it, or call it from a rule that 'start' reaches",
    ]


def test_ambiguity_and_conflicts_are_looked_for() -> None:
    text = "start ::= 'x' s; s ::= 'if ' s ('else ' s)? | 'y ';"
    result = lint("--kbnf", "-", "--json", stdin=text)
    ambiguous, conflict = map(json.loads, result.stdout.splitlines())
    assert conflict["message"] == "after 'xif if y ', 'e' can belong to 's' or to the 's' around it"
    assert ambiguous == {
        "kind": "ambiguous",
        "severity": "note",
        "message": "the rule 's' can read 'if if y else y ' in two ways",
        "hint": "either s(if  s(if  s(y ) else  s(y ))) or s(if  s(if  s(y )) else  s(y ))",
        "start": 17,
        "end": 18,
        "line": 1,
        "column": 18,
        "fix": None,
        "fix_start": None,
        "fix_end": None,
    }
    assert result.exit_code == 1


def test_error_all_errors_of_a_grammar_are_printed() -> None:
    result = lint("--kbnf", "-", stdin="start ::= a b;\nb ::= (;\nc ::= 'x;\n")
    assert result.exit_code == 2
    assert [line for line in result.stderr.splitlines() if line.startswith("error")] == [
        "error: -, line 1, column 11: the nonterminal 'a' has no rule",
        "error: -, line 2, column 7: expected something inside '('",
        "error: -, line 3, column 7: this string is never closed",
    ]


@pytest.mark.parametrize("command", ["lint", "check"])
def test_error_errors_of_a_grammar_as_json(command: str) -> None:
    text = "start ::= digit lettre;\nletter ::= 'x;\ndigit ::= '0';\n"
    arguments = (command, "--kbnf", "-", "--json", *["7"] * (command == "check"))
    result = CliRunner().invoke(app, arguments, input=text)
    undefined, unclosed = map(json.loads, result.stdout.splitlines())
    assert undefined == {
        "kind": "undefined_nonterminal",
        "severity": "error",
        "message": "the nonterminal 'lettre' has no rule",
        "hint": "did you mean 'letter'?",
        "start": 16,
        "end": 22,
        "line": 1,
        "column": 17,
        "fix": "letter",
        "fix_start": 16,
        "fix_end": 22,
    }
    assert (unclosed["severity"], unclosed["line"], unclosed["column"]) == ("error", 2, 12)
    assert result.exit_code == 2
    assert result.stderr.count("error: ") == 2


@pytest.mark.parametrize("command", ["lint", "check"])
def test_error_unreadable_file_as_json(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--kbnf", "/no/such/file", "--json"])
    record = json.loads(result.stdout)
    assert record["severity"] == "error"
    assert record["message"].startswith("cannot read /no/such/file: ")
    assert record["hint"] == "name a UTF-8 text file"
    assert record["line"] is record["start"] is record["fix"] is None
    assert result.exit_code == 2


#   arguments                                                   exit status, why
STATUS = [
    (("--regex", "[0-9]{1,8}"),                                 0, "a bounded loop"),
    (("--regex", "[0-9]+"),                                     1, "an unbounded one"),
    (("--kbnf", str(GRAMMARS / "anbn.kbnf"), "--seconds", "1"), 0, "nothing to say of a^n b^n"),
    (("--example", "kbnf_digits"),                              1, "digits of digits"),
    (("--regex", "[a-z]{1,8}", "--vocab", "builtin"),           0, "its tokens spell everything"),
    (("--regex", "("),                                          2, "cannot be read"),
    (("--kbnf", "/no/such/file"),                               2, "no such file"),
    ((),                                                        2, "no grammar"),
    (("--kbnf", str(GRAMMARS / "anbn.kbnf"), "--start", "no"),  2, "no such rule"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "status", "why"), STATUS, ids=[why for *_, why in STATUS])
def test_error_exit_status(arguments: tuple[str, ...], status: int, why: str) -> None:
    result = lint(*arguments)
    assert result.exit_code == status
    assert bool(result.stdout) == (status == 1)
    assert ("error: " in result.stderr) == (status == 2)


@pytest.mark.slow
def test_bound_of_the_search_is_on_stderr() -> None:
    result = lint("--kbnf", str(GRAMMARS / "sql.kbnf"), "--seconds", "0.2")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.startswith("no ambiguity found in texts of up to ")


def test_a_file_with_everything_wrong(tmp_path: Path) -> None:
    path = tmp_path / "all.kbnf"
    path.write_text("start ::= 'a' | z | #e'b*' | #ex'c*' ws; z ::= z 'z'; ws ::= ' '*; y ::= 'y';")
    kinds = [
        json.loads(one)["kind"] for one in lint("--kbnf", str(path), "--json").stdout.splitlines()
    ]
    assert kinds == [
        "unproductive",
        "nullable_complement",
        "unproductive",
        "unbounded_loop",
        "nullable_first_match",
        "unreachable_rule",
    ]


def test_a_large_count_is_named_as_it_is_written() -> None:
    result = lint("--gbnf", "-", stdin='root ::= "a"{1,5000}\n')
    assert "can be read in two places of '\"a\"{1,5000}' (conflict)" in result.stdout
    assert "copies" not in result.stdout
    place, *_ = (line for line in result.stdout.splitlines() if "(large_count)" in line)
    assert place == (
        "-:1:10: note: llama.cpp refuses a repetition of 2,000 times or more (large_count)"
    )
    ambiguous = lint("--gbnf", "-", stdin='root ::= ("a" | "aa"){1,5000} "b"\n')
    assert "the rule '(\"a\" | \"aa\"){1,5000}' can read 'aa' in two ways" in ambiguous.stdout
    assert "copies_" not in ambiguous.stdout


#   grammar                       whether llama.cpp refuses its count
COUNTS = [
    ('root ::= "a"{1999}',        False),
    ('root ::= "a"{2000}',        True),
    ('root ::= "a"{3,2000}',      True),
    ('root ::= ("a"{2,2500} "b")*', True),
    ('root ::= "a"{5,}',          False),
    ('root ::= "a"{9000,}',       True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "refused"), COUNTS)
def test_counts_that_llama_cpp_refuses(text: str, refused: bool) -> None:
    tree = Grammar.from_gbnf(text).tree
    advice = () if tree is None else count_advice(tree)
    assert [one.kind for one in advice] == ["large_count"] * refused
