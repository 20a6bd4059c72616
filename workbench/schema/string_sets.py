"""Sets of strings, as words, length bounds or an automaton; the strings of each ``format``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from workbench.automata.code_points import alphabet_of
from workbench.automata.determinize import nothing, trimmed
from workbench.base.dfa import DEAD, Dfa
from workbench.base.limits import LIMITS, Limits
from workbench.base.source import SURROGATE, quick_init
from workbench.schema import string_machines
from workbench.schema.json_literals import all_but_words_machine, literals_machine, words_machine
from workbench.schema.string_machines import Content, search
from workbench.syntax.regex.unicode_sets import POSIX


@quick_init
@dataclass(frozen=True, slots=True)
class StringSet:
    """A set of strings, independent of how JSON escapes them.

    Either it is finite and given by ``words``; or it contains every string of ``low`` to ``high``
    characters that is not in ``without`` and, if ``content`` is given, is in ``content``.
    """

    words: frozenset[str] | None = None
    low: int = 0
    high: int | None = None
    without: frozenset[str] = frozenset()
    content: Content | None = None

    @staticmethod
    def everything() -> StringSet:
        """Every string."""
        return _EVERYTHING

    @staticmethod
    def nothing() -> StringSet:
        """No string."""
        return _NOTHING

    @staticmethod
    def of(words: Iterable[str]) -> StringSet:
        """Exactly these strings, except those with a lone surrogate."""
        return StringSet(words=_strings(words))

    @staticmethod
    def all_but(words: Iterable[str]) -> StringSet:
        """Every string except these."""
        return _bounded(StringSet(without=_strings(words)))

    @staticmethod
    def lengths(low: int = 0, high: int | None = None) -> StringSet:
        """The strings of ``low`` to ``high`` code points."""
        return _bounded(StringSet(low=max(low, 0), high=high))

    @staticmethod
    def pattern(pattern: str, limits: Limits = LIMITS) -> StringSet:
        """The strings in which an ECMA-262 regex is found at some position.

        Raises: ParseError if it cannot be parsed or is not regular; LimitError if its automaton
                is too large.
        """
        content = search(pattern, limits)
        run = string_machines.uniform_run(content)
        if run is None:
            return StringSet(content=content)
        low, high, characters = run
        return _bounded(StringSet(low=low, high=high, content=characters))

    @staticmethod
    def format(name: str) -> StringSet | None:
        """The strings of a format; None if the format is unknown."""
        content = format_strings(name)
        return None if content is None else StringSet(content=content)

    def __and__(self, other: StringSet) -> StringSet:
        if other is self or other is _EVERYTHING:
            return self
        if self is _EVERYTHING:
            return other
        if self.words is not None:
            kept = frozenset(filter(other.contains, self.words))
            return self if len(kept) == len(self.words) else StringSet(words=kept)
        if other.words is not None:
            return other & self
        if self.is_complement and other.is_complement:
            without = self.without | other.without
            if len(without) == len(self.without):
                return self
            return other if len(without) == len(other.without) else StringSet(without=without)
        highs = [high for high in (self.high, other.high) if high is not None]
        content = self.content or other.content
        if self.content and other.content and self.content is not other.content:
            content = _both(self.content, other.content)
        low, high = max(self.low, other.low), min(highs, default=None)
        without = self.without | other.without
        return _bounded(StringSet(low=low, high=high, without=without, content=content))

    def __invert__(self) -> StringSet:
        return _complement(self)

    def __or__(self, other: StringSet) -> StringSet:
        if other is self or other is _NOTHING:
            return self
        return other if self is _NOTHING else _union(self, other)

    @property
    def only_counts(self) -> bool:
        """Whether it is all strings of ``low`` to ``high`` characters, of one character class."""
        if self.words is not None or self.without:
            return False
        run = (0, None, None) if self.content is None else string_machines.uniform_run(self.content)
        return run is not None and run[:2] == (0, None)

    @property
    def is_complement(self) -> bool:
        """Whether it is all strings except those in ``without``."""
        return self.words is None and not self.low and self.high is None and self.content is None

    @property
    def is_empty(self) -> bool:
        """Whether no string is a member."""
        if self.words is not None:
            return not self.words
        if self.content is None:
            return False
        return _has_no_member(self)

    def contains(self, text: str) -> bool:
        """Whether a string is a member."""
        if self.words is not None:
            return text in self.words
        if not text.isascii() and SURROGATE.search(text):
            return False
        if len(text) < self.low or (self.high is not None and len(text) > self.high):
            return False
        return text not in self.without and (self.content is None or self.content.contains(text))

    def finite(self, most: int) -> tuple[str, ...] | None:
        """The members if there are at most ``most``; None if there are more."""
        if self.words is not None:
            return tuple(sorted(self.words)) if len(self.words) <= most else None
        if self.content is None or self._has_more_than(most + len(self.without)):
            return None
        found: list[str] = []
        for word in string_machines.members(replace(self, without=frozenset()).as_content()):
            if word not in self.without:
                found.append(word)
            if len(found) > most:
                return None
        return tuple(sorted(found))

    def _has_more_than(self, most: int) -> bool:
        """Whether the length bounds alone imply more than ``most`` members.

        An infinite content has a member in every range of lengths as wide as its automaton has
        states.
        """
        assert self.content is not None
        if string_machines.is_finite(self.content):
            return False
        states = len(self.content.machine)
        return self.high is None or (self.high - self.low) // states > most + 1

    def as_content(self, limits: Limits = LIMITS) -> Content:
        """The same set as one automaton over characters."""
        if self.words is not None:
            return string_machines.of_words(self.words, limits)
        found = self.content
        if found is None:
            limits.check("states", max(self.low, self.high or 0), "lower the string's length")
            found = string_machines.of_lengths(self.low, self.high)
        elif self.low > 0 or self.high is not None:
            found = string_machines.with_lengths(found, self.low, self.high, limits)
        if self.without:
            found = string_machines.difference(
                found, string_machines.of_words(self.without, limits), limits
            )
        return found

    def machine(self, limits: Limits = LIMITS) -> Dfa:
        """The automaton of the JSON literals of all members, with quotes.

        Raises: LimitError if it is too large.
        """
        return _machine(self, limits)


_EVERYTHING = StringSet()
_NOTHING = StringSet(words=frozenset())


def _strings(words: Iterable[str]) -> frozenset[str]:
    """The words without a lone surrogate."""
    return frozenset(word for word in words if word.isascii() or not SURROGATE.search(word))


def _bounded(texts: StringSet) -> StringSet:
    """The same set in its simplest representation."""
    if texts.high is not None and (texts.high < texts.low or texts.high < 0):
        return _NOTHING
    if texts.high == 0:
        return StringSet.of([""] if texts.contains("") else [])
    if texts.without == {""}:
        return replace(texts, low=max(texts.low, 1), without=frozenset())
    return texts


# A schema uses the same few sets of strings again and again, and with patterns or formats each
# operation builds an automaton: the operations are cached.


@lru_cache(maxsize=2048)
def _complement(texts: StringSet) -> StringSet:
    if texts.words is not None:
        return StringSet.all_but(texts.words)
    if texts.is_complement:
        return StringSet.of(texts.without)
    if not texts.without and texts.content is None and (texts.low == 0 or texts.high is None):
        low = 0 if texts.high is None else texts.high + 1
        return StringSet.lengths(low, texts.low - 1 if texts.high is None else None)
    return StringSet(content=string_machines.complement(texts.as_content()))


@lru_cache(maxsize=2048)
def _union(left: StringSet, right: StringSet) -> StringSet:
    if left.words is not None and right.words is not None:
        return StringSet(words=left.words | right.words)
    for one, rest in ((left, right), (right, left)):
        if one.words is not None and all(rest.contains(word) for word in one.words):
            return rest
        if rest.is_complement:
            return StringSet(without=frozenset(w for w in rest.without if not one.contains(w)))
    return StringSet(content=string_machines.union(left.as_content(), right.as_content()))


@lru_cache(maxsize=2048)
def _has_no_member(texts: StringSet) -> bool:
    assert texts.content is not None
    if not string_machines.has_member(texts.content, texts.low, texts.high):
        return True
    return bool(texts.without) and texts.finite(0) == ()


@lru_cache(maxsize=1024)
def _both(left: Content, right: Content) -> Content:
    return string_machines.intersection(left, right)


@lru_cache(maxsize=1024)
def _machine(texts: StringSet, limits: Limits) -> Dfa:
    if texts.is_empty:
        return nothing(256)
    if texts.words is not None:
        return words_machine(sorted(texts.words), limits)
    if texts.without and texts.is_complement:
        return all_but_words_machine(sorted(texts.without), limits)
    return literals_machine(texts.as_content(limits), limits)


# -- formats --------------------------------------------------------------------------------------
# The strings of each ``format`` of JSON Schema.
#
# Each pattern follows the grammar of its RFC, named next to it. If an RFC's language is not
# regular, or would need too large an automaton, a subset is accepted:
#
# * dates do not have the year 0000, which Python lacks;
# * a leap second has an offset of whole half hours, as in nearly every time zone; with a date it is
#   the last second of June or December in UTC (RFC 3339, section 5.7 and appendix D);
# * regexes have groups at most three deep, no backreferences, and only ranges that start at a
#   digit, ``a`` or ``A``;
# * labels of host names do not have two hyphens in the third and fourth position: such labels are
#   reserved, and whether ``xn--…`` encodes a permitted name depends on Unicode tables. The length
#   of a name is counted in blocks of eight characters for each label and its dot, so a name has at
#   most 31 labels.
#
# Source of host names: RFC 1123, section 2.1; RFC 5890, section 2.3.1.


#: The longest label, and the unit in which the length of a name is counted.
_MAX_LABEL, _BLOCK = 63, 8
#: The blocks of the longest name: 253 characters and the dot that the last label does not have.
_MAX_BLOCKS = 254 // _BLOCK
#: A second hyphen after this number of characters would make a label reserved.
_RESERVED_AFTER = 3


@cache
def hostnames() -> Content:
    """Labels of letters, digits and hyphens, separated by dots.

    A state is the number of blocks used, the length of the current label, and whether it ends with
    a hyphen: 3,427 states. Counted in characters there were 27,595, and every schema with a host
    name took 13 ms to build instead of 3.

    Shape: the states are (blocks, length of the label, ends with a hyphen).
    """
    alphabet = alphabet_of([POSIX["alnum"], ((0x2D, 0x2D),), ((0x2E, 0x2E),)])
    letter, hyphen, dot = map(alphabet.atom, b"a-.")
    shape = (_MAX_BLOCKS + 1, _MAX_LABEL + 1, 2)
    states = np.arange(np.prod(shape)).reshape(shape)
    table = np.full((*states.shape, alphabet.size), DEAD, np.int32)
    for length in range(_MAX_LABEL):
        # a block begins at the first character, and at every eighth counting the following dot
        more = int(length == 0 or (length + 1) % _BLOCK == 0)
        spent = states[more:, length + 1]
        table[: _MAX_BLOCKS + 1 - more, length, :, letter] = spent[:, :1]
        ends = 1 if length == _RESERVED_AFTER else 2
        table[: _MAX_BLOCKS + 1 - more, length, :ends, hyphen] = spent[:, 1:] if length else DEAD
    table[:, 1:, 0, dot] = states[:, :1, 0]
    finals = np.zeros(states.shape, np.bool_)
    finals[:, 1:, 0] = True
    classes = np.arange(alphabet.size, dtype=np.uint16)
    flat = table.reshape(-1, alphabet.size)
    return Content(alphabet, trimmed(classes, flat, finals.reshape(-1), 0))


# RFC 3339, section 5.6 and appendix D
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][48]|[2468]0|[13579][26])00)"
_YEAR = r"(?:\d{3}[1-9]|\d\d[1-9]0|\d[1-9]00|[1-9]000)"
_DATE = (
    rf"(?:{_YEAR}-"
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|"
    rf"02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_HOUR, _MINUTE = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
#: Minutes between the accepted offsets of leap seconds.
_LEAP_SECOND_OFFSETS = 30


def _leap_second(offset: int) -> str:
    """The last second of a day in UTC, as local time with an offset in minutes."""
    local = (23 * 60 + 59 + offset) % (24 * 60)
    zone = f"{'-' if offset < 0 else '[+]'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    if offset == 0:
        zone = "(?:[Zz]|[+-]00:00)"
    return rf"{local // 60:02}:{local % 60:02}:60(?:\.\d+)?{zone}"


def _leap_seconds(offsets: Iterable[int]) -> str:
    return f"(?:{'|'.join(map(_leap_second, offsets))})"


_DAY = range(_LEAP_SECOND_OFFSETS, 24 * 60, _LEAP_SECOND_OFFSETS)
#: Leap seconds in zones ahead of UTC, where the next day has begun, and in all others.
_NEXT_DAY, _SAME_DAY = _leap_seconds(_DAY), _leap_seconds([0, *(-offset for offset in _DAY)])
_PLAIN_TIME = rf"{_HOUR}:{_MINUTE}:{_MINUTE}(?:\.\d+)?(?:[Zz]|[+-]{_HOUR}:{_MINUTE})"
_TIME = rf"(?:{_PLAIN_TIME}|{_NEXT_DAY}|{_SAME_DAY})"
_DATE_TIME = (
    rf"(?:{_DATE}[Tt]{_PLAIN_TIME}|{_YEAR}-(?:06-30|12-31)[Tt]{_SAME_DAY}"
    rf"|{_YEAR}-(?:07-01|01-01)[Tt]{_NEXT_DAY})"
)

# RFC 3339, appendix A
_SECONDS = r"\d+S"
_MINUTES = rf"\d+M(?:{_SECONDS})?"
_HOURS = rf"\d+H(?:{_MINUTES})?"
_OF_TIME = rf"T(?:{_HOURS}|{_MINUTES}|{_SECONDS})"
_MONTHS = r"\d+M(?:\d+D)?"
_OF_DATE = rf"(?:\d+D|{_MONTHS}|\d+Y(?:{_MONTHS})?)(?:{_OF_TIME})?"
_DURATION = rf"P(?:{_OF_DATE}|{_OF_TIME}|\d+W)"

# RFC 2673, section 3.2; RFC 4291, section 2.2
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_H16 = r"[0-9A-Fa-f]{1,4}"
_LS32 = rf"(?:{_H16}:{_H16}|{_IPV4})"


def _ipv6() -> str:
    """Eight groups, the last two optionally as IPv4; one ``::`` replaces one or more groups."""
    options = [rf"(?:{_H16}:){{6}}{_LS32}"]
    for after in range(5, -1, -1):
        before = 5 - after
        head = rf"(?:(?:{_H16}:){{0,{before - 1}}}{_H16})?" if before else ""
        options.append(rf"{head}::(?:{_H16}:){{{after}}}{_LS32}")
    options.append(rf"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}")
    options.append(rf"(?:(?:{_H16}:){{0,6}}{_H16})?::")
    return f"(?:{'|'.join(options)})"


_IPV6 = _ipv6()

# RFC 5321, section 4.1.2
_ATEXT = r"[A-Za-z0-9!#$%&'*+\/=?^_`{|}~-]"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_EMAIL = (
    rf"(?:{_ATEXT}+(?:\.{_ATEXT}+)*|{_QUOTED})@"
    rf"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
    rf"|\[(?:{_IPV4}|IPv6:{_IPV6})\])"
)

# RFC 4122, section 3
_UUID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"

# RFC 6901, section 3; draft-bhutton-relative-json-pointer-00, section 3
_POINTER = r"(?:\/(?:[^~\/]|~[01])*)*"
_RELATIVE_POINTER = rf"(?:0|[1-9]\d*)(?:#|{_POINTER})"


def _uri(more: str, private: str) -> dict[str, str]:
    """URIs and references (RFC 3986, appendix A); with ``more`` characters, IRIs (RFC 3987)."""
    escaped = r"%[0-9A-Fa-f]{2}"
    plain = rf"A-Za-z0-9._~\-{more}"
    subs = r"!$&'()*+,;="
    character = rf"(?:[{plain}{subs}:@]|{escaped})"
    no_colon = rf"(?:[{plain}{subs}@]|{escaped})"
    user = rf"(?:[{plain}{subs}:]|{escaped})*"
    literal = rf"\[(?:{_IPV6}|[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~{subs}:-]+)\]"
    name = rf"(?:[{plain}{subs}]|{escaped})*"
    authority = rf"(?:{user}@)?(?:{literal}|{name})(?::\d*)?"
    rest = rf"(?:\/{character}*)*"
    absolute = rf"\/(?:{character}+{rest})?"
    hierarchy = rf"(?:\/\/{authority}{rest}|{absolute}|{character}+{rest}|)"
    relative = rf"(?:\/\/{authority}{rest}|{absolute}|{no_colon}+{rest}|)"
    tail = rf"(?:\?(?:{character}|[\/?{private}])*)?(?:#(?:{character}|[\/?])*)?"
    uri = rf"[A-Za-z][A-Za-z0-9+.-]*:{hierarchy}{tail}"
    return {"uri": uri, "uri-reference": rf"(?:{uri}|{relative}{tail})"}


_PRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"
_UCS = r"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF" + "".join(
    rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 14)
)
_URI, _IRI = _uri("", ""), _uri(_UCS, _PRIVATE)


def _uri_template() -> str:
    """RFC 6570, section 2."""
    escaped = r"%[0-9A-Fa-f]{2}"
    literal = rf"(?:[!#$&-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|{escaped})"
    character = rf"(?:[A-Za-z0-9_]|{escaped})"
    variable = rf"{character}(?:\.?{character})*(?::[1-9]\d{{0,3}}|\*)?"
    return rf"(?:{literal}|\{{[+#.\/;?&=,!@|]?{variable}(?:,{variable})*\}})*"


_MAX_GROUP_DEPTH = 3


def _regex() -> str:
    """Regexes valid in both Python and ECMA-262, with groups nested up to ``_MAX_GROUP_DEPTH``."""
    sign = r"\\[!-\/:-@\[-`{-~]"
    escape = rf"(?:\\[dDwWsSfnrtv]|{sign}|\\x[0-9A-Fa-f]{{2}}|\\u[0-9A-Fa-f]{{4}})"
    ranges = "|".join([*(rf"{low}-[{low}-9]" for low in range(10)), "a-[a-z]", "A-[A-Z]"])
    items = rf"(?:{ranges}|[^\\\[\]^-]|{escape})+-?"
    plain = r"[^\\()\[\]{}*+?|^$\r\n\u2028\u2029]"
    counts = "|".join(rf"{low},[{low}-9]" for low in range(10))
    count = rf"(?:[*+?]|\{{(?:\d{{1,3}},?|\d,[1-9]\d\d?|{counts})\}})\??"
    atom = rf"(?:{plain}|{escape}|\[\^?{items}\])"
    part = rf"(?:{atom}(?:{count})?|[$^]|\\[bB])"
    whole = rf"(?:{part}|\|)*"
    for _ in range(_MAX_GROUP_DEPTH):
        whole = rf"(?:{part}|\||\((?:\?[:=!])?{whole}\)(?:{count})?)*"
    return whole


#: The pattern of each format; it must match the whole string.
PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": _DATE_TIME,
    "duration": _DURATION,
    "email": _EMAIL,
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "uri": _URI["uri"],
    "uri-reference": _URI["uri-reference"],
    "iri": _IRI["uri"],
    "iri-reference": _IRI["uri-reference"],
    "uri-template": _uri_template(),
    "uuid": _UUID,
    "regex": _regex(),
    "json-pointer": _POINTER,
    "relative-json-pointer": _RELATIVE_POINTER,
}

#: All formats, by name.
FORMATS = (*PATTERNS, "hostname")

#: Formats whose automaton accepts notably fewer strings than their RFC, and which are missing.
NARROWED_FORMATS = {
    "hostname": "names with labels 'xn--…' (other scripts) or more than 31 labels are not accepted",
    "regex": "regexes with groups more than three deep, backreferences or names are not accepted",
}


@cache
def format_strings(name: str) -> Content | None:
    """The strings of a format; None if the format is unknown.

    Their printable ASCII is never escaped, as in the output of every program that formats a date.
    """
    if name == "hostname":
        return replace(hostnames(), unescaped=True)
    pattern = PATTERNS.get(name)
    return None if pattern is None else replace(search(f"^(?:{pattern})$"), unescaped=True)
