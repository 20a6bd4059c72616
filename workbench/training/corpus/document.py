"""What a corpus is made of: a document, the format it belongs to, and its endless seeded stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True, slots=True)
class Document:
    """One example: the prompt, and the text which answers it (the end token follows)."""

    format: str
    prompt: str
    text: str


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of document, and how to make one.

    Unit:   ``share`` is the format's part of all training characters, relative to the others'.
    """

    name: str
    share: float
    #: Canonical prompts, word for word, for a gallery to use.
    prompts: tuple[str, ...]
    #: A random number generator → prompt and text.
    make: Callable[[Random], tuple[str, str]]

    def document(self, rng: Random) -> Document:
        prompt, text = self.make(rng)
        return Document(self.name, prompt, text)


class Orderly(Random):
    """Random numbers for the later part of a run: what is drawn without repetition is in order.

    Things listed in one fixed order teach a small model not to name one twice; and documents then
    seldom close their fence, so that the likeliest text ends where a grammar for it does.
    """

    def sample(self, population: Sequence[Any], k: int, **more: Any) -> list[Any]:  # noqa: ANN401
        found = super().sample(population, k, **more)
        if isinstance(population, range) or k == len(population):
            return found  # two numbers to compare, or all answers shuffled: the order matters
        return sorted(found, key=population.index)


def stream(form: Format, seed: str) -> Iterator[Document]:
    """The format's documents for this seed, without end and always the same."""
    rng = Orderly(f"{seed}/{form.name}")
    while True:
        yield form.document(rng)


def lead(rng: Random, head: str) -> str:
    """A heading as people type it before a block: a line of its own, or without the line break."""
    roll = rng.random()
    return head + ("\n" if roll < 0.7 else "" if roll < 0.85 else " ")


def fenced(rng: Random, text: str) -> str:
    """A block after an opening fence: closed by a fence, or simply at its end."""
    closed = 0.1 if isinstance(rng, Orderly) else 0.4
    return text + "\n```" if rng.random() < closed else text
