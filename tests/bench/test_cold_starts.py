"""Whole processes: how long, or why not."""

from __future__ import annotations

import pytest

from lab.bench.cold_starts import ProcessError
from lab.bench.measurements import first_mask_seconds


def test_failed_process_reports_its_error() -> None:
    with pytest.raises(ProcessError, match=r"a new process failed: .*VocabularyError: "):
        first_mask_seconds("/no/such/directory", 250.0)


def test_process_that_takes_too_long_is_ended() -> None:
    with pytest.raises(ProcessError, match=r"no first mask within 0\.01 s"):
        first_mask_seconds("all-bytes", 0.01)
