"""The costs of proper tokenization, step by step.

What is measured is what section 10 of the reference on proper tokenization lists, beside its
numbers; each is the best of some runs, kernels compiled before. The regexes are of the reference's
kind: it does not print the text of its first one, so edges are counted too.
``workbench bench --proper`` prints the table.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from workbench.base.dfa import Dfa
from workbench.base.limits import Limits
from workbench.constraint.methods.proper.boundaries import after_prompt
from workbench.constraint.methods.proper.live_edges import live_edges
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.constraint.methods.proper.proper_methods import ready
from workbench.constraint.methods.proper.walker import OfDfa, Reader
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization import pair_test
from workbench.vocabulary.tokenization.bpe import Bpe
from workbench.vocabulary.tokenization.merge_rules import rules_of
from workbench.vocabulary.tokenization.merge_tables import build_tables
from workbench.vocabulary.tokenization.pretokenizer import pretokens
from workbench.vocabulary.vocabulary import Vocabulary

Made = TypeVar("Made")

#: A JSON object of three fields with 42 states, and a regex of counted letters.
REGEXES: dict[str, str] = {
    "json": r'\{"name": "[A-Za-z ]+", "age": [0-9]+, "admin": (true|false)\}',
    "mail": r"[a-z]{1,20}@[a-z]+\.(com|org)",
    "quoted": r'"[^"\\]{1,30}"',
}

#: Milliseconds the reference gives, by vocabulary, step and regex; of another machine.
REFERENCE: dict[tuple[str, str], float] = {
    ("mistral-v1", "normalise"): 140.0,
    ("tekken", "normalise"): 750.0,
    ("tekken", "guide"): 1000.0,
    ("mistral-v1", "edges json"): 1.0,
    ("mistral-v1", "live json"): 12.0,
    ("mistral-v1", "live mail"): 24.0,
    ("mistral-v1", "live quoted"): 260.0,
    ("tekken", "edges json"): 30.0,
    ("tekken", "live json"): 48.0,
    ("mistral-v1", "row"): 0.0026,
    ("tekken", "row"): 0.008,
}

_RUNS, _ROWS = 5, 2_000
_PATIENT = Limits(seconds=120.0, megabytes=2_000)


@dataclass(frozen=True, slots=True)
class Cost:
    """One step: the best of some runs in milliseconds, and what it was of."""

    step: str
    ms: float
    #: How many edges, states or tokens, in words.
    of: str
    #: What the reference gives, in milliseconds, or None.
    reference_ms: float | None


def costs(vocabulary: Vocabulary) -> Iterator[Cost]:
    """Every step, cheap ones measured more often.

    Raises: VocabularyError where proper tokenization cannot be said exactly.
    """
    ready()
    bpe = Bpe.of(vocabulary)

    def cost(step: str, ms: float, of: str) -> Cost:
        return Cost(step, ms, of, REFERENCE.get((vocabulary.name, step)))

    ms, _ = best(lambda: build_tables(rules_of(vocabulary)), runs=2)
    canonical = sum(map(bpe.is_canonical, range(len(vocabulary))))
    yield cost("normalise", ms, f"{canonical:,} of {len(vocabulary):,} tokens canonical")
    if (pattern := vocabulary.pretokenizer) is not None:
        ms, made = best(lambda: pretokens(pattern), runs=1)
        yield cost("guide", ms, f"K of {len(made)} states; quick where it lies on disk")
    bits, room = np.zeros((len(vocabulary) + 31) // 32, np.uint32), pair_test.row_buffer(bpe.tables)
    some = np.linspace(0, len(vocabulary) - 1, _ROWS).astype(np.int32).tolist()
    ms, _ = best(lambda: [pair_test.forbid(bpe.tables, token, room, bits) for token in some])
    yield cost("row", ms / len(some), "one row taken out of a mask, from Python")
    for name, pattern in REGEXES.items():
        dfa = Grammar.from_regex(pattern, limits=_PATIENT).dfa
        assert dfa is not None, "a regex has one"
        for step, ms, of in _of_machine(dfa, bpe):
            yield cost(f"{step} {name}", ms, of)


def _of_machine(dfa: Dfa, bpe: Bpe) -> Iterator[tuple[str, float, str]]:
    """The walk of the vocabulary, the live edges, and masks."""
    guesses, _ = after_prompt(bpe, ())
    ms, count = best(lambda: _walked(dfa, bpe))
    yield "edges", ms, f"{count:,} edges of {len(dfa)} states"
    ms, live = best(lambda: live_edges(dfa, bpe, guesses, _PATIENT))
    yield "live", ms, f"{live.edge_count:,} edges, {len(live.dead)} dead, {len(live.places)} places"
    constraint = ProperConstraint(dfa, bpe.vocabulary, _PATIENT)
    tokens = [t for t in range(0, len(bpe.vocabulary), 97) if bpe.is_canonical(t)]
    state = constraint.initial
    for _ in range(16):  # into the first wide state, if there is one
        ids = [t for t in constraint.mask(state).ids.tolist() if t != bpe.vocabulary.end]
        if len(ids) > len(bpe.vocabulary) // 20 or not ids:
            break
        state = constraint.advance(state, ids[-1])
    states = [state._replace(last=token) for token in tokens]
    ms, _ = best(lambda: [constraint.computed(s) for s in states])
    yield "mask", ms / len(states), f"after each of {len(states):,} tokens, rows known"


def _walked(dfa: Dfa, bpe: Bpe) -> int:
    reader = Reader(OfDfa(dfa), bpe.vocabulary)
    return sum(len(reader.permissive(state)[0]) for state in range(len(dfa)))


def best(work: Callable[[], Made], runs: int = _RUNS) -> tuple[float, Made]:
    """The fewest milliseconds of some runs, and what the last one made."""
    fewest = float("inf")
    for _ in range(runs):
        gc.disable()
        begun = time.perf_counter()
        made = work()
        fewest = min(fewest, time.perf_counter() - begun)
        gc.enable()
    return 1e3 * fewest, made


def table(found: Iterator[Cost]) -> str:
    """The costs as lines of a Markdown table."""
    lines = ["| step | ms | reference | of |", "| --- | --- | --- | --- |"]
    for cost in found:
        reference = "" if cost.reference_ms is None else f"{cost.reference_ms:g}"
        lines.append(f"| {cost.step} | {cost.ms:.4g} | {reference} | {cost.of} |")
    return "\n".join(lines) + "\n"
