"""The costs of proper tokenization, step by step.

The steps are those of section 10 of the reference on proper tokenization, next to its times. Each
is the best of several runs with compiled kernels. The reference does not print the text of its
first regex; ours are similar, and edges are counted so that sizes can be compared.
``python -m lab bench --proper`` prints the table.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from workbench.base.dfa import Dfa
from workbench.base.limits import Limits
from workbench.base.text_tables import format_table
from workbench.constraint.methods.proper.boundaries import after_prompt
from workbench.constraint.methods.proper.live_edges import live_edges
from workbench.constraint.methods.proper.proper import ProperConstraint
from workbench.constraint.methods.proper.walker import DfaMachine, PermissiveReader
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization import pair_test
from workbench.vocabulary.tokenization.bpe import Bpe, build_tables
from workbench.vocabulary.tokenization.merge_rules import rules_of
from workbench.vocabulary.tokenization.pretokenizer import pretokens
from workbench.vocabulary.vocabulary import Vocabulary

T = TypeVar("T")

#: A JSON object of three fields with 42 states, and a regex of counted letters.
REGEXES: dict[str, str] = {
    "json": r'\{"name": "[A-Za-z ]+", "age": [0-9]+, "admin": (true|false)\}',
    "mail": r"[a-z]{1,20}@[a-z]+\.(com|org)",
    "quoted": r'"[^"\\]{1,30}"',
}

#: Milliseconds in the reference, by vocabulary, step and regex; measured on another machine.
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

#: Runs of a step of which the best counts, and mask rows that are timed together.
_RUNS, _TIMED_ROWS = 5, 2_000
_LIMITS = Limits(seconds=120.0, megabytes=2_000)


@dataclass(frozen=True, slots=True)
class Cost:
    """One step: the best of several runs in milliseconds, and its size."""

    step: str
    ms: float
    #: The number of edges, states or tokens, in words.
    of: str
    #: Milliseconds in the reference, or None.
    reference_ms: float | None


def costs(vocabulary: Vocabulary) -> Iterator[Cost]:
    """Every step.

    Raises: VocabularyError where proper tokenization is not exactly known for the vocabulary.
    """
    bpe = Bpe.of(vocabulary)

    def cost(step: str, ms: float, of: str) -> Cost:
        return Cost(step, ms, of, REFERENCE.get((vocabulary.name, step)))

    ms, _ = best(lambda: build_tables(rules_of(vocabulary)), runs=2)
    canonical = sum(map(bpe.is_canonical, range(len(vocabulary))))
    yield cost("normalise", ms, f"{canonical:,} of {len(vocabulary):,} tokens canonical")
    for pattern in vocabulary.tokenizer.patterns:
        ms, result = best(partial(pretokens, pattern), runs=1)
        yield cost("guide", ms, f"K of {len(result)} states; fast if cached on disk")
    bits, room = np.zeros((len(vocabulary) + 31) // 32, np.uint32), pair_test.row_buffer(bpe.tables)
    some = np.linspace(0, len(vocabulary) - 1, _TIMED_ROWS).astype(np.int32).tolist()
    ms, _ = best(lambda: [pair_test.forbid(bpe.tables, token, room, bits) for token in some])
    yield cost("row", ms / len(some), "one row removed from a mask, from Python")
    for name, pattern in REGEXES.items():
        dfa = Grammar.from_regex(pattern, limits=_LIMITS).dfa
        assert dfa is not None, "a regex has a DFA"
        for step, ms, of in _of_machine(dfa, bpe):
            yield cost(f"{step} {name}", ms, of)


def _of_machine(dfa: Dfa, bpe: Bpe) -> Iterator[tuple[str, float, str]]:
    """The walk of the trie, the live edges, and masks."""
    guesses, _ = after_prompt(bpe, ())
    ms, count = best(lambda: _walked(dfa, bpe))
    yield "edges", ms, f"{count:,} edges of {len(dfa)} states"
    ms, live = best(lambda: live_edges(dfa, bpe, guesses, _LIMITS))
    yield (
        "live",
        ms,
        f"{live.edge_count:,} edges, {len(live.dead)} dead, {len(live.positions)} places",
    )
    constraint = ProperConstraint(dfa, bpe.vocabulary, _LIMITS)
    tokens = [t for t in range(0, len(bpe.vocabulary), 97) if bpe.is_canonical(t)]
    state = constraint.initial
    for _ in range(16):  # to the first state that allows many tokens, if there is one
        ids = [t for t in constraint.mask(state).ids.tolist() if t not in bpe.vocabulary.ends]
        if len(ids) > len(bpe.vocabulary) // 20 or not ids:
            break
        state = constraint.advance(state, ids[-1])
    states = [state._replace(last=token) for token in tokens]
    ms, _ = best(lambda: [constraint.compute_mask(s) for s in states])
    yield "mask", ms / len(states), f"after each of {len(states):,} tokens, rows cached"


def _walked(dfa: Dfa, bpe: Bpe) -> int:
    reader = PermissiveReader(DfaMachine(dfa), bpe.vocabulary)
    return sum(len(reader.permissive(state)[0]) for state in range(len(dfa)))


def best(work: Callable[[], T], runs: int = _RUNS) -> tuple[float, T]:
    """The least milliseconds of several runs, and the last result."""
    fewest = float("inf")
    for _ in range(runs):
        gc.disable()
        begun = time.perf_counter()
        result = work()
        fewest = min(fewest, time.perf_counter() - begun)
        gc.enable()
    return 1e3 * fewest, result


def table(found: Iterable[Cost]) -> str:
    """The costs as a Markdown table."""
    rows = [("step", "ms", "reference", "of")]
    for cost in found:
        reference = "" if cost.reference_ms is None else f"{cost.reference_ms:g}"
        rows.append((cost.step, f"{cost.ms:.4g}", reference, cost.of))
    return format_table(rows, "markdown") + "\n"
