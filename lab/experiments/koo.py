"""Koo's table 2 (compilation and steps) and appendix A (ranking inversion)."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lab.bench.cases import CASES
from lab.bench.peers import outlines_0_0_34
from lab.experiments.experiment import (
    LIMITS,
    Column,
    Experiment,
    Record,
    Setting,
    Size,
    Unit,
    title_of,
)
from lab.experiments.proportions import Spread
from lab.experiments.throughput import times_ms
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import figure, format_table
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint
from workbench.decoding.contenders import Contender, all_contenders
from workbench.decoding.exact_distribution import (
    ScoredModel,
    TokenTree,
    forbidden_at,
    masked_distribution,
    model_distribution,
    token_tree,
)
from workbench.grammar.grammar import Grammar
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import Vocabulary

#: The paper's five constraints, by the benchmark's names, with its two speed-ups.
_PAPER = {
    "choice": ("multiple choice", "7,970×", "29.5×"),
    "datetime": ("ISO date-time", "7,110×", "24.3×"),
    "ip": ("IP address", "6,850×", "26.1×"),
    "quoted": ("quoted text", "13,400×", "6.5×"),
    "json_schema_re": ("JSON object", "7,240×", "33.6×"),
}
#: For our engine the paper uses its own named group where it has one.
_OUR_REGEX = {"quoted": "(?P<QUOTED_TEXT>)"}
#: The last is Willard & Louf's index as this project has written it again.
_COMPILED_METHODS = ("automaton", "composed", "domino", "outlines")
_INDEX = "outlines"
_OUTLINES = "Outlines 0.0.34"
#: Appendix C.2: a regex that is compiled first, and the one whose time is subtracted.
_WARM_UP, _BASELINE = "[a-c]+z", "x"
#: Steps timed together.
_STEPS = 200
#: Seconds for all regexes in Outlines.
_PATIENCE = 3_600


def _vocabulary(name: str, setting: Setting) -> Vocabulary:
    """A vocabulary by name; the model's own for no name."""
    return Vocabulary.load(name) if name else setting.model.vocabulary


def _measured_compiling(name: str, setting: Setting) -> Record:
    """Milliseconds from regex to first mask, and microseconds of a step, of every method."""
    vocabulary = _vocabulary(name, setting)
    record: Record = {"vocabulary": title_of(vocabulary.name), "tokens": len(vocabulary)}
    for method in _COMPILED_METHODS:
        _first_mask(_WARM_UP, method, vocabulary)
        baseline = times_ms(setting, partial(_first_mask, _BASELINE, method, vocabulary))
        record[method] = {"baseline": {"compile_ms": baseline}}
        for case in _PAPER:
            record[method][case] = _timed(setting, method, case, vocabulary)
    if setting.size.outlines is not None:
        record[_OUTLINES] = outlines_times(setting.size, vocabulary)
    return record


def _timed(setting: Setting, method: str, case: str, vocabulary: Vocabulary) -> Record:
    """One method on one regex."""
    pattern = _pattern(case, ours=method != _INDEX)
    try:
        compiled = times_ms(setting, partial(_first_mask, pattern, method, vocabulary))
        grammar = Grammar.from_regex(pattern, limits=LIMITS)
        constraint = compile_grammar(grammar, vocabulary, method, LIMITS)
    except WorkbenchError as error:
        return {"failed": error.message}
    return {"compile_ms": compiled, "step_us": _steps_us(setting, constraint)}


def _pattern(case: str, *, ours: bool) -> str:
    own = _OUR_REGEX.get(case) if ours else None
    regex = own or CASES[case].regex
    assert regex is not None, "the paper's constraints are regexes"
    return regex


def _first_mask(pattern: str, method: str, vocabulary: Vocabulary) -> None:
    grammar = Grammar.from_regex(pattern, limits=LIMITS)
    constraint = compile_grammar(grammar, vocabulary, method, LIMITS)
    constraint.mask(constraint.initial)


def _steps_us(setting: Setting, constraint: Constraint) -> list[float]:
    """Appendix C.3: the valid tokens of the initial state as a vector, and one step."""
    first = next(iter(constraint.mask(constraint.initial)))

    def steps_ms() -> float:
        started = time.process_time()
        for _ in range(_STEPS):
            constraint.mask(constraint.initial).bits  # noqa: B018  # computed when accessed
            constraint.advance(constraint.initial, first)
        return 1e3 * (time.process_time() - started)

    return [steps_ms() * 1e3 / _STEPS for _ in range(setting.size.timings)]


def outlines_times(size: Size, vocabulary: Vocabulary) -> Record:
    """Outlines 0.0.34 on the paper's regexes, in its own environment; see its script.

    Raises: WorkbenchError if it cannot be run there.
    """
    texts = [
        None if token is None else token.decode("utf-8", "replace") for token in vocabulary.tokens
    ]
    request = {
        "tokens": texts,
        "end": vocabulary.end,
        "warm_up": _WARM_UP,
        "baseline": _BASELINE,
        "regexes": {case: _pattern(case, ours=False) for case in _PAPER},
        "runs": size.timings,
        "steps": size.timings * _STEPS,
    }
    script = Path(outlines_0_0_34.__file__)
    command = [str(size.outlines), "-W", "ignore", str(script)]
    try:
        done = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=_PATIENCE
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise WorkbenchError(
            f"{_OUTLINES} cannot be run with {size.outlines}: {error}",
            "name the Python of an environment with outlines==0.0.34",
        ) from error
    return {
        name: {
            "compile_ms": [s * 1e3 for s in one["compile"]],
            "step_us": [s * 1e6 for s in one["step"]],
        }
        for name, one in found.items()
    }


_COMPILING_INTRODUCTION = f"""\
The protocol of appendix C: a first regex is compiled before (C.2), the time of `/{_BASELINE}/` is
subtracted, and the mean of the runs is reported with its standard deviation; no cache of compiled
regexes is used. Times are processor time; there is no ratio to a time that is not above the
baseline. A compilation is from the regex to the first mask. A step is the initial mask as a vector
and one token (C.3). *Index* is Willard & Louf's algorithm, a re-implementation in Python; Outlines
0.0.34 itself has a column where its environment was named. Quoted text is `(?P<QUOTED_TEXT>)` for
ours and Outlines' own regex for the others, as in the paper. The paper's vocabulary has 256,000
tokens; its figures are ratios to Outlines 0.0.34."""


def _compiling_section(columns: Sequence[Column]) -> str:
    parts = [_COMPILING_INTRODUCTION]
    seen = set()
    for column in columns:
        for record in column.records.values():
            if record["vocabulary"] in seen:
                continue
            seen.add(record["vocabulary"])
            parts.append(
                f"**{record['vocabulary']}**, {record['tokens']:,} tokens,"
                f" {column.size.timings} runs"
            )
            parts += _compiling_tables(record)
    return "\n\n".join(parts)


def _compiling_tables(record: Record) -> list[str]:
    """Compilations, steps and the sentence of one vocabulary."""
    others = [name for name in (_INDEX, _OUTLINES) if name in record]
    titles = {_INDEX: "index", _OUTLINES: _OUTLINES}
    ours = [m for m in _COMPILED_METHODS if m != _INDEX]
    columns = [*others, *ours]
    head = [titles.get(m, m) for m in columns]
    base = others[-1]
    first = [["first mask, ms", *head, f"automaton to {titles[base]}", "Koo"]]
    steps = [["one step, µs", *head, f"automaton to {titles[base]}", "Koo"]]
    ratios = []
    for case, (title, compiled, stepped) in _PAPER.items():
        times = {m: _above_baseline(record[m], case) for m in columns}
        per_step = {m: _spread(record[m].get(case, {}).get("step_us")) for m in columns}
        ratio = _ratio(times[base], times["automaton"])
        first.append([title, *(_cell(times[m]) for m in columns), ratio, compiled])
        ratio_of_step = _ratio(per_step[base], per_step["automaton"])
        steps.append([title, *(_cell(per_step[m]) for m in columns), ratio_of_step, stepped])
        if (one := times[base]) and (own := times["automaton"]) and min(one.mean, own.mean) > 0:
            ratios.append(one.mean / own.mean)
    article = "the " if base == _INDEX else ""
    sentence = (
        f"{record['vocabulary']}: masks on demand are there {min(ratios):,.0f} to"
        f" {max(ratios):,.0f} times sooner than with {article}{titles[base]}."
        if ratios
        else ""
    )
    return [format_table(first, "markdown"), format_table(steps, "markdown"), sentence]


def _spread(times: Sequence[float] | None) -> Spread | None:
    return Spread.of(times) if times else None


def _above_baseline(method: Record, case: str) -> Spread | None:
    """The compilation without the fixed part, which the trivial regex has too."""
    found, baseline = (_spread(method.get(n, {}).get("compile_ms")) for n in (case, "baseline"))
    if found is None or baseline is None:
        return None
    return replace(found, mean=found.mean - baseline.mean)


def _cell(spread: Spread | None) -> str:
    return "–" if spread is None else f"{figure(spread.mean)} ± {figure(spread.deviation)}"


def _ratio(other: Spread | None, own: Spread | None) -> str:
    if other is None or own is None or min(other.mean, own.mean) <= 0:
        return "–"
    return f"{other.mean / own.mean:,.1f}×"


def _key(size: Size, name: str) -> str:
    outlines = ", with Outlines" if size.outlines else ""
    return f"koo 2/{name or 'own vocabulary'}/{size.timings}{outlines}"


KOO_2 = Experiment(
    name="koo-2",
    title="What compiling costs",
    source="Koo, Liu & He 2024, table 2 and appendix C",
    units=lambda size: [
        Unit(_key(size, name), partial(_measured_compiling, name))
        for name in (size.vocabularies or ("",))
    ],
    section=_compiling_section,
)


#: The tokenizations of the appendix with their scores.
_SCORED = {
    ("fo", "o(1", "2", "3)"): 0.4,
    ("bar", "(", "456", ")"): 0.3,
    ("foo", "(", "123", ")"): 0.2,
    ("ba", "r(4", "5", "6)"): 0.1,
}
_GRAMMAR = """start    ::= Function '(' Number ')';
Function ::= 'foo' | 'bar';
Number   ::= '123' | '456';
"""
_RANKED_METHODS = ("automaton", "domino", "domino-0", "domino-1", "lalr", "outlines", "proper")


def _model() -> ScoredModel:
    pieces = [piece for pieces in _SCORED for piece in pieces]
    # the single bytes have probability 0; DOMINO's trees with a finite lookahead need them
    words = list(dict.fromkeys([*pieces, *"".join(pieces)]))
    vocabulary = toy(words, name="Koo, appendix A")
    ids = {pieces: tuple(map(words.index, pieces)) for pieces in _SCORED}
    return ScoredModel(vocabulary, {ids[pieces]: score for pieces, score in _SCORED.items()})


def _measured_ranking(_: Setting) -> Record:
    model, grammar = _model(), Grammar.from_kbnf(_GRAMMAR)
    tree = token_tree(model, "", compile_grammar(grammar, model.vocabulary))
    alone = model_distribution(tree, ended=False).probability
    record: Record = {"alone": {text.decode(): p for text, p in alone.items()}}
    for name in _RANKED_METHODS:
        record[name] = _of(all_contenders()[name], model, grammar, tree)
    return record


def _of(contender: Contender, model: ScoredModel, grammar: Grammar, tree: TokenTree) -> Record:
    """The tokenizations a method allows, its best text, and the probability of each text."""
    try:
        constraint = contender.prepare(model, grammar).constraint
        drawn = masked_distribution(tree, constraint).probability
    except WorkbenchError as error:
        return {"failed": error.message}
    allowed = {
        ids: score for ids, score in model.scores.items() if forbidden_at(constraint, ids) is None
    }
    best = max(allowed, key=allowed.__getitem__)
    return {
        "allowed": [_tokenization(model, ids) for ids in allowed],
        "best": model.vocabulary.decode(best).decode(),
        "score": allowed[best],
        "drawn": {text.decode(): p for text, p in drawn.items()},
    }


def _tokenization(model: ScoredModel, ids: tuple[int, ...]) -> str:
    return " ".join((model.vocabulary.tokens[i] or b"").decode() for i in ids)


_RANKING_INTRODUCTION = """\
The appendix gives four tokenizations of two calls their scores; here a model
writes exactly these. *Best* is the highest-scoring tokenization a method allows."""


def _ranking_section(columns: Sequence[Column]) -> str:
    records = {k: r for c in columns for k, r in c.records.items()}
    record = records.get(_KEY)
    if record is None:
        return _RANKING_INTRODUCTION
    head = ["method", "tokenizations allowed", "best", "score", "P(foo(123)) when sampling"]
    rows, failed = [], []
    for name in _RANKED_METHODS:
        found = record[name]
        if "failed" in found:
            failed.append(f"{name}: {found['failed']}.")
            continue
        share = found["drawn"]["foo(123)"]
        allowed = "; ".join(f"`{tokens}`" for tokens in found["allowed"])
        rows.append([name, allowed, f"`{found['best']}`", f"{found['score']}", f"{share:.2f}"])
    inverted = [row[0] for row in rows if row[2] == "`bar(456)`"]
    verdict = (
        f"As the appendix says, the ranking is inverted by {', '.join(inverted)}: tokens that"
        " cross terminals, like `o(1`, are forbidden there."
        if inverted
        else "No method here inverts the ranking."
    )
    return "\n\n".join(
        [_RANKING_INTRODUCTION, format_table([head, *rows], "markdown"), verdict, *failed]
    )


_KEY = "koo A/ranking"

RANKING = Experiment(
    name="koo-a",
    title="The ranking inversion",
    source="Koo, Liu & He 2024, appendix A",
    units=lambda _: (Unit(_KEY, _measured_ranking),),
    section=_ranking_section,
    subject="the appendix's scores",
)
