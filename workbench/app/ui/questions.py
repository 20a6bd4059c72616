"""All questions and streams of the page's scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.app.ui import (
    audit_view,
    author,
    compare_opening,
    compare_view,
    completions,
    construction_view,
    drawn_machine_view,
    exercise_view,
    explain_view,
    grammar_view,
    lesson_view,
    opening_view,
    page_files,
    picture_view,
    results_view,
    runs,
    state_view,
    syntax_card,
    takeaway,
    tree_view,
)
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import sentence
from workbench.app.ui.question import questions_of
from workbench.app.ui.request_fields import text_in
from workbench.app.ui.requests import MAX_NAME
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import COMPARISON, RUN, Share
from workbench.base.errors import WorkbenchError

#: The questions by the name with which a script asks them: ``server.check_texts({…})``.
QUESTIONS = questions_of(
    opening_view,
    grammar_view,
    author,
    drawn_machine_view,
    explain_view,
    completions,
    syntax_card,
    picture_view,
    state_view,
    tree_view,
    construction_view,
    lesson_view,
    exercise_view,
    compare_view,
    compare_opening,
    audit_view,
    results_view,
    runs,
    takeaway,
    page_files,
)


def answered(handlers: Handlers, name: str, fields: Record) -> Record:
    """The answer to a question, or the error as a record."""
    try:
        return QUESTIONS[name](handlers.with_model(text_in(fields, "model", MAX_NAME)), fields)
    except WorkbenchError as error:
        return {"fault": sentence(error)}


#: The requests that are answered with a stream of records, with the share of each.
STREAMS: Mapping[str, tuple[Share, Callable[[Handlers, Record], Iterator[list[Record]]]]] = {
    "run": (RUN, runs.run_batches),
    "compare": (COMPARISON, compare_view.compare_batches),
}
