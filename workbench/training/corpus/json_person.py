"""JSON of persons: flat and nested, on one line, pretty and compact."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from workbench.training.corpus.document import Format, lead
from workbench.training.corpus.people import Person, person

PROMPTS = (
    "A JSON file describing a person:\n",
    "A JSON file of a person John Smith:\n",
    "A JSON file of a person John Smith with friends\n",
    "JSON of a person Jane Doe with friends\n",
    "A JSON person:\n",
)
ANY = (
    "A JSON file describing a person:",
    "A JSON file describing a person:",
    "A JSON person:",
    "A person in JSON:",
    "JSON of a person:",
    "A JSON object describing a person:",
    "Describe a person in JSON:",
    "Person as JSON:",
)
NAMED = (
    "A JSON file of a person {}:",
    "A JSON file of a person {}:",
    "A JSON file describing {}:",
    "JSON of a person {}:",
    "{} in JSON:",
    "Describe {} in JSON:",
)
FRIENDS = ("A JSON file of a person {} with friends", "JSON of a person {} with friends")


def dumps(rng: Random, value: object) -> str:
    """JSON on one line (mostly), indented, or without any space."""
    roll = rng.random()
    if roll < 0.5:
        return json.dumps(value, ensure_ascii=False)
    if roll < 0.8:
        return json.dumps(value, ensure_ascii=False, indent=2 if rng.random() < 0.8 else 4)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def particulars(rng: Random, p: Person) -> dict[str, Any]:
    """What may be said of a person beyond name and age, a few of them, in a natural order."""
    all_of_it: dict[str, Any] = {
        "gender": p.gender,
        "job": p.job,
        "city": p.city,
        "country": p.country,
        "email": p.email,
        "phone": p.phone,
        "born": p.born,
        "salary": p.salary,
        "married": rng.random() < 0.5,
        "hobbies": list(p.hobbies),
        "address": {"city": p.city, "country": p.country},
        "children": None if rng.random() < 0.5 else rng.randint(1, 3),
    }
    if rng.random() < 0.5:
        all_of_it["job"] = {"title": p.job, "salary": p.salary}
        del all_of_it["salary"]
    del all_of_it[rng.choice(("city", "address"))]
    chosen = set(rng.sample(sorted(all_of_it), rng.randint(1, 5)))
    return {key: value for key, value in all_of_it.items() if key in chosen}


def record(rng: Random, p: Person) -> dict[str, Any]:
    """A person as a JSON object: name and age first."""
    split = rng.random() < 0.15
    name = {"first_name": p.first, "last_name": p.last} if split else {"name": p.name}
    return {**name, "age": p.age, **particulars(rng, p)}


def one_person(rng: Random) -> tuple[str, str]:
    """Somebody, named in the prompt or not."""
    p = person(rng)
    head = rng.choice(NAMED).format(p.name) if rng.random() < 0.45 else rng.choice(ANY)
    return lead(rng, head), dumps(rng, record(rng, p))


def with_friends(rng: Random) -> tuple[str, str]:
    """Somebody and one to three friends, each with a name and an age."""
    p = person(rng)
    friends = [person(rng) for _ in range(rng.randint(1, 3))]
    value = {
        "name": p.name,
        "age": p.age,
        **({"job": p.job} if rng.random() < 0.5 else {}),
        "friends": [{"name": f.name, "age": f.age} for f in friends],
    }
    ending = rng.choice(("", ":"))
    return lead(rng, rng.choice(FRIENDS).format(p.name) + ending), dumps(rng, value)


def several(rng: Random) -> tuple[str, str]:
    """A JSON array of persons."""
    people = [person(rng) for _ in range(rng.randint(2, 3))]
    head = rng.choice(("A JSON array of persons:", "A list of people in JSON:", "JSON of people:"))
    value = [{"name": p.name, "age": p.age} for p in people]
    return lead(rng, head), dumps(rng, value)


def make(rng: Random) -> tuple[str, str]:
    """A person, a person with friends, or a list of them."""
    roll = rng.random()
    if roll < 0.72:
        return one_person(rng)
    return with_friends(rng) if roll < 0.9 else several(rng)


FORMATS = (Format("json person", 10.0, PROMPTS, make),)
