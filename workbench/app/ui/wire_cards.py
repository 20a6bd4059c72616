"""The wire format: the records of the page, downloads, lessons and comparisons.

``wire`` says what the format is, and has the records that these contain.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from workbench.app.ui.wire import (
    ExpectedText,
)
from workbench.app.ui.wire_parts import (
    Edge,
    State,
)

# -- the page --------------------------------------------------------------------------------------


class ExampleName(TypedDict):
    """An example in the gallery."""

    name: str
    title: str
    group: str


class Settings(TypedDict):
    """Settings of an example's runs."""

    small_tokens: bool
    #: The monitor that its runs have; empty for none.
    monitor: str
    temperature: float
    seed: int
    finish: bool


class Example(TypedDict):
    """An example as the page opens it."""

    name: str
    title: str
    note: str
    notation: str
    text: str
    prompt: str
    max_tokens: int
    accepts: list[str]
    rejects: list[str]
    group: str
    start: str
    breaks: list[str] | None
    settings: Settings


class Method(TypedDict):
    """A method of constraining; ``deep`` where ``k`` can be set."""

    name: str
    title: str
    source: str
    deep: bool


class PageRecord(TypedDict):
    """What the page is opened with."""

    gallery: list[ExampleName]
    first: Example | None
    methods: list[Method]
    space: str
    #: The name of the results file that the page is served with.
    results: NotRequired[str]


class ModelState(TypedDict):
    """Whether a model is loading, ready or failed."""

    state: str
    text: str
    title: str
    #: Whether it has a chat template.
    chat: bool
    #: How many tokens it reads at most; None while that is not known, or without a limit.
    most: int | None


class KnownModel(ModelState):
    """A model that can be chosen; ``about``: what to expect of it, or empty."""

    name: str
    about: str


class Models(ModelState):
    """The chosen model and all others; ``compiling``: the engine's kernels are being compiled."""

    models: list[KnownModel]
    may_open: bool
    compiling: bool


class OpenedModel(TypedDict):
    """The name of a model on the page."""

    name: str


class About(TypedDict):
    """Names and values."""

    versions: list[list[str]]
    limits: list[list[str]]


class Release(TypedDict):
    """The version and the address of the source."""

    version: str
    source: str


# -- downloads -------------------------------------------------------------------------------------


class File(TypedDict):
    """A file."""

    name: str
    type: str
    base64: str


class ReplayDrawing(TypedDict):
    """What a replay would request: pictures by tab, the flags of its steps, the reasons of tokens.

    ``narrows``: whether the run may allow fewer tokens than the grammar.
    """

    pictures: dict[str, list[dict[str, Any]]]
    flags: list[dict[str, Any]]
    narrows: bool
    reasons: list[Any]


class Replay(TypedDict):
    """A page that plays a run; its recording goes in the place of ``mark``."""

    html: str
    mark: str
    drawn: ReplayDrawing
    version: str


# -- lessons ---------------------------------------------------------------------------------------


class LessonEntry(TypedDict):
    """A lesson in the list; ``steps`` are titles."""

    name: str
    title: str
    aim: str
    source: str
    steps: list[str]


class ShelvedLesson(LessonEntry):
    """A lesson with its shelf."""

    shelf: str


class LessonList(TypedDict):
    """All lessons."""

    ok: Literal[True]
    lessons: list[ShelvedLesson]


class LessonWorld(TypedDict):
    """The language and the tokens of a step."""

    text: str
    notation: str
    tokens: list[str]
    merges: list[str]


class LessonTable(TypedDict):
    """A table; the ``hidden`` columns are covered until the question is answered."""

    caption: str
    heads: list[str]
    rows: list[list[str]]
    hidden: list[int]


class LessonQuestion(TypedDict):
    """A question and the form of its answer."""

    ask: str
    form: str
    options: list[str]


class LessonOpening(TypedDict):
    """What a step opens in the workbench."""

    text: str
    notation: str
    start: str
    options: dict[str, str | bool | int]
    prompt: str
    tab: str
    name: str
    tests: list[ExpectedText]


class LessonPage(TypedDict):
    """One step of a lesson."""

    title: str
    paragraphs: list[str]
    source: str
    figure: bool
    broad: bool
    explained: bool
    caption: str
    given: LessonWorld
    table: LessonTable | None
    question: LessonQuestion | None
    open: LessonOpening | None


class LessonContent(LessonEntry):
    """A lesson."""

    ok: Literal[True]
    pages: list[LessonPage]


class FilmView(TypedDict):
    """What is lit in a picture, and what is in it (null for all), by the ids of its elements."""

    lit: list[str]
    arcs: list[str]
    dead: list[str]
    shown: list[str] | None


class FilmRow(TypedDict):
    """A line of chips under a picture."""

    name: str
    chips: list[str]
    now: int
    next: int
    bits: list[float]


class FilmChoice(TypedDict):
    """A token that can be taken."""

    id: int
    text: str
    ok: bool
    why: str


class FilmBar(TypedDict):
    """A token's probabilities before the mask and after it."""

    text: str
    before: float
    after: float | None
    taken: bool


class FilmFrame(TypedDict):
    """A moment of a film."""

    say: str
    good: bool | None
    #: The number of the only picture that is shown, to which the only view belongs; null for all.
    only: int | None
    rules: list[str]
    views: list[FilmView]
    rows: list[FilmRow]
    choices: list[FilmChoice]
    bars: list[FilmBar]


class FilmGraph(TypedDict):
    """A picture of a film."""

    name: str
    svg: str
    centre: str
    where: dict[str, str]
    names: dict[str, str]
    states: list[State]
    edges: list[Edge]


class FilmAnswer(TypedDict):
    """A film; no pictures where the page has them already."""

    ok: Literal[True]
    takes: str
    opens_at: int
    taken: list[int]
    frames: list[FilmFrame]
    graphs: list[FilmGraph]


class ConstructionEntry(TypedDict):
    """A construction; ``missing`` is the reason why the grammar has no film of it, or empty.

    One that ``exists`` may be too large for a film.
    """

    name: str
    title: str
    exists: bool
    missing: str


class GrammarPart(TypedDict):
    """A part of a grammar that is a grammar itself: a rule, or a piece of a regex."""

    key: str
    title: str


class ConstructionList(TypedDict):
    """The constructions of a grammar."""

    ok: Literal[True]
    constructions: list[ConstructionEntry]
    parts: list[GrammarPart]


class TikzAnswer(TypedDict):
    """Pictures for LaTeX."""

    ok: Literal[True]
    tikz: str


class Note(TypedDict):
    """Why an option is right or wrong."""

    option: str
    why: str


class Judged(TypedDict):
    """What the engine says of an answer."""

    ok: Literal[True]
    right: bool
    say: str
    notes: list[Note]


class Construct(TypedDict):
    """A row of a syntax card: ``‹`` and ``›`` enclose the part that is to be replaced."""

    text: str
    about: str
    insert: str
    #: A small grammar with it, which an empty editor gets.
    example: str


class SyntaxGroup(TypedDict):
    """Constructs that belong together."""

    title: str
    rows: list[Construct]


class SyntaxCard(TypedDict):
    """The constructs of a notation (``syntax_card.Card``)."""

    groups: list[SyntaxGroup]
