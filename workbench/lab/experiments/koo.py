"""Koo's table 2 (compilation and steps) and appendix A (ranking inversion)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.tables import format_table
from workbench.constraint.compile import compile as compile_grammar
from workbench.constraint.protocol import Constraint
from workbench.decoding.candidates import milliseconds_since
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
from workbench.lab.bench.cases import CASES, Case
from workbench.lab.experiments.experiment import Experiment, Record, Setting, Unit
from workbench.lab.experiments.throughput import least_ms
from workbench.vocabulary.toy import toy
from workbench.vocabulary.vocabulary import Vocabulary

#: The paper's five constraints, by the benchmark's names, with its two speed-ups.
_PAPER = {
    "choice": ("multiple choice", "7,970×", "29.5×"),
    "datetime": ("ISO date-time", "7,110×", "24.3×"),
    "ip": ("IP address", "6,850×", "26.1×"),
    "quoted": ("quoted text", "13,400×", "6.5×"),
    "json_schema_re": ("JSON object", "7,240×", "33.6×"),
}
#: The last is Willard & Louf's index, whose times are divided by the others'.
_COMPILED_METHODS = ("automaton", "composed", "domino", "outlines")
_INDEX = "outlines"
#: Steps timed together.
_STEPS = 200
#: Above the page's limits, for the index over a JSON object.
_LIMITS = Limits(seconds=120.0, megabytes=1_024)


def _measured_compiling(case: Case, setting: Setting) -> Record:
    """Microseconds from regex to first mask, and of the next step; the least of several times."""
    assert case.regex is not None, "the paper's constraints are regexes"
    vocabulary, record = setting.model.vocabulary, Record()
    for method in _COMPILED_METHODS:
        make = partial(_first_mask, case.regex, method, vocabulary)
        try:
            compiled = least_ms(setting, make) * 1e3
            constraint = compile_grammar(
                Grammar.from_regex(case.regex, limits=_LIMITS), vocabulary, method, _LIMITS
            )
        except WorkbenchError as error:
            record[method] = {"failed": error.message}
            continue
        record[method] = {"compile_us": compiled, "step_us": _step_us(constraint)}
    return record


def _first_mask(pattern: str, method: str, vocabulary: Vocabulary) -> None:
    grammar = Grammar.from_regex(pattern, limits=_LIMITS)
    constraint = compile_grammar(grammar, vocabulary, method, _LIMITS)
    constraint.mask(constraint.initial)


def _step_us(constraint: Constraint) -> float:
    """Appendix C.3: the valid tokens of the initial state as a vector, and one step."""
    first = next(iter(constraint.mask(constraint.initial)))

    def steps_ms() -> float:
        started = time.perf_counter()
        for _ in range(_STEPS):
            constraint.mask(constraint.initial).bits  # noqa: B018  # computed when accessed
            constraint.advance(constraint.initial, first)
        return milliseconds_since(started)

    return min(steps_ms() for _ in range(5)) * 1e3 / _STEPS


_COMPILING_INTRODUCTION = """\
Times of Willard & Louf's index (our implementation of it, in Python like theirs)
and their ratios: regex to first mask, and one step as in appendix C.3. The paper compares a
C++ library with Outlines on Gemma's 256,000 tokens; this vocabulary has 6,000, and the index makes
a pass over it for every state, so the paper's ratios of compilation are not to be expected."""


def _compiling_section(records: Mapping[str, Record]) -> str:
    ours = [method for method in _COMPILED_METHODS if method != _INDEX]
    head = ["first mask", "index, ms", *(f"{m}, ms" for m in ours), *(f"{m}" for m in ours), "Koo"]
    step_head = ["one step", "index, µs", "automaton, µs", "automaton", "Koo"]
    rows, steps, ratios = [], [], list[float]()
    for name, (title, compiled, stepped) in _PAPER.items():
        record = records.get(_key(name))
        if record is None:
            continue
        index = record[_INDEX]
        cells = [_ms(index), *(_ms(record[m]) for m in ours)]
        cells += [_ratio(index, record[m], "compile_us") for m in ours]
        rows.append([title, *cells, compiled])
        ratio = _ratio(index, record["automaton"], "step_us")
        steps.append([title, _us(index), _us(record["automaton"]), ratio, stepped])
        if "failed" not in index:
            ratios.append(index["compile_us"] / record["automaton"]["compile_us"])
    verdict = (
        f"In the paper's direction: masks on demand are there {min(ratios):,.0f} to"
        f" {max(ratios):,.0f} times sooner than the index."
        if ratios and min(ratios) > 1
        else ""
    )
    return "\n\n".join(
        [
            _COMPILING_INTRODUCTION,
            format_table([head, *rows], "markdown"),
            format_table([step_head, *steps], "markdown"),
            verdict,
        ]
    )


def _ms(record: Record) -> str:
    return "–" if "failed" in record else f"{record['compile_us'] / 1e3:,.2f}"


def _us(record: Record) -> str:
    return "–" if "failed" in record else f"{record['step_us']:.2f}"


def _ratio(index: Record, record: Record, field: str) -> str:
    if "failed" in index or "failed" in record:
        return "–"
    return f"{index[field] / record[field]:,.1f}×"


def _key(name: str) -> str:
    return f"koo 2/{name}"


KOO_2 = Experiment(
    name="koo-2",
    title="What compiling costs",
    source="Koo, Liu & He 2024, table 2",
    units=lambda _: [
        Unit(_key(name), partial(_measured_compiling, CASES[name])) for name in _PAPER
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


def _ranking_section(records: Mapping[str, Record]) -> str:
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
)
