"""Formats compared with the JSON-Schema-Test-Suite, the calendar and Python's parsers."""

from __future__ import annotations

import gzip
import ipaddress
import json
import re
import uuid
import warnings
from datetime import date, datetime, time, timedelta
from pathlib import Path
from random import Random

import pytest

from workbench.base.errors import BuildError
from workbench.grammar.grammar import Grammar
from workbench.schema.format_strings import PATTERNS
from workbench.schema.string_sets import StringSet

SUITE = Path(__file__).parents[1] / "data" / "json_schema_suite.jsonl.gz"


def strings(name: str) -> StringSet:
    texts = StringSet.format(name)
    assert texts is not None
    return texts


def rows() -> list[tuple[str, str, bool, str]]:
    """Rows of format, string, whether it is valid, and description."""
    with gzip.open(SUITE, "rt", encoding="utf-8") as file:
        every = [json.loads(line) for line in file]
    return [
        (row["schema"]["format"], test["data"], test["valid"], test["description"])
        for row in every
        if "/optional/format/" in row["subset"]
        for test in row["tests"]
        if isinstance(test["data"], str)
    ]


def test_rows_of_the_suite() -> None:
    wrong = [row for row in rows() if strings(row[0]).contains(row[1]) is not row[2]]
    # whether labels encode valid names in other scripts is not regular: they are not accepted
    assert [row for row in wrong if "xn--" not in row[1] or not row[2]] == []
    assert len(rows()) > 300


#   format, string, valid
MORE = [
    ("time", "08:30:06Z", True),
    ("date-time", "2016-12-31T23:59:60Z", True),
    ("date-time", "2015-06-30T23:59:60.5-00:00", True),
    ("date-time", "1990-12-31T15:59:60.123-08:00", True),
    ("date-time", "2017-01-01T05:29:60+05:30", True),
    ("date-time", "2015-07-01T00:59:60+01:00", True),
    ("date-time", "2024-01-01T23:59:60Z", False),
    ("date-time", "2016-12-31T00:59:60+01:00", False),
    ("date-time", "2017-01-01T15:59:60-08:00", False),
    ("date-time", "0000-12-31T23:59:60Z", False),
    ("time", "23:59:60+00:00", True),
    ("time", "01:29:60+01:30", True),
    ("time", "00:29:60-23:30", True),
    ("time", "23:59:60+01:00", False),
    ("time", "08:30:06", False),
    ("time", "24:00:00Z", False),
    ("time", "12:00:00.Z", False),
    ("date", "2000-02-29", True),
    ("date", "1900-02-29", False),
    ("date-time", "2020-02-30T00:00:00Z", False),
    ("email", "a@b", True),
    ("email", "a@-b.c", False),
    ("email", "a@b-.c", False),
    ("hostname", "a" * 63, True),
    ("hostname", "a" * 64, False),
    ("hostname", ".".join(["a" * 63] * 3), True),
    ("hostname", ".".join(["a" * 63] * 4), False),
    ("hostname", ".".join(["a" * 63] * 3 + ["b" * 55]), True),
    ("hostname", ".".join(["a" * 63] * 3 + ["b" * 62]), False),
    ("hostname", ".".join("a" * 31), True),
    ("hostname", "ab--c", False),
    ("hostname", "a--b", True),
    ("hostname", "a-.b", False),
    ("ipv4", "01.2.3.4", False),
    ("ipv6", "::", True),
    ("ipv6", "1::", True),
    ("ipv6", "1:2:3:4:5:6:7::", True),
    ("ipv6", "::ffff:192.168.0.1", True),
    ("ipv6", "1:2:3:4:5:6:7:8:9", False),
    ("ipv6", "1::2::3", False),
    ("ipv6", "12345::", False),
    ("ipv6", "fe80::1%eth0", False),
    ("ipv6", "1:2:3:4:1.2.3.4", False),
    ("uri", "http://[::1]:80/?q#f", True),
    ("uri", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2", True),
    ("uri", "mailto:John.Doe@example.com", True),
    ("uri", "//foo.bar", False),
    ("uri", "http:// a", False),
    ("uri", "http://a/%GG", False),
    ("uri", "http://example.com/é", False),
    ("uri", "1http://a", False),
    ("iri", "http://example.com/é", True),
    ("iri-reference", "é#ü", True),
    ("uri-template", "http://example.com/{id}{?q*,n:3}", True),
    ("uri-template", "http://example.com/{id", False),
    ("uri-template", "{a:0}", False),
    ("uuid", "2EB8AA08-aa98-11ea-b4aa-73b441d16380", True),
    ("uuid", "2eb8aa08aa9811eab4aa73b441d16380", False),
    ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", False),
    ("regex", r"^(?:a|[^\d_-])+?\.$", True),
    ("regex", "a**", False),
    ("regex", "a)", False),
    ("regex", "[z-a]", False),
]


@pytest.mark.parametrize(("name", "text", "valid"), MORE)
def test_a_format_accepts_its_texts_and_no_others(name: str, text: str, valid: bool) -> None:
    assert strings(name).contains(text) is valid
    assert strings(name).machine().accepts(json.dumps(text).encode()) is valid


def test_every_day_of_the_calendar() -> None:
    days = strings("date")
    for year in (1, 4, 1582, 1900, 1996, 2000, 2023, 2024, 2100, 2400, 9996):
        known = set()
        day = date(year, 1, 1)
        while day.year == year and day < date.max:
            known.add(day.isoformat())
            day += timedelta(days=1)
        for month in range(14):
            for number in range(33):
                text = f"{year:04}-{month:02}-{number:02}"
                assert days.contains(text) is (text in known), text


def test_leap_years() -> None:
    days = strings("date")
    for year in range(1, 10_000):
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        assert days.contains(f"{year:04}-02-29") is leap, year


@pytest.mark.parametrize("name", ["time", "date-time"])
def test_the_profile_of_python_has_what_its_classes_read(name: str) -> None:
    random, texts = Random(3), StringSet.format(name, python=True)
    assert texts is not None
    reader = datetime.fromisoformat if name == "date-time" else time.fromisoformat
    day = "2016-12-31T" if name == "date-time" else ""
    for _ in range(500):
        second = random.randint(58, 60)
        zone = random.choice(["Z", "+00:00", "-08:00", "+05:30"])
        text = f"{day}{random.choice(['23', '15', '07'])}:59:{second}{zone}"
        assert texts.contains(text) is (second < 60), text
        if second < 60:
            assert reader(text).tzinfo is not None
    schema = {"type": "string", "format": name}
    grammar = Grammar.from_json_schema(schema, format="python")
    assert not grammar.accepts(f'"{day}23:59:60Z"')
    assert any("without leap seconds" in note.message for note in grammar.notes)
    assert Grammar.from_json_schema(schema).accepts(f'"{day}23:59:60Z"')


def test_addresses_as_in_python() -> None:
    random = Random(7)
    four, six = strings("ipv4"), strings("ipv6")
    for _ in range(3_000):
        text = "".join(random.choices("::::1f0.", k=random.randint(2, 14)))
        assert six.contains(text) is _is(ipaddress.IPv6Address, text), text
        text = "".join(random.choices("12205.", k=random.randint(7, 13)))
        assert four.contains(text) is _is(ipaddress.IPv4Address, text), text
    assert strings("uuid").contains(str(uuid.UUID(int=random.getrandbits(128))))


def _is(kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def test_host_names_are_those_of_idna_without_punycode() -> None:
    idna = pytest.importorskip("idna", reason="the package idna is the oracle")
    random, names = Random(5), strings("hostname")

    def is_valid(text: str) -> bool:
        try:
            idna.encode(text)
        except idna.IDNAError:
            return False
        return True

    for _ in range(3_000):
        text = "".join(random.choices("aB1-.xn", (3, 1, 2, 3, 2, 2, 2), k=random.randint(1, 14)))
        if not text.endswith("."):  # the root of all names
            assert names.contains(text) is is_valid(text), text
    for label in ("bücher", "例え", "σς", "नि", "пример"):
        punycode = idna.encode(label).decode()
        assert is_valid(punycode)
        assert not names.contains(punycode)
        for name in ("idn-hostname", "idn-email"):
            with pytest.raises(BuildError, match=f"no automaton decides the format '{name}'"):
                Grammar.from_json_schema({"type": "string", "format": name})


def test_regexes_compile() -> None:
    random, regexes = Random(1), strings("regex")
    found = 0
    for _ in range(20_000):
        text = "".join(random.choices(r"ab[]()^$.*+?{}|\-,12:=!d", k=random.randint(1, 9)))
        if regexes.contains(text):
            found += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(text)
    assert found > 1_000


def test_unknown_formats_return_none() -> None:
    assert StringSet.format("int32") is None


@pytest.mark.parametrize("name", [*PATTERNS, "hostname"])
def test_machines_have_a_moderate_size(name: str) -> None:
    assert len(strings(name).machine()) < 4_000
