"""The parts of a lesson as values; ``reading`` builds them, ``ui`` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.drawing.graph import Graph
from workbench.errors import WorkbenchError
from workbench.lessons.world import World


class LessonError(WorkbenchError):
    """A lesson is not written as it should be, or something was asked that it does not have."""


#: What a reader hands to a film or a question: a text, tokens by number, or nothing yet.
Given = str | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class View:
    """How one graph of a film looks in one frame."""

    #: Ids of the nodes in which the machine stands.
    lit: tuple[str, ...] = ()
    #: Numbers of the edges just taken.
    arcs: tuple[int, ...] = ()
    #: Ids of nodes, and numbers of edges, that are there already; None for all.
    nodes: frozenset[str] | None = None
    edges: frozenset[int] | None = None
    #: Ids of nodes from which no final state is reached.
    dead: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Row:
    """A line of chips under a picture: a stack, a worklist, a text being read."""

    name: str
    chips: tuple[str, ...]
    #: Which chip the frame is about: of a text, the character just read; -1 for none.
    now: int = -1
    #: Where chips are tokens of a model the surprisal of each, in bits: its colour.
    bits: tuple[float, ...] = ()
    #: Which chip is read next; -1 for none.
    next: int = -1


@dataclass(frozen=True, slots=True)
class Choice:
    """A token a reader may take next, or may not."""

    token_id: int
    text: str
    allowed: bool
    #: Why it may not be taken, by the engine.
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A token and what the model thinks of it, before the mask and after it."""

    text: str
    before: float
    #: None where the mask forbids the token.
    after: float | None
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment of a film."""

    #: One sentence about what has just happened.
    say: str
    views: tuple[View, ...] = ()
    rows: tuple[Row, ...] = ()
    choices: tuple[Choice, ...] = ()
    bars: tuple[Bar, ...] = ()
    #: The rules being read, the outermost first, where there are rules.
    rules: tuple[str, ...] = ()
    #: Whether what was given is accepted; None where that is no question here.
    good: bool | None = None


@dataclass(frozen=True, eq=False)
class Film:
    """A figure: graphs that stay where they are, and frames that say what of them is lit."""

    graphs: tuple[Graph, ...]
    frames: tuple[Frame, ...]
    #: What a reader may hand in: ``text``, ``tokens`` or nothing.
    takes: str = ""
    #: The frame shown first; -1 for the last one.
    opens_at: int = 0
    #: The tokens it is about, where it takes tokens.
    taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A worked table; every cell is text made for reading."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the engine says to an answer."""

    right: bool
    say: str
    #: For single options what the engine says of them.
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """Something a lesson names with its settings: a film, a table or a question."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: What is asked, of a question.
    ask: str = ""
    #: A separate world, where it is not about that of the step.
    world: World | None = None
    #: Whether a figure wants the whole width.
    broad: bool = False


@dataclass(frozen=True, eq=False)
class Opening:
    """What "open in the workbench" opens, and at which tab."""

    text: str
    notation: str
    start: str = "start"
    prompt: str = ""
    tab: str = "characters"
    tests: tuple[tuple[str, str | None], ...] = ()
    #: The example of the gallery it is; empty for a lesson's own.
    example: str = ""


@dataclass(frozen=True, eq=False)
class Step:
    """A page of a lesson."""

    title: str
    paragraphs: tuple[str, ...]
    #: The place in the source, to the page or section.
    source: str
    world: World
    figure: Kind | None = None
    #: What stands under the figure.
    caption: str = ""
    table: Kind | None = None
    #: Heads of the table's columns that give the answer away: hidden until the question is checked.
    hidden: tuple[str, ...] = ()
    question: Kind | None = None
    opening: Opening | None = None


@dataclass(frozen=True, eq=False)
class Lesson:
    """A lesson: what it is for, and its steps."""

    name: str
    title: str
    #: One sentence: what a reader can do afterwards.
    aim: str
    source: str
    steps: tuple[Step, ...]
