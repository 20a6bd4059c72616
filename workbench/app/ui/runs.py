"""Runs the model and streams its steps; answers requests about one token.

Every request contains the whole run (its prompt and its tokens), so no visitor's data is stored
here. The model's state after a text is cached (``decoding.sessions``), for one request at a time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, cast

from workbench.analysis.run_tracing import RunTracer, token_cycle
from workbench.app.pipeline import Compiled
from workbench.app.ui import wire
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.question import question
from workbench.app.ui.request_fields import field, up_to
from workbench.app.ui.requests import Request, RunRequest, checked_token, room_left
from workbench.app.ui.run_records import (
    WORDS,
    Record,
    budget_record,
    draft_record,
    ended_record,
    free_record,
    full_record,
    label_record,
    proper_record,
    reading_record,
    searched_record,
    step_record,
    stop_record,
    token_record,
    turn_record,
    uncounted_record,
)
from workbench.app.ui.shares import LIGHT, MODEL
from workbench.app.ui.streams import BATCH_SECONDS, Work
from workbench.base.errors import (
    EndedError,
    LimitError,
    ModelError,
    TokenNotAllowed,
    WorkbenchError,
)
from workbench.base.visible_text import shorten
from workbench.constraint.labels import read_by
from workbench.constraint.protocol import State
from workbench.constraint.token_machine import TokenMachine
from workbench.decoding.candidates import Stages, TokenDistribution, milliseconds_since
from workbench.decoding.generate import after, generate
from workbench.decoding.model import (
    ForwardPass,
    LanguageModel,
    Session,
    TimedLogits,
    chatting,
    too_long,
)
from workbench.decoding.reading import Reading, read_tokens, tokens_after
from workbench.decoding.retokenize import ImproperToken, first_improper
from workbench.decoding.speculative import CoupledSpeculation
from workbench.decoding.strategy import PLAIN, Strategy
from workbench.decoding.trace import Step, StopReason
from workbench.vocabulary.token_search import find
from workbench.vocabulary.vocabulary import TokenId

_log = logging.getLogger(__name__)

#: Candidates recorded for each token of a run. (With 14 the server needs a third more time.)
TOP = 8

#: The methods that allow only the tokens that the tokenizer would write.
_PROPER = frozenset({"proper", "vegas", "direct_merge"})

#: Characters shown of a text's value.
_MAX_VALUE = 300


def run_records(handlers: Handlers, fields: dict[str, Any]) -> Iterator[Record]:
    """The records of a run: ``status``, ``start``, steps, then ``stop`` or ``error``."""
    return chain.from_iterable(run_batches(handlers, fields))


def run_batches(
    handlers: Handlers, fields: dict[str, Any], seconds: float = BATCH_SECONDS
) -> Iterator[list[Record]]:
    """The records of a run in lists, at least ``seconds`` apart.

    The runs of a model are computed in one thread (``PassLoop``).
    """

    def computed() -> Iterator[list[Record]]:
        request = RunRequest.of(fields)
        model_handlers = handlers.with_model(request.model)
        yield from model_handlers.room.loop.batches(_run_work(model_handlers, request), seconds)

    return with_errors(handlers, computed())


def with_errors(handlers: Handlers, computed: Iterator[list[Record]]) -> Iterator[list[Record]]:
    """The lists of records of a run or comparison; an error becomes the last record.

    A run that the closing server ended says so.
    """
    try:
        for batch in computed:
            if handlers.closing.is_set() and batch[-1].get("words") == WORDS[StopReason.STOPPED]:
                batch[-1]["words"] = "ended because the server was closed"
            yield batch
    except EndedError:
        return  # its client has left
    except WorkbenchError as error:
        yield [{"k": "error", "message": error.message, "hint": error.hint}]
    except Exception as error:
        # an internal error must reach the page, which would wait forever
        _log.exception("a run failed")
        yield [
            {
                "k": "error",
                "message": f"internal error ({type(error).__name__})",
                "hint": "details are in the log",
            }
        ]


def _run_work(handlers: Handlers, request: RunRequest) -> Work[Record]:
    with handlers.preparing:
        compiled = handlers.compiled(request)
    if not handlers.room.is_loaded:
        yield {"k": "status", "text": "loading the model, a few seconds the first time…"}
    model = chatting(handlers.room.model(), request.chat, request.reply)
    strategy: Strategy = PLAIN
    if request.draft:
        room = handlers.rooms.get(request.draft)
        if not room.is_loaded:
            yield {"k": "status", "text": "loading the draft model…"}
        strategy = CoupledSpeculation(room.model())
    with handlers.preparing:
        constraint = _constraint(request, compiled, model)
    yield {"k": "start", "model": model.name}
    context = [*model.encode(request.context), *request.prefix]
    with handlers.room.sessions.borrow(model, context) as session:
        stop = handlers.closing.is_set
        yield from _steps(model, session, constraint, compiled, request, stop, strategy)


def _steps(
    model: LanguageModel,
    session: Session,
    constraint: TokenMachine,
    compiled: Compiled,
    request: RunRequest,
    stop: Callable[[], bool],
    strategy: Strategy,
) -> Work[Record]:
    """A record for every token, then that of the end of the run."""
    follower = following(compiled, constraint, request.prefix)
    room = room_left(model, request.context, len(request.prefix))
    most = request.max_tokens
    if (budget := constraint.budget_left(constraint.initial)) is not None:
        most = max(0, budget.tokens - len(request.prefix))
    generation = generate(
        model,
        constraint,
        request.context,
        request.sampling,
        max_tokens=most if room is None else min(room, most),
        top=TOP,
        prefix=request.prefix,
        stop=stop,
        strategy=strategy,
        session=session,
        stages=not request.sampling.is_plain,
    )

    started = time.perf_counter()
    answer: TimedLogits | ModelError | None = None
    while (item := generation.proceed(answer)) is not None:
        if isinstance(item, ForwardPass):
            answer = yield item
        else:
            answer = None
            yield {**record_of(item, constraint, compiled, follower)}
    record = stop_record(generation.trace, milliseconds_since(started))
    if generation.stop is StopReason.TOKEN_BUDGET:
        if len(generation.steps) == room:
            record |= full_record()
        elif request.finish and budget is None:
            record |= uncounted_record()
    taken = [*request.prefix, *generation.trace.token_ids]
    yield {**record, **text_facts(model, compiled, request, constraint, taken, generation.stop)}


def record_of(
    step: Step, constraint: TokenMachine, compiled: Compiled, follower: RunTracer
) -> wire.Step:
    """The record of a step; the follower takes its token."""
    vocabulary = constraint.vocabulary
    trace = follower.take(constraint.read_as(step.state, step.token_id))
    free = free_record(constraint, step.state, step.token_id)
    cycle = None if free else token_cycle(compiled.readable(), trace.path)
    record = step_record(step, trace, cycle, vocabulary)
    more = label_record(constraint, step.state, step.token_id)
    more |= budget_record(constraint, step.state)
    return cast("wire.Step", {**record, **more, **free, **draft_record(step, vocabulary)})


def _constraint(request: RunRequest, compiled: Compiled, model: LanguageModel) -> TokenMachine:
    """The requested constraint; under the budget of its whole text if the text must end in it.

    Where many properties are in any order, tokens to the end are not counted: the text may be cut.

    Raises: as ``RunRequest.constraint`` and ``WithinBudget``.
    """
    constraint = request.machine(compiled, model.vocabulary)
    if not request.finish:
        return constraint
    try:
        return request.within_budget(constraint, compiled, model)
    except LimitError as error:
        if compiled.readable().has_phrases:
            return constraint
        hint = "clear 'must finish', and allow more tokens: the text may then be cut"
        message = f"counting the tokens to the end of each text {error.message}"
        raise LimitError(message, error.budget, hint) from None
    except WorkbenchError as error:
        raise WorkbenchError(error.message, f"{error.hint}, or clear 'must finish'") from None


def following(compiled: Compiled, constraint: TokenMachine, taken: Sequence[TokenId]) -> RunTracer:
    """A follower after these tokens."""
    follower = compiled.follower()
    for data in read_by(constraint, taken):
        follower.take(data)
    return follower


def _improper(
    model: LanguageModel, request: RunRequest, taken: Sequence[TokenId]
) -> ImproperToken | None:
    """The first difference from the tokenizer's tokens, if it is informative.

    With small tokens every text differs, and a free part may have special tokens. A difference at
    the end of the prompt depends on the prompt, and is reported only for the methods that guarantee
    the tokenizer's tokens.
    """
    compared = not request.small_tokens and request.reasoning is None
    improper = first_improper(model, request.context, taken) if compared else None
    if improper is not None and improper.at_prompt and request.constraint not in _PROPER:
        return None
    return improper


def text_facts(
    model: LanguageModel,
    compiled: Compiled,
    request: RunRequest,
    constraint: TokenMachine,
    taken: Sequence[TokenId],
    reason: StopReason | None,
) -> Record:
    """Facts about a whole text: its tokenization, its value, whether it is accepted.

    The value and the verdict are those of the text after the free part.
    """
    free = request.constraint == "unconstrained"
    grammar = compiled.accepting if free else compiled.readable()
    facts: Record = {"proper": proper_record(_improper(model, request, taken), model.vocabulary)}
    text = constraint.answer_in(taken)
    good = reason in (StopReason.ACCEPTED, StopReason.FORCED_END)
    if free and reason is StopReason.ACCEPTED:
        good = grammar.check(text).accepted
        verdict = "accepts" if good else "rejects"
        facts |= {"good": good, "words": f"the model ended it; the grammar {verdict} the text"}
    if good and (value := grammar.value) is not None:
        # Python limits the digits of a number and the nesting of lists
        with suppress(ValueError, RecursionError):
            facts["value"] = shorten(repr(value(text.decode("utf-8"))), _MAX_VALUE)
    return facts


#: Candidates recorded for the token that is not taken yet.
NEXT_TOP = 14

#: Characters of a search, and tokens it returns, at most.
_MAX_QUERY = 100
_MAX_FOUND = 40

#: Tokens of a prompt that are listed.
_MAX_READ = 1_000


@question(MODEL)
def turn(handlers: Handlers, request: RunRequest) -> wire.NextAnswer | wire.Refusal:
    """The model's and the mask's next tokens, none taken; or why no token may follow."""
    with _at_position(handlers, request) as position:
        return {"ok": True, "model": position.model.name, "next": position.next()}


class TakeRequest(RunRequest):
    """A run, and the id of the token to take; null for a sampled one."""

    token: Annotated[int | None, field(checked_token, sent=int | None)] = None


@question(MODEL)
def take_token(handlers: Handlers, request: TakeRequest) -> wire.TakeAnswer | wire.Refusal:
    """Take a token (the requested one, or a sampled one); returns its step and the next tokens.

    The sampled token is that of a run with the same seed.
    """
    with _at_position(handlers, request) as position:
        distribution = position.ask()
        if distribution is None:
            return {"ok": True, "model": position.model.name, "step": None, "next": position.next()}
        step = position.take(distribution, request.token)
        return {"ok": True, "model": position.model.name, "step": step, "next": position.next()}


#: Tokens of a text that is read, at most.
MAX_READ_TOKENS = 1_024


class ReadRequest(RunRequest):
    """The settings of a run, and the text that is read with them."""

    read: Annotated[str, up_to()] = ""


@question(MODEL)
def read_text(handlers: Handlers, request: ReadRequest) -> wire.ReadText | wire.Refusal:
    """A given text as the steps of a run: each token before and after the mask.

    The first refused token is marked, and those after it, which the model scores alone.
    """
    request = request.with_fields(finish=False, prefix=())
    compiled = handlers.compiled(request)
    model = chatting(handlers.room.model(), request.chat, request.reply)
    constraint = _constraint(request, compiled, model)
    context, ids = tokens_after(model, request.context, request.read)
    if len(ids) > MAX_READ_TOKENS:
        raise WorkbenchError(
            f"the text has {len(ids):,} tokens; this page reads at most {MAX_READ_TOKENS:,}",
            "read a part of it, or use workbench read",
        )
    with handlers.room.sessions.borrow(model, context) as session:
        stages = not request.sampling.is_plain
        reading = read_tokens(
            session, constraint, context, ids, request.sampling, top=TOP, stages=stages
        )
    follower = following(compiled, constraint, ())
    steps = list(_reading_records(reading, constraint, compiled, follower))
    return {"ok": True, "model": model.name, "steps": steps, "end": reading_record(reading)}


def _reading_records(
    reading: Reading, constraint: TokenMachine, compiled: Compiled, follower: RunTracer
) -> Iterator[wire.Step]:
    for step in reading.steps:
        if reading.refused is None or step.index < reading.refused:
            yield record_of(step, constraint, compiled, follower)
            continue
        trace = follower.take(step.token)
        record = cast("wire.Step", step_record(step, trace, None, constraint.vocabulary))
        record["read"] = "refused" if step.index == reading.refused else "alone"
        yield record


@question(MODEL)
def read_prompt(handlers: Handlers, request: RunRequest) -> wire.ReadPrompt | wire.Refusal:
    """The tokens of the prompt as the model reads it, with those of the chat template."""
    model = chatting(handlers.room.model(), request.chat, request.reply)
    ids = model.encode(request.context)
    vocabulary = model.vocabulary
    error = too_long(model, ids)

    def record(token_id: TokenId) -> wire.ReadToken:
        token = vocabulary.tokens[token_id]
        if token is None:
            name = vocabulary.names.get(token_id, f"special {token_id}")
            return {"id": token_id, "text": name, "special": True}
        return {**token_record(token_id, token, vocabulary), "special": False}

    return {
        "ok": True,
        "tokens": [record(token_id) for token_id in ids[:_MAX_READ]],
        "count": len(ids),
        "most": getattr(model, "context_length", None),
        "too_long": "" if error is None else error.message,
    }


@question(LIGHT)
def draft_models(handlers: Handlers, _: Request) -> wire.DraftModels | wire.Refusal:
    """The models that can propose tokens for the chosen one: served ones with the same tokens."""
    drafts = handlers.rooms.drafts(handlers.room)
    return {"ok": True, "drafts": [{"name": name, "title": room.title} for name, room in drafts]}


class TokenSearchRequest(RunRequest):
    """A run, and the text of the tokens that are searched."""

    query: Annotated[str, up_to(_MAX_QUERY)] = ""


@question(MODEL)
def find_tokens(
    handlers: Handlers, request: TokenSearchRequest
) -> wire.SearchAnswer | wire.Refusal:
    """The tokens that contain a text, likeliest first within each kind, with probabilities."""
    with _at_position(handlers, request) as position:
        distribution = position.ask()
        if distribution is None:
            return {"ok": True, "found": [], "more": 0}
        ids, more = find(distribution.vocabulary, request.query, distribution.logprobs, _MAX_FOUND)
        return {"ok": True, "found": [searched_record(distribution, i) for i in ids], "more": more}


def replayed(handlers: Handlers, request: RunRequest, constraint: TokenMachine) -> list[wire.Step]:
    """The steps of taking a request's tokens one after another under a constraint.

    Raises: TokenNotAllowed; WorkbenchError as ``_at_position`` does.
    """
    steps: list[wire.Step] = []
    with _at_position(handlers, request.with_fields(prefix=()), constraint) as position:
        for token_id in request.prefix:
            distribution = position.ask()
            if distribution is None:
                raise TokenNotAllowed(f"nothing may follow {len(steps):,} tokens")
            steps.append(position.take(distribution, token_id))
    return steps


@contextmanager
def _at_position(
    handlers: Handlers, request: RunRequest, given: TokenMachine | None = None
) -> Iterator[_RunPosition]:
    """The position of a run after its tokens; ``given`` replaces the constraint of its method.

    Raises: WorkbenchError where the grammar cannot be read or forbids one of the tokens.
    """
    compiled = handlers.compiled(request)
    model = chatting(handlers.room.model(), request.chat, request.reply)
    constraint = given or _constraint(request, compiled, model)
    state = after(constraint, request.prefix)
    prompt, taken = model.encode(request.context), list(request.prefix)
    follower = following(compiled, constraint, taken)
    with handlers.room.sessions.borrow(model, [*prompt, *taken]) as session:
        yield _RunPosition(
            request, compiled, model, constraint, session, prompt, taken, state, follower
        )


@dataclass(slots=True, eq=False)
class _RunPosition:
    """A run between two tokens."""

    request: RunRequest
    compiled: Compiled
    model: LanguageModel
    constraint: TokenMachine
    session: Session
    prompt: list[TokenId]
    taken: list[TokenId]
    state: State
    follower: RunTracer
    #: Whether an end token was taken.
    ended: bool = False

    def ask(self) -> TokenDistribution | None:
        """Mask and logits of the next token; None if no token may follow."""
        started = time.perf_counter()
        mask = self.constraint.mask(self.state)
        mask_ms = milliseconds_since(started)
        if self.ended or not len(mask):
            return None
        vocabulary = self.constraint.vocabulary
        return TokenDistribution.ask(
            self.session, self.context, vocabulary, self.state, mask, mask_ms
        )

    @property
    def context(self) -> list[TokenId]:
        """The tokens of the prompt and those taken."""
        return [*self.prompt, *self.taken]

    def stages(self, distribution: TokenDistribution) -> Stages:
        """The stages of sampling the next token; none if the mask is the only one."""
        sampling = self.request.sampling
        return () if sampling.is_plain else distribution.stages(sampling, self.context)

    def take(self, distribution: TokenDistribution, token_id: TokenId | None) -> wire.Step:
        """Take a token (None: a sampled one) and advance.

        Raises: TokenNotAllowed.
        """
        sampling, index = self.request.sampling, len(self.taken)
        if token_id is None:
            token_id = distribution.drawn(sampling, index, self.context)
        elif token_id not in distribution.mask:
            raise TokenNotAllowed(f"token {token_id} is not allowed here", "take another one")
        started = time.perf_counter()
        self.ended = token_id in self.constraint.vocabulary.ends
        if not self.ended:
            self.state = self.constraint.advance(self.state, token_id)
        advance_ms, stages = milliseconds_since(started), self.stages(distribution)
        step = distribution.taken(token_id, index, TOP, advance_ms, stages=stages)
        self.taken.append(token_id)
        return record_of(step, self.constraint, self.compiled, self.follower)

    def next(self) -> wire.Turn | wire.Stop:
        """The probabilities of the next token, or why no token may follow."""
        if not self.ended and room_left(self.model, self.request.context, len(self.taken)) == 0:
            return full_record()
        distribution = self.ask()
        if distribution is not None:
            trace, stages = self.follower.take(b""), self.stages(distribution)
            record = turn_record(distribution, len(self.taken), trace, NEXT_TOP, stages)
            more = budget_record(self.constraint, self.state)
            free = free_record(self.constraint, self.state, None)
            return cast("wire.Turn", {**record, **more, **free})
        reason = StopReason.DEAD_END
        if self.ended and not self._only_the_end():
            reason = StopReason.ACCEPTED
        elif self.constraint.is_final(self.state):
            reason = StopReason.FORCED_END
        whole = text_facts(
            self.model, self.compiled, self.request, self.constraint, self.taken, reason
        )
        return cast("wire.Stop", {**ended_record(reason), **whole})

    def _only_the_end(self) -> bool:
        """Whether only end tokens were allowed."""
        return len(self.constraint.mask(self.state)) == len(self.constraint.vocabulary.ends)
