"""Exercises: a language in words with a hidden solution; answers are compared with the solution.

The answer may be in another notation than the solution, since their languages are compared
(``shortest_difference``). Conditions say how an answer must be written.

Partial credit is the share of short texts that an answer judges as the solution does. The texts are
counted by dynamic programming over pairs of states, without listing them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from workbench.analysis.conditions import Condition, conditions_of
from workbench.analysis.difference import Difference, Machine, machine_of, shortest_difference
from workbench.base.arguments import check_fields
from workbench.base.cached_property import cached_property
from workbench.base.dfa import DEAD, State, used_bytes
from workbench.base.diagnostics import Problem
from workbench.base.errors import LimitError, WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.base.visible_text import shorten, visible
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation, notation_of
from workbench.pushdown.network import Network
from workbench.pushdown.shortest_texts import rank

#: Texts of at least this many are compared: those that the solution or the answer accepts.
MIN_TEXTS = 100
#: Characters of a compared text at most, and pairs of states that texts of one length lead to.
MAX_LENGTH, MAX_PAIRS = 200, 20_000
#: Stand for all characters of two, three and four bytes that the examples do not have.
_BEYOND_ASCII = "é€😀"


@dataclass(frozen=True, slots=True)
class Credit:
    """How many short texts two languages judge alike.

    The texts are all texts over ``alphabet`` of at most ``length`` characters. ``length`` is the
    smallest at which ``either`` is at least ``MIN_TEXTS``; if the solution has no longer texts
    before, it is one more than the longest of them. It is less if a limit is reached.
    """

    #: One character of each set of characters that both machines treat alike; the characters that
    #: neither can read are one set.
    alphabet: str
    length: int
    #: Texts of both languages.
    both: int
    #: Texts of at least one of the languages.
    either: int
    #: All texts.
    texts: int

    @property
    def share(self) -> float | None:
        """The credit from 0 to 1; None if neither language has such a text.

        It is the smaller of two shares. Of the texts that one of both accepts: those that both
        accept. Of the texts that one of both rejects: those that both reject. Hence an answer that
        accepts nothing, or everything, has credit 0.
        """
        if not self.either:
            return None
        rejecting = self.texts - self.both  # texts that at least one of them rejects
        rejected = (self.texts - self.either) / rejecting if rejecting else 1.0
        return min(self.both / self.either, rejected)


def credit(solution: Grammar, answer: Grammar, examples: Iterable[str], limits: Limits) -> Credit:
    """How many short texts an answer judges as the solution does.

    ``examples``  their characters are candidates for the alphabet, with all of ASCII.

    Raises: LimitError if not even the empty text is compared in time.
    Cost:   one step for each pair of states and character, within ``limits.seconds``.
    """
    work = limits.begun()
    counting = _Counting(
        (machine_of(solution, work), machine_of(answer, work)),
        alphabet(solution, answer, examples),
        work.clock(),
    )
    return counting.run()


def alphabet(first: Grammar, second: Grammar, examples: Iterable[str] = ()) -> str:
    """One character for each set of characters that two machines treat alike, readable ones first.

    Characters whose first byte neither machine can read in any state are one set.
    """
    ascii_ = sorted(map(chr, range(0x80)), key=lambda character: rank(character.encode()))
    beyond = dict.fromkeys(c for text in examples for c in text if ord(c) > 0x7F)
    classes = [_classes(grammar) for grammar in (first, second)]
    read = _first_bytes(first) | _first_bytes(second)
    representatives: dict[tuple[tuple[int, ...], ...], str] = {}
    for character in (*ascii_, *beyond, *_BEYOND_ASCII):
        data = character.encode()
        treated: tuple[tuple[int, ...], ...] = ()
        if data[0] in read:
            treated = tuple(tuple(each[byte] for byte in data) for each in classes)
        representatives.setdefault(treated, character)
    return "".join(representatives.values())


def _classes(grammar: Grammar) -> list[int]:
    reader = grammar.reader
    classes = reader.byte_classes if isinstance(reader, Network) else reader.classes
    return [int(each) for each in classes]


def _first_bytes(grammar: Grammar) -> set[int]:
    """The bytes that a machine reads in at least one state."""
    reader = grammar.reader
    if isinstance(reader, Network):
        return {byte for byte in used_bytes(reader.table, reader.classes) if byte < 256}
    if hasattr(reader, "table"):
        return used_bytes(reader.table, reader.classes)
    return set(range(256))  # built on demand


class _Counting:
    """Counts the texts of each length by the pair of states to which they lead."""

    def __init__(self, machines: tuple[Machine, Machine], letters: str, clock: Clock) -> None:
        self._machines = machines
        self._letters = letters
        self._bytes = [letter.encode() for letter in letters]
        self._clock = clock
        self._followers: dict[tuple[State, State], list[tuple[State, State]]] = {}

    def run(self) -> Credit:
        pairs = Counter({(self._machines[0].initial, self._machines[1].initial): 1})
        both = either = texts = 0
        length, power = 0, 1
        while True:
            accepted = [(self._accepts(pair), count) for pair, count in pairs.items()]
            both += sum(count for (first, other), count in accepted if first and other)
            either += sum(count for (first, other), count in accepted if first or other)
            texts += power
            credit = Credit(self._letters, length, both, either, texts)
            ended = all(first == DEAD for first, _ in pairs)  # the solution has no longer texts
            if either >= MIN_TEXTS or length == MAX_LENGTH or ended:
                return credit
            try:
                pairs = self._longer(pairs)
            except LimitError:
                return credit
            if len(pairs) > MAX_PAIRS:
                return credit
            length, power = length + 1, power * len(self._letters)

    def _longer(self, pairs: Counter[tuple[State, State]]) -> Counter[tuple[State, State]]:
        """The pairs of the texts with one more character."""
        longer: Counter[tuple[State, State]] = Counter()
        for pair, count in pairs.items():
            for following in self._following(pair):
                longer[following] += count
        return longer

    def _following(self, pair: tuple[State, State]) -> list[tuple[State, State]]:
        """The pairs after each letter, without the one that no text leads out of."""
        followers = self._followers.get(pair)
        if followers is None:
            self._clock.check()
            first, second = self._machines
            after = [(_run(first, pair[0], d), _run(second, pair[1], d)) for d in self._bytes]
            followers = self._followers[pair] = [each for each in after if each != (DEAD, DEAD)]
        return followers

    def _accepts(self, pair: tuple[State, State]) -> tuple[bool, bool]:
        first, second = self._machines
        return (
            pair[0] != DEAD and first.is_final(pair[0]),
            pair[1] != DEAD and second.is_final(pair[1]),
        )


def _run(machine: Machine, state: State, data: bytes) -> State:
    return DEAD if state == DEAD else machine.run(data, state)


#: The most seconds of the comparison of short texts for partial credit.
_CREDIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class GrammarText:
    """The text of a grammar, with its notation."""

    text: str
    notation: Notation
    start: str = "start"
    #: The options of the notation that are not the defaults.
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if isinstance(self.notation, str):  # its name is accepted too
            object.__setattr__(self, "notation", notation_of(self.notation))
        check_fields(self)

    def __repr__(self) -> str:
        return f"GrammarText({shorten(self.text, 60)!r}, {self.notation.label})"

    def grammar(self, limits: Limits = LIMITS, name: str = "") -> Grammar:
        """Compile it.

        Raises: ParseError, BuildError, LimitError; WorkbenchError for an unknown option.
        """
        return Grammar.from_text(
            self.text, self.notation, self.start, limits=limits, name=name, **self.options
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
        """The partial credit from 0 to 1; None if no text was compared.

        It is 0 if a condition is not satisfied; otherwise it is that of the language.
        """
        return 0.0 if self.unmet else self.language_share

    @property
    def language_share(self) -> float | None:
        """The partial credit for the language, whether or not the conditions are satisfied.

        Answers with the right language have 1; None if no text was compared.
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
        object.__setattr__(self, "notations", tuple(map(notation_of, self.notations)))
        check_fields(self)
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
        limits: Limits = LIMITS,
        name: str = "",
        **options: Any,  # noqa: ANN401  # those of the notation
    ) -> Graded:
        """Compare an answer with the solution, then test the conditions.

        An answer in the solution's notation has the solution's options by default.

        Cost: two or three times ``limits.seconds`` at most, and half a second for the credit.
        """
        notation = Notation(notation)
        if not options and notation is self.solution.notation:
            options = dict(self.solution.options)
        if not text.strip():
            return _unreadable(
                WorkbenchError("the answer is empty", "write () for the empty text in a regex")
            )
        try:
            answer = GrammarText(text, notation, start, options).grammar(limits, name)
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
            difference = shortest_difference(solution, answer, limits=limits)
        except LimitError as error:
            difference = Difference(same=None, bound=0, why=error.message)
        graded = self._grade(difference, unmet)
        if graded.outcome is not Outcome.WRONG:
            return graded
        differing = (graded.counterexample or b"").decode("utf-8", "replace")
        work = limits.per_stage(_CREDIT_SECONDS)
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
            names = " or ".join(notation.label for notation in self.notations)
            return f"written as {names}: it is {answer.notation.label}", *unmet
        return unmet

    def _grade(self, difference: Difference, unmet: tuple[str, ...]) -> Graded:
        """The result without credit."""
        if difference.same is False:
            texts = [text for text in (difference.gained, difference.lost) if text is not None]
            shortest = min(texts, key=_length, default=None)
            gained = shortest is not None and shortest == difference.gained
            return Graded(
                outcome=Outcome.WRONG,
                counterexample=shortest,
                gained=gained,
                unmet=unmet,
                why=difference.why if shortest is None else _sentence(shortest, gained=gained),
            )
        if unmet:
            right = "the language is right" if difference.same else difference.why
            why = f"{right}, but a condition is not satisfied: {'; '.join(unmet)}"
            outcome = Outcome.REFUSED
        elif difference.same is None:
            why, outcome = difference.why, Outcome.UNDECIDED
        else:
            why, outcome = (
                "the answer accepts the texts of the language and no others",
                (Outcome.RIGHT),
            )
        return Graded(outcome=outcome, bound=difference.bound, unmet=unmet, why=why)


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
