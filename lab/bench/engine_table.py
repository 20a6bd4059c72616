"""Writes ``docs/engines.md``: six ways to a mask, with our measurements and those of libraries.

``python -m lab.bench.engine_table`` measures and writes the file. Libraries that are not
installed are left out; the extra ``peers`` has them.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from lab.bench.cases import CASES
from lab.bench.peers.registry import ENGINES as LIBRARIES
from workbench.app.lessons.lesson_reader import lesson
from workbench.base.errors import WorkbenchError
from workbench.base.limits import Limits
from workbench.base.text_tables import format_table
from workbench.constraint.compile import compile
from workbench.constraint.mask_comparison import MaskComparison, compare_masks
from workbench.constraint.masks import TokenMask
from workbench.engines.case import Case
from workbench.engines.peer import greedy_tokens
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.vocabulary.toy_vocabularies import toy
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: Where the page is, in a checkout.
PAGE = Path(__file__).parents[2] / "docs" / "engines.md"

_LIMITS = Limits(seconds=120.0)


@dataclass(frozen=True, slots=True)
class Way:
    """An engine's way to a mask, in words, and the method that computes it here."""

    name: str
    method: str
    before: str
    step: str
    memory: str


WAYS = (
    Way("this engine", "automaton",
        "the machine of the grammar only",
        "one mask row for each new state, by a walk of the trie in kernels; kept by state",
        "the rows of visited states"),
    Way("xgrammar", "xgrammar",
        "for each position: accepted, rejected and context-dependent tokens",
        "unite entries; read the context-dependent tokens with the stack",
        "an entry for each position, in the smallest of three forms"),
    Way("llguidance", "llguidance",
        "slices of the vocabulary; nothing for the grammar",
        "walk the trie with lexer and Earley parser, without the tokens of a slice that fits",
        "the tries of the slices, and the rows of the text"),
    Way("GreatGramma", "greatgramma",
        "sequences of terminals by lexer state, tried with each parser state",
        "unite the sequences that are always accepted; parse the others with the stack",
        "an entry for each lexer state and parser state"),
    Way("SynCode", "syncode",
        "for each lexer state and next terminal the tokens that are read through both",
        "unite the rows of the accept sequences",
        "a row for each lexer state and terminal"),
    Way("Pre³", "pre3",
        "edges with conditions on the top of the stack, reductions included",
        "read the sequences of terminals by a lookup for each terminal; more after right recursion",
        "the edges, and the sequences of terminals"),
)  # fmt: skip

#: Small grammars over all tokens of one or two of their letters, for the claims sound and complete.
SMALL = {
    "the longest match loses texts": "start ::= word 'a'; word ::= #'a+';",
    "a word that may be a name": "start ::= 'if ' #'[a-c]+' | #'[a-c]+' ';';",
    "right recursion": "start ::= '(' list ')'; list ::= 'a' list | 'a';",
    "left recursion": "start ::= start ',' x | x; x ::= #'[0-9]+';",
    "an optional part": "start ::= 'a'? 'b' #'c*';",
}


def small_vocabulary(text: str) -> Vocabulary:
    """All letters of a grammar's terminals that the small grammars use, and all pairs of them."""
    letters = [c for c in "abcif ;(),0" if c in text or c in "ab"]
    return toy([*letters, *(one + other for one in letters for other in letters)])


def lists() -> tuple[Grammar, Vocabulary]:
    """The grammar and the vocabulary of the lesson *Other engines, opened*."""
    world = lesson("engines").steps[0].world
    return world.grammar, world.vocabulary


def claims(method: str) -> list[tuple[str, MaskComparison | None]]:
    """Comparisons with the exact masks over the lesson's lists and the small grammars.

    None where the method refuses the grammar.
    """
    found: list[tuple[str, MaskComparison | None]] = []
    cases = {name: (Grammar.from_kbnf(t), small_vocabulary(t)) for name, t in SMALL.items()}
    for name, (grammar, vocabulary) in {"lists": lists(), **cases}.items():
        try:
            found.append((name, compare_masks(grammar, vocabulary, method, length=4, most=400)))
        except WorkbenchError:
            found.append((name, None))
    return found


def claim_rows() -> Iterator[list[str]]:
    """The table of what is computed when, and what the comparisons show."""
    yield ["engine", "before the first mask", "at a step", "memory", "sound", "complete"]
    for way in WAYS:
        found = [(name, one) for name, one in claims(way.method) if one is not None]
        unsound = [name for name, one in found if not one.is_sound]
        incomplete = [name for name, one in found if not one.is_complete]
        yield [
            way.name, way.before, way.step, way.memory, _claim(unsound), _claim(incomplete),
        ]  # fmt: skip


def _claim(failing: Sequence[str]) -> str:
    return f"✗ ({'; '.join(failing)})" if failing else "✓"


# -- measurements ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """One engine on one case; times in their units, None where they do not apply."""

    name: str
    before_ms: float
    entries: int | None
    bytes: int | None
    new_mask_us: Sequence[float]
    allowed_wrongly: int
    forbidden_wrongly: int

    def row(self) -> list[str]:
        """Cells of the table."""
        return [
            self.name,
            f"{self.before_ms:,.1f}",
            "–" if self.entries is None else f"{self.entries:,}",
            "–" if self.bytes is None else f"{self.bytes:,}",
            f"{median(self.new_mask_us):,.1f}",
            f"{max(self.new_mask_us):,.1f}",
            f"{self.allowed_wrongly:,}",
            f"{self.forbidden_wrongly:,}",
        ]


_HEADS = [
    "engine", "before the first mask, ms", "entries", "bytes", "new mask, median µs",
    "slowest µs", "allowed wrongly", "forbidden wrongly",
]  # fmt: skip


def exact_masks(
    grammar: Grammar, vocabulary: Vocabulary, walk: Sequence[TokenId]
) -> list[TokenMask]:
    """The exact masks before each token of a text, and after the last one."""
    made, masks = compile(grammar, vocabulary, limits=_LIMITS), list[TokenMask]()
    state = made.initial
    for token_id in walk:
        masks.append(made.mask(state))
        state = made.advance(state, token_id)
    return [*masks, made.mask(state)]


def measured(
    way: Way, grammar: Grammar, vocabulary: Vocabulary, walk: Sequence[TokenId]
) -> Measured:
    """A method here: its tables are complete before the first mask; equal states count once."""
    begun = time.process_time()
    made: Any = compile(grammar, vocabulary, way.method, _LIMITS)
    before = made.precompute() if hasattr(made, "precompute") else None
    before_ms = (time.process_time() - begun) * 1e3
    state, seen, times = made.initial, set[Any](), list[float]()
    allowed = forbidden = 0
    for place, exact in enumerate(exact_masks(grammar, vocabulary, walk)):
        begun = time.process_time()
        mask = made.mask(state)
        if state not in seen:
            times.append((time.process_time() - begun) * 1e6)
        seen.add(state)
        allowed += _more(mask.bits, exact.bits)
        forbidden += _more(exact.bits, mask.bits)
        if place < len(walk):
            state = made.advance(state, walk[place])
    entries = len(seen) if before is None else before.entries
    size = sum(made.mask(one).bits.nbytes for one in seen) if before is None else before.bytes
    return Measured(way.name, before_ms, entries, size, times, allowed, forbidden)


def _more(bits: Any, others: Any) -> int:  # noqa: ANN401  # packed masks
    return int(np.bitwise_count(bits & ~others).sum())


def library(
    name: str, case: Case, grammar: Grammar, vocabulary: Vocabulary, walk: Sequence[TokenId]
) -> Measured | None:
    """An installed library on a case; None if it cannot read the grammar or refuses the text."""
    peer = LIBRARIES[name].load()(vocabulary)
    make = peer.compiler(case)
    if make is None:
        return None
    begun = time.process_time()
    compiled = make()
    before_ms = (time.process_time() - begun) * 1e3
    walker, times = peer.start(compiled), list[float]()
    allowed = forbidden = 0
    for place, exact in enumerate(exact_masks(grammar, vocabulary, walk)):
        begun = time.process_time()
        walker.mask()
        times.append((time.process_time() - begun) * 1e6)
        bits = peer.bits() & TokenMask.of(range(len(vocabulary)), len(vocabulary)).bits
        allowed += _more(bits, exact.bits)
        forbidden += _more(exact.bits, bits)
        if place < len(walk) and walker.advance(walk[place]) is False:
            return None
    size = getattr(compiled, "memory_size_bytes", None)
    title = f"{name} {LIBRARIES[name].version} (library)"
    return Measured(title, before_ms, None, size, times, allowed, forbidden)


_WALK = '["ab",["a","ab"],[[]],"",["b"]]'


def cases() -> Iterator[tuple[str, Case, Vocabulary]]:
    """The lesson's lists with its 16 tokens, and JSON with the embedded vocabulary."""
    grammar, vocabulary = lists()
    kbnf = f"start ::= {grammar.start};\n{grammar.source.text}"
    yield "Lists, 16 tokens", Case("lists", _WALK, written=(Notation.KBNF, kbnf)), vocabulary
    builtin = Vocabulary.load("builtin")
    yield f"JSON, {len(builtin):,} tokens of the embedded model", CASES["json_cfg"], builtin


def measurement_tables() -> Iterator[str]:
    """A section for each case."""
    for title, case, vocabulary in cases():
        text = case.kbnf if case.written is None else case.written[1]
        assert text is not None, "the cases have KBNF"
        grammar, walk = Grammar.from_kbnf(text), greedy_tokens(case.walk, vocabulary)
        rows = [_HEADS]
        rows += [measured(way, grammar, vocabulary, walk).row() for way in WAYS]
        for name in ("xgrammar", "llguidance", "llguidance-no-forcing"):
            if LIBRARIES[name].version:
                made = library(name, case, grammar, vocabulary, walk)
                rows += [made.row()] if made is not None else []
        yield f"### {title}\n\n`{case.walk}`, {len(walk)} tokens.".replace("\n  ", " ")
        yield format_table(rows, "markdown")


_HEAD = """# Six ways to one mask

Written by `python -m lab.bench.engine_table`; every number is measured or counted. The
lesson *Other engines, opened* shows each way step by step. The five other engines are methods of
this library (`workbench/constraint/methods`), in Python, from the published ideas. Their sizes show
what each way stores; their times are not those of the engines. Rows marked *library* are the
packages of the engines.

*Sound*: a token is allowed only if some accepted text continues with it. *Complete*: every such
token is allowed. (SynCode's paper calls the second one sound.) A ✓ says that no difference from the
exact masks was found after any text of up to four tokens (400 masks at most) of the lesson's lists
and of the small grammars in `engine_table.py`; a ✗ names the grammars with a difference. The tests
compare more grammars. The vocabularies have every byte that a grammar uses as a token, as those of
byte-level BPE do. Without it the methods of the five other engines may allow a token after which
bytes lead to an accepted text and tokens do not."""

_MEASURES = """## Measurements

*Before the first mask* is the time from the grammar to complete tables, for a library from the
grammar's text to its compiled grammar. *Entries* and *bytes* are those of the tables; for this
engine, of the masks of the visited states. *New mask* is the first mask of each state of the text;
of a library every mask counts, as it does not report its states. *Wrongly* counts tokens in all
masks of the text, against the exact ones. Times are the process's CPU time, which other programs of
the machine change less than wall-clock time."""


def page() -> str:
    """The whole page."""
    today = datetime.now(UTC).date().isoformat()
    where = (
        f"{today}, Python {platform.python_version()}, numpy {version('numpy')}, one thread;"
        f" {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the beginning."
    )
    parts = [_HEAD, format_table(list(claim_rows()), "markdown"), _MEASURES, where]
    return "\n\n".join([*parts, *measurement_tables()]) + "\n"


def main() -> None:
    """Measure, and write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
