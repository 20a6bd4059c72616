"""Exercises: a language in words with a hidden solution; answers are compared with the solution.

The answer may be in another notation than the solution, since their languages are compared
(``shortest_difference``). Conditions say how an answer must be written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from workbench.analysis.conditions import Condition, conditions_of
from workbench.analysis.credit import Credit, credit
from workbench.analysis.difference import Difference, shortest_difference
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.base.problems import Problem
from workbench.base.visible_text import shorten, visible
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation

#: The most seconds of the comparison of short texts for partial credit.
_CREDIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class GrammarText:
    """The text of a grammar, with its notation."""

    text: str
    notation: Notation
    start: str = "start"
    #: One of ``notation.styles``; empty for the default.
    style: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "notation", Notation(self.notation))  # its name is accepted too

    def __repr__(self) -> str:
        return f"GrammarText({shorten(self.text, 60)!r}, {self.notation.label})"

    def grammar(self, limits: Limits = LIMITS, name: str = "") -> Grammar:
        """Compile it.

        Raises: ParseError, BuildError, LimitError; WorkbenchError for an unknown style.
        """
        return Grammar.from_text(
            self.text, self.notation, self.start, style=self.style, limits=limits, name=name
        )


class Outcome(StrEnum):
    """The result of a check, by its name in the CSV of ``workbench grade``."""

    RIGHT = "right"
    WRONG = "wrong"
    #: The language is right, and a condition is not satisfied.
    REFUSED = "refused"
    #: The answer is no grammar.
    UNREADABLE = "unreadable"
    #: No difference was found in the texts up to ``bound``, and there is no proof of equality.
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """How an answer compares with the solution; true if it is right."""

    outcome: Outcome
    #: The shortest text that only one of both accepts; None if none was found.
    counterexample: bytes | None = None
    #: Whether the answer accepts ``counterexample``, which the language does not contain.
    gained: bool = False
    #: All texts of at most this many characters were compared; None: all texts.
    bound: int | None = None
    #: The conditions that are not satisfied, each with the reason.
    unmet: tuple[str, ...] = ()
    #: Short texts that both judge alike; None if the answer is unreadable.
    credit: Credit | None = None
    #: Why the answer is unreadable.
    problem: Problem | None = None
    #: The reason for the outcome, in a sentence.
    why: str = ""

    def __bool__(self) -> bool:
        return self.outcome is Outcome.RIGHT

    def __repr__(self) -> str:
        return f"Graded({self.outcome.value}: {shorten(self.why, 100)!r})"

    @property
    def solved(self) -> bool:
        """Whether the answer counts: it is right, or no text up to a length is judged otherwise."""
        return self.outcome in (Outcome.RIGHT, Outcome.UNDECIDED)

    @property
    def share(self) -> float | None:
        """The partial credit for the language from 0 to 1; None if no text was compared.

        Answers with the right language have 1, also if a condition is not satisfied.
        """
        if self.outcome is Outcome.UNREADABLE:
            return 0.0
        if self.outcome is not Outcome.WRONG:
            return 1.0
        return self.credit.share if self.credit else None

    @property
    def text(self) -> str:
        """The counterexample with invisible characters as glyphs; empty without one."""
        return "" if self.counterexample is None else visible(self.counterexample)

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """A task and its hidden solution.

    ``check`` compares an answer with the solution, and names the shortest text that differs.

    Raises: WorkbenchError for unknown conditions.
    """

    #: What the language is, in words.
    task: str
    #: A grammar of the language.
    solution: GrammarText
    name: str = ""
    title: str = ""
    #: Notations of answers; empty for all.
    notations: tuple[Notation, ...] = ()
    #: Kind → number or true, for example ``{"no_alternation": True, "states": 4}``.
    conditions: Mapping[str, int | bool] = field(default_factory=dict)
    accepts: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()
    hint: str = ""
    #: What the exercise teaches, shown when it is solved.
    teaches: str = ""
    #: The text that the editor begins with; None for the notation's own beginning.
    starter: GrammarText | None = None

    def __repr__(self) -> str:
        return f"Exercise({shorten(self.title or self.task, 60)!r})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "notations", tuple(map(Notation, self.notations)))
        self.required  # noqa: B018  # raises

    @cached_property
    def required(self) -> tuple[Condition, ...]:
        """The conditions as values."""
        return conditions_of(self.conditions)

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the solution.

        Raises: ParseError, BuildError, LimitError.
        """
        return self.solution.grammar(name="the solution")

    def verify(self) -> None:
        """Check the exercise itself: its examples, and that the solution satisfies the conditions.

        Raises: WorkbenchError that names the first contradiction; ParseError, BuildError,
                LimitError if the solution cannot be compiled.
        """
        grammar = self.grammar
        for texts, wanted in ((self.accepts, True), (self.rejects, False)):
            for text in texts:
                if grammar.accepts(text) != wanted:
                    word = "rejects" if wanted else "accepts"
                    raise WorkbenchError(
                        f"the solution {word} the example {visible(text) or 'of the empty text'}",
                        "change the example, or the solution",
                    )
        for condition in self.required:
            if why := condition.unmet(grammar):
                raise WorkbenchError(
                    f"the solution does not satisfy the condition “{condition}”: {why}",
                    "change the solution, or leave the condition out",
                )
        if self.notations and self.solution.notation not in self.notations:
            raise WorkbenchError(
                f"the notation of the solution, {self.solution.notation.label}, is not allowed",
                "allow it, or write the solution in an allowed notation",
            )

    def check(
        self,
        text: str,
        notation: Notation | str,
        start: str = "start",
        *,
        style: str = "",
        limits: Limits = LIMITS,
        name: str = "",
    ) -> Graded:
        """Compare an answer with the solution, then test the conditions.

        An answer in the solution's notation has the solution's style by default.

        Cost: two or three times ``limits.seconds`` at most, and half a second for the credit.
        """
        notation = Notation(notation)
        if not style and notation is self.solution.notation:
            style = self.solution.style
        if not text.strip():
            return _unreadable(
                WorkbenchError("the answer is empty", "write () for the empty text in a regex")
            )
        try:
            answer = GrammarText(text, notation, start, style).grammar(limits, name)
        except WorkbenchError as error:
            return _unreadable(error)
        return self.check_grammar(answer, limits=limits)

    def check_grammar(
        self, answer: Grammar, *, solution: Grammar | None = None, limits: Limits = LIMITS
    ) -> Graded:
        """Compare a compiled answer with the solution, and test the conditions.

        ``solution``  its grammar, if the caller has it; else it is compiled once.
        """
        solution = solution or self.grammar
        unmet = self._unmet(answer)  # before the comparison, which may take the rest of the time
        try:
            found = shortest_difference(solution, answer, limits=limits)
        except LimitError as error:
            found = Difference(same=None, bound=0, why=error.message)
        graded = self._graded(found, unmet)
        if graded.outcome is not Outcome.WRONG:
            return graded
        differing = (graded.counterexample or b"").decode("utf-8", "replace")
        work = replace(limits, seconds=min(_CREDIT_SECONDS, limits.seconds), began=None)
        try:
            examples = (*self.accepts, *self.rejects, differing)
            counted = credit(solution, answer, examples, work)
        except LimitError:
            return graded
        return replace(graded, credit=counted)

    def _unmet(self, answer: Grammar) -> tuple[str, ...]:
        """The conditions that an answer does not satisfy; its notation is one."""
        reasons = ((condition, _reason(condition, answer)) for condition in self.required)
        unmet = tuple(f"{condition}: {why}" for condition, why in reasons if why)
        if self.notations and answer.notation not in self.notations:
            names = " or ".join(one.label for one in self.notations)
            return f"written as {names}: it is {answer.notation.label}", *unmet
        return unmet

    def _graded(self, found: Difference, unmet: tuple[str, ...]) -> Graded:
        """The result without credit."""
        if found.same is False:
            texts = [text for text in (found.gained, found.lost) if text is not None]
            shortest = min(texts, key=_length, default=None)
            gained = shortest is not None and shortest == found.gained
            return Graded(
                outcome=Outcome.WRONG,
                counterexample=shortest,
                gained=gained,
                unmet=unmet,
                why=found.why if shortest is None else _sentence(shortest, gained=gained),
            )
        if unmet:
            right = "the language is right" if found.same else found.why
            why = f"{right}, but a condition is not satisfied: {'; '.join(unmet)}"
            outcome = Outcome.REFUSED
        elif found.same is None:
            why, outcome = found.why, Outcome.UNDECIDED
        else:
            why, outcome = (
                "the answer accepts the texts of the language and no others",
                (Outcome.RIGHT),
            )
        return Graded(outcome=outcome, bound=found.bound, unmet=unmet, why=why)


def _reason(condition: Condition, answer: Grammar) -> str:
    try:
        return condition.unmet(answer)
    except LimitError as error:
        return error.message


def _length(text: bytes) -> tuple[int, int]:
    """Characters, then bytes."""
    return len(text.decode("utf-8", "replace")), len(text)


def _sentence(text: bytes, *, gained: bool) -> str:
    shown = f"'{visible(text)}'" if text else "the empty text"
    if gained:
        return f"the answer accepts {shown}, which the language does not contain"
    return f"the answer rejects {shown}, which the language contains"


def _unreadable(error: WorkbenchError) -> Graded:
    return Graded(outcome=Outcome.UNREADABLE, problem=Problem.of(error), why=error.message)
