"""The parts of a lesson as values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.app.lessons.lesson_world import World
from workbench.base.errors import WorkbenchError
from workbench.drawing.graph import Graph


class LessonError(WorkbenchError):
    """A lesson's file is malformed, or a request names something it does not have."""


#: The reader's input to a film: a text, token ids, or nothing yet.
Given = str | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class View:
    """The state of one graph of a film in one frame."""

    #: Ids of the current nodes.
    lit: tuple[str, ...] = ()
    #: Numbers of the edges just taken.
    arcs: tuple[int, ...] = ()
    #: Ids of visible nodes, and numbers of visible edges; None for all.
    nodes: frozenset[str] | None = None
    edges: frozenset[int] | None = None
    #: Ids of nodes from which no final state is reached.
    dead: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Row:
    """A line of chips under a picture: a stack, a worklist, a text being read."""

    name: str
    chips: tuple[str, ...]
    #: The current chip: of a text, the character just read; -1 for none.
    now: int = -1
    #: If the chips are a model's tokens, the surprisal of each in bits, which gives its colour.
    bits: tuple[float, ...] = ()
    #: The chip that is read next; -1 for none.
    next: int = -1


@dataclass(frozen=True, slots=True)
class Choice:
    """A token for the reader to take, allowed or not."""

    token_id: int
    text: str
    allowed: bool
    #: Why it is not allowed, from the engine.
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A token with its probability before and after the mask."""

    text: str
    before: float
    #: None where the mask forbids the token.
    after: float | None
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment of a film."""

    #: One sentence on what happened.
    say: str
    views: tuple[View, ...] = ()
    rows: tuple[Row, ...] = ()
    choices: tuple[Choice, ...] = ()
    bars: tuple[Bar, ...] = ()
    #: The rules being read, the outermost first, where there are rules.
    rules: tuple[str, ...] = ()
    #: Whether the input is accepted; None if undecided.
    good: bool | None = None
    #: The number of the only graph that is shown, to which the only view belongs; None for all.
    only: int | None = None


@dataclass(frozen=True, eq=False)
class Film:
    """A figure: graphs with a fixed layout, and frames with the current parts of them."""

    graphs: tuple[Graph, ...]
    frames: tuple[Frame, ...]
    #: The kind of input: ``text``, ``tokens`` or empty.
    takes: str = ""
    #: The frame shown first; -1 for the last one.
    opens_at: int = 0
    #: The taken tokens, if its input is tokens.
    taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every cell is text."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """The engine's reply to an answer."""

    right: bool
    say: str
    #: Pairs of an option and a note on it.
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """The name and settings of a film, a table or a question."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: The text of a question.
    ask: str = ""
    #: The world, if it is not the step's.
    world: World | None = None
    #: Whether a figure needs the whole width.
    broad: bool = False


@dataclass(frozen=True, eq=False)
class Opening:
    """What "open in the workbench" opens, and on which tab."""

    text: str
    notation: str
    start: str = "start"
    prompt: str = ""
    tab: str = "characters"
    tests: tuple[tuple[str, str | None], ...] = ()
    #: The name of a gallery example; empty for the lesson's own grammar.
    example: str = ""


@dataclass(frozen=True, eq=False)
class Step:
    """A page of a lesson."""

    title: str
    paragraphs: tuple[str, ...]
    #: The source, with page or section.
    source: str
    world: World
    figure: Kind | None = None
    #: The text under the figure.
    caption: str = ""
    table: Kind | None = None
    #: Heads of columns that contain the answer: hidden until the question is checked.
    hidden: tuple[str, ...] = ()
    question: Kind | None = None
    opening: Opening | None = None


@dataclass(frozen=True, eq=False)
class Lesson:
    """A lesson with its aim and steps."""

    name: str
    title: str
    #: One sentence: what a reader can do afterwards.
    aim: str
    source: str
    steps: tuple[Step, ...]


#: A reader's answer: numbers of options, or a text.
Answer = Sequence[int] | str

#: The longest text an answer may be.
MAX_ANSWER_CHARACTERS = 200

#: The relative tolerance of numbers that are not integers.
_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its form, its options if any, and the check of an answer."""

    #: ``several`` of the options, or a ``text``, ``tokens`` or ``number`` to be typed.
    form: str
    options: tuple[str, ...]
    judge: Callable[[Answer], Reply]


def options_question(
    options: tuple[str, ...], right: set[int], why: Callable[[int], str]
) -> Question:
    """A question with options; ``right`` are the right ones, ``why`` explains the others."""

    def judge(answer: Answer) -> Reply:
        chosen = _choice_numbers(answer, len(options))
        wrong = sorted(chosen ^ right)
        if not wrong:
            return Reply(True, "Right.")
        notes = tuple((options[i], why(i)) for i in wrong if i in chosen)
        missing = len(right - chosen)
        parts = []
        if notes:
            parts.append(f"{len(notes)} of your choices {_is(len(notes))} not right")
        if missing:
            parts.append(f"{missing} {'is' if missing == 1 else 'are'} missing")
        return Reply(False, "Not yet: " + ", and ".join(parts) + ".", notes)

    return Question("several", options, judge)


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _choice_numbers(answer: Answer, count: int) -> set[int]:
    if isinstance(answer, str) or any(type(i) is not int or not 0 <= i < count for i in answer):
        raise LessonError("expected some of the options")
    return set(answer)


def number_question(value: Callable[[], float], hint: str = "") -> Question:
    """A question whose answer is a number, computed when an answer is checked."""

    def judge(answer: Answer) -> Reply:
        right = value()
        try:
            answered = float(text_of(answer).replace(",", ".").strip().removesuffix("%"))
        except ValueError:
            answered = math.nan
        if not math.isfinite(answered):
            return Reply(False, "Type a number.")
        exact = right == int(right)
        if answered == right or (not exact and math.isclose(answered, right, rel_tol=_TOLERANCE)):
            return Reply(True, f"Right: {_display_text(right)}.")
        size = "Too many" if answered > right else "Too few"
        if not exact:
            size = "Too much" if answered > right else "Too little"
        return Reply(False, f"{size}. {hint}".strip())

    return Question("number", (), judge)


def _display_text(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.2f}"


def text_of(answer: Answer) -> str:
    """An answer that is a text.

    Raises: LessonError for options, and for a text that is too long.
    """
    if not isinstance(answer, str) or len(answer) > MAX_ANSWER_CHARACTERS:
        raise LessonError(f"expected a text of at most {MAX_ANSWER_CHARACTERS} characters")
    return answer
