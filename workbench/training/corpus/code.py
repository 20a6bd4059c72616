"""Queries and calls: SQL, function calls, dataclass constructors, tool calls."""

from __future__ import annotations

import json
from random import Random

from workbench.training.corpus import words
from workbench.training.corpus.document import Format
from workbench.training.corpus.people import full_name, person

SQL_PROMPTS = (
    "A SQL query that lists the names of all users older than 30:\n",
    "A SQL query that counts all orders:\n",
    "A SQL query that lists all products by price, least first:\n",
)
CALL_PROMPTS = (
    "What is the weather in Paris?\nFunction call: ",
    "Send Bob an e-mail. Function call: ",
)
CONSTRUCTOR_PROMPTS = (
    "A person as a Python dataclass: ",
    "Ada Lovelace, 36, as a Python dataclass: ",
    "A point in Python: ",
)
#: Table: columns with numbers, columns with words.
TABLES = {
    "users": (("age",), ("name", "city", "email")),
    "products": (("price", "stock"), ("name", "category")),
    "orders": (("total", "quantity"), ("customer", "status")),
    "employees": (("salary", "age"), ("name", "department")),
    "books": (("year", "pages"), ("title", "author")),
    "students": (("grade", "age"), ("name", "school")),
}
#: What such a number is compared with.
LIMITS = {
    "age": (10, 18, 20, 30, 40, 50, 65),
    "price": (5, 10, 20, 50, 100),
    "stock": (1, 5, 10, 100),
    "total": (10, 50, 100, 500),
    "quantity": (1, 2, 5, 10),
    "salary": (30000, 40000, 50000, 80000),
    "year": (1850, 1900, 1950, 2000, 2020),
    "pages": (100, 200, 300, 500),
    "grade": (2, 3, 5, 10),
}
VALUES = {
    "city": ("Paris", "London", "Berlin", "Rome", "Tokyo"),
    "category": ("kitchen", "garden", "sport"),
    "status": ("open", "shipped", "cancelled"),
    "department": ("sales", "finance", "research"),
    "author": ("Jane Austen", "Mary Shelley", "Jules Verne"),
    "school": ("North School", "South School"),
}


def sql(rng: Random) -> tuple[str, str]:
    """A request in words and its query."""
    table = rng.choice(tuple(TABLES))
    numbers, texts = TABLES[table]
    number, shown = rng.choice(numbers), texts[0]
    limit = rng.choice(LIMITS[number])
    kind = rng.choice(("compare", "compare", "where", "count", "order", "average", "all", "insert"))
    word, sign = rng.choice((("greater", ">"), ("less", "<")))
    if kind == "compare" and number == "age":
        word = {"greater": "older", "less": "younger"}[word]
        what = f"lists the {shown}s of all {table} {word} than {limit}"
        query = f"SELECT {shown} FROM {table} WHERE age {sign} {limit};"
    elif kind in ("compare", "insert"):
        what = f"lists the {shown}s of all {table} with a {number} {word} than {limit}"
        query = f"SELECT {shown} FROM {table} WHERE {number} {sign} {limit};"
    elif kind == "where":
        column = next(c for c in texts if c in VALUES)
        value = rng.choice(VALUES[column])
        what = f"lists all {table} whose {column} is {value}"
        query = f"SELECT * FROM {table} WHERE {column} = '{value}';"
    elif kind == "count":
        what, query = f"counts all {table}", f"SELECT COUNT(*) FROM {table};"
    elif kind == "order":
        down = rng.random() < 0.5
        what = f"lists all {table} by {number}, {'greatest' if down else 'least'} first"
        query = f"SELECT * FROM {table} ORDER BY {number}{' DESC' if down else ''};"
    elif kind == "average":
        what = f"finds the average {number} of all {table}"
        query = f"SELECT AVG({number}) FROM {table};"
    else:
        what, query = f"lists all {table}", f"SELECT * FROM {table};"
    head = rng.choice(("A SQL query that", "A SQL query that", "An SQL query that", "SQL that"))
    return f"{head} {what}:\n", query


def call(rng: Random) -> tuple[str, str]:
    """A request and the function call that answers it."""
    city = rng.choice(words.CITIES)[0]
    name = full_name(rng)[0]
    unit = rng.choice(("celsius", "celsius", "fahrenheit"))
    hour = rng.randint(6, 20)
    a, b = rng.randint(1, 20), rng.randint(1, 20)
    options: tuple[tuple[str, str, dict[str, str | int]], ...] = (
        (f"What is the weather in {city}?", "get_weather", {"city": city, "unit": "celsius"}),
        (f"Temperature in {city} in {unit}?", "get_weather", {"city": city, "unit": unit}),
        (f"Wake me at {hour:02}:30.", "set_alarm", {"time": f"{hour:02}:30"}),
        (f"Send {name} an e-mail.", "send_email", {"to": name}),
        (f"What is {a} plus {b}?", "add", {"a": a, "b": b}),
        (f"Book a table for {a % 6 + 2} in {city}.", "book", {"city": city, "guests": a % 6 + 2}),
        (f"Translate 'hello' into {rng.choice(('French', 'German'))}.", "translate", {}),
    )
    ask, function, arguments = rng.choice(options)
    if function == "translate":
        language = "French" if "French" in ask else "German"
        arguments = {"text": "hello", "to": language}
    if rng.random() < 0.3:
        tool = json.dumps({"name": function, "arguments": arguments}, ensure_ascii=False)
        return f"{ask}\nTool call: ", tool
    inside = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in arguments.items())
    return ask + rng.choice(("\nFunction call: ", " Function call: ")), f"{function}({inside})"


def constructor(rng: Random) -> tuple[str, str]:
    """A dataclass built: a person, a point, a date, a book."""
    p = person(rng)
    x, y = rng.randint(-9, 9), rng.randint(-9, 9)
    kind = rng.choice(("person", "person", "named", "named", "point", "colour"))
    if kind == "point":
        prompts = ("A point in Python: ", f"The point at {x} and {y} as a Python dataclass: ")
        return rng.choice(prompts), f"Point(x={x}, y={y})"
    if kind == "colour":
        return "The colour red as a Python dataclass: ", "Colour(red=255, green=0, blue=0)"
    first = rng.random() < 0.4
    name = p.first if first else p.name
    more = f', job="{p.job}"' if kind == "person" and rng.random() < 0.4 else ""
    text = f'Person(name="{name}", age={p.age}{more})'
    if kind == "person":
        prompts = ("A person as a Python dataclass: ", "A Python dataclass of a person: ")
        return rng.choice(prompts), text
    return f"{name}, {p.age}, as a Python dataclass: ", text


FORMATS = (
    Format("sql", 2.0, SQL_PROMPTS, sql),
    Format("function call", 1.2, CALL_PROMPTS, call),
    Format("dataclass", 1.0, CONSTRUCTOR_PROMPTS, constructor),
)
