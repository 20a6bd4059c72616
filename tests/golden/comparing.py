"""Compares the golden files with what the program makes now; the tests are tables of this."""

from __future__ import annotations

import unicodedata
from functools import cache

import pytest

from tests.golden.entries import report, stored, subject_of
from tests.golden.record import AREAS, made

#: The files are recorded with Python 3.11. Classes such as ``\d`` have more characters in the
#: versions of Unicode that later Pythons know, and these subjects contain such classes.
UNICODE = "14.0.0"
UNICODE_SUBJECTS = frozenset({"ic-0421", "japanese", "koo_date_time", "koo_ip"})

#: How a difference that is intended is recorded.
AGAIN = (
    "if the change is intended: python -m tests.golden {area}, and say why in the commit; "
    "python -m tests.golden {area} --show KEY prints an entry in full"
)


def subjects(*areas: str) -> list[object]:
    """The subjects of some areas as parameters of a test."""
    return [
        pytest.param(area, subject, id=f"{area}-{subject}")
        for area in areas
        for subject in AREAS[area].subjects()
    ]


def check(area: str, subject: str) -> None:
    """Fail with the entries that differ, old and new, and the command that records them."""
    differences = report(_by_subject(area).get(subject, {}), made(area, subject))
    if differences and subject in UNICODE_SUBJECTS and unicodedata.unidata_version != UNICODE:
        pytest.skip(f"recorded with Unicode {UNICODE}")
    if differences:
        pytest.fail(f"{differences}\n{AGAIN.format(area=area)}", pytrace=False)


@cache
def _by_subject(area: str) -> dict[str, dict[str, str]]:
    """The lines of an area by subject and key, as the file has them."""
    found: dict[str, dict[str, str]] = {}
    for key, line in stored(area).items():
        found.setdefault(subject_of(key), {})[key] = line
    return found


def check_subjects(area: str) -> None:
    """Fail where the file has entries of subjects that do not exist, or is not sorted."""
    keys = list(stored(area))
    left_over = {subject_of(key) for key in keys} - set(AREAS[area].subjects())
    assert not left_over, AGAIN.format(area=area)
    assert keys == sorted(keys), AGAIN.format(area=area)
