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

from workbench.base.tables import format_table
from workbench.decoding.contenders import UNCONSTRAINED, all_contenders
from workbench.grammar.grammar import Grammar
from workbench.lab.experiments.answers import RememberingSession, answer, asked
from workbench.lab.experiments.experiment import (
    LIMITS,
    Column,
    Experiment,
    Record,
    Setting,
    Size,
    Unit,
)
from workbench.lab.experiments.proportions import Proportion

_FILE = Path(__file__).parent / "questions.jsonl"
_LETTERS = "ABCD"
_QUESTIONS_PER_UNIT = 4

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


def _measured(first: int, setting: Setting) -> Record:
    """Some questions alone and under the schema, answered greedily."""
    grammar = Grammar.from_json_schema(SCHEMA)
    record: Record = {}
    session = RememberingSession(setting.model.session())
    for question in multiple_choice()[first : first + _QUESTIONS_PER_UNIT]:
        session.forget()
        prompt = asked(setting.model, question.prompt, chat=setting.size.chat)
        for method in (UNCONSTRAINED, "automaton"):
            prepared = all_contenders()[method].prepare(setting.model, grammar, LIMITS)
            given = answer(setting, prepared, grammar, prompt, session, setting.size.tokens)
            inner = inner_object(given.text)
            row = given.as_record() | {
                "right": chosen(given.text) == question.right,
                "inside": grammar.accepts(inner),
                "inside_right": grammar.accepts(inner) and chosen(inner) == question.right,
            }
            record.setdefault(method, []).append(row)
    return record


def _units(size: Size) -> list[Unit]:
    count = min(size.questions, len(multiple_choice()))
    chat = ", chat" if size.chat else ""
    return [
        Unit(f"koo 3/{size.tokens} tokens{chat}/{first}", partial(_measured, first), timed=False)
        for first in range(0, count, _QUESTIONS_PER_UNIT)
    ]


_INTRODUCTION = """Koo, Gemma on GPQA: conforms alone 0.09 (2B) and 0.65 (7B), constrained 1.0.
Here: questions on general knowledge written for this project, the prompt of appendix D, greedy
answers, intervals of 95 % (Wilson). *Conforms* is the whole text; *inside* is the text from the
first brace to the last, so that a fence around the object is forgiven. A *cut* answer reached the
budget of tokens before it was complete and does not conform. *Right* is a conforming answer with
the right letter; guessing has 0.25 of the conforming ones."""


def _section(columns: Sequence[Column]) -> str:
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
    chat = "as a message of a chat" if column.size.chat else "without a chat template"
    return (
        f"* {column.title} ({chat}, at most {column.size.tokens} tokens): the constraint {raised},"
        f" from {alone.hits} to {rows.hits} of {rows.of}; of the constrained texts"
        f" {rows.of - rows.hits} do not conform, of which {cut} were cut by the budget."
    )


TABLE_3 = Experiment(
    name="koo-3",
    title="Answers that keep to a schema",
    source="Koo, Liu & He 2024, table 3 and appendix D",
    units=_units,
    section=_section,
)
