"""The parts of a lesson as values, questions included."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.app.lessons.world import World
from workbench.base.errors import WorkbenchError
from workbench.drawing.graph import Graph


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


#: What a reader answers: several options by number, or a text, or nothing that is either.
Answer = Sequence[int] | str

#: The longest text an answer may be.
LONGEST = 200

#: A number is right within one part in a hundred, where it is none that is counted.
_CLOSE = 0.01


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its options, or none where the answer is a text, and the check of an answer."""

    #: ``several`` of the options, or a ``text``, ``tokens`` or ``number`` to be typed.
    form: str
    options: tuple[str, ...]
    judge: Callable[[Answer], Reply]


def which(options: tuple[str, ...], right: set[int], why: Callable[[int], str]) -> Asked:
    """Several options, of which the engine says which are right, and why the others are not."""

    def judge(answer: Answer) -> Reply:
        chosen = _chosen(answer, len(options))
        wrong = sorted(chosen ^ right)
        if not wrong:
            return Reply(True, "Right.")
        notes = tuple((options[i], why(i)) for i in wrong if i in chosen)
        missing = len(right - chosen)
        told = []
        if notes:
            told.append(f"{len(notes)} of your choices {_is(len(notes))} not right")
        if missing:
            told.append(f"{missing} {'is' if missing == 1 else 'are'} missing")
        return Reply(False, "Not yet: " + ", and ".join(told) + ".", notes)

    return Asked("several", options, judge)


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _chosen(answer: Answer, count: int) -> set[int]:
    if isinstance(answer, str) or any(type(i) is not int or not 0 <= i < count for i in answer):
        raise LessonError("expected some of the options")
    return set(answer)


def numbered(value: Callable[[], float], hint: str = "") -> Asked:
    """A number is to be typed; it is computed when an answer comes."""

    def judge(answer: Answer) -> Reply:
        right = value()
        try:
            said = float(text_of(answer).replace(",", ".").strip().removesuffix("%"))
        except ValueError:
            said = math.nan
        if not math.isfinite(said):
            return Reply(False, "Type a number.")
        exact = right == int(right)
        if said == right or (not exact and math.isclose(said, right, rel_tol=_CLOSE)):
            return Reply(True, f"Right: {_shown(right)}.")
        size = "Too many" if said > right else "Too few"
        if not exact:
            size = "Too much" if said > right else "Too little"
        return Reply(False, f"{size}. {hint}".strip())

    return Asked("number", (), judge)


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.2f}"


def text_of(answer: Answer) -> str:
    """An answer that is a text.

    Raises: LessonError for options, and for a text that is too long.
    """
    if not isinstance(answer, str) or len(answer) > LONGEST:
        raise LessonError(f"expected a text of at most {LONGEST} characters")
    return answer
