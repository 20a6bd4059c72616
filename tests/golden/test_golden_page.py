"""Pictures and records of the page against the golden files."""

from __future__ import annotations

import pytest

from tests.golden.comparing import check, check_subjects, subjects

pytestmark = pytest.mark.slow

AREAS = ("pictures", "page", "advice")


@pytest.mark.parametrize(("area", "subject"), subjects(*AREAS))
def test_entries_are_as_recorded(area: str, subject: str) -> None:
    check(area, subject)


@pytest.mark.parametrize("area", AREAS)
def test_all_entries_have_a_subject(area: str) -> None:
    check_subjects(area)
