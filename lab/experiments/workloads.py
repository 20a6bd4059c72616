"""The papers' workloads: grammars with prompts of the gallery, and answers to read.

Questions with answers are held-out documents of the model's corpus: GSM8K's test questions, and
generated problems of a seed that training did not use. GSM8K's questions may come from a file
instead. Experiments on the gallery take its examples in a random order, and list what they did.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from lab.experiments.experiment import LIMITS, Column, Record
from lab.training.corpus import programs, structured, sums
from lab.training.corpus.document import stream
from workbench.base.cached_property import cached_property
from workbench.base.errors import WorkbenchError
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar

# -- grammars and prompts -------------------------------------------------------------------------


#: The seeds of the generated problems; training uses others.
_HELD_OUT, _DEMONSTRATED = "evaluate", "demonstrations"


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


def _generated(seed: str) -> Iterator[tuple[str, str]]:
    """Different generated problems, as prompt and JSON."""
    form = next(f for f in sums.WORD_PROBLEM_FORMATS if f.name == "word problem json")
    seen = set()
    for document in stream(form, seed):
        if document.prompt not in seen:
            seen.add(document.prompt)
            yield document.prompt, document.text


def _pairs(name: str, *, held_out: bool) -> Iterator[tuple[str, str]]:
    """Problems of a set as prompt and JSON."""
    if name == "gsm8k":
        return iter(sums.json_problems("held_out" if held_out else "train"))
    return _generated(_HELD_OUT if held_out else _DEMONSTRATED)


def demonstrations(name: str, count: int) -> str:
    """Worked problems of the training split, to be put before a question.

    Source: DOMINO, appendix D, five demonstrations as question and answer in JSON.
    """
    pairs = islice(_pairs(name, held_out=False), count)
    return "".join(f"{prompt}{text}\n\n" for prompt, text in pairs)


def questions(name: str, count: int, file: str | None = None) -> list[Question]:
    """The first ``count`` questions of ``gsm8k`` (the package has 187) or ``word_problems``.

    ``file``  JSON lines of GSM8K's questions, with ``question`` and ``answer``.

    Raises: WorkbenchError for a file of another format.
    """
    if name == "gsm8k" and file is not None:
        return _read(Path(file))[:count]
    pairs = islice(_pairs(name, held_out=True), count)
    return [Question(prompt, float(json.loads(text)["answer"])) for prompt, text in pairs]


def _read(file: Path) -> list[Question]:
    """The questions of a file; an answer is a number, or text that ends in ``#### number``."""
    found = []
    try:
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            answer = str(row["answer"]).rpartition("####")[2].replace(",", "")
            prompt = f"Q: {row['question']}\nA: (Response in JSON)\n"
            found.append(Question(prompt, float(answer)))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise WorkbenchError(
            f"cannot read GSM8K's questions from {file}: {error}",
            "name JSON lines with question and answer, such as the test split of GSM8K",
        ) from error
    return found


def answer_of(text: str) -> float | None:
    """The answer in the JSON of a worked problem; None where the text has none or is not JSON."""
    try:
        answer = json.loads(text)["answer"]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    return float(answer) if isinstance(answer, int | float) else None


def _first_prompts(name: str) -> tuple[str, ...]:
    return tuple(question.prompt for question in questions(name, 5))


def sampled_examples() -> list[str]:
    """The names of the gallery's examples, in a fixed random order.

    The results of a run that was stopped are then those of a random sample.
    """
    return Random("examples").sample(names := sorted(load_gallery()), len(names))


#: What a page says about the columns of a gallery's table.
SAMPLED = """A column with fewer examples lacks those named below, or has a random sample of them:
compare its figures with each other, not with those of another column."""


def measured_examples(column: Column) -> list[Record]:
    """The records of the gallery's examples that could be measured."""
    return [record for record in column.records.values() if "failed" not in record]


def sizes_and_failures(columns: Sequence[Column]) -> list[str]:
    """For each model how many texts were written, and which examples could not be measured."""
    sizes = "; ".join(
        f"{column.title}: {len(found)} examples, {column.size.repetitions} texts of each in a cell"
        for column in columns
        if (found := measured_examples(column))
    )
    failed: dict[tuple[str, str], list[str]] = {}
    for column in columns:
        for key, record in column.records.items():
            if "failed" in record:
                failed.setdefault((column.title, record["failed"]), []).append(key.split("/")[1])
    reasons = [f"* {title}: {why} ({', '.join(names)})." for (title, why), names in failed.items()]
    return [part for part in (sizes and f"{sizes}.", "\n".join(reasons)) if part]


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
