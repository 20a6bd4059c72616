"""Finite machines as AT&T text with symbol tables, as OpenFst reads it.

A line is ``source  target  input  output  weight``, a final state ``state  weight``; the first
line's source is the initial state. Labels are numbers or, with the tables of symbols, names:

* a byte is labelled with itself, so that strings compiled by pynini (which are bytes) compose as
  they are; the byte 0x00 is 256, because 0 is ε;
* token *i* is labelled *i* + 1;
* names have no white space: printable ASCII is itself, a backslash is doubled, all else
  is written ``\\xHH``, byte by byte.

Source: the format is AT&T's FSM library's (Mohri, Pereira & Riley 2000), kept by OpenFst.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from workbench.automata.dfa import DEAD, Dfa, State
from workbench.constraint.labels import first_sign
from workbench.constraint.token_automaton import TokenAutomaton
from workbench.signs import named
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

#: ``(source, target, input label, output label)``
Arc = tuple[State, State, int, int]

EPSILON = 0

#: The name of ε in the tables.
EPSILON_NAME = "<eps>"

_NUL = 256


@dataclass(frozen=True, slots=True, eq=False)
class Att:
    """A finite machine as arcs between numbered states; every weight is 0, the tropical one."""

    #: Those of the initial state first.
    arcs: tuple[Arc, ...]
    finals: tuple[State, ...]
    #: The names of the input labels, and of the output labels, by label.
    inputs: dict[int, str]
    outputs: dict[int, str]

    def numbered(self) -> str:
        """The text with labels as numbers; compiles without any table."""
        return self._text(str, str)

    def named(self) -> str:
        """The text with labels as names; compiles with the two tables."""
        return self._text(self.inputs.__getitem__, self.outputs.__getitem__)

    def _text(self, read: Callable[[int], str], write: Callable[[int], str]) -> str:
        lines = (f"{s}\t{t}\t{read(i)}\t{write(o)}\t0\n" for s, t, i, o in self.arcs)
        return "".join(chain(lines, (f"{state}\t0\n" for state in self.finals)))

    def archive(self, name: str) -> bytes:
        """A zip with the named text, both tables, and a word on how to compile them."""
        files = {
            f"{name}.fst.txt": self.named(),
            f"{name}.isyms.txt": table(self.inputs),
            f"{name}.osyms.txt": table(self.outputs),
            "README.txt": _README.format(name=name),
        }
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, text in files.items():
                # the same machine gives the same file, whenever it is made
                archive.writestr(zipfile.ZipInfo(path), text, zipfile.ZIP_DEFLATED)
        return made.getvalue()


_README = """\
A finite machine in AT&T text, as OpenFst reads it: source, target, input, output, weight.

  fstcompile --isymbols={name}.isyms.txt --osymbols={name}.osyms.txt {name}.fst.txt {name}.fst
  fstinfo {name}.fst

A byte is labelled with itself (0x00 with 256), token i with i + 1, and 0 is epsilon. In the names
a backslash is doubled, and what is not printable ASCII is written \\xHH, byte by byte.
"""


def table(names: dict[int, str]) -> str:
    """A table of symbols as OpenFst reads it, by label."""
    return "".join(f"{names[label]}\t{label}\n" for label in sorted(names))


def byte_label(byte: int) -> int:
    """The label of a byte."""
    return byte or _NUL


def token_label(token_id: TokenId) -> int:
    """The label of a token."""
    return token_id + 1


def dfa_att(dfa: Dfa) -> Att:
    """A byte automaton as an acceptor."""
    arcs = (
        (state, target, byte_label(byte), byte_label(byte))
        for state in range(len(dfa))
        for byte in range(256)
        if (target := dfa.step(state, byte)) != DEAD
    )
    return _att(arcs, dfa.initial, _set(dfa.finals), _BYTES, _BYTES)


def token_fsa_att(fsa: TokenAutomaton) -> Att:
    """A token automaton as an acceptor of tokens; the end token is no arc but a final state.

    Raises: LimitError where it has more edges than may be written out.
    """
    fsa.limits.check("token_edges", fsa.edge_count, "write a smaller vocabulary's machine")
    arcs = (
        (state, target, token_label(token_id), token_label(token_id))
        for state in range(len(fsa))
        for token_id, target in fsa.edges(state)
    )
    names = token_names(fsa.vocabulary)
    return _att(arcs, fsa.initial, _set(fsa.finals), names, names)


def detokenizer_att(vocabulary: Vocabulary) -> Att:
    """The detokenizing transducer T_V: tokens in, their bytes out, prefixes merged.

    Composed with a character automaton, T_V ∘ A, it gives the token automaton.

    Source: Koo et al. 2024, Algorithm 1 and §2.3.
    """
    arcs = _detokenizer(vocabulary)
    return _att(arcs, 0, [0], token_names(vocabulary), _BYTES)


def _detokenizer(vocabulary: Vocabulary) -> Iterator[Arc]:
    node_of: dict[bytes, int] = {b"": 0}
    for token_id, token in enumerate(vocabulary.tokens):
        if token is None:
            continue
        for length in range(1, len(token)):
            prefix = token[:length]
            if prefix not in node_of:
                node_of[prefix] = len(node_of)
                yield node_of[prefix[:-1]], node_of[prefix], EPSILON, byte_label(prefix[-1])
        yield node_of[token[:-1]], 0, token_label(token_id), byte_label(token[-1])


def _att(
    arcs: Iterable[Arc],
    initial: State,
    finals: Iterable[State],
    inputs: dict[int, str],
    outputs: dict[int, str],
) -> Att:
    found = list(arcs)
    found.sort(key=lambda arc: (arc[0] != initial, arc[0]))
    final = sorted(finals, key=lambda state: (state != initial, state))
    return Att(tuple(found), tuple(final), inputs, outputs)


def _set(finals: Iterable[object]) -> list[State]:
    return [state for state, final in enumerate(finals) if final]


def escaped(data: bytes) -> str:
    """Bytes as a name: no white space, and no two alike."""
    return "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 < byte < 0x7F else f"\\x{byte:02x}"
        for byte in data
    )


_BYTES = {EPSILON: EPSILON_NAME, **{byte_label(b): escaped(bytes((b,))) for b in range(256)}}


def token_names(vocabulary: Vocabulary) -> dict[int, str]:
    """The names of all tokens by label; special ones and second ones of a spelling by their id."""
    names = {EPSILON: EPSILON_NAME}
    taken = {EPSILON_NAME}
    first = first_sign(vocabulary)
    for token_id, token in enumerate(vocabulary.tokens):
        name = f"\\special{token_id}" if token is None else escaped(token)
        if token is not None and token_id >= first:
            name = f"\\{named(token).strip('⟨⟩')}"
        if name in taken:
            # a lone backslash begins no other name's ending
            name = f"{name}\\#{token_id}"
        taken.add(name)
        names[token_label(token_id)] = name
    return names
