"""The records that the handlers give to the page are those of the wire format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, is_typeddict

import pytest

from workbench.app.lessons.constructions import Construction
from workbench.app.ui import questions, wire, wire_cards, wire_compare
from workbench.app.ui.author import (
    convert_grammar,
    draw_railroad,
    lint_grammar,
    outline_rules,
    sample_texts,
    tell_in_words,
    time_mask,
    what_changed,
)
from workbench.app.ui.compare_view import compare_records, contender_list, distribution
from workbench.app.ui.completions import completions
from workbench.app.ui.construction_view import construction_film, construction_list, frame_tikz
from workbench.app.ui.explain_view import explain_tokens, why
from workbench.app.ui.grammar_view import check_texts, compile_grammar
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.lesson_view import lesson, lesson_figure, lesson_list
from workbench.app.ui.opening_view import model_state, open_example, page_record
from workbench.app.ui.page_files import about, release
from workbench.app.ui.picture_view import about_edge, draw_machine, draw_tikz, find_states
from workbench.app.ui.runs import (
    find_tokens,
    read_text,
    run_records,
    take_token,
    turn,
)
from workbench.app.ui.state_view import about_state
from workbench.app.ui.takeaway import take_code, take_machine, take_replay
from workbench.app.ui.tree_view import draw_parse_tree
from workbench.app.ui.wire_declarations import DECLARATIONS, declarations, fields
from workbench.drawing.drawable import Machine
from workbench.grammar.gallery import recorded_run
from workbench.grammar.notations import Notation


def differences(value: object, kind: Any, at: str = "") -> Iterator[str]:
    """Where a value is not of a type of the wire format."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if is_typeddict(kind):
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no record"
            return
        known = fields(kind)
        yield from (
            f"{at}: {name} is not in {kind.__name__}" for name in value if name not in known
        )
        for name, (each, always) in known.items():
            if name in value:
                yield from differences(value[name], each, f"{at}.{name}")
            elif always:
                yield f"{at}: no {name} in {kind.__name__}"
    elif origin is list:
        if not isinstance(value, list | tuple):
            yield f"{at}: {value!r} is no list"
            return
        for index, each in enumerate(value):
            yield from differences(each, inner[0], f"{at}[{index}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no table"
            return
        for name, each in value.items():
            yield from differences(each, inner[1], f"{at}[{name!r}]")
    elif origin is Union or isinstance(kind, UnionType):
        tried = [list(differences(value, each, at)) for each in inner]
        if all(tried):
            yield from min(tried, key=len)
    elif origin is Literal:
        if value not in inner:
            yield f"{at}: {value!r} is none of {inner}"
    elif kind is float:
        if type(value) not in (int, float):
            yield f"{at}: {value!r} is no number"
    elif type(value) is not kind and not (kind is str and isinstance(value, str)):
        yield f"{at}: {value!r} is not of {kind.__name__}"


def check(value: object, kind: Any) -> None:
    assert list(differences(value, kind))[:5] == []


KBNF = "start ::= 'a' start | 'b' | #'[0-9]+';"
GRAMMARS = [
    {"text": "[0-9]{2}:[0-9]{2}", "notation": "regex"},
    {"text": KBNF, "notation": "kbnf", "start": "start"},
    {"text": "([", "notation": "regex"},
    {"text": "start ::= nothing;", "notation": "kbnf"},
]
BOX = {"width": 800, "height": 500}


def test_the_types_for_scripts_are_current() -> None:
    """After a change of ``wire``: ``python -m workbench.app.ui.wire_declarations``."""
    assert DECLARATIONS.read_text("utf-8") == declarations()


def test_every_question_is_in_a_module_that_the_page_asks() -> None:
    modules = {each.function.__module__ for each in questions.QUESTIONS.values()}
    assert modules == {
        f"workbench.app.ui.{file.name.removesuffix('.py')}"
        for file in files("workbench.app.ui").iterdir()
        if file.name.endswith(".py") and "\n@question(" in file.read_text("utf-8")
    }


def test_the_page(handlers: Handlers) -> None:
    check(page_record(handlers), wire_cards.PageRecord)
    check(model_state(handlers, {}), wire_cards.Models)
    for name in handlers.gallery:
        check(open_example(handlers, {"name": name}), wire_cards.Example)
    check(questions.answered(handlers, "open_example", {"name": "?"}), wire.Fault)
    check(about(handlers, {}), wire_cards.About)
    check(release(), wire_cards.Release)


QUESTIONS = [
    ("compile_grammar", compile_grammar, {}),
    ("check_texts", check_texts, {"texts": ["12:34", "ab", "x", ""]}),
    ("lint_grammar", lint_grammar, {}),
    ("time_mask", time_mask, {}),
    ("outline_rules", outline_rules, {}),
    ("sample_texts", sample_texts, {"seed": 1}),
    ("what_changed", what_changed, {"before": {"text": "a", "notation": "regex"}}),
    ("convert_grammar", convert_grammar, {"to": "gbnf"}),
    ("why", why, {"so_far": "", "token": "7a"}),
    ("why", why, {"so_far": "", "token": None}),
    ("explain_tokens", explain_tokens, {"so_far": "", "tokens": ["7a", None]}),
    ("draw_railroad", draw_railroad, BOX),
    ("tell_in_words", tell_in_words, {}),
    ("draw_parse_tree", draw_parse_tree, {**BOX, "so_far": ""}),
    ("find_states", find_states, {"tab": "characters", "query": "1"}),
    ("about_state", about_state, {"tab": "characters", "state": "1"}),
    ("about_state", about_state, {"tab": "tokens", "state": "0"}),
    ("about_edge", about_edge, {"tab": "tokens", "source": "0", "target": "1"}),
    ("draw_tikz", draw_tikz, {**BOX, "tab": "characters"}),
    ("draw_tikz", draw_tikz, {**BOX, "tab": "stack"}),
    ("construction_list", construction_list, {}),
    *(("construction_film", construction_film, {"construction": str(one)}) for one in Construction),
    ("frame_tikz", frame_tikz, {"construction": "subsets", "frame": 1}),
    ("frame_tikz", frame_tikz, {"construction": "subsets", "frame": 1000}),
    ("turn", turn, {"prompt": "x"}),
    ("take_token", take_token, {"prompt": "x"}),
    ("find_tokens", find_tokens, {"prompt": "x", "query": "1"}),
    ("read_text", read_text, {"prompt": "x", "read": "12:3x", "temperature": 1}),
    ("read_text", read_text, {"prompt": "x", "read": "12:30", "top_k": 3}),
    ("distribution", distribution, {"prompts": ["x"], "methods": ["automaton"]}),
    ("take_code", take_code, {"prompt": "x"}),
    ("take_machine", take_machine, {"machine": "characters", "form": "json"}),
    ("take_replay", take_replay, {**BOX, "taken": [["31", []]]}),
]


@pytest.mark.slow
@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar["text"])
@pytest.mark.parametrize(
    ("question", "ask", "sent"),
    QUESTIONS,
    ids=lambda value: value if type(value) is str else "",
)
def test_answers_are_of_the_wire_format(
    handlers: Handlers, grammar: Any, question: str, ask: Any, sent: Any
) -> None:
    from workbench.base.errors import WorkbenchError

    try:
        answer = ask(handlers, {**grammar, **sent})
    except WorkbenchError:
        return  # ``questions.answered`` answers with a fault
    check(answer, questions.QUESTIONS[question].answer | wire.Fault)


@pytest.mark.parametrize("tab", ["together", "table", *map(str, Machine)])
@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar["text"])
def test_pictures_are_of_the_wire_format(handlers: Handlers, grammar: Any, tab: str) -> None:
    answer = draw_machine(handlers, {**grammar, **BOX, "tab": tab, "centre": ""})
    check(answer, draw_machine.answer)


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar["text"])
@pytest.mark.parametrize("constraint", ["automaton", "unconstrained"])
def test_records_of_runs_are_of_the_wire_format(
    handlers: Handlers, grammar: Any, constraint: str
) -> None:
    sent = {**grammar, "prompt": "x", "max_tokens": 12, "seed": 1, "constraint": constraint}
    for record in run_records(handlers, sent):
        check(json.loads(json.dumps(record)), wire.RunRecord)


def test_comparisons_are_of_the_wire_format(handlers: Handlers) -> None:
    check(contender_list(handlers, {}), wire_compare.Contenders)
    sent = {
        "methods": ["unconstrained", "automaton"],
        "prompts": ["x"],
        "seeds": 1,
        "max_tokens": 9,
    }
    for record in compare_records(handlers, {**GRAMMARS[0], **sent}):
        check(json.loads(json.dumps(record)), wire_compare.CompareRecord)


@pytest.mark.parametrize("name", ["person", "time"])
def test_recorded_runs(name: str) -> None:
    for line in recorded_run(name).splitlines():
        check(json.loads(line), wire.RunRecord)


@pytest.mark.slow
def test_lessons_are_of_the_wire_format(handlers: Handlers) -> None:
    listed = lesson_list(handlers, {})
    check(listed, wire_cards.LessonList)
    for entry in listed["lessons"][:6]:
        content = lesson(handlers, {"lesson": entry["name"]})
        check(content, wire_cards.LessonContent)
        for step in range(len(content["pages"])):
            figure = lesson_figure(handlers, {"lesson": entry["name"], "step": step})
            check(figure, lesson_figure.answer)


def test_completions_are_of_the_wire_format(handlers: Handlers) -> None:
    for notation in Notation:
        answer = completions(handlers, {"notation": str(notation)})
        check(answer, wire.Completions)
        for context in answer["contexts"]:
            assert re.compile(context["before"]).groups == 1
    assert completions(handlers, {"notation": "?"}) == {"contexts": []}
