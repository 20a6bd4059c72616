"""``workbench parse``: the parse trees of texts."""

from __future__ import annotations

import json

from typer.testing import CliRunner, Result

from workbench.app.cli.main import app

SUMS = "start ::= start '+' start | #'[0-9]';"


def parse(*arguments: str, stdin: str = SUMS) -> Result:
    return CliRunner().invoke(app, ["parse", "--kbnf", "-", *arguments], input=stdin)


def test_the_tree_is_printed() -> None:
    result = parse("1")
    assert result.exit_code == 0
    assert result.stdout == "1 tree\n\nstart\n  '1'\n"


def test_both_trees_are_printed() -> None:
    result = parse("1+2+3")
    assert result.exit_code == 0
    assert result.stdout.startswith("2 trees\n\nstart\n  start\n    start\n")
    assert result.stdout.count("start\n") == 2 * 5


def test_json_has_the_spans() -> None:
    found = json.loads(parse("1+2", "--json").stdout)
    assert (found["count"], found["accepted"], found["second"]) == (1, True, None)
    plus = found["first"][3]
    assert (plus["text"], plus["parent"], plus["characters"]) == ("+", 0, [1, 2])
    assert SUMS[slice(*plus["source"])] == "'+'"


def test_error_a_text_that_is_not_accepted() -> None:
    result = parse("1+", "1+x")
    assert result.exit_code == 1
    assert "unfinished tree; expected a digit" in result.stdout
    assert "no tree; cannot read 'x'; expected a digit" in result.stdout
