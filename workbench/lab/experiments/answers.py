"""Texts that experiments read: greedy answers, which no experiment times.

All methods answer one prompt over one session that remembers the model's logits, so that methods
which write the same tokens call the model once, and examples before the question are read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.decoding.contenders import UNCONSTRAINED, PreparedContender
from workbench.decoding.measures import Surprisal
from workbench.decoding.model import LanguageModel, Logits, Message, Prompt, Session, context_of
from workbench.decoding.sampling import Sampling
from workbench.decoding.trace import StopReason, Trace
from workbench.grammar.grammar import Grammar
from workbench.lab.experiments.experiment import Record, Setting, check_running
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


def answer(
    setting: Setting,
    prepared: PreparedContender,
    grammar: Grammar,
    prompt: Sequence[TokenId],
    session: Session,
    tokens: int,
) -> Answer:
    """The greedy text of at most ``tokens`` tokens, fewer where the model's context ends.

    The model alone does not know where the grammar's text ends: it is stopped after the first token
    that no accepted text has, or where it begins another question (``NEXT_QUESTION``), and its
    answer is the longest part that the grammar accepts.

    Raises: Stopped; WorkbenchError where the run fails.
    """
    length = getattr(setting.model, "context_length", None)
    budget = tokens if length is None else min(tokens, length - len(prompt))
    alone = prepared.contender.method == UNCONSTRAINED
    run = prepared.start(
        prompt, Sampling(), max_tokens=budget, top=0, stop=setting.stop, session=session
    )
    text, complete, ended = b"", 0, False
    for number, step in enumerate(run, 1):
        text += step.token
        if alone:
            if grammar.accepts(text):
                complete = number
            ended = (complete and not grammar.is_prefix(text)) or NEXT_QUESTION in text
        if ended:
            break
    check_running(setting)
    trace = run.scored_trace()
    if not alone and grammar.accepts(text):
        complete = len(trace.steps)
    cut = trace.stop is StopReason.TOKEN_BUDGET and not complete and not ended
    if complete:
        trace = Trace(trace.steps[:complete], trace.stop)
    return Answer(trace.text.decode("utf-8", "backslashreplace"), complete > 0, cut, trace)
