"""The page as Gradio components: static skeletons, scripts and style over Gradio's transport."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import gradio as gr

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
from workbench.app.ui.admission import (
    AUDIT,
    HEAVY,
    LIGHT,
    MAX_EVENTS,
    MODEL,
    READING,
    Admission,
    BusyError,
    Events,
    Share,
)
from workbench.app.ui.api import add_endpoints
from workbench.app.ui.author import convert_grammar, what_changed
from workbench.app.ui.compare_opening import compare_opening
from workbench.app.ui.completions import completions
from workbench.app.ui.handlers import Handlers, encoded
from workbench.app.ui.page_files import about, head, release, skeleton
from workbench.app.ui.picture_view import about_edge, find_states
from workbench.app.ui.pictures import sentence
from workbench.app.ui.runs import (
    draft_models,
    find_tokens,
    missed_lines,
    read_prompt,
    read_text,
    run_lines,
    take_token,
    turn,
)
from workbench.app.ui.state_view import about_state
from workbench.app.ui.streams import RUNS_AT_ONCE
from workbench.app.ui.syntax_card import syntax_card
from workbench.app.ui.takeaway import take_code, take_machine, take_replay
from workbench.app.ui.tree_view import draw_parse_tree
from workbench.base.errors import WorkbenchError

if TYPE_CHECKING:
    from starlette.requests import Request


def theme() -> gr.themes.Base:
    """A plain theme without web fonts (two thirds of an empty page's weight)."""
    return gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])


_Fields = dict[str, Any]
_Answer = dict[str, Any] | str
_Question = Callable[[Handlers, _Fields], _Answer]
_Lines = Callable[[Handlers, _Fields], Iterator[str]]

#: The requests of each part, by the name its script calls: ``server.check_texts({…})``.
QUESTIONS: Mapping[str, Mapping[str, _Question]] = {
    "header": {
        "model_state": lambda handlers, _: handlers.model_state(),
        "open_model": Handlers.open_model,
        "open_example": Handlers.example,
    },
    "grammar": {
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
    },
    "picture": {
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
    },
    "takeaway": {"take_machine": take_machine, "take_code": take_code, "take_replay": take_replay},
    "learn": {
        "lesson_list": lesson_view.lesson_list,
        "lesson": lesson_view.lesson,
        "lesson_figure": lesson_view.lesson_figure,
        "lesson_why": lesson_view.lesson_why,
        "lesson_answer": lesson_view.lesson_answer,
    },
    "exercise": {
        "exercise_list": exercise_view.exercise_list,
        "exercise": exercise_view.exercise,
        "check_exercise": exercise_view.check_exercise,
        "exercise_answer": exercise_view.exercise_answer,
        "suggest_examples": exercise_view.suggest_examples,
        "make_exercise": exercise_view.make_exercise,
        "make_course": exercise_view.make_course,
        "course": exercise_view.course,
        "solution_sheet": exercise_view.solution_sheet,
    },
    "compare": {
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
        "missed_lines": missed_lines,
        "stop_run": Handlers.stop,
    },
    "footer": {"about": about},
    "run": {
        "recorded_run": Handlers.recorded,
        "draft_models": draft_models,
        "explain_tokens": explain_view.explain_tokens,
        "why": explain_view.why,
        "missed_lines": missed_lines,
        "stop_run": Handlers.stop,
        "turn": turn,
        "take_token": take_token,
        "find_tokens": find_tokens,
        "read_text": read_text,
    },
}

#: How much of the server questions may take; the others are ``LIGHT``.
_SHARES: Mapping[str, Share] = {
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

#: A component's script: passes itself to the page's script; the comment names Gradio's event.
_ON_LOAD = """
wb.mount("%s", { element, trigger, props, watch, server: %s }); /* event: "run" */
"""


def part(handlers: Handlers, admission: Admission, name: str, value: str = "") -> gr.HTML:
    """A part of the page: a static skeleton, filled by its script.

    Text of users and models is never put into the template, because Gradio would evaluate ``${…}``
    and ``{{…}}`` in it. It is passed as ``value`` and enters the page through textContent.
    """
    questions = [
        _gradio_function(handlers, admission, *each) for each in QUESTIONS.get(name, {}).items()
    ]
    return gr.HTML(
        value,
        html_template=skeleton(name),
        js_on_load=_ON_LOAD % (name, "server" if questions else "null"),
        apply_default_css=False,
        elem_id=f"wb-{name}",
        head=head(),
        server_functions=questions,
    )


def _gradio_function(
    handlers: Handlers, admission: Admission, name: str, question: _Question
) -> Callable[[_Fields, gr.Request], Awaitable[_Answer | None]]:
    """A request as a function for Gradio, which calls it by its ``__name__``."""
    share, seconds = _SHARES.get(name, LIGHT), handlers.pipeline.limits.seconds

    async def ask(fields: _Fields, request: gr.Request) -> _Answer | None:
        work = partial(answered, handlers, question, fields)
        try:
            # what Gradio passes here is the web server's own request
            return await admission.answer(share, cast("Request", request), seconds, work)
        except BusyError as busy:
            return {"fault": sentence(busy), "busy": busy.waiting}

    ask.__name__ = name
    return ask


def answered(handlers: Handlers, question: _Question, fields: _Fields) -> _Answer:
    """The answer to a request of the page, or the error as a record."""
    if not isinstance(fields, dict):
        return {"fault": f"expected a record, not {type(fields).__name__}"}
    try:
        return question(handlers.with_model(fields), fields)
    except WorkbenchError as error:
        return {"fault": sentence(error)}


def build(handlers: Handlers, *, behind_proxy: bool = False) -> gr.Blocks:
    """The whole page; ``behind_proxy``: clients have the addresses that the proxy reports."""
    admission = Admission(behind_proxy=behind_proxy)

    def stream(lines: _Lines) -> Callable[[gr.EventData, gr.Request], Iterator[str]]:
        def streamed(event: gr.EventData, request: gr.Request) -> Iterator[str]:
            fields = event._data if isinstance(event._data, dict) else {}
            yield from events.while_read(request.session_hash, partial(lines, handlers, fields))

        return streamed

    page = gr.Blocks(
        title="Grammar workbench",
        fill_width=True,
        analytics_enabled=False,
        delete_cache=(600, 600),  # seconds between two looks, and the age of a file
    )
    page.queue(default_concurrency_limit=4, max_size=MAX_EVENTS)
    events = Events(page._queue, admission)
    with page:
        part(handlers, admission, "header", encoded(handlers.page()))
        part(handlers, admission, "exercise")
        with gr.Row(elem_id="wb-main"):
            part(handlers, admission, "grammar")
            part(handlers, admission, "picture")
        with gr.Column(elem_id="wb-below"):
            run = part(handlers, admission, "run")
            part(handlers, admission, "takeaway")
        part(handlers, admission, "learn")
        side_by_side = part(handlers, admission, "compare")
        part(handlers, admission, "footer", encoded(release()))
        for component, lines, limit, over in (
            (run, run_lines, RUNS_AT_ONCE, "run over"),
            (side_by_side, compare_view.compare_lines, 1, "compare over"),
        ):
            running = component.run(
                stream(lines),
                None,
                component,
                concurrency_limit=limit,
                # Gradio's ``cancels`` was tried: it ends a run slowly, and a run requested then was
                # dropped or ended with the old one. A run is stopped by its name instead.
                trigger_mode="multiple",
                show_progress="hidden",
                api_visibility="private",
            )
            say_over = f"() => {{ window.wb.emit('{over}'); }}"
            running.then(None, None, None, js=say_over)
            running.failure(None, None, None, js=say_over)
        add_endpoints(handlers, page, events)
    return page
