"""Loads one language model of the page in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from workbench.decoding.model import LanguageModel
from workbench.decoding.sessions import Sessions
from workbench.errors import ModelError, WorkbenchError
from workbench.vocabulary.vocabulary import Vocabulary

#: The name of the model that comes with the package.
BUILTIN = "builtin"

#: The name of a model that has learnt nothing, for tests and for looking at the page.
TOY = "toy"


@dataclass(frozen=True, slots=True)
class ModelState:
    """What the header says of the model."""

    #: ``loading``, ``ready`` or ``failed``.
    state: str
    text: str
    #: Said on hover: why it failed and what to do.
    title: str = ""


class ModelRoom:
    """Loads a model once, off the main thread; callers wait in ``model``.

    The vocabulary comes first and by itself: pictures need it and torch takes seconds.
    """

    def __init__(
        self,
        name: str = BUILTIN,
        load: Callable[[str], LanguageModel] | None = None,
        load_vocabulary: Callable[[str], Vocabulary] = Vocabulary.load,
    ) -> None:
        self.name = name
        #: Sessions that continue from one request to the next.
        self.sessions = Sessions()
        self._load = load or load_model
        self._load_vocabulary = load_vocabulary
        self._done = threading.Event()
        self._started = threading.Lock()
        self._running = False
        self._model: LanguageModel | None = None
        self._error: WorkbenchError | None = None

    def start(self) -> None:
        """Begin to load, unless loading has begun; returns immediately."""
        with self._started:
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._fill, name="model", daemon=True).start()

    def _fill(self) -> None:
        try:
            self._model = self._load(self.name)
        except WorkbenchError as error:
            self._error = error
        except Exception as error:
            # whatever a third party's loader raises must reach the page, or it would wait for ever
            self._error = ModelError(f"the model cannot be loaded: {error}")
        finally:
            self._done.set()

    @property
    def is_loaded(self) -> bool:
        """Whether loading is over, well or badly."""
        return self._done.is_set()

    def model(self) -> LanguageModel:
        """The model; waits until it is loaded.

        Raises: ModelError, VocabularyError where it cannot be loaded.
        """
        self.start()
        self._done.wait()
        if self._error is not None:
            raise self._error
        assert self._model is not None
        return self._model

    def vocabulary(self) -> Vocabulary:
        """Its tokens, without waiting for its weights.

        Raises: VocabularyError.
        """
        if self._model is not None:
            return self._model.vocabulary
        return self._load_vocabulary(BUILTIN if self.name == TOY else self.name)

    def state(self) -> ModelState:
        """What to say of it now."""
        title = "Embedded model" if self.name == BUILTIN else self.name.rstrip("/").split("/")[-1]
        if self._error is not None:
            return ModelState("failed", f"{title} · not available", str(self._error))
        if self._model is None:
            return ModelState("loading", f"{title} · loading…")
        size = len(self._model.vocabulary)
        return ModelState("ready", f"{title} · {size:,} tokens", self._model.name)


def load_model(name: str) -> LanguageModel:
    """A model by name: ``builtin``, ``toy``, a local directory or a hub id.

    Raises: ModelError, VocabularyError.
    """
    if name == TOY:
        from workbench.decoding.toy_model import ToyModel

        return ToyModel(Vocabulary.load(BUILTIN))
    from workbench.decoding.transformers_model import TransformersModel, builtin_model  # heavy

    return builtin_model() if name == BUILTIN else TransformersModel(name)
