"""Steps of a run as the records the page reads: one JSON object a line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from workbench.analysis.run_tracing import TracedToken
from workbench.app.ui import wire
from workbench.constraint.masks import TokenMask
from workbench.constraint.protocol import State
from workbench.constraint.token_machine import TokenMachine
from workbench.decoding.candidates import Stages, TokenDistribution
from workbench.decoding.measures import repetition
from workbench.decoding.reading import Reading
from workbench.decoding.retokenize import ImproperToken
from workbench.decoding.trace import Candidate, Step, StopReason, Trace
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: A record for the page: a JSON object.
Record = dict[str, Any]

#: Why a run ended, in words.
WORDS = {
    StopReason.ACCEPTED: "valid and complete; the model ended it",
    StopReason.FORCED_END: "valid and complete",
    StopReason.DEAD_END: "dead end: no token is allowed",
    StopReason.TOKEN_BUDGET: "cut off at the token limit",
    StopReason.STOPPED: "stopped by you",
}

_BITS = 1 / math.log(2)


def token_record(token_id: TokenId, token: bytes | None, vocabulary: Vocabulary) -> wire.Token:
    """A token as text if it is UTF-8, else as hexadecimal bytes."""
    if token_id in vocabulary.ends:
        return {"id": token_id, "end": True}
    if token is None:
        name = vocabulary.names.get(token_id, f"special {token_id}")
        return {"id": token_id, "text": f"⟨{name}⟩"}
    try:
        return {"id": token_id, "text": token.decode("utf-8")}
    except UnicodeDecodeError:
        return {"id": token_id, "hex": token.hex()}


def step_record(
    step: Step, trace: TracedToken, cycle: int | None, vocabulary: Vocabulary
) -> wire.UnlabelledStep:
    """The fields the page shows of one token.

    ``p``, ``s`` and ``rank`` are the model's, before the mask; ``pm``, ``sm`` and ``rankm`` among
    the allowed tokens. ``loop`` is the number of the machine's cycle that the token stays in.
    Unit: ``s``, ``sm`` (surprisal) and ``m`` (removed by the mask) in bits, null for infinite;
          ``ms`` milliseconds.
    """
    wanted = [_candidate(candidate, vocabulary) for candidate in step.wanted]
    same = step.allowed is step.wanted
    return {
        "k": "step",
        "i": step.index,
        "id": step.token_id,
        "token": token_record(step.token_id, step.token or None, vocabulary),
        "s": _finite(step.surprisal * _BITS),
        "sm": _finite(step.masked_surprisal * _BITS),
        "p": _probability(step.logprob),
        "pm": _probability(step.masked_logprob),
        "rank": step.rank,
        "rankm": step.masked_rank,
        "cut": step.intervened,
        **_mask_fields(step.mask, step.kept, vocabulary),
        **_position(trace),
        "loop": cycle,
        "ms": {**_times(step.model_ms, step.mask_ms), "advance": round(step.advance_ms, 3)},
        "wanted": wanted,
        "may": wanted
        if same
        else [_candidate(candidate, vocabulary) for candidate in step.allowed],
        **stages_record([name for name, _ in step.stages]),
        **after_record([share for _, share in step.stages]),
    }


def stages_record(names: Sequence[str]) -> wire.Staged:
    """The names of the stages of sampling; nothing if they are not recorded."""
    return {"stages": list(names)} if names else {}


def after_record(shares: Sequence[float]) -> wire.AfterStages:
    """A token's probability after every stage; nothing if they are not recorded."""
    return {"after_stages": [float(f"{share:.4g}") for share in shares]} if shares else {}


def label_record(constraint: TokenMachine, state: State, token_id: TokenId) -> Record:
    """The terminal label that reads a token; empty if it is read as text."""
    label = constraint.label(state, token_id)
    return {} if label is None else {"label": label.name}


def free_record(constraint: TokenMachine, state: State, token_id: TokenId | None) -> Record:
    """What the grammar reads of a token in the free part; nothing of one that is not chosen yet."""
    if not constraint.is_free(state):
        return {}
    return {"free": "" if token_id is None else constraint.read_as(state, token_id).hex()}


def budget_record(constraint: TokenMachine, state: State) -> Record:
    """The tokens left, and the fewest that end the text; empty if it need not end in a budget."""
    budget = constraint.budget_left(state)
    return {} if budget is None else {"budget": {"left": budget.tokens, "needs": budget.fewest}}


def draft_record(step: Step, vocabulary: Vocabulary) -> Record:
    """The token that a draft model proposed at a step; empty if it proposed none."""
    if (draft := step.draft_id) is None:
        return {}
    return {"draft": token_record(draft, vocabulary.tokens[draft], vocabulary)}


def turn_record(
    turn: TokenDistribution, index: int, trace: TracedToken, top: int, stages: Stages = ()
) -> wire.PlainTurn:
    """The record of a token that is not chosen yet, with the fields known before the choice."""
    wanted = turn.wanted(top, stages)
    return {
        "k": "turn",
        "i": index,
        "cut": not wanted[0].allowed,
        **_mask_fields(turn.mask, turn.kept, turn.vocabulary),
        **_position(trace),
        "ms": _times(turn.model_ms, turn.mask_ms),
        "wanted": [_candidate(candidate, turn.vocabulary) for candidate in wanted],
        "may": [_candidate(candidate, turn.vocabulary) for candidate in turn.allowed(top, stages)],
        **stages_record([name for name, _ in stages]),
    }


def _mask_fields(mask: TokenMask, kept: float, vocabulary: Vocabulary) -> wire.Masked:
    """The fields of the mask."""
    allowed = len(mask)
    return {
        "m": _finite(-math.log2(kept)) if kept else None,
        "kept": _round(kept),
        "allowed": allowed,
        "forced": allowed == 1,
        "may_end": vocabulary.end is not None and vocabulary.end in mask,
    }


def _position(trace: TracedToken) -> wire.Position:
    """The states of the machines at a token."""
    return {
        "state": trace.state,
        "path": cast("wire.Path", trace.path),
        "stack": list(trace.stack),
        "rules": list(dict.fromkeys(trace.stack)),
        "read_in": [{"start": span.start, "end": span.end} for span in trace.read_in],
    }


def _times(model_ms: float, mask_ms: float) -> wire.Times:
    return {"model": round(model_ms, 3), "mask": round(mask_ms, 3)}


def _candidate(candidate: Candidate, vocabulary: Vocabulary) -> wire.Candidate:
    """A token with both of its probabilities."""
    return {
        **token_record(candidate.token_id, candidate.token, vocabulary),
        "before": _round(candidate.probability),
        "after": _round(candidate.masked_probability),
        "ok": candidate.allowed,
        **after_record(candidate.stages),
    }


def searched_record(turn: TokenDistribution, token_id: TokenId) -> wire.Found:
    """A token that was searched for, with its rank among all and, if allowed, among the allowed."""
    candidate = turn.candidate(token_id)
    rankm = turn.masked_rank(token_id) if candidate.allowed else None
    return {**_candidate(candidate, turn.vocabulary), "rank": turn.rank(token_id), "rankm": rankm}


def stop_record(trace: Trace, milliseconds: float) -> wire.Stop:
    """Why a run ended, and how fast it was."""
    assert trace.stop is not None
    seconds = max(milliseconds, 0.001) / 1000
    record: wire.Stop = {
        **ended_record(trace.stop),
        "rate": round(len(trace.steps) / seconds, 1),
        "perplexity": _finite(trace.perplexity),
    }
    if repeats := repetition([step.token for step in trace.steps]):
        record["repeats"] = repeats
    return record


def ended_record(reason: StopReason) -> wire.Stop:
    """Why there is no further token."""
    good = reason in (StopReason.ACCEPTED, StopReason.FORCED_END)
    return {"k": "stop", "reason": reason.value, "words": WORDS[reason], "good": good}


def full_record() -> wire.Stop:
    """The end of a run whose model can read no further token."""
    words = "cut off: the model can read no more tokens"
    return {"k": "stop", "reason": "model full", "words": words, "good": False}


def uncounted_record() -> wire.Stop:
    """The end of a run that was to finish its text, whose tokens to the end are not counted."""
    words = (
        "cut off: where this many properties are in any order, the tokens to the end are not"
        " counted; allow more tokens, or clear 'any order'"
    )
    return {"k": "stop", "reason": "not counted", "words": words, "good": False}


def reading_record(reading: Reading) -> wire.Stop:
    """The end of a text that was read: whether the grammar accepts it."""
    refused = reading.refused
    if reading.accepted:
        words = "the grammar accepts this text"
    elif refused is None or reading.steps[refused].is_end:
        words = "the text is not complete: the grammar needs more"
    else:
        words = f"token {refused + 1} is refused"
        if refused + 1 < len(reading.steps):
            words += "; the model alone scores the rest"
    return {
        "k": "stop",
        "reason": "read",
        "words": words,
        "good": reading.accepted,
        "perplexity": _finite(reading.perplexity),
    }


def proper_record(improper: ImproperToken | None, vocabulary: Vocabulary) -> wire.Improper | None:
    """Where the tokenizer would have written other tokens, and which."""
    if improper is None:
        return None
    proper = [token_record(i, vocabulary.tokens[i], vocabulary) for i in improper.proper]
    return {"at": improper.index, "own": proper, "at_prompt": improper.at_prompt}


def _finite(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def _probability(logprob: float) -> float:
    return _round(math.exp(logprob)) if logprob == logprob else 0.0


def _round(value: float) -> float:
    """Round to six significant digits, which halves the bytes."""
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0


def line(record: Mapping[str, Any]) -> str:
    """A record as one line of NDJSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
