"""The grammars and vocabularies of the exactness check: known ones and random ones."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from lab.bench.cases import CASES, REAL
from tests.oracles.exactness.recogniser import (
    Recogniser,
    Terms,
    bodies_of_grammar,
    body_of_regex,
)
from workbench.base.limits import Limits
from workbench.base.source import Source
from workbench.grammar.gallery import load_gallery
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation, parse_grammar
from workbench.syntax.regex.parser import parse_regex
from workbench.vocabulary.vocabulary import Vocabulary

#: The alphabet of all random texts: small, so that tokens overlap, with characters of every
#: length in UTF-8.
_CHARACTERS = ("a", "b", "c", '"', " ", "1", "é", "東", "😀")
_PLAIN = ("a", "b", "c")

_ATOMS = (
    "a", "b", "c", "é", "東", "😀", "1", " ", '"', ".", "[ab]", "[^a]", "[a-c1]", "[à-ü]", "\\w",
    "\\d", "\\s", "[^\\w]", "[東-桜]", "\\u{1F600}", "\\.", "(?:)",
)  # fmt: skip
_COUNTS = ("?", "*", "+", "{2}", "{1,3}", "{0,2}", "{2,}", "*?")

#: Grammars that each have one construction that parsers get wrong.
HARD: dict[str, str] = {
    "left and right": "start ::= start start | 'a' | 'b' start 'c';",
    "cycle": "start ::= A | 'a'; A ::= start | 'b' A;",
    "empty left": "start ::= E start 'a' | 'b'; E ::= '' | 'c';",
    "hidden left": "start ::= A 'a' | 'c'; A ::= E start | 'b'; E ::= 'a'?;",
    "indirect": "start ::= A 'a' | 'b'; A ::= B 'b' | 'c'; B ::= start 'c' | A | 'a';",
    "all empty": "start ::= A B A | 'c'; A ::= B? 'a'?; B ::= A | 'b'*;",
    "right": "start ::= 'a' start | 'b' A; A ::= 'c' A | start | '';",
    "palindromes": "start ::= 'a' start 'a' | 'b' start 'b' | 'c' | '';",
    "dangling": "start ::= 'a' start 'b' start | 'a' start | 'c';",
    "powers": "start ::= 'a' start 'a' | 'a';",
    "two stacks": "start ::= A 'c' | B; A ::= 'a' A 'b' | ''; B ::= 'a' B 'b' 'b' | 'c';",
    "inherently ambiguous": (
        "start ::= A C | D B; A ::= 'a' A 'b' | ''; C ::= 'c' C | '';"
        "D ::= 'a' D | ''; B ::= 'b' B 'c' | '';"
    ),
    "lists of lists": "start ::= '(' L ')' | 'a'; L ::= L ',' start | start | '';",
    "operators": "start ::= start '+' start | start '*' start | '(' start ')' | #'[0-9]+';",
    "useless": "start ::= 'a' B | 'b' C 'c'; B ::= B 'a'; C ::= 'c' C | 'a' D?; D ::= D;",
    "in strings": "start ::= '\"' S '\"' start?; S ::= S #'[^\"]' | '';",
    "first match": "start ::= #e'(a|b)*b' start | #e'.*東' 'c';",
    "own text": "start ::= '\"' #'(?!a)(?=[^\"]*b)[a-c]+(?<!c)' '\"' start?;",
    "words": "start ::= (W ' '?)+; W ::= #'\\\\b(a|ab)\\\\b' | #'(?!ab)[a-cé]+(?![a-cé])' 'c'?;",
    "followed": "start ::= I (',' I)*; I ::= #'[ab]+(?!,a)' | '(' start ')' #'(?<!c.)';",
    "without match": "start ::= #ex'ab|é' 'ab' start?;",
    "pieces": "start ::= '(' #substrs'abcab東c' ')' start?;",
    "counted": "start ::= '[' (S (',' S)*)? ']'; S ::= #'[^\\\\]]{0,9}!' | start | #'\\\\w{3,12}';",
    "but not": "stop ::= 'ab' | 'c'; start ::= except!(stop) 'c' | 'b' except!('a', 5) 'a' start;",
}


def regex(random: Random) -> str:
    """A random regex of about ten atoms, in the dialect of ``Grammar.from_regex``."""
    return _alternatives(random, random.choice((1, 2, 2, 3)))


def _alternatives(random: Random, depth: int) -> str:
    return "|".join(_row(random, depth) for _ in range(random.choice((1, 1, 2, 3))))


def _row(random: Random, depth: int) -> str:
    parts = []
    for _ in range(random.choice((1, 1, 2, 3))):
        grouped = depth and random.random() < 0.5
        part = f"({_alternatives(random, depth - 1)})" if grouped else random.choice(_ATOMS)
        parts.append(part + (random.choice(_COUNTS) if random.random() < 0.4 else ""))
    return "".join(parts)


def grammar(random: Random) -> str:
    """A random KBNF grammar of up to four small rules that call each other, left recursion too."""
    names = ("start", "A", "B", "C")[: random.choice((1, 2, 3, 3, 4))]
    return "\n".join(f"{name} ::= {_choice(random, names, 2)};" for name in names)


def _choice(random: Random, names: tuple[str, ...], depth: int) -> str:
    options = (_sequence(random, names, depth) for _ in range(random.choice((1, 2, 2, 3))))
    return " | ".join(options)


def _sequence(random: Random, names: tuple[str, ...], depth: int) -> str:
    return " ".join(_item(random, names, depth) for _ in range(random.choice((1, 1, 2, 2, 3))))


def _item(random: Random, names: tuple[str, ...], depth: int) -> str:
    kind = random.random()
    if kind < 0.4:
        return random.choice(names) + random.choice(("", "", "", "?", "*", "+"))
    if kind < 0.55 and depth:
        brackets = random.choice(("()", "()", "[]", "{}"))
        return f"{brackets[0]}{_choice(random, names, depth - 1)}{brackets[1]}"
    if kind < 0.65:
        return random.choice(_TERMINALS)
    return f"'{''.join(random.choices(_PLAIN, k=random.choice((0, 1, 1, 1, 2, 3))))}'"


_TERMINALS = (
    "#'[a-c]+'", "#'a|bc'", "#'[^a]'", "#'(ab)*'", "#'é|東'", "#'\\\\w+'", "#'.'",
    "#e'[ab]*c'", "#e'a+'", "#ex'ab'", "#ex'[^a]b'", "#substrs'abcba'", "#substrs'é東'",
    "except!('ab')", "except!('c', 4)",
)  # fmt: skip


def vocabulary(random: Random, number: int) -> Vocabulary:
    """About a hundred random tokens: byte strings cut anywhere, duplicates, special tokens.

    Most contain every byte; one of four only the bytes of some characters, so that tokens may
    lead to dead ends. That one is small, because both sides then search ahead.
    """
    holes = number % 4 == 3
    pieces = [_piece(random) for _ in range(random.choice((5, 20) if holes else (40, 150, 400)))]
    letters = {b for c in random.sample(_CHARACTERS, 5) for b in c.encode()}
    letters -= {random.choice("abc").encode()[0]} if random.random() < 0.5 else set()
    singles = sorted(letters) if holes else list(range(256))
    tokens: list[bytes | None] = [*(bytes((b,)) for b in singles), *pieces, None]
    tokens += random.choices([token for token in tokens if token], k=1 + len(tokens) // 20)
    random.shuffle(tokens)
    end = random.randrange(len(tokens) + 1)
    tokens.insert(end, None)
    return Vocabulary(tokens, end=end, name=f"made-up-{number}")


def _piece(random: Random) -> bytes:
    text = "".join(random.choices(_CHARACTERS, k=random.choice((1, 2, 2, 3, 4, 6, 9)))).encode()
    start = random.randrange(len(text))
    return text[start : random.randrange(start, len(text)) + 1]


#: More than the page allows; grammars that reach a limit are counted.
LIMITS = Limits(seconds=5.0, megabytes=1_024, states=200_000)


@dataclass(frozen=True, slots=True)
class Subject:
    """A regex or a grammar, and texts it accepts."""

    name: str
    notation: Notation
    text: str
    start: str = "start"
    examples: tuple[str, ...] = ()

    def grammar(self) -> Grammar:
        """The engine's grammar.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(
            self.text, self.notation, self.start, limits=LIMITS, name=self.name
        )

    def recogniser(self) -> Recogniser:
        """The slow recogniser of the same tree.

        Raises: ParseError, BuildError, LimitError.
        """
        terms, source = Terms(), Source(self.text, self.name)
        if self.notation is Notation.REGEX:
            return Recogniser(body_of_regex(parse_regex(source), terms), "start", terms)
        read = parse_grammar(source, self.notation, self.start, LIMITS)
        return Recogniser(bodies_of_grammar(read.tree, terms), read.start, terms)


def known_subjects() -> list[Subject]:
    """The benchmark's constraints and real grammars, the gallery's examples, the hard grammars."""
    found = [
        Subject(case.name, notation, text, examples=(case.walk,))
        for case in CASES.values()
        for notation, text in (
            (Notation.REGEX, case.regex),
            (Notation.KBNF, case.kbnf),
            (Notation.JSON_SCHEMA, case.schema),
        )
        if text is not None
    ]
    found += [
        Subject(case.name, *case.written, examples=(case.walk,))
        for case in REAL.values()
        if case.written is not None
    ]
    found += [
        Subject(e.name, e.notation, e.text, e.start, e.accepts) for e in load_gallery().values()
    ]
    return found + [Subject(name, Notation.KBNF, text) for name, text in HARD.items()]


def made_up_subject(random: Random, number: int) -> Subject:
    """A random regex or grammar."""
    if random.random() < 0.4:
        return Subject(f"regex {number}", Notation.REGEX, regex(random))
    return Subject(f"grammar {number}", Notation.KBNF, grammar(random))
