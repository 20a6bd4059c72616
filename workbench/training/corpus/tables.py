"""Rows and settings: CSV, YAML, Markdown tables, INI, URL queries."""

from __future__ import annotations

from random import Random
from urllib.parse import urlencode

from workbench.training.corpus import words
from workbench.training.corpus.document import Format
from workbench.training.corpus.json_things import PRODUCTS
from workbench.training.corpus.people import person

CSV_PROMPTS = ("A CSV file of persons:\n", "name,age,city\n", "A CSV file of products:\n")
YAML_PROMPTS = ("A YAML file describing a person:\n", "A configuration file in YAML:\n")
MARKDOWN_PROMPTS = ("A Markdown table of persons:\n", "A Markdown table of products:\n")
INI_PROMPTS = ("A configuration file in INI format:\n",)
QUERY_PROMPTS = ("A URL query for a search: ", "Search parameters: ")


def rows(rng: Random) -> tuple[str, list[str], list[list[str]]]:
    """What the rows are about, their head and three or so of them."""
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
    term = rng.choice((*words.TAGS, *words.HOBBIES, *words.FRUIT))
    fields: dict[str, str | int] = {"q": term, "page": rng.randint(1, 5)}
    if rng.random() < 0.6:
        fields["sort"] = rng.choice(("price", "date", "name"))
    if rng.random() < 0.3:
        fields["lang"] = rng.choice(("en", "de", "fr"))
    prompts = ("A URL query for a search: ", "Search parameters: ", f"Search for {term}: ")
    return rng.choice(prompts), "?" + urlencode(fields)


FORMATS = (
    Format("csv", 1.2, CSV_PROMPTS, csv),
    Format("yaml", 1.2, YAML_PROMPTS, yaml),
    Format("markdown table", 1.2, MARKDOWN_PROMPTS, markdown),
    Format("ini", 0.5, INI_PROMPTS, ini),
    Format("url query", 0.4, QUERY_PROMPTS, query),
)
