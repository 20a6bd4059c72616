"""Lesson files: errors are reported with their place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workbench.app.lessons.lesson_reader import lessons, read_lesson
from workbench.app.lessons.lesson_world import World, token_bytes
from workbench.base.errors import WorkbenchError
from workbench.grammar.notations import Notation

ROOT = Path(__file__).parent.parent.parent

GOOD = """
title = "T"
aim = "You can."
source = "A book"
regex = "ab"
tokens = ["a", "b"]
[[steps]]
title = "S"
text = '''
One
line.

Two.
'''
figure = { kind = "characters", text = "ab" }
question = { kind = "number", ask = "How many?", of = "states of the automaton" }
"""


def _read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    return read_lesson(path)


def test_a_lesson_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, "utf-8")
    lesson = read_lesson(path)
    (step,) = lesson.steps
    assert (lesson.name, lesson.title, step.source) == ("mine", "T", "A book")
    assert step.paragraphs == ("One line.", "Two.")
    assert step.world.regex == "ab"
    assert step.figure is not None
    assert step.figure.settings == {"text": "ab"}
    assert step.question is not None
    assert step.question.ask == "How many?"


def test_a_step_with_its_own_language_keeps_the_tokens(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace('title = "S"', 'title = "S"\nkbnf = "start ::= \'b\';"'), "utf-8")
    (step,) = read_lesson(path).steps
    assert (step.world.regex, step.world.tokens) == ("", ("a", "b"))
    assert step.world.grammar.accepts("b")


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ('title = "T"', "", "mine.toml: expected a text as 'title'"),
        ('title = "S"', "", "mine.toml: step 1: expected a text as 'title'"),
        ("[[steps]]", "[steps]", r"expected at least one \[\[steps\]\]"),
        ("title = \"T\"", 'title = "T', "mine.toml: this is not TOML"),
        ('aim =', "goal = 1\naim =", "the lesson has no 'goal'"),
        ('"characters"', '"chars"', "step 1: expected a figure, not 'chars'"),
        ('ask = "How many?", ', "", "expected 'ask', a sentence, in the question"),
        ("figure =", "regex = 'a'\nkbnf = 'b'\nfigure =", "expected one of regex and kbnf, not both"),
        ("figure =", "open = true\nfigure =", "expected a table as 'open'"),
        ("figure =", "open = { example = 'none' }\nfigure =", "expected an example of the gallery"),
        ("figure =", "tokens = [1]\nfigure =", "expected a list of texts as 'tokens'"),
        ("figure =", "figur = 1\nfigure =", "a step has no 'figur'"),
    ],
)  # fmt: skip
def test_error_has_its_place(tmp_path: Path, old: str, new: str, reported: str) -> None:
    assert old in GOOD
    with pytest.raises(WorkbenchError, match=reported):
        _read(tmp_path, GOOD.replace(old, new, 1))


def test_bytes_in_tokens() -> None:
    assert token_bytes("<0xC3>") == b"\xc3"
    assert token_bytes("é<0x21>") == "é!".encode()


@pytest.mark.parametrize(
    ("chances", "reported"),
    [
        ({"": {"a": 0.5}}, "add up to 1"),
        ({"": {"z": 1.0}}, "expected tokens of the step"),
    ],
)
def test_error_when_chances_are_no_distribution(
    chances: dict[str, dict[str, float]], reported: str
) -> None:
    with pytest.raises(WorkbenchError, match=reported):
        World(text="a", tokens=("a", "b"), chances=chances).model  # noqa: B018  # made when asked


def test_error_when_a_world_lacks_a_part() -> None:
    with pytest.raises(WorkbenchError, match="expected a regex or a grammar in this step"):
        World().grammar  # noqa: B018
    with pytest.raises(WorkbenchError, match="expected tokens"):
        World(text="a").vocabulary  # noqa: B018
    with pytest.raises(WorkbenchError, match="needs no stack"):
        World(notation=Notation.KBNF, text="start ::= 'a' start 'b' | 'c';").dfa  # noqa: B018


def test_sources_in_the_repository_exist() -> None:
    sources = [step.source for lesson in lessons().values() for step in lesson.steps]
    paths = [
        path for source in sources for path in re.findall(r"(?:workbench|tests)/[\w/.]+", source)
    ]
    assert len(paths) >= 8
    assert [path for path in paths if not (ROOT / path.rstrip(".")).is_file()] == []
    assert not [source for source in sources if "project's reference" in source]


def test_figures_of_the_lesson_on_audits_are_those_of_the_table() -> None:
    page = (ROOT / "docs/audits.md").read_text("utf-8")
    row = r"^\| {} ([\d.]+) \| \d+ \| \d+ \| \d+ \| (\d+) \| (\d+) \| (\d+) \|"
    found = [
        re.search(row.format(name), page, re.M) for name in ("xgrammar", "llguidance", "outlines")
    ]
    (v1, all1, over1, under1), (v2, all2, over2, under2), (v3, all3, over3, under3) = (
        one.groups() for one in found if one
    )
    text = " ".join(" ".join(lessons()["auditing"].steps[-1].paragraphs).split())
    assert (
        f"{all1} schemas were audited with xgrammar {v1}: {over1} over-constraining, {under1} "
        f"under-constraining. With llguidance {v2} they were {over2} and {under2} of {all2}, and "
        f"with Outlines {v3} {over3} and {under3} of {all3}."
    ) in text
