"""Replays: one complete, safe file with the parts of the machines that a run visits."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest

from tests.ui.test_token_pictures import BORDERS
from workbench.app.ui import wire_cards
from workbench.app.ui.handlers import Handlers
from workbench.app.ui.replay import (
    MARK,
    MAX_PICTURES,
    ReplayRequest,
    drawn,
    replay,
    replay_shell,
    taken,
    taken_in,
)
from workbench.app.ui.runs import run_records
from workbench.app.ui.takeaway import take_replay
from workbench.base.errors import WorkbenchError

ANBN = 'start ::= "a" start? "b";'


@pytest.fixture(scope="module")
def run(handlers: Handlers) -> list[dict[str, Any]]:
    sent = {"text": ANBN, "notation": "kbnf", "max_tokens": 12, "seed": 3}
    return list(run_records(handlers, sent))


def recording(page: str) -> Any:
    return json.loads(re.search(r'id="recording">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]


def test_page_requests_nothing() -> None:
    page = replay_shell()
    assert not re.search(
        r"""(?:src|href)=["'](?!#)""", re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)
    )
    assert not re.search(r"@import|url\(", page)
    assert "default-src 'none'" in page


def test_policy_allows_only_its_script() -> None:
    script = re.search(r"<script>(.*)</script>\n</body>", replay_shell(), re.DOTALL)[1]  # type: ignore[index]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in replay_shell()
    assert "</script" not in script
    assert "<!--" not in script


def test_nothing_a_person_or_a_model_wrote_leaves_its_block() -> None:
    nasty = "</script><script>alert(1)</script><!-- λ \\u003c  "
    about = {"text": nasty, "notation": "regex", "start": "start", "title": nasty}
    drawn: wire_cards.ReplayDrawing = {"pictures": {}, "flags": [], "narrows": False, "reasons": []}
    page = replay(about, [{"k": "step", "token": {"id": 1, "text": nasty}}], None, drawn)
    assert page.count("</script>") == replay_shell().count("</script>")
    assert page.count("<!--") == replay_shell().count("<!--")
    assert recording(page)["about"]["text"] == nasty
    assert recording(page)["steps"][0]["token"]["text"] == nasty


def test_every_machine_of_the_grammar_is_in_it(handlers: Handlers, run: list[Any]) -> None:
    steps = [record for record in run if record["k"] == "step"]
    nested = drawn(handlers, ReplayRequest.of({"text": ANBN, "notation": "kbnf"}), taken(steps))[
        "pictures"
    ]
    assert {"together", "stack", "rules"} <= set(nested)  # what nests has no character automaton
    plain = drawn(handlers, ReplayRequest.of({"text": "(foo)+d", "notation": "regex"}), [])[
        "pictures"
    ]
    assert set(plain) == {"together", "tokens", "characters"}
    assert plain["characters"][0]["svg"].startswith("<svg")


def test_each_step_has_the_flags_of_its_text(handlers: Handlers, run: list[Any]) -> None:
    steps = [record for record in run if record["k"] == "step"]
    made = drawn(handlers, ReplayRequest.of({"text": ANBN, "notation": "kbnf"}), taken(steps))[
        "flags"
    ]
    so_far = b""
    for step, (token, _) in zip(steps, taken(steps), strict=True):
        (flags,) = [one for one in made if so_far.hex() in one["of"]]
        assert flags["state"] == step["path"]["rules"][0][0]
        so_far += token or b""
    assert any(so_far.hex() in one["of"] for one in made), "the end of the run"


@pytest.mark.parametrize("grammar", BORDERS)
@pytest.mark.parametrize(
    "settings",
    [
        {"constraint": "domino", "lookahead": 0},
        {"constraint": "template"},
        {"small_tokens": True},
        {"finish": True, "max_tokens": 16},
    ],
    ids=str,
)
def test_a_stricter_run_shows_its_own_tokens(
    handlers: Handlers, grammar: str, settings: dict[str, Any]
) -> None:
    """Each step's flags have as many tokens as the step allowed; of all methods."""
    sent = {
        "text": BORDERS[grammar],
        "notation": "kbnf",
        "prompt": "",
        "max_tokens": 16,
        **settings,
    }
    records = list(run_records(handlers, {**sent, "seed": 5}))
    steps = [record for record in records if record["k"] == "step"]
    read = [None if token is None else token.hex() for token, _ in taken(steps)]
    asked = {**sent, "ids": [step["id"] for step in steps], "taken": [[one, []] for one in read]}
    made = take_replay(handlers, asked)["drawn"]
    assert made["narrows"]
    allowed = [counted(made, f"after {count}") for count in range(len(steps))]
    assert allowed == [step["allowed"] for step in steps]
    usual = {"constraint": "automaton", "small_tokens": False, "finish": False}
    exact = take_replay(handlers, {**asked, **usual})["drawn"]
    assert not exact["narrows"]
    assert exact["flags"] != made["flags"]


def counted(made: dict[str, Any], of: str) -> int:
    """The tokens of the flags of a step, and the end of the text, which has none."""
    (flags,) = [one for one in made["flags"] if of in one["of"]]
    (picture,) = made["pictures"]["together"]
    here = picture["where"].get(flags["state"], "")
    ends = any(f"state-{s['id']}" == here and "final" in s["kinds"] for s in picture["states"])
    tokens: int = sum(flag["tokens"] for flag in flags["flags"])
    return tokens + ends


def test_steps_share_flags_where_they_look_the_same_and_few_have_some(
    handlers: Handlers,
) -> None:
    run: list[tuple[bytes | None, list[bytes | None]]] = [(b"a", [])] * 40
    made = drawn(handlers, ReplayRequest.of({"text": "a*b", "notation": "regex"}), run)["flags"]
    assert [one["of"] for one in made] == [[one["state"]] for one in made]
    assert len(made) == 1
    letters = "abcdefghijklmnopqrstuvwxyz"
    apart: list[tuple[bytes | None, list[bytes | None]]] = [(x.encode(), []) for x in letters]
    nests = {"text": f'start ::= "{letters}" start "." | "!";', "notation": "kbnf"}
    long = drawn(handlers, ReplayRequest.of(nests), apart)
    assert len(long["flags"]) == MAX_PICTURES
    assert len(long["pictures"]["together"]) == 1


@pytest.mark.slow
def test_the_state_of_each_step_is_in_some_part(handlers: Handlers) -> None:
    long = "|".join(
        f"{word}{'abcdefghij'[i % 10]}{i}x"
        for i, word in enumerate(["alpha", "beta", "gamma", "delta"] * 60)
    )
    sent = {"text": long, "notation": "regex", "max_tokens": 20}
    steps = [r for r in run_records(handlers, sent) if r["k"] == "step"]
    parts = drawn(handlers, ReplayRequest.of(sent), taken(steps))["pictures"]["characters"]
    assert any(edge["inside"] for edge in parts[0]["edges"])
    assert len(parts) == 1, "the machine has one layout"
    for step in steps:
        name = step["path"]["characters"][0][0]
        state = parts[0]["names"].get(name, name)
        assert any(state in part["where"] for part in parts)


def test_error_for_a_grammar_that_cannot_be_read(handlers: Handlers) -> None:
    with pytest.raises(WorkbenchError, match="cannot be read"):
        drawn(handlers, ReplayRequest.of({"text": "(", "notation": "regex"}), [])


def test_the_browser_gets_the_page_with_a_place_for_its_recording(handlers: Handlers) -> None:
    reported = take_replay(handlers, {"text": "ab", "notation": "regex"})
    assert reported["html"].count(reported["mark"]) == 1
    assert reported["mark"] == MARK
    assert set(reported["drawn"]["pictures"]) >= {"together", "characters"}


def test_replay_explains_forbidden_preferences(handlers: Handlers, run: list[Any]) -> None:
    steps = [record for record in run if record["k"] == "step"]
    reported = drawn(handlers, ReplayRequest.of({"text": ANBN, "notation": "kbnf"}), taken(steps))[
        "reasons"
    ]
    assert len(reported) == len(steps)
    for step, reasons in zip(steps, reported, strict=True):
        assert len(reasons) == sum(not one["ok"] for one in step["wanted"])
    assert any("a" in reason for reason in reported[0])


def test_tokens_as_a_browser_sends_them() -> None:
    assert taken_in([["61", [None, "62"]], [None, []]]) == [(b"a", [None, b"b"]), (None, [])]
    for wrong in ("61", [["61"]], [["61", "62"]], [["zz", []]]):
        with pytest.raises(WorkbenchError, match="expected"):
            taken_in(wrong)


def test_error_for_tokens_of_another_form(handlers: Handlers) -> None:
    sent = {"text": "ab", "notation": "regex", "small_tokens": True}
    for wrong in ("61", {"a": 1}, 7):
        with pytest.raises(WorkbenchError, match="tokens of a run"):
            take_replay(handlers, {**sent, "ids": wrong})
    made = take_replay(handlers, {**sent, "ids": ["x", None], "taken": [["61", []], ["62", []]]})
    assert made["drawn"]["pictures"]["together"], "without the masks of such tokens"


def test_half_a_character_in_a_token_is_no_fault() -> None:
    (token, _), *others = taken([{"token": {"id": 1, "text": "\ud800"}, "wanted": []}])
    assert token == b"?"
    assert not others
