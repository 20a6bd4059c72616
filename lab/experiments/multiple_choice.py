"""Koo's table 3: how many answers to multiple-choice questions keep to a schema.

The paper's questions (GPQA) may not be given away; ``questions.jsonl`` has questions on general
knowledge that were written for this project.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from lab.experiments.experiment import LIMITS, Column, Experiment, Record, Setting, Size, Unit
from lab.experiments.greedy_answers import Asked, answers, asked
from lab.experiments.proportions import Proportion
from workbench.base.text_tables import format_table
from workbench.decoding.contenders import UNCONSTRAINED, all_contenders
from workbench.grammar.grammar import Grammar

_FILE = Path(__file__).parent / "questions.jsonl"
_LETTERS = "ABCD"
#: Questions of one batch, whose results are stored together.
_CHOICE_QUESTIONS_PER_UNIT = 40

#: The schema that the prompt describes.
SCHEMA = {
    "type": "object",
    "properties": {
        "Final Answer": {"enum": list(_LETTERS)},
        "Solution": {"type": "string"},
    },
    "required": ["Final Answer", "Solution"],
    "additionalProperties": False,
}

#: Appendix D.
_PROMPT = """You will be given a multiple choice question with different options such as
A, B, C, D. Think step by step before giving a final answer to this question.
Format your answer with the following JSON format which uses double quotes:
```json
{
  "Final Answer": "X",
  "Solution": "step-by-step reasoning"
}
```
where X is the correct answer choice. If none of the options match, choose
the closest option as the final answer.

"""


@dataclass(frozen=True, slots=True)
class MultipleChoice:
    """A question with four options, and the letter of the right one."""

    prompt: str
    right: str


@cache
def multiple_choice() -> tuple[MultipleChoice, ...]:
    """All questions; the right option has each letter equally often."""
    found = []
    for number, line in enumerate(_FILE.read_text("utf-8").splitlines()):
        row = json.loads(line)
        place = number % len(_LETTERS)
        options = [*row["wrong"][:place], row["right"], *row["wrong"][place:]]
        listed = "\n".join(f"{letter}. {o}" for letter, o in zip(_LETTERS, options, strict=True))
        prompt = f"{_PROMPT}{row['question']}\n{listed}\n"
        found.append(MultipleChoice(prompt, _LETTERS[place]))
    return tuple(found)


def chosen(text: str) -> str | None:
    """The final answer in a text that conforms; None in others."""
    try:
        answered = json.loads(text)["Final Answer"]
    except (ValueError, TypeError, KeyError):
        return None
    return answered if isinstance(answered, str) else None


def inner_object(text: str) -> str:
    """The text from the first opening brace to the last closing one: an answer inside a fence."""
    return text[text.find("{") : text.rfind("}") + 1] if "{" in text else ""


def _choice_measured(first: int, last: int, setting: Setting) -> Record:
    """Some questions alone and under the schema, answered greedily in one batch."""
    grammar = Grammar.from_json_schema(SCHEMA)
    ready = {
        method: all_contenders()[method].prepare(setting.model, grammar, LIMITS)
        for method in (UNCONSTRAINED, "automaton")
    }
    runs = []
    for question in multiple_choice()[first:last]:
        prompt = asked(setting.model, question.prompt, chat=setting.size.chat)
        runs += [
            (method, question, Asked(setting, prepared, grammar, prompt, setting.size.tokens))
            for method, prepared in ready.items()
        ]
    record: Record = {}
    given = answers(setting, [run for _, _, run in runs])
    for (method, question, _), found in zip(runs, given, strict=True):
        inner = inner_object(found.text)
        row = found.as_record() | {
            "right": chosen(found.text) == question.right,
            "inside": grammar.accepts(inner),
            "inside_right": grammar.accepts(inner) and chosen(inner) == question.right,
        }
        record.setdefault(method, []).append(row)
    return record


def _choice_units(size: Size) -> list[Unit]:
    count = min(size.questions, len(multiple_choice()))
    chat = ", chat" if size.chat else ""
    ranges = [
        (first, min(first + _CHOICE_QUESTIONS_PER_UNIT, count))
        for first in range(0, count, _CHOICE_QUESTIONS_PER_UNIT)
    ]
    return [
        Unit(
            f"koo 3/{size.tokens} tokens{chat}/{first}-{last}",
            partial(_choice_measured, first, last),
        )
        for first, last in ranges
    ]


_INTRODUCTION = """Koo, Gemma on GPQA: conforms alone 0.09 (2B) and 0.65 (7B), constrained 1.0.
Here: questions on general knowledge written for this project, the prompt of appendix D, greedy
answers, intervals of 95 % (Wilson). *Conforms* is the whole text; *inside* is the text from the
first brace to the last, so that a fence around the object is forgiven. A *cut* answer reached the
budget of tokens before it was complete and does not conform. *Right* is a conforming answer with
the right letter; guessing has 0.25 of the conforming ones."""


def _choice_section(columns: Sequence[Column]) -> str:
    head = ["model", "", "questions", "conforms", "inside", "cut", "right", "right, inside"]
    table, sentences = [head], []
    for column in columns:
        pairs = [(UNCONSTRAINED, "alone"), ("automaton", "constrained")]
        found = {m: [row for r in column.records.values() for row in r[m]] for m, _ in pairs}
        if not found[UNCONSTRAINED]:
            continue
        for method, title in pairs:
            rows = found[method]
            table.append(
                [
                    column.title,
                    title,
                    str(len(rows)),
                    *(str(Proportion.among(r[key] for r in rows)) for key in ("valid", "inside")),
                    str(sum(row["cut"] for row in rows)),
                    *(
                        str(Proportion.among(r[key] for r in rows))
                        for key in ("right", "inside_right")
                    ),
                ]
            )
        sentences.append(_verdict(column, found))
    return "\n\n".join([_INTRODUCTION, format_table(table, "markdown"), "\n".join(sentences)])


def _verdict(column: Column, found: dict[str, list[Record]]) -> str:
    """Which texts do not conform under the schema, and why."""
    alone, rows = (
        Proportion.among(r["valid"] for r in found[m]) for m in (UNCONSTRAINED, "automaton")
    )
    cut = sum(row["cut"] for row in found["automaton"])
    raised = "raises conformance" if rows.differs(alone) > 0 else "does not raise it measurably"
    failing = "all conform"
    if rows.hits < rows.of:
        failing = f"{rows.of - rows.hits} do not conform, of which {cut} were cut by the budget"
    chat = "as a message of a chat" if column.size.chat else "without a chat template"
    return (
        f"* {column.title} ({chat}, at most {column.size.tokens} tokens): the constraint {raised},"
        f" from {alone.hits} to {rows.hits} of {rows.of}; of the constrained texts {failing}."
    )


TABLE_3 = Experiment(
    name="koo-3",
    title="Answers that keep to a schema",
    source="Koo, Liu & He 2024, table 3 and appendix D",
    units=_choice_units,
    section=_choice_section,
)
