"""Word problems of GSM8K: as prose, and as the JSON of DOMINO's listing 4."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from random import Random

from workbench.training.corpus.document import Document, Format

DATA = Path(__file__).parent.parent / "data"
QUESTION = (
    "Q: A baker makes 24 rolls in the morning and twice as many in the afternoon. "
    "How many rolls does he make?\n"
)
PROMPTS = (f"{QUESTION}A: ",)
JSON_PROMPTS = (f"{QUESTION}A: (Response in JSON)\n",)
NOTE = re.compile(r"<<(?P<calculation>[^<>=]*)=(?P<result>[^<>=]*)>>")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


@cache
def problems(name: str) -> tuple[tuple[str, str], ...]:
    """The questions and answers of one file kept beside the code: ``train`` or ``held_out``."""
    with gzip.open(DATA / f"gsm8k_{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return tuple((row["question"], row["answer"]) for row in rows)


def as_prose(question: str, answer: str) -> tuple[str, str]:
    """Question and answer without the calculator's annotations."""
    return f"Q: {question}\nA: ", NOTE.sub("", answer)


def number(text: str) -> int | float | None:
    """A result as JSON writes it, or None where it does not parse."""
    text = text.replace(",", "").removeprefix("$").strip()
    text = re.sub(r"^(-?)\.", r"\g<1>0.", text)
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return int(value) if value == int(value) else value


def as_json(question: str, answer: str) -> tuple[str, str] | None:
    """The same as thoughts in JSON; None where a line has not exactly one clean annotation."""
    steps, _, final = answer.rpartition("\n#### ")
    total = number(final)
    thoughts = []
    for line in filter(None, (line.strip() for line in steps.split("\n"))):
        notes = list(NOTE.finditer(line))
        if not notes:
            continue
        result = number(notes[0]["result"])
        if len(notes) > 1 or result is None:
            return None
        step = NOTE.sub("", line)
        thought = {"step": step, "calculation": notes[0]["calculation"], "result": result}
        thoughts.append(thought)
    if not thoughts or total is None or thoughts[-1]["result"] != total:
        return None
    text = json.dumps({"thoughts": thoughts, "answer": total}, ensure_ascii=False)
    return f"Q: {question}\nA: (Response in JSON)\n", text


@cache
def json_problems(name: str) -> tuple[tuple[str, str], ...]:
    """All problems of a file whose annotations parse, as prompt and JSON."""
    return tuple(pair for q, a in problems(name) if (pair := as_json(q, a)) is not None)


def make_prose(rng: Random) -> tuple[str, str]:
    """A training problem as prose."""
    return as_prose(*rng.choice(problems("train")))


def make_json(rng: Random) -> tuple[str, str]:
    """A training problem as JSON."""
    return rng.choice(json_problems("train"))


def held_out() -> tuple[Document, ...]:
    """The two hundred test questions kept for measuring, in both forms; never trained on."""
    prose = [Document("gsm8k prose", *as_prose(q, a)) for q, a in problems("held_out")]
    return (*prose, *(Document("gsm8k json", *pair) for pair in json_problems("held_out")))


FORMATS = (
    Format("gsm8k prose", 14.0, PROMPTS, make_prose),
    Format("gsm8k json", 6.0, JSON_PROMPTS, make_json),
)
