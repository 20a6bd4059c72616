"""``@question``: a function that answers a question of the page's scripts.

The function has all that is known of the question::

    @question(LIGHT)                                                  # its share of the server
    def NAME(handlers: Handlers, request: Model) -> Answer | Refusal  # ``requests``, ``wire``

Scripts ask ``server.NAME({…})``.
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
    function: Callable[[Handlers, Any], Any]
    #: The model of its request; ``dict`` for a function that checks the fields itself.
    request: type[Any]
    #: The type of its answer.
    answer: Any
    #: Makes the answer to a request with an error; None raises the error.
    refused: Callable[[WorkbenchError], Any] | None

    @property
    def name(self) -> str:
        """The name by which scripts ask it."""
        return self.function.__name__

    def __call__(self, handlers: Handlers, fields: Mapping[str, object] | Request) -> Record:
        """The answer to the fields of a request, which are checked, or to a checked request.

        Raises: WorkbenchError if ``refused`` is None.
        """
        try:
            request: Any = fields
            if not isinstance(fields, Request):
                check = self.request.of if issubclass(self.request, Request) else dict
                request = check(fields)
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

    ``refused`` makes the answer to an error. Without it, an error is answered with a ``Refusal`` if
    the function may return one, and raised otherwise.
    """

    def decorate(function: Callable[[Handlers, R], Any]) -> Question:
        _, request, answer = get_type_hints(function).values()
        on_error = refused or (refusal if Refusal in get_args(answer) else None)
        return Question(share, function, get_origin(request) or request, answer, on_error)

    return decorate


def refusal(error: WorkbenchError) -> Refusal:
    """The answer to a request with an error: a sentence that says what is wrong."""
    return {"ok": False, "why": sentence(error)}


def or_refusal(answer: Callable[P, Record]) -> Callable[P, Record]:
    """The same function, except that it answers an error with a ``Refusal``."""

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
