"""DOMINO's tables 2 and 4: accuracy of each method on word problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

from workbench.base.errors import WorkbenchError
from workbench.base.tables import format_table
from workbench.decoding.compare import Run
from workbench.decoding.contenders import UNCONSTRAINED, PreparedContender, all_contenders
from workbench.decoding.measures import Measures, Surprisal
from workbench.decoding.sampling import Sampling
from workbench.lab.experiments.experiment import Experiment, Record, Setting, Size, Unit, finished
from workbench.lab.experiments.tasks import TASKS, Question, answer_of, questions
from workbench.lab.experiments.throughput import faster

#: Twice the length of a worked problem; the model's context is 512.
_MAX_TOKENS = 256
#: Questions of one unit of work.
_QUESTIONS_PER_UNIT = 10
#: The first of the questions used for learning counts, which are not measured.
_FIRST_WARM_UP = 150
_SETS = {"gsm8k": "GSM8K, test questions", "word_problems": "made-up problems"}

_TABLE_2 = (
    UNCONSTRAINED,
    "template",
    "template-ws",
    "llama-cpp",
    "automaton",
    "domino",
    "domino-speculation",
    "speculation",
    "proper",
)
_TABLE_4 = (UNCONSTRAINED, "domino-0", "domino-1", "domino")
_METHODS = tuple(dict.fromkeys((*_TABLE_2, *_TABLE_4)))


def _measured(name: str, first: int, setting: Setting) -> Record:
    """Ten questions of a set under every method, decoded greedily.

    All methods answer one question before the next one, so that their speeds can be paired.
    """
    grammar = TASKS["gsm8k"].grammar
    warm_up = [
        question.prompt
        for question in questions(name, _FIRST_WARM_UP + _QUESTIONS_PER_UNIT)[_FIRST_WARM_UP:]
    ]
    ready: dict[str, PreparedContender] = {}
    record: Record = {}
    for method in _METHODS:
        try:
            prepared = all_contenders()[method].prepare(setting.model, grammar)
            ready[method] = prepared.taught(warm_up, Sampling(), _MAX_TOKENS, setting.stop)
        except WorkbenchError as error:
            record[method] = {"failed": error.message}
    found: dict[str, list[Measures]] = {method: [] for method in ready}
    asked = questions(name, first + _QUESTIONS_PER_UNIT)[first:]
    for question in asked:
        for method, prepared in ready.items():
            run = Run(prepared.contender, question.prompt, 0)
            measures = finished(setting, run, prepared, grammar, Sampling(), _MAX_TOKENS)
            found[method].append(measures)
    alone = found[UNCONSTRAINED]
    return record | {method: _record(asked, found[method], alone) for method in found}


def _record(asked: Sequence[Question], found: list[Measures], alone: list[Measures]) -> Record:
    """Sums over the questions, so that units can be added."""
    surprisal = sum((m.free + m.forced for m in found), Surprisal())
    pairs = zip(found, alone, strict=True)
    return {
        "questions": len(found),
        "right": sum(answer_of(m.text) == q.answer for m, q in zip(found, asked, strict=True)),
        "valid": sum(m.valid for m in found),
        "nats": surprisal.nats,
        "judged": surprisal.tokens,
        "tokens": sum(m.tokens for m in found),
        "interventions": sum(m.interventions for m in found),
        "ratios": [faster(m, base) for m, base in pairs],
    }


def _units(size: Size) -> list[Unit]:
    return [
        Unit(_key(name, first), partial(_measured, name, first))
        for name in _SETS
        for first in range(0, size.questions, _QUESTIONS_PER_UNIT)
    ]


def _key(name: str, first: int) -> str:
    return f"accuracy/{name}/{first}"


def _pooled(records: Mapping[str, Record], name: str, method: str) -> Record | None:
    """All units of one method on one set; None where it has none."""
    units = [
        r[method]
        for key, r in records.items()
        if key.startswith(f"accuracy/{name}/") and method in r
    ]
    counted = [unit for unit in units if "failed" not in unit]
    if not counted:
        return units[0] if units else None
    count = sum(unit["questions"] for unit in counted)
    surprisal = Surprisal(sum(u["nats"] for u in counted), sum(u["judged"] for u in counted))
    return {
        "questions": count,
        "accuracy": sum(unit["right"] for unit in counted) / count,
        "well_formed": sum(unit["valid"] for unit in counted) / count,
        "perplexity": surprisal.perplexity,
        "relative": median(ratio for unit in counted for ratio in unit["ratios"]),
        "tokens": sum(unit["tokens"] for unit in counted) / count,
        "interventions": sum(unit["interventions"] for unit in counted) / count,
    }


_HEAD = (
    "method",
    "accuracy",
    "well-formed",
    "perplexity",
    "speed",
    "tokens",
    "interventions",
)


def _part(records: Mapping[str, Record], name: str, methods: Sequence[str]) -> str:
    rows, failed = [], []
    count = 0
    for method in methods:
        found = _pooled(records, name, method)
        if found is None:
            continue
        if "failed" in found:
            failed.append(f"{method}: {found['failed']}.")
            continue
        count = found["questions"]
        rows.append(
            [
                method,
                f"{found['accuracy']:.3f}",
                f"{found['well_formed']:.3f}",
                f"{found['perplexity']:.3f}",
                f"{found['relative']:.2f}×",
                f"{found['tokens']:.1f}",
                f"{found['interventions']:.2f}",
            ]
        )
    return "\n\n".join(
        [f"**{_SETS[name]}**, {count} questions", format_table([_HEAD, *rows], "markdown"), *failed]
    )


_PAPER_2 = """DOMINO, Mistral 7B on GSM8K (accuracy, well-formed, perplexity, speed): unconstrained
0.415, 0.952, 1.636, 1.0×; GUIDANCE 0.345, 0.960, 1.624, 0.98×; GUIDANCE WS 0.403, 0.976, 1.737,
0.54×; llama.cpp 0.375, 0.973, 1.751, 0.80×; DOMINO 0.418, 0.968, 1.739, 1.77×. There with five
demonstrations; here with none, since five do not fit into a context of 512 tokens and the model
was trained on this form. CoNLL-2003 is left out: its text may not be given away."""

_PAPER_4 = """DOMINO, Mistral 7B on GSM8K: unconstrained 0.415, k=0 0.308, k=1 0.1, k=∞ 0.418."""


def _section_2(records: Mapping[str, Record]) -> str:
    parts = [_PAPER_2, *(_part(records, name, _TABLE_2) for name in _SETS)]
    return "\n\n".join([*parts, _verdict_2(records)])


def _section_4(records: Mapping[str, Record]) -> str:
    parts = [_PAPER_4, *(_part(records, name, _TABLE_4) for name in _SETS)]
    return "\n\n".join([*parts, _verdict_4(records)])


def _accuracy(records: Mapping[str, Record], name: str, method: str) -> float | None:
    found = _pooled(records, name, method)
    return None if found is None or "failed" in found else float(found["accuracy"])


def _verdict_2(records: Mapping[str, Record]) -> str:
    alone, domino = (
        _accuracy(records, "word_problems", method) for method in (UNCONSTRAINED, "domino")
    )
    template = _accuracy(records, "word_problems", "template")
    hard = _accuracy(records, "gsm8k", UNCONSTRAINED)
    if alone is None or domino is None:
        return ""
    sentences = []
    if hard is not None and hard < _GUESSING_ACCURACY:
        sentences.append(
            "GSM8K itself is beyond a model of 6 million parameters: its accuracies there tell"
            " nothing, its perplexities and well-formedness do."
        )
    agrees = "agrees" if domino >= alone else "does not agree"
    sentences.append(
        f"On problems the model can do, minimally invasive masks cost no accuracy ({alone:.3f}"
        f" alone, {domino:.3f} with DOMINO): {agrees} with the paper."
    )
    if template is not None:
        agrees = "agrees" if template < alone else "does not agree"
        sentences.append(
            f"The fixed template has {template:.3f}; the paper has it below the model alone:"
            f" {agrees}."
        )
    return " ".join(sentences)


#: Accuracies below this are those of guessing.
_GUESSING_ACCURACY = 0.05


def _verdict_4(records: Mapping[str, Record]) -> str:
    found = {m: _accuracy(records, "word_problems", m) for m in _TABLE_4}
    low = [a for m in ("domino-0", "domino-1") if (a := found[m]) is not None]
    best, alone = found["domino"], found[UNCONSTRAINED]
    if not low or best is None or alone is None:
        return ""
    agrees = "Agrees" if max(low) < best else "Does not agree"
    return (
        f"{agrees} with the paper: without bridge tokens accuracy falls to {min(low):.3f} to"
        f" {max(low):.3f}, and k=∞ has {best:.3f} where the model alone has {alone:.3f}."
    )


TABLE_2 = Experiment(
    name="domino-2",
    title="Accuracy under constraints",
    source="DOMINO, table 2",
    units=_units,
    section=_section_2,
)
TABLE_4 = Experiment(
    name="domino-4",
    title="Accuracy and lookahead",
    source="DOMINO, table 4",
    units=_units,
    section=_section_4,
)
