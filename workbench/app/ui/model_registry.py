"""The language models of a page, loaded in background threads."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from workbench.app.ui.streams import PassLoop
from workbench.base.errors import ModelError, WorkbenchError
from workbench.decoding.checkpoint import Checkpoint, Progress, set_threads
from workbench.decoding.model import ChatModel, LanguageModel, SessionPool
from workbench.decoding.speculative import can_draft
from workbench.vocabulary.gguf_file import INSTALLED, gguf_of, is_installed
from workbench.vocabulary.load import NAMES
from workbench.vocabulary.load import load_vocabulary as load_vocabulary_of
from workbench.vocabulary.vocabulary import Vocabulary

#: The name of the model that comes with the package.
BUILTIN = "builtin"

#: The name of a model without training, for tests and demonstrations of the page.
TOY = "toy"


#: The names of models on the page; other models are named by their id or folder.
_TITLES = {BUILTIN: "Embedded model"} | {name: model.title for name, model in INSTALLED.items()}

_SMOLLM2 = (
    "135 million parameters, trained to follow instructions: short English and JSON. About 14"
    " tokens a second on one slow core, 0.6 GB of memory."
)
#: What to expect of a model.
_ABOUT = {
    BUILTIN: "6.4 million parameters, trained for the examples here: JSON, XML, C, dates, sums."
    " A few hundred tokens a second on one core; it knows little else.",
    "smollm2": f"{_SMOLLM2} The first time it is converted, which takes up to a minute.",
    "HuggingFaceTB/SmolLM2-135M-Instruct": f"{_SMOLLM2} The first time it is downloaded.",
}


def default_models() -> tuple[str, ...]:
    """The models a page offers if none is named: the embedded one, and those of packages."""
    return (BUILTIN, *filter(is_installed, INSTALLED))


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
    #: How many tokens it reads at most; None while that is not known, or without a limit.
    most: int | None = None


class ModelRoom:
    """Loads a model once, in a background thread; callers wait in ``model``.

    The vocabulary is available separately and earlier: pictures need it, and torch takes seconds.
    """

    def __init__(
        self,
        name: str = BUILTIN,
        load: Callable[[str], LanguageModel] | None = None,
        load_vocabulary: Callable[[str], Vocabulary] | None = None,
        *,
        device: str = "auto",
        dtype: str = "auto",
        revision: str | None = None,
    ) -> None:
        self.name = name
        self._device, self._dtype, self._revision = device, dtype, revision
        #: Sessions that continue from one request to the next.
        self.sessions = SessionPool()
        #: Computes all runs with the model.
        self.loop = PassLoop()
        self._load = load or self._load_model
        self._stage = "loading"
        self._load_vocabulary = load_vocabulary or partial(load_vocabulary_of, revision=revision)
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

    def _load_model(self, name: str) -> LanguageModel:
        def show(stage: str, done: float | None) -> None:
            self._stage = stage if done is None else f"{stage} {done:.0%}"

        return load_model(name, show, self._device, self._dtype, self._revision)

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

    @property
    def is_remote(self) -> bool:
        """Whether its tokens may have to be downloaded."""
        if self._model is not None or self.name in (TOY, *NAMES) or gguf_of(self.name):
            return False
        return not Path(self.name).expanduser().is_dir()

    @property
    def title(self) -> str:
        """The model's name for people; never a path of this machine."""
        return _TITLES.get(self.name) or _short(self.name)

    def state(self) -> ModelState:
        """The current state for the header."""
        title = self.title
        if self._error is not None:
            return ModelState("failed", f"{title} · not available", str(self._error))
        if self._model is None:
            stage = f"{self._stage}…" if self._running else "not loaded yet"
            return ModelState("loading", f"{title} · {stage}")
        size = len(self._model.vocabulary)
        text = f"{title} · {size:,} tokens"
        most: int | None = getattr(self._model, "context_length", None)
        return ModelState("ready", text, self._model.name, self._has_template, most)


def load_model(
    name: str,
    progress: Progress,
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
) -> LanguageModel:
    """A model by name: ``toy``, or what ``wb.load_model`` knows, with its arguments.

    Raises: ModelError, VocabularyError.
    """
    if name == TOY:
        from workbench.decoding.model import ToyModel

        return ToyModel(Vocabulary.load(BUILTIN))
    from workbench.decoding import transformers_model  # heavy

    # one embedded model for the process; others are not kept: a page drops opened models
    shared = name == BUILTIN
    make = transformers_model.load_model if shared else transformers_model.TransformersModel
    model = make(name, device, dtype, revision=revision, progress=progress)
    set_threads(model.module)
    return model


def check_model(name: str, revision: str | None = None) -> None:
    """Check that a model can be loaded, without reading its weights.

    Raises: ModelError, as where it is loaded.
    """
    if name not in (TOY, BUILTIN):
        Checkpoint.find(name, revision)


#: Models opened from the page that are kept; the least recently used one is dropped.
_MAX_OPENED = 2


class ModelRooms:
    """One ``ModelRoom`` for each model that the page was started with or a visitor opened.

    Safe to share between threads. Further models are opened for visitors who know the ``token``: no
    other visitor must make the page read a directory or download anything. Without a token no
    visitor may.
    """

    def __init__(
        self,
        offered: Sequence[str | ModelRoom] = (BUILTIN,),
        *,
        token: str | None = None,
        make: Callable[[str], ModelRoom] = ModelRoom,
    ) -> None:
        rooms = [offer if isinstance(offer, ModelRoom) else make(offer) for offer in offered]
        self._token = token
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
        with self._lock:
            if name not in self._opened:
                raise ModelError(
                    f"this page does not offer the model {name!r}",
                    "a model that was opened from the page is closed when others are opened",
                )
            self._opened.move_to_end(name)
            return self._opened[name]

    @property
    def may_open(self) -> bool:
        """Whether visitors who know the token may open further models."""
        return self._token is not None

    def open(self, name: str, token: str) -> str:
        """Open a model for a visitor; returns its name on the page.

        Raises: ModelError where the visitor may not open one.
        """
        if self._token is None:
            raise ModelError(
                "this page does not open other models",
                "serve it on your own machine: workbench serve --open-models",
            )
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            raise ModelError(
                "only the owner of this page opens models",
                "open the address with ?token=… that workbench serve --open-models printed",
            )
        with self._lock:
            rooms = {**self._offered, **self._opened}
            for key, room in rooms.items():
                if name in (key, room.name):
                    return key
            room = self._make(name)
            key = _key(room, list(rooms.values()))
            self._opened[key] = room
            while len(self._opened) > _MAX_OPENED:
                self._opened.popitem(last=False)
            return key

    def drafts(self, room: ModelRoom) -> list[tuple[str, ModelRoom]]:
        """The other models with the same tokens, by name: they can propose tokens for this one.

        Their tokenizers are read, but not downloaded; models whose tokens cannot be read are left
        out.

        Raises: VocabularyError, ModelError where the model's own tokens cannot be read.
        """
        vocabulary, drafts = room.vocabulary(), []
        with self._lock:
            rooms = {**self._offered, **self._opened}
        for name, other in rooms.items():
            with suppress(WorkbenchError):
                if other is room or other.is_remote:
                    continue
                if can_draft(other.vocabulary(), vocabulary):
                    drafts.append((name, other))
        return drafts

    def known(self) -> list[dict[str, str]]:
        """Name, state, title and description of every model offered or opened."""
        with self._lock:
            rooms = {**self._offered, **self._opened}
        return [
            {"name": name, "about": _ABOUT.get(room.name, ""), **asdict(room.state())}
            for name, room in rooms.items()
        ]


def _short(name: str) -> str:
    return name.rstrip("/").split("/")[-1]


def _key(room: ModelRoom, before: Sequence[ModelRoom]) -> str:
    """A model's name on the page: never a path of this machine."""
    short = _short(room.name)
    same = sum(_short(other.name) == short for other in before)
    return f"{short}-{same + 1}" if same else short
