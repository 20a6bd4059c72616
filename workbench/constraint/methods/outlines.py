r"""The method ``outlines``: Willard & Louf's index over a character machine.

``character_machine`` builds an ``FSM`` from a regex tree by interegular's operations (concatenate,
union, times, star). interegular's parser is not used: its ``\d`` and ``\w`` are ASCII, it does not
support ``\u``, anchors and named classes, and it enumerates every character of a set. Here the tree
comes from this project's parser, and each class of characters that no set of the regex
distinguishes is one symbol. The machines are not minimized, because ``FSM.reduce`` reverses a
machine twice, which may explode and cannot be interrupted.

``find_sub_sequences`` and ``map_states_to_vocab`` are Algorithms 3 and 4 of Willard & Louf 2023
line by line, with the same names. Differences:

* Algorithm 3 as printed begins its path with the state that reads v₀ and then walks v₁, v₂, … from
  it, so v₀ is never read and the path ends one state early. Here the walk reads all of v, from v₀.
* It appends the empty path of a failed start state, of which Algorithm 4 then takes the first
  state. Here failed paths are left out.
* Σ is a set of characters. A token that is not a sequence of whole characters (part of a UTF-8
  sequence) cannot be read by such a machine and is in no set, so text that needs such tokens
  cannot be generated.
* Tokens that the machine reads as the same symbols go through the loop of Algorithm 4 together.
  With 131k tokens the index of ``"[^"]{0,40}"`` has 988 entries; token by token, 256 MB were not
  enough.
* A state from which no tokens lead to a final state would have an empty mask. The paper does not
  mention it; ``without_dead_ends`` removes such states.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import interegular.fsm
import numpy as np
import numpy.typing as npt

from workbench.automata import graphs
from workbench.automata.to_regex import TooLongError, plain
from workbench.base.cached_property import cached_property
from workbench.base.errors import BuildError, LimitError, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.base.source import Source, Span
from workbench.constraint.masks import TokenMask, pack
from workbench.constraint.token_by_token import TokenByToken
from workbench.constraint.token_machine import CachedMasks
from workbench.grammar.export.regular import NotLinearError, RuleRegexes
from workbench.grammar.grammar import Grammar
from workbench.pushdown.cfg import gathered
from workbench.syntax.grammar_tree import Expression, Literal, Pattern, Stop
from workbench.syntax.ranges import Ranges, contains
from workbench.syntax.regex.tree import (
    Alternate,
    Bytes,
    Characters,
    Concat,
    Extension,
    Group,
    Kind,
    Look,
    LookKind,
    Regex,
    Repeat,
)
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The most characters of the regex of all rules.
_MAX_REGEX_LENGTH = 1_000_000
_LAST_ASCII = 0x7F

_READS_EVERY_GRAMMAR = "choose the method 'automaton', which reads every grammar"


def regex_of(grammar: Grammar, limits: Limits = LIMITS) -> Regex:
    """The regex of a grammar whose rules are recursive only at their ends, or only at their starts.

    Raises: WorkbenchError, with its position, for grammars that are not one regex over characters:
            other recursion, literals that are not UTF-8, terminals that are not plain regexes;
            LimitError.
    """
    if grammar.regex is not None:
        return grammar.regex
    assert grammar.tree is not None, "expected a regex or rules"
    source = grammar.source

    def leaf(node: Expression) -> Regex:
        regex = plain(terminal_regex(node, source))
        if regex is None:
            raise refused(source, node.span, "a terminal that is not a plain regex")
        return regex

    try:
        rules = RuleRegexes(gathered(grammar.tree), leaf, _MAX_REGEX_LENGTH, limits.clock())
        return rules.regex(grammar.start)
    except NotLinearError as error:
        raise refused(
            source, error.call.span, f"a rule that calls itself before its end, {error.call.name!r}"
        ) from None
    except TooLongError:
        message = f"the rules together have more than {_MAX_REGEX_LENGTH:,} characters as one regex"
        raise LimitError(message, "states", _READS_EVERY_GRAMMAR) from None


def terminal_regex(node: Expression, source: Source) -> Regex:
    """The regex of a terminal.

    Raises: WorkbenchError, with its position, for terminals that are not plain regexes over
            characters.
    """
    match node:
        case Literal(value=value, span=span):
            try:
                text = value.decode()
            except UnicodeDecodeError:
                raise refused(source, span, "bytes that are not characters") from None
            return Concat(tuple(Characters(((ord(c), ord(c)),), span) for c in text), span)
        case Pattern(regex=regex, stop=Stop.ANYWHERE):
            return regex
        case _:
            raise refused(source, node.span, "a terminal that is not a plain regex")


def not_read(kind: Kind | LookKind) -> WorkbenchError:
    """The error of a method that does not support an extension of regexes."""
    return WorkbenchError(f"this method does not read {kind}", _READS_EVERY_GRAMMAR)


def characters_of(node: Characters | Bytes) -> Ranges:
    """The characters of a set in a regex; an ASCII byte is a character.

    Raises: WorkbenchError for other bytes.
    """
    if isinstance(node, Bytes) and any(high > _LAST_ASCII for _, high in node.ranges):
        raise WorkbenchError(
            "this method reads characters, and the regex is one of bytes", _READS_EVERY_GRAMMAR
        )
    return node.ranges


def refused(source: Source, span: Span, what: str) -> WorkbenchError:
    """The error of a method over characters and rules that does not support a grammar."""
    return BuildError(
        f"this method does not read {what}",
        source,
        span,
        _READS_EVERY_GRAMMAR,
        kind="unsupported_regex",
    )


#: A state of the machine.
State = int

#: A transition key of the machine: one for each class of characters.
Symbol = int

#: interegular's module, untyped, and its machines.
_library: Any = interegular.fsm
_Fsm = Any

#: The number of look-ups in a machine between two checks of the clock.
_CLOCK_INTERVAL = 256


@dataclass(frozen=True, slots=True)
class CharacterClasses:
    """A partition of the characters: two share a class iff they are in the same sets of the regex.

    Shape: ``bounds``, sorted code points; the characters from ``bounds[i]`` to the next bound have
           the class ``classes[i]``, or None if no set has them.
    """

    bounds: tuple[int, ...]
    classes: tuple[int | None, ...]

    @staticmethod
    def of(sets: tuple[Ranges, ...]) -> CharacterClasses:
        """The classes of some sets; the name of a class is its first character."""
        cuts = {edge for ranges in sets for low, high in ranges for edge in (low, high + 1)}
        bounds = tuple(sorted(cuts))
        by_members: dict[tuple[bool, ...], int] = {}
        classes = []
        for bound in bounds:
            members = tuple(contains(ranges, bound) for ranges in sets)
            classes.append(by_members.setdefault(members, bound) if any(members) else None)
        return CharacterClasses(bounds, tuple(classes))

    def of_character(self, code: int) -> int | None:
        position = bisect_right(self.bounds, code) - 1
        return self.classes[position] if position >= 0 else None

    def members(self, name: int) -> Iterator[tuple[int, int]]:
        """The ranges of characters of a class."""
        for i, char_class in enumerate(self.classes):
            if char_class == name:
                yield self.bounds[i], self.bounds[i + 1] - 1


@dataclass(frozen=True, eq=False)
class CharacterMachine:
    """M = (Q, Σ, δ, q₀, F) in the paper's notation; Σ is the alphabet of interegular's symbols."""

    fsm: _Fsm
    char_classes: CharacterClasses

    @property
    def initial(self) -> State:
        return int(self.fsm.initial)

    @cached_property
    def finals(self) -> frozenset[State]:
        return frozenset(map(int, self.fsm.finals))

    @cached_property
    def edges(self) -> dict[State, dict[Symbol, State]]:
        """δ by state; missing symbols cannot be read."""
        return {state: dict(self.fsm.map.get(state, {})) for state in sorted(self.fsm.states)}

    def delta(self, state: State, symbol: Symbol) -> State | None:
        """δ(q, v), or None if q does not read v."""
        return self.edges[state].get(symbol)

    @cached_property
    def readers(self) -> dict[Symbol, list[State]]:
        """δ(·, v): for each symbol the states that read it."""
        result: dict[Symbol, list[State]] = {}
        for state, edges in self.edges.items():
            for symbol in edges:
                result.setdefault(symbol, []).append(state)
        return result

    @cached_property
    def _symbols(self) -> dict[int, Symbol]:
        return {int(name): int(key) for name, key in self.fsm.alphabet.items()}

    @cached_property
    def _names(self) -> dict[Symbol, int]:
        return {symbol: name for name, symbol in self._symbols.items()}

    @cached_property
    def _cache(self) -> dict[str, Symbol | None]:
        """The symbols of the characters requested before."""
        return {}

    def symbols(self, text: str) -> tuple[Symbol, ...] | None:
        """The symbols of a text; None if it has a character that no set of the regex has."""
        result = []
        for character in text:
            if character not in self._cache:
                char_class = self.char_classes.of_character(ord(character))
                self._cache[character] = None if char_class is None else self._symbols[char_class]
            symbol = self._cache[character]
            if symbol is None:
                return None
            result.append(symbol)
        return tuple(result)

    def only_character(self, symbol: Symbol) -> str | None:
        """The character of a symbol whose class has only one."""
        name = self._names[symbol]
        members = list(self.char_classes.members(name))
        return chr(name) if members == [(name, name)] else None


def character_machine(regex: Regex, limits: Limits = LIMITS) -> CharacterMachine:
    """The machine of a regex.

    Raises: WorkbenchError for bytes that are not ASCII; LimitError past ``limits.seconds``.
    """
    char_classes = CharacterClasses.of(tuple(dict.fromkeys(_sets(regex, set()))))
    names = sorted({name for name in char_classes.classes if name is not None})
    # by number: the order of a set of strings, and so the state numbers, differ between processes
    alphabet = _library.Alphabet.from_groups(*([name] for name in names))
    fsm = _MachineBuilder(alphabet, char_classes, limits.clock()).of(regex)
    return CharacterMachine(fsm, char_classes)


def _sets(regex: Regex, seen: set[int]) -> Iterator[Ranges]:
    """Every set of characters in a regex; parts shared by several rules are visited once."""
    if id(regex) in seen:
        return
    seen.add(id(regex))
    if isinstance(regex, Characters | Bytes):
        yield characters_of(regex)
    for part in regex.children:
        yield from _sets(part, seen)


class _StepClock:
    """Checks the clock once every ``_CLOCK_INTERVAL`` steps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._steps = 0

    def tick(self) -> None:
        """Count one step. Raises: LimitError when the time is over."""
        self._steps += 1
        if self._steps % _CLOCK_INTERVAL == 0:
            self._clock.check()


class _MachineBuilder:
    """Builds a machine by interegular's operations; parts shared by rules are built once."""

    def __init__(self, alphabet: _Fsm, char_classes: CharacterClasses, clock: Clock) -> None:
        self._alphabet = alphabet
        self._char_classes = char_classes
        self._clock = clock
        self._step_clock = _StepClock(clock)
        self._nothing: _Fsm = _library.FSM(alphabet, {0}, 0, {0}, {})
        self._cache: dict[int, _Fsm] = {}

    def of(self, regex: Regex) -> _Fsm:
        cached = self._cache.get(id(regex))
        if cached is None:
            self._clock.check()
            cached = self._cache[id(regex)] = self._with_clock(self._build(regex))
        return cached

    def _build(self, regex: Regex) -> _Fsm:
        match regex:
            case Characters(ranges=ranges) | Bytes(ranges=ranges):
                return self._one_of(ranges)
            case Concat(parts=()):
                return self._nothing
            case Concat(parts=parts):
                return _library.FSM.concatenate(*map(self.of, parts))
            case Alternate(options=options):
                return _library.FSM.union(*map(self.of, options))
            case Group(part=part):
                return self.of(part)
            case Repeat(part=part, low=low, high=high):
                unit = self.of(part)
                if high is None:
                    return unit.star() if low == 0 else unit * low + self._with_clock(unit.star())
                needed, optional = unit * low, self._with_clock(self._nothing | unit)
                return self._with_clock(needed) + self._with_clock(optional * (high - low))
            case Extension(kind=kind) | Look(kind=kind):
                raise not_read(kind)

    def _one_of(self, ranges: Ranges) -> _Fsm:
        names = {name for name in self._char_classes.classes if name is not None}
        read = {self._alphabet[n]: 1 for n in names if contains(ranges, n)}
        return _library.FSM(self._alphabet, {0, 1}, 0, {1}, {0: read, 1: {}})

    def _with_clock(self, fsm: _Fsm) -> _Fsm:
        """The same machine, with a map that checks the clock in every construction from it."""
        timed_map = _TimedMap(fsm.map)
        timed_map.step_clock = self._step_clock
        return _library.FSM(
            fsm.alphabet, fsm.states, fsm.initial, fsm.finals, timed_map, __no_validation__=True
        )


class _TimedMap(dict[State, dict[Symbol, State]]):
    """The transitions of a machine; every step of interegular's constructions looks up a state.

    The constructions may explode, and this is the only way to interrupt them.
    """

    step_clock: _StepClock

    def __contains__(self, state: object) -> bool:
        self.step_clock.tick()
        return super().__contains__(state)


#: The number of a class of tokens that the machine reads as the same symbols.
TokenClass = int

#: Estimated bytes of an entry in a ``dict`` of small numbers, for ``limits.megabytes``.
_BYTES_PER_ENTRY = 100


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """σ: for each state the tokens that may come next, and their target states.

    The paper stores only the tokens; here the last state of each path is stored too, so that
    advancing needs no walk.

    Shape: ``class_of`` (V,) int32, the class of each token, −1 for tokens that no state reads.
    """

    #: The tokens of each class, sorted, int32.
    tokens: tuple[npt.NDArray[np.int32], ...]
    class_of: npt.NDArray[np.int32]
    sigma: dict[State, dict[TokenClass, State]]

    def row(self, state: State) -> dict[TokenId, State]:
        """σ(state), token by token."""
        row = self.sigma[state]
        return {
            i: target
            for token_class, target in row.items()
            for i in self.tokens[token_class].tolist()
        }

    def target(self, state: State, token_id: TokenId) -> State | None:
        """The target state of a token; None if it is not in σ(state)."""
        is_valid = 0 <= token_id < len(self.class_of)
        return self.sigma[state].get(int(self.class_of[token_id])) if is_valid else None


def find_sub_sequences(
    machine: CharacterMachine, token: Sequence[Symbol]
) -> list[tuple[State, ...]]:
    """Algorithm 3: the state sequences of M that read a token, from any state.

    Shape: each has len(token) + 1 states, beginning with the state before the first symbol.
    """
    result = []
    for start in machine.readers.get(token[0], ()):  # lines 4 and 5
        path = [start]
        for symbol in token:  # lines 6 to 13
            target = machine.delta(path[-1], symbol)
            if target is None:
                break
            path.append(target)
        else:
            result.append(tuple(path))  # line 14
    return result


def map_states_to_vocab(
    machine: CharacterMachine, vocabulary: Vocabulary, limits: Limits = LIMITS
) -> Index:
    """Algorithm 4: σ, the tokens that may come next in each state.

    Cost:   Σ over classes v of tokens of |δ(·, v₀)|·|v| steps.
    Raises: LimitError past ``limits.seconds`` or ``limits.megabytes``.
    """
    clock = limits.clock()
    tokens_by_class = _tokens_by_class(machine, vocabulary)
    sigma: dict[State, dict[TokenClass, State]] = {state: {} for state in machine.edges}  # line 3
    entries = 0
    for token_class, token in enumerate(tokens_by_class):  # line 4
        paths = find_sub_sequences(machine, token)  # line 5
        for path in paths:  # lines 6 to 8
            sigma[path[0]][token_class] = path[-1]
        entries += len(paths)
        _check(entries, limits, clock)
    class_of = np.full(len(vocabulary), -1, np.int32)
    for token_class, ids in enumerate(tokens_by_class.values()):
        class_of[ids] = token_class
    tokens = tuple(np.array(ids, np.int32) for ids in tokens_by_class.values())
    return Index(tokens, class_of, sigma)


def without_dead_ends(index: Index, finals: frozenset[State]) -> Index:
    """The index without states that are not co-accessible, and without tokens to these."""
    pairs = ((state, target) for state, row in index.sigma.items() for target in set(row.values()))
    coaccessible = graphs.coreachable(finals, pairs)
    sigma = {
        state: {
            token_class: target for token_class, target in row.items() if target in coaccessible
        }
        for state, row in index.sigma.items()
        if state in coaccessible
    }
    return replace(index, sigma=sigma)


def _tokens_by_class(
    machine: CharacterMachine, vocabulary: Vocabulary
) -> dict[tuple[Symbol, ...], list[TokenId]]:
    """The tokens by their symbols, without those that no state can read."""
    result: dict[tuple[Symbol, ...], list[TokenId]] = {}
    for token_id, token in enumerate(vocabulary.tokens):
        if token is None:
            continue
        try:
            symbols = machine.symbols(token.decode())
        except UnicodeDecodeError:
            continue  # half a character
        if symbols is not None:
            result.setdefault(symbols, []).append(token_id)
    return result


def _check(entries: int, limits: Limits, clock: Clock) -> None:
    hint = "an index of every state is too large for it; choose the method 'automaton'"
    clock.check(hint)
    limits.check("megabytes", entries * _BYTES_PER_ENTRY / 2**20, hint)


class OutlinesConstraint(CachedMasks, TokenByToken[State]):
    """A regex over characters with a precomputed index.

    The masks are exact for the vocabulary without tokens that are not whole characters. If
    every character that the regex needs is a token, only other tokenizations are lost.

    Cost:   a mask is a look-up; building the index costs as ``map_states_to_vocab`` says.
    Raises: WorkbenchError where the grammar is not one regex over characters; VocabularyError
            where no accepted text can be tokenized with whole characters; LimitError.
    Source: Willard & Louf 2023, Algorithms 2, 3 and 4.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        work = limits.begun()
        self.vocabulary, self.limits = vocabulary, limits
        self.machine = _machine(grammar, work)
        #: σ, without dead ends.
        self.index = without_dead_ends(
            map_states_to_vocab(self.machine, vocabulary, work), self.machine.finals
        )
        if self.initial not in self.index.sigma:
            raise VocabularyError(
                f"no accepted text can be spelled with those tokens of {vocabulary.name}"
                " that are whole characters",
                "choose the method 'automaton', which reads half characters too",
            )

    @property
    def initial(self) -> State:
        return self.machine.initial

    def _mask(self, state: State) -> TokenMask:
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        for token_class in self.index.sigma[state]:
            allowed[self.index.tokens[token_class]] = True
        allowed[list(self.vocabulary.ends)] = self.is_final(state)
        return TokenMask(pack(allowed), len(self.vocabulary))

    def target(self, state: State, token_id: TokenId) -> State | None:
        """The target state of a token, from the index."""
        return self.index.target(state, token_id)

    def is_final(self, state: State) -> bool:
        return state in self.machine.finals

    def forced(self, state: State, most: int = sys.maxsize) -> bytes:
        result = ""
        while len(result) < most and not self.is_final(state):
            edges = self.machine.edges[state]
            if len(edges) != 1:
                break
            ((symbol, state),) = edges.items()
            character = self.machine.only_character(symbol)
            if character is None:
                break
            result += character
        return result.encode()[:most]


def _machine(grammar: Grammar, limits: Limits) -> CharacterMachine:
    try:
        return character_machine(regex_of(grammar, limits), limits)
    except RecursionError:
        raise LimitError(
            "the rules call each other too deeply to be written into one regex",
            "states",
            "choose the method 'automaton'",
        ) from None
