"""Arithmetic, formal languages and word problems.

GSM8K's problems are too hard for a small model; it can solve the generated ones.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from lab.training.corpus import document
from lab.training.corpus.document import Document, Format, listed

SUM_PROMPTS = ("12 + 7 = ", "9 * 8 = ", "What is 20 - 6? ")
EXPRESSION_PROMPTS = ("An arithmetic expression: ", "A Python expression: ", "Calculate: ")
ANBN_PROMPTS = ("As many b as a: ", "Three a, then as many b: ", "Three a: ")
BRACKET_PROMPTS = ("Balanced brackets: ", "Balanced parentheses: ")
PALINDROME_PROMPTS = (
    "A palindrome: ",
    "A palindrome of a and b: ",
    "A palindrome with a marked centre: ",
)
COUNTS = listed("one two three four five six seven eight")
PALINDROMES = listed("level radar civic kayak madam refer rotor noon deed racecar stats anna otto")


def sums(rng: Random) -> tuple[str, str]:
    """A small sum and its result."""
    sign = rng.choice("++--*/")
    a, b = rng.randint(1, 30), rng.randint(1, 30)
    if sign == "-":
        if rng.random() < 0.85:
            a, b = max(a, b), min(a, b)
        result = a - b
    elif sign == "*":
        a, b = rng.randint(2, 10), rng.randint(2, 10)
        result = a * b
    elif sign == "/":
        b, result = rng.randint(2, 10), rng.randint(1, 10)
        a = b * result
    else:
        result = a + b
    if rng.random() < 0.7:
        return f"{a} {sign} {b} = ", str(result)
    word = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}[sign]
    prompts = (f"What is {a} {sign} {b}? ", f"What is {a} {word} {b}? ", f"{a}{sign}{b}=")
    return rng.choice(prompts), str(result)


def tree(rng: Random, depth: int) -> str:
    """An expression without spaces, with necessary and some redundant brackets."""
    if depth == 0 or rng.random() < 0.3:
        return str(rng.randint(1, 12))
    text = f"{tree(rng, depth - 1)}{rng.choice('+-*/')}{tree(rng, depth - 1)}"
    return f"({text})" if rng.random() < 0.45 else text


def expression(rng: Random) -> tuple[str, str]:
    """An expression of digits, signs and brackets."""
    text = f"{tree(rng, 1)}{rng.choice('+-*/')}{tree(rng, 2)}"
    prompt = rng.choice(("An arithmetic expression: ", "Calculate: ", "A formula: "))
    if rng.random() < 0.3:
        prompt = "A Python expression: "
        spaced = rng.choice(("x + 1", "2 * x + 3", "len(items) - 1", "a * (b + c)", "x ** 2"))
        text = rng.choice((text, spaced, "(a + b) / 2", "sum(values) / len(values)"))
    return prompt, text


def anbn(rng: Random) -> tuple[str, str]:
    """Some a, then as many b."""
    n = min(1 + int(rng.expovariate(0.35)), 8)
    if rng.random() < 0.15:
        return rng.choice((f"{COUNTS[n - 1].capitalize()} a: ", f"{n} times a: ")), "a" * n
    if rng.random() < 0.4:
        return f"{COUNTS[n - 1].capitalize()} a, then as many b: ", "a" * n + "b" * n
    prompts = ("As many b as a: ", "As many b as a: ", "a^n b^n: ", "First a, then as many b: ")
    return rng.choice(prompts), "a" * n + "b" * n


def nest(rng: Random, pairs: tuple[str, ...], left: int) -> str:
    """Brackets that close in order: ``left`` pairs at most."""
    if left <= 0:
        return ""
    inside = rng.randint(0, left - 1)
    pair = rng.choice(pairs)
    rest = nest(rng, pairs, left - 1 - inside) if rng.random() < 0.6 else ""
    return pair[0] + nest(rng, pairs, inside) + pair[1] + rest


def brackets(rng: Random) -> tuple[str, str]:
    """Balanced brackets of one kind or three."""
    if rng.random() < 0.3:
        return "Balanced parentheses: ", nest(rng, ("()",), rng.randint(2, 5))
    return "Balanced brackets: ", nest(rng, ("()", "[]", "{}"), rng.randint(2, 5))


def palindrome(rng: Random) -> tuple[str, str]:
    """A word, or letters, that read the same backwards."""
    if rng.random() < 0.5:
        return rng.choice(("A palindrome: ", "A word that is a palindrome: ")), rng.choice(
            PALINDROMES
        )
    half = "".join(rng.choices("ab", k=rng.randint(1, 4)))
    if rng.random() < 0.4:
        return "A palindrome with a marked centre: ", f"{half}c{half[::-1]}"
    return "A palindrome of a and b: ", half + half[::-1]


SUM_FORMATS = (
    Format("sum", 2.0, SUM_PROMPTS, sums),
    Format("expression", 1.0, EXPRESSION_PROMPTS, expression),
    Format("a^n b^n", 0.5, ANBN_PROMPTS, anbn),
    Format("brackets", 0.5, BRACKET_PROMPTS, brackets),
    Format("palindrome", 0.4, PALINDROME_PROMPTS, palindrome),
)


DATA = Path(__file__).parent.parent / "data"
QUESTION = (
    "Q: A baker makes 24 rolls in the morning and twice as many in the afternoon. "
    "How many rolls does he make?\n"
)
PROMPTS = (f"{QUESTION}A: ",)
GSM8K_JSON_PROMPTS = (f"{QUESTION}A: (Response in JSON)\n",)
NOTE = re.compile(r"<<(?P<calculation>[^<>=]*)=(?P<result>[^<>=]*)>>")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


@cache
def problems(name: str) -> tuple[tuple[str, str], ...]:
    """The questions and answers of one file in ``data``: ``train`` or ``held_out``."""
    with gzip.open(DATA / f"gsm8k_{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return tuple((row["question"], row["answer"]) for row in rows)


def as_prose(question: str, answer: str) -> tuple[str, str]:
    """Question and answer without the calculator's annotations."""
    return f"Q: {question}\nA: ", NOTE.sub("", answer)


def number(text: str) -> int | float | None:
    """A result as JSON writes it, or None where it does not parse."""
    text = text.replace(",", "").removeprefix("$").strip()
    text = re.sub(r"^(-?)\.", r"\g<1>0.", text)
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return int(value) if value == int(value) else value


def gsm8k_json(question: str, answer: str) -> tuple[str, str] | None:
    """The same as thoughts in JSON; None where a line has not exactly one clean annotation."""
    steps, _, final = answer.rpartition("\n#### ")
    total = number(final)
    thoughts = []
    for line in filter(None, (line.strip() for line in steps.split("\n"))):
        notes = list(NOTE.finditer(line))
        if not notes:
            continue
        result = number(notes[0]["result"])
        if len(notes) > 1 or result is None:
            return None
        step = NOTE.sub("", line)
        thought = {"step": step, "calculation": notes[0]["calculation"], "result": result}
        thoughts.append(thought)
    if not thoughts or total is None or thoughts[-1]["result"] != total:
        return None
    text = json.dumps({"thoughts": thoughts, "answer": total}, ensure_ascii=False)
    return f"Q: {question}\nA: (Response in JSON)\n", text


@cache
def json_problems(name: str) -> tuple[tuple[str, str], ...]:
    """All problems of a file whose annotations parse, as prompt and JSON."""
    return tuple(pair for q, a in problems(name) if (pair := gsm8k_json(q, a)) is not None)


def make_prose(rng: Random) -> tuple[str, str]:
    """A training problem as prose."""
    return as_prose(*rng.choice(problems("train")))


def make_json(rng: Random) -> tuple[str, str]:
    """A training problem as JSON."""
    return rng.choice(json_problems("train"))


def held_out() -> tuple[Document, ...]:
    """The held-out test questions in both forms; not used in training."""
    prose = [Document("gsm8k prose", *as_prose(q, a)) for q, a in problems("held_out")]
    return (*prose, *(Document("gsm8k json", *pair) for pair in json_problems("held_out")))


GSM8K_FORMATS = (
    Format("gsm8k prose", 14.0, PROMPTS, make_prose),
    Format("gsm8k json", 6.0, GSM8K_JSON_PROMPTS, make_json),
)


PROSE_PROMPTS = (
    "Q: Tom has 12 apples. He buys 7 more and eats 4. How many apples does he have now?\nA: ",
    "Q: Mary buys 3 books for 5 dollars each. How much does she pay?\nA: ",
)
JSON_PROMPTS = (
    "Q: Tom has 12 apples. He buys 7 more and eats 4. How many apples does he have now?\n"
    "A: (Response in JSON)\n",
    "Q: Mary buys 3 books for 5 dollars each. How much does she pay?\nA: (Response in JSON)\n",
)
ANSWER_PROMPTS = (
    "Q: Tom has 12 apples. He buys 7 more and eats 4. How many apples does he have now?\nAnswer: ",
)
FOOD = listed("apples oranges pears plums cookies sweets cherries bananas")
GOODS = listed("books pens tickets cups lamps shirts toys plants")
KEPT = listed("stamps marbles coins cards shells stickers")


@dataclass(frozen=True, slots=True)
class Problem:
    """A question and its steps: text, calculation, result."""

    question: str
    steps: tuple[tuple[str, str, int], ...]

    @property
    def answer(self) -> int:
        return self.steps[-1][2]


def someone(rng: Random) -> tuple[str, str]:
    """A name and its pronoun."""
    female = rng.random() < 0.5
    return rng.choice(document.FEMALE if female else document.MALE), "she" if female else "he"


def having(rng: Random) -> Problem:
    """Some, then more, then fewer."""
    name, who = someone(rng)
    things, eaten = (
        (rng.choice(FOOD), "eats") if rng.random() < 0.6 else (rng.choice(KEPT), "loses")
    )
    a, b = rng.randint(3, 20), rng.randint(2, 12)
    c = rng.randint(1, min(a + b - 1, 9))
    got = rng.choice(("buys", "finds", "gets"))
    question = (
        f"{name} has {a} {things}. {who.capitalize()} {got} {b} more and {eaten} {c}. "
        f"How many {things} does {who} have now?"
    )
    first = f"With {b} more {name} has {a} + {b} = {a + b} {things}."
    last = f"After that {who} has {a + b} - {c} = {a + b - c} {things}."
    return Problem(question, ((first, f"{a}+{b}", a + b), (last, f"{a + b}-{c}", a + b - c)))


def paying(rng: Random) -> Problem:
    """Some things at one price, perhaps with change."""
    name, who = someone(rng)
    n, price, goods = rng.randint(2, 9), rng.randint(2, 9), rng.choice(GOODS)
    total = n * price
    cost = f"{n} {goods} cost {n} * {price} = {total} dollars."
    start = f"{name} buys {n} {goods} for {price} dollars each."
    if rng.random() < 0.5:
        return Problem(f"{start} How much does {who} pay?", ((cost, f"{n}*{price}", total),))
    note = rng.choice([x for x in (20, 50, 100) if x >= total])
    question = f"{start} {who.capitalize()} pays with {note} dollars. How much change is there?"
    rest = f"The change is {note} - {total} = {note - total} dollars."
    return Problem(
        question, ((cost, f"{n}*{price}", total), (rest, f"{note}-{total}", note - total))
    )


def sharing(rng: Random) -> Problem:
    """A number of things shared by a number of people."""
    name, _ = someone(rng)
    friends, each, things = rng.randint(2, 8), rng.randint(2, 9), rng.choice((*FOOD, *KEPT))
    total = friends * each
    question = (
        f"{name} shares {total} {things} equally among {friends} friends. "
        f"How many {things} does each friend get?"
    )
    step = f"Each friend gets {total} / {friends} = {each} {things}."
    return Problem(question, ((step, f"{total}/{friends}", each),))


def together(rng: Random) -> Problem:
    """One has some, another has more by a number; the sum."""
    (a, _), (b, _) = someone(rng), someone(rng)
    if a == b:
        b = "Kim"
    n, more, things = rng.randint(2, 15), rng.randint(1, 9), rng.choice((*FOOD, *KEPT))
    twice = rng.random() < 0.4
    second = 2 * n if twice else n + more
    how = f"twice as many {things} as {a}" if twice else f"{more} more {things} than {a}"
    sum_of = f"2 * {n}" if twice else f"{n} + {more}"
    question = f"{a} has {n} {things}. {b} has {how}. How many {things} do they have together?"
    first = f"{b} has {sum_of} = {second} {things}."
    last = f"Together they have {n} + {second} = {n + second} {things}."
    calculation = sum_of.replace(" ", "")
    return Problem(question, ((first, calculation, second), (last, f"{n}+{second}", n + second)))


def working(rng: Random) -> Problem:
    """Pay by the hour, hours a day, days."""
    name, who = someone(rng)
    wage, hours, days = rng.randint(8, 20), rng.randint(2, 8), rng.randint(2, 6)
    daily = wage * hours
    question = (
        f"{name} earns {wage} dollars an hour and works {hours} hours a day. "
        f"How much does {who} earn in {days} days?"
    )
    first = f"In one day {name} earns {wage} * {hours} = {daily} dollars."
    last = f"In {days} days {who} earns {daily} * {days} = {daily * days} dollars."
    total = daily * days
    return Problem(question, ((first, f"{wage}*{hours}", daily), (last, f"{daily}*{days}", total)))


def problem(rng: Random) -> Problem:
    """One of the five kinds, the hardest of them seldom."""
    return rng.choice((having, having, paying, paying, sharing, together, together, working))(rng)


def prose(rng: Random) -> tuple[str, str]:
    """A line for each step, then the answer as GSM8K writes it."""
    p = problem(rng)
    lines = [*(said for said, _, _ in p.steps), f"#### {p.answer}"]
    return f"Q: {p.question}\nA: ", "\n".join(lines)


def word_problem_json(rng: Random) -> tuple[str, str]:
    """Thoughts and answer."""
    p = problem(rng)
    thoughts = [{"step": s, "calculation": c, "result": r} for s, c, r in p.steps]
    text = json.dumps({"thoughts": thoughts, "answer": p.answer}, ensure_ascii=False)
    return f"Q: {p.question}\nA: (Response in JSON)\n", text


def answer(rng: Random) -> tuple[str, str]:
    """The number alone."""
    p = problem(rng)
    ask = rng.choice(("\nAnswer: ", "\nAnswer: ", "\nA number: "))
    return f"Q: {p.question}{ask}", str(p.answer)


WORD_PROBLEM_FORMATS = (
    Format("word problem", 2.5, PROSE_PROMPTS, prose),
    Format("word problem json", 4.5, JSON_PROMPTS, word_problem_json),
    Format("word problem answer", 1.0, ANSWER_PROMPTS, answer),
)
