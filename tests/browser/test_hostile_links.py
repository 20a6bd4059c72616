"""Links and replays that strangers send: nothing in them runs, and the visitor's text stays.

Everything happens on a page that a visitor has written on. A link opens as a grammar, or a sentence
says that it cannot be read. ``visit`` fails for an error in the browser and for a request to
another host.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.browser.test_takeaway import from_disk
from tests.cli.test_replay import HEAD, STEP
from workbench.app.cli.main import app
from workbench.app.exercises.exercise_links import COURSE, EXERCISE

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

#: Markup and templates that would run, each in another way.
SCRIPT = (
    "<img src=x onerror='window.pwned=1'></script><script>window.pwned=2</script>"
    "${window.pwned=3}{{window.pwned=4}}<svg/onload=window.pwned=5>"
    "<a href='javascript:window.pwned=6'>x</a>\"'`"
)
MINE = "(my|own)+"


def packed(text: str | bytes) -> str:
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packing.compress(
        text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    )
    return base64.urlsafe_b64encode(data + packing.flush()).rstrip(b"=").decode()


def check(text: str) -> str:
    """FNV-1a over UTF-16, in base 36, as ``work.js`` computes it."""
    units, value = text.encode("utf-16-le", "surrogatepass"), 0x811C9DC5
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = ((value ^ (low | high << 8)) * 0x01000193) & 0xFFFFFFFF
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def link(text: str) -> str:
    return f"#g=2.{check(text)}.{packed(text)}"


def work(**fields: Any) -> str:
    return link(json.dumps({"notation": "regex", "text": "a+", **fields}))


NUMBERS = [
    "-1",
    "1e308",
    "1e999",
    "[1]",
    "{}",
    '"5"',
    "null",
    "true",
    "1.5",
    '{"__proto__":{"x":1}}',
]
TEXT = {"text": SCRIPT}
HOSTILE_SETTINGS = {
    "constraint": SCRIPT, "monitor": SCRIPT, "draft": SCRIPT,
    "reasoning": {"opening": SCRIPT[:90], "closing": SCRIPT[:90], "budget": -1},
}  # fmt: skip

#: The text that opens, or None where a sentence says that the link cannot be read; the reason.
LINKS: list[tuple[str, str | None, str]] = [
    (work(text=SCRIPT), SCRIPT, "a script in the grammar"),
    (work(text=f"start ::= '{SCRIPT}", notation="kbnf"), f"start ::= '{SCRIPT}", "in an error"),
    (work(text=f"{SCRIPT}: {SCRIPT}", notation="lark"), f"{SCRIPT}: {SCRIPT}", "in the name of a rule"),
    (work(text=f"{{\"title\": {json.dumps(SCRIPT)}}}", notation="json_schema"),
     f"{{\"title\": {json.dumps(SCRIPT)}}}", "in the title of a schema"),
    (work(text=f"initial {SCRIPT}", notation="machine"), f"initial {SCRIPT}", "in a drawn machine"),
    (work(prompt=SCRIPT, system=SCRIPT), "a+", "in the prompt and its system message"),
    (work(tests=[{"text": SCRIPT, "expect": SCRIPT}, SCRIPT]), "a+", "in tests"),
    (work(tests=[None, 5, [], {"text": 5}, {"text": {"a": 1}}] * 30), "a+", "tests that are none"),
    (work(tests={"length": 1e9}), "a+", "tests that are no list"),
    (work(start=SCRIPT, options={"whitespace": SCRIPT}, tab=SCRIPT), "a+", "in names"),
    (work(ownTitle=SCRIPT), "a+", "in the name of the grammar"),
    (work(ownTitle="a\u202e\u2066b\x00\ud800"), "a+", "bidi controls in its name"),
    (work(ownTitle="a" * 900_000), "a+", "a name without an end"),
    (work(ownTitle=["a"]), "a+", "a name that is a list"),
    (work(tab="constructor"), "a+", "a tab that all objects have"),
    (work(options={"__proto__": "__proto__"}, start="__proto__"), "a+", "names that all objects have"),
    (work(settings=HOSTILE_SETTINGS), "a+", "in settings"),
    (work(settings={"hole": {"prefix": SCRIPT, "suffix": SCRIPT}}), "a+", "in a hole"),
    (work(compare={"methods": [SCRIPT, "__proto__"], "prompts": SCRIPT, "seeds": -1}), "a+", "in Compare"),
    (work(title=SCRIPT, name=SCRIPT, note=SCRIPT, exercise=SCRIPT, lesson=SCRIPT, first=True, breaks=[SCRIPT]),
     "a+", "in fields that a link has not"),
    (work(text="a\u202e\u2066b\u200b\ufeff\u2028\x00c"), "a\u202e\u2066b\u200b\ufeff\u2028\x00c", "bidi controls"),
    (link('{"notation":"regex","text":"a\\ud800","prompt":"\\udc00","tests":["\\ud800"]}'), "a\ud800", "lone surrogates"),
    (work(text="a" * 50_000), "a" * 50_000, "as long as a grammar may be"),
    (work(text="a" * 50_001), None, "longer than a grammar may be"),
    (work(text="a" * 5_000_000), None, "five megabytes"),
    (f"#g=2.0.{packed(bytes(300_000_000))}", None, "a bomb of 300 MB"),
    (work(notation="__proto__"), None, "a notation that all objects have"),
    (work(notation=["regex"]), None, "a notation that is a list"),
    (work(notation=SCRIPT), None, "a script as notation"),
    (work(text=None), None, "no text"),
    (work(text=["a"]), None, "a text that is a list"),
    (link('{"__proto__":{"notation":"regex","text":"a"}}'), None, "fields of a prototype"),
    (link("[" * 200_000), None, "deep nesting"),
    (link('{"notation":"regex","text":"a","settings":{"seed":NaN}}'), None, "NaN"),
    (link("null"), None, "null"),
    (link(""), None, "nothing"),
    (f"#g=9.0.{packed('{}')}", None, "a later version"),
    ("#g=constructor.0.x", None, "a version that all objects have"),
    (work(text="cut off")[:-7], None, "cut off"),
    ("#g=2.0.%%%%", None, "no base64"),
    (f"#g=2.{check('{}')}.{packed(b'{' + bytes([255, 254]))}", None, "no UTF-8"),
    ("#g=" + "A" * 3_000_000, None, "three megabytes of address"),
    *(
        (link('{"notation":"regex","text":"a+","settings":{"temperature":%s,"seed":%s,"max_tokens":%s,"lookahead":%s}}'
              % ((each,) * 4)), "a+", f"numbers as {each}")
        for each in NUMBERS
    ),
]  # fmt: skip


def write(v: Any) -> None:
    v.page.wait_for_function("wb.state.compiled && !wb.state.running")
    v.type_grammar(MINE)
    v.page.wait_for_function("text => wb.saved.get('draft')?.text === text", arg=MINE)


def kept(v: Any) -> bool:
    """Whether the visitor's text is on the page, or offered as a draft."""
    found: bool = v.page.evaluate(
        "text => wb.state.text === text || wb.saved.get('draft')?.text === text"
        " || JSON.stringify(wb.saved.get('drafts') ?? '').includes(text)",
        MINE,
    )
    return found


def unharmed(v: Any, because: str) -> None:
    v.page.wait_for_function("!wb.state.pending")
    assert v.page.evaluate("window.pwned") is None, because
    assert v.page.evaluate("Object.keys(Object.prototype).length === 0 && ({}).x === undefined"), (
        because
    )
    assert v.complaints == [], because
    assert v.outside == [], because


def test_links_of_strangers(visit: Any) -> None:
    with visit("?example=yes_or_no") as v:
        write(v)
        for hash_, text, because in LINKS:
            v.page.evaluate("() => { document.querySelector('.notice')?.classList.remove('on'); }")
            v.page.evaluate("hash => { location.hash = hash; }", hash_)
            if text is None:
                v.page.wait_for_selector(".notice.on:has-text('This link cannot be read')")
            else:
                v.page.wait_for_function(
                    "text => wb.state.text === text && wb.state.example.from === 'link'", arg=text
                )
            v.page.wait_for_function("wb.state.compiled.text === wb.state.text")
            assert len(v.page.title()) <= 80 + len(" · Grammar workbench"), because
            unharmed(v, because)
            assert kept(v), because


def test_the_numbers_of_a_link_run(visit: Any) -> None:
    with visit("?example=yes_or_no") as v:
        v.wait_run()
        for each in NUMBERS:
            settings = f'{{"temperature":{each},"seed":{each},"max_tokens":{each}}}'
            v.page.evaluate(
                "hash => { location.hash = hash; }",
                link(f'{{"notation":"regex","text":"a{{2}}","settings":{settings}}}'),
            )
            v.page.wait_for_function(
                "wb.state.compiled?.text === 'a{2}' && wb.state.example.from === 'link'"
            )
            v.page.click("#wb-run .go:enabled")
            v.page.wait_for_function("!wb.state.running && wb.state.steps.length")
            assert v.page.locator("#wb-run .runerr:visible").count() == 0, each
            v.page.evaluate("wb.emit('open', { text: 'b', notation: 'regex' })")
            v.page.wait_for_function("wb.state.compiled?.text === 'b'")


SOLUTION = {"regex": "a", "task": SCRIPT, "title": SCRIPT, "hint": SCRIPT, "teaches": SCRIPT}
TASKS: list[tuple[str, bool, str]] = [
    (EXERCISE.encode({**SOLUTION, "accepts": ["a"], "rejects": [SCRIPT]}), True, "a script in an exercise"),
    (EXERCISE.encode({**SOLUTION, "begin": {"regex": SCRIPT}}), True, "in what the editor begins with"),
    (EXERCISE.encode({**SOLUTION, "conditions": {SCRIPT: 1}}), False, "in a condition"),
    (EXERCISE.encode({**SOLUTION, "conditions": {"most_states": 1e308}}), False, "a number without bounds"),
    (EXERCISE.encode({**SOLUTION, "notations": [SCRIPT]}), False, "in a notation"),
    (EXERCISE.encode({SCRIPT: SCRIPT}), False, "in the name of a field"),
    (EXERCISE.encode({"task": "x", "regex": ["a"]}), False, "a solution that is a list"),
    (EXERCISE.encode({**SOLUTION, "regex": "(" * 400}), True, "a solution that cannot be read"),
    (f"x=1.00000000.{packed(bytes(300_000_000))}", False, "a bomb of 300 MB"),
    ("x=1.zzz", False, "no link"),
    ("x=" + SCRIPT, False, "a script as link"),
    (COURSE.encode({"title": SCRIPT, "items": [["exercise", "even_a"], ["task", SOLUTION]]}), True, "in a course"),
    (COURSE.encode({"title": SCRIPT, "items": [["lesson", SCRIPT]]}), False, "in the name of a lesson"),
    (COURSE.encode({"title": "x", "items": [[[[]]]] * 90}), False, "items that are none"),
    ("c=" + SCRIPT, False, "a script as course"),
]  # fmt: skip


def test_exercises_and_courses_of_strangers(visit: Any) -> None:
    with visit("?example=yes_or_no") as v:
        write(v)
        for fragment, opens, because in TASKS:
            v.page.evaluate("() => { document.querySelector('.notice')?.classList.remove('on'); }")
            before = v.page.evaluate("wb.state.example")
            v.page.evaluate("hash => { location.hash = hash; }", fragment)
            if not opens:
                v.page.wait_for_selector(".notice.on")
            elif fragment.startswith("x="):
                v.page.wait_for_function(
                    "text => document.querySelector('.exbar h2').textContent.includes('<svg/onload')",
                    arg="",
                )
            else:
                v.page.wait_for_function(
                    "document.querySelector('.exlist h2')?.textContent.includes('<svg/onload')"
                )
            unharmed(v, because)
            assert before is not None
            assert kept(v), because


@pytest.mark.parametrize(
    "where",
    [
        "?example=__proto__",
        "?example=" + SCRIPT.replace("#", ""),
        "?tab=constructor",
        "?tab=" + SCRIPT,
        "?learn=__proto__&step=NaN",
        "?learn=" + SCRIPT + "&step=1e308",
        "?learn=machines&step=-5",
        "?exercise=__proto__",
        "?exercise=" + SCRIPT,
        "?compare=" + SCRIPT + ",__proto__,automaton",
        "?token=" + SCRIPT + "#g=",
    ],
)
def test_addresses_of_strangers(visit: Any, where: str) -> None:
    with visit(where) as v:
        v.page.wait_for_function("wb.state.compiled")
        unharmed(v, where)


#: Changes of a run's records; whether a page is written, and why.
REPLAYS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ({"prompt": SCRIPT, "title": SCRIPT, "system": SCRIPT, "version": SCRIPT}, {}, {}, "scripts around a run"),
    ({"model": SCRIPT}, {}, {}, "a script as model"),
    ({"tab": SCRIPT}, {}, {}, "a script as tab"),
    ({"tab": "constructor"}, {}, {}, "a tab that all objects have"),
    ({"temperature": SCRIPT, "seed": SCRIPT, "draft": SCRIPT, "monitor": SCRIPT}, {}, {}, "scripts as settings"),
    ({"temperature": [1], "seed": {"a": 1}, "max_tokens": -1, "finish": True}, {}, {}, "settings that are none"),
    ({"chat": [{"role": SCRIPT, "content": SCRIPT}]}, {}, {}, "a script as chat"),
    ({"chat": 5}, {}, {}, "a chat that is a number"),
    ({"chat": [None]}, {}, {}, "messages that are none"),
    ({"reasoning": {"opening": SCRIPT, "closing": SCRIPT, "budget": 1e308}}, {}, {}, "a script as marker"),
    ({"reasoning": 5}, {}, {}, "a marker that is a number"),
    ({"hole": {"prefix": SCRIPT, "suffix": SCRIPT}}, {}, {}, "a script around a hole"),
    ({"hole": [1]}, {}, {}, "a hole that is a list"),
    ({"notation": "constructor"}, {}, {}, "a notation that all objects have"),
    ({"notation": 5}, {}, {}, "a notation that is a number"),
    ({"text": ["a"]}, {}, {}, "a grammar that is a list"),
    ({"text": "a\ud800"}, {}, {}, "a lone surrogate"),
    ({"text": "(" * 5000}, {}, {}, "a grammar that cannot be read"),
    ({"start": SCRIPT, "options": {"whitespace": SCRIPT}, "constraint": SCRIPT}, {}, {}, "scripts as names"),
    ({}, {"token": {"id": 1, "text": SCRIPT}, "state": SCRIPT, "label": SCRIPT}, {}, "a script as token"),
    ({}, {"token": None}, {}, "no token"),
    ({}, {"token": 5}, {}, "a token that is a number"),
    ({}, {"token": {"id": 1, "text": 5}}, {}, "a text that is a number"),
    ({}, {"token": {"id": 1, "bytes": SCRIPT}}, {}, "bytes that are none"),
    ({}, {"id": SCRIPT}, {}, "a script as id"),
    ({}, {"id": 1e308}, {}, "an id without bounds"),
    ({}, {"s": SCRIPT, "m": None, "p": [], "kept": {}, "rank": SCRIPT, "allowed": SCRIPT}, {}, "numbers that are none"),
    ({}, {"s": 1e308, "m": -1e308, "p": 1e308, "rank": -5, "allowed": 1e308}, {}, "numbers without bounds"),
    ({}, {"wanted": 5, "may": None}, {}, "candidates that are none"),
    ({}, {"wanted": [{"id": 1, "text": SCRIPT, "ok": False, "before": 1, "after": 0}] * 9}, {}, "scripts as candidates"),
    ({}, {"wanted": [None, 5]}, {}, "candidates that are numbers"),
    ({}, {"stack": [SCRIPT], "rules": [SCRIPT]}, {}, "scripts as rules"),
    ({}, {"stack": 5, "rules": {"a": 1}}, {}, "rules that are none"),
    ({}, {"path": SCRIPT}, {}, "a script as path"),
    ({}, {"path": {"characters": [[SCRIPT], 5, None]}}, {}, "a path of nothing"),
    ({}, {"ms": SCRIPT, "budget": SCRIPT, "draft": SCRIPT}, {}, "scripts as times"),
    ({}, {"read_in": [{"start": -1, "end": 1e9}], "spans": 5}, {}, "places outside the grammar"),
    ({}, {}, {"words": SCRIPT, "reason": SCRIPT}, "a script as end"),
    ({}, {}, {"words": 5, "rate": SCRIPT, "text": [1]}, "an end that is none"),
    ({"__proto__": {"x": 1}}, {"__proto__": {"x": 1}}, {"__proto__": {"x": 1}}, "prototypes"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("head", "step", "end", "because"), REPLAYS, ids=[row[-1] for row in REPLAYS]
)
def test_replays_of_strangers(
    browser: Any,
    tmp_path: Path,
    head: dict[str, Any],
    step: dict[str, Any],
    end: dict[str, Any],
    because: str,
) -> None:
    trace, out = tmp_path / "run.ndjson", tmp_path / "run.html"
    records = (
        {**HEAD, **head},
        {**STEP, **step},
        {"k": "stop", "words": "done", "good": True, **end},
    )
    trace.write_text("".join(json.dumps(each) + "\n" for each in records))
    result = CliRunner().invoke(app, ["replay", str(trace), "-o", str(out)])
    if result.exit_code:
        assert "error" in result.stderr, because
        assert result.exception is None or isinstance(result.exception, SystemExit), because
        return
    with from_disk(browser, out) as page:
        page.wait_for_function("window.wb?.state || document.querySelector('.unreadable')")
        page.wait_for_timeout(200)
        assert page.evaluate("window.pwned") is None, because
