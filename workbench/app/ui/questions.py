"""The questions of the page's scripts: who answers each, and how much of the server it may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.app.ui import (
    audit_view,
    author,
    compare_view,
    construction_view,
    drawn_machine_view,
    exercise_view,
    explain_view,
    lesson_view,
    results_view,
)
from workbench.app.ui.admission import AUDIT, COMPARISON, HEAVY, MODEL, READING, RUN, Share
from workbench.app.ui.author import convert_grammar, what_changed
from workbench.app.ui.compare_opening import compare_opening
from workbench.app.ui.completions import completions
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.page_files import about
from workbench.app.ui.picture_view import about_edge, find_states
from workbench.app.ui.pictures import sentence
from workbench.app.ui.run_records import Record
from workbench.app.ui.runs import (
    draft_models,
    find_tokens,
    read_prompt,
    read_text,
    run_batches,
    take_token,
    turn,
)
from workbench.app.ui.state_view import about_state
from workbench.app.ui.syntax_card import syntax_card
from workbench.app.ui.takeaway import take_code, take_machine, take_replay
from workbench.app.ui.tree_view import draw_parse_tree
from workbench.base.errors import WorkbenchError

_Answer = dict[str, Any] | str
_Question = Callable[[Handlers, Record], _Answer]

#: The questions by the name with which a script asks them: ``server.check_texts({…})``.
QUESTIONS: Mapping[str, _Question] = {
    "model_state": lambda handlers, _: handlers.model_state(),
    "open_model": Handlers.open_model,
    "open_example": Handlers.example,
    "compile_grammar": Handlers.compile,
    "check_texts": Handlers.check,
    "lint_grammar": author.lint_grammar,
    "time_mask": author.time_mask,
    "outline_rules": author.outline_rules,
    "tell_in_words": author.tell_in_words,
    "sample_texts": author.sample_texts,
    "what_changed": what_changed,
    "convert_grammar": convert_grammar,
    "arrange_machine": drawn_machine_view.arrange_machine,
    "machine_from_file": drawn_machine_view.machine_from_file,
    "machine_path": drawn_machine_view.machine_path,
    "read_prompt": read_prompt,
    "why": explain_view.why,
    "completions": completions,
    "syntax_card": syntax_card,
    "find_matches": author.find_matches,
    "draw_machine": Handlers.draw,
    "draw_flags": Handlers.flags,
    "draw_railroad": author.draw_railroad,
    "draw_parse_tree": draw_parse_tree,
    "find_states": find_states,
    "about_state": about_state,
    "about_edge": about_edge,
    "draw_tikz": Handlers.tikz,
    "construction_list": construction_view.construction_list,
    "construction_film": construction_view.construction_film,
    "frame_tikz": construction_view.frame_tikz,
    "lesson_list": lesson_view.lesson_list,
    "lesson": lesson_view.lesson,
    "lesson_figure": lesson_view.lesson_figure,
    "lesson_why": lesson_view.lesson_why,
    "lesson_answer": lesson_view.lesson_answer,
    "exercise_list": exercise_view.exercise_list,
    "exercise": exercise_view.exercise,
    "check_exercise": exercise_view.check_exercise,
    "exercise_answer": exercise_view.exercise_answer,
    "suggest_examples": exercise_view.suggest_examples,
    "make_exercise": exercise_view.make_exercise,
    "make_course": exercise_view.make_course,
    "course": exercise_view.course,
    "solution_sheet": exercise_view.solution_sheet,
    "contender_list": compare_view.contender_list,
    "compare_opening": compare_opening,
    "compared_run": compare_view.compared_run,
    "distribution": compare_view.distribution,
    "audit_engines": audit_view.audit_engines,
    "send_results": results_view.send_results,
    "open_results": results_view.open_results,
    "results_rows": results_view.results_rows,
    "results_row": results_view.results_row,
    "results_plot": results_view.results_plot,
    "results_csv": results_view.results_csv,
    "recorded_run": Handlers.recorded,
    "draft_models": draft_models,
    "explain_tokens": explain_view.explain_tokens,
    "turn": turn,
    "take_token": take_token,
    "find_tokens": find_tokens,
    "read_text": read_text,
    "take_machine": take_machine,
    "take_code": take_code,
    "take_replay": take_replay,
    "about": about,
}

#: How much of the server questions may take; the others are ``LIGHT``.
SHARES: Mapping[str, Share] = {
    **dict.fromkeys(
        (
            "lint_grammar",
            "time_mask",
            "sample_texts",
            "find_matches",
            "what_changed",
            "convert_grammar",
            "arrange_machine",
            "draw_machine",
            "draw_flags",
            "draw_railroad",
            "draw_tikz",
            "construction_film",
            "frame_tikz",
            "draw_parse_tree",
            "take_machine",
            "take_code",
            "take_replay",
            "lesson_figure",
            "check_exercise",
            "suggest_examples",
            "make_exercise",
            "results_rows",
            "results_plot",
            "results_csv",
        ),
        HEAVY,
    ),
    **dict.fromkeys(
        (
            "read_prompt",
            "read_text",
            "turn",
            "take_token",
            "find_tokens",
            "compared_run",
            "distribution",
        ),
        MODEL,
    ),
    "open_results": READING,
    "audit_engines": AUDIT,
}


def answered(handlers: Handlers, name: str, fields: Record) -> _Answer:
    """The answer to a question, or the error as a record."""
    try:
        return QUESTIONS[name](handlers.with_model(fields), fields)
    except WorkbenchError as error:
        return {"fault": sentence(error)}


#: The requests that are answered with a stream of records, with the share of each.
STREAMS: Mapping[str, tuple[Share, Callable[[Handlers, Record], Iterator[list[Record]]]]] = {
    "run": (RUN, run_batches),
    "compare": (COMPARISON, compare_view.compare_batches),
}
