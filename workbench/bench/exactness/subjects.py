"""Subject: a constraint by its text; the benchmark's, the gallery's, hard ones and made-up ones."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from workbench.bench.cases import CASES
from workbench.bench.exactness import made_up
from workbench.bench.exactness.columns import Recogniser
from workbench.bench.exactness.reading import bodies_of_grammar, body_of_regex
from workbench.bench.exactness.terms import Terms
from workbench.gallery import load_gallery
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.notations import Notation, written
from workbench.source import Source
from workbench.syntax.regex.parser import parse_regex

#: More than the page allows, since the machine is its owner's; what comes to them is counted.
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
        """The engine's reading of it.

        Raises: ParseError, BuildError, LimitError.
        """
        return Grammar.from_text(
            self.text, self.notation, self.start, limits=LIMITS, name=self.name
        )

    def recogniser(self) -> Recogniser:
        """The slow reading of it, from the same tree.

        Raises: ParseError, BuildError, LimitError.
        """
        terms, source = Terms(), Source(self.text, self.name)
        if self.notation is Notation.REGEX:
            return Recogniser(body_of_regex(parse_regex(source), terms), "start", terms)
        read = written(source, self.notation, self.start, LIMITS)
        return Recogniser(bodies_of_grammar(read.tree, terms), read.start, terms)


def known_subjects() -> list[Subject]:
    """The constraints of the benchmark, the examples of the gallery and the hard grammars."""
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
        Subject(e.name, e.notation, e.text, e.start, e.accepts) for e in load_gallery().values()
    ]
    return found + [Subject(name, Notation.KBNF, text) for name, text in made_up.HARD.items()]


def made_up_subject(random: Random, number: int) -> Subject:
    """A random regex or grammar."""
    if random.random() < 0.4:
        return Subject(f"regex {number}", Notation.REGEX, made_up.regex(random))
    return Subject(f"grammar {number}", Notation.KBNF, made_up.grammar(random))
