"""Work that can grow consults a budget, or is reviewed; what the finder takes for such work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.strangers.unbudgeted import bounded, functions, unbudgeted

#  body of a module                                                                       kinds
CASES = [
    ("while left:\n        left = f(left)", ["while"]),
    ("while left:\n        clock.check()", []),
    ("while left:\n        check_time_budget()", []),
    ("while left:\n        other(left)", []),
    ("while at < 9:\n        at += 1", []),
    ("while at < 9:\n        at = f(at)", ["while"]),
    ("for one in waiting:\n        waiting.append(f(one))", ["while"]),
    ("for one in waiting:\n        limits.check('states', 1)\n        waiting.append(one)", []),
    ("for one in waiting:\n        print(one)", []),
    ("for a in left:\n        for b in left:\n            print(a, b)", ["pairs"]),
    ("return [f(a) for a in product(left, left)]", ["pairs"]),
    ("return grown(left + 1)", ["recursion"]),
    ("return [grown(part) for part in left.parts]", []),
    ("clock.check()\n    return grown(left + 1)", []),
]


@pytest.mark.parametrize(("body", "kinds"), CASES, ids=[case[0] for case in CASES])
def test_kind_of_work(body: str, kinds: list[str], tmp_path: Path) -> None:
    text = f"def grown(left):\n    {body}\n\ndef other(left):\n    return third(left)\n"
    text += "\ndef third(left):\n    limits.clock().check()\n"
    (tmp_path / "module.py").write_text(text)
    assert [work.kind for work in unbudgeted(tmp_path)] == kinds


def test_all_work_that_can_grow_consults_a_budget_or_is_reviewed() -> None:
    reviewed = bounded()
    missing = [str(work) for work in unbudgeted() if work.function not in reviewed]
    assert not missing, "let it consult a clock, or add it to bounded.toml with the reason"


def test_reviewed_functions_exist() -> None:
    assert not bounded().keys() - functions()
