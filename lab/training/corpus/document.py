"""Documents and formats of the corpus, and the names, places and persons in them."""

from __future__ import annotations

import unicodedata
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
    """Random numbers for the later part of a run: samples without repetition are in order.

    Lists in one fixed order teach a small model not to repeat an entry. Documents then also seldom
    close their fence, so that the likeliest text ends where a grammar for it does.
    """

    def sample(self, population: Sequence[Any], k: int, **more: Any) -> list[Any]:  # noqa: ANN401
        found = super().sample(population, k, **more)
        if isinstance(population, range) or k == len(population):
            return found  # two numbers to compare, or all answers shuffled: the order matters
        return sorted(found, key=population.index)


def stream(form: Format, seed: str) -> Iterator[Document]:
    """The endless stream of the format's documents for this seed."""
    rng = Orderly(f"{seed}/{form.name}")
    while True:
        yield form.document(rng)


def lead(rng: Random, head: str) -> str:
    """A heading before a block, usually followed by a line break."""
    roll = rng.random()
    return head + ("\n" if roll < 0.7 else "" if roll < 0.85 else " ")


def fenced(rng: Random, text: str) -> str:
    """A block after an opening fence: closed by a fence, or simply at its end."""
    closed = 0.1 if isinstance(rng, Orderly) else 0.4
    return text + "\n```" if rng.random() < closed else text


def listed(text: str, mark: str | None = None) -> tuple[str, ...]:
    """The words of a text, or its parts between marks."""
    return tuple(text.split(mark))


FEMALE = listed(
    "Ada Alice Amina Anna Beatriz Carla Charlotte Chloé Clara Diana Elena Emily Emma Eva Fatima "
    "Fiona Grace Hannah Helen Ingrid Isabel Jane Julia Karen Katherine Laura Leila Lina Linda Lucy "
    "Margaret Maria Marie Mary Maya Mei Mia Nadia Nina Nora Olga Olivia Priya Rosa Ruth Sara Sofia "
    "Sophie Susan Yuki Zoë"
)
MALE = listed(
    "Adam Ahmed Alan Albert Alexander Andrew Antonio Ben Bob Boris Carlos Charles Daniel David "
    "Dennis Edgar Edward Felix Frank George Hans Henry Hugo Ivan Jack James John José Karl Kenji "
    "Leo Liam Lucas Luis Mark Martin Max Michael Noah Oliver Omar Oscar Paul Peter Pierre Raj "
    "Robert Samuel Thomas Tom Victor Walter William Yusuf"
)
LAST = listed(
    "Adams Ali Anderson Babbage Baker Bauer Bell Bennett Brown Carter Chen Clark Collins Cooper "
    "Costa Cruz Davis Dubois Evans Fischer Fisher Foster García Gomez Gray Green Hall Harris Hill "
    "Hughes Ivanov Jackson Jensen Johnson Jones Kelly Kim King Klein Kowalski Kumar Larsen Lee "
    "Lewis Li Lopez Martin Miller Mitchell Moore Moreau Morgan Müller Murphy Nakamura Nguyen "
    "Novak Olsen Park Parker Patel Pérez Peterson Phillips Popov Price Quinn Reed Roberts Rossi "
    "Sanchez Santos Sato Schmidt Scott Silva Singh Stewart Suzuki Tanaka Taylor Thompson Torres "
    "Tran Turner Walker Wang Ward Watson Weber White "
    "Williams Wilson Wood Wright Young Zhang"
)
#: Names often used in examples: drawn more often than the others.
FAMOUS = (
    ("Ada", "Lovelace", "female"),
    ("Alan", "Turing", "male"),
    ("Grace", "Hopper", "female"),
    ("John", "Smith", "male"),
    ("John", "Doe", "male"),
    ("Jane", "Doe", "female"),
    ("Jane", "Smith", "female"),
    ("Alice", "Johnson", "female"),
    ("Bob", "Brown", "male"),
    ("Noam", "Chomsky", "male"),
)
SYLLABLES = listed(
    "ba be bi bo da de di do fa fe ga ge ka ke ki ko la le li lo lu ma me mi mo na ne ni no pa pe "
    "ra re ri ro sa se si so ta te ti to va ve vi wa ya yo za zo"
)

#: City and country.
CITIES = (
    ("London", "United Kingdom"),
    ("Paris", "France"),
    ("Berlin", "Germany"),
    ("Madrid", "Spain"),
    ("Rome", "Italy"),
    ("Vienna", "Austria"),
    ("Zürich", "Switzerland"),
    ("Lisbon", "Portugal"),
    ("Oslo", "Norway"),
    ("Stockholm", "Sweden"),
    ("Copenhagen", "Denmark"),
    ("Dublin", "Ireland"),
    ("Prague", "Czech Republic"),
    ("Warsaw", "Poland"),
    ("Athens", "Greece"),
    ("Tokyo", "Japan"),
    ("Kyoto", "Japan"),
    ("Seoul", "South Korea"),
    ("Beijing", "China"),
    ("Mumbai", "India"),
    ("Sydney", "Australia"),
    ("Toronto", "Canada"),
    ("Montréal", "Canada"),
    ("New York", "USA"),
    ("Boston", "USA"),
    ("Chicago", "USA"),
    ("Seattle", "USA"),
    ("São Paulo", "Brazil"),
    ("Cairo", "Egypt"),
    ("Nairobi", "Kenya"),
)
#: Trade, least and greatest yearly salary in thousands, least age.
JOBS = (
    ("Engineer", 55, 120, 23),
    ("Software Engineer", 60, 140, 22),
    ("Doctor", 80, 180, 28),
    ("Teacher", 38, 70, 23),
    ("Nurse", 40, 75, 22),
    ("Lawyer", 70, 160, 26),
    ("Architect", 55, 110, 26),
    ("Scientist", 55, 115, 26),
    ("Mathematician", 50, 110, 25),
    ("Data Analyst", 50, 100, 22),
    ("Accountant", 45, 90, 23),
    ("Designer", 42, 85, 21),
    ("Journalist", 38, 75, 22),
    ("Librarian", 35, 60, 23),
    ("Pilot", 70, 150, 25),
    ("Chef", 32, 70, 20),
    ("Baker", 28, 45, 18),
    ("Carpenter", 32, 60, 19),
    ("Electrician", 38, 70, 20),
    ("Farmer", 28, 60, 19),
    ("Gardener", 26, 45, 18),
    ("Mechanic", 32, 60, 19),
    ("Musician", 25, 60, 19),
    ("Writer", 30, 80, 21),
    ("Photographer", 30, 65, 20),
    ("Translator", 35, 70, 23),
    ("Manager", 55, 130, 26),
    ("Professor", 70, 140, 32),
)
HOBBIES = listed(
    "reading chess hiking cooking painting swimming cycling gardening music photography dancing "
    "running yoga fishing travel knitting sailing poetry astronomy football tennis climbing"
)
TAGS = listed(
    "new sale home garden outdoor kitchen books music travel science history art food sport "
    "python data web mobile cloud security fast small green blue"
)
COLOURS = ("red", "orange", "yellow", "green", "blue", "indigo", "violet", "black", "white", "grey")
DOMAINS = ("example.com", "example.org", "example.net", "mail.example.com")
MONTHS = listed(
    "January February March April May June July August September October November December"
)
WEEKDAYS = listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
FRUIT = listed("apples pears oranges bananas cherries plums peaches lemons grapes melons")
ANIMALS = listed("cat dog horse cow sheep rabbit fox bear wolf owl duck goat")
STREETS = listed(
    "Main Street|High Street|Park Road|Church Lane|Mill Road|Station Road|Oak Avenue|Elm Street|"
    "River Road|King Street|Queen Street|Garden Street|Hill Road|School Lane|Lake View",
    "|",
)


#: The current year in all documents.
THIS_YEAR = 2024


@dataclass(frozen=True, slots=True)
class Person:
    """A generated person whose age and birth, job and salary, name and e-mail address agree."""

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
        return rng.choice(FAMOUS)
    gender = rng.choice(("female", "male"))
    if roll < 0.27:
        made = ["".join(rng.choices(SYLLABLES, k=rng.randint(2, 3))) for _ in range(2)]
        return made[0].capitalize(), made[1].capitalize(), gender
    first = rng.choice(FEMALE if gender == "female" else MALE)
    return first, rng.choice(LAST), gender


def email(rng: Random, first: str, last: str) -> str:
    """An address a person of this name would have."""
    a, b = plain(first), plain(last)
    local = rng.choice((f"{a}.{b}", f"{a}.{b}", f"{a}.{b}", f"{a}", f"{a[0]}.{b}"))
    return f"{local}@{DOMAINS[min(int(rng.expovariate(1.2)), 3)]}"


def phone(rng: Random) -> str:
    """A telephone number from the range reserved for fiction."""
    return f"+1-555-01{rng.randint(0, 99):02}"


def person(rng: Random, name: tuple[str, str, str] | None = None) -> Person:
    """A random person, with this name if one is given."""
    first, last, gender = name or full_name(rng)
    job, low, high, least = rng.choice(JOBS)
    city, country = rng.choice(CITIES)
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
        hobbies=tuple(rng.sample(HOBBIES, rng.randint(2, 3))),
    )
