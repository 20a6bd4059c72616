"""JSON, XML, tables and role-playing characters."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import urlencode

from lab.training.corpus import document
from lab.training.corpus.document import (
    Format,
    Person,
    fenced,
    full_name,
    lead,
    listed,
    person,
)

PERSON_PROMPTS = (
    "A JSON file describing a person:\n",
    "A JSON file of a person John Smith:\n",
    "A JSON file of a person John Smith with friends\n",
    "JSON of a person Jane Doe with friends\n",
    "A JSON person:\n",
)
ANY_PERSON = (
    "A JSON file describing a person:",
    "A JSON file describing a person:",
    "A JSON person:",
    "A person in JSON:",
    "JSON of a person:",
    "A JSON object describing a person:",
    "Describe a person in JSON:",
    "Person as JSON:",
)
NAMED_PERSON = (
    "A JSON file of a person {}:",
    "A JSON file of a person {}:",
    "A JSON file describing {}:",
    "JSON of a person {}:",
    "{} in JSON:",
    "Describe {} in JSON:",
)
PERSON_WITH_FRIENDS = (
    "A JSON file of a person {} with friends",
    "JSON of a person {} with friends",
)


def dumps(rng: Random, value: object) -> str:
    """JSON on one line (mostly), indented, or without any space."""
    roll = rng.random()
    if roll < 0.5:
        return json.dumps(value, ensure_ascii=False)
    if roll < 0.8:
        return json.dumps(value, ensure_ascii=False, indent=2 if rng.random() < 0.8 else 4)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def particulars(rng: Random, p: Person) -> dict[str, Any]:
    """Some properties of a person besides name and age, in a natural order."""
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
    """A person, named in the prompt or not."""
    p = person(rng)
    head = (
        rng.choice(NAMED_PERSON).format(p.name) if rng.random() < 0.45 else rng.choice(ANY_PERSON)
    )
    return lead(rng, head), dumps(rng, record(rng, p))


def with_friends(rng: Random) -> tuple[str, str]:
    """A person and one to three friends, each with a name and an age."""
    p = person(rng)
    friends = [person(rng) for _ in range(rng.randint(1, 3))]
    value = {
        "name": p.name,
        "age": p.age,
        **({"job": p.job} if rng.random() < 0.5 else {}),
        "friends": [{"name": f.name, "age": f.age} for f in friends],
    }
    ending = rng.choice(("", ":"))
    return lead(rng, rng.choice(PERSON_WITH_FRIENDS).format(p.name) + ending), dumps(rng, value)


def several(rng: Random) -> tuple[str, str]:
    """A JSON array of persons."""
    people = [person(rng) for _ in range(rng.randint(2, 3))]
    head = rng.choice(("A JSON array of persons:", "A list of people in JSON:", "JSON of people:"))
    value = [{"name": p.name, "age": p.age} for p in people]
    return lead(rng, head), dumps(rng, value)


def make_person(rng: Random) -> tuple[str, str]:
    """A person, a person with friends, or a list of them."""
    roll = rng.random()
    if roll < 0.72:
        return one_person(rng)
    return with_friends(rng) if roll < 0.9 else several(rng)


PERSON_FORMATS = (Format("json person", 10.0, PERSON_PROMPTS, make_person),)


THING_PROMPTS = (
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
    city = rng.choice(document.CITIES)[0]
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
        return rng.choice(heads), {"name": who, "tags": rng.sample(document.HOBBIES, 2)}
    name, kind, _, _ = rng.choice(PRODUCTS)
    tags = [kind, *rng.sample([t for t in document.TAGS if t != kind], rng.randint(1, 3))]
    heads = ("A JSON object with a name and tags:", "A tagged item in JSON:")
    return rng.choice(heads), {"name": name, "tags": tags}


def address(rng: Random) -> tuple[str, Any]:
    """A postal address."""
    city, country = rng.choice(document.CITIES)
    street = f"{rng.randint(1, 120)} {rng.choice(document.STREETS)}"
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
    """Any of the objects; one in four under a prompt that does not name its kind."""
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
        value = rng.sample(document.COLOURS, count)
    elif kind == "strings":
        value = rng.sample(document.TAGS, count)
    elif kind == "names":
        value = [full_name(rng)[0] for _ in range(count)]
    elif kind == "fruit":
        value = rng.sample(document.FRUIT, count)
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


THING_FORMATS = (
    Format("json object", 5.0, THING_PROMPTS, make_object),
    Format("json array", 2.0, ARRAY_PROMPTS, make_array),
    Format("json game character", 4.0, KOO_PROMPTS, make_koo),
)


XML_PROMPTS = (
    "An XML file describing a person:\n",
    "An XML file of a person John Smith:\n",
    "An XML file of a person John Smith with friends\n",
    "XML of a person Jane Doe with friends\n",
    "An XML person:\n",
)
ANY_XML = (
    "An XML file describing a person:",
    "An XML file describing a person:",
    "An XML person:",
    "A person in XML:",
    "XML of a person:",
)
NAMED_XML = ("An XML file of a person {}:", "XML of a person {}:", "{} in XML:")
XML_WITH_FRIENDS = ("An XML file of a person {} with friends", "XML of a person {} with friends")


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


def make_xml(rng: Random) -> tuple[str, str]:
    """A person, named in the prompt or not, with friends or without."""
    p = person(rng)
    pad = rng.choice((None, "  ", "  ", "    "))
    if rng.random() < 0.3:
        friends = [person(rng) for _ in range(rng.randint(1, 2))]
        head = rng.choice(XML_WITH_FRIENDS).format(p.name) + rng.choice(("", ":"))
        return lead(rng, head), element(p, friends, pad)
    head = rng.choice(NAMED_XML).format(p.name) if rng.random() < 0.45 else rng.choice(ANY_XML)
    friends = [person(rng)] if rng.random() < 0.1 else []
    return lead(rng, head), element(p, friends, pad)


XML_FORMATS = (Format("xml person", 8.0, XML_PROMPTS, make_xml),)


RPG_PROMPTS = (
    "The following is a character profile for an RPG game in JSON format.\n```json\n",
    "A character profile for an RPG game:\n```json\n",
    "A character profile for an RPG game in JSON format:\n```json\n",
    "A character that is a level 5 human fighter with 10 strength, 10 dexterity, "
    "10 constitution, 10 intelligence, 10 wisdom, and 10 charisma:\n```json\n",
    "JSON specifying a character that is a level 5 dwarf fighter from a game:\n```json\n",
)
NAMES = listed(
    "Aldric Alia Arin Borin Brenna Cedric Dain Elara Elowen Erik Fenn Freya Galen Gareth Gwen "
    "Hilda Isolde Joren Kael Kira Lena Lyra Mira Nolan Orin Petra Quill Rowan Runa Sable Talia "
    "Thalia Theron Ulric Vera Wren Yara Zane"
)
#: Class: armour, weapon, least strength.
CLASSES = {
    "fighter": ("chainmail", "sword", 13),
    "warrior": ("plate", "axe", 14),
    "knight": ("plate", "sword", 14),
    "paladin": ("plate", "sword", 13),
    "barbarian": ("leather", "axe", 15),
    "ranger": ("leather", "bow", 11),
    "archer": ("leather", "bow", 10),
    "rogue": ("leather", "bow", 9),
    "guard": ("chainmail", "axe", 12),
    "hunter": ("leather", "bow", 11),
}
ITEMS = {
    "sword": ("shield", "whetstone", "healing potion", "torch", "banner", "war horn"),
    "axe": ("shield", "round helmet", "healing potion", "ale flask", "iron ring", "torch"),
    "bow": ("quiver of arrows", "rope", "hunting knife", "cloak", "healing potion", "map"),
}
MANTRAS = (
    "Strike first, strike fast",
    "Never give up",
    "Honor above all",
    "Fortune favors the bold",
    "Stand and fight",
    "Protect the weak",
    "Quick and quiet",
    "No fear, no retreat",
    "One shot, one kill",
    "Steel and courage",
    "The shadow is my friend",
    "For the king",
)
DESCRIPTIONS = (
    "A nimble fighter",
    "A nimble fighter",
    "A nimble fighter",
    "A brave warrior",
    "A silent hunter",
    "A strong and loyal guard",
)
HEADS = (
    "The following is a character profile for an RPG game in JSON format.",
    "A character profile for an RPG game:",
    "A character profile for an RPG game in JSON format:",
    "A character for an RPG game in JSON format:",
)


def heading(rng: Random, trade: str, strength: int) -> str:
    """One of the paper's ways to ask for a character; if it gives the strength, the text agrees."""
    level, race = rng.randint(1, 12), rng.choice(("human", "dwarf", "elf", "orc", "halfling"))
    roll = rng.random()
    if roll < 0.65:
        return rng.choice(HEADS)
    if roll < 0.85:
        return f"JSON specifying a character that is a level {level} {race} {trade} from a game:"
    others = ", ".join(f"10 {a}" for a in ("dexterity", "constitution", "intelligence", "wisdom"))
    return (
        f"A character that is a level {level} {race} {trade} with {strength} strength, "
        f"{others}, and 10 charisma:"
    )


def pretty(value: dict[str, object], indent: int) -> str:
    """Indented, with the list of things on one line."""
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()]
    return "{\n" + ",\n".join(" " * indent + line for line in lines) + "\n}"


def make_character(rng: Random) -> tuple[str, str]:
    """A character whose armour, weapon, strength and things suit its class."""
    trade = rng.choice(tuple(CLASSES))
    armor, weapon, least = CLASSES[trade]
    strength = rng.randint(least, least + 4) if rng.random() < 0.8 else 10
    value: dict[str, object] = {
        "id": rng.randint(1, 20),
        "description": rng.choice(DESCRIPTIONS),
        "name": rng.choice(NAMES),
        "age": rng.randint(18, 45),
        "armor": armor,
        "weapon": weapon,
        "class": trade,
        "mantra": rng.choice(MANTRAS),
        "strength": strength,
        "items": rng.sample(ITEMS[weapon], 3),
    }
    roll = rng.random()
    if roll < 0.6:
        text = pretty(value, 2 if rng.random() < 0.7 else 4)
    elif roll < 0.75:
        text = json.dumps(value, indent=2)
    elif roll < 0.9:
        text = json.dumps(value)
    else:
        text = json.dumps(value, separators=(",", ":"))
    return heading(rng, trade, strength) + "\n```json\n", fenced(rng, text)


RPG_FORMATS = (Format("rpg character", 6.0, RPG_PROMPTS, make_character),)


CSV_PROMPTS = ("A CSV file of persons:\n", "name,age,city\n", "A CSV file of products:\n")
YAML_PROMPTS = ("A YAML file describing a person:\n", "A configuration file in YAML:\n")
MARKDOWN_PROMPTS = ("A Markdown table of persons:\n", "A Markdown table of products:\n")
INI_PROMPTS = ("A configuration file in INI format:\n",)
QUERY_PROMPTS = ("A URL query for a search: ", "Search parameters: ")


def rows(rng: Random) -> tuple[str, list[str], list[list[str]]]:
    """The subject of some rows, their head and about three of them."""
    count = rng.randint(2, 4)
    if rng.random() < 0.65:
        people = [person(rng) for _ in range(count)]
        last = rng.choice(("city", "job"))
        found = [[p.name, str(p.age), p.city if last == "city" else p.job] for p in people]
        return "persons", ["name", "age", last], found
    things = rng.sample(PRODUCTS, count)
    return "products", ["name", "price"], [[t[0], f"{rng.randint(t[2], t[3])}.99"] for t in things]


def csv(rng: Random) -> tuple[str, str]:
    """Comma-separated values under their heads; sometimes the heads are the prompt."""
    about, head, body = rows(rng)
    lines = [",".join(row) for row in body]
    if rng.random() < 0.3:
        return ",".join(head) + "\n", "\n".join(lines)
    prompt = rng.choice((f"A CSV file of {about}:\n", f"{about.capitalize()} as CSV:\n"))
    return prompt, "\n".join([",".join(head), *lines])


def markdown(rng: Random) -> tuple[str, str]:
    """The same as a Markdown table."""
    about, head, body = rows(rng)
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body)]
    prompt = rng.choice((f"A Markdown table of {about}:\n", f"A table of {about} in Markdown:\n"))
    return prompt, "\n".join(lines)


def yaml(rng: Random) -> tuple[str, str]:
    """A person or a configuration in YAML."""
    if rng.random() < 0.4:
        level = rng.choice(("info", "debug", "warning"))
        port = rng.choice((80, 443, 3000, 8000, 8080))
        text = f"server:\n  host: localhost\n  port: {port}\nlogging:\n  level: {level}"
        return rng.choice(("A configuration file in YAML:\n", "Server settings in YAML:\n")), text
    p = person(rng)
    hobbies = "".join(f"\n  - {hobby}" for hobby in p.hobbies)
    text = f"name: {p.name}\nage: {p.age}\njob: {p.job}\nhobbies:{hobbies}"
    prompts = ("A YAML file describing a person:\n", f"{p.name} in YAML:\n")
    return rng.choice(prompts), text


def ini(rng: Random) -> tuple[str, str]:
    """Settings in sections."""
    port = rng.choice((80, 443, 3000, 8000, 8080))
    name = rng.choice(("users", "shop", "app", "test"))
    debug = rng.choice(("true", "false"))
    text = (
        f"[server]\nhost = localhost\nport = {port}\ndebug = {debug}\n\n[database]\nname = {name}"
    )
    return rng.choice(("A configuration file in INI format:\n", "Settings as INI:\n")), text


def query(rng: Random) -> tuple[str, str]:
    """The query of a web address."""
    term = rng.choice((*document.TAGS, *document.HOBBIES, *document.FRUIT))
    fields: dict[str, str | int] = {"q": term, "page": rng.randint(1, 5)}
    if rng.random() < 0.6:
        fields["sort"] = rng.choice(("price", "date", "name"))
    if rng.random() < 0.3:
        fields["lang"] = rng.choice(("en", "de", "fr"))
    prompts = ("A URL query for a search: ", "Search parameters: ", f"Search for {term}: ")
    return rng.choice(prompts), "?" + urlencode(fields)


TABLE_FORMATS = (
    Format("csv", 1.2, CSV_PROMPTS, csv),
    Format("yaml", 1.2, YAML_PROMPTS, yaml),
    Format("markdown table", 1.2, MARKDOWN_PROMPTS, markdown),
    Format("ini", 0.5, INI_PROMPTS, ini),
    Format("url query", 0.4, QUERY_PROMPTS, query),
)
