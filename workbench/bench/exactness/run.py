"""The whole check: a plan comes in, what came of every subject and vocabulary goes out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from workbench.bench.exactness import made_up
from workbench.bench.exactness.deciding import Spellings
from workbench.bench.exactness.subjects import Subject, known_subjects, made_up_subject
from workbench.bench.exactness.walk import Walked, Wrong, walked
from workbench.errors import VocabularyError
from workbench.vocabulary.vocabulary import Vocabulary

#: The vocabularies of whole models that are asked where they are installed.
WHOLE = ("builtin", "mistral-v1", "tekken")

#: Decisions that are checked if nothing else is said: about every known subject over every
#: vocabulary once, and a thousand made-up ones.
DECISIONS = 100_000_000

#: What made-up vocabularies are called together.
MADE_UP = "made up"

#: Masks asked for in one visit of a subject, and made-up subjects after each visit of a known one.
_STEPS, _MADE_UP_EACH = 12, 8

#: Made-up vocabularies in use at a time, and visits after which the oldest is replaced.
_TOYS, _TOY_VISITS = 6, 40

#: Examples of wrong decisions that are kept.
_EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """What is checked."""

    #: At least so many decisions.
    decisions: int
    seed: int
    #: Names of vocabularies of whole models; made-up ones come on top.
    vocabularies: tuple[str, ...] = WHOLE


@dataclass(slots=True)
class Tally:
    """What came of all visits over one vocabulary, or over all that were made up."""

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
    #: Vocabularies that were to be asked and are not installed, with the reason.
    missing: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def decisions(self) -> int:
        """(state, token) pairs decided by both sides."""
        return sum(t.decisions - t.undecided for t in self.tallies.values())

    @property
    def wrong(self) -> int:
        """Decisions they do not agree about."""
        return sum(t.wrong for t in self.tallies.values())


def checked(plan: Plan) -> Iterator[Findings]:
    """The findings after every visit, until there are enough decisions.

    The same plan makes the same visits: every visit has a generator of its own, seeded by
    the plan's seed and its number.
    Raises: VocabularyError where none of the vocabularies is installed.
    """
    findings, begun = Findings(plan), time.perf_counter()
    for number, visit in enumerate(_visits(plan, findings)):
        random = Random(f"{plan.seed} visit {number}")
        came = walked(visit.subject, visit.vocabulary, visit.spellings, random, _STEPS)
        findings.tallies.setdefault(visit.group, Tally(visit.group)).add(came)
        findings.examples += came.examples[: max(0, _EXAMPLES - len(findings.examples))]
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
    """Every known subject over every vocabulary, in random order, made-up ones between; again."""
    random = Random(f"{plan.seed} order")
    whole = [(v, Spellings(v)) for v in _installed(plan, findings)]
    known, toys = known_subjects(), _toys(random)
    number = 0
    while True:
        pairs = [(subject, *at) for subject in known for at in whole]
        random.shuffle(pairs)
        for subject, vocabulary, spellings in pairs:
            yield _Visit(subject, vocabulary, spellings, vocabulary.name)
            for _ in range(_MADE_UP_EACH):
                number += 1
                hard = random.random() < 0.1
                one = random.choice(known) if hard else made_up_subject(random, number)
                yield _Visit(one, *next(toys), MADE_UP)


def _toys(random: Random) -> Iterator[tuple[Vocabulary, Spellings]]:
    """Made-up vocabularies, some at a time in turn."""
    made = 0
    while True:
        some = [made_up.vocabulary(random, number) for number in range(made, made + _TOYS)]
        pairs = [(vocabulary, Spellings(vocabulary)) for vocabulary in some]
        made += _TOYS
        for _ in range(_TOY_VISITS):
            yield from pairs


def _installed(plan: Plan, findings: Findings) -> Iterator[Vocabulary]:
    for name in plan.vocabularies:
        try:
            yield Vocabulary.load(name)
        except VocabularyError as error:
            findings.missing[name] = error.message
            if len(findings.missing) == len(plan.vocabularies):
                raise
