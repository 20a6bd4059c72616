"""Tran-Thien's table 2 (costs) and challenges 1 (skewed distributions) and 2 (improper tokens)."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import geometric_mean, median
from typing import Any

from lab.bench.cases import CASES
from lab.experiments.experiment import (
    LIMITS,
    Column,
    Experiment,
    Record,
    Setting,
    Size,
    Unit,
    check_running,
)
from lab.experiments.proportions import Proportion, Spread
from lab.experiments.throughput import times_ms
from lab.training.corpus.sums import as_prose, problems
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import figure, format_table
from workbench.base.visible_text import visible
from workbench.constraint.compile import compile as compile_grammar
from workbench.decoding.contenders import all_contenders
from workbench.decoding.exact_distribution import exact_comparison
from workbench.decoding.measures import canonical_spelling
from workbench.decoding.retokenize import perplexity_of
from workbench.grammar.export.registry import export
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.tokenization.bpe import Bpe, build_tables
from workbench.vocabulary.tokenization.merge_rules import rules_of
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The embedded model's, and the article's.
_VOCABULARIES = ("builtin", "mistral-v1")
#: A JSON object under a schema, as the article's sample; and two of its likely parts.
_MERGE_CASES = ("json_schema_re", "quoted", "datetime")


#: Schemas of one unit of work, and characters of a schema's regex at most.
_SCHEMAS_PER_UNIT, _MAX_REGEX = 50, 100_000


def _measured_merge(name: str, setting: Setting) -> Record:
    """Milliseconds of each step on the named constraints; of masks the median over a walk."""
    vocabulary = Vocabulary.load(name)
    rules = rules_of(vocabulary)
    record: Record = {"tables_ms": times_ms(setting, lambda: build_tables(rules))}
    for case in _MERGE_CASES:
        regex = CASES[case].regex
        assert regex is not None, "these cases are regexes"
        record[case] = _of(regex, CASES[case].walk, vocabulary, setting)
    return record


def _of(regex: str, walk: str | None, vocabulary: Vocabulary, setting: Setting) -> Record:
    """The steps of one regex; a walk of None takes the first allowed token a few times."""
    try:
        grammar = Grammar.from_regex(regex, limits=LIMITS)
        make = partial(compile_grammar, grammar, vocabulary, limits=LIMITS)
        permissive = times_ms(setting, partial(make, method="composed"))
        relevant = times_ms(setting, partial(make, method="proper"))
        constraint = make(method="proper")
        masks, state = [], constraint.initial
        ids = None if walk is None else Bpe.of(vocabulary).encode(walk)
        for number in range(_FREE_STEPS if ids is None else len(ids)):
            started = time.process_time()
            mask = constraint.mask(state)
            masks.append(1e3 * (time.process_time() - started))
            token_id = int(mask.ids[0]) if ids is None else ids[number]
            if token_id == vocabulary.end:
                break
            state = constraint.advance(state, token_id)
    except WorkbenchError as error:
        return {"failed": error.message}
    return {"permissive_ms": permissive, "relevant_ms": relevant, "mask_ms": [median(masks)]}


#: Masks of a regex without a given text.
_FREE_STEPS = 8


def schemas_of(file: str) -> list[Any]:
    """The schemas of a file of JSON lines. Raises: WorkbenchError for another format."""
    try:
        return [json.loads(line)["schema"] for line in Path(file).read_text("utf-8").splitlines()]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise WorkbenchError(
            f"cannot read schemas from {file}: {error}", 'name JSON lines with a field "schema"'
        ) from error


def regex_of(schema: Any) -> str | None:  # noqa: ANN401  # a JSON value
    """The regex of a schema; None if its language has none, or a long one only."""
    try:
        return export(Grammar.from_json_schema(schema), "regex", longest=_MAX_REGEX)
    except WorkbenchError:
        return None


def _measured_schemas(name: str, first: int, setting: Setting) -> Record:
    """The steps of some schemas' regexes."""
    vocabulary = Vocabulary.load(name)
    assert setting.size.schemas is not None, "these units exist only with a file of schemas"
    last = min(first + _SCHEMAS_PER_UNIT, setting.size.regexes)
    rows = []
    for schema in schemas_of(setting.size.schemas)[first:last]:
        check_running(setting)
        regex = regex_of(schema)
        no_regex = {"failed": "no regex"}
        rows.append(no_regex if regex is None else _of(regex, None, vocabulary, setting))
    return {"rows": rows}


_INTRODUCTION = """Milliseconds of processor time, the mean of the runs ± their standard deviation.
Step 3 is the whole compilation of `proper`, which finds live edges without product states: its
column includes all work of the article's third step, and more. The article's sample (JSON strings
of glaive-function-calling-v2) is replaced by the regexes of schemas, where a file of them was
named, and by the JSON object of Koo's table 2 with two smaller constraints. Over schemas the means
are over all that compile, of the first run each, and masks are those of the first tokens
allowed."""

_PAPER = ["article, Mistral 7B v0.1, 1,000 strings", "20,900", "687", "27,300", "1.53"]
_STEPS = ("permissive_ms", "relevant_ms", "mask_ms")


def _merge_section(columns: Sequence[Column]) -> str:
    head = ["", "1 tables", "2 permissive", "3 relevant pairs", "4 mask"]
    rows, notes = [head, _PAPER], []
    records = {k: r for c in columns for k, r in c.records.items()}
    for name in _VOCABULARIES:
        named = [
            r for k, r in records.items() if k.startswith(f"tran 2/{name}/") and "rows" not in r
        ]
        for record in named[-1:]:
            for case in _MERGE_CASES:
                times = (record["tables_ms"], *(record[case].get(k) for k in _STEPS))
                rows.append([f"{name}, {case}", *map(_mean, times)])
        sample = [
            row
            for k, r in records.items()
            if k.startswith(f"tran 2/{name}/schemas") and "rows" in r
            for row in r["rows"]
        ]
        fitting = [row for row in sample if "failed" not in row]
        if fitting:
            first = [[row[k][0] for row in fitting] for k in _STEPS]
            rows.append([f"{name}, {len(fitting)} schemas", "", *map(_mean, first)])
            notes.append(
                f"{name}: {len(sample) - len(fitting)} of {len(sample)} schemas have no regex of at"
                f" most {_MAX_REGEX:,} characters, or exceed the limits."
            )
    return "\n\n".join([_INTRODUCTION, format_table(rows, "markdown"), *notes])


def _mean(times: Sequence[float] | None) -> str:
    if not times:
        return "–"
    spread = Spread.of(times)
    deviation = f" ± {figure(spread.deviation)}" if spread.count > 1 else ""
    return f"{figure(spread.mean)}{deviation}"


def _merge_units(size: Size) -> list[Unit]:
    found = []
    for name in _VOCABULARIES:
        found.append(Unit(f"tran 2/{name}/{size.timings}", partial(_measured_merge, name)))
        if size.schemas is not None:
            lines = min(size.regexes, len(schemas_of(size.schemas)))
            found += [
                Unit(f"tran 2/{name}/schemas {first}", partial(_measured_schemas, name, first))
                for first in range(0, lines, _SCHEMAS_PER_UNIT)
            ]
    return found


TRAN_2 = Experiment(
    name="tran-2",
    title="What proper tokenization costs",
    source="Tran-Thien 2024, table 2",
    units=_merge_units,
    section=_merge_section,
    subject="the tokenizers named in the table",
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
    _Case("armour", '"(leather|chainmail|plate)"', 'A character profile:\n```json\n{"armor": '),
    _Case("colour", "Red|Orange|Yellow|Green|Blue|Indigo|Violet", "The colour of the sky is "),
    _Case("boolean", "boolean: ((true)|(false))", "A setting of the program:\n"),
    _Case("name", '\\{"name": "(Jane|John|Johanna)', "A JSON file of a person John Smith:\n"),
)
#: One method for each different mask.
_METHODS = ("automaton", "domino-0", "domino-1", "domino", "lalr", "proper")


def _measured_skew(case: _Case, setting: Setting) -> Record:
    contenders = [all_contenders()[name] for name in _METHODS]
    grammar = Grammar.from_regex(case.pattern, limits=LIMITS)
    try:
        found = exact_comparison(
            setting.model, case.prompt, grammar, contenders, ended=case.ended, limits=LIMITS
        )
    except WorkbenchError as error:  # more tokenizations than are scored
        return {"failed_language": error.message}
    vocabulary = setting.model.vocabulary
    canonical = canonical_spelling(vocabulary)
    canonical_tokens = {
        text.decode(): [visible(vocabulary.tokens[i] or b"") for i in ids]
        for text in found.texts
        if canonical is not None and (ids := canonical(text)) is not None
    }
    return found.as_record() | {"spelt": canonical_tokens}


_ARTICLE = """*Comment.* Tran-Thien, with Mistral 7B, for the first of these: P(" William") is
0.85879 in the model's own conditional, 0.52852 under masks token by token (every tokenization
allowed), 0.85872 over proper tokenizations; 99.9997 % and 99.8586 % of the two answers' own mass
is proper. Masks choose token by token: proper tokenization prevents wrong choices between
tokenizations of a text, not between texts."""


def _skew_section(columns: Sequence[Column]) -> str:
    done = [
        (case, column.title, record)
        for case in _SKEW_CASES
        for column in columns
        if (record := column.records.get(_skew_key(case))) is not None
    ]
    titles = list(dict.fromkeys(title for _, title, _ in done))
    head = ["language", *(f"{kind}, {title}" for title in titles for kind in _KINDS.values())]
    table = [head]
    for case in _SKEW_CASES:
        records = {title: record for one, title, record in done if one is case}
        if records:
            cells = [_distance(records.get(title), kind) for title in titles for kind in _KINDS]
            table.append([case.name, *cells])
    parts = [
        _ARTICLE,
        "Total variation of each method's distribution from the model's own conditional:",
        format_table(table, "markdown"),
        *(_of_article(title, record) for case, title, record in done if case is _SKEW_CASES[0]),
        *(_of_proper(title, [r for _, one, r in done if one == title]) for title in titles),
        *(_case_section(case, title, record) for case, title, record in done),
    ]
    return "\n\n".join(part for part in parts if part)


#: The distributions of the summary, and what its columns are called.
_KINDS = {"automaton": "all tokenizations", "proper": "proper ones"}


def _distance(record: Record | None, kind: str) -> str:
    return _far(record.get("distances", {}), kind) if record else "–"


def _of_article(title: str, record: Record) -> str:
    """The article's own example: its three probabilities, and which masks are nearer."""
    if "distances" not in record or "proper" not in record["distances"]:
        return ""
    row = next(row for row in record["texts"] if row["text"] == " William")
    near = _tv(record, "proper") < _tv(record, "automaton")
    return (
        f"{title}, the article's example: P(\" William\") is {_chance(row['own'])} in the model's"
        f" own conditional, {_chance(row['automaton'])} under masks of all tokenizations,"
        f" {_chance(row['proper'])} under proper ones; {row['proper_share']:.2%} of the answer's"
        f" own mass is proper. Proper masks are {'nearer' if near else 'not nearer'}:"
        f" {'as' if near else 'unlike'} in the article."
    )


def _of_proper(title: str, records: Sequence[Record]) -> str:
    """In how many languages the article's remedy helps."""
    done = [r for r in records if "proper" in r.get("distances", {})]
    if not done:
        return ""
    nearer = sum(_tv(r, "proper") < _tv(r, "automaton") for r in done)
    skew = [_tv(r, "automaton") for r in done]
    return (
        f"{title}: masks of all tokenizations move {min(skew):.3f} to {max(skew):.3f} of the mass;"
        f" proper masks are nearer to the model's own conditional in {nearer} of {len(done)}"
        " languages."
    )


def _tv(record: Record, kind: str) -> float:
    return float(record["distances"][kind]["total_variation"])


def _case_section(case: _Case, title: str, record: Record) -> str:
    if "failed_language" in record:
        return f"**{case.name}, {title}**: {record['failed_language']}."
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
    heading = f"**{case.name}, {title}** `{case.pattern.replace('|', '¦')}` ({counted})"
    return "\n\n".join([heading, format_table([head, *rows, far], "markdown"), *notes])


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


#: Shares of the tokens that are split in two; None for single bytes throughout.
_SPLITS: dict[str, float | None] = {"10 %": 0.1, "50 %": 0.5, "100 %": 1.0, "single bytes": None}
#: Random spellings of each share.
_SPELLINGS = 3
#: Tokens of the continuation.
_CONTINUED = 32
_QUESTIONS_PER_UNIT = 5


def improper_spelling(
    vocabulary: Vocabulary, proper: Sequence[TokenId], share: float | None, rng: Random
) -> list[TokenId]:
    """Another spelling of the same text: a share of its tokens split in two at random places.

    ``share``  None splits into single bytes. Tokens that cannot be split, and special tokens, stay.
    """
    found = list[TokenId]()
    for token_id in proper:
        token = vocabulary.tokens[token_id]
        ids_of = vocabulary.ids_of
        if token is None:
            pieces = []
        elif share is None:
            pieces = [token[i : i + 1] for i in range(len(token))]
        else:
            cuts = [i for i in range(1, len(token)) if token[:i] in ids_of and token[i:] in ids_of]
            cut = rng.choice(cuts) if cuts and rng.random() < share else 0
            pieces = [token[:cut], token[cut:]] if cut else []
        if pieces and all(piece in ids_of for piece in pieces):
            found += [ids_of[piece][0] for piece in pieces]
        else:
            found.append(token_id)
    return found


def _measured_intoxication(first: int, setting: Setting) -> Record:
    """Perplexities of worked answers after their question in proper and improper tokens."""
    model, session = setting.model, setting.model.session()
    rows = []
    for number, (question, worked) in enumerate(_passages()[first : first + _QUESTIONS_PER_UNIT]):
        check_running(setting)
        rng = Random(f"{first + number}")
        prompt, text = as_prose(question, worked)
        proper = model.encode(prompt)
        rest = model.encode(text)[:_CONTINUED]
        if len(prompt.encode()) + _CONTINUED > getattr(model, "context_length", math.inf):
            continue  # in single bytes it is longer than the model reads
        row: Record = {"proper": perplexity_of(model, proper, rest, session)}
        for title, share in _SPLITS.items():
            spellings = [
                improper_spelling(model.vocabulary, proper, share, rng)
                for _ in range(1 if share is None else _SPELLINGS)
            ]
            row[title] = [perplexity_of(model, ids, rest, session) for ids in spellings]
        rows.append(row)
    return {"rows": rows}


def _passages() -> tuple[tuple[str, str], ...]:
    return problems("held_out")


_INTOXICATION = f"""*Comment.* The article's concern: improper tokens are fed back to a model that
has rarely seen them. It has no figures. Here: GSM8K's held-out questions as text, and the
perplexity of the first {_CONTINUED} tokens of the worked answer after the question in the
tokenizer's tokens, and after the same question with a share of its tokens split in two at random
places ({_SPELLINGS} spellings each), or in single bytes. The text is the same. A ratio is the
geometric mean over texts and spellings; *raised* is the share of texts whose perplexity is higher
in the geometric mean of their spellings, with Wilson's interval of 95 %. Questions that the model
cannot read in single bytes are left out."""


def _intoxication_section(columns: Sequence[Column]) -> str:
    parts, sentences = [_INTOXICATION], []
    found = {
        column.title: rows
        for column in columns
        if (rows := [row for r in column.records.values() for row in r["rows"]])
    }
    head = ["tokens split"]
    for title, rows in found.items():
        head += [f"perplexity, {title}", "ratio", f"raised, of {len(rows)} texts"]
    base = [f"{geometric_mean([r['proper'] for r in rows]):.3f}" for rows in found.values()]
    table = [head, ["none", *(cell for one in base for cell in (one, "1", "–"))]]
    for split in _SPLITS:
        line = [split]
        for title, rows in found.items():
            means = [geometric_mean(row[split]) for row in rows]
            ratios = [mean / row["proper"] for mean, row in zip(means, rows, strict=True)]
            ratio, raised = geometric_mean(ratios), Proportion.among(one > 1 for one in ratios)
            line += [f"{geometric_mean(means):.3f}", f"{ratio:.3f}", str(raised)]
            if split == "100 %":
                sentences.append(
                    f"* {title}: with every token split the same continuation is {ratio:.2f} times"
                    f" as surprising in perplexity, higher in {raised.hits} of {raised.of} texts."
                )
        table.append(line)
    if found:
        parts += [format_table(table, "markdown"), "\n".join(sentences)]
    return "\n\n".join(parts)


def _intoxication_units(size: Size) -> list[Unit]:
    count = min(size.questions, len(_passages()))
    return [
        Unit(f"challenge 2/{first}", partial(_measured_intoxication, first))
        for first in range(0, count, _QUESTIONS_PER_UNIT)
    ]


CHALLENGE_2 = Experiment(
    name="challenge-2",
    title="Text after improper tokens",
    source="Tran-Thien 2024, challenge 2",
    units=_intoxication_units,
    section=_intoxication_section,
)
