"""Tran-Thien's table 2 (costs) and challenge 1 (skewed distributions)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.tables import format_table
from workbench.base.visible_text import visible
from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.candidates import milliseconds_since
from workbench.decoding.contenders import all_contenders
from workbench.decoding.exact_distribution import exact_comparison
from workbench.decoding.measures import canonical_spelling
from workbench.grammar.grammar import Grammar
from workbench.lab.bench.cases import CASES
from workbench.lab.experiments.experiment import Experiment, Record, Setting, Unit
from workbench.lab.experiments.throughput import least_ms
from workbench.vocabulary.tokenization.bpe import Bpe, build_tables
from workbench.vocabulary.tokenization.merge_rules import rules_of
from workbench.vocabulary.vocabulary import Vocabulary

#: The embedded model's, and the article's.
_VOCABULARIES = ("builtin", "mistral-v1")
#: A JSON object under a schema, as the article's sample; and two of its likely parts.
_MERGE_CASES = ("json_schema_re", "quoted", "datetime")
_LIMITS = Limits(seconds=60.0, megabytes=1_024)


def _measured_merge(name: str, setting: Setting) -> Record:
    """Milliseconds of each step, the least of several; of masks the median over a walk."""
    try:
        vocabulary = Vocabulary.load(name)
        Bpe.of(vocabulary)
    except WorkbenchError as error:
        return {"failed": error.message}
    rules = rules_of(vocabulary)
    record: Record = {"tokens": len(vocabulary)}
    record["tables_ms"] = least_ms(setting, lambda: build_tables(rules))
    for case in _MERGE_CASES:
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
            masks.append(milliseconds_since(started))
            state = constraint.advance(state, token_id)
    except WorkbenchError as error:
        return {"failed": error.message}
    return {"permissive_ms": permissive, "relevant_ms": relevant, "mask_ms": median(masks[1:])}


_INTRODUCTION = """
Milliseconds. The article's sample (JSON strings of glaive-function-calling-v2) is
not here; the JSON object of Koo's table 2 replaces it, with two smaller constraints. Step 3 is
here the whole compilation of `proper`, which finds live edges without product states: its column
includes all work of the article's third step, and more."""

_PAPER = ["article, Mistral 7B v0.1", "20,900", "687", "27,300", "1.53"]


def _merge_section(records: Mapping[str, Record]) -> str:
    head = ["", "1 tables", "2 permissive", "3 relevant pairs", "4 mask"]
    rows, failed = [_PAPER], []
    for name in _VOCABULARIES:
        record = records.get(_merge_key(name))
        if record is None:
            continue
        if "failed" in record:
            failed.append(f"{name}: {record['failed']}.")
            continue
        for case in _MERGE_CASES:
            found = record[case]
            if "failed" in found:
                failed.append(f"{name}, {case}: {found['failed']}.")
                continue
            times = (record["tables_ms"], *(found[k] for k in _STEPS))
            rows.append([f"{name}, {case}", *(f"{t:,.3g}" for t in times)])
    return "\n\n".join([_INTRODUCTION, format_table([head, *rows], "markdown"), *failed])


_STEPS = ("permissive_ms", "relevant_ms", "mask_ms")


def _merge_key(name: str) -> str:
    return f"tran 2/{name}"


TRAN_2 = Experiment(
    name="tran-2",
    title="What proper tokenization costs",
    source="Tran-Thien 2024, table 2",
    units=lambda _: [
        Unit(_merge_key(name), partial(_measured_merge, name)) for name in _VOCABULARIES
    ],
    section=_merge_section,
)


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    pattern: str
    prompt: str
    #: Whether the end token counts: Tran-Thien's figures leave it out.
    ended: bool = True


_PRESIDENT = (
    "Question: What is the first name of the US president who was a member of the Sigma Alpha"
    " Epsilon fraternity?\nAnswer:"
)
_SKEW_CASES = (
    _Case("president", "( William)|( Theodore)", _PRESIDENT, ended=False),
    _Case("president, space in the prompt", "William|Theodore", f"{_PRESIDENT} ", ended=False),
    _Case("boolean", "boolean: ((true)|(false))", "A setting of the program:\n"),
    _Case("colour", "Red|Orange|Yellow|Green|Blue|Indigo|Violet", "The colour of the sky is "),
    _Case("name", '\\{"name": "(Jane|John|Johanna)', "A JSON file of a person John Smith:\n"),
    _Case("armour", '"(leather|chainmail|plate)"', 'A character profile:\n```json\n{"armor": '),
)
#: One method for each different mask.
_METHODS = ("automaton", "domino-0", "domino-1", "domino", "lalr", "proper")


def _measured_skew(case: _Case, setting: Setting) -> Record:
    contenders = [all_contenders()[name] for name in _METHODS]
    grammar = Grammar.from_regex(case.pattern)
    found = exact_comparison(setting.model, case.prompt, grammar, contenders, ended=case.ended)
    vocabulary = setting.model.vocabulary
    canonical = canonical_spelling(vocabulary)
    canonical_tokens = {
        text.decode(): [visible(vocabulary.tokens[i] or b"") for i in ids]
        for text in found.texts
        if canonical is not None and (ids := canonical(text)) is not None
    }
    return found.as_record() | {"spelt": canonical_tokens}


_ARTICLE = """Tran-Thien, with Mistral 7B, for the first of these: P(" William") is 0.85879 in the
model's own conditional, 0.52852 under masks token by token (every tokenization allowed), 0.85872
over proper tokenizations; 99.9997 % and 99.8586 % of the two answers' own mass is proper.
"""


def _skew_section(records: Mapping[str, Record]) -> str:
    done = [(case, record) for case in _SKEW_CASES if (record := records.get(_skew_key(case)))]
    parts = [_ARTICLE, *(_case_section(case, record) for case, record in done)]
    skews = [record["distances"]["automaton"]["total_variation"] for _, record in done]
    if skews:
        parts.append(
            f"Masks over all tokenizations move up to {max(skews):.3f} of the mass (total"
            f" variation; median {median(skews):.3f}): the article's first"
            " challenge is confirmed here."
        )
    proper = [(case, record) for case, record in done if "proper" in record["distances"]]
    if proper:
        parts.append(_of_proper(proper))
    return "\n\n".join(parts)


def _of_proper(done: Sequence[tuple[_Case, Record]]) -> str:
    """Whether the article's remedy helps here."""
    far = {case: record["distances"]["proper"]["total_variation"] for case, record in done}
    nearer = sum(far[c] <= r["distances"]["automaton"]["total_variation"] for c, r in done)
    summary = (
        "Its remedy does not help in general" if nearer < len(done) else "Its remedy helps here"
    )
    worst, record = max(done, key=lambda pair: far[pair[0]])
    tokens = "; ".join(f"`{'|'.join(pieces)}`" for pieces in record["spelt"].values())
    return (
        f"{summary}: proper masks are nearer to the model's own conditional in {nearer} of"
        f" {len(done)} languages. Masks still choose token by token, and proper tokenizations may"
        f" begin with tokens that are likely for other reasons: the farthest, *{worst.name}*"
        f" ({far[worst]:.3f}), has the tokens {tokens}. In the article's example each proper"
        " first token belongs to one answer. Where the model itself tokenizes improperly"
        " (the last column; it learnt prompts that end in a space), proper masks require tokens"
        " that it would not write."
    )


def _case_section(case: _Case, record: Record) -> str:
    columns, alike = _columns(record)
    head = [
        "text",
        *(name.replace("own_proper", "own, proper") for name in columns),
        "proper share",
    ]
    rows = [
        [
            f"`{row['text']}`",
            *(_chance(row[name]) for name in columns),
            "–" if row["proper_share"] is None else f"{row['proper_share']:.2%}",
        ]
        for row in record["texts"]
    ]
    distances = record["distances"]
    far = ["total variation", "0", *(_far(distances, name) for name in columns[1:]), ""]
    notes = [f"{name}: {why}." for name, why in record["failed"].items()]
    if alike:
        notes.insert(0, f"As automaton: {', '.join(alike)}.")
    counted = f"{record['spellings']:,} tokenizations, {record['passes']:,} passes of the model"
    title = f"**{case.name}** `{case.pattern}` ({counted})"
    return "\n\n".join([title, format_table([head, *rows, far], "markdown"), *notes])


def _columns(record: Record) -> tuple[list[str], list[str]]:
    """The distributions shown, and the methods whose distribution equals the exact masks'."""
    names = [name for name in record["texts"][0] if name not in ("text", "proper_share")]
    alike = [
        name
        for name in names
        if name not in ("own", "automaton")
        and all(math.isclose(row[name], row["automaton"]) for row in record["texts"])
    ]
    return [name for name in names if name not in alike], alike


def _chance(p: float) -> str:
    return f"{p:.4f}" if p >= _MIN_DECIMAL or p == 0 else f"{p:.1e}"


#: Smaller probabilities are written with an exponent.
_MIN_DECIMAL = 0.0005


def _far(distances: Record, name: str) -> str:
    return f"{distances[name]['total_variation']:.4f}" if name in distances else "–"


def _skew_key(case: _Case) -> str:
    return f"challenge 1/{case.name}"


CHALLENGE_1 = Experiment(
    name="challenge-1",
    title="Skewed distributions of finite languages",
    source="Tran-Thien 2024, challenge 1",
    units=lambda _: tuple(
        Unit(_skew_key(case), partial(_measured_skew, case)) for case in _SKEW_CASES
    ),
    section=_skew_section,
)
