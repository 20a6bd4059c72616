"""What the answers to all questions of the page use: models, compiled grammars, drawn machines.

The questions are functions in other modules, which ``questions.QUESTIONS`` lists. Nothing here
depends on the web server.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from copy import copy
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from workbench.app.pipeline import Compiled, Pipeline
from workbench.app.ui.model_registry import ModelRoom, ModelRooms
from workbench.app.ui.pictures import (
    TABLE,
    TOGETHER,
    PictureRequest,
    table_of,
)
from workbench.app.ui.requests import RunRequest, TextRequest, checked_prefix
from workbench.app.ui.run_records import Record
from workbench.base.errors import WorkbenchError
from workbench.base.limits import time_budget
from workbench.constraint.masks import TokenMask
from workbench.decoding.generate import after
from workbench.drawing.drawable import OVER_TOKENS, Drawn, Machine
from workbench.grammar.gallery import Gallery, load_gallery
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

P = ParamSpec("P")
T = TypeVar("T")


class Handlers:
    """The models and the compiled grammars of a page; safe to share between visitors."""

    def __init__(self, rooms: ModelRooms | ModelRoom, pipeline: Pipeline | None = None) -> None:
        self.rooms = ModelRooms((rooms,)) if isinstance(rooms, ModelRoom) else rooms
        #: The model chosen by this visitor.
        self.room = self.rooms.first
        self.pipeline = pipeline or Pipeline()
        self.gallery: Gallery = load_gallery()
        #: Set when the server closes: all runs end.
        self.closing = threading.Event()
        #: The results file that the page is served with.
        self.served_results: Path | None = None
        self._figures: dict[str, Vocabulary] = {}
        #: Two runs at a time compute their constraint: the number of cores of a small machine.
        self.preparing = threading.BoundedSemaphore(2)

    def with_model(self, name: str) -> Handlers:
        """These handlers with a model of the page; empty for its first one.

        Raises: WorkbenchError for a model that is not offered.
        """
        room = self.rooms.get(name)
        if room is self.room:
            return self
        chosen = copy(self)
        chosen.room = room
        return chosen

    def within_budget(self, answer: Callable[P, T]) -> Callable[P, T]:
        """A request all of whose stages share the seconds that one compilation may take."""

        @wraps(answer)
        def answered(*args: P.args, **kwargs: P.kwargs) -> T:
            with time_budget(self.pipeline.limits.seconds):
                return answer(*args, **kwargs)

        return answered

    # -- grammars --------------------------------------------------------------------------

    def compiled(self, request: TextRequest) -> Compiled:
        """The compiled grammar of a request, from the cache if it is there."""
        text, notation, start = request.text, request.notation, request.start
        return self.pipeline.compile(text, notation, start, request.options, request.hole)

    # -- pictures --------------------------------------------------------------------------

    def run_mask(self, run: RunRequest, prefix: Sequence[object]) -> TokenMask | None:
        """The mask of a run after tokens; None if they are refused."""
        try:
            request = run.with_fields(prefix=checked_prefix(prefix))
            compiled = self.compiled(request)
            constraint = request.machine(compiled, self.room.vocabulary())
            if request.finish:
                constraint = request.within_budget(constraint, compiled, self.room.model())
            ends = constraint.vocabulary.ends
            taken = [token for token in request.prefix if token not in ends]
            return constraint.mask(after(constraint, taken))
        except WorkbenchError:
            return None

    def over_tokens(self, request: PictureRequest) -> tuple[Drawn, bool]:
        """The machine over tokens, and whether it uses a figure's own tokens."""
        vocabulary = self.vocabulary_of(request.example)
        drawn = self.compiled(request).drawn(Machine.TOKENS, vocabulary)
        return drawn, vocabulary in self._figures.values()

    def drawn(self, request: PictureRequest) -> tuple[Machine, Drawn, bool]:
        """The requested machine, its drawing, and whether it uses a figure's own tokens.

        Raises: WorkbenchError where there is no such machine.
        """
        compiled = self.compiled(request)
        name = request.tab
        if name == TABLE:
            name = request.of_machine or table_of(compiled)
        if name == TOGETHER:
            name = Machine.STACK if compiled.missing(Machine.CHARACTERS) else Machine.CHARACTERS
        machine = Machine(name) if name in list(Machine) else Machine.CHARACTERS
        if machine not in OVER_TOKENS:
            return machine, compiled.drawn(machine), False
        vocabulary = self.vocabulary_of(request.example)
        return machine, compiled.drawn(machine, vocabulary), vocabulary in self._figures.values()

    def vocabulary_of(self, example: str) -> Vocabulary:
        """The tokens of an example's pictures: its own, or the model's."""
        return self._figure(example) or self.room.vocabulary()

    def _figure(self, name: str) -> Vocabulary | None:
        """The own tokens of an example; None if it uses the model's."""
        example = self.gallery.get(name)
        if example is None or not example.vocabulary:
            return None
        if name not in self._figures:
            self._figures[name] = toy(example.vocabulary, name=example.title)
        return self._figures[name]


def encoded(record: Record | list[Record]) -> str:
    """A record as JSON text, the value of a component."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
