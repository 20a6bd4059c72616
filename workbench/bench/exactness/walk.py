"""One subject over one vocabulary: walked by random tokens, every mask held against brute force."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import numpy as np
import numpy.typing as npt

from workbench.bench.exactness.columns import DEAD, Column
from workbench.bench.exactness.deciding import Bools, Decider, Spellings
from workbench.bench.exactness.subjects import LIMITS, Subject
from workbench.constraint.compile import automaton
from workbench.constraint.protocol import Constraint
from workbench.errors import (
    BuildError,
    LimitError,
    ParseError,
    VocabularyError,
    WorkbenchError,
)
from workbench.vocabulary.vocabulary import Vocabulary

#: Columns after which the slow recogniser starts afresh: a table of 60 MB.
_COLUMNS = 60_000
#: Columns looked at to find out whether tokens lead to an end.
_PATIENCE = 300
#: Wrong tokens kept of one mask.
_EXAMPLES = 3
#: The longest token that is looked for in a text which is followed.
_LONGEST = 24


@dataclass(frozen=True, slots=True)
class Wrong:
    """A decision the engine and the slow recogniser do not agree about."""

    constraint: str
    notation: str
    grammar: str
    vocabulary: str
    prefix: str
    #: The token, or what went wrong where it was none's mask.
    token: str
    #: Whether it should have been allowed.
    expected: bool


@dataclass(slots=True)
class Walked:
    """What came of one subject over one vocabulary."""

    #: ``walked``; ``refused``: the engine says that nothing can be spelt or derived, which is
    #: so; ``limits``: it came to a budget; ``unread``: no text of the notation.
    status: str = "walked"
    states: int = 0
    decisions: int = 0
    #: Decisions over vocabularies with holes about which the slow recogniser gave up.
    undecided: int = 0
    wrong: int = 0
    examples: list[Wrong] = field(default_factory=list)


def walked(
    subject: Subject, vocabulary: Vocabulary, spellings: Spellings, random: Random, steps: int
) -> Walked:
    """A few walks of ``steps`` tokens together; half of them along the subject's examples."""
    return _Walk(subject, vocabulary, spellings, random).run(steps)


class _Walk:
    """The state of one check."""

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
            except Exception as error:  # a fault of the engine must not end a long run
                self._fault(error)
        return self.found

    def _compiled(self) -> Constraint | None:
        """The constraint; None where it is refused, rightly or not."""
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
                lives = any(decider.step(initial, byte) != DEAD for byte in range(256))
            if lives:
                self._fault(error)
        except Exception as error:
            self._fault(error)
        return None

    def _fault(self, error: Exception) -> None:
        told = error.message if isinstance(error, WorkbenchError) else str(error)
        self._wrong(f"{type(error).__name__}: {told}", True)

    def _wrong(self, token: str, expected: bool) -> None:
        self.found.wrong += 1
        if len(self.found.examples) < _EXAMPLES:
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
        """One walk from the beginning; returns how many masks were asked for."""
        examples = self.subject.examples
        follows = examples and self.random.random() < 0.5
        example = self.random.choice(examples).encode() if follows else None
        state, self.text = constraint.initial, b""
        for done in range(1, steps + 1):
            if self.decider.recogniser.met > _COLUMNS:
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
        """Compare the masks of a state; the tokens both allow, the end token aside."""
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
        if vocabulary.end is not None:
            both[vocabulary.end] = False
        return np.flatnonzero(both)

    @property
    def _decided(self) -> Bools:
        """The tokens that can be allowed at all."""
        decided = self.spellings.place >= 0
        if self.spellings.end is not None:
            decided[self.spellings.end] = True
        return decided

    def _chosen(self, allowed: npt.NDArray[np.intp], example: bytes | None) -> int | None:
        """A token to go on with: the example's next, one of a random first byte, or any."""
        if not len(allowed):
            return None
        random, tokens = self.random, self.vocabulary.tokens
        if example is not None and example.startswith(self.text):
            rest = example[len(self.text) :]
            if not rest:
                return None
            ends = range(1, min(_LONGEST, len(rest)) + 1)
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
