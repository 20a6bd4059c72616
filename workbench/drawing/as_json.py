"""Machines as JSON for other programs: records of plain values.

Every record says what it is and holds the whole machine, nothing folded::

    {"format": "grammar-workbench automaton", "version": 1, "machine": "characters",
     "states": 3, "initial": 0, "finals": [2],
     "edges": [{"source": 0, "target": 1, "characters": [["a", "z"]]}, …]}

``edges`` name their input by one of

* ``characters``: ranges of characters, both ends in;
* ``bytes``: ranges of bytes, where they are no whole characters (and in machines over bytes);
* ``tokens``: token ids; ``vocabulary`` then says whose, and ``spelling`` the text of each: a text,
  or ``{"hex": …}`` where it is no text by itself;
* ``calls``: the rule that is entered; ``target`` is where it returns to;
* ``label``: one token of those that a vocabulary has for this terminal label. Among ``tokens`` it
  is the id behind the last, spelt ``{"label": …}``; machines with a stack read it as two bytes.

Ids of states are numbers, not always without gaps. A transducer's edges say which byte each
``writes``. Machines with a stack add ``pops`` (the top first) and ``pushes`` (the new top last),
indices into ``symbols``. Edges of both that name nothing read nothing. ``rules`` have an initial
state each; ``labels`` describe the states.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.automata.dfa import Dfa
from workbench.constraint.compose_pda import TokenPda
from workbench.constraint.labels import first_sign
from workbench.constraint.token_automaton import TokenAutomaton
from workbench.drawing.characters import byte_edges, folded
from workbench.pushdown.network import Network
from workbench.pushdown.pda import Pda
from workbench.signs import named
from workbench.syntax.regex.tree import Ranges
from workbench.vocabulary.vocabulary import TokenId, Vocabulary

FORMAT = "grammar-workbench automaton"
VERSION = 1

Record = dict[str, Any]


def text(record: Record) -> str:
    """A record as JSON that a person can read and a diff can show: long lists an entry a line."""
    written = []
    for key, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            written.append(f" {json.dumps(key)}: [\n  {entries}\n ]")
        else:
            written.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(written) + "\n}\n"


def dfa_record(dfa: Dfa) -> Record:
    """A byte automaton as the character automaton it is; states inside a character are left out."""
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
    """A token automaton, called ``machine``; the edges of two states are one with all its tokens.

    Raises: LimitError where it has more edges than may be written out.
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
    return {**record, **_spelt(fsa.vocabulary, edges)}


def token_pda_record(machine: TokenPda) -> Record:
    """A token automaton with a stack; edges that differ in their tokens alone are one.

    Raises: LimitError where it has more edges than may be written out.
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
    return {**record, **named, **_spelt(machine.vocabulary, edges)}


def pda_record(pda: Pda) -> Record:
    """A push-down automaton over bytes."""
    edges = [
        {
            "source": edge.source,
            "target": edge.target,
            **({"bytes": _bytes(edge.ranges)} if edge.ranges else {}),
            # a PdaEdge names the top last
            "pops": [*reversed(edge.pops)],
            "pushes": [*edge.pushes],
        }
        for edge in pda.edges
    ]
    record = _record("stack", pda.states, pda.initial, sorted(pda.finals), edges)
    return {**record, "symbols": [*pda.symbols], "labels": [*pda.state_labels]}


def network_record(network: Network) -> Record:
    """The rules that recurse, a byte automaton each, with calls between them."""
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
    """The detokenizing transducer, prefixes merged: the last edge of a token reads the token."""
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
    return {**record, **_spelt(vocabulary, edges)}


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


def _spelt(vocabulary: Vocabulary, edges: Iterable[Record]) -> Record:
    """The name of the vocabulary, and the text of each token that occurs."""
    used = sorted({token_id for edge in edges for token_id in edge.get("tokens", ())})
    named = {"name": vocabulary.name, "size": len(vocabulary), "end": vocabulary.end}
    return {"vocabulary": named, "spelling": dict(_spellings(vocabulary, used))}


def _spellings(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> Iterator[tuple[str, Any]]:
    first = first_sign(vocabulary)
    for token_id in ids:
        token = vocabulary.tokens[token_id] or b""
        if token_id >= first:
            yield str(token_id), {"label": named(token).strip("⟨⟩")}
            continue
        try:
            yield str(token_id), token.decode("utf-8")
        except UnicodeDecodeError:
            yield str(token_id), {"hex": token.hex()}
