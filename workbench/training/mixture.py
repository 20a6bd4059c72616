"""All formats together: documents in training proportions, and those held out for measuring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

from workbench.training.corpus import (
    addresses,
    arithmetic,
    c_programs,
    choices,
    code,
    dates,
    gsm8k,
    json_person,
    json_things,
    prose,
    rpg,
    tables,
    word_problems,
    xml_person,
)
from workbench.training.corpus.document import Document, Format, stream

FORMATS: tuple[Format, ...] = (
    *json_person.FORMATS,
    *json_things.FORMATS,
    *rpg.FORMATS,
    *xml_person.FORMATS,
    *c_programs.FORMATS,
    *gsm8k.FORMATS,
    *word_problems.FORMATS,
    *dates.FORMATS,
    *addresses.FORMATS,
    *choices.FORMATS,
    *code.FORMATS,
    *arithmetic.FORMATS,
    *tables.FORMATS,
    *prose.FORMATS,
)
HELD_OUT = "held out"


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Formats, and how often each is drawn.

    Shape:  ``rates`` holds one number a format: its share of the characters over the mean length
            of its documents, so that shares hold for characters whatever the lengths.
    """

    formats: tuple[Format, ...]
    rates: tuple[float, ...]

    def documents(self, rng: Random) -> Iterator[Document]:
        """Documents of every format, without end, always the same for the same generator."""
        while True:
            yield rng.choices(self.formats, self.rates)[0].document(rng)


def mean_length(form: Format, sample: int = 100) -> float:
    """Characters in a document of this format, measured on a few."""
    rng = Random(f"length/{form.name}")
    found = [form.document(rng) for _ in range(sample)]
    return sum(len(d.prompt) + len(d.text) + 1 for d in found) / sample


def mixture(formats: tuple[Format, ...] = FORMATS) -> Mixture:
    """The training mixture."""
    return Mixture(formats, tuple(f.share / mean_length(f) for f in formats))


def held_out(count: int = 200) -> dict[str, tuple[Document, ...]]:
    """Documents of each format kept for measuring: another seed, and GSM8K's test questions."""
    questions = gsm8k.held_out()
    found: dict[str, tuple[Document, ...]] = {}
    for form in FORMATS:
        if form.make in (gsm8k.make_prose, gsm8k.make_json):
            documents = tuple(d for d in questions if d.format == form.name)[:count]
        else:
            documents = tuple(islice(stream(form, HELD_OUT), count))
        found[form.name] = documents
    return found
