"""The papers' workloads: grammars of the gallery with prompts that the embedded model knows.

Questions with answers are held-out documents of the model's corpus: GSM8K's test questions, and
generated problems of a seed that training did not use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from workbench.base.limits import LIMITS
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.lab.training.corpus import programs, structured, sums
from workbench.lab.training.corpus.document import stream

#: The seed of the generated problems; training uses others.
_HELD_OUT = "evaluate"


@dataclass(frozen=True, eq=False)
class Task:
    """A kind of text to be generated, with its prompts."""

    name: str
    title: str
    #: The name of the gallery example with the grammar.
    example: str
    prompts: tuple[str, ...]
    source: str

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar of the example."""
        entry = load_gallery()[self.example]
        return Grammar.from_kbnf(entry.text, entry.start, limits=LIMITS, name=entry.name)


@dataclass(frozen=True, slots=True)
class Question:
    """A word problem as prompt, and its answer."""

    prompt: str
    answer: float


def _gsm8k() -> Iterator[tuple[str, str]]:
    """GSM8K's held-out problems whose annotations parse, as prompt and JSON."""
    yield from sums.json_problems("held_out")


def _generated() -> Iterator[tuple[str, str]]:
    form = next(f for f in sums.WORD_PROBLEM_FORMATS if f.name == "word problem json")
    for document in stream(form, _HELD_OUT):
        yield document.prompt, document.text


def questions(name: str, count: int) -> list[Question]:
    """The first ``count`` questions of ``gsm8k`` (it has 187) or ``word_problems``."""
    source = _gsm8k() if name == "gsm8k" else _generated()
    return [
        Question(prompt, float(json.loads(text)["answer"]))
        for prompt, text in islice(source, count)
    ]


def answer_of(text: str) -> float | None:
    """The answer in the JSON of a worked problem; None where the text has none or is not JSON."""
    try:
        answer = json.loads(text)["answer"]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    return float(answer) if isinstance(answer, int | float) else None


def _first_prompts(name: str) -> tuple[str, ...]:
    return tuple(question.prompt for question in questions(name, 5))


_LISTINGS = "DOMINO, appendix C, listing"

_ALL = (
    Task("json", "JSON", "domino_json", structured.PERSON_PROMPTS, f"{_LISTINGS} 3"),
    Task("gsm8k", "JSON, GSM8K", "domino_gsm8k", _first_prompts("gsm8k"), f"{_LISTINGS} 4"),
    Task(
        "word_problems",
        "JSON, easy problems",
        "domino_gsm8k",
        _first_prompts("word_problems"),
        f"{_LISTINGS} 4, problems the embedded model can do",
    ),
    Task("c", "C", "domino_c", programs.PROMPTS[:6], f"{_LISTINGS} 5"),
    Task("xml", "XML", "domino_xml", structured.XML_PROMPTS[:5], f"{_LISTINGS} 6"),
    Task("rpg", "fixed template", "domino_rpg", structured.RPG_PROMPTS, f"{_LISTINGS} 7"),
)

#: Every task by its name, in the order of DOMINO's table 3.
TASKS: dict[str, Task] = {task.name: task for task in _ALL}
