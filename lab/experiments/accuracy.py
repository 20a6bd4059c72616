"""Accuracy: DOMINO's tables 2 and 4 (word problems), and Koo's table 3 (multiple choice)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lab.experiments.experiment import LIMITS, Column, Experiment, Record, Setting, Size, Unit
from lab.experiments.greedy_answers import Asked, answers, asked
from lab.experiments.proportions import Proportion
from lab.experiments.workloads import TASKS, Question, answer_of, demonstrations, questions
from workbench.base.errors import WorkbenchError
from workbench.base.text_tables import format_table
from workbench.decoding.contenders import UNCONSTRAINED, PreparedContender, all_contenders
from workbench.decoding.measures import Surprisal

_SETS = {"word_problems": "made-up problems", "gsm8k": "GSM8K, test questions"}

_EXACT = "automaton"
#: One method for each different mask; all exact masks and all strategies write the same text.
_TABLE_2 = (UNCONSTRAINED, _EXACT, "template", "template-ws", "proper")
_TABLE_4 = (UNCONSTRAINED, "domino-0", "domino-1", _EXACT)
_METHODS = tuple(dict.fromkeys((*_TABLE_2, *_TABLE_4)))
_TITLES = {
    _EXACT: "exact masks",
    "template": "template (re-implementation)",
    "template-ws": "template-ws (re-implementation)",
}


#: Questions of one batch. Its results are stored together, so that they do not depend on which
#: other questions were answered before an interruption.
_QUESTIONS_PER_UNIT = 20


def _measured(name: str, first: int, last: int, setting: Setting) -> Record:
    """Some questions of a set under every method, decoded greedily in one batch."""
    grammar, size = TASKS["gsm8k"].grammar, setting.size
    ready: dict[str, PreparedContender] = {}
    record: Record = {}
    for method in _METHODS:
        try:
            ready[method] = all_contenders()[method].prepare(setting.model, grammar, LIMITS)
        except WorkbenchError as error:
            record[method] = {"failed": error.message}
    before = demonstrations(name, size.shots)
    runs: list[tuple[str, Question, Asked]] = []
    for question in questions(name, last, size.gsm8k)[first:]:
        prompt = asked(setting.model, before + question.prompt, chat=size.chat)
        runs += [
            (method, question, Asked(setting, prepared, grammar, prompt, size.tokens))
            for method, prepared in ready.items()
        ]
    given = answers(setting, [run for _, _, run in runs])
    for (method, question, _), found in zip(runs, given, strict=True):
        right = answer_of(found.text) == question.answer
        record.setdefault(method, []).append(found.as_record() | {"right": right})
    return record


def _units(size: Size) -> list[Unit]:
    found = []
    for name in _SETS:
        count = len(questions(name, size.questions, size.gsm8k))
        for first in range(0, count, _QUESTIONS_PER_UNIT):
            last = min(first + _QUESTIONS_PER_UNIT, count)
            found.append(Unit(_key(size, name, first, last), partial(_measured, name, first, last)))
    return found


def _key(size: Size, name: str, first: int, last: int) -> str:
    chat = " in a chat" if size.chat else ""
    file = " of a file" if size.gsm8k is not None and name == "gsm8k" else ""
    return f"accuracy/{name}{file}/{size.shots} shots{chat}/{size.tokens} tokens/{first}-{last}"


def _answers(records: Mapping[str, Record], name: str, method: str) -> list[Record] | str:
    """All answers of one method on one set; a message where the method does not apply."""
    units = [
        r[method]
        for key, r in records.items()
        if key.split("/")[1].startswith(name) and method in r
    ]
    failed = next((unit["failed"] for unit in units if "failed" in unit), None)
    return failed or [row for unit in units for row in unit]


def _cells(rows: Sequence[Record], budget: int = 0) -> dict[str, str]:
    """The cells of one method and model, by the column's head."""
    surprisal = Surprisal(sum(r["nats"] for r in rows), sum(r["judged"] for r in rows))
    return {
        "accuracy": str(_share(rows, "right")),
        "well-formed": str(_share(rows, "valid")),
        "cut": str(sum(row["cut"] for row in rows)),
        "ran on": str(sum(row["valid"] and row["tokens"] >= budget for row in rows)),
        "perplexity": f"{surprisal.perplexity:.3f}",
        "tokens": f"{sum(row['tokens'] for row in rows) / len(rows):.0f}",
        "interventions": f"{sum(row['interventions'] for row in rows) / len(rows):.2f}",
    }


def _share(rows: Sequence[Record], key: str) -> Proportion:
    return Proportion.among(row[key] for row in rows)


def _part(columns: Sequence[Column], name: str, methods: Sequence[str]) -> list[str]:
    """The table of one set, with a row of every method and model; none without answers."""
    found: dict[str, dict[str, Any]] = {
        c.title: {m: _answers(c.records, name, m) for m in methods} for c in columns
    }
    asked_of = {
        title: len(rows[UNCONSTRAINED]) for title, rows in found.items() if rows[UNCONSTRAINED]
    }
    if not asked_of:
        return []
    budgets = {c.title: c.size.tokens for c in columns}
    heads = list(_cells([dict.fromkeys(_FIELDS, 0)]))
    rows, failed = [["method", "model", *heads]], []
    for method in methods:
        for title in asked_of:
            answers = found[title][method]
            if isinstance(answers, str):
                failed.append(f"{method}, {title}: {answers}.")
                answers = []
            cells = (
                list(_cells(answers, budgets[title]).values()) if answers else ["–"] * len(heads)
            )
            rows.append([_TITLES.get(method, method), title, *cells])
    sizes = "; ".join(
        f"{title}: {count} questions, {_conditions(column.size)}"
        for column in columns
        if (title := column.title) in asked_of and (count := asked_of[title])
    )
    return [f"**{_SETS[name]}** ({sizes})", format_table(rows, "markdown"), *failed]


_FIELDS = ("right", "valid", "cut", "nats", "judged", "tokens", "interventions")


def _conditions(size: Size) -> str:
    chat = ", as a message of a chat" if size.chat else ""
    return f"{size.shots} worked problems before each{chat}, at most {size.tokens} tokens"


_NOTE = """Greedy answers; intervals are Wilson's of 95 %. *Cut* counts answers that reached the
budget of tokens before they were complete; they are neither well-formed nor right. *Ran on* counts
complete answers after which white space was written up to the budget. The model alone is read up
to the end of its first complete object. `automaton`, `domino` with unlimited lookahead,
`llama-cpp` (a re-implementation) and every strategy allow the same tokens, so they share one
row. Perplexity is of the tokens written, under the model without a mask. CoNLL-2003 is left out:
its text may not be given away."""

_PAPER_2 = """DOMINO, Mistral 7B on 400 questions of GSM8K with 5 demonstrations (accuracy,
well-formed, perplexity): unconstrained 0.415, 0.952, 1.636; GUIDANCE 0.345, 0.960, 1.624; GUIDANCE
WS 0.403, 0.976, 1.737; llama.cpp 0.375, 0.973, 1.751; DOMINO 0.418, 0.968, 1.739."""

_PAPER_4 = """DOMINO, Mistral 7B on GSM8K (accuracy): unconstrained 0.415, k=0 0.308, k=1 0.1, k=∞
0.418."""


def _section(
    paper: str, pairs: Sequence[tuple[str, str]], columns: Sequence[Column], methods: Sequence[str]
) -> str:
    parts = [paper, *(part for name in _SETS for part in _part(columns, name, methods))]
    return "\n\n".join([*parts, *_verdicts(columns, pairs)])


def _verdicts(columns: Sequence[Column], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """For each set and model: which accuracies differ, by disjoint intervals."""
    found = []
    for column in columns:
        for name, title in _SETS.items():
            sentences = []
            for method, base in pairs:
                rows, other = (_answers(column.records, name, m) for m in (method, base))
                if isinstance(rows, str) or isinstance(other, str) or not rows or not other:
                    continue
                here, there = _share(rows, "right"), _share(other, "right")
                sentences.append(
                    f"{_TITLES.get(method, method)} ({here.value:.3f})"
                    f" {here.compared(there)} {_TITLES.get(base, base)} ({there.value:.3f})"
                )
            if sentences:
                found.append(f"* {column.title}, {title}, accuracy: {'; '.join(sentences)}.")
    return ["\n".join(found)] if found else []


TABLE_2 = Experiment(
    name="domino-2",
    title="Accuracy under constraints",
    source="DOMINO, table 2",
    units=_units,
    section=lambda columns: _section(
        f"{_NOTE}\n\n{_PAPER_2}",
        [(_EXACT, UNCONSTRAINED), ("template", UNCONSTRAINED), ("proper", UNCONSTRAINED)],
        columns,
        _TABLE_2,
    ),
)
TABLE_4 = Experiment(
    name="domino-4",
    title="Accuracy and lookahead",
    source="DOMINO, table 4",
    units=_units,
    section=lambda columns: _section(
        _PAPER_4,
        [("domino-0", UNCONSTRAINED), ("domino-1", "domino-0"), (_EXACT, UNCONSTRAINED)],
        columns,
        _TABLE_4,
    ),
)
