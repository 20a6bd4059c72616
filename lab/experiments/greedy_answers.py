"""Texts that experiments read: greedy answers, which no experiment times.

Many questions are answered under all methods in one batch (``answers``). Where the methods answer
few prompts, each prompt has one session that remembers the model's logits, so that methods which
write the same tokens call the model once (``RememberingSession``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from lab.experiments.experiment import Record, Setting, check_running
from workbench.base.errors import WorkbenchError
from workbench.decoding.contenders import UNCONSTRAINED, PreparedContender
from workbench.decoding.generate import Generation, generate_batch
from workbench.decoding.measures import Surprisal
from workbench.decoding.model import LanguageModel, Logits, Message, Prompt, Session, context_of
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import Step, StopReason, Trace
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.vocabulary import TokenId

#: The model alone ends an answer where it begins another question.
NEXT_QUESTION = b"\nQ:"
#: Rows of logits that a session remembers at most; one of 50,000 tokens takes 200 kB.
_MAX_ROWS = 2_000


@dataclass(eq=False)
class RememberingSession:
    """A session that answers a context it has seen since ``forget`` without calling the model."""

    session: Session
    _rows: dict[tuple[TokenId, ...], Logits] = field(default_factory=dict)

    def forget(self) -> None:
        """Drop the remembered logits; the model's own cache is kept."""
        self._rows.clear()

    def logits(self, token_ids: Sequence[TokenId]) -> Logits:
        """Implements ``Session``."""
        found: Logits = self.score(token_ids, 1)[0]
        return found

    def score(self, token_ids: Sequence[TokenId], last: int) -> Logits:
        """Implements ``Session``."""
        ids = tuple(token_ids)
        contexts = [ids[:end] for end in range(len(ids) - last + 1, len(ids) + 1)]
        if not all(context in self._rows for context in contexts):
            rows = self.session.score(token_ids, last)
            if len(self._rows) + last > _MAX_ROWS:
                return rows
            for context, row in zip(contexts, rows, strict=True):
                if context not in self._rows:
                    self._rows[context] = row.copy()  # a view would keep all rows of the pass
        return np.stack([self._rows[context] for context in contexts])


def asked(model: LanguageModel, text: str, *, chat: bool) -> list[TokenId]:
    """The tokens of a prompt, as one message of a chat if ``chat``.

    Raises: ModelError for a chat, if the model has no chat template.
    """
    prompt: Prompt = [Message(role="user", content=text)] if chat else text
    return context_of(model, prompt)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A greedy text of one method."""

    #: Up to the last token after which the grammar accepts it, if there is one.
    text: str
    valid: bool
    #: Whether it reached the budget of tokens before it was complete.
    cut: bool
    trace: Trace

    def as_record(self) -> Record:
        """The counts that tables add up."""
        steps = [step for step in self.trace.steps if not step.is_end]
        surprisal = Surprisal.of(steps)
        return {
            "text": self.text,
            "valid": self.valid,
            "cut": self.cut,
            "nats": surprisal.nats,
            "judged": surprisal.tokens,
            "tokens": len(steps),
            "interventions": self.trace.interventions,
        }


class Asked:
    """A greedy run that ends with its answer, fewer than ``tokens`` where the context ends.

    The model alone does not know where the grammar's text ends: it is stopped after the first token
    that no accepted text has, or where it begins another question (``NEXT_QUESTION``), and its
    answer is the longest part that the grammar accepts.
    """

    def __init__(
        self,
        setting: Setting,
        prepared: PreparedContender,
        grammar: Grammar,
        prompt: Sequence[TokenId],
        tokens: int,
        session: Session | None = None,
    ) -> None:
        length = getattr(setting.model, "context_length", None)
        budget = tokens if length is None else min(tokens, length - len(prompt))
        self._alone = prepared.contender.method == UNCONSTRAINED
        self._grammar = grammar
        self._text, self._complete, self._ended = b"", 0, False
        #: The run; its steps are read by ``read``.
        self.run = prepared.start(
            prompt,
            Sampling(),
            max_tokens=budget,
            top=0,
            stop=lambda: self._ended or setting.stop(),
            session=session,
        )

    def read(self, step: Step) -> None:
        """Read the next step of the run; decides whether the model alone has answered."""
        self._text += step.token
        if self._alone:
            if self._grammar.accepts(self._text):
                self._complete = len(self.run.steps)
            cannot = self._complete and not self._grammar.is_prefix(self._text)
            self._ended = cannot or NEXT_QUESTION in self._text

    def answer(self) -> Answer:
        """The answer of a run that ended. Skipped tokens at its end are scored, in one pass."""
        trace = self.run.scored_trace()
        if not self._alone and self._grammar.accepts(self._text):
            self._complete = len(trace.steps)
        complete = self._complete
        cut = trace.stop is StopReason.TOKEN_BUDGET and not complete and not self._ended
        if complete:
            trace = Trace(trace.steps[:complete], trace.stop)
        return Answer(trace.text.decode("utf-8", "backslashreplace"), complete > 0, cut, trace)


def answer(
    setting: Setting,
    prepared: PreparedContender,
    grammar: Grammar,
    prompt: Sequence[TokenId],
    session: Session,
    tokens: int,
) -> Answer:
    """The greedy text of at most ``tokens`` tokens; see ``Asked``.

    Raises: Stopped; WorkbenchError where the run fails.
    """
    one = Asked(setting, prepared, grammar, prompt, tokens, session)
    for step in one.run:
        one.read(step)
    check_running(setting)
    return one.answer()


def answers(setting: Setting, several: Sequence[Asked]) -> list[Answer]:
    """The answer of each run, in shared forward passes.

    Each run takes the tokens it takes alone, but where rounding decides between two tokens; the
    same batch gives the same answers.

    Raises: Stopped; WorkbenchError where a run fails.
    """
    found = []
    for one in tried_answers(setting, several):
        if isinstance(one, WorkbenchError):
            raise one
        found.append(one)
    return found


def tried_answers(setting: Setting, several: Sequence[Asked]) -> list[Answer | WorkbenchError]:
    """The answers as of ``answers``, with the error of each run that fails in its place.

    Raises: Stopped.
    """
    by_run, found = {one.run: one for one in several}, dict[Generation, Answer | WorkbenchError]()
    for run, step in generate_batch(list(by_run)):
        if isinstance(step, WorkbenchError):
            found[run] = step
            continue
        by_run[run].read(step)
        if run.stop is not None:  # its session still has the text, if skipped tokens are scored
            found[run] = by_run[run].answer()
    check_running(setting)
    return [found[one.run] if one.run in found else one.answer() for one in several]


def batch_steps(setting: Setting, runs: Sequence[Generation]) -> Iterator[tuple[Generation, Step]]:
    """The steps of all runs, computed in shared forward passes.

    Raises: Stopped; WorkbenchError where a run fails.
    """
    for run, step in generate_batch(runs):
        if isinstance(step, WorkbenchError):
            raise step
        yield run, step
    check_running(setting)
