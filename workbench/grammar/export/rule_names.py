"""Renames rules to distinct names that another notation reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from workbench.syntax.gbnf.macros import MACROS, OF_TOKENS


@dataclass(frozen=True, slots=True)
class Alphabet:
    """What names may look like."""

    #: What is none of these characters becomes ``joint``.
    allowed: re.Pattern[str]
    joint: str
    #: Written before a name that would begin otherwise than this.
    begins: re.Pattern[str]
    head: str
    lower: bool = False
    #: Words that mean something else to whoever reads the notation.
    reserved: frozenset[str] = frozenset()

    def name(self, wanted: str) -> str:
        """A legal name that looks like the one wanted."""
        cased = wanted.lower() if self.lower else wanted
        kept = self.joint.join(self.allowed.findall(cased))
        return kept if self.begins.match(kept) else self.head + kept


KBNF = Alphabet(re.compile(r"[A-Za-z0-9_]+"), "_", re.compile(r"[A-Za-z_]"), "rule_")
#: Values and macros of xgrammar, which it takes no rule to be named by.
_OF_XGRAMMAR = frozenset({"true", "false", *MACROS, *OF_TOKENS})
#: llama.cpp reads no ``_`` in names.
GBNF = Alphabet(
    re.compile(r"[A-Za-z0-9]+"), "-", re.compile(r"[A-Za-z]"), "rule-", reserved=_OF_XGRAMMAR
)
LARK = Alphabet(re.compile(r"[a-z0-9_]+"), "_", re.compile(r"_?[a-z]"), "rule_", lower=True)


@dataclass(slots=True, eq=False)
class Names:
    """The names of one text, each given to one rule."""

    alphabet: Alphabet
    _given: dict[str, str] = field(default_factory=dict)
    _taken: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._taken = {*self.alphabet.reserved}

    @staticmethod
    def of(alphabet: Alphabet, start: str, rules: Iterable[str], first: str) -> Names:
        """``first`` is what the rule ``start`` is called; the others keep theirs if they can."""
        names = Names(alphabet)
        names._given[start] = first
        names._taken.add(first)
        for rule in rules:
            if rule not in names._given:
                names._given[rule] = names.fresh(rule)
        return names

    def __getitem__(self, rule: str) -> str:
        return self._given[rule]

    def fresh(self, wanted: str) -> str:
        """A name no rule has."""
        return next(self.series(wanted))

    def series(self, wanted: str) -> Iterator[str]:
        """Names no rule has: the one wanted, then with numbers."""
        stem = self.alphabet.name(wanted)
        for number in count(1):
            name = stem if number == 1 else f"{stem}{self.alphabet.joint}{number}"
            if name not in self._taken:
                self._taken.add(name)
                yield name

    def free(self, name: str) -> None:
        """No rule has this name after all."""
        self._taken.remove(name)
