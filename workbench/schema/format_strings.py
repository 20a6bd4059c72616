"""The strings of each ``format`` of JSON Schema.

Each pattern follows the grammar of its RFC, named next to it. If an RFC's language is not
regular, or would need too large an automaton, a subset is accepted:

* dates do not have the year 0000, which Python lacks;
* a leap second has an offset of whole half hours, as in nearly every time zone; with a date it is
  the last second of June or December in UTC (RFC 3339, section 5.7 and appendix D);
* regexes have groups at most three deep, no backreferences, and only ranges that start at a
  digit, ``a`` or ``A``;
* labels of host names do not have two hyphens in the third and fourth position: such labels are
  reserved, and whether ``xn--…`` encodes a permitted name depends on Unicode tables. The length
  of a name is counted in blocks of eight characters for each label and its dot, so a name has at
  most 31 labels.

Source of host names: RFC 1123, section 2.1; RFC 5890, section 2.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np

from workbench.automata.code_points import alphabet_of
from workbench.automata.determinize import trimmed
from workbench.base.dfa import DEAD
from workbench.schema.string_machines import Content, search
from workbench.syntax.regex.unicode_sets import POSIX

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

#: The patterns that are others with ``Formats.PYTHON``.
PYTHON_PATTERNS = {"time": _PLAIN_TIME, "date-time": rf"{_DATE}[Tt]{_PLAIN_TIME}"}

#: All formats, by name.
FORMATS = (*PATTERNS, "hostname")

#: Formats whose automaton accepts notably fewer strings than their RFC, and which are missing.
NARROWED_FORMATS = {
    "hostname": "names with labels 'xn--…' (other scripts) or more than 31 labels are not accepted",
    "regex": "regexes with groups more than three deep, backreferences or names are not accepted",
}


@cache
def format_strings(name: str, *, python: bool = False) -> Content | None:
    """The strings of a format; None if the format is unknown.

    ``python``  as with ``Formats.PYTHON``.

    Their printable ASCII is never escaped, as in the output of every program that formats a date.
    """
    if name == "hostname":
        return replace(hostnames(), unescaped=True)
    pattern = (PYTHON_PATTERNS if python else PATTERNS).get(name, PATTERNS.get(name))
    return None if pattern is None else replace(search(f"^(?:{pattern})$"), unescaped=True)
