"""Steps of a run become the records the page reads: one JSON object a line, growing as it goes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.decoding.trace import Candidate, Step, StopReason, Trace
from workbench.ui.follow import Place
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: What travels to the page: strings, numbers, lists and objects of them.
Record = dict[str, Any]

#: Why a run ended, in words.
WORDS = {
    StopReason.ACCEPTED: "accepted; the model ended it",
    StopReason.FORCED_END: "accepted; nothing more may follow",
    StopReason.DEAD_END: "dead end: no token fits",
    StopReason.TOKEN_BUDGET: "cut off at the token budget",
    StopReason.STOPPED: "stopped by you",
}

_BITS = 1 / math.log(2)


def token_record(token_id: TokenId, token: bytes | None, vocabulary: Vocabulary) -> Record:
    """A token as text where it is text by itself, else as hexadecimal bytes."""
    if token_id == vocabulary.end:
        return {"id": token_id, "end": True}
    if token is None:
        return {"id": token_id, "text": f"⟨special {token_id}⟩"}
    try:
        return {"id": token_id, "text": token.decode("utf-8")}
    except UnicodeDecodeError:
        return {"id": token_id, "hex": token.hex()}


def step_record(step: Step, place: Place, vocabulary: Vocabulary) -> Record:
    """Everything the page shows of one token.

    Unit: ``s`` (surprisal) and ``m`` (taken by the mask) in bits, null for infinite.
    """
    return {
        "k": "step",
        "i": step.index,
        "id": step.token_id,
        "token": token_record(step.token_id, step.token or None, vocabulary),
        "s": _finite(step.surprisal * _BITS),
        "m": _finite(step.mask_bits),
        "p": _probability(step.logprob),
        "kept": _rounded(step.kept),
        "rank": step.rank,
        "allowed": len(step.mask),
        "forced": step.forced,
        "cut": step.intervened,
        "state": place.state,
        "path": place.path,
        "stack": list(place.stack),
        "rules": list(dict.fromkeys(place.stack)),
        "wanted": [_wanted(candidate, vocabulary) for candidate in step.wanted],
        "may": [_may(candidate, vocabulary) for candidate in step.allowed],
    }


def _wanted(candidate: Candidate, vocabulary: Vocabulary) -> Record:
    token = token_record(candidate.token_id, candidate.token, vocabulary)
    return {**token, "p": _rounded(candidate.probability), "ok": candidate.allowed}


def _may(candidate: Candidate, vocabulary: Vocabulary) -> Record:
    token = token_record(candidate.token_id, candidate.token, vocabulary)
    masked, free = candidate.masked_probability, candidate.probability
    return {**token, "p": _rounded(masked), "free": _rounded(free)}


def stop_record(trace: Trace, milliseconds: float) -> Record:
    """Why a run ended, and how fast it was."""
    assert trace.stop is not None
    seconds = max(milliseconds, 0.001) / 1000
    return {
        "k": "stop",
        "reason": trace.stop.value,
        "words": WORDS[trace.stop],
        "good": trace.accepted,
        "rate": round(len(trace.steps) / seconds, 1),
        "perplexity": _finite(trace.perplexity),
    }


def _finite(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def _probability(logprob: float) -> float:
    return _rounded(math.exp(logprob)) if logprob == logprob else 0.0


def _rounded(value: float) -> float:
    """Six significant digits are more than anybody reads, and half the bytes."""
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0


def line(record: Record) -> str:
    """A record as one line of NDJSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def growing(records: Iterable[Record], seconds: float = 0.05) -> Iterator[str]:
    """The lines so far, a longer text each time, at most every so many seconds.

    What is not a step is sent at once: a wait may follow it. The whole text is sent,
    never a difference, because the page may skip some of the texts.
    """
    text, sent, last = "", "", -math.inf
    for record in records:
        text += line(record)
        now = time.monotonic()
        if record["k"] != "step" or now - last >= seconds:
            yield text
            sent, last = text, now
    if text != sent:
        yield text
