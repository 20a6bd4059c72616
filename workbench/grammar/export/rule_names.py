"""Distinct rule names that are legal in another notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from workbench.syntax.gbnf import MACROS, OF_TOKENS


@dataclass(frozen=True, slots=True)
class NameRules:
    """The syntax of rule names in one notation."""

    #: Runs of allowed characters; the characters between them become ``joint``.
    allowed: re.Pattern[str]
    joint: str
    #: How a name begins; ``head`` is put before any other name.
    begins: re.Pattern[str]
    head: str
    lower: bool = False
    #: Words that mean something else to a reader of the notation.
    reserved: frozenset[str] = frozenset()

    def name(self, wanted: str) -> str:
        """A legal name similar to ``wanted``."""
        cased = wanted.lower() if self.lower else wanted
        kept = self.joint.join(self.allowed.findall(cased))
        return kept if self.begins.match(kept) else self.head + kept


KBNF = NameRules(re.compile(r"[A-Za-z0-9_]+"), "_", re.compile(r"[A-Za-z_]"), "rule_")
#: Values and macros of xgrammar, which cannot be rule names there.
_OF_XGRAMMAR = frozenset({"true", "false", *MACROS, *OF_TOKENS})
#: llama.cpp reads no ``_`` in names.
GBNF = NameRules(
    re.compile(r"[A-Za-z0-9]+"), "-", re.compile(r"[A-Za-z]"), "rule-", reserved=_OF_XGRAMMAR
)
LARK = NameRules(re.compile(r"[a-z0-9_]+"), "_", re.compile(r"_?[a-z]"), "rule_", lower=True)


@dataclass(slots=True, eq=False)
class Names:
    """The assigned rule names of one exported text."""

    alphabet: NameRules
    _assigned: dict[str, str] = field(default_factory=dict)
    _taken: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._taken = {*self.alphabet.reserved}

    @staticmethod
    def of(alphabet: NameRules, start: str, rules: Iterable[str], first: str) -> Names:
        """Names for rules: ``first`` for the rule ``start``; the others keep theirs if legal."""
        names = Names(alphabet)
        names._assigned[start] = first
        names._taken.add(first)
        for rule in rules:
            if rule not in names._assigned:
                names._assigned[rule] = names.fresh(rule)
        return names

    def __getitem__(self, rule: str) -> str:
        return self._assigned[rule]

    def fresh(self, wanted: str) -> str:
        """An unused name."""
        return next(self.series(wanted))

    def series(self, wanted: str) -> Iterator[str]:
        """Unused names: ``wanted``, then with numbers appended."""
        stem = self.alphabet.name(wanted)
        for number in count(1):
            name = stem if number == 1 else f"{stem}{self.alphabet.joint}{number}"
            if name not in self._taken:
                self._taken.add(name)
                yield name

    def release(self, name: str) -> None:
        """Release an unused name."""
        self._taken.remove(name)
