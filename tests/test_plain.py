"""What JSON can say: every answer of the command line passes here."""

from __future__ import annotations

import json
import math

from workbench.base.problems import finite


def test_numbers_json_has_no_word_for_are_none_however_deep() -> None:
    record = {"a": math.nan, "b": [0.5, (math.inf, {"c": -math.inf})], "d": "nan", "e": True}
    told = finite(record)
    assert told == {"a": None, "b": [0.5, [None, {"c": None}]], "d": "nan", "e": True}
    assert json.loads(json.dumps(told, allow_nan=False)) == told
