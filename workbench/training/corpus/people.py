"""People whose particulars agree: a random number generator in, a Person out."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from random import Random

from workbench.training.corpus import words

#: The year every document takes for the present.
THIS_YEAR = 2024


@dataclass(frozen=True, slots=True)
class Person:
    """A made-up person: age and birth, trade and salary, name and e-mail address fit."""

    first: str
    last: str
    gender: str
    age: int
    month: int
    day: int
    city: str
    country: str
    job: str
    salary: int
    email: str
    phone: str
    hobbies: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def born(self) -> str:
        return f"{THIS_YEAR - self.age}-{self.month:02}-{self.day:02}"


def plain(text: str) -> str:
    """Lower-case ASCII for addresses: accents dropped, spaces gone."""
    bare = unicodedata.normalize("NFKD", text.replace("ø", "o"))
    return "".join(c for c in bare.lower() if c.isascii() and c.isalnum())


def full_name(rng: Random) -> tuple[str, str, str]:
    """First name, last name, gender: often a well-known example, seldom a made-up word."""
    roll = rng.random()
    if roll < 0.2:
        return rng.choice(words.FAMOUS)
    gender = rng.choice(("female", "male"))
    if roll < 0.27:
        made = ["".join(rng.choices(words.SYLLABLES, k=rng.randint(2, 3))) for _ in range(2)]
        return made[0].capitalize(), made[1].capitalize(), gender
    first = rng.choice(words.FEMALE if gender == "female" else words.MALE)
    return first, rng.choice(words.LAST), gender


def email(rng: Random, first: str, last: str) -> str:
    """An address a person of this name would have."""
    a, b = plain(first), plain(last)
    local = rng.choice((f"{a}.{b}", f"{a}.{b}", f"{a}.{b}", f"{a}", f"{a[0]}.{b}"))
    return f"{local}@{words.DOMAINS[min(int(rng.expovariate(1.2)), 3)]}"


def phone(rng: Random) -> str:
    """A telephone number out of the ranges kept for fiction."""
    return f"+1-555-01{rng.randint(0, 99):02}"


def person(rng: Random, name: tuple[str, str, str] | None = None) -> Person:
    """Somebody, of this name or any."""
    first, last, gender = name or full_name(rng)
    job, low, high, least = rng.choice(words.JOBS)
    city, country = rng.choice(words.CITIES)
    return Person(
        first=first,
        last=last,
        gender=gender,
        age=rng.randint(least, 67),
        month=rng.randint(1, 12),
        day=rng.randint(1, 28),
        city=city,
        country=country,
        job=job,
        salary=1000 * (5 * rng.randint(low // 5, high // 5)),
        email=email(rng, first, last),
        phone=phone(rng),
        hobbies=tuple(rng.sample(words.HOBBIES, rng.randint(2, 3))),
    )
