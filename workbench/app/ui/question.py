"""``@question``: a function that answers a question of the page's scripts.

The name of the function is that of the question (``server.NAME({…})`` in a script), its return
annotation is the type of the answer (``wire``), and the decorator has its share of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any, ParamSpec, get_args, get_type_hints

from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import sentence
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import Share
from workbench.app.ui.wire import Refusal
from workbench.base.errors import WorkbenchError

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the page."""

    #: How much of the server it may take.
    share: Share
    #: Answers it.
    function: Callable[[Handlers, Record], Any]

    @property
    def name(self) -> str:
        """How scripts call it."""
        return self.function.__name__

    @property
    def answer(self) -> Any:  # noqa: ANN401  # types as values
        """The type of its answer."""
        return get_type_hints(self.function)["return"]

    def __call__(self, handlers: Handlers, fields: Mapping[str, object]) -> Record:
        """The answer; an error is a ``Refusal`` if the question may be answered with one.

        Raises: WorkbenchError if it may not.
        """
        answer: Callable[[Handlers, Record], Record] = self.function
        if Refusal in get_args(self.answer):
            answer = or_refusal(answer)
        return answer(handlers, {**fields})


def question(share: Share) -> Callable[[Callable[[Handlers, Record], Any]], Question]:
    """Make a question of the function that answers it."""

    def of(function: Callable[[Handlers, Record], Any]) -> Question:
        return Question(share, function)

    return of


def or_refusal(answer: Callable[P, Record]) -> Callable[P, Record]:
    """A function that answers an error with a ``Refusal``: a sentence that says why."""

    @wraps(answer)
    def answered(*args: P.args, **kwargs: P.kwargs) -> Record:
        try:
            return answer(*args, **kwargs)
        except WorkbenchError as error:
            return {"ok": False, "why": sentence(error)}

    return answered


def questions_of(*modules: ModuleType) -> Mapping[str, Question]:
    """The questions that modules answer, by name."""
    members = (member for module in modules for member in vars(module).values())
    return {member.name: member for member in members if isinstance(member, Question)}
