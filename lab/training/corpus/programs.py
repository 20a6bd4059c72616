"""Programs: C, SQL, calls.

The subset has no white space around operators nor after the brace that opens a loop or a branch,
no assignment to an array's element and at most one parameter; the programs follow it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from lab.training.corpus import document
from lab.training.corpus.document import Format, fenced, full_name, person

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
    city = rng.choice(document.CITIES)[0]
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


CODE_FORMATS = (
    Format("sql", 2.0, SQL_PROMPTS, sql),
    Format("function call", 1.2, CALL_PROMPTS, call),
    Format("dataclass", 1.0, CONSTRUCTOR_PROMPTS, constructor),
)


PROMPTS = (
    'A C program that prints "Hello, world!":\n```c\n',
    "A C main function that iterates over an array of integers and prints each one:\n```c\n",
    "A C program that prints the sum of two integers:\n```c\n",
    "The following is a program that finds the sum of two integers in C:\n```c\n",
    "A C program that fills an array with the numbers 0 to 9 and prints them:\n```c\n",
    "A C implementation of a simple bubble sort:\n```c\n",
    "A C function that returns the square of an integer:\n```c\n",
    "A C function that computes the factorial of a number:\n```c\n",
    "A C program that counts from 1 to 10:\n```c\n",
    "A C function that returns the absolute value of an integer:\n```c\n",
    "A C program that prints the larger of two integers:\n```c\n",
    "A C function that sums the numbers from 1 to n:\n```c\n",
    "A C program that converts degrees Celsius to Fahrenheit:\n```c\n",
    "A C program that prints the even numbers up to 20:\n```c\n",
    "A C function that computes the n-th Fibonacci number:\n```c\n",
)
GREETINGS = ("Hello, world!", "Hello, world!", "Hello!", "Good morning!", "Goodbye!", "Hi there!")
#: A task: its prompt, the head of its function, its statements.
Task = tuple[str, str, list[str]]
MAIN = "int main()"


def hello(rng: Random) -> Task:
    """A greeting printed."""
    text = rng.choice(GREETINGS)
    tail = rng.choice((r"\n", r"\n", ""))
    return f'A C program that prints "{text}":', MAIN, [f'printf("{text}{tail}");', "return 0;"]


def each(rng: Random) -> Task:
    """Every element of an array printed."""
    a, n = rng.choice(("a", "arr", "numbers")), rng.choice((5, 5, 10))
    loop = f'for(int i = 0; i<{n}; i = i+1){{printf("%d\\n", {a}[i]);}}'
    head = "A C main function that iterates over an array of integers and prints each one:"
    lines = [f"int {a}[{n}];", loop, "return 0;"]
    if rng.random() < 0.3:
        lines.insert(1, "// print each number")
    return head, MAIN, lines


def add(rng: Random) -> Task:
    """Two integers added."""
    x, y = rng.randint(1, 12), rng.randint(1, 12)
    p, q = rng.choice((("a", "b"), ("x", "y"), ("first", "second")))
    heads = (
        "A C program that prints the sum of two integers:",
        "The following is a program that finds the sum of two integers in C:",
        f"A C program that adds {x} and {y}:",
    )
    lines = [f"int {p} = {x};", f"int {q} = {y};", f"int sum = {p}+{q};"]
    return rng.choice(heads), MAIN, [*lines, 'printf("%d\\n", sum);', "return 0;"]


def fill(rng: Random) -> Task:
    """An array filled, then printed."""
    n = rng.choice((10, 10, 5, 20))
    head = f"A C program that fills an array with the numbers 0 to {n - 1} and prints them:"
    put = f"for(int i = 0; i<{n}; i = i+1){{set(a, i, i);}}"
    show = f'for(int i = 0; i<{n}; i = i+1){{printf("%d\\n", a[i]);}}'
    return head, MAIN, [f"int a[{n}];", put, show, "return 0;"]


def bubble(rng: Random) -> Task:
    """Bubble sort."""
    n = rng.choice((5, 10, 10, 20))
    inner = "if(a[j]>a[j+1]){swap(a, j, j+1);}"
    loop = f"for(int i = 0; i<{n}; i = i+1){{for(int j = 0; j<{n - 1}-i; j = j+1){{{inner}}}}}"
    heads = ("A C implementation of a simple bubble sort:", "Bubble sort in C:")
    return rng.choice(heads), MAIN, [f"int a[{n}];", loop, "return 0;"]


def power(rng: Random) -> Task:
    """Square, cube or double."""
    word, body = rng.choice((("square", "n*n"), ("cube", "n*n*n"), ("double", "2*n")))
    kind = rng.choice(("int", "int", "float"))
    noun = "an integer" if kind == "int" else "a number"
    what = {"square": "the square of", "cube": "the cube of", "double": "the double of"}[word]
    name = "twice" if word == "double" else word
    head = f"A C function that returns {what} {noun}:"
    return head, f"{kind} {name}({kind} n)", [f"return {body};"]


def factorial(rng: Random) -> Task:
    """The factorial, by recursion or in a loop."""
    head = "A C function that computes the factorial of a number:"
    if rng.random() < 0.5:
        lines = ["if(n<=1){return 1;}", "return n*factorial(n-1);"]
        return head, "int factorial(int n)", lines
    loop = "for(int i = 1; i<=n; i = i+1){result = result*i;}"
    return head, "int factorial(int n)", ["int result = 1;", loop, "return result;"]


def count(rng: Random) -> Task:
    """Counting up or down."""
    n = rng.choice((5, 10, 10, 10, 20, 100))
    if rng.random() < 0.35:
        lines = [f"int i = {n};", 'while(i>0){printf("%d\\n", i); i = i-1;}return 0;']
        return f"A C program that counts down from {n}:", MAIN, lines
    loop = f'for(int i = 1; i<={n}; i = i+1){{printf("%d\\n", i);}}'
    heads = (f"A C program that counts from 1 to {n}:", f"Print the numbers 1 to {n} in C:")
    return rng.choice(heads), MAIN, [loop, "return 0;"]


def absolute(rng: Random) -> Task:
    """The absolute value."""
    kind, noun = rng.choice((("int", "an integer"), ("float", "a number")))
    head = f"A C function that returns the absolute value of {noun}:"
    x = rng.choice(("x", "n"))
    lines = [f"if({x}<0){{return -{x};}}", f"return {x};"]
    if rng.random() < 0.3:
        lines = [f"if({x}<0){{return -{x};}}else{{return {x};}}"]
    return head, f"{kind} absolute({kind} {x})", lines


def larger(rng: Random) -> Task:
    """The larger or smaller of two."""
    x, y = rng.sample(range(1, 13), 2)
    word, sign = rng.choice((("larger", ">"), ("smaller", "<")))
    branch = f'if(a{sign}b){{printf("%d\\n", a);}}else{{printf("%d\\n", b);}}'
    head = f"A C program that prints the {word} of two integers:"
    return head, MAIN, [f"int a = {x};", f"int b = {y};", branch, "return 0;"]


def total(rng: Random) -> Task:
    """The sum from 1 to n."""
    heads = ("A C function that sums the numbers from 1 to n:", "Sum the numbers from 1 to n in C:")
    if rng.random() < 0.2:
        return rng.choice(heads), "int sum(int n)", ["return n*(n+1)/2;"]
    loop = "for(int i = 1; i<=n; i = i+1){sum = sum+i;}"
    return rng.choice(heads), "int sum_to(int n)", ["int sum = 0;", loop, "return sum;"]


def convert(rng: Random) -> Task:
    """Degrees or kilometres converted."""
    if rng.random() < 0.6:
        head = "A C program that converts degrees Celsius to Fahrenheit:"
        lines = [f"float celsius = {rng.randint(10, 40)};", "float fahrenheit = celsius*9/5+32;"]
        return head, MAIN, [*lines, 'printf("%f\\n", fahrenheit);', "return 0;"]
    head = "A C program that converts kilometres to miles:"
    lines = [f"float km = {rng.randint(1, 50)};", "float miles = km*1000/1609;"]
    return head, MAIN, [*lines, 'printf("%f\\n", miles);', "return 0;"]


def every(rng: Random) -> Task:
    """Even or odd numbers."""
    n = rng.choice((10, 20, 20, 50))
    word, start = rng.choice((("even", 2), ("odd", 1)))
    loop = f'for(int i = {start}; i<={n}; i = i+2){{printf("%d\\n", i);}}'
    return f"A C program that prints the {word} numbers up to {n}:", MAIN, [loop, "return 0;"]


def fibonacci(rng: Random) -> Task:
    """Fibonacci numbers by recursion."""
    head = rng.choice(
        ("A C function that computes the n-th Fibonacci number:", "Fibonacci numbers in C:")
    )
    lines = ["if(n<2){return n;}", "return fibonacci(n-1)+fibonacci(n-2);"]
    return head, "int fibonacci(int n)", lines


def area(rng: Random) -> Task:
    """A rectangle's area."""
    w, h = rng.randint(2, 12), rng.randint(2, 12)
    head = "A C program that computes the area of a rectangle:"
    lines = [f"int width = {w};", f"int height = {h};", "int area = width*height;"]
    return head, MAIN, [*lines, 'printf("%d\\n", area);', "return 0;"]


def table(rng: Random) -> Task:
    """A multiplication table."""
    n = rng.randint(2, 12)
    loop = f'for(int i = 1; i<=10; i = i+1){{printf("%d\\n", {n}*i);}}'
    return f"A C program that prints the multiplication table of {n}:", MAIN, [loop, "return 0;"]


def read(rng: Random) -> Task:
    """Numbers read and added up."""
    a = rng.choice(("a", "numbers"))
    n = rng.choice((3, 5, 10))
    head = f"A C program that reads {n} numbers and prints their sum:"
    loop = f'for(int i = 0; i<{n}; i = i+1){{scanf("%d", {a}+i); sum = sum+{a}[i];}}'
    lines = [f"int {a}[{n}];", "int sum = 0;", loop, 'printf("%d\\n", sum);', "return 0;"]
    return head, MAIN, lines


TASKS: tuple[Callable[[Random], Task], ...] = (
    hello,
    hello,
    each,
    each,
    add,
    add,
    fill,
    bubble,
    power,
    factorial,
    count,
    absolute,
    larger,
    total,
    convert,
    every,
    fibonacci,
    area,
    table,
    read,
)


def layout(rng: Random, head: str, lines: list[str]) -> str:
    """The function written out: a line for each statement, or all on one."""
    if rng.random() < 0.12 and not any(line.startswith("//") for line in lines):
        return f"{head}{{" + "".join(lines) + "}"
    pad = rng.choice(("  ", "  ", "    "))
    return f"{head} {{\n" + "".join(f"{pad}{line}\n" for line in lines) + "}"


def make(rng: Random) -> tuple[str, str]:
    """A task and its program."""
    prompt, head, lines = rng.choice(TASKS)(rng)
    return f"{prompt}\n```c\n", fenced(rng, layout(rng, head, lines))


C_FORMATS = (Format("c program", 6.0, PROMPTS, make),)
