"""Every lesson that is shipped: it can be read, shown and answered."""

from __future__ import annotations

import re

import pytest

from tests.drawing.graphs import arcs, states
from workbench.app.lessons.films import FILMS, film
from workbench.app.lessons.lesson import Answer, Film, Lesson, LessonError, Step
from workbench.app.lessons.lesson_reader import SHELVES, lesson, lessons
from workbench.app.lessons.lesson_tables import TABLES, table
from workbench.app.lessons.questions import QUESTIONS, question
from workbench.drawing.transducers import figure

STEPS = [(name, number) for name, one in lessons().items() for number in range(len(one.steps))]


def _step(name: str, number: int) -> Step:
    return lessons()[name].steps[number]


def test_lessons_are_in_their_order() -> None:
    assert list(lessons()) == [name for shelf in SHELVES.values() for name in shelf]
    assert all(isinstance(one, Lesson) and one.name == name for name, one in lessons().items())


def test_error_when_there_is_no_such_lesson() -> None:
    with pytest.raises(LessonError, match="expected a lesson, not 'schemas'"):
        lesson("schemas")


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_step_has_a_source_and_content(name: str, number: int) -> None:
    step = _step(name, number)
    assert step.title
    assert step.source
    assert step.figure or step.table
    assert step.question, "every step asks something"
    for text in (*step.paragraphs, step.caption):
        assert text.count("`") % 2 == 0, text
        assert len(re.findall(r"\*[^*\s][^*]*\*", re.sub(r"`[^`]*`", "", text))) * 2 == re.sub(
            r"`[^`]*`", "", text
        ).count("*"), text


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), STEPS)
def test_a_film_lights_only_what_is_drawn(name: str, number: int) -> None:
    step = _step(name, number)
    if step.figure is None:
        return
    made: Film = film(step.figure, step.world)
    assert made.frames
    for frame in made.frames:
        graphs = made.graphs if frame.only is None else (made.graphs[frame.only],)
        assert len(frame.views) in (0, len(graphs))
        for view, graph in zip(frame.views, graphs, strict=False):
            known = {node.id for node in graph.nodes}
            assert set(view.lit) | view.dead | (view.nodes or set()) <= known
            assert {*view.arcs, *(view.edges or ())} <= set(range(len(graph.edges)))


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_a_table_is_a_table(name: str, number: int) -> None:
    step = _step(name, number)
    if step.table is None:
        return
    made = table(step.table, step.world)
    assert made.caption
    assert made.rows
    assert {len(row) for row in made.rows} == {len(made.heads)}
    assert set(step.hidden) <= set(made.heads)


#: By hand: the right answer to every question, and one that is wrong. Options by their text.
ANSWERS: dict[tuple[str, int], tuple[set[str] | str, set[str] | str]] = {
    ("machines", 0): ({"ab"}, {"a", "ab"}),
    ("machines", 1): ("aaaaa", "aaaa"),
    ("machines", 2): ({"1", "3"}, {"3"}),
    ("machines", 3): ({"1", "2", "3", "4"}, {"2", "4"}),
    ("machines", 4): ("5", "4"),
    ("machines", 5): ("2", "3"),
    ("tokens", 0): ("f oo food", "foo food"),
    ("tokens", 1): ({"food", "foofood"}, {"food", "foodfood"}),
    ("tokens", 2): ({"f", "foo", "food"}, {"f", "foo", "food", "for"}),
    ("tokens", 3): ({"o(1"}, {"o(1", "foo"}),
    ("tokens", 4): ({"<0xA8>", "<0xA9>"}, {"<0xA8>", "<0xA9>", "é"}),
    ("composition", 0): ({"a", "aaa"}, {"aa"}),
    ("composition", 1): ({"a", "bbb", "aaaa"}, {"a", "ab"}),
    ("composition", 2): ("5", "9"),
    ("composition", 3): ("foo for", "foo f or"),
    ("composition", 4): ("3", "4"),
    ("composition", 5): ("7", "8"),
    ("composition", 6): ({"3"}, {"1"}),
    ("index", 0): ({"3.14", "42.", ".5", "(the empty text)"}, {"3.14", "42.", ".5"}),
    ("index", 1): ({"42", "1", "end"}, {"42", "1", "."}),
    ("index", 2): ("2", "4"),
    ("index", 3): ({".", "42", ".2", "1", "end"}, {"A"}),
    ("index", 4): ({"w"}, {"w", "y"}),
    ("terminals", 0): ({"("}, {"(", "o(1"}),
    ("terminals", 1): ({"r(4"}, {"r"}),
    ("terminals", 2): ({"bar  (  456  )", "foo  (  123  )"}, {"fo  o(1  2  3  )"}),
    # f 1, fo 2, foo 3, food 4, for 3, b 1, ba 2, bar 3, bar; 4, and five that fail at their first byte
    ("online", 0): ("28", "31"),
    # the five ways out of the root, and two below 1
    ("online", 1): ("7", "5"),
    ("online", 2): ("3", "1"),
    ("online", 3): ({"1", "1;", ";"}, {"1", "12"}),
    ("subterminals", 0): ({"(12)", "1+0", "00+7"}, {"(12)", "01"}),
    ("subterminals", 1): ({"+1", "(12", "2)", ")+", "+1)"}, {"+1", "1("}),
    ("subterminals", 2): ("11", "12"),
    ("subterminals", 3): ({"1", "12", "0", ")", "+"}, {"1", "+1"}),
    ("templates", 0): ("3", "8"),
    ("templates", 1): ("3", "2"),
    ("templates", 2): ({"·", '·"'}, {"·", '"'}),
    ("templates", 3): ("3", "6"),
    ("templates", 4): ("5", "7"),
    ("lookahead", 0): ("1", "2"),
    ("lookahead", 1): ({'":·"'}, {'"'}),
    ("lookahead", 2): ("1", "3"),
    ("speculation", 0): ("7", "11"),
    ("speculation", 1): ("75", "60"),
    ("speculation", 2): ("2", "3"),
    ("speculation", 3): ("55", "45"),
    ("finishing", 0): ("3", "2"),
    ("finishing", 1): ("2", "3"),
    ("finishing", 2): ({"1]"}, {"1]", "1"}),
    ("finishing", 3): ("4", "6"),
    ("switching", 0): ({">"}, {">", "2>a"}),
    ("switching", 1): ({"b", "aa", "<1>a<2>"}, {"aa", "<1>a<2>"}),
    ("switching", 2): ({"aab", "aaab", "caab"}, {"aab", "caab"}),
    ("switching", 3): ({"es"}, {"es", "yes"}),
    ("holes", 0): ("2", "3"),
    ("holes", 1): ("4.8", "6"),
    ("holes", 2): ("6", "4.8"),
    ("holes", 3): ("61.5", "40"),
    ("holes", 4): ("2", "3"),
    ("meaning", 0): (
        {
            'let·s:·string·=·"a"·+·1;⏎',
            'let·b:·boolean·=·1·<·"a".length;⏎',
            "let·s:·string·=·true.toString();⏎",
        },
        {'let·s:·string·=·"a"·+·1;⏎', "let·n:·number·=·n;⏎"},
    ),
    ("meaning", 1): ({"1", '"a"', "true"}, {"1", "n"}),
    ("meaning", 2): ({".toFixed", ".toString", "·+·"}, {".toFixed", ";⏎"}),
    ("meaning", 3): ("1", "2"),
    ("stacks", 0): ("9", "8"),
    ("stacks", 1): ("3", "4"),
    ("stacks", 2): ("[x,x,x]", "[x,x,x"),
    ("stacks", 3): ({"b", "bb"}, {"b", "bb", "a"}),
    ("stacks", 4): ("a a a b bb", "aaab bb"),
    ("theorems", 0): ({"ab"}, {"ab", "a"}),
    ("theorems", 1): ("5", "6"),
    ("theorems", 2): ({"f", "food"}, {"food"}),
    ("theorems", 3): ({"b"}, {"b", "bb"}),
    ("ambiguity", 0): ("2", "3"),
    ("ambiguity", 1): ("1", "2"),
    ("ambiguity", 2): ({"iixex", "ixex", "iix"}, {"iixex", "ixe"}),
    ("ambiguity", 3): ("3", "2"),
    ("kbnf", 0): ({"1", "1,·2.5", "0.5,·7"}, {"1", "1."}),
    ("kbnf", 1): ({"ab*[", "a**["}, {"ab*[", "*["}),
    ("kbnf", 2): ({"*", "[", "a", "]*", "*]", "[a"}, {"*["}),
    ("kbnf", 3): ({"a*[b]*", "a]*b*[c]*"}, {"a*[b]*"}),
    ("kbnf", 4): ("6", "5"),
    ("kbnf", 5): ({"a", "aa", "ab", "end"}, {"aa", "ab", "b"}),
    ("json_schema", 0): ({'{"a":true,"b":2}', '{"b":2}'}, {'{"a":true,"b":2}', '{"b":2}', "{}"}),
    ("json_schema", 1): ('{"a":null,"b":null}', '{"b":null,"a":null}'),
    ("json_schema", 2): ({"9", "23"}, {"9", "23", "8.00"}),
    # 24 is a multiple of both, 2 of neither, and 0 of both again
    ("json_schema", 3): ({"8", "18", "-4"}, {"8", "18", "24"}),
    ("json_schema", 4): ({"]"}, {"]", "]]"}),
    ("json_schema", 5): ({'{"life":3}', '{"equipment":[]}'}, {'{"equipment":[{"level":1}]}'}),
    ("dataclasses", 0): ({"P(x=12)", "P(x=0,·y=0)"}, {"P(x=12)", "P(y=4,·x=3)"}),
    # T ( x = are four states, then one after 1, one after 2 and 12, the end, and the beginning
    ("dataclasses", 1): ("8", "7"),
    ("dataclasses", 2): ({"]", "])", ",·"}, {")", "]"}),
    ("dataclasses", 3): ("P(c=C.BLUE)", "P(c=C.RED)"),
    ("masked", 0): ({"[", "1", "[[", "1]"}, {"[", "]"}),
    ("masked", 1): ("4", "2"),
    ("masked", 2): ({"]", ",", ",["}, {"]", "]]"}),
    ("masked", 3): ({"0", "1", "f"}, {"0", "1", "f", ";"}),
    ("perplexity", 0): ("5", "32"),
    ("perplexity", 1): ("3", "8"),
    ("perplexity", 2): ({"·degrees"}, {"about"}),
    ("perplexity", 3): ("8", "6"),
    ("perplexity", 4): ("91.7", "10"),
    ("perplexity", 5): ("3", "4"),
    ("conditional", 0): ("60", "10"),
    ("conditional", 1): ("10", "60"),
    ("conditional", 2): ("34", "66"),
    ("conditional", 3): ("6", "5"),
    ("conditional", 4): ("44.1", "25"),
    ("wide", 0): ({'"ab"', '""'}, {"ab"}),
    ("wide", 1): ({"a", "b", "ab", '"', 'a"'}, {"a", "b", "ab"}),
    ("labels", 0): ({"*", "·", "free", "·text"}, {"free", "·text"}),
    ("labels", 1): ({"·"}, {"·", "·free"}),
    ("labels", 2): ({"ne"}, {"ne", "un"}),
    ("labels", 3): ({"ba", "aba", "bab", "(the empty text)"}, {"ba", "bab", "bb"}),
    ("labels", 4): ({'"', "\\", '\\"', '"a', '"a"'}, {'"', 'a"'}),
    ("bridge", 0): ({'·"', '":·"', '"⏎'}, {'·"', '"'}),
    ("bridge", 1): ({'·"'}, {'·"', '"'}),
    ("bridge", 2): (
        {'{  "  age  "  :  "  ten  "  }', '{  ⏎  ·  "  name  "  :  "  ann  "  ⏎  }'},
        {'{  "  age  ":·"  ten  "  }'},
    ),
    ("improper", 0): ({"aaaa  ab", "aa  ab  bb"}, {"a  a  b"}),
    # ue 2, rue 3, true 6: after a space 6, after ·t 3, after ·tr 2, and ·true
    ("engines", 0): ({'"', "a", "ab", 'b"', '",', '"]', '","'}, {'"', "a", "ab", 'b"', '"],'}),
    ("engines", 1): ({'",', '"]', '","', '"],'}, {'"],', "a"}),
    ("engines", 2): ({"a", "ab"}, {"a", "ab", 'b"'}),
    ("engines", 3): ({'"],'}, {'"]', '"],'}),
    ("engines", 4): ({"],", "]]", "]]]"}, {"]]", "]"}),
    ("engines", 5): ("7", "4"),
    ("auditing", 0): ({"],", "]]", "]]]"}, {"]]", "]"}),
    ("auditing", 1): ({'"', "a", "ab", 'b"', '",', '"]', '","'}, {'"', "a", '"],'}),
    ("auditing", 2): ({"going", "inging"}, {"going", "ing"}),
    ("auditing", 3): ("27.17", "38"),
    ("improper", 1): ("12", "6"),
    ("improper", 2): ("50", "15"),
    ("improper", 3): ({"·William", "·Theod"}, {"·William", "·The"}),
    ("improper", 4): ({"·", "·T", "·The", "·W", "·Will"}, {"·The", "·Theod"}),
    ("product", 0): ("3", "4"),
    ("product", 1): ({"a  ab", "aa  ab", "ac  a"}, {"a  aa"}),
    ("product", 2): ({"a", "ab"}, {"a", "aa"}),
    ("product", 3): ({"a  ··", "·  ·  a", "⏎·  ⏎", "a  ⏎  ·"}, {"⏎  ·  ⏎"}),
    ("product", 4): ({"k=", "=a", "ba", "bb", "b;"}, {"k=", "ab"}),
    ("merges", 0): ("a ab ac", "aa b ac"),
    ("merges", 1): ("aa aa aa aa", "aaaaa aaa"),
    ("merges", 2): ({"(b, ab)", "(ab, a)"}, {"(b, ab)", "(a, ba)"}),
    ("merges", 3): (
        {"aa  a", "ab  bb", "bb  b", "aa  ab"},
        {"aa  a", "a  aa"},
    ),
    ("merges", 4): (
        {"aa  a  abb", "a  ab  bb", "aaaaaaaa  aaaa  a"},
        {"aaaa  aaaa", "bb  b  bb"},
    ),
    ("direct", 0): ("3", "4"),
    ("direct", 1): ("4", "3"),
    ("direct", 2): (
        {"z  aa  a  y", "z  aa  aa  y", "z  y"},
        {"z  aa  a  y", "z  a  aa  y"},
    ),
    ("direct", 3): ("11", "12"),
    ("direct", 4): ("true", "tr ue"),
    ("direct", 5): ({"aa  a", "aa  aa"}, {"a  aa"}),
}


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_no_column_that_is_shown_has_the_answer(name: str, number: int) -> None:
    step, (right, _) = _step(name, number), ANSWERS[name, number]
    if step.table is None or not isinstance(right, set):
        return
    made = table(step.table, step.world)
    options = set(question(step.question, step.world).options) if step.question else set()
    for place, head in enumerate(made.heads):
        marked = {row[0] for row in made.rows if row[place] == "✓"}
        if {row[place] for row in made.rows} <= {"✓", "✗"} and options <= {r[0] for r in made.rows}:
            assert head in step.hidden or marked & options != right, head


def test_every_question_is_answered_here() -> None:
    assert set(ANSWERS) == set(STEPS)


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_the_engine_accepts_the_right_answer_and_refuses_a_wrong_one(
    name: str, number: int
) -> None:
    step = _step(name, number)
    assert step.question is not None
    asked = question(step.question, step.world)
    right, wrong = ANSWERS[name, number]

    def sent(answer: set[str] | str) -> Answer:
        return answer if isinstance(answer, str) else [asked.options.index(o) for o in answer]

    said = asked.judge(sent(right))
    assert said.right, said
    refused = asked.judge(sent(wrong))
    assert not refused.right
    assert refused.say
    assert all(why for _, why in refused.notes), "every wrong option has its reason"


#: Steps whose picture is one of the paper's: which graph of the film, and the figure's name.
REDRAWN = [
    ("machines", 0, 0, "1-left"),
    ("machines", 1, 0, "1-center"),
    ("machines", 3, 0, "2-left"),
    ("theorems", 0, 0, "3-left"),
    ("composition", 0, 0, "3-center"),
    ("tokens", 1, 0, "5-left"),
    ("tokens", 2, 0, "5-right"),
    ("composition", 5, 0, "5-left"),
    ("composition", 5, 1, "4-right"),
    ("composition", 5, 3, "5-right"),
    ("stacks", 1, 0, "6-right"),
    ("stacks", 3, 0, "7-right"),
    ("composition", 1, 0, "3-right"),
    ("composition", 3, 0, "4-right"),
    ("composition", 2, 0, "9-left"),
    ("composition", 4, 0, "9-left"),
    ("composition", 4, 1, "9-right"),
]


@pytest.mark.parametrize(("name", "number", "place", "drawn"), REDRAWN)
def test_a_lesson_shows_the_figure_of_the_paper(
    name: str, number: int, place: int, drawn: str
) -> None:
    # those figures are compared with manually written data in tests/drawing/test_figures.py
    step = _step(name, number)
    assert step.figure is not None
    mine, theirs = film(step.figure, step.world).graphs[place], figure(drawn)
    assert arcs(mine) == arcs(theirs)
    for kind in ("initial", "final"):
        assert states(mine, kind) == states(theirs, kind)


def test_every_kind_of_picture_and_question_is_used_or_tested() -> None:
    used = {s.figure.name for one in lessons().values() for s in one.steps if s.figure}
    # films of any grammar are those of the page's *Steps*: tests/lessons/test_constructions.py
    assert set(FILMS) - {"construction"} == used
    tables = {s.table.name for one in lessons().values() for s in one.steps if s.table}
    assert set(TABLES) == tables
    asked = {s.question.name for one in lessons().values() for s in one.steps if s.question}
    assert asked == set(QUESTIONS)
