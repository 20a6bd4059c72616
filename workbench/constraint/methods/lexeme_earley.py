"""The method ``llguidance``: a lexer by derivatives, an Earley parser over lexemes, and slices.

Nothing is computed for the grammar in advance. The lexer's state is a set of lexemes, each with
what is still to be read of it: a derivative of its regex, here a state of its minimal automaton,
which is the class of all equal derivatives. Only lexemes that the last Earley row can read are
begun. A lexeme ends before the first byte that none of them reads: the longest match. Then all
lexemes that are complete at this place are scanned, which makes the next row.

A mask is one walk of the vocabulary's trie with lexer and parser; most bytes are read by the lexer
alone. *Slices* shorten it: a slice is a regex, such as up to ten characters of a JSON string, with
the set of tokens that match it. If a lexeme of the state can read every text of the slice, its
tokens are allowed together, and only the others are walked.

By the longest match a text has one segmentation. If the grammar needs another one, the text is
refused, or can be continued and never ended: ``'a'+ 'a'`` accepts no text here.
Where every text is the longest match of its terminals, the masks are those of the grammar.

Source: llguidance (Moskal and others), ``docs/optimizations.md`` and ``toktrie``; Brzozowski 1964;
Earley 1970.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from lark.grammar import Symbol as LarkSymbol
from lark.grammar import Terminal

from workbench.base.dfa import DEAD, Dfa
from workbench.base.errors import BuildError
from workbench.base.limits import LIMITS, Limits, check_time_budget, time_budget
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.methods.domino.scanner import Terminals, terminals_of
from workbench.constraint.methods.lalr import RuleWriter, refuse_empty_language
from workbench.constraint.methods.recogniser import forced
from workbench.constraint.token_by_token import Precomputed, TokenByToken
from workbench.constraint.token_machine import CachedMasks
from workbench.grammar.grammar import Grammar
from workbench.grammar.label_bytes import over_bytes
from workbench.vocabulary.trie import Trie
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The slices for JSON: short texts without quotes, backslashes and control characters.
JSON_SLICES = (
    r'[^"\\\x00-\x1F\x7F]{1,10}',
    r'[^"\\\x00-\x1F\x7F]{1,30}',
    r'[^"\\\x00-\x1F\x7F]+',
)

#: A rule, how many of its symbols are read, and the number of the row in which it began.
Item = tuple[int, int, int]

#: A symbol of a rule: a terminal from 0, or −1 − the number of a nonterminal.
Symbol = int


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """An Earley row: the items after some lexemes.

    Equal kernels have one row, so a repetition makes no new rows.
    """

    number: int
    #: By lexeme: the items after reading it.
    scans: dict[int, frozenset[Item]]
    #: By nonterminal: the items after reading it.
    callers: dict[int, list[Item]]
    items: frozenset[Item]
    accepts: bool


class EarleyParser:
    """An Earley parser over terminals, row by row.

    Raises: LimitError past ``limits.configurations`` items in a row, or ``limits.states`` rows.
    """

    def __init__(self, terminals: Terminals, limits: Limits) -> None:
        self._limits = limits
        self.rules: list[tuple[Symbol, tuple[Symbol, ...]]] = []
        self._of: dict[int, list[int]] = {}
        writer = RuleWriter(terminals)
        for number, rule in enumerate(writer.rules):
            symbols = tuple(map(_symbol, rule.expansion))
            self.rules.append((_symbol(rule.origin), symbols))
            self._of.setdefault(_symbol(rule.origin), []).append(number)
        #: The nonterminals' names, by number.
        self.names: tuple[str, ...] = writer.names
        self.rows: list[Row] = []
        self._numbers: dict[frozenset[Item], int] = {}
        start = frozenset((rule, 0, 0) for rule in self._of[-1])
        self.initial = self._row(start)

    def _row(self, kernel: frozenset[Item]) -> Row:
        number = self._numbers.get(kernel)
        if number is None:
            number = self._numbers[kernel] = len(self.rows)
            self._limits.check("states", number, "the text is too long for an Earley parser")
            self.rows.append(self._complete(kernel, number))
        return self.rows[number]

    def _complete(self, kernel: frozenset[Item], number: int) -> Row:
        """Earley's predictor and completer, to a fixed point."""
        callers: dict[int, list[Item]] = {}
        scans: dict[int, set[Item]] = {}
        seen, queue = set(kernel), deque(kernel)
        finished = set[int]()  # nonterminals that derive the empty text here
        while queue:
            rule, read, begun = queue.popleft()
            nonterminal, symbols = self.rules[rule]
            new = list[Item]()
            if read == len(symbols):
                if begun == number:
                    finished.add(nonterminal)
                above = callers if begun == number else self.rows[begun].callers
                new = list(above.get(nonterminal, ()))
            elif (symbol := symbols[read]) >= 0:
                scans.setdefault(symbol, set()).add((rule, read + 1, begun))
            else:
                after = (rule, read + 1, begun)
                callers.setdefault(symbol, []).append(after)
                new = [(predicted, 0, number) for predicted in self._of[symbol]]
                new += [after] if symbol in finished else []
            fresh = [item for item in dict.fromkeys(new) if item not in seen]
            seen.update(fresh)
            queue.extend(fresh)
            self._limits.check("configurations", len(seen), "the grammar is too ambiguous here")
        accepts = any(
            self.rules[rule][0] == -1 and read == len(self.rules[rule][1]) and begun == 0
            for rule, read, begun in seen
        )
        frozen = {lexeme: frozenset(items) for lexeme, items in scans.items()}
        return Row(number, frozen, callers, frozenset(seen), accepts)

    def scanned(self, row: Row, lexemes: Iterable[int]) -> Row | None:
        """The row after any of some lexemes; None if none of them may come."""
        kernel = frozenset(item for lexeme in lexemes for item in row.scans.get(lexeme, ()))
        return self._row(kernel) if kernel else None


def _symbol(symbol: LarkSymbol) -> Symbol:
    number = int(symbol.name[1:])
    return number if isinstance(symbol, Terminal) else -1 - number


#: The lexemes that may be being read, each with the state of its automaton.
Lexing = frozenset[tuple[int, int]]

#: The number of an Earley row, and the lexer's state after the lexemes of the row; empty where a
#: lexeme has not begun.
LexedState = tuple[int, Lexing]

_NOT_BEGUN: Lexing = frozenset()


@dataclass(frozen=True, eq=False)
class Slice:
    """A regex, its tokens, and the trie of all tokens that it and earlier slices leave."""

    regex: str
    dfa: Dfa
    #: The tokens of this slice and the earlier ones, (V,).
    tokens: npt.NDArray[np.bool_]
    #: The other tokens.
    rest: Trie


def slices_of(regexes: Sequence[str], vocabulary: Vocabulary) -> tuple[Slice, ...]:
    """The slices of a vocabulary, the one with the most tokens first; the last are cached with it.

    As of the grammar, only texts are kept whose bytes are all in the vocabulary.

    Cost: each token is read by the automaton of each regex, and a trie for each: 2 s for 131k
          tokens.
    """
    latest, key = vocabulary.derived(_LatestSlices), tuple(regexes)
    if latest.regexes != key:
        latest.regexes, latest.slices = key, _slices(key, vocabulary)
    return latest.slices


class _LatestSlices:
    """The slices of a vocabulary that were computed last."""

    def __init__(self, _: Vocabulary) -> None:
        self.regexes: tuple[str, ...] | None = None
        self.slices: tuple[Slice, ...] = ()


def _slices(regexes: tuple[str, ...], vocabulary: Vocabulary) -> tuple[Slice, ...]:
    slices = []
    for regex in regexes:
        try:
            dfa = over_bytes(Grammar.from_regex(regex), vocabulary.alphabet).dfa
        except BuildError:  # none of its texts is left
            continue
        assert dfa is not None, "a regex has a DFA"
        tokens = np.array([_accepts(dfa, token) for token in vocabulary.tokens], np.bool_)
        others = [
            None if inside else t for inside, t in zip(tokens, vocabulary.tokens, strict=True)
        ]
        slices.append(Slice(regex, dfa, tokens, Trie.of(others)))
    return tuple(sorted(slices, key=lambda each: -int(each.tokens.sum())))


def _accepts(dfa: Dfa, token: bytes | None) -> bool:
    check_time_budget()
    return token is not None and dfa.accepts(token)


def _reads_all(texts: Dfa, machine: Dfa, state: int) -> bool:
    """Whether a machine can read every text of another one from a state."""
    queue, seen = deque([(texts.initial, state)]), {(texts.initial, state)}
    while queue:
        inner, outer = queue.popleft()
        check_time_budget()
        for byte in range(256):
            target = texts.step(inner, byte), machine.step(outer, byte)
            if target[0] == DEAD or target in seen:
                continue
            if target[1] == DEAD:
                return False
            seen.add(target)
            queue.append(target)
    return True


class LexemeConstraint(CachedMasks, TokenByToken[LexedState]):
    """A grammar by lexer and Earley parser; masks by a walk of the trie, without what slices allow.

    ``slices`` is ``json``, ``none``, or the regex of one slice.

    Raises: LimitError where the grammar is too ambiguous; VocabularyError for an empty language;
            ParseError where ``slices`` is no regex.
    """

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary,
        limits: Limits = LIMITS,
        *,
        slices: str = "json",
    ) -> None:
        refuse_empty_language(grammar, vocabulary)
        self.vocabulary, self.limits = vocabulary, limits
        terminals = terminals_of(grammar, limits.begun())
        self.lexemes = tuple(terminal.name for terminal in terminals.each)
        self.machines = [terminal.dfa for terminal in terminals.each]
        self.parser = EarleyParser(terminals, limits)
        named = {"json": JSON_SLICES, "none": ()}
        self.slices = slices_of(named.get(slices, (slices,)), vocabulary)
        self._contained: dict[tuple[str, int, int], bool] = {}
        self.step = lru_cache(maxsize=limits.rows)(self._step)

    @property
    def initial(self) -> LexedState:
        return self.parser.initial.number, _NOT_BEGUN

    def row(self, state: LexedState) -> Row:
        """The last Earley row of a state."""
        return self.parser.rows[state[0]]

    def _begin(self, row: Row) -> Lexing:
        """The lexemes that a row can read, at their beginning."""
        return frozenset((lexeme, self.machines[lexeme].initial) for lexeme in row.scans)

    def lexing(self, state: LexedState) -> Lexing:
        """The lexemes that may be being read, or may begin."""
        return state[1] or self._begin(self.row(state))

    def _read(self, lexing: Lexing, byte: int) -> Lexing:
        """The lexemes after a byte: the derivatives of each that are not empty."""
        steps = ((lexeme, self.machines[lexeme].step(state, byte)) for lexeme, state in lexing)
        return frozenset((lexeme, state) for lexeme, state in steps if state != DEAD)

    def complete(self, lexing: Lexing) -> list[int]:
        """The lexemes that may end here."""
        return [lexeme for lexeme, state in lexing if self.machines[lexeme].is_final(state)]

    def _step(self, state: LexedState, byte: int) -> LexedState | None:
        """The state after a byte; only where no lexeme reads it, the parser is needed."""
        number, lexing = state
        row = self.parser.rows[number]
        if there := self._read(self.lexing(state), byte):
            return number, there
        after = self.parser.scanned(row, self.complete(lexing))
        if after is None:
            return None
        there = self._read(self._begin(after), byte)
        return (after.number, there) if there else None

    def is_final(self, state: LexedState) -> bool:
        row, lexing = self.row(state), state[1]
        if lexing:
            after = self.parser.scanned(row, self.complete(lexing))
            return after is not None and after.accepts
        return row.accepts

    def fitting(self, state: LexedState) -> Slice | None:
        """The largest slice whose every text one lexeme of a state can read."""
        lexing = self.lexing(state)
        for text_slice in self.slices:
            if any(
                self._contains(text_slice, lexeme, lexer_state) for lexeme, lexer_state in lexing
            ):
                return text_slice
        return None

    def _contains(self, text_slice: Slice, lexeme: int, lexer_state: int) -> bool:
        """Whether a lexeme in a state can read every text of a slice: a walk of both machines."""
        key = text_slice.regex, lexeme, lexer_state
        if key not in self._contained:
            self._contained[key] = _reads_all(text_slice.dfa, self.machines[lexeme], lexer_state)
        return self._contained[key]

    def _mask(self, state: LexedState) -> TokenMask:
        with time_budget(self.limits.seconds):
            allowed = self._walk(state)[0]
        allowed[list(self.vocabulary.ends)] = self.is_final(state)
        return TokenMask(pack(allowed), len(self.vocabulary))

    def walked(self, state: LexedState) -> tuple[int, int]:
        """The nodes of the trie that a mask visits, and those at which a lexeme ends."""
        return self._walk(state)[1:]

    def _walk(self, state: LexedState) -> tuple[npt.NDArray[np.bool_], int, int]:
        """The tokens with bytes that may come next, and the numbers of ``walked``."""
        allowed, trie = np.zeros(len(self.vocabulary), np.bool_), self.vocabulary.trie
        if (text_slice := self.fitting(state)) is not None:
            allowed, trie = text_slice.tokens.copy(), text_slice.rest
        path: list[LexedState] = [state] * (trie.height + 1)
        byte, depth, skip = trie.byte, trie.depth, trie.skip
        node = visited = parsed = 0
        while node < len(trie):
            check_time_budget()
            visited += 1
            level, code = int(depth[node]), int(byte[node])
            parsed += not self._read(self.lexing(path[level]), code)
            there = self.step(path[level], code)
            if there is None:
                node = int(skip[node])
                continue
            path[level + 1] = there
            allowed[trie.token_ids[trie.first[node] : trie.first[node + 1]]] = True
            node += 1
        return allowed, visited, parsed

    def target(self, state: LexedState, token_id: TokenId) -> LexedState | None:
        token = self.bytes_of(token_id)
        current: LexedState | None = None if token is None else state
        for byte in token or b"":
            if current is None:
                break
            current = self.step(current, byte)
        return current

    def forced(self, state: LexedState, most: int = sys.maxsize) -> bytes:
        return forced(self, state, most, self.limits.clock())

    def precompute(self) -> Precomputed:
        """The slices of the vocabulary: nothing is computed for a grammar."""
        sizes = [
            text_slice.tokens.nbytes // 8 + 4 * len(text_slice.rest) for text_slice in self.slices
        ]
        return Precomputed(len(sizes), sum(sizes))
