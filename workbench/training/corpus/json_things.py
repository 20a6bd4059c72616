"""JSON of other things: products, books, addresses, settings, weather, films, plain arrays."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from workbench.training.corpus import words
from workbench.training.corpus.document import Format, lead
from workbench.training.corpus.json_person import dumps
from workbench.training.corpus.people import full_name

PROMPTS = (
    "A JSON object:\n",
    "A JSON object describing a product:\n",
    "A JSON object describing a book:\n",
    "The weather in Paris as JSON:\n",
    "A JSON object describing a movie:\n",
    "A configuration file in JSON:\n",
    "A JSON object with a name and tags:\n",
    "A person with tags in JSON:\n",
)
ARRAY_PROMPTS = (
    "A JSON array of numbers:\n",
    "A JSON array of colours:\n",
    "A JSON array of strings:\n",
)
KOO_PROMPTS = (
    "A JSON object of a game character:\n",
    "A game character with name, class, life, mana and equipment in JSON:\n",
)
PRODUCTS = (
    ("Desk Lamp", "home", 20, 60),
    ("Coffee Mug", "kitchen", 5, 20),
    ("Garden Chair", "garden", 25, 90),
    ("Wireless Mouse", "electronics", 10, 50),
    ("Keyboard", "electronics", 20, 120),
    ("Water Bottle", "sport", 8, 30),
    ("Running Shoes", "sport", 50, 150),
    ("Notebook", "office", 2, 12),
    ("Backpack", "travel", 30, 110),
    ("Umbrella", "travel", 10, 40),
    ("Tea Kettle", "kitchen", 15, 60),
    ("Wool Scarf", "clothing", 12, 45),
)
BOOKS = (
    ("Pride and Prejudice", "Jane Austen", 1813, "novel"),
    ("Moby-Dick", "Herman Melville", 1851, "novel"),
    ("Frankenstein", "Mary Shelley", 1818, "novel"),
    ("Dracula", "Bram Stoker", 1897, "novel"),
    ("The Time Machine", "H. G. Wells", 1895, "science fiction"),
    ("Les Misérables", "Victor Hugo", 1862, "novel"),
    ("War and Peace", "Leo Tolstoy", 1869, "novel"),
    ("Jane Eyre", "Charlotte Brontë", 1847, "novel"),
    ("Treasure Island", "Robert Louis Stevenson", 1883, "adventure"),
    ("On the Origin of Species", "Charles Darwin", 1859, "science"),
)
FILMS = (
    ("Metropolis", "Fritz Lang", 1927, "science fiction"),
    ("Casablanca", "Michael Curtiz", 1942, "drama"),
    ("Vertigo", "Alfred Hitchcock", 1958, "thriller"),
    ("The Kid", "Charlie Chaplin", 1921, "comedy"),
    ("Seven Samurai", "Akira Kurosawa", 1954, "drama"),
    ("Some Like It Hot", "Billy Wilder", 1959, "comedy"),
    ("Nosferatu", "F. W. Murnau", 1922, "horror"),
)
#: Sky, least and greatest temperature in degrees Celsius.
SKIES = (("sunny", 18, 32), ("cloudy", 8, 22), ("rainy", 6, 18), ("snowy", -8, 1), ("windy", 5, 18))
GEAR = {
    "Warrior": ("Iron Sword", "Steel Shield", "Battle Axe", "Plate Armor", "War Hammer"),
    "Rogue": ("Sharp Dagger", "Leather Armor", "Short Bow", "Lock Picks", "Dark Cloak"),
    "Sorceror": ("Oak Staff", "Silk Robe", "Magic Wand", "Spell Book", "Ruby Ring"),
}
HEROES = (
    "Aragorn",
    "Lyra",
    "Conan",
    "Merlin",
    "Shadow",
    "Thorin",
    "Elara",
    "Gareth",
    "Nyx",
    "Zara",
)


def product(rng: Random) -> tuple[str, Any]:
    """A thing on sale."""
    name, kind, low, high = rng.choice(PRODUCTS)
    price = rng.randint(low, high) + rng.choice((0.0, 0.5, 0.99))
    value = {"name": name, "price": price, "category": kind, "in_stock": rng.random() < 0.7}
    if rng.random() < 0.5:
        value = {"id": rng.randint(1, 120), **value}
    return rng.choice(("A JSON object describing a product:", "A product in JSON:")), value


def book(rng: Random) -> tuple[str, Any]:
    """A book with its true author and year."""
    title, author, year, kind = rng.choice(BOOKS)
    value = {"title": title, "author": author, "year": year, "genre": kind}
    return rng.choice(("A JSON object describing a book:", "A book in JSON:")), value


def film(rng: Random) -> tuple[str, Any]:
    """A film with its true director and year."""
    title, director, year, kind = rng.choice(FILMS)
    value = {"title": title, "director": director, "year": year, "genre": kind}
    heads = ("A JSON object describing a movie:", "A movie in JSON:", "A film in JSON:")
    return rng.choice(heads), value


def weather(rng: Random) -> tuple[str, Any]:
    """The weather of a city, sky and temperature agreeing."""
    city = rng.choice(words.CITIES)[0]
    sky, low, high = rng.choice(SKIES)
    value = {
        "city": city,
        "temperature": rng.randint(low, high),
        "unit": "celsius",
        "condition": sky,
        "humidity": 5 * rng.randint(6, 19),
    }
    return rng.choice(("The weather in {} as JSON:", "JSON weather report for {}:")).format(
        city
    ), value


def config(rng: Random) -> tuple[str, Any]:
    """Settings of a server."""
    value = {
        "host": rng.choice(("localhost", "127.0.0.1", "0.0.0.0")),
        "port": rng.choice((80, 443, 3000, 5000, 8000, 8080)),
        "debug": rng.random() < 0.5,
        "log_level": rng.choice(("info", "debug", "warning", "error")),
    }
    return rng.choice(("A configuration file in JSON:", "Server settings in JSON:")), value


def tagged(rng: Random) -> tuple[str, Any]:
    """A name and tags, of a person or a thing."""
    if rng.random() < 0.4:
        who = " ".join(full_name(rng)[:2])
        heads = ("A JSON object with a name and tags:", "A person with tags in JSON:")
        return rng.choice(heads), {"name": who, "tags": rng.sample(words.HOBBIES, 2)}
    name, kind, _, _ = rng.choice(PRODUCTS)
    tags = [kind, *rng.sample([t for t in words.TAGS if t != kind], rng.randint(1, 3))]
    heads = ("A JSON object with a name and tags:", "A tagged item in JSON:")
    return rng.choice(heads), {"name": name, "tags": tags}


def address(rng: Random) -> tuple[str, Any]:
    """A postal address."""
    city, country = rng.choice(words.CITIES)
    street = f"{rng.randint(1, 120)} {rng.choice(words.STREETS)}"
    value = {"street": street, "city": city, "country": country}
    return rng.choice(("A JSON object describing an address:", "An address in JSON:")), value


KINDS: tuple[Callable[[Random], tuple[str, Any]], ...] = (
    product,
    book,
    film,
    weather,
    config,
    tagged,
    address,
)


def make_object(rng: Random) -> tuple[str, str]:
    """Any of the objects; one in four under the prompt that says nothing of its kind."""
    head, value = rng.choice(KINDS)(rng)
    if rng.random() < 0.25:
        head = rng.choice(("A JSON object:", "Some JSON:", "A JSON file:", "JSON:"))
    return lead(rng, head), dumps(rng, value)


def make_array(rng: Random) -> tuple[str, str]:
    """Numbers, words, names, truth values or nested lists."""
    start, step, count = rng.randint(1, 10), rng.randint(1, 5), rng.randint(3, 6)
    value: list[Any]
    kind = rng.choice(("numbers", "colours", "strings", "names", "fruit", "booleans", "pairs"))
    if kind == "numbers":
        value = [start + step * i for i in range(count)]
    elif kind == "colours":
        value = rng.sample(words.COLOURS, count)
    elif kind == "strings":
        value = rng.sample(words.TAGS, count)
    elif kind == "names":
        value = [full_name(rng)[0] for _ in range(count)]
    elif kind == "fruit":
        value = rng.sample(words.FRUIT, count)
    elif kind == "booleans":
        value = [rng.random() < 0.5 for _ in range(count)]
    else:
        value = [[start + i, step * (start + i)] for i in range(min(count, 4))]
    flat = rng.random() < 0.75
    text = json.dumps(value) if flat else json.dumps(value, separators=(",", ":"))
    head = rng.choice(("A JSON array of {}:", "A JSON list of {}:")).format(kind)
    return lead(rng, "A JSON array:" if rng.random() < 0.2 else head), text


def make_koo(rng: Random) -> tuple[str, str]:
    """A game character after the schema of Koo et al. 2024, appendix C.4.5."""
    trade = rng.choice(tuple(GEAR))
    life, mana = rng.randint(6, 20) * 5, rng.randint(1, 8) * 5
    if trade == "Sorceror":
        life, mana = mana + 20, life + 20
    equipment = [
        {
            "name": name,
            "durability": 5 * rng.randint(4, 20),
            "quality": rng.choice(("Normal", "Normal", "Magic", "Unique")),
        }
        for name in rng.sample(GEAR[trade], rng.randint(1, 3))
    ]
    value = {
        "name": rng.choice(HEROES),
        "class": trade,
        "life": life,
        "mana": mana,
        "equipment": equipment,
    }
    heads = (
        "A JSON object of a game character:",
        "A game character with name, class, life, mana and equipment in JSON:",
        f"A {trade} in a role-playing game as JSON:",
        "JSON of a hero with equipment:",
    )
    return lead(rng, rng.choice(heads)), dumps(rng, value)


FORMATS = (
    Format("json object", 5.0, PROMPTS, make_object),
    Format("json array", 2.0, ARRAY_PROMPTS, make_array),
    Format("json game character", 4.0, KOO_PROMPTS, make_koo),
)
