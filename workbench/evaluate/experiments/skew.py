"""Tran-Thien's challenge 1: how masks token by token skew a finite language, computed exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from workbench.evaluate.contenders import CONTENDERS
from workbench.evaluate.exact import exact
from workbench.evaluate.experiment import Experiment, Record, Setting, Unit
from workbench.grammar import Grammar
from workbench.training.card import table


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    pattern: str
    prompt: str
    #: Whether the end token counts: Tran-Thien's own figures leave it out.
    ended: bool = True


_PRESIDENT = (
    "Question: What is the first name of the US president who was a member of the Sigma Alpha"
    " Epsilon fraternity?\nAnswer:"
)
_CASES = (
    _Case("president", "( William)|( Theodore)", _PRESIDENT, ended=False),
    _Case("president, space in the prompt", "William|Theodore", f"{_PRESIDENT} ", ended=False),
    _Case("boolean", "boolean: ((true)|(false))", "A setting of the program:\n"),
    _Case("colour", "Red|Orange|Yellow|Green|Blue|Indigo|Violet", "The colour of the sky is "),
    _Case("name", '\\{"name": "(Jane|John|Johanna)', "A JSON file of a person John Smith:\n"),
    _Case("armour", '"(leather|chainmail|plate)"', 'A character profile:\n```json\n{"armor": '),
)
#: Methods whose masks differ; the others share a mask with one of these.
_METHODS = ("automaton", "domino-0", "domino-1", "domino", "lalr", "proper")


def _measured(case: _Case, setting: Setting) -> Record:
    contenders = [CONTENDERS[name] for name in _METHODS if name in CONTENDERS]
    grammar = Grammar.from_regex(case.pattern)
    found = exact(setting.model, case.prompt, grammar, contenders, ended=case.ended)
    return found.as_record()


_ARTICLE = """Tran-Thien, with Mistral 7B, for the first of these: P(" William") is 0.85879 in the
model's own conditional, 0.52852 under masks token by token (every spelling allowed), 0.85872 over
proper spellings alone; 99.9997 % and 99.8586 % of the two answers' own mass is proper.
"""


def _section(records: Mapping[str, Record]) -> str:
    parts = [_ARTICLE]
    for case in _CASES:
        record = records.get(_key(case))
        if record is not None:
            parts.append(_case_section(case, record))
    skews, proper = _compared(records)
    if skews:
        parts.append(
            f"Masks over all spellings move up to {max(skews):.3f} of the mass (total variation;"
            f" median {_median(skews):.3f}), so the article's first challenge is real here too."
        )
    if proper:
        nearer = sum(p <= a for p, a in proper)
        parts.append(
            f"Proper masks are nearer to the model's own conditional in {nearer} of"
            f" {len(proper)} languages. Where they are not, this model itself spells the text"
            " improperly (the column of shares): it learnt prompts that end in a space, and the"
            " article's argument rests on a model that writes what its tokenizer writes."
        )
    return "\n\n".join(parts)


def _case_section(case: _Case, record: Record) -> str:
    texts = record["texts"]
    names = [name for name in texts[0] if name not in ("text", "proper_share")]
    head = ["text", *(name.replace("own_proper", "own, proper") for name in names), "proper share"]
    rows = [
        [
            f"`{row['text']}`",
            *(f"{row[name]:.4f}" for name in names),
            "–" if row["proper_share"] is None else f"{row['proper_share']:.2%}",
        ]
        for row in texts
    ]
    distances = record["distances"]
    far = ["total variation", "0", *(_far(distances, name) for name in names[1:]), ""]
    failed = "".join(f"\n\n{name}: {why}." for name, why in record["failed"].items())
    counted = f"{record['spellings']:,} spellings, {record['passes']:,} passes of the model"
    return f"**{case.name}** `{case.pattern}` ({counted})\n\n{table(head, [*rows, far])}{failed}"


def _far(distances: Record, name: str) -> str:
    return f"{distances[name]['total_variation']:.4f}" if name in distances else "–"


def _compared(records: Mapping[str, Record]) -> tuple[list[float], list[tuple[float, float]]]:
    """The skew of the exact masks, and beside it that of the proper ones where there are any."""
    skews, proper = [], []
    for case in _CASES:
        distances = records.get(_key(case), {}).get("distances", {})
        if "automaton" in distances:
            skews.append(distances["automaton"]["total_variation"])
            if "proper" in distances:
                proper.append((distances["proper"]["total_variation"], skews[-1]))
    return skews, proper


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _key(case: _Case) -> str:
    return f"challenge 1/{case.name}"


CHALLENGE_1 = Experiment(
    name="challenge-1",
    title="Skewed distributions of finite languages",
    source="Tran-Thien 2024, challenge 1",
    units=lambda _: tuple(Unit(_key(case), partial(_measured, case)) for case in _CASES),
    section=_section,
)
