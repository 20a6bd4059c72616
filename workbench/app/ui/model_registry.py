"""The language models of a page, loaded in background threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from workbench.base.errors import ModelError, WorkbenchError
from workbench.decoding.model import ChatModel, LanguageModel, SessionPool
from workbench.vocabulary.vocabulary import Vocabulary

#: The name of the model that comes with the package.
BUILTIN = "builtin"

#: The name of a model without training, for tests and demonstrations of the page.
TOY = "toy"


@dataclass(frozen=True, slots=True)
class ModelState:
    """The state of a model as the header shows it."""

    #: ``loading``, ``ready`` or ``failed``.
    state: str
    text: str
    #: The tooltip: the model's name, or why it failed and what to do.
    title: str = ""
    #: Whether it has a chat template.
    chat: bool = False


#: Held while a model is loaded: transformers cannot be imported in two threads at once.
_loading = threading.Lock()


class ModelRoom:
    """Loads a model once, in a background thread; callers wait in ``model``.

    The vocabulary is available separately and earlier: pictures need it, and torch takes seconds.
    """

    def __init__(
        self,
        name: str = BUILTIN,
        load: Callable[[str], LanguageModel] | None = None,
        load_vocabulary: Callable[[str], Vocabulary] = Vocabulary.load,
    ) -> None:
        self.name = name
        #: Sessions that continue from one request to the next.
        self.sessions = SessionPool()
        self._load = load or load_model
        self._load_vocabulary = load_vocabulary
        self._done = threading.Event()
        self._started = threading.Lock()
        self._running = False
        self._model: LanguageModel | None = None
        self._has_template = False
        self._error: WorkbenchError | None = None

    def start(self) -> None:
        """Begin loading, unless it has begun; returns immediately."""
        with self._started:
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._fill, name="model", daemon=True).start()

    def _fill(self) -> None:
        try:
            with _loading:
                model = self._load(self.name)
                self._has_template = isinstance(model, ChatModel) and model.has_template
            self._model = model
        except WorkbenchError as error:
            self._error = error
        except Exception as error:
            # any error of a third party's loader must reach the page, which would wait forever
            self._error = ModelError(f"the model cannot be loaded: {error}")
        finally:
            self._done.set()

    @property
    def is_loaded(self) -> bool:
        """Whether loading has ended, successfully or not."""
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
        """The model's tokens, without waiting for its weights.

        Raises: VocabularyError.
        """
        if self._model is not None:
            return self._model.vocabulary
        return self._load_vocabulary(BUILTIN if self.name == TOY else self.name)

    def state(self) -> ModelState:
        """The current state for the header."""
        title = "Embedded model" if self.name == BUILTIN else self.name.rstrip("/").split("/")[-1]
        if self._error is not None:
            return ModelState("failed", f"{title} · not available", str(self._error))
        if self._model is None:
            return ModelState("loading", f"{title} · loading…")
        size = len(self._model.vocabulary)
        text = f"{title} · {size:,} tokens"
        return ModelState("ready", text, self._model.name, self._has_template)


def load_model(name: str) -> LanguageModel:
    """A model by name: ``builtin``, ``toy``, a local directory or a hub id.

    Raises: ModelError, VocabularyError.
    """
    if name == TOY:
        from workbench.decoding.model import ToyModel

        return ToyModel(Vocabulary.load(BUILTIN))
    from workbench.decoding.transformers_model import TransformersModel, builtin_model  # heavy

    return builtin_model() if name == BUILTIN else TransformersModel(name)


#: Models opened from the page that are kept; the least recently used one is dropped.
_MAX_OPENED = 2


class ModelRooms:
    """One ``ModelRoom`` for each model that the page was started with or a visitor opened.

    Safe to share between threads. Only a page that is reachable from its own machine alone may open
    further models (``may_open``): a remote visitor must not make it read a directory or download
    anything.
    """

    def __init__(
        self,
        offered: Sequence[str | ModelRoom] = (BUILTIN,),
        *,
        may_open: bool = False,
        make: Callable[[str], ModelRoom] = ModelRoom,
    ) -> None:
        rooms = [one if isinstance(one, ModelRoom) else make(one) for one in offered]
        self.may_open = may_open
        self.first = rooms[0]
        self._offered = {_key(room, rooms[:i]): room for i, room in enumerate(rooms)}
        self._opened: OrderedDict[str, ModelRoom] = OrderedDict()
        self._make = make
        self._lock = threading.Lock()

    def get(self, name: str = "") -> ModelRoom:
        """The room of a model by its name on the page; the first one for no name.

        Raises: ModelError for a model that is not offered.
        """
        if not name:
            return self.first
        if name in self._offered:
            return self._offered[name]
        if not self.may_open:
            raise ModelError(
                "this page does not open other models",
                "serve it on your own machine: workbench serve --model DIRECTORY-OR-HUB-ID",
            )
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._make(name)
                while len(self._opened) > _MAX_OPENED:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(name)
            return self._opened[name]

    def known(self) -> list[dict[str, str]]:
        """Name, state and title of every model offered or opened."""
        with self._lock:
            rooms = {**self._offered, **self._opened}
        return [{"name": name, **asdict(room.state())} for name, room in rooms.items()]


def _key(room: ModelRoom, before: Sequence[ModelRoom]) -> str:
    """A model's name on the page: never a path of this machine."""
    short = room.name.rstrip("/").split("/")[-1]
    same = sum(other.name.rstrip("/").split("/")[-1] == short for other in before)
    return f"{short}-{same + 1}" if same else short
