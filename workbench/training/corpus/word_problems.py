"""Easy word problems with right answers: as prose, as the JSON of DOMINO's listing 4, as a number.

GSM8K's own problems are too hard for a small model; on these it can be right.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from workbench.training.corpus import words
from workbench.training.corpus.document import Format
from workbench.training.corpus.words import listed

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
    """A question and its steps: what is said, what is calculated, the result."""

    question: str
    steps: tuple[tuple[str, str, int], ...]

    @property
    def answer(self) -> int:
        return self.steps[-1][2]


def someone(rng: Random) -> tuple[str, str]:
    """A name and its pronoun."""
    female = rng.random() < 0.5
    return rng.choice(words.FEMALE if female else words.MALE), "she" if female else "he"


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
    """So many shared by so many."""
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
    """One has some, another so many more, both together."""
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
    """So much an hour, so many hours a day, so many days."""
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


def as_json(rng: Random) -> tuple[str, str]:
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


FORMATS = (
    Format("word problem", 2.5, PROSE_PROMPTS, prose),
    Format("word problem json", 4.5, JSON_PROMPTS, as_json),
    Format("word problem answer", 1.0, ANSWER_PROMPTS, answer),
)
