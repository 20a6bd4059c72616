"""``workbench grade``: the table, what it does with files that cannot be read, how it exits."""

from __future__ import annotations

import csv
import io
import random
import time
from pathlib import Path

import pytest

from tests.cli.test_cli import run
from workbench.app.cli.grade import COLUMNS
from workbench.app.exercises.exercise_reader import encode_exercise, exercises

TASK = """
task = "An even number of a, and any number of b."
regex = "(b*ab*a)*b*"
notations = ["regex", "kbnf"]
conditions = { no_alternation = true }
"""


@pytest.fixture
def task(tmp_path: Path) -> str:
    path = tmp_path / "even.toml"
    path.write_text(TASK, "utf-8")
    return str(path)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_folder_with_all_kinds_of_answers(task: str, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    (folder / "group").mkdir(parents=True)
    contents = {
        "a.regex": b"b*(ab*ab*)*\n",
        "b.regex": b"[ab]*",
        "c.regex": b"(aa)*",
        "d.regex": b"(b|ab*a)*",
        "e.regex": b"",
        "f.regex": b"ab(",
        "g.regex": b"\xff",
        "h.regex": b"((a{1000}){1000}){1000}",
        "i.regex": b"(a|b)*a(a|b){30}",
        "j.txt": b"b*",
        "k.kbnf": b"start ::= #'b*';\nstart ::= ",
        "l.gbnf": b'root ::= "b"* ("a" "b"* "a" "b"*)*',
        "m.regex": "=1+é*".encode(),
        "group/n.kbnf": b"start ::= 'b'* ('a' 'b'* 'a' 'b'*)*;",
        ".hidden.regex": b"",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    result = run("grade", task, str(folder))
    assert result.exit_code == 1
    found = {Path(row["file"]).name: row for row in rows(result.stdout)}
    assert tuple(rows(result.stdout)[0]) == COLUMNS
    assert {name: row["verdict"] for name, row in found.items()} == {
        "a.regex": "right",
        "b.regex": "wrong",
        "c.regex": "wrong",
        "d.regex": "refused",
        "e.regex": "unreadable",
        "f.regex": "unreadable",
        "g.regex": "unreadable",
        "h.regex": "unreadable",
        "i.regex": "wrong",
        "j.txt": "unreadable",
        "k.kbnf": "unreadable",
        "l.gbnf": "refused",
        "m.regex": "wrong",
        "n.kbnf": "right",
    }
    assert (found["b.regex"]["counterexample"], found["b.regex"]["gained_or_lost"]) == (
        '"a"',
        "gained",
    )
    assert (found["c.regex"]["counterexample"], found["c.regex"]["gained_or_lost"]) == (
        '"b"',
        "lost",
    )
    assert found["m.regex"]["counterexample"] == '""'
    assert found["d.regex"]["unmet_conditions"] == "without |: it has an alternative"
    assert "written as Regex or KBNF" in found["l.gbnf"]["unmet_conditions"]
    assert (found["k.kbnf"]["line"], found["k.kbnf"]["column"]) == ("2", "7")
    assert found["a.regex"]["credit"] == "1.000"
    for refused in ("d.regex", "l.gbnf"):
        assert (found[refused]["credit"], found[refused]["language_credit"]) == ("0.000", "1.000")
    assert 0 < float(found["b.regex"]["credit"]) < 1
    assert found["b.regex"]["credit"] == found["b.regex"]["language_credit"]
    assert found["f.regex"]["credit"] == "0.000"
    assert f"{folder}/f.regex:1:" in result.stderr
    assert f"{folder}/g.regex: the file is not UTF-8: byte 1" in result.stderr
    assert "14 answers: 2 right, 4 wrong, 2 refused, 6 unreadable" in result.stderr
    assert "refused answers have credit 0" in result.stderr


def test_all_read_exits_with_0_and_writes_a_file(task: str, tmp_path: Path) -> None:
    (tmp_path / "a.regex").write_text("b*", "utf-8")
    (tmp_path / "b.txt").write_text("b*(ab*ab*)*", "utf-8")
    out = tmp_path / "out.csv"
    answers = [str(tmp_path / name) for name in ("a.regex", "b.txt")]
    result = run("grade", task, *answers, "-o", str(out), "--notation", "regex")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert [row["verdict"] for row in rows(out.read_text("utf-8"))] == ["wrong", "right"]
    assert "refused" not in result.stderr


def test_the_task_is_a_name_or_a_link(tmp_path: Path) -> None:
    answer = tmp_path / "a.regex"
    answer.write_text("yes|no", "utf-8")
    link = f"https://example.org/page#{encode_exercise(exercises()['yes_no'])}"
    for named in ("yes_no", link):
        result = run("grade", named, str(answer))
        assert result.exit_code == 0
        assert rows(result.stdout)[0]["verdict"] == "right"


def test_undecided_says_up_to_which_length(tmp_path: Path) -> None:
    answer = tmp_path / "a.kbnf"
    answer.write_text("start ::= x | y | ''; x ::= 'a' start 'b'; y ::= 'aa' start 'bb';", "utf-8")
    result = run("grade", "a_n_b_n", str(answer), "--seconds", "0.2")
    row = rows(result.stdout)[0]
    assert row["verdict"] == "undecided"
    assert int(row["compared_up_to"]) > 5


def test_error_for_wrong_use(task: str, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    for arguments, message in (
        (("no_such", str(tmp_path)), "there is no exercise 'no_such'"),
        ((task, str(tmp_path / "x.regex")), "there is no file"),
        ((task, str(tmp_path / "nothing")), "there are no answers"),
        ((task, str(tmp_path), "--notation", "bnf"), "expected one of regex"),
    ):
        result = run("grade", *arguments)
        assert result.exit_code == 2
        assert message in result.stderr


@pytest.mark.slow
def test_two_hundred_answers_take_less_than_20_seconds(tmp_path: Path) -> None:
    """All different, half of them with a stack; the longest comparison of each is half a second."""
    choose = random.Random(1)
    for number in range(200):
        left, right = choose.choice(["a", "aa", "(a)"]), choose.choice(["b", "bb", "b"])
        body = f"'{left}' start '{right}' | '{'a' * (number % 7)}{'b' * (number % 5)}' | ''"
        (tmp_path / f"{number}.kbnf").write_text(f"start ::= {body}; (* {number} *)", "utf-8")
    began = time.process_time()
    result = run("grade", "a_n_b_n", str(tmp_path))
    assert time.process_time() - began < 20
    found = rows(result.stdout)
    assert len(found) == 200
    assert {"wrong"} < {row["verdict"] for row in found}
