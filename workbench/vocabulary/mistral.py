"""Reads Mistral's SentencePiece and Tekken vocabularies, from the package mistral-common.

A SentencePiece model is a protocol buffer. The few fields needed are decoded here, because the
library reports neither which pieces are user-defined nor how text is normalised.

Source: sentencepiece_model.proto of google/sentencepiece.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from struct import unpack

import numpy as np
import numpy.typing as npt

from workbench.base.errors import VocabularyError
from workbench.vocabulary.disk_cache import Arrays, Packed, cached_arrays
from workbench.vocabulary.vocabulary import AddedToken, TokenId, Tokenizer, Vocabulary

#: The kinds of pieces that have a text.
NORMAL, USER_DEFINED, BYTE = 1, 4, 6
#: The model type of byte-pair encoding.
_BPE = 2

#: The number of a field, and its value: an integer, or bytes (4, 8 or any number).
_Field = tuple[int, int | bytes]


@dataclass(frozen=True, slots=True, eq=False)
class SentencePieceModel:
    """The pieces by id (their text, where ▁ is a space, score and kind), and the settings."""

    pieces: list[str]
    scores: list[float]
    kinds: list[int]
    #: Whether it is a byte-pair encoding: pieces are produced by merging the best pair.
    merges: bool
    #: Whether ▁ is added before a text.
    dummy_prefix: bool
    #: Whether texts are not changed otherwise before encoding.
    plain: bool


def read_model(data: bytes) -> SentencePieceModel:
    """The model in a file.

    Raises: VocabularyError if it is not such a file.
    """
    try:
        fields = [(number, value) for number, value in _fields(data) if isinstance(value, bytes)]
        trainer = dict(_fields(next(value for number, value in fields if number == 2)))
        normaliser = dict(_fields(next((value for number, value in fields if number == 3), b"")))
        entries = [dict(_fields(value)) for number, value in fields if number == 1]
        return SentencePieceModel(
            pieces=[_bytes(entry[1]).decode() for entry in entries],
            scores=[unpack("<f", _bytes(entry.get(2, bytes(4))))[0] for entry in entries],
            kinds=[_int(entry.get(3, NORMAL)) for entry in entries],
            merges=trainer.get(3) == _BPE,
            dummy_prefix=bool(normaliser.get(3, 1)),
            plain=not normaliser.get(2)
            and not normaliser.get(4, 1)
            and bool(normaliser.get(5, 1))
            and not trainer.get(24),
        )
    except (ValueError, IndexError, KeyError, StopIteration, TypeError) as error:
        raise VocabularyError("expected the file of a SentencePiece model") from error


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise TypeError
    return value


def _int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise TypeError
    return value


def _fields(data: bytes) -> Iterator[_Field]:
    """The fields of a protocol buffer message in their order."""
    position = 0
    while position < len(data):
        tag, position = _number(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, position = _number(data, position)
            yield number, value
            continue
        if kind == 2:
            size, position = _number(data, position)
        else:
            size = {1: 8, 5: 4}[kind]
        if position + size > len(data):
            raise ValueError("the file is truncated")
        yield number, data[position : position + size]
        position += size


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A variable-length integer (seven bits in each byte), and the index after it."""
    value = shift = 0
    while data[position] >= 0x80:
        value |= (data[position] & 0x7F) << shift
        position, shift = position + 1, shift + 7
    return value | data[position] << shift, position + 1


#: The file of each name.
MISTRAL: dict[str, str] = {
    "mistral-v1": "tokenizer.model.v1",
    "mistral-v3": "mistral_instruct_tokenizer_240323.model.v3",
    "tekken": "tekken_240718.json",
}

#: The end token in all of them.
_END = 2

#: The names of Tekken's first special tokens. Files from before 2025 do not contain them; they are
#: in mistral-common's code (``Tekkenizer.DEPRECATED_SPECIAL_TOKENS``).
_TEKKEN_NAMES = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] "
    "[/TOOL_RESULTS] [TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] "
    "[SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]"
)

_HINT = "pip install 'grammar-workbench[tokenizers]'"


def mistral_vocabulary(name: str) -> Vocabulary:
    """One of ``MISTRAL``, read from the installed package mistral-common.

    Cost:   0.1 s for 32k, 0.3 s for 131k; 1 ms if it is cached on disk.
    Raises: VocabularyError if mistral-common is missing.
    """
    path = _data_folder(name) / MISTRAL[name]
    if not path.is_file():
        raise VocabularyError(f"expected {path.name} in mistral-common for {name!r}", _HINT)
    return _tekken(path, name) if path.suffix == ".json" else _sentencepiece(path, name)


def _data_folder(name: str) -> Path:
    """The data folder of mistral-common, found without importing it, which takes a second."""
    spec = find_spec("mistral_common")
    if spec is None or not spec.submodule_search_locations:
        raise VocabularyError(f"the vocabulary {name!r} comes with mistral-common", _HINT)
    return Path(next(iter(spec.submodule_search_locations))) / "data"


def _sentencepiece(path: Path, name: str) -> Vocabulary:
    """▁ is a space, ``<0x41>`` a byte; control pieces and <unk> have no text."""

    def make() -> Arrays:
        model = read_model(path.read_bytes())
        kinds = np.array(model.kinds)
        tokens: list[bytes | None] = []
        for piece, kind in zip(model.pieces, model.kinds, strict=True):
            if kind in (NORMAL, USER_DEFINED):
                tokens.append(piece.replace("▁", " ").encode())
            else:
                tokens.append(bytes((int(piece[3:5], 16),)) if kind == BYTE else None)
        # pieces with equal scores must have equal ranks
        ranks = np.unique(-np.array(model.scores), return_inverse=True)[1].astype(np.int32)
        ranks[kinds != NORMAL] = -1
        extra = {"ranks": ranks} if model.merges and model.plain else {}
        names = {i: model.pieces[i] for i, token in enumerate(tokens) if token is None}
        return (
            _arrays(tokens, names)
            | extra
            | {
                "single": np.flatnonzero(kinds == BYTE),
                "added": np.flatnonzero(kinds == USER_DEFINED),
                "prefix": np.frombuffer(b" " if model.dummy_prefix else b"", np.uint8),
            }
        )

    return _from_cache("sentencepiece", path, make, name)


def _tekken(path: Path, name: str) -> Vocabulary:
    """Byte strings in rank order after the special ids; ranks above the size are dropped.

    A piece that is a token is taken whole, as in every encoder that works by ranks.
    """

    def make() -> Arrays:
        data = json.loads(path.read_bytes())
        config = data["config"]
        special: int = config["default_num_special_tokens"]
        words: int = config["default_vocab_size"] - special
        tokens: list[bytes | None] = [None] * special
        tokens.extend(base64.b64decode(entry["token_bytes"]) for entry in data["vocab"][:words])
        ranks = np.maximum(np.arange(len(tokens), dtype=np.int32) - special, -1)
        pattern = np.frombuffer(config["pattern"].encode(), np.uint8)
        names = dict(enumerate(_TEKKEN_NAMES.split()[:special]))
        return _arrays(tokens, names) | {"pattern": pattern, "ranks": ranks}

    return _from_cache("tekken", path, make, name)


def _arrays(
    tokens: list[bytes | None], names: Mapping[TokenId, str]
) -> dict[str, npt.NDArray[np.generic]]:
    packed = Packed.of(tokens)
    named = np.frombuffer("\0".join(names.values()).encode(), np.uint8)
    return {
        "text": packed.text,
        "lengths": packed.lengths,
        "named": np.array([*names], np.int32),
        "names": named,
    }


def _from_cache(kind: str, path: Path, make: Callable[[], Arrays], name: str) -> Vocabulary:
    """The vocabulary of a file, from the cache if it is there.

    Parsing takes 0.1 to 0.3 s. The key is the path, the size and the modification time.
    """
    facts = path.stat()
    key = f"{path}\0{facts.st_size}\0{facts.st_mtime_ns}".encode()
    digest = hashlib.sha256(key).hexdigest()
    return cached_arrays(kind, digest, make, lambda arrays: _vocabulary(arrays, name))


def _vocabulary(arrays: Arrays, name: str) -> Vocabulary:
    tokens = Packed(arrays["text"], arrays["lengths"])  # type: ignore[arg-type]  # checked by Packed
    pattern = arrays.get("pattern")
    names = arrays["names"].tobytes().decode().split("\0")
    tokenizer = Tokenizer(
        patterns=() if pattern is None else (pattern.tobytes().decode(),),
        ignore_merges=pattern is not None,
        ranks=arrays["ranks"].astype(np.int32, copy=False) if "ranks" in arrays else None,
        byte_fallback=_ids(arrays, "single"),
        added=[AddedToken(tokens[i] or b"", i) for i in _ids(arrays, "added")],
        prefix=arrays["prefix"].tobytes() if "prefix" in arrays else b"",
    )
    return Vocabulary(
        tokens,
        end=_END,
        special=np.flatnonzero(tokens.lengths < 0).tolist(),
        name=name,
        names=dict(zip(_ids(arrays, "named"), names, strict=True)),
        tokenizer=tokenizer,
    )


def _ids(arrays: Arrays, field: str) -> list[int]:
    ids: list[int] = arrays[field].tolist() if field in arrays else []
    return ids
