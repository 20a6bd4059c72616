"""Tran-Thien's table 2: what proper tokenization costs, step by step."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from statistics import median

from workbench.bench.cases import CASES
from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.turn import since
from workbench.errors import WorkbenchError
from workbench.evaluate.experiment import Experiment, Record, Setting, Unit
from workbench.evaluate.experiments.timing import least_ms
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.training.card import table
from workbench.vocabulary.bpe.bpe import Bpe
from workbench.vocabulary.bpe.build import built
from workbench.vocabulary.bpe.rules import rules_of
from workbench.vocabulary.vocabulary import Vocabulary

#: The embedded model's, and the article's own.
_VOCABULARIES = ("builtin", "mistral-v1")
#: A JSON object under a schema, as the article's sample; and two of its likely parts.
_CASES = ("json_schema_re", "quoted", "datetime")
_LIMITS = Limits(seconds=60.0, megabytes=1_024)


def _measured(name: str, setting: Setting) -> Record:
    """Milliseconds of each step, the least of several; masks as the median of a walk's."""
    try:
        vocabulary = Vocabulary.load(name)
        Bpe.of(vocabulary)
    except WorkbenchError as error:
        return {"failed": error.message}
    rules = rules_of(vocabulary)
    record: Record = {"tokens": len(vocabulary)}
    record["tables_ms"] = least_ms(setting, lambda: built(rules))
    for case in _CASES:
        record[case] = _of(case, vocabulary, setting)
    return record


def _of(case: str, vocabulary: Vocabulary, setting: Setting) -> Record:
    regex, walk = CASES[case].regex, CASES[case].walk
    assert regex is not None, "these cases are regexes"
    grammar = Grammar.from_regex(regex, limits=_LIMITS)
    make = partial(compile_grammar, grammar, vocabulary, limits=_LIMITS)
    try:
        permissive = least_ms(setting, partial(make, method="composed"))
        relevant = least_ms(setting, partial(make, method="proper"))
        constraint = make(method="proper")
        masks, state = [], constraint.initial
        for token_id in Bpe.of(vocabulary).encode(walk):
            started = time.perf_counter()
            constraint.mask(state)
            masks.append(since(started))
            state = constraint.advance(state, token_id)
    except WorkbenchError as error:
        return {"failed": error.message}
    return {"permissive_ms": permissive, "relevant_ms": relevant, "mask_ms": median(masks[1:])}


_INTRODUCTION = """
Milliseconds. The article's sample (JSON strings of glaive-function-calling-v2) is
not here; the JSON object of Koo's table 2 stands for it, with two smaller constraints. Step 3 is
here the whole compilation of `proper`, which finds live edges without product states: its column
has all that the article's third step has, and more."""

_PAPER = ["article, Mistral 7B v0.1", "20,900", "687", "27,300", "1.53"]


def _section(records: Mapping[str, Record]) -> str:
    head = ["", "1 tables", "2 permissive", "3 relevant pairs", "4 mask"]
    rows, failed = [_PAPER], []
    for name in _VOCABULARIES:
        record = records.get(_key(name))
        if record is None:
            continue
        if "failed" in record:
            failed.append(f"{name}: {record['failed']}.")
            continue
        for case in _CASES:
            found = record[case]
            if "failed" in found:
                failed.append(f"{name}, {case}: {found['failed']}.")
                continue
            times = (record["tables_ms"], *(found[k] for k in _STEPS))
            rows.append([f"{name}, {case}", *(f"{t:,.3g}" for t in times)])
    return "\n\n".join([_INTRODUCTION, table(head, rows), *failed])


_STEPS = ("permissive_ms", "relevant_ms", "mask_ms")


def _key(name: str) -> str:
    return f"tran 2/{name}"


TRAN_2 = Experiment(
    name="tran-2",
    title="What proper tokenization costs",
    source="Tran-Thien 2024, table 2",
    units=lambda _: [Unit(_key(name), partial(_measured, name)) for name in _VOCABULARIES],
    section=_section,
)
