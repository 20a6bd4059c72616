"""Every picture of the page can be read as it opens: measured on the screen, over many grammars."""

from __future__ import annotations

import tomllib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from workbench.grammar.gallery import load_gallery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser.conftest import Profiles

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

_SCRIPT = Path(__file__).with_name("legible.js").read_text("utf-8")
_MORE = Path(__file__).parents[1] / "data" / "legible_grammars.toml"

TABS = ("together", "characters", "tokens", "stack", "rules", "railroad", "proper", "detokenizer")
SIZES = ((1280, 720), (1400, 900), (390, 844))

#: Each part is every fourth grammar, so that ``WORKBENCH_SLOW_SHARE`` can select some parts.
_PARTS = 4

#: The share of pictures that are legible as they open; after one click all are.
_OPENED = 0.95


def _grammars() -> Iterator[dict[str, Any]]:
    for example in load_gallery().values():
        notation = example.notation.value
        yield {"name": example.name, "notation": notation, "text": example.text,
               "start": example.start, "options": {}}  # fmt: skip
    for name, table in tomllib.loads(_MORE.read_text("utf-8")).items():
        yield {"name": name, "start": "start", "options": {}, **table}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_pictures_are_legible(
    profiles: Profiles,
    builtin_page: str,
    width: int,
    height: int,
    part: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows: list[dict[str, Any]] = []
    with profiles.tab(builtin_page) as page:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(reduced_motion="reduce")
        page.goto(builtin_page)
        page.wait_for_function("window.wb && wb.ready && wb.state.drawn")
        page.evaluate(_SCRIPT)
        for example in islice(_grammars(), part, None, _PARTS):
            # the vocabulary's own picture is the same for all
            tabs = TABS if not rows else TABS[:-1]
            rows += page.evaluate("([example, tabs]) => legible(example, tabs)", [example, tabs])
    with capsys.disabled():
        print(_table(rows, width, height))
    bad = [row for row in rows if not row["ok"]]
    assert len(bad) <= (1 - _OPENED) * len(rows), [(r["name"], r["tab"], r["why"]) for r in bad]
    stuck = [(row["name"], row["tab"], row["why"]) for row in rows if not row["clicked"]]
    assert not stuck


def _table(rows: list[dict[str, Any]], width: int, height: int) -> str:
    """How many pictures are legible for each tab, and what is wrong with the others."""
    lines = [f"\nlegible as opened at {width}×{height}"]
    for tab in TABS:
        here = [row for row in rows if row["tab"] == tab]
        good = sum(row["ok"] for row in here)
        clicked = sum(row["clicked"] for row in here)
        if here:
            share = f"{good / len(here):.1%}"
            lines.append(
                f"{tab:>12} {good:>4} of {len(here):>3} {share:>7} · {clicked} after a click"
            )
    lines.append(f"{'all':>12} {sum(r['ok'] for r in rows):>4} of {len(rows):>3}")
    lines += [f"   {r['name']} {r['tab']}: {'; '.join(r['why'])}" for r in rows if not r["ok"]]
    return "\n".join(lines)
