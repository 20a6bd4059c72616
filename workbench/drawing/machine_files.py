r"""Writes machines as JSON, and as AT&T text for OpenFst.

Every JSON record has its format and the whole machine, without folding::

    {"format": "grammar-workbench automaton", "version": 1, "machine": "characters",
     "states": 3, "initial": 0, "finals": [2],
     "edges": [{"source": 0, "target": 1, "characters": [["a", "z"]]}, …]}

``edges`` name their input by one of

* ``characters``: ranges of characters, including both ends;
* ``bytes``: ranges of bytes, if they are no whole characters (and in machines over bytes);
* ``tokens``: token ids; ``vocabulary`` then describes the vocabulary, and ``spelling`` has the text
  of each token, or ``{"hex": …}`` for bytes that are no text;
* ``calls``: the called rule; ``target`` is the return state;
* ``label``: any of the tokens that a vocabulary has for this terminal label. Among ``tokens`` it
  has an id behind the last token, and the spelling ``{"label": …}``; machines with a stack read it
  as two bytes.

Ids of states are numbers, possibly with gaps. An edge of a transducer has the byte it ``writes``.
Machines with a stack add ``pops`` (the top first) and ``pushes`` (the new top last), indices into
``symbols``. Edges of both without an input are ε-edges. Each of the ``rules`` has an initial state;
``labels`` describe the states.

In AT&T text a line is ``source  target  input  output  weight``, a final state ``state  weight``;
the first line's source is the initial state. Labels are numbers or, with the tables of symbols,
names:

* a byte is its own label, so that strings compiled by pynini (which are bytes) compose without
  conversion; the byte 0x00 is 256, because 0 is ε;
* token *i* is labelled *i* + 1;
* names have no white space: printable ASCII is unchanged, a backslash is doubled, all other bytes
  are written ``\xHH``.

Source: the format of AT&T's FSM library (Mohri, Pereira & Riley 2000), which OpenFst reads.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from workbench.base.dfa import DEAD, Dfa, State
from workbench.constraint.engine.compose_pda import TokenPda
from workbench.constraint.labels import first_label_id
from workbench.constraint.token_automaton import TokenAutomaton
from workbench.drawing.edge_labels import byte_edges, folded
from workbench.grammar.label_encoding import show_labels
from workbench.pushdown.network import Network
from workbench.pushdown.textbook_pda import Pda
from workbench.syntax.ranges import Ranges
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

FORMAT = "grammar-workbench automaton"
VERSION = 1

Record = dict[str, Any]


def text(record: Record) -> str:
    """A record as readable JSON: long lists have one entry per line, also for diffs."""
    written = []
    for key, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            written.append(f" {json.dumps(key)}: [\n  {entries}\n ]")
        else:
            written.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(written) + "\n}\n"


def dfa_record(dfa: Dfa) -> Record:
    """A byte automaton as a character automaton; states inside a character are left out."""
    read = folded(dfa)
    edges: list[Record] = [
        {"source": s, "target": t, "characters": [[chr(low), chr(high)] for low, high in ranges]}
        for (s, t), ranges in read.characters.items()
    ]
    edges += [
        {"source": s, "target": t, "bytes": _bytes(ranges)} for (s, t), ranges in read.raw.items()
    ]
    edges += [
        {"source": s, "target": t, "label": label.name}
        for (s, t), labels in read.labels.items()
        for label in labels
    ]
    finals = [state for state in sorted(read.states) if dfa.finals[state]]
    return _record("characters", len(read.states), dfa.initial, finals, edges)


def token_fsa_record(fsa: TokenAutomaton, machine: str = "tokens") -> Record:
    """A token automaton, called ``machine``; the tokens between two states are one edge.

    Raises: LimitError if it has more edges than may be written.
    """
    fsa.limits.check("token_edges", fsa.edge_count, "write a smaller vocabulary's machine")
    edges: list[Record] = []
    for state in range(len(fsa)):
        to: defaultdict[int, list[TokenId]] = defaultdict(list)
        for token_id, target in fsa.edges(state):
            to[target].append(token_id)
        edges += [{"source": state, "target": t, "tokens": ids} for t, ids in to.items()]
    finals = [state for state in range(len(fsa)) if fsa.finals[state]]
    record = _record(machine, len(fsa), fsa.initial, finals, edges)
    return {**record, **_vocabulary_fields(fsa.vocabulary, edges)}


def token_pda_record(machine: TokenPda) -> Record:
    """A token automaton with a stack; edges that differ only in their tokens are merged.

    Raises: LimitError if it has more edges than may be written.
    """
    groups: defaultdict[tuple[Any, ...], list[TokenId]] = defaultdict(list)
    for edge in machine.edges:
        groups[edge.source, edge.target, edge.pops, edge.pushes].append(edge.token_id)
    edges = [
        {"source": s, "target": t, "tokens": sorted(ids), "pops": [*pops], "pushes": [*pushes]}
        for (s, t, pops, pushes), ids in groups.items()
    ]
    record = _record("tokens", machine.states, machine.initial, sorted(machine.finals), edges)
    named = {"symbols": [*machine.symbols], "labels": [*machine.state_labels]}
    return {**record, **named, **_vocabulary_fields(machine.vocabulary, edges)}


def pda_record(pda: Pda) -> Record:
    """A push-down automaton over bytes."""
    edges = [
        {
            "source": edge.source,
            "target": edge.target,
            **({"bytes": _bytes(edge.ranges)} if edge.ranges else {}),
            # in a PdaEdge the top is last
            "pops": [*reversed(edge.pops)],
            "pushes": [*edge.pushes],
        }
        for edge in pda.edges
    ]
    record = _record("stack", pda.states, pda.initial, sorted(pda.finals), edges)
    return {**record, "symbols": [*pda.symbols], "labels": [*pda.state_labels]}


def network_record(network: Network) -> Record:
    """The rules of a network, a byte automaton each, with calls between them."""
    edges: list[Record] = []
    for state, row in enumerate(byte_edges(network.classes, network.table)):
        to: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for low, high, target in row:
            to[target].append((low, high))
        edges += [
            {"source": state, "target": t, "bytes": _bytes(ranges)} for t, ranges in to.items()
        ]
        edges += [
            {"source": state, "target": target, "calls": network.names[rule]}
            for rule, target in network.calling[state]
        ]
    finals = [state for state in range(len(network)) if network.finals[state]]
    record = _record("rules", len(network), network.initial, finals, edges)
    rules = [
        {
            "name": name,
            "initial": initial,
            "states": [s for s in range(len(network)) if network.owner[s] == number],
        }
        for number, (name, initial) in enumerate(zip(network.names, network.initials, strict=True))
    ]
    return {**record, "rules": rules}


def detokenizer_record(vocabulary: Vocabulary) -> Record:
    """The detokenizing transducer, prefixes merged; the last edge of a token reads the token."""
    edges: list[Record] = []
    node_of: dict[bytes, int] = {b"": 0}
    for token_id, token in enumerate(vocabulary.tokens):
        if token is None:
            continue
        for prefix in (token[:length] for length in range(1, len(token))):
            if prefix not in node_of:
                node_of[prefix] = len(node_of)
                source, target = node_of[prefix[:-1]], node_of[prefix]
                edges.append({"source": source, "target": target, "writes": prefix[-1]})
        source = node_of[token[:-1]]
        edges.append({"source": source, "target": 0, "tokens": [token_id], "writes": token[-1]})
    record = _record("detokenizer", len(node_of), 0, [0], edges)
    return {**record, **_vocabulary_fields(vocabulary, edges)}


def _record(machine: str, states: int, initial: int, finals: list[int], edges: Any) -> Record:  # noqa: ANN401  # records
    return {
        "format": FORMAT,
        "version": VERSION,
        "machine": machine,
        "states": states,
        "initial": initial,
        "finals": finals,
        "edges": edges,
    }


def _bytes(ranges: Ranges | Iterable[tuple[int, int]]) -> list[list[int]]:
    return [[low, high] for low, high in ranges]


def _vocabulary_fields(vocabulary: Vocabulary, edges: Iterable[Record]) -> Record:
    """The name of the vocabulary, and the text of each occurring token."""
    used = sorted({token_id for edge in edges for token_id in edge.get("tokens", ())})
    named = {"name": vocabulary.name, "size": len(vocabulary), "end": vocabulary.end}
    return {"vocabulary": named, "spelling": dict(_spellings(vocabulary, used))}


def _spellings(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> Iterator[tuple[str, Any]]:
    first = first_label_id(vocabulary)
    for token_id in ids:
        token = vocabulary.tokens[token_id] or b""
        if token_id >= first:
            yield str(token_id), {"label": show_labels(token).strip("⟨⟩")}
            continue
        try:
            yield str(token_id), token.decode("utf-8")
        except UnicodeDecodeError:
            yield str(token_id), {"hex": token.hex()}


#: ``(source, target, input label, output label)``
Arc = tuple[State, State, int, int]

EPSILON = 0

#: The name of ε in the tables.
EPSILON_NAME = "<eps>"

_NUL = 256


@dataclass(frozen=True, slots=True, eq=False)
class Att:
    """A finite machine as arcs between numbered states; every weight is 0, the tropical 1."""

    #: The arcs of the initial state come first.
    arcs: tuple[Arc, ...]
    finals: tuple[State, ...]
    #: The names of the input labels, and of the output labels, by label.
    inputs: dict[int, str]
    outputs: dict[int, str]

    def numbered(self) -> str:
        """The text with labels as numbers; compiles without a table."""
        return self._text(str, str)

    def named(self) -> str:
        """The text with labels as names; compiles with the two tables."""
        return self._text(self.inputs.__getitem__, self.outputs.__getitem__)

    def _text(self, read: Callable[[int], str], write: Callable[[int], str]) -> str:
        lines = (f"{s}\t{t}\t{read(i)}\t{write(o)}\t0\n" for s, t, i, o in self.arcs)
        return "".join(chain(lines, (f"{state}\t0\n" for state in self.finals)))

    def archive(self, name: str) -> bytes:
        """A zip with the named text, both tables, and a README on how to compile them."""
        files = {
            f"{name}.fst.txt": self.named(),
            f"{name}.isyms.txt": table(self.inputs),
            f"{name}.osyms.txt": table(self.outputs),
            "README.txt": _README.format(name=name),
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, text in files.items():
                # without time stamps, so that equal machines give equal files
                archive.writestr(zipfile.ZipInfo(path), text, zipfile.ZIP_DEFLATED)
        return buffer.getvalue()


_README = """\
A finite machine in AT&T text, as OpenFst reads it: source, target, input, output, weight.

  fstcompile --isymbols={name}.isyms.txt --osymbols={name}.osyms.txt {name}.fst.txt {name}.fst
  fstinfo {name}.fst

A byte is labelled with itself (0x00 with 256), token i with i + 1, and 0 is epsilon. In the names
a backslash is doubled, and what is not printable ASCII is written \\xHH, byte by byte.
"""


def table(names: dict[int, str]) -> str:
    """A symbol table in OpenFst's format, by label."""
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
    """A token automaton as an acceptor of tokens; final states replace the end token.

    Raises: LimitError if it has more edges than may be written.
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
    """The detokenizing transducer T_V: reads tokens, writes their bytes; prefixes are merged.

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
    sorted_arcs = list(arcs)
    sorted_arcs.sort(key=lambda arc: (arc[0] != initial, arc[0]))
    final = sorted(finals, key=lambda state: (state != initial, state))
    return Att(tuple(sorted_arcs), tuple(final), inputs, outputs)


def _set(finals: Iterable[object]) -> list[State]:
    return [state for state, final in enumerate(finals) if final]


def escaped(data: bytes) -> str:
    """Bytes as a unique name without white space."""
    return "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 < byte < 0x7F else f"\\x{byte:02x}"
        for byte in data
    )


_BYTES = {EPSILON: EPSILON_NAME, **{byte_label(b): escaped(bytes((b,))) for b in range(256)}}


def token_names(vocabulary: Vocabulary) -> dict[int, str]:
    """The names of all tokens by label; special ones and second ones of a spelling by their id."""
    names = {EPSILON: EPSILON_NAME}
    taken = {EPSILON_NAME}
    first = first_label_id(vocabulary)
    for token_id, token in enumerate(vocabulary.tokens):
        name = f"\\special{token_id}" if token is None else escaped(token)
        if token is not None and token_id >= first:
            name = f"\\{show_labels(token).strip('⟨⟩')}"
        if name in taken:
            # a lone backslash begins no other name's ending
            name = f"{name}\\#{token_id}"
        taken.add(name)
        names[token_label(token_id)] = name
    return names
