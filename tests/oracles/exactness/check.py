"""Compares the engine's masks along random walks with brute force, and reports.

The slow side reads all distinct tokens together, one byte of each at a time, through a table
(column, byte) → column that is filled on demand. It shares no prefixes and skips no token.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from random import Random

import numpy as np
import numpy.typing as npt

from tests.oracles.exactness import subjects
from tests.oracles.exactness.recogniser import DEAD_COLUMN, Column, Recogniser
from tests.oracles.exactness.subjects import LIMITS, Subject, known_subjects, made_up_subject
from workbench.base.errors import (
    BuildError,
    LimitError,
    ParseError,
    VocabularyError,
    WorkbenchError,
)
from workbench.base.text_tables import format_table
from workbench.constraint.engine.automaton import automaton
from workbench.constraint.protocol import Constraint
from workbench.vocabulary.vocabulary import Vocabulary

_UNKNOWN = -2

Columns = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class Spellings:
    """The distinct byte strings of a vocabulary.

    Shape: ``text`` all bytes; ``starts`` and ``lengths`` (D,); ``place`` (V,) where each token's
           string is, −1 for special tokens.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        distinct = dict.fromkeys(token for token in vocabulary.tokens if token is not None)
        number = {token: i for i, token in enumerate(distinct)}
        self.text = np.frombuffer(b"".join(distinct), np.uint8)
        self.lengths = np.array([len(token) for token in distinct], np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.place = np.array(
            [-1 if token is None else number[token] for token in vocabulary.tokens], np.int64
        )
        self.ends = list(vocabulary.ends)
        #: Whether every byte is a token, so that every text can be tokenized.
        self.whole = all(bytes((byte,)) in number for byte in range(256))


class Decider:
    """The masks of one grammar over one vocabulary, by brute force."""

    def __init__(self, recogniser: Recogniser, spellings: Spellings) -> None:
        self.recogniser = recogniser
        self._spellings = spellings
        self._table = np.full((64, 256), _UNKNOWN, np.int32)
        self._finishing: dict[Column, bool | None] = {}

    def step(self, column: Column, byte: int) -> Column:
        """The column after a byte, cached."""
        if column == DEAD_COLUMN:
            return DEAD_COLUMN
        known = int(self._table[column, byte]) if column < len(self._table) else _UNKNOWN
        if known == _UNKNOWN:
            known = self.recogniser.step(column, byte)
            while max(column, known) >= len(self._table):
                more = np.full_like(self._table, _UNKNOWN)
                self._table = np.concatenate([self._table, more])
            self._table[column, byte] = known
        return known

    def run(self, column: Column, data: bytes) -> Column:
        """The column after some bytes, or ``DEAD``."""
        for byte in data:
            column = self.step(column, byte)
        return column

    def after(self, column: Column) -> Columns:
        """The column after each distinct token, (D,)."""
        spellings = self._spellings
        found = np.full(len(spellings.lengths), column, np.int32)
        reading = np.arange(len(found))
        for level in range(int(spellings.lengths.max(initial=0))):
            reading = reading[
                (spellings.lengths[reading] > level) & (found[reading] != DEAD_COLUMN)
            ]
            if not len(reading):
                break
            bytes_ = spellings.text[spellings.starts[reading] + level]
            found[reading] = self._steps(found[reading], bytes_)
        return found

    def _steps(self, columns: Columns, bytes_: npt.NDArray[np.uint8]) -> Columns:
        there = self._table[columns, bytes_]
        unknown = there == _UNKNOWN
        if unknown.any():
            pairs = np.unique(columns[unknown].astype(np.int64) << 8 | bytes_[unknown])
            for pair in pairs.tolist():
                self.step(pair >> 8, pair & 255)
            there = self._table[columns, bytes_]
        return there

    def mask(self, column: Column, patience: int) -> tuple[Bools, Bools]:
        """The tokens that may come next, and those for which this is decided, (V,) both.

        Where single bytes are missing from the vocabulary, a token is allowed only if further
        tokens complete an accepted text; the search visits ``patience`` columns, and the token
        is undecided if it needs more.
        """
        spellings = self._spellings
        after = self.after(column)
        allowed, known = after != DEAD_COLUMN, np.ones(len(after), np.bool_)
        if not spellings.whole:
            for there in np.unique(after[allowed]).tolist():
                finishes = self.finishes(there, patience)
                allowed[after == there] = finishes is True
                known[after == there] = finishes is not None
        spelt = spellings.place >= 0
        mask, sure = np.zeros(len(spelt), np.bool_), np.ones(len(spelt), np.bool_)
        mask[spelt], sure[spelt] = allowed[spellings.place[spelt]], known[spellings.place[spelt]]
        mask[spellings.ends] = self.recogniser.accepts(column)
        return mask, sure

    def finishes(self, column: Column, patience: int) -> bool | None:
        """Whether tokens lead from a column to an accepted text; None where undecided."""
        if self._spellings.whole or column == DEAD_COLUMN:
            return column != DEAD_COLUMN
        if column not in self._finishing:
            self._finishing[column] = self._finishes(column, patience)
        return self._finishing[column]

    def _finishes(self, column: Column, patience: int) -> bool | None:
        waiting, seen = [column], {column}
        for here in waiting:  # a worklist: extended below
            if self.recogniser.accepts(here) or self._finishing.get(here):
                return True
            if len(seen) > patience:
                return None
            following = set(np.unique(self.after(here)).tolist()) - {DEAD_COLUMN} - seen
            waiting.extend(sorted(following))
            seen |= following
        return False


#: Columns after which the recogniser is rebuilt: a table of 60 MB.
_MAX_COLUMNS = 60_000
#: Columns visited to find out whether tokens lead to an accepted text.
_PATIENCE = 300
#: Wrong tokens kept of one walk.
_MAX_EXAMPLES_PER_WALK = 3
#: The longest token tried when a walk follows an example.
_MAX_FOLLOWED_TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class Wrong:
    """A decision on which the engine and the slow recogniser differ."""

    constraint: str
    notation: str
    grammar: str
    vocabulary: str
    prefix: str
    #: The token; or the error, where the fault is not in a mask.
    token: str
    #: Whether it should have been allowed.
    expected: bool


@dataclass(slots=True)
class Walked:
    """The result of one subject over one vocabulary."""

    #: ``walked``; ``refused``: the engine reports an empty language or one without token
    #: sequences, and the recogniser agrees; ``limits``: a limit was reached; ``unread``: the text
    #: does not parse.
    status: str = "walked"
    states: int = 0
    decisions: int = 0
    #: Decisions over vocabularies without some single bytes that the recogniser left open.
    undecided: int = 0
    wrong: int = 0
    examples: list[Wrong] = field(default_factory=list)


def walked(
    subject: Subject, vocabulary: Vocabulary, spellings: Spellings, random: Random, steps: int
) -> Walked:
    """Walks of ``steps`` tokens in all; half of them along the subject's examples."""
    return _Walk(subject, vocabulary, spellings, random).run(steps)


class _Walk:
    """The state of the walks of one subject over one vocabulary."""

    def __init__(
        self, subject: Subject, vocabulary: Vocabulary, spellings: Spellings, random: Random
    ) -> None:
        self.subject, self.vocabulary, self.random = subject, vocabulary, random
        self.spellings = spellings
        self.found = Walked()
        self.text = b""
        #: States whose masks were compared, with their columns.
        self.seen: set[tuple[object, Column]] = set()

    def run(self, steps: int) -> Walked:
        try:
            self.decider = Decider(self.subject.recogniser(), self.spellings)
        except ParseError:
            self.found.status = "unread"
            return self.found
        constraint = self._compiled()
        if constraint is not None:
            try:
                while steps > 0:
                    steps -= self._one(constraint, steps)
            except LimitError:
                self.found.status = "limits"
            except Exception as error:  # an engine fault must not end a long run
                self._fault(error)
        return self.found

    def _compiled(self) -> Constraint | None:
        """The constraint; None where compilation fails (recorded as wrong if it should not)."""
        decider = self.decider
        try:
            return automaton(self.subject.grammar(), self.vocabulary, LIMITS)
        except LimitError:
            self.found.status = "limits"
        except (BuildError, VocabularyError) as error:
            self.found.status = "refused"
            if isinstance(error, VocabularyError):
                lives = decider.finishes(decider.recogniser.initial, _PATIENCE) is True
            else:
                initial = decider.recogniser.initial
                lives = any(decider.step(initial, byte) != DEAD_COLUMN for byte in range(256))
            if lives:
                self._fault(error)
        except Exception as error:
            self._fault(error)
        return None

    def _fault(self, error: Exception) -> None:
        message = error.message if isinstance(error, WorkbenchError) else str(error)
        self._wrong(f"{type(error).__name__}: {message}", True)

    def _wrong(self, token: str, expected: bool) -> None:
        self.found.wrong += 1
        if len(self.found.examples) < _MAX_EXAMPLES_PER_WALK:
            subject = self.subject
            self.found.examples.append(
                Wrong(
                    subject.name,
                    subject.notation,
                    subject.text,
                    self.vocabulary.name,
                    repr(self.text)[1:],
                    token,
                    expected,
                )
            )

    def _one(self, constraint: Constraint, steps: int) -> int:
        """One walk from the initial state; returns the number of masks computed."""
        examples = self.subject.examples
        follows = examples and self.random.random() < 0.5
        example = self.random.choice(examples).encode() if follows else None
        state, self.text = constraint.initial, b""
        for done in range(1, steps + 1):
            if self.decider.recogniser.n_columns > _MAX_COLUMNS:
                self.decider = Decider(self.subject.recogniser(), self.spellings)
                self.seen.clear()
            column = self.decider.run(self.decider.recogniser.initial, self.text)
            allowed = self._compared(constraint, state, column)
            token_id = self._chosen(allowed, example)
            if token_id is None:
                return done
            state = constraint.advance(state, token_id)
            self.text += self.vocabulary.tokens[token_id] or b""
        return steps

    def _compared(
        self, constraint: Constraint, state: object, column: Column
    ) -> npt.NDArray[np.intp]:
        """Compare the masks of a state; the tokens both allow, without the end token."""
        found, vocabulary = self.found, self.vocabulary
        ours = np.asarray(constraint.mask(state).bools)
        right, sure = self.decider.mask(column, _PATIENCE)
        if (state, column) not in self.seen:
            self.seen.add((state, column))
            found.states += 1
            found.decisions += int(self._decided.sum())
            found.undecided += int((~sure).sum())
            for token_id in np.flatnonzero((ours != right) & sure).tolist():
                self._wrong(repr(vocabulary.tokens[token_id] or "the end"), bool(right[token_id]))
            final = self.decider.recogniser.accepts(column)
            if constraint.is_final(state) != final:
                self._wrong("'accepted'", final)
        both: Bools = ours & right & sure
        both[self.spellings.ends] = False
        return np.flatnonzero(both)

    @property
    def _decided(self) -> Bools:
        """The tokens that have bytes, and the end tokens."""
        decided = self.spellings.place >= 0
        decided[self.spellings.ends] = True
        return decided

    def _chosen(self, allowed: npt.NDArray[np.intp], example: bytes | None) -> int | None:
        """The next token: one that follows the example, one of a random first byte, or any."""
        if not len(allowed):
            return None
        random, tokens = self.random, self.vocabulary.tokens
        if example is not None and example.startswith(self.text):
            rest = example[len(self.text) :]
            if not rest:
                return None
            ends = range(1, min(_MAX_FOLLOWED_TOKEN_BYTES, len(rest)) + 1)
            ids = [i for end in ends for i in self.vocabulary.ids_of.get(rest[:end], ())]
            ids = sorted(set(ids) & set(allowed.tolist()))
            if ids:
                return random.choice(ids)
        if random.random() < 0.5:
            return int(random.choice(allowed))
        by_first: dict[int, list[int]] = {}
        for token_id in allowed.tolist():
            by_first.setdefault((tokens[token_id] or b"\0")[0], []).append(token_id)
        return random.choice(by_first[random.choice(sorted(by_first))])


#: The models whose vocabularies are checked where they are installed.
WHOLE = ("builtin", "mistral-v1", "tekken")

#: Decisions by default: about every known subject over every vocabulary once, and a thousand
#: random ones.
DECISIONS = 100_000_000

#: The group of random vocabularies in the report.
MADE_UP = "made up"

#: Masks compared in one visit of a subject, and random subjects after each known one.
_MASKS_PER_VISIT, _RANDOM_PER_KNOWN = 12, 8

#: Random vocabularies in use together, and rounds after which they are replaced.
_RANDOM_VOCABULARIES, _ROUNDS = 6, 40

#: Examples of wrong decisions that are kept.
_MAX_EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """What is checked."""

    #: Stop after this number of decisions.
    decisions: int
    seed: int
    #: Models whose vocabularies are used, besides random ones.
    vocabularies: tuple[str, ...] = WHOLE


@dataclass(slots=True)
class Tally:
    """Counts of all visits over one vocabulary, or over all random ones."""

    vocabulary: str
    constraints: int = 0
    states: int = 0
    decisions: int = 0
    undecided: int = 0
    wrong: int = 0
    refused: int = 0
    limits: int = 0
    unread: int = 0

    def add(self, walked: Walked) -> None:
        """Count one visit."""
        if walked.status in ("refused", "limits", "unread"):
            setattr(self, walked.status, getattr(self, walked.status) + 1)
        self.constraints += walked.states > 0
        self.states += walked.states
        self.decisions += walked.decisions
        self.undecided += walked.undecided
        self.wrong += walked.wrong


@dataclass(slots=True)
class Findings:
    """The result of a check so far."""

    plan: Plan
    tallies: dict[str, Tally] = field(default_factory=dict)
    examples: list[Wrong] = field(default_factory=list)
    #: Vocabularies that are not installed, with the reason.
    missing: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def decisions(self) -> int:
        """(state, token) pairs decided by both sides."""
        return sum(t.decisions - t.undecided for t in self.tallies.values())

    @property
    def wrong(self) -> int:
        """Decisions on which they differ."""
        return sum(t.wrong for t in self.tallies.values())


def checked(plan: Plan) -> Iterator[Findings]:
    """The findings after every visit, until there are enough decisions.

    The same plan makes the same visits: each has a separate generator, seeded by the plan's
    seed and the visit's number.
    Raises: VocabularyError where none of the vocabularies is installed.
    """
    findings, begun = Findings(plan), time.perf_counter()
    for number, visit in enumerate(_visits(plan, findings)):
        random = Random(f"{plan.seed} visit {number}")
        result = walked(visit.subject, visit.vocabulary, visit.spellings, random, _MASKS_PER_VISIT)
        findings.tallies.setdefault(visit.group, Tally(visit.group)).add(result)
        findings.examples += result.examples[: max(0, _MAX_EXAMPLES - len(findings.examples))]
        findings.seconds = time.perf_counter() - begun
        yield findings
        if findings.decisions >= plan.decisions:
            return


@dataclass(frozen=True, slots=True)
class _Visit:
    """A subject to be walked over a vocabulary, which is counted with its group."""

    subject: Subject
    vocabulary: Vocabulary
    spellings: Spellings
    group: str


def _visits(plan: Plan, findings: Findings) -> Iterator[_Visit]:
    """Known subjects × vocabularies in random order, random subjects between; repeated."""
    random = Random(f"{plan.seed} order")
    whole = [(v, Spellings(v)) for v in _installed(plan, findings)]
    known, random_vocabularies = known_subjects(), _random_vocabularies(random)
    number = 0
    while True:
        pairs = [(subject, *at) for subject in known for at in whole]
        random.shuffle(pairs)
        for subject, vocabulary, spellings in pairs:
            yield _Visit(subject, vocabulary, spellings, vocabulary.name)
            for _ in range(_RANDOM_PER_KNOWN):
                number += 1
                hard = random.random() < 0.1
                one = random.choice(known) if hard else made_up_subject(random, number)
                yield _Visit(one, *next(random_vocabularies), MADE_UP)


def _random_vocabularies(random: Random) -> Iterator[tuple[Vocabulary, Spellings]]:
    """Random vocabularies, used in turn and replaced after some rounds."""
    made = 0
    while True:
        some = [
            subjects.vocabulary(random, number)
            for number in range(made, made + _RANDOM_VOCABULARIES)
        ]
        pairs = [(vocabulary, Spellings(vocabulary)) for vocabulary in some]
        made += _RANDOM_VOCABULARIES
        for _ in range(_ROUNDS):
            yield from pairs


def _installed(plan: Plan, findings: Findings) -> Iterator[Vocabulary]:
    for name in plan.vocabularies:
        try:
            yield Vocabulary.load(name)
        except VocabularyError as error:
            findings.missing[name] = error.message
            if len(findings.missing) == len(plan.vocabularies):
                raise


_HEAD = ("vocabulary", "constraints", "states", "decisions", "undecided", "wrong")

_NOTE = (
    "Every token of a vocabulary is decided at states met on random walks: by the engine's mask, "
    "and byte by byte by an Earley recogniser that shares nothing with it but the tree."
)


def report(findings: Findings) -> str:
    """The findings, ready to print."""
    rows = [_HEAD, *map(_cells, findings.tallies.values()), _cells(total(findings))]
    lines = [_NOTE, "", format_table(rows), ""]
    lines.extend(_remarks(findings))
    lines.append(
        f"{findings.decisions:,} (state, token) decisions checked in {findings.seconds:,.0f} s, "
        f"wrong: {findings.wrong:,}"
    )
    for wrong in findings.examples:
        lines.extend(_described(wrong))
    if len(findings.examples) < findings.wrong:
        lines.append(f"  … the first {len(findings.examples)} of {findings.wrong:,}")
    return "\n".join(lines) + "\n"


def records(findings: Findings) -> Iterator[dict[str, object]]:
    """The same as JSON records: wrong decisions, one for each vocabulary, the total."""
    for wrong in findings.examples:
        yield {"kind": "wrong", **asdict(wrong)}
    for tally in findings.tallies.values():
        yield {"kind": "exactness", **asdict(tally)}
    yield {
        "kind": "exactness",
        **asdict(total(findings)),
        "missing": findings.missing,
        "seed": findings.plan.seed,
        "seconds": round(findings.seconds, 1),
    }


def total(findings: Findings) -> Tally:
    """All vocabularies together."""
    whole = Tally("all")
    for name in _COUNTED:
        setattr(whole, name, sum(getattr(t, name) for t in findings.tallies.values()))
    return whole


_COUNTED = (
    "constraints", "states", "decisions", "undecided", "wrong", "refused", "limits", "unread",
)  # fmt: skip


def _cells(tally: Tally) -> tuple[str, ...]:
    counts = (tally.constraints, tally.states, tally.decisions, tally.undecided, tally.wrong)
    return (tally.vocabulary, *(f"{count:,}" for count in counts))


def _remarks(findings: Findings) -> Iterator[str]:
    """What was not compared, and why."""
    whole = total(findings)
    if whole.refused:
        yield f"{whole.refused:,} constraints derive or spell nothing, as the recogniser agrees"
    if whole.limits:
        yield f"{whole.limits:,} constraints came to a budget of the engine's limits"
    if whole.unread:
        yield f"{whole.unread:,} made-up constraints are no text of their notation"
    if whole.undecided:
        yield "undecided: a token may lead to a dead end farther off than the recogniser looks"
    for name, reason in findings.missing.items():
        yield f"{name} was not asked: {reason}"


def _described(wrong: Wrong) -> Iterator[str]:
    should = "should be allowed" if wrong.expected else "should not be allowed"
    yield f"  {wrong.token} {should} after {wrong.prefix} over {wrong.vocabulary}, in"
    yield from (f"    {line}" for line in wrong.grammar.splitlines() or [""])
