"""``@question``: a function that answers a question of the page's scripts.

The name of the function is that of the question (``server.NAME({…})`` in a script), its return
annotation is the type of the answer (``wire``), its second parameter has the model of the request
(``requests``), and the decorator has its share of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from workbench.app.ui.handlers import Handlers
from workbench.app.ui.pictures import sentence
from workbench.app.ui.requests import Request
from workbench.app.ui.run_records import Record
from workbench.app.ui.shares import Share
from workbench.app.ui.wire import Refusal
from workbench.base.errors import WorkbenchError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the page."""

    #: How much of the server it may take.
    share: Share
    #: Answers it.
    function: Callable[[Handlers, Any], Any]
    #: The model of its request; a record for a question that checks its fields itself.
    request: type[Any]
    #: The type of its answer.
    answer: Any
    #: The answer to a request with an error; None raises it.
    refused: Callable[[WorkbenchError], Any] | None

    @property
    def name(self) -> str:
        """How scripts call it."""
        return self.function.__name__

    def __call__(self, handlers: Handlers, fields: Mapping[str, object] | Request) -> Record:
        """The answer to a request, which is checked.

        Raises: WorkbenchError where no answer says what is wrong.
        """
        try:
            request: Any = fields
            if not isinstance(fields, Request):
                read = self.request.of if issubclass(self.request, Request) else dict
                request = read(fields)
            record: Record = self.function(handlers, request)
        except WorkbenchError as error:
            if self.refused is None:
                raise
            record = self.refused(error)
        return record


def question(
    share: Share, refused: Callable[[WorkbenchError], Any] | None = None
) -> Callable[[Callable[[Handlers, R], Any]], Question]:
    """Make a question of the function that answers it.

    ``refused`` makes the answer to an error; by default that is a ``Refusal``, if the function may
    return one.
    """

    def of(function: Callable[[Handlers, R], Any]) -> Question:
        _, request, answer = get_type_hints(function).values()
        converted = refused or (refusal if Refusal in get_args(answer) else None)
        return Question(share, function, get_origin(request) or request, answer, converted)

    return of


def refusal(error: WorkbenchError) -> Refusal:
    """The answer that says why there is no other one."""
    return {"ok": False, "why": sentence(error)}


def or_refusal(answer: Callable[P, Record]) -> Callable[P, Record]:
    """A function that answers an error with a ``Refusal``: a sentence that says why."""

    @wraps(answer)
    def answered(*args: P.args, **kwargs: P.kwargs) -> Record:
        try:
            return answer(*args, **kwargs)
        except WorkbenchError as error:
            return {**refusal(error)}

    return answered


def questions_of(*modules: ModuleType) -> Mapping[str, Question]:
    """The questions that modules answer, by name."""
    members = (member for module in modules for member in vars(module).values())
    return {member.name: member for member in members if isinstance(member, Question)}
