"""Sums and formal languages: arithmetic, aⁿbⁿ, balanced brackets, palindromes."""

from __future__ import annotations

from random import Random

from workbench.training.corpus.document import Format
from workbench.training.corpus.words import listed

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
    """An expression without spaces, brackets where they matter or please."""
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


FORMATS = (
    Format("sum", 2.0, SUM_PROMPTS, sums),
    Format("expression", 1.0, EXPRESSION_PROMPTS, expression),
    Format("a^n b^n", 0.5, ANBN_PROMPTS, anbn),
    Format("brackets", 0.5, BRACKET_PROMPTS, brackets),
    Format("palindrome", 0.4, PALINDROME_PROMPTS, palindrome),
)
