"""A SentencePiece model's file comes in, its pieces, their scores and its settings go out.

The file is a protocol buffer; the few fields needed are read here, since the library tells neither
which pieces are user-defined nor how it normalises text.
Source: sentencepiece_model.proto of google/sentencepiece.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import unpack

from workbench.errors import VocabularyError

#: The kinds of pieces that spell something.
NORMAL, USER_DEFINED, BYTE = 1, 4, 6
#: Kind of model: byte-pair encoding.
_BPE = 2

#: A field's number, and what it holds: a number, or bytes of 4, 8 or any length.
_Field = tuple[int, int | bytes]


@dataclass(frozen=True, slots=True, eq=False)
class SentencePieceModel:
    """Pieces by their ids: what they spell (▁ is a space), score and kind; and the settings."""

    pieces: list[str]
    scores: list[float]
    kinds: list[int]
    #: Whether pieces are made by merging the best pair.
    merges: bool
    #: Whether ▁ is put before a text.
    dummy_prefix: bool
    #: Whether nothing else is changed in a text before it is cut.
    plain: bool


def read_model(data: bytes) -> SentencePieceModel:
    """The model a file holds.

    Raises: VocabularyError where it is no such file.
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
    """The fields of a message in their order."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = _number(data, at)
            yield number, value
            continue
        if kind == 2:
            size, at = _number(data, at)
        else:
            size = {1: 8, 5: 4}[kind]
        if at + size > len(data):
            raise ValueError("cut off")
        yield number, data[at : at + size]
        at += size


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and the place after it."""
    value = shift = 0
    while data[at] >= 0x80:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1
