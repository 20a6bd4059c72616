"""Tables for the theorems of Koo's appendix B: both sides of each, for all short sequences.

Source: Koo, Liu & He 2024, Appendix B.1 (Lemma 1, Theorem 1), B.2 (Theorem 2), B.3 (Theorem 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from workbench.app.lessons.lesson import LessonError, Table
from workbench.app.lessons.lesson_world import World
from workbench.base.errors import TokenNotAllowed
from workbench.base.visible_text import visible
from workbench.constraint.compile import compile as compile_constraint
from workbench.constraint.protocol import State
from workbench.drawing.transducers import detokenizer
from workbench.vocabulary.vocabulary import TokenId

#: The most sequences of a table.
_MAX_ROWS = 60

_YES, _NO = "✓", "✗"


def transduced(world: World, *, longest: int) -> Table:
    """Theorem 1: what the transducer writes for a sequence of tokens, and their characters."""
    machine = detokenizer([token for token in world.vocabulary.tokens if token is not None])
    rows = []
    for ids in _sequences(world, longest):
        tokens = [world.vocabulary.tokens[i] or b"" for i in ids]
        written = " or ".join(sorted(_quote(text) for text in machine.transduce(tokens)))
        cycles = "  ".join(world.shown(i) for i in ids) or "none"
        rows.append((cycles, written, _quote(b"".join(tokens))))
    heads = ("cycles taken", "T(x) writes", "D(x)")
    return Table(f"All sequences of at most {longest} tokens", heads, tuple(rows))


def composed_reads(world: World, *, longest: int) -> Table:
    """Theorems 2 and 3: whether the composed machine reads x, and whether D(x) is in the language.

    Sequences whose first tokens the machine cannot read are left out: none of them continues.
    """
    constraint = compile_constraint(world.grammar, world.vocabulary, "composed")
    rows = []
    readable: dict[tuple[TokenId, ...], State] = {(): constraint.initial}
    for ids in _sequences(world, longest):
        if ids and ids[:-1] not in readable:
            continue
        try:
            if ids:
                readable[ids] = constraint.advance(readable[ids[:-1]], ids[-1])
            ends = constraint.is_final(readable[ids])
            composed = _YES if ends else f"{_NO} not final"
        except TokenNotAllowed:
            composed = f"{_NO} no edge"
        text = world.vocabulary.decode(ids)
        shown = "  ".join(world.shown(i) for i in ids) or "(nothing)"
        accepts = _YES if world.grammar.accepts(text) else _NO
        rows.append((shown, composed, _quote(text), accepts))
    heads = ("x", "composed", "D(x)", "language")
    return Table(f"Sequences of at most {longest} tokens", heads, tuple(rows))


def _sequences(world: World, longest: int) -> Iterator[tuple[TokenId, ...]]:
    """All sequences of tokens, the shorter ones first.

    Raises: LessonError if there are too many.
    """
    ids: Sequence[TokenId] = [
        i for i, token in enumerate(world.vocabulary.tokens) if token is not None
    ]
    if sum(len(ids) ** size for size in range(longest + 1)) > _MAX_ROWS:
        raise LessonError(f"expected at most {_MAX_ROWS} sequences")
    for size in range(longest + 1):
        yield from product(ids, repeat=size)


def _quote(text: bytes) -> str:
    return visible(text) or "(empty)"
