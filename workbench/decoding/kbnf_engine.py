"""The API of the KBNF engine, on top of the exact automaton.

The KBNF engine allows a token if its bytes can be read, even if the vocabulary lacks tokens to
complete the text, and even if the text leads into a rule that never ends. The exact automaton
excludes both. Therefore it is compiled here for a vocabulary with every byte, and a second
automaton reads the prefixes that can never be completed.

The engine differs from a ``Constraint`` in one rule: it finishes eagerly, at the first complete
sentence, and accepts nothing after it. Not implemented: the released engine's configuration
(caches, compaction and integer widths change no result) and its defects.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.arguments import checked
from workbench.base.dfa import State
from workbench.base.errors import BuildError, WorkbenchError
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import Source
from workbench.constraint.engine.automaton import AutomatonConstraint, automaton
from workbench.decoding.forced_suffix import unproductive_prefixes
from workbench.grammar.grammar import Grammar
from workbench.grammar.notations import Notation
from workbench.pushdown.build import build, check_defined
from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import GrammarTree, labels_in_rules
from workbench.syntax.kbnf.kbnf_parser import parse_kbnf
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The states of the grammar and of its unproductive prefixes; None after a text it cannot read.
LanguageState = tuple[State | None, State | None]


class EngineLanguage:
    """The part of an engine that clones share: the automata, and the strict rows."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        sentences: AutomatonConstraint | None,
        unproductive: AutomatonConstraint | None,
    ) -> None:
        self.vocabulary = vocabulary
        #: The grammar's language; None if it derives no text.
        self.sentences = sentences
        #: The prefixes that can never be completed; None if there are none.
        self.unproductive = unproductive
        self.initial: LanguageState = (
            None if sentences is None else sentences.initial,
            None if unproductive is None else unproductive.initial,
        )
        self._strict_rows: dict[LanguageState, npt.NDArray[np.bool_]] = {}

    def step(self, state: LanguageState, byte: int) -> LanguageState | None:
        """The state after a byte, or None if it cannot be read."""
        there = (_step(self.sentences, state[0], byte), _step(self.unproductive, state[1], byte))
        return None if there == (None, None) else there

    def is_final(self, state: LanguageState) -> bool:
        """Whether the text is a sentence."""
        return (
            self.sentences is not None
            and state[0] is not None
            and self.sentences.is_final(state[0])
        )

    def row(self, state: LanguageState) -> npt.NDArray[np.bool_]:
        """The tokens that can be read (V,)."""
        size = len(self.vocabulary)
        allowed = np.zeros(size, np.bool_)
        for constraint, current in zip((self.sentences, self.unproductive), state, strict=True):
            if constraint is not None and current is not None:
                allowed |= constraint.mask(current).bools[:size]
        allowed[list(self.vocabulary.ends)] = False
        return allowed

    def strict_row(self, state: LanguageState) -> npt.NDArray[np.bool_]:
        """The tokens that can be read and end at or before the first finishing byte (V,)."""
        row = self._strict_rows.get(state)
        if row is None:
            row = np.zeros(len(self.vocabulary), np.bool_)
            row[self._strict_walk(state)] = True
            self._strict_rows[state] = row
        return row

    def _strict_walk(self, initial: LanguageState) -> list[TokenId]:
        """One walk of the trie; nodes below a finishing byte are skipped.

        Cost: a Python step for each node that can be read. It is no kernel, since this rule exists
              only for comparison with an old release.
        """
        trie = self.vocabulary.trie
        token_ids: list[TokenId] = []
        path = [initial] * (trie.height + 1)
        node = 0
        while node < len(trie):
            level = int(trie.depth[node])
            there = self.step(path[level], int(trie.byte[node]))
            if there is None:
                node = int(trie.skip[node])
                continue
            token_ids.extend(trie.token_ids[trie.first[node] : trie.first[node + 1]].tolist())
            path[level + 1] = there
            node = int(trie.skip[node]) if self.is_final(there) else node + 1
        return token_ids


def _step(constraint: AutomatonConstraint | None, state: State | None, byte: int) -> State | None:
    if constraint is None or state is None:
        return None
    return constraint.step_bytes(state, bytes((byte,)))


def compile_language(
    text: str, start: str, vocabulary: Vocabulary, limits: Limits
) -> EngineLanguage:
    """Compile the automata of a grammar: its sentences, and its unproductive prefixes.

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
    prefixes = unproductive_prefixes(tree, start)
    if prefixes is None:
        return EngineLanguage(vocabulary, compiled(tree, start), None)
    try:
        sentences = compiled(tree, start)
    except BuildError as error:
        if error.kind != "unproductive":
            raise
        sentences = None  # its texts can be read but never end, as in the released engine
    return EngineLanguage(vocabulary, sentences, compiled(*prefixes))


def _with_all_bytes(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary, extended by the single bytes that are not tokens.

    If every byte is a token, any text can be continued in tokens, so the exact automaton excludes
    no token that the engine allows.
    """
    missing = [bytes((b,)) for b in range(256) if b not in vocabulary.single_bytes]
    if not missing:
        return vocabulary
    return Vocabulary(
        (*vocabulary.tokens, *missing),
        end=vocabulary.ends,
        special=vocabulary.special,
        name=vocabulary.name,
    )


class Advance(Enum):
    """The result of ``Engine.advance``."""

    #: Taken; the sentence continues.
    CONTINUE = "continue"
    #: Taken; a sentence is complete and nothing more is accepted.
    EXHAUSTED = "exhausted"
    #: Refused; the state is unchanged.
    INVALID = "invalid"


class Engine:
    """A KBNF grammar that reads tokens and computes which may come next.

    A token is acceptable if all its bytes can be read. The engine is finished as soon as the
    text, at any byte of a token, is a sentence; the empty text is never one. With ``strict`` a
    token may not extend beyond the finishing byte (the rule of release 0.2.9). The engine does
    not use end tokens.

    Raises: ParseError, BuildError, LimitError for the grammar.
    Source: the KBNF design post, 2024; the released engine if the two differ.
    """

    @checked
    def __init__(
        self,
        grammar: str,
        vocabulary: Vocabulary,
        start: str = "start",
        strict: bool = False,
        limits: Limits = LIMITS,
    ) -> None:
        self.vocabulary = vocabulary
        self.strict = strict
        self._language = compile_language(grammar, start, vocabulary, limits)
        self._state = self._language.initial
        self._finished = False

    def __repr__(self) -> str:
        return f"Engine({self.vocabulary!r}, {'finished' if self._finished else 'not finished'})"

    @property
    def is_finished(self) -> bool:
        """Whether a sentence is complete."""
        return self._finished

    def reset(self) -> None:
        """Back to the empty text."""
        self._state = self._language.initial
        self._finished = False

    def clone(self) -> Engine:
        """Another engine in the same state; grammar, vocabulary and masks are shared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    __copy__ = clone

    def __deepcopy__(self, _: object) -> Engine:
        return self.clone()

    def advance(self, token_id: TokenId) -> Advance:
        """Take a token. A refused one (also an unknown or special id) changes nothing."""
        if not 0 <= token_id < len(self.vocabulary):
            return Advance.INVALID
        token = self.vocabulary.tokens[token_id]
        return Advance.INVALID if token is None else self.advance_bytes(token)

    def advance_bytes(self, data: bytes) -> Advance:
        """Take raw bytes as if they were one token; no bytes change nothing."""
        if self._finished:
            return Advance.INVALID
        state, finished = self._state, False
        for byte in data:
            there = self._language.step(state, byte)
            if there is None or (finished and self.strict):
                return Advance.INVALID
            state, finished = there, finished or self._language.is_final(there)
        self._state, self._finished = state, finished
        return Advance.EXHAUSTED if finished else Advance.CONTINUE

    def current_possible_tokens(self) -> list[TokenId]:
        """The ids ``advance`` would take now, sorted; empty once finished."""
        token_ids: list[TokenId] = np.flatnonzero(self._allowed_tokens()).tolist()
        return token_ids

    def update_logits_from_tokens(self, logits: Any) -> Advance:  # noqa: ANN401  # numpy or torch
        """Set the logits of all other tokens to −inf, in place, and return the engine's status.

        Shape:  (n,) or (1, n), n at least V; rows past V are no tokens and are also set to −inf.
        Raises: WorkbenchError for anything else.
        """
        _check_logits(logits, len(self.vocabulary))
        forbidden = np.ones(logits.shape[-1], np.bool_)
        forbidden[: len(self.vocabulary)] = ~self._allowed_tokens()
        _forbid(logits, forbidden)
        return Advance.EXHAUSTED if self._finished else Advance.CONTINUE

    def modify_possible_logits(self, token_id: TokenId, logits: Any) -> Advance:  # noqa: ANN401
        """``advance``, then ``update_logits_from_tokens`` if the sentence continues.

        Logits are changed only for ``CONTINUE``.
        Raises: WorkbenchError for logits of another shape; then the token is not taken.
        """
        _check_logits(logits, len(self.vocabulary))
        flag = self.advance(token_id)
        if flag is Advance.CONTINUE:
            self.update_logits_from_tokens(logits)
        return flag

    def _allowed_tokens(self) -> npt.NDArray[np.bool_]:
        """The tokens that may come next (V,)."""
        if self._finished:
            return np.zeros(len(self.vocabulary), np.bool_)
        row = self._language.strict_row if self.strict else self._language.row
        return row(self._state)


def _check_logits(logits: Any, size: int) -> None:  # noqa: ANN401
    """Raise if these are not logits that can be changed in place."""
    shape = getattr(logits, "shape", None)
    if shape is None or not (len(shape) == 1 or (len(shape) == 2 and shape[0] == 1)):
        raise WorkbenchError(
            f"expected an array of shape (n,) or (1, n), not {type(logits).__name__}"
            + (f" of shape {tuple(shape)}" if shape is not None else ""),
            "pass a numpy array or a torch tensor",
        )
    if shape[-1] < size:
        raise WorkbenchError(f"expected logits for {size} tokens, not for {shape[-1]}")
    if "float" not in str(logits.dtype):  # numpy: float32, torch: torch.bfloat16
        raise WorkbenchError(f"expected logits as floating-point numbers, not {logits.dtype}")


def _forbid(logits: Any, forbidden: npt.NDArray[np.bool_]) -> None:  # noqa: ANN401
    """Set logits to −inf in place."""
    if isinstance(logits, np.ndarray):
        logits[..., forbidden] = -np.inf
    else:
        # a torch tensor: its methods build the mask on its device, so torch is not imported here
        logits.masked_fill_(logits.new_tensor(forbidden).bool(), -np.inf)
