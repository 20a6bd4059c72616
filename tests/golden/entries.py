"""Golden entries: one JSON object a line, sorted by key, and how two versions differ.

An entry is a dictionary whose ``key`` is ``SUBJECT/REST``; a subject is recorded and compared as a
whole. What is too large to be stored is wrapped in ``Bulk`` and stored as a digest.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
INPUTS = Path(__file__).parent / "inputs"

#: A record of one result; its key comes first.
Entry = dict[str, Any]

#: Hexadecimal digits of a digest.
_DIGITS = 16

#: Significant digits of a floating-point number; with more, other processors' sums may differ.
_PRECISION = 2

#: Differing entries and differing values that one comparison reports.
_MAX_ENTRIES, _MAX_VALUES = 4, 6

#: Characters of a value that a report shows.
_MAX_SHOWN = 300

_MISSING = object()


@dataclass(frozen=True, slots=True, eq=False)
class Bulk:
    """A value that is stored as its digest; ``python -m tests.golden --show KEY`` prints it."""

    value: Any
    #: The same for a reader, where ``value`` is bytes; arrays are written as lists.
    readable: Any = None

    @property
    def digest(self) -> str:
        data = self.value if isinstance(self.value, bytes) else text_of(self.value).encode()
        return hashlib.sha256(data).hexdigest()[:_DIGITS]


def text_of(value: object, *, indent: int | None = None) -> str:
    """A value as JSON; lone surrogates are escaped, floats have two significant digits."""
    written = json.dumps(_plain(value), ensure_ascii=False, indent=indent, sort_keys=False)
    return written.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: object) -> object:
    """The value with digests in the place of bulk, and rounded numbers."""
    match value:
        case Bulk():
            return value.digest
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case bool() | int() | None:
            return value
        case str():
            return str(value)
        case float():
            return float(f"{value:.{_PRECISION}g}")
        case Mapping():
            return {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
    raise TypeError(f"expected a value of JSON, not {value!r}")


def full(value: object) -> object:
    """The value with everything that ``Bulk`` hides."""
    match value:
        case Bulk():
            return full(value.value if value.readable is None else value.readable)
        case np.ndarray():
            return value.tolist()
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case Mapping():
            return {str(key): full(one) for key, one in value.items()}
        case list() | tuple():
            return [full(one) for one in value]
    return value


def path_of(area: str) -> Path:
    """The file of an area."""
    return DATA / f"{area}.jsonl"


def subject_of(key: str) -> str:
    """The part of a key before the first slash."""
    return key.partition("/")[0]


def stored(area: str) -> dict[str, str]:
    """The lines of an area by key; empty where nothing has been recorded."""
    path = path_of(area)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {json.loads(line)["key"]: line for line in lines}


def lines_of(entries: Iterable[Entry]) -> dict[str, str]:
    """Entries as lines by key."""
    made: dict[str, str] = {}
    for entry in entries:
        assert entry["key"] not in made, f"two entries have the key {entry['key']}"
        made[entry["key"]] = text_of(entry)
    return made


def write(area: str, lines: Mapping[str, str]) -> None:
    """Write the file of an area, sorted by key."""
    DATA.mkdir(exist_ok=True)
    text = "".join(f"{lines[key]}\n" for key in sorted(lines))
    path_of(area).write_text(text, "utf-8", newline="\n")


def changed_keys(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The keys of entries that were added, removed or changed, sorted."""
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))


def report(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """The first differing entries, value by value, old and new; empty where all are equal."""
    changed = changed_keys(old, new)
    lines = [line for key in changed[:_MAX_ENTRIES] for line in _entry(key, old, new)]
    if len(changed) > _MAX_ENTRIES:
        lines.append(f"… and {len(changed) - _MAX_ENTRIES} more entries")
    return "\n".join(lines)


def _entry(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    """How one entry differs."""
    if key not in old:
        yield f"{key}: new entry {_shown(new[key])}"
        return
    if key not in new:
        yield f"{key}: missing entry, was {_shown(old[key])}"
        return
    yield f"{key}:"
    places = list(_places(json.loads(old[key]), json.loads(new[key]), ""))
    for place, before, after in places[:_MAX_VALUES]:
        yield from _value(place, before, after)
    if len(places) > _MAX_VALUES:
        yield f"  … and {len(places) - _MAX_VALUES} more values"


def _places(old: object, new: object, at: str) -> Iterator[tuple[str, object, object]]:
    """The places inside two values of JSON where they differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            yield from _places(old.get(name, _MISSING), new.get(name, _MISSING), f"{at}.{name}")
    elif isinstance(old, list) and isinstance(new, list):
        for i in range(max(len(old), len(new))):
            before, after = (one[i] if i < len(one) else _MISSING for one in (old, new))
            yield from _places(before, after, f"{at}[{i}]")
    elif old != new:
        yield at.lstrip("."), old, new


def _value(place: str, old: object, new: object) -> Iterator[str]:
    """How one value differs; texts of several lines as a diff."""
    if isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        yield f"  {place}:"
        diff = difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", "", "", 1)
        yield from (f"    {line.rstrip()}" for line in list(diff)[:16])
    else:
        yield f"  {place}: {_shown(old)} → {_shown(new)}"


def _shown(value: object) -> str:
    if value is _MISSING:
        return "nothing"
    text = value if isinstance(value, str) else text_of(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
