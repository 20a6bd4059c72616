"""The parts of a lesson as values; the world of a step: language, tokens, model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.automata.nfa import Nfa
from workbench.automata.thompson import thompson
from workbench.base.cached_property import cached_property
from workbench.base.dfa import Dfa
from workbench.base.errors import WorkbenchError
from workbench.base.source import Source
from workbench.base.visible_text import visible
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.engine.automaton import AutomatonConstraint
from workbench.decoding.model import Logits, one_by_one
from workbench.drawing.graph import Graph
from workbench.grammar.fill import fill
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.vocabulary import TokenId, Vocabulary


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
        chosen = _chosen(answer, len(options))
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


def _chosen(answer: Answer, count: int) -> set[int]:
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
            return Reply(True, f"Right: {_shown(right)}.")
        size = "Too many" if answered > right else "Too few"
        if not exact:
            size = "Too much" if answered > right else "Too little"
        return Reply(False, f"{size}. {hint}".strip())

    return Question("number", (), judge)


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.2f}"


def text_of(answer: Answer) -> str:
    """An answer that is a text.

    Raises: LessonError for options, and for a text that is too long.
    """
    if not isinstance(answer, str) or len(answer) > MAX_ANSWER_CHARACTERS:
        raise LessonError(f"expected a text of at most {MAX_ANSWER_CHARACTERS} characters")
    return answer


# -- the world ------------------------------------------------------------------------------------
# The world of a step: a language, a few tokens, a model with known probabilities.


#: The vocabulary's name in messages.
_NAME = "this lesson's"

#: A byte in a token that is not UTF-8: ``<0xC3>``.
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


#: The options of notations in lessons: JSON without white space, for small pictures.
OPTIONS: dict[Notation, dict[str, Any]] = {Notation.JSON_SCHEMA: {"whitespace": "compact"}}


@dataclass(frozen=True, eq=False)
class World:
    """A language over characters and its tokens; built on first use.

    ``chances`` is a model: for each text the probability of every token after it, the end under
    the name ``end``. A text that begins with ``…`` means all texts with this ending.
    """

    #: The text of the language; empty if the step has none.
    text: str = ""
    notation: Notation = Notation.REGEX
    start: str = "start"
    tokens: tuple[str, ...] = ()
    #: The pre-tokenizer's regex, which cuts a text before merging; empty for none.
    pretokenizer: str = ""
    #: Merge rules in rank order; single characters of the tokens need none.
    merges: tuple[tuple[str, str], ...] = ()
    chances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: The probabilities of a draft model.
    draft: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: The texts before and after a hole; with one of them the language is that of the hole.
    prefix: str = ""
    suffix: str = ""
    #: Warm-up runs as tokens, from which counts are learnt.
    warm: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the language, or of its hole.

        Raises: WorkbenchError where the step has none, ParseError; BuildError if no text fits.
        """
        if not self.text:
            raise WorkbenchError("expected a regex or a grammar in this step")
        options = OPTIONS.get(self.notation, {})
        grammar = Grammar.from_text(self.text, self.notation, self.start, **options)
        return fill(self.prefix, self.suffix, grammar)

    @property
    def regex(self) -> str:
        """The text, if it is a regex; empty for the others."""
        return self.text if self.notation is Notation.REGEX else ""

    @cached_property
    def nfa(self) -> Nfa:
        """Thompson's automaton of the regex."""
        return thompson(parse_regex(Source(self.regex, "lesson")))

    @cached_property
    def dfa(self) -> Dfa:
        """The minimal automaton.

        Raises: WorkbenchError where the language needs a stack.
        """
        if (dfa := self.grammar.dfa) is None:
            raise WorkbenchError("expected a language that needs no stack")
        return dfa

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the step, and an end token after them."""
        if not self.tokens:
            raise WorkbenchError("expected tokens in this step")
        tokens = [*map(token_bytes, self.tokens), None]
        merges = [(token_bytes(left), token_bytes(right)) for left, right in self.merges] or None
        return Vocabulary(tokens, len(self.tokens), merges, self.pretokenizer or None, name=_NAME)

    @cached_property
    def words(self) -> tuple[bytes, ...]:
        """The tokens that have bytes, in their order."""
        return tuple(token for token in self.vocabulary.tokens if token is not None)

    @cached_property
    def constraint(self) -> AutomatonConstraint:
        """The exact mask of the language over the tokens."""
        constraint = compile_constraint(self.grammar, self.vocabulary)
        assert isinstance(constraint, AutomatonConstraint), "the method automaton"
        return constraint

    @cached_property
    def bpe(self) -> Bpe:
        """The tokenizer of the step's merge rules."""
        return Bpe.of(self.vocabulary)

    @cached_property
    def model(self) -> KnownModel:
        """The model with the step's probabilities."""
        return KnownModel(self.vocabulary, self.chances)

    @cached_property
    def drafter(self) -> KnownModel:
        """The draft model."""
        return KnownModel(self.vocabulary, self.draft, "draft")

    def shown(self, token_id: TokenId) -> str:
        """A token as shown to the reader."""
        token = self.vocabulary.tokens[token_id]
        return "end" if token is None else visible(token)


def token_bytes(token: str) -> bytes:
    """The bytes of a token in a lesson file: text, with ``<0xC3>`` for a single byte."""
    pieces = _BYTE.split(token)
    return b"".join(
        bytes((int(piece, 16),)) if number % 2 else piece.encode()
        for number, piece in enumerate(pieces)
    )


@dataclass(frozen=True, eq=False)
class KnownModel:
    """A language model with given probabilities, so that its numbers can be checked.

    Raises: WorkbenchError where the probabilities after a text are no distribution.
    """

    vocabulary: Vocabulary
    chances: Mapping[str, Mapping[str, float]]
    name: str = "known"

    def __post_init__(self) -> None:
        known = {self._name(i) for i in range(len(self.vocabulary))}
        for text, row in self.chances.items():
            if unknown := set(row) - known:
                raise WorkbenchError(f"expected tokens of the step after {text!r}, not {unknown}")
            if not math.isclose(math.fsum(row.values()), 1, abs_tol=1e-9):
                raise WorkbenchError(f"expected chances that add up to 1 after {text!r}")

    def _name(self, token_id: TokenId) -> str:
        token = self.vocabulary.tokens[token_id]
        return "end" if token is None else token.decode("utf-8", "backslashreplace")

    def encode(self, text: str) -> list[TokenId]:
        """The end token, because a prompt must not be empty."""
        return [len(self.vocabulary) - 1]

    def session(self) -> KnownModel:
        return self

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """The logarithms of the probabilities, (V,)."""
        row = self._row(self.vocabulary.decode(token_ids).decode("utf-8", "backslashreplace"))
        given = [row.get(self._name(i), 0.0) for i in range(len(self.vocabulary))]
        with np.errstate(divide="ignore"):
            logits: Logits = np.log(np.array(given)).astype(np.float32)
        return logits

    def _row(self, text: str) -> Mapping[str, float]:
        """The probabilities after a text: its own, or those of its longest ending with ``…``."""
        if text in self.chances:
            return self.chances[text]
        for length in range(len(text), -1, -1):
            if (ending := "…" + text[len(text) - length :]) in self.chances:
                return self.chances[ending]
        raise WorkbenchError(f"expected chances after {text!r}")

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """See ``Session.judge``."""
        return one_by_one(self.logits, token_ids, last)
