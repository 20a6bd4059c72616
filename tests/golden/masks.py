"""Masks and closed-form edges: the gallery, the case files, and every decoding method."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import workbench as wb
from tests.golden import doors
from tests.golden.entries import Bulk, Entry

_CASES = Path(__file__).parents[1] / "data"

#: Texts up to this length have the mask at every byte recorded; longer ones at about 16 places.
_EVERY_BYTE, _PLACES = 48, 16

#: Bytes of a text that are read.
_LONGEST = 400


def masks(of: wb.Constraint, text: bytes, places: int = 0, *, longest: bool = False) -> Entry:
    """The mask after each beginning of a text: how many tokens, digest, and what may follow.

    The text is read in tokens of one byte where these are allowed, or in the longest ones.
    """
    data, state, at = text[:_LONGEST], of.initial, 0
    if not places and len(data) > _EVERY_BYTE:
        places = _PLACES
    shown = set(range(len(data) + 1))
    if places:
        shown = set(np.linspace(0, len(data), places).astype(int).tolist())
    found: dict[int, str] = {}
    while True:
        mask = of.mask(state)
        if at in shown or not found:
            found[at] = _described(of, state, mask)
        if at >= len(data):
            break
        token_id = _next_token(of.vocabulary, mask, data[at:], longest=longest)
        if token_id is None:
            found[at] = f"{_described(of, state, mask)} · cannot go further"
            break
        state = of.advance(state, token_id)
        at += len(of.vocabulary.tokens[token_id] or b"")
        shown |= {at} if at >= len(data) else set()
    return {"text": text, "masks": found}


def _described(of: wb.Constraint, state: Any, mask: wb.TokenMask) -> str:
    words = [str(len(mask)), Bulk(mask.bits.tobytes()).digest]
    if of.is_final(state):
        words.append("final")
    if forced := of.forced(state):
        words.append(f"forced {forced.decode('utf-8', 'backslashreplace')!r}")
    return " ".join(words)


def _next_token(of: wb.Vocabulary, mask: wb.TokenMask, data: bytes, *, longest: bool) -> int | None:
    """The token of one byte that is allowed next, else the longest one; or the longest at all."""
    lengths = [*range(of.longest, 0, -1)]
    for length in lengths if longest else [1, *lengths]:
        for token_id in of.ids_of.get(data[:length], ()):
            if token_id in mask:
                return token_id
    return None


# -- the gallery ----------------------------------------------------------------------------------


def gallery_names() -> list[str]:
    """The names of the examples."""
    return list(doors.gallery())


def gallery_masks(name: str) -> Iterator[Entry]:
    """Masks of an example over the embedded vocabulary, and over its own where it has one."""
    example, grammar = doors.gallery()[name], doors.grammar_of(name)
    made = {"": wb.compile(grammar, doors.builtin())}
    if example.small_tokens:
        made["small tokens "] = wb.compile(grammar, doors.builtin(), small_tokens=True)
    for kind, constraint in made.items():
        for number, text in enumerate(example.accepts):
            yield {"key": f"{name}/{kind}{number}", **masks(constraint, text.encode())}


def gallery_edges(name: str) -> Iterator[Entry]:
    """The closed form of an example over the embedded vocabulary."""
    yield {"key": f"{name}/edges", **edges(doors.grammar_of(name), doors.builtin())}


def edges(grammar: wb.Grammar, vocabulary: wb.Vocabulary) -> Entry:
    """Figures and digests of a composed machine, or the message of the error.

    ``numbered`` has the states as the machine numbers them, ``renumbered`` in the order in which
    they are visited from the initial state: it is equal where only the numbering changed.
    """
    try:
        form = doors.closed_form(grammar, vocabulary)
    except wb.WorkbenchError as error:
        return doors.refusal(error)
    first, token_ids = form["first"], form["token_ids"]
    entry: Entry = {
        "states": len(first) - 1,
        "finals": len(form["finals"]),
        "token edges": len(token_ids),
        "tokens": Bulk(token_ids.astype(np.int32).tobytes(), token_ids),
    }
    if "targets" in form:
        targets = form["targets"].astype(np.int32)
        entry["numbered"] = _digest(form["initial"], form["finals"], first, token_ids, targets)
        entry["renumbered"] = _renumbered(form)
        return entry
    entry |= {"edges": form["edges"], "symbols": len(form["symbols"])}
    numbers, renamed = np.unique(form["choices"], return_inverse=True)
    moves = [form["moves"][int(choice)] for choice in numbers]
    entry["numbered"] = _digest(
        form["initial"], form["finals"], first, token_ids, renamed.astype(np.int32)
    )
    entry["moves"] = Bulk(moves)
    entry["names"] = Bulk([*form["symbols"], *form["labels"]])
    return entry


def _renumbered(form: dict[str, Any]) -> Bulk:
    """The edges with states numbered by breadth-first search, tokens in order."""
    first, token_ids, targets = form["first"], form["token_ids"], form["targets"]
    number = {int(form["initial"]): 0}
    waiting = list(number)
    for state in waiting:  # grows while it is read
        there, at = np.unique(targets[first[state] : first[state + 1]], return_index=True)
        for target in there[np.argsort(at)].tolist():
            if target not in number:
                number[target] = len(number)
                waiting.append(target)
    names = np.full(len(first) - 1, -1, np.int32)
    names[list(number)] = list(number.values())
    finals = sorted(number[state] for state in form["finals"].tolist() if state in number)
    rows = [slice(first[state], first[state + 1]) for state in waiting]
    sizes = np.array([row.stop - row.start for row in rows])
    read = np.concatenate([token_ids[row] for row in rows])
    led = np.concatenate([names[targets[row]] for row in rows])
    return _digest(0, np.array(finals), sizes, read, led)


def _digest(initial: int, finals: doors.Ints, *rows: doors.Ints) -> Bulk:
    """The digest of a machine: where it begins and ends, its rows, their tokens and targets."""
    arrays = [np.asarray(each, np.int32) for each in (finals, *rows)]
    names = ("finals", "rows", "token_ids", "targets")
    readable = {"initial": int(initial), **dict(zip(names, arrays, strict=True))}
    data = [str(int(initial)).encode(), *(each.tobytes() for each in arrays)]
    return Bulk(b"|".join(data), readable)


# -- the case files -------------------------------------------------------------------------------


@cache
def cases() -> dict[str, tuple[str, str, str, list[str], list[str]]]:
    """Grammars by key: text, notation, start, texts, tokens (none: those of the texts)."""
    found: dict[str, tuple[str, str, str, list[str], list[str]]] = {}
    grammars = json.loads(gzip.decompress((_CASES / "grammar_cases.json.gz").read_bytes()))
    written = json.loads(gzip.decompress((_CASES / "grammar_notations.json.gz").read_bytes()))
    for name, case in grammars.items():
        found[name] = (case["kbnf"], "kbnf", case["start"], case["accept"][:3], [])
        for notation, text in written.get(name, {}).items():
            start = "root" if notation == "gbnf" else "start"
            found[f"{name}-{notation}"] = (text, notation, start, case["accept"][:2], [])
    for case in json.loads(gzip.decompress((_CASES / "kbnf_cases.json.gz").read_bytes())):
        texts = [text for text in case["accepts"] if text][:2]
        found[f"engine-{case['name']}"] = (
            case["grammar"], "kbnf", case["start"], texts, [word for word in case["vocab"] if isinstance(word, str)],
        )  # fmt: skip
    lines = gzip.decompress((_CASES / "interchange.jsonl.gz").read_bytes()).splitlines()
    for case in [json.loads(line) for line in lines][::3]:
        texts = [*case["accepts"], *case["accepts_generated"]][:2]
        found[case["id"]] = (case["grammar"], case["format"], case["start"] or "start", texts, [])
    return found


#: Cases with thousands of states, each of which takes seconds.
_LARGE_CASES = frozenset({"ic-0066", "ic-0075", "ic-0166", "ic-0370"})


def case_names() -> list[str]:
    """The names of the cases."""
    return [name for name in cases() if name not in _LARGE_CASES]


def case_masks(name: str) -> Iterator[Entry]:
    """Masks and closed form of a case over a small vocabulary, or why it is refused."""
    text, notation, start, texts, words = cases()[name]
    try:
        grammar = doors.grammar(text, notation, start)
        vocabulary = _vocabulary(words or texts, whole=bool(words))
        constraint = wb.compile(grammar, vocabulary)
    except wb.WorkbenchError as error:
        yield {"key": f"{name}/refused", **doors.refusal(error)}
        return
    for number, each in enumerate(texts):
        yield {"key": f"{name}/{number}", **masks(constraint, each.encode(), places=8)}
    yield {"key": f"{name}/edges", **edges(grammar, vocabulary)}


def _vocabulary(texts: list[str], *, whole: bool) -> wb.Vocabulary:
    """All bytes, and the texts: as they are, or their pieces of two to four bytes."""
    words = [text.encode() for text in texts]
    if not whole:
        words = [
            word[at : at + length]
            for word in (word[:120] for word in words)
            for length in (2, 3, 4)
            for at in range(len(word) - length + 1)
        ]
    longer = sorted({word for word in words if len(word) > 1})
    return wb.Vocabulary(
        (*(bytes([byte]) for byte in range(256)), *longer, None), end=256 + len(longer)
    )


# -- the methods ----------------------------------------------------------------------------------

#: Examples on which every method is tried.
_EXAMPLES = (
    "yes_or_no", "date", "phone", "email", "person", "json", "order_number", "koo_choice",
    "koo_subset", "kbnf_paragraph", "anbn", "palindrome", "arithmetic", "calculation", "unicode",
)  # fmt: skip

#: Methods with other options than their defaults, by the name of an entry.
_OPTIONS: dict[str, dict[str, Any]] = {
    "online trie": {"method": "online", "how": "trie"},
    "online synchromesh": {"method": "online", "how": "trie", "checker": "synchromesh"},
    "online llama.cpp": {"method": "online", "how": "trie", "checker": "llama.cpp"},
    "online gcd": {"method": "online", "how": "trie", "checker": "gcd"},
    "domino k=0": {"method": "domino", "k": 0},
    "domino k=1": {"method": "domino", "k": 1},
    "lalr shift": {"method": "lalr", "conflicts": "shift"},
    "template no healing": {"method": "template", "healing": False},
}

#: Methods that are tried over a small vocabulary without a pre-tokenizer too.
_MERGING = ("proper", "vegas", "direct_merge")


def method_subjects() -> list[str]:
    """The examples on which every method is tried."""
    return list(_EXAMPLES)


def method_masks(name: str) -> Iterator[Entry]:
    """Masks of one text of an example by each method, or why the method refuses."""
    example, grammar = doors.gallery()[name], doors.grammar_of(name)
    text = min(example.accepts, key=len).encode()
    plain = {method: {"method": method} for method in doors.method_names()}
    for method, options in {**plain, **_OPTIONS}.items():
        yield _by_method(f"{name}/{method}", grammar, doors.builtin(), options, text)
    for method in _MERGING:
        key = f"{name}/{method} merging"
        yield _by_method(key, grammar, _merging(), plain[method], text)


def _by_method(
    key: str, of: wb.Grammar, vocabulary: wb.Vocabulary, options: dict[str, Any], text: bytes
) -> Entry:
    try:
        return {"key": key, **masks(wb.compile(of, vocabulary, **options), text, longest=True)}
    except wb.WorkbenchError as error:
        return {"key": key, **doors.refusal(error)}


@cache
def _merging() -> wb.Vocabulary:
    """A small vocabulary with merge rules and no pre-tokenizer."""
    merges = [(b"a", b"b"), (b"1", b"2"), (b"e", b"s"), (b"Y", b"es"), (b"ab", b"ab"), (b"0", b"0")]
    joined = [left + right for left, right in merges]
    return wb.Vocabulary(
        (*(bytes([byte]) for byte in range(256)), *joined, None),
        end=256 + len(joined),
        merges=merges,
        name="merging",
    )
