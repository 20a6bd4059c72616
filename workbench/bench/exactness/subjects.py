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
from workbench.source import Source
from workbench.syntax.kbnf_parser import parse_kbnf
from workbench.syntax.regex_parser import parse_regex

#: More than the page allows, since the machine is its owner's; what comes to them is counted.
LIMITS = Limits(seconds=5.0, megabytes=1_024, states=200_000)


@dataclass(frozen=True, slots=True)
class Subject:
    """A regex or a KBNF grammar, and texts it accepts."""

    name: str
    notation: str
    text: str
    start: str = "start"
    examples: tuple[str, ...] = ()

    def grammar(self) -> Grammar:
        """The engine's reading of it.

        Raises: ParseError, BuildError, LimitError.
        """
        if self.notation == "regex":
            return Grammar.from_regex(self.text, limits=LIMITS, name=self.name)
        return Grammar.from_kbnf(self.text, self.start, limits=LIMITS, name=self.name)

    def recogniser(self) -> Recogniser:
        """The slow reading of it, from the same tree.

        Raises: ParseError.
        """
        terms, source = Terms(), Source(self.text, self.name)
        if self.notation == "regex":
            return Recogniser(body_of_regex(parse_regex(source), terms), "start", terms)
        return Recogniser(bodies_of_grammar(parse_kbnf(source), terms), self.start, terms)


def known_subjects() -> list[Subject]:
    """The constraints of the benchmark, the examples of the gallery and the hard grammars."""
    found = [
        Subject(case.name, "regex" if case.kbnf is None else "kbnf", text, examples=(case.walk,))
        for case in CASES.values()
        if (text := case.regex or case.kbnf) is not None
    ]
    found += [
        Subject(e.name, e.notation, e.text, e.start, e.accepts) for e in load_gallery().values()
    ]
    return found + [Subject(name, "kbnf", text) for name, text in made_up.HARD.items()]


def made_up_subject(random: Random, number: int) -> Subject:
    """A random regex or grammar."""
    if random.random() < 0.4:
        return Subject(f"regex {number}", "regex", made_up.regex(random))
    return Subject(f"grammar {number}", "kbnf", made_up.grammar(random))
