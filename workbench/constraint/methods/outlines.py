r"""The method ``outlines``: Willard & Louf's index over a character machine.

In comes a regex tree, out comes an ``FSM`` made by interegular's own algebra (concatenate, union,
times, star), with the characters it tells apart.

interegular's parser is not used: its ``\d`` and ``\w`` are ASCII, it knows no ``\u``, no anchors
and no named classes, and it lists every character of a set. Here the tree is read by this project's
parser, and all characters the regex does not tell apart are one symbol. Its machines are not
reduced either: ``FSM.reduce`` turns a machine around twice, which may explode and cannot be
stopped.

Algorithms 3 and 4 of Willard & Louf 2023 line by line, the functions called as there. Decided:

* Algorithm 3 as printed begins its path with the state that reads v₀ and then walks v₁, v₂, … from
  it, so v₀ is never read and the path ends one state early. The walk here reads all of v, from v₀.
* It appends the empty path of a start state that fails; Algorithm 4 then asks for its first state.
  Failed ones are left out.
* Σ are characters. A token that is no whole characters (half of a UTF-8 sequence) cannot be read by
  such a machine and is in no set: what only such tokens spell cannot be generated.
* Tokens that the machine reads alike (all words of one set of letters, by length) go through the
  loop of Algorithm 4 together. With 131k tokens ``"[^"]{0,40}"`` has an index of 988 entries so;
  token by token 256 MB were not enough.
* A state of which no token leads to the end would leave an empty mask. The paper does not speak of
  it; such states are taken out afterwards, by ``without_dead_ends``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import interegular.fsm
import numpy as np
import numpy.typing as npt

from workbench.automata.to_regex import TooLongError, plain
from workbench.base.errors import BuildError, LimitError, VocabularyError, WorkbenchError
from workbench.base.limits import LIMITS, Clock, Limits
from workbench.base.source import Source, Span
from workbench.constraint.mask import TokenMask, pack
from workbench.constraint.token_machines import TokenByToken
from workbench.grammar.export.as_regex import NotLinearError, RuleRegexes
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
    Regex,
    Repeat,
)
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: The regex of all rules has at most so many characters.
_LONGEST = 1_000_000
_LAST_ASCII = 0x7F

_READS_EVERY_GRAMMAR = "choose the method 'automaton', which reads every grammar"


def regex_of(grammar: Grammar, limits: Limits = LIMITS) -> Regex:
    """The regex of a grammar whose rules call themselves at their ends, or beginnings, alone.

    Of a regex, itself.
    Raises: WorkbenchError, at its place, for what no regex over characters says: other recursion,
            literals that are no UTF-8, terminals that are no plain regex; LimitError.
    """
    if grammar.regex is not None:
        return grammar.regex
    assert grammar.tree is not None, "made from the one or the other"
    source = grammar.source

    def leaf(node: Expression) -> Regex:
        made = plain(terminal_regex(node, source))
        if made is None:
            raise refused(source, node.span, "a terminal that is not a plain regex")
        return made

    try:
        rules = RuleRegexes(gathered(grammar.tree), leaf, _LONGEST, limits.clock())
        return rules.regex(grammar.start)
    except NotLinearError as error:
        raise refused(
            source, error.call.span, f"a rule that calls itself before its end, {error.call.name!r}"
        ) from None
    except TooLongError:
        message = f"the rules together have more than {_LONGEST:,} characters as one regex"
        raise LimitError(message, "states", _READS_EVERY_GRAMMAR) from None


def terminal_regex(node: Expression, source: Source) -> Regex:
    """The characters of a terminal.

    Raises: WorkbenchError, at its place, for terminals that are no plain regex over characters.
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


def not_read(kind: Kind) -> WorkbenchError:
    """The error of an extension of regexes, for methods with regexes of their own."""
    return WorkbenchError(f"this method does not read {kind}", _READS_EVERY_GRAMMAR)


def characters_of(node: Characters | Bytes) -> Ranges:
    """The characters of a set in a regex; a byte that is ASCII is one.

    Raises: WorkbenchError for other bytes.
    """
    if isinstance(node, Bytes) and any(high > _LAST_ASCII for _, high in node.ranges):
        raise WorkbenchError(
            "this method reads characters, and the regex is one of bytes", _READS_EVERY_GRAMMAR
        )
    return node.ranges


def refused(source: Source, span: Span, what: str) -> WorkbenchError:
    """The error of a grammar that a method which speaks of characters and rules does not read."""
    return BuildError(
        f"this method does not read {what}",
        source,
        span,
        _READS_EVERY_GRAMMAR,
        kind="unsupported_regex",
    )


#: A state of the machine.
State = int

#: A transition key of the machine: all characters it does not tell apart have one.
Symbol = int

#: interegular, whose operators have no types, and what it makes.
_library: Any = interegular.fsm
_Fsm = Any

#: How many look-ups in a machine pass between two looks at the clock.
_OFTEN = 256


@dataclass(frozen=True, slots=True)
class AlikeCharacters:
    """Characters in classes: two are in one if and only if no set of the regex tells them apart.

    Shape: ``bounds`` sorted code points; the characters from ``bounds[i]`` to the next have the
           class ``classes[i]``, or None where no set has them.
    """

    bounds: tuple[int, ...]
    classes: tuple[int | None, ...]

    @staticmethod
    def of(sets: tuple[Ranges, ...]) -> AlikeCharacters:
        """The classes of some sets; a class is called by its first character."""
        cuts = {edge for ranges in sets for low, high in ranges for edge in (low, high + 1)}
        bounds = tuple(sorted(cuts))
        named: dict[tuple[bool, ...], int] = {}
        classes = []
        for bound in bounds:
            members = tuple(contains(ranges, bound) for ranges in sets)
            classes.append(named.setdefault(members, bound) if any(members) else None)
        return AlikeCharacters(bounds, tuple(classes))

    def of_character(self, code: int) -> int | None:
        position = bisect_right(self.bounds, code) - 1
        return self.classes[position] if position >= 0 else None

    def members(self, name: int) -> Iterator[tuple[int, int]]:
        """The ranges of the class of that name."""
        for i, its_class in enumerate(self.classes):
            if its_class == name:
                yield self.bounds[i], self.bounds[i + 1] - 1


@dataclass(frozen=True, eq=False)
class CharacterMachine:
    """M = (Q, Σ, δ, q₀, F) as the paper writes it, Σ the symbols of interegular's alphabet."""

    fsm: _Fsm
    alike: AlikeCharacters

    @property
    def initial(self) -> State:
        return int(self.fsm.initial)

    @cached_property
    def finals(self) -> frozenset[State]:
        return frozenset(map(int, self.fsm.finals))

    @cached_property
    def edges(self) -> dict[State, dict[Symbol, State]]:
        """δ by state; what is not there is not read."""
        return {state: dict(self.fsm.map.get(state, {})) for state in sorted(self.fsm.states)}

    def delta(self, state: State, symbol: Symbol) -> State | None:
        """δ(q, v), None where the machine does not read v."""
        return self.edges[state].get(symbol)

    @cached_property
    def readers(self) -> dict[Symbol, list[State]]:
        """δ(·, v): the states that read a symbol, for all of them."""
        found: dict[Symbol, list[State]] = {}
        for state, edges in self.edges.items():
            for symbol in edges:
                found.setdefault(symbol, []).append(state)
        return found

    @cached_property
    def _symbols(self) -> dict[int, Symbol]:
        return {int(name): int(key) for name, key in self.fsm.alphabet.items()}

    @cached_property
    def _names(self) -> dict[Symbol, int]:
        return {symbol: name for name, symbol in self._symbols.items()}

    @cached_property
    def _known(self) -> dict[str, Symbol | None]:
        """The symbols of the characters that were asked for."""
        return {}

    def symbols(self, text: str) -> tuple[Symbol, ...] | None:
        """A text as the machine reads it; None where it has a character no set of the regex has."""
        found = []
        for character in text:
            if character not in self._known:
                its_class = self.alike.of_character(ord(character))
                self._known[character] = None if its_class is None else self._symbols[its_class]
            symbol = self._known[character]
            if symbol is None:
                return None
            found.append(symbol)
        return tuple(found)

    def only_character(self, symbol: Symbol) -> str | None:
        """The character of a symbol that stands for a single one."""
        name = self._names[symbol]
        members = list(self.alike.members(name))
        return chr(name) if members == [(name, name)] else None


def character_machine(regex: Regex, limits: Limits = LIMITS) -> CharacterMachine:
    """The machine of a regex.

    Raises: WorkbenchError for bytes that are no ASCII; LimitError past ``limits.seconds``.
    """
    alike = AlikeCharacters.of(tuple(dict.fromkeys(_sets(regex, set()))))
    names = sorted({name for name in alike.classes if name is not None})
    # by numbers: texts would be met in another order in every process, and states numbered so
    alphabet = _library.Alphabet.from_groups(*([name] for name in names))
    made = _Maker(alphabet, alike, limits.clock()).of(regex)
    return CharacterMachine(made, alike)


def _sets(regex: Regex, seen: set[int]) -> Iterator[Ranges]:
    """Every set of characters in a regex; parts that several rules share are looked at once."""
    if id(regex) in seen:
        return
    seen.add(id(regex))
    if isinstance(regex, Characters | Bytes):
        yield characters_of(regex)
    for part in regex.children:
        yield from _sets(part, seen)


class _Pace:
    """A clock that is looked at every so often."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._passed = 0

    def keep(self) -> None:
        """One more small step. Raises: LimitError when the time is over."""
        self._passed += 1
        if self._passed % _OFTEN == 0:
            self._clock.check()


class _Maker:
    """interegular's algebra over the tree; parts that several rules share are made once."""

    def __init__(self, alphabet: _Fsm, alike: AlikeCharacters, clock: Clock) -> None:
        self._alphabet = alphabet
        self._alike = alike
        self._clock = clock
        self._pace = _Pace(clock)
        self._nothing: _Fsm = _library.FSM(alphabet, {0}, 0, {0}, {})
        self._known: dict[int, _Fsm] = {}

    def of(self, regex: Regex) -> _Fsm:
        known = self._known.get(id(regex))
        if known is None:
            self._clock.check()
            known = self._known[id(regex)] = self._watched(self._made(regex))
        return known

    def _made(self, regex: Regex) -> _Fsm:
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
                    return unit.star() if low == 0 else unit * low + self._watched(unit.star())
                needed, optional = unit * low, self._watched(self._nothing | unit)
                return self._watched(needed) + self._watched(optional * (high - low))
            case Extension(kind=kind):
                raise not_read(kind)

    def _one_of(self, ranges: Ranges) -> _Fsm:
        names = {name for name in self._alike.classes if name is not None}
        read = {self._alphabet[n]: 1 for n in names if contains(ranges, n)}
        return _library.FSM(self._alphabet, {0, 1}, 0, {1}, {0: read, 1: {}})

    def _watched(self, fsm: _Fsm) -> _Fsm:
        """The same machine; whatever is made of it looks at the clock as it reads its map."""
        watched = _Watched(fsm.map)
        watched.pace = self._pace
        return _library.FSM(
            fsm.alphabet, fsm.states, fsm.initial, fsm.finals, watched, __no_validation__=True
        )


class _Watched(dict[State, dict[Symbol, State]]):
    """The transitions of a machine, asked for at every step of interegular's constructions.

    Any of them may explode, and none can be stopped otherwise.
    """

    pace: _Pace

    def __contains__(self, state: object) -> bool:
        self.pace.keep()
        return super().__contains__(state)


#: The number of some tokens the machine reads alike.
AlikeClass = int

#: Bytes of an entry in a ``dict`` of small numbers, about, for the budget of megabytes.
_ENTRY = 100


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """σ: for each state the tokens it may go on with, and where each leads.

    The paper keeps the tokens alone; the last state of a path is kept too, so that advancing does
    not walk again.

    Shape: ``alike_of`` (V,) int32, by whom a token is read alike, −1 where it is read nowhere.
    """

    #: The tokens that are read alike, sorted, int32.
    tokens: tuple[npt.NDArray[np.int32], ...]
    alike_of: npt.NDArray[np.int32]
    sigma: dict[State, dict[AlikeClass, State]]

    def row(self, state: State) -> dict[TokenId, State]:
        """σ(state), token by token."""
        row = self.sigma[state]
        return {i: there for alike, there in row.items() for i in self.tokens[alike].tolist()}

    def target(self, state: State, token_id: TokenId) -> State | None:
        """Where a token leads; None where σ(state) does not have it."""
        known = 0 <= token_id < len(self.alike_of)
        return self.sigma[state].get(int(self.alike_of[token_id])) if known else None


def find_sub_sequences(
    machine: CharacterMachine, token: Sequence[Symbol]
) -> list[tuple[State, ...]]:
    """Algorithm 3: the state sequences of M that read a token, from any state.

    Shape: each has len(token) + 1 states, the first one before anything is read.
    """
    found = []
    for start in machine.readers.get(token[0], ()):  # lines 4 and 5
        path = [start]
        for symbol in token:  # lines 6 to 13
            there = machine.delta(path[-1], symbol)
            if there is None:
                break
            path.append(there)
        else:
            found.append(tuple(path))  # line 14
    return found


def map_states_to_vocab(
    machine: CharacterMachine, vocabulary: Vocabulary, limits: Limits = LIMITS
) -> Index:
    """Algorithm 4: σ, the tokens each state may go on with.

    Cost:   Σ over tokens v not read alike of |δ(·, v₀)|·|v| steps.
    Raises: LimitError past ``limits.seconds`` or ``limits.megabytes``.
    """
    clock = limits.clock()
    read_alike = _read_alike(machine, vocabulary)
    sigma: dict[State, dict[AlikeClass, State]] = {state: {} for state in machine.edges}  # line 3
    entries = 0
    for alike, token in enumerate(read_alike):  # line 4
        paths = find_sub_sequences(machine, token)  # line 5
        for path in paths:  # lines 6 to 8
            sigma[path[0]][alike] = path[-1]
        entries += len(paths)
        _check(entries, limits, clock)
    alike_of = np.full(len(vocabulary), -1, np.int32)
    for alike, ids in enumerate(read_alike.values()):
        alike_of[ids] = alike
    tokens = tuple(np.array(ids, np.int32) for ids in read_alike.values())
    return Index(tokens, alike_of, sigma)


def without_dead_ends(index: Index, finals: frozenset[State]) -> Index:
    """The index without states, and tokens to states, from which no tokens lead to a final one."""
    before: dict[State, list[State]] = {}
    for state, row in index.sigma.items():
        for target in set(row.values()):
            before.setdefault(target, []).append(state)
    alive = set(finals)
    waiting = list(finals)
    while waiting:
        for state in before.get(waiting.pop(), ()):
            if state not in alive:
                alive.add(state)
                waiting.append(state)
    sigma = {
        state: {alike: there for alike, there in row.items() if there in alive}
        for state, row in index.sigma.items()
        if state in alive
    }
    return replace(index, sigma=sigma)


def _read_alike(
    machine: CharacterMachine, vocabulary: Vocabulary
) -> dict[tuple[Symbol, ...], list[TokenId]]:
    """The tokens by how the machine reads them; not those that it cannot read anywhere."""
    found: dict[tuple[Symbol, ...], list[TokenId]] = {}
    for token_id, token in enumerate(vocabulary.tokens):
        if token is None:
            continue
        try:
            symbols = machine.symbols(token.decode())
        except UnicodeDecodeError:
            continue  # half a character
        if symbols is not None:
            found.setdefault(symbols, []).append(token_id)
    return found


def _check(entries: int, limits: Limits, clock: Clock) -> None:
    hint = "an index of every state is too large for it; choose the method 'automaton'"
    clock.check(hint)
    limits.check("megabytes", entries * _ENTRY / 2**20, hint)


class Indexed(TokenByToken[State]):
    """A regex over characters, its whole index made beforehand.

    The masks are the exact ones of the vocabulary without tokens that are no whole
    characters; where every character the regex needs is spelt by whole ones, nothing is lost
    but other ways to spell it.

    Cost:   a mask is looked up; what it costs to make the index, ``map_states_to_vocab`` says.
    Raises: WorkbenchError where the grammar is not one regex over characters; VocabularyError
            where whole characters spell no accepted text; LimitError.
    Source: Willard & Louf 2023, Algorithms 2, 3 and 4.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        work = limits.begun()
        self.vocabulary = vocabulary
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
        self.mask = lru_cache(maxsize=limits.rows_of(len(vocabulary) // 8 + 1))(self._mask)

    @property
    def initial(self) -> State:
        return self.machine.initial

    def _mask(self, state: State) -> TokenMask:
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        for alike in self.index.sigma[state]:
            allowed[self.index.tokens[alike]] = True
        if self.vocabulary.end is not None and self.is_final(state):
            allowed[self.vocabulary.end] = True
        return TokenMask(pack(allowed), len(self.vocabulary))

    def target(self, state: State, token_id: TokenId) -> State | None:
        """Where a token leads, by the index."""
        return self.index.target(state, token_id)

    def is_final(self, state: State) -> bool:
        return state in self.machine.finals

    def forced(self, state: State) -> bytes:
        """The characters every text of the constraint goes on with; empty where it branches."""
        found = ""
        while not self.is_final(state):
            edges = self.machine.edges[state]
            if len(edges) != 1:
                break
            ((symbol, state),) = edges.items()
            character = self.machine.only_character(symbol)
            if character is None:
                break
            found += character
        return found.encode()


def _machine(grammar: Grammar, limits: Limits) -> CharacterMachine:
    try:
        return character_machine(regex_of(grammar, limits), limits)
    except RecursionError:
        raise LimitError(
            "the rules call each other too deeply to be written into one regex",
            "states",
            "choose the method 'automaton'",
        ) from None
