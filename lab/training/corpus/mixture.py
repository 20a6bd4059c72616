"""The mixture of all formats: documents in training proportions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

from lab.training.corpus import choices, programs, structured, sums
from lab.training.corpus.document import Document, Format, stream
from lab.training.corpus.short_prose import PROSE_FORMATS

FORMATS: tuple[Format, ...] = (
    *structured.PERSON_FORMATS,
    *structured.THING_FORMATS,
    *structured.RPG_FORMATS,
    *structured.XML_FORMATS,
    *programs.C_FORMATS,
    *sums.GSM8K_FORMATS,
    *sums.WORD_PROBLEM_FORMATS,
    *choices.DATE_FORMATS,
    *choices.ADDRESS_FORMATS,
    *choices.CHOICE_FORMATS,
    *programs.CODE_FORMATS,
    *sums.SUM_FORMATS,
    *structured.TABLE_FORMATS,
    *PROSE_FORMATS,
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
    """Mean characters of a document of this format, measured on a sample."""
    rng = Random(f"length/{form.name}")
    found = [form.document(rng) for _ in range(sample)]
    return sum(len(d.prompt) + len(d.text) + 1 for d in found) / sample


def mixture(formats: tuple[Format, ...] = FORMATS) -> Mixture:
    """The training mixture."""
    return Mixture(formats, tuple(f.share / mean_length(f) for f in formats))


def held_out(count: int = 200) -> dict[str, tuple[Document, ...]]:
    """Held-out documents of each format: of another seed, and GSM8K's test questions."""
    questions = sums.held_out()
    found: dict[str, tuple[Document, ...]] = {}
    for form in FORMATS:
        if form.make in (sums.make_prose, sums.make_json):
            documents = tuple(d for d in questions if d.format == form.name)[:count]
        else:
            documents = tuple(islice(stream(form, HELD_OUT), count))
        found[form.name] = documents
    return found
