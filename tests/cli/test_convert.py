"""``workbench convert``: notations by names and by options, what is printed, how it exits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from workbench.app.cli.main import app

GBNF = 'root ::= "x" root | number # end\nnumber ::= [0-9]+\n'
KBNF = "(* end *)\nstart ::= 'x' start | number;\nnumber ::= #'[0-9]' +;\n"


def convert(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["convert", *map(str, arguments)], input=stdin)


@pytest.fixture
def gbnf(tmp_path: Path) -> Path:
    path = tmp_path / "g.gbnf"
    path.write_text(GBNF)
    return path


def test_files_by_their_names(gbnf: Path) -> None:
    target = gbnf.with_suffix(".lark")
    result = convert(gbnf, target)
    assert (result.exit_code, result.stdout) == (0, "")
    assert target.read_text() == '// end\nstart: "x" start | number\nnumber: /[0-9]/+\n'
    back = gbnf.with_name("back.gbnf")
    assert convert(target, back).exit_code == 0
    assert back.read_text() == '# end\nroot ::= "x" root | number\nnumber ::= [0-9]+\n'


#   arguments, stdin                                             printed, why
PRINTED = [
    (("-", "--from", "gbnf", "--to", "regex"), GBNF,             "x*[0-9]+\n",        "from a pipe into a pipe"),
    (("--regex", "a|bc", "--to", "gbnf"), None,                  'root ::= "a" | "bc"\n', "an option for the grammar"),
    (("--gbnf", "-", "--to", "lark"), 'root ::= "x"',            'start: "x"\n',      "a file of an option from a pipe"),
    (("--gbnf", "-", "-", "--to", "lark"), 'root ::= "x"',       'start: "x"\n',      "a dash for what is written"),
    (("-", "--from", "kbnf", "--start", "b", "--to", "gbnf"), "a ::= 'x'; b ::= 'y';", 'root ::= "y"\n', "another start symbol"),
    (("--example", "yes_or_no", "--to", "regex"), None,          "Yes|No\n",          "an example of the gallery"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "stdin", "wanted", "because"), PRINTED, ids=[r[-1] for r in PRINTED]
)
def test_the_converted_text_is_printed(
    arguments: tuple[str, ...], stdin: str | None, wanted: str, because: str
) -> None:
    result = convert(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (0, wanted), because


def test_a_mark_of_byte_order_is_no_part_of_the_grammar(tmp_path: Path) -> None:
    path = tmp_path / "g.gbnf"
    path.write_text('root ::= "é"\n', encoding="utf-8-sig")
    assert convert(path, "--to", "lark").stdout == 'start: "é"\n'


def test_programs_are_written_too(gbnf: Path) -> None:
    target = gbnf.with_name("run.py")
    assert convert(gbnf, target).exit_code == 0
    assert "wb.Grammar.from_gbnf(GRAMMAR)" in target.read_text()
    assert "compile_grammar(GRAMMAR)" in convert(gbnf, "--to", "xgrammar").stdout


#   arguments                                                     reported, why
WRONG = [
    ((),                                                          "expected a grammar", "nothing at all"),
    (("x.txt", "y.kbnf"),                                         "the notation of x.txt does not follow", "a name without a notation"),
    (("--regex", "a"),                                            "expected a notation to write", "no target"),
    (("--regex", "a", "--to", "abnf"),                            "there is no notation 'abnf'", "no such notation"),
    (("-", "--from", "peg", "--to", "gbnf"),                      "expected one of regex, kbnf", "none to read either"),
    (("--regex", "a", "x.gbnf", "y.lark"),                        "expected one grammar, not two", "a file and an option"),
    (("missing.gbnf", "--to", "lark"),                            "cannot read missing.gbnf", "no such file"),
    (("--regex", "a", "no/such/folder/x.gbnf"),                   "cannot write no/such/folder/x.gbnf", "no target"),
    (("--example", "json", "--to", "regex"),                      "no regex can say this", "what cannot be said"),
    (("--regex", "(", "--to", "gbnf"),                            "expected ')'", "what cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "reported", "because"), WRONG, ids=[row[-1] for row in WRONG]
)
def test_error_when(arguments: tuple[str, ...], reported: str, because: str) -> None:
    result = convert(*arguments, stdin="")
    assert result.exit_code == 2, because
    assert reported in result.stderr


def test_a_schema_laid_out_otherwise() -> None:
    schema = '{"type": "array", "items": {"const": 1}, "maxItems": 2}'
    asked = ("-", "--from", "json_schema", "--to", "regex", "--whitespace", "compact")
    result = convert(*asked, stdin=schema)
    assert result.exit_code == 0
    assert re.fullmatch(result.stdout.strip(), "[1,1]")
    assert not re.fullmatch(result.stdout.strip(), "[1, 1]")
    assert "no whitespace 'wide'" in convert(*asked[:-1], "wide", stdin=schema).stderr
