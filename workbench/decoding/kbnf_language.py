"""What the KBNF engine reads: a grammar and a vocabulary come in, bytes and rows of tokens go out.

The engine calls a token possible where its bytes can be read: whether or not the vocabulary can
spell what has to follow, and also into rules that never finish. The exact automaton trims both, so
this language runs it over a vocabulary with every byte, and beside it a second one for the texts
that stay open for ever.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.automata.dfa import State
from workbench.constraint.automaton import AutomatonConstraint
from workbench.constraint.compile import automaton
from workbench.decoding.endless import endless
from workbench.errors import BuildError
from workbench.grammar import Grammar
from workbench.limits import Limits
from workbench.notations import Notation
from workbench.pushdown.build import build
from workbench.pushdown.cfg import gathered
from workbench.pushdown.checks import check_defined
from workbench.source import Source
from workbench.syntax.grammar_tree import GrammarTree
from workbench.syntax.kbnf.parser import parse_kbnf
from workbench.syntax.tree_labels import labels_in_rules
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: Where the grammar stands, and where its beginnings without end do; None where it cannot be.
Place = tuple[State | None, State | None]


class Language:
    """What clones share: the automata, and the rows of the strict rule."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        sentences: AutomatonConstraint | None,
        endless: AutomatonConstraint | None,
    ) -> None:
        self.vocabulary = vocabulary
        #: The grammar's language; None where it derives no text at all.
        self.sentences = sentences
        #: The beginnings that can be read and never finished; None where there are none.
        self.endless = endless
        self.initial: Place = (
            None if sentences is None else sentences.initial,
            None if endless is None else endless.initial,
        )
        self._strict_rows: dict[Place, npt.NDArray[np.bool_]] = {}

    def step(self, state: Place, byte: int) -> Place | None:
        """The state after a byte, or None where it cannot be read."""
        there = (_step(self.sentences, state[0], byte), _step(self.endless, state[1], byte))
        return None if there == (None, None) else there

    def is_final(self, state: Place) -> bool:
        """Whether the text is a sentence."""
        return (
            self.sentences is not None
            and state[0] is not None
            and self.sentences.is_final(state[0])
        )

    def row(self, state: Place) -> npt.NDArray[np.bool_]:
        """The tokens that can be read (V,)."""
        size = len(self.vocabulary)
        found = np.zeros(size, np.bool_)
        for constraint, at in zip((self.sentences, self.endless), state, strict=True):
            if constraint is not None and at is not None:
                found |= constraint.mask(at).bools[:size]
        if self.vocabulary.end is not None:
            found[self.vocabulary.end] = False
        return found

    def strict_row(self, state: Place) -> npt.NDArray[np.bool_]:
        """The tokens that can be read and do not reach beyond the first finishing byte (V,)."""
        known = self._strict_rows.get(state)
        if known is None:
            known = np.zeros(len(self.vocabulary), np.bool_)
            known[self._strict_walk(state)] = True
            self._strict_rows[state] = known
        return known

    def _strict_walk(self, initial: Place) -> list[TokenId]:
        """One walk of the trie; everything below a finishing byte is left out.

        Cost: a Python step for each node that can be read; no kernel, since this rule is
              a switch for comparison with an old release.
        """
        trie = self.vocabulary.trie
        found: list[TokenId] = []
        path = [initial] * (trie.height + 1)
        node = 0
        while node < len(trie):
            level = int(trie.depth[node])
            there = self.step(path[level], int(trie.byte[node]))
            if there is None:
                node = int(trie.skip[node])
                continue
            found.extend(trie.token_ids[trie.first[node] : trie.first[node + 1]].tolist())
            path[level + 1] = there
            node = int(trie.skip[node]) if self.is_final(there) else node + 1
        return found


def _step(constraint: AutomatonConstraint | None, state: State | None, byte: int) -> State | None:
    if constraint is None or state is None:
        return None
    return constraint.step_bytes(state, bytes((byte,)))


def language(text: str, start: str, vocabulary: Vocabulary, limits: Limits) -> Language:
    """The automata of a grammar: of its sentences, and of what is read and never becomes one.

    Raises: ParseError, BuildError, LimitError.
    """
    source = Source(text, "grammar")
    tree = parse_kbnf(source)
    for label, span in labels_in_rules(tree):
        raise BuildError(
            f"this engine does not read {label.name}",
            source,
            span,
            "'compile' does, with Grammar.from_kbnf(text)",
            kind="unsupported_regex",
        )
    spellable = _with_all_bytes(vocabulary)

    def compiled(part: GrammarTree, name: str) -> AutomatonConstraint:
        machine = build(part, name, limits)
        return automaton(Grammar(source, Notation.KBNF, machine, start=name), spellable, limits)

    check_defined(tree, gathered(tree), start)
    beyond = endless(tree, start)
    if beyond is None:
        return Language(vocabulary, compiled(tree, start), None)
    try:
        sentences = compiled(tree, start)
    except BuildError as error:
        if error.kind != "unproductive":
            raise
        sentences = None  # it is read for ever, as in the released engine
    return Language(vocabulary, sentences, compiled(*beyond))


def _with_all_bytes(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary with the single bytes it lacks as further tokens.

    The engine calls a token possible where its bytes can be read, whether or not the
    vocabulary can spell what has to follow. With every byte a token, no dead end exists
    that the exact automaton would trim.
    """
    missing = [bytes((b,)) for b in range(256) if b not in vocabulary.single_bytes]
    if not missing:
        return vocabulary
    return Vocabulary(
        (*vocabulary.tokens, *missing),
        end=vocabulary.end,
        special=vocabulary.special,
        name=vocabulary.name,
    )
