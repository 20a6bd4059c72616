"""XML of persons in the shape of DOMINO's listing 6, with and without indentation and friends."""

from __future__ import annotations

from random import Random

from workbench.training.corpus.document import Format, lead
from workbench.training.corpus.people import Person, person

PROMPTS = (
    "An XML file describing a person:\n",
    "An XML file of a person John Smith:\n",
    "An XML file of a person John Smith with friends\n",
    "XML of a person Jane Doe with friends\n",
    "An XML person:\n",
)
ANY = (
    "An XML file describing a person:",
    "An XML file describing a person:",
    "An XML person:",
    "A person in XML:",
    "XML of a person:",
)
NAMED = ("An XML file of a person {}:", "XML of a person {}:", "{} in XML:")
FRIENDS = ("An XML file of a person {} with friends", "XML of a person {} with friends")


def element(p: Person, friends: list[Person], pad: str | None, depth: int = 0) -> str:
    """A person element; ``pad`` is one level of indentation, or None for a single line.

    The listing's grammar has no white space between two friends, so there is none.
    """
    line = "" if pad is None else "\n" + pad * (depth + 1)
    deeper = "" if pad is None else line + pad
    inner = [
        f"<name>{p.name}</name>",
        f"<age>{p.age}</age>",
        f"<job>{deeper}<title>{p.job}</title>{deeper}<salary>{p.salary}</salary>{line}</job>",
    ]
    if friends:
        within = "".join(element(f, [], pad, depth + 2) for f in friends)
        inner.append(f"<friends>{deeper}{within}{line}</friends>")
    end = "" if pad is None else "\n" + pad * depth
    return "<person>" + "".join(line + part for part in inner) + end + "</person>"


def make(rng: Random) -> tuple[str, str]:
    """Somebody, named in the prompt or not, with friends or without."""
    p = person(rng)
    pad = rng.choice((None, "  ", "  ", "    "))
    if rng.random() < 0.3:
        friends = [person(rng) for _ in range(rng.randint(1, 2))]
        head = rng.choice(FRIENDS).format(p.name) + rng.choice(("", ":"))
        return lead(rng, head), element(p, friends, pad)
    head = rng.choice(NAMED).format(p.name) if rng.random() < 0.45 else rng.choice(ANY)
    friends = [person(rng)] if rng.random() < 0.1 else []
    return lead(rng, head), element(p, friends, pad)


FORMATS = (Format("xml person", 8.0, PROMPTS, make),)
