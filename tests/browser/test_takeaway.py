"""Exports of the page, and drafts in the browser: journeys 2 and 3."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.browser.conftest import ARTIFACTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

Visitor = Callable[..., AbstractContextManager[Any]]

#: A grammar and a prompt with all that must stay text.
NASTY = 'start ::= "</script><b>${1+1}" #"[a-z]{2}" "\\\\λ";'
PROMPT = "<!-- </script> {{value}} \\n"

BLOCKED = (
    "Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } });"
)


@pytest.fixture
def visit(visit: Visitor) -> Visitor:
    """The page after it has compiled its first grammar."""

    @contextmanager
    def opened(where: str = "", **how: Any) -> Iterator[Visit]:
        with visit(where, **how) as v:
            v.page.wait_for_function("window.wb?.state.compiled")
            yield v

    return opened


def saved(v: Visit, key: str) -> Any:
    return v.page.evaluate("(key) => wb.saved.get(key)", key)


def settled(v: Visit) -> None:
    """Wait until nothing streams: Gradio reports an error if a page is left before."""
    v.page.wait_for_function("window.wb?.state.compiled && !wb.state.running")
    v.page.wait_for_load_state("networkidle")


def again(v: Visit, search: str | None = None) -> None:
    """Return to the page, with another query if one is given."""
    settled(v)
    if search is not None:
        v.page.evaluate(
            "(search) => history.replaceState(null, '', location.pathname + search)", search
        )
    v.page.reload()
    v.page.wait_for_function("window.wb?.state.compiled")


def write(v: Visit, text: str) -> None:
    """Type a grammar and wait until it is stored."""
    v.type_grammar(text)
    v.page.wait_for_function("(text) => wb.saved.get('draft')?.text === text", arg=text)


def file_of(v: Visit, label: str, folder: Path) -> Path:
    """The file that a button of the card downloads."""
    button = v.page.locator(".takeaway .files button").get_by_text(label, exact=True)
    v.page.wait_for_function(
        "(label) => [...document.querySelectorAll('.takeaway .files button')].some((b) => b.textContent === label && !b.disabled)",
        arg=label,
    )
    with v.page.expect_download() as downloaded:
        button.click()
    path = folder / downloaded.value.suggested_filename
    downloaded.value.save_as(path)
    return path


# -- drafts -----------------------------------------------------------------------------------------


def test_what_was_written_is_there_again_and_offered_where_it_was_left(visit: Visitor) -> None:
    with visit("?example=answer") as v:
        text = v.page.evaluate("wb.state.text")
        write(v, text + "x")
        v.type_grammar(text)  # all taken back: no draft
        v.page.wait_for_function("wb.saved.get('draft') === null")
        write(v, "mine+")
        again(v, "")
        assert v.page.evaluate("wb.state.text") == "mine+"
        assert "your draft of" in v.page.inner_text(".draftline")
        v.shot("draft")
        v.page.click(".intro .away")
        assert v.page.is_visible(".draftline")
        v.page.select_option("#wb-header select", label="JSON")
        v.page.wait_for_selector(".draftline >> text=open it")
        again(v)
        assert "mine" not in v.page.evaluate("wb.state.text")
        v.page.click(".draftline >> text=open it")
        v.page.wait_for_function("wb.state.text === 'mine+'")
        settled(v)
        v.page.click(".draftline >> text=discard")
        v.page.wait_for_function(
            "window.wb?.state.compiled && wb.state.example.name === wb.state.gallery[0].name"
        )
        assert saved(v, "draft") is None


def test_drafts_have_names_and_everything_can_be_forgotten(visit: Visitor) -> None:
    with visit("?example=answer") as v:
        write(v, "first")
        v.page.click(".drafts > button")
        v.page.fill(".saveas input", "one <b>of</b> mine")
        v.shot("drafts")
        v.page.click(".saveas button")
        assert saved(v, "draft") is None
        again(v)
        v.page.click(".drafts > button")
        v.page.click(".drafts >> text=rename")
        v.page.fill(".drafts li input", "renamed")
        v.page.keyboard.press("Enter")
        assert v.page.locator(".drafts li .name").all_inner_texts() == ["renamed"]
        v.page.click(".drafts li .name")
        v.page.wait_for_function("wb.state.text === 'first'")
        yours = v.page.locator("#wb-header select optgroup[label=Yours] option")
        assert yours.all_text_contents() == ["renamed"]
        write(v, "second")
        v.page.click(".drafts > button")
        v.page.click(".drafts >> text=delete")
        v.page.click(".drafts >> text=really?")
        assert saved(v, "yours") == {}
        settled(v)
        v.page.click(".drafts .keeps button")
        v.page.click(".drafts .keeps button")
        v.page.wait_for_function("window.wb?.state.compiled && !wb.saved.get('draft')")
        assert v.page.evaluate("wb.state.example.name") == "answer"


def test_the_page_works_where_storage_is_blocked(visit: Visitor) -> None:
    with visit(before=BLOCKED) as v:
        settled(v)
        v.type_grammar("start ::= 'x';")
        v.wait_drawn()
        v.page.click(".drafts > button")
        assert "storage is blocked" in v.page.inner_text(".drafts .status")


# -- links ------------------------------------------------------------------------------------------


def test_a_link_holds_all_that_was_set(visit: Visitor) -> None:
    work = {
        "text": NASTY, "notation": "kbnf", "options": {}, "ownTitle": "λ <b>",
        "start": "start", "prompt": PROMPT, "system": "Be brief.", "tab": "rules",
        "tests": [{"text": "a\n${x}", "expect": "reject"}, {"text": "λ", "expect": None}],
        "settings": {"temperature": 0, "seed": 41, "max_tokens": 7, "constraint": "unconstrained", "finish": False},
    }  # fmt: skip
    with visit("?example=answer") as v:
        fragment = v.page.evaluate("(work) => wb.fragment(work)", work)
    with visit(f"#{fragment}") as v:
        assert v.page.evaluate("wb.work.now()") == work
        v.page.click(".share")
        v.page.wait_for_selector(".notice.on")
        assert v.page.evaluate("async () => wb.work.checked(await wb.linked())") == work
        assert "Nothing is stored" in v.page.inner_text(".notice")
        v.shot("link")
        # the address has the earlier text; the typed text is a draft again
        write(v, "start ::= 'x';")
        assert v.page.evaluate("location.hash") == ""


#: What the first version of this page wrote into its links: tests were texts alone.
FIRST = {"notation": "regex", "start": "start", "text": "[a-z]+", "prompt": "p", "tests": ["abc"]}

PACKED = """async (held) => {
  const stream = new Blob([JSON.stringify(held)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}"""


def test_links_that_were_cut_and_links_of_the_first_version(visit: Visitor) -> None:
    with visit("?example=answer") as v:
        whole = v.page.evaluate("wb.fragment()")
        bomb = v.page.evaluate("wb.fragment({ ...wb.work.now(), text: 'a'.repeat(5_000_000) })")
        assert len(bomb) < 20_000
        read = "async (hash) => { history.replaceState(null, '', '#' + hash); return await wb.linked(); }"
        for damaged in (whole[:-9], whole[:40], "g=3" + whole[3:], "g=", "g=2..", "g=%%%", bomb):
            assert v.page.evaluate(read, damaged) is None
            assert "cannot be read" in v.page.inner_text(".notice")
        # in a Space the address that is shared is the one a visitor sees, not the frame's
        in_space = "async () => { wb.state.space = 'me/workbench'; return await wb.link(); }"
        link = v.page.evaluate(in_space)
        assert link.startswith("https://huggingface.co/spaces/me/workbench#g=2.")
        old = v.page.evaluate(read, "g=" + v.page.evaluate(PACKED, FIRST))
        assert old["text"] == "[a-z]+"
        assert old["tests"] == [{"text": "abc", "expect": None}]


def test_a_link_put_into_the_address_of_an_open_page_opens(visit: Visitor) -> None:
    with visit("?example=answer") as v:
        other = v.page.evaluate("wb.fragment({ ...wb.work.now(), text: 'pasted', tab: 'tokens' })")
        v.page.evaluate("(fragment) => { location.hash = fragment; }", other)
        v.page.wait_for_function("wb.state.text === 'pasted' && wb.state.drawn?.tab === 'tokens'")


def test_malformed_link_opens_the_page_with_a_message(visit: Visitor) -> None:
    with visit("#g=2.abc.xyz") as v:
        v.page.wait_for_selector(".notice.on")
        v.page.wait_for_function("wb.state.compiled?.ok")


# -- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pictures_look_anywhere_as_they_look_here(
    visit: Visitor, tmp_path: Path, dark: bool
) -> None:
    with visit("?example=date&tab=characters", dark=dark) as v:
        v.wait_drawn()
        card = v.page.evaluate(
            "getComputedStyle(document.querySelector('#wb-picture .wb')).backgroundColor"
        )
        svg = ET.parse(file_of(v, "SVG", tmp_path)).getroot()
        ground = svg[0]
        assert ground.get("fill") == card
        shapes = [e for e in svg.iter() if e.tag.endswith(("ellipse", "path")) and e.get("fill")]
        assert len(shapes) > 20
        assert not any("var(" in value for e in svg.iter() for value in e.attrib.values())
        inks = {e.get("fill") for e in svg.iter() if e.tag.endswith("text")}
        assert card not in inks
        png = file_of(v, "PNG", tmp_path).read_bytes()
        assert png.startswith(b"\x89PNG")
        wide = int.from_bytes(png[16:20], "big")
        assert abs(wide - 2 * float(svg.get("width") or 0)) <= 2
        dot = file_of(v, "DOT", tmp_path).read_text("utf-8")
        assert dot.startswith("digraph")
        edges = v.page.locator("#wb-picture .pic.main .edge").count()
        assert dot.count("->") == edges + 1, "an arrow leads into the initial state"


def test_grammar_tests_machines_and_run_leave_as_files(visit: Visitor, tmp_path: Path) -> None:
    with visit("?example=date&tab=characters") as v:
        v.wait_drawn()
        grammar = file_of(v, "Grammar file", tmp_path)
        assert grammar.name == "date.kbnf"
        assert grammar.read_text("utf-8").rstrip("\n") == v.page.evaluate("wb.state.text")
        tests = json.loads(file_of(v, "Tests", tmp_path).read_text("utf-8"))
        assert {"text": "2024-02-29", "expect": "accept"} in tests["tests"]
        assert {"text": "2024-02-30", "expect": "reject"} in tests["tests"]

        record = json.loads(file_of(v, "JSON", tmp_path).read_text("utf-8"))
        assert record["machine"] == "characters"
        assert file_of(v, "OpenFst", tmp_path).read_bytes().startswith(b"PK")

        v.page.wait_for_function("wb.state.steps.length && !wb.state.running")
        lines = file_of(v, "NDJSON", tmp_path).read_text("utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        assert records[0]["k"] == "head"
        assert records[0]["text"] == v.page.evaluate("wb.state.text")
        steps = [record for record in records if record["k"] == "step"]
        with file_of(v, "CSV", tmp_path).open(encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
        assert [int(row["token_id"]) for row in rows] == [step["id"] for step in steps]
        text = file_of(v, "Text", tmp_path).read_text("utf-8")
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", text)
        assert "".join(json.loads(row["token"]) for row in rows if row["token"]) == text

        v.type_grammar("start ::= 'a' start? 'b';")
        v.page.wait_for_function(
            "wb.state.compiled?.text === wb.state.text && wb.state.compiled.ok"
        )
        v.open_tab("stack")
        v.page.wait_for_selector(".takeaway button:has-text('OpenFst'):disabled")


# -- names ------------------------------------------------------------------------------------------

CHOSEN = "#wb-header .pickwrap select option:checked"


def rename(v: Visit, name: str, key: str = "Enter") -> None:
    v.page.click(".renamebutton")
    v.page.fill("#wb-header .rename", name)
    v.page.keyboard.press(key)


def named(v: Visit, name: str) -> None:
    """Check the name in the picker and in the page's title."""
    assert v.page.text_content(CHOSEN) == name
    assert v.page.title() == f"{name} · Grammar workbench"


def test_a_grammar_is_renamed(visit: Visitor, tmp_path: Path) -> None:
    with visit("?example=date&tab=characters") as v:
        settled(v)
        named(v, "Date")
        rename(v, "other", "Escape")
        named(v, "Date")
        # the picker has the focus again, and F2 edits the name too
        v.page.keyboard.press("F2")
        v.page.keyboard.insert_text("  My dates: 2024/25 é ")
        v.page.keyboard.press("Enter")
        assert v.page.evaluate("document.activeElement.ariaLabel") == "Example"
        named(v, "My dates: 2024/25 é")
        v.shot("renamed")
        assert file_of(v, "Grammar file", tmp_path).name == "My-dates-2024-25-é.kbnf"
        v.page.wait_for_function("wb.state.steps.length && !wb.state.running")
        lines = file_of(v, "NDJSON", tmp_path).read_text("utf-8").splitlines()
        assert json.loads(lines[0])["title"] == "My dates: 2024/25 é"
        replay = file_of(v, "Replay", tmp_path)
        assert replay.name == "My-dates-2024-25-é.replay.html"
        assert '"title":"My dates: 2024/25 é"' in replay.read_text("utf-8")
        # the name stays with the grammar while it is edited, and with its draft
        v.type_grammar("start ::= 'edited';")
        v.page.wait_for_function("wb.saved.get('draft')?.ownTitle === 'My dates: 2024/25 é'")
        named(v, "My dates: 2024/25 é")
        again(v, "")
        named(v, "My dates: 2024/25 é")
        v.page.click(".share")
        v.page.wait_for_function("location.hash.startsWith('#g=')")
        link = v.page.evaluate("location.hash")
    with visit(link) as v:
        settled(v)
        named(v, "My dates: 2024/25 é")
        rename(v, "")
        named(v, "Shared grammar")


def test_a_renamed_draft_is_the_name_of_its_grammar(visit: Visitor) -> None:
    with visit("?example=answer") as v:
        settled(v)
        usual = v.page.text_content(CHOSEN)
        v.type_grammar("start ::= 'mine';")
        v.page.wait_for_function("wb.state.compiled?.text.includes('mine')")
        assert v.page.text_content(CHOSEN) == "Your own grammar"
        rename(v, "first")
        v.page.click(".drafts > button")
        assert v.page.input_value(".saveas input") == "first"
        v.page.click(".saveas button")
        v.page.select_option("#wb-header .pickwrap select", label=usual)
        v.page.wait_for_function("!wb.state.text.includes('mine')")
        named(v, usual)
        v.page.click(".drafts > button")
        v.page.click(".drafts li .name")
        v.page.wait_for_function("wb.state.text.includes('mine')")
        named(v, "first")


@pytest.mark.parametrize(
    ("name", "shown", "file"),
    [
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>", "img-src-x-onerror-alert-1"),
        ("../../etc/passwd\\x:y", "../../etc/passwd\\x:y", "etc-passwd-x-y"),
        ("a\u202egnp.exe\u200b", "a gnp.exe", "a-gnp-exe"),
        ("日本語", "日本語", "日本語"),
        ("☃ ?", "☃ ?", "date"),
        ("x" * 200, "x" * 80, "x" * 50),
    ],
)  # fmt: skip
def test_names_are_safe_in_files_and_html(
    visit: Visitor, tmp_path: Path, name: str, shown: str, file: str
) -> None:
    with visit("?example=date&tab=characters") as v:
        settled(v)
        rename(v, name)
        named(v, shown)
        assert file_of(v, "Grammar file", tmp_path).name == f"{file}.kbnf"


# -- code -------------------------------------------------------------------------------------------


def test_code_has_the_settings_of_the_page(visit: Visitor) -> None:
    with visit("?example=date") as v:
        settled(v)
        v.type_grammar("start ::= #'[0-9]{2}';")
        v.page.fill("#wb-run input.seed", "77")
        v.page.locator(".takeaway pre").scroll_into_view_if_needed()
        v.page.wait_for_function(
            "document.querySelector('.takeaway pre').textContent.includes('seed=77')"
        )
        code = v.page.inner_text(".takeaway pre")
        assert "start ::= #'[0-9]{2}';" in code
        compile(code, "page", "exec")
        v.page.click(".takeaway [data-code=shell]")
        assert "--seed 77" in v.page.inner_text(".takeaway pre")
        v.shot("takeaway")
        again(v)
        assert v.page.get_attribute(".takeaway [data-code=shell]", "aria-selected") == "true"


# -- replays ----------------------------------------------------------------------------------------


#: The text of the page at the selected step: its state in the picture, the stack, the inspector.
STEP = """() => [...document.querySelectorAll("#wb-picture svg:not(.leaving) :is(.node.now, .badge, .taken), #wb-picture .stackbox, #wb-run .tokenfacts")]
  .map((each) => each.textContent).join(" · ")"""

#: The current state, and the flag of the token that was taken unless it is the end.
LIT = """() => {
  const { steps, selected } = wb.state, picture = document.querySelector("#wb-picture .pic.main svg:not(.leaving)");
  return picture?.querySelector(".now") && (steps[selected].token.end || picture.querySelector(".taken"));
}"""


def replay_of(v: Visit, folder: Path) -> Path:
    v.page.wait_for_selector("#wb-run .go:enabled")
    v.page.click("#wb-run .go")
    v.page.wait_for_function("wb.state.steps.length && !wb.state.running")
    return file_of(v, "Replay", folder)


@contextmanager
def from_disk(browser: Browser, path: Path, *, dark: bool = False) -> Iterator[Page]:
    """The file opened without a network: no requests, no errors."""
    look: Literal["dark", "light"] = "dark" if dark else "light"
    context = browser.new_context(
        offline=True, color_scheme=look, viewport={"width": 1400, "height": 1000}
    )
    page = context.new_page()
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto(path.as_uri())
    yield page
    context.close()
    assert asked == [path.as_uri()]
    assert faults == []


@pytest.mark.parametrize("look", ["light", "dark"])
def test_a_teacher_steps_through_machines_and_takes_the_replay_along(
    visit: Visitor, browser: Browser, tmp_path: Path, look: str
) -> None:
    dark = look == "dark"
    with visit("?example=anbn&tab=rules", dark=dark) as v:
        settled(v)
        v.wait_drawn()
        path = replay_of(v, tmp_path)
        count = v.page.evaluate("wb.state.steps.length")
        v.page.locator("#wb-run .tokens .tok").first.click()
        for number, tab in enumerate(("rules", "together", "stack"), start=1):
            v.open_tab(tab)
            v.page.wait_for_selector("#wb-picture .pic.main svg .now")
            v.shot(f"teacher-{number}-{tab}-{look}")
        depth = v.page.inner_text("#wb-picture .stackbox")
        v.page.locator("#wb-run .tokens .tok").first.click()
        v.page.keyboard.press("ArrowRight")
        v.page.wait_for_function(
            "(depth) => document.querySelector('#wb-picture .stackbox').innerText !== depth",
            arg=depth,
        )
    with from_disk(browser, path, dark=dark) as page:
        page.wait_for_selector("#wb-picture svg .now")
        assert page.get_attribute("#wb-picture [data-tab=rules]", "aria-selected") == "true"
        assert page.locator("#wb-run .tokens .tok").count() == count
        page.locator("#wb-run .tokens .tok").first.click()
        before = page.inner_text("#wb-run .insp")
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#wb-run .insp") != before
        page.click("#wb-picture [data-tab=stack]")
        page.wait_for_selector("#wb-picture .pic.main svg .now")
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / f"teacher-4-replay-{look}.png", full_page=True)
        page.keyboard.press("p")
        page.wait_for_selector(f".tokens .tok:nth-child({count})[aria-selected=true]")


def test_a_replay_has_the_picture_of_each_step(
    visit: Visitor, browser: Browser, tmp_path: Path
) -> None:
    with visit("?example=person&tab=together") as v:
        settled(v)
        v.wait_drawn()
        path = replay_of(v, tmp_path)
    assert path.stat().st_size < 1_000_000
    with from_disk(browser, path) as page:
        page.wait_for_selector("#wb-picture svg .now")
        assert page.evaluate("wb.state.tab") == "together"
        page.locator("#wb-run .tokens .tok").first.click()
        count, seen = page.evaluate("wb.state.steps.length"), []
        for index in range(count):
            page.wait_for_function("i => wb.state.selected === i", arg=index)
            page.wait_for_function(LIT)
            seen.append(page.evaluate(STEP))
            page.keyboard.press("ArrowRight")
        assert len(set(seen)) == len(seen) > 10


def test_a_replay_of_a_stricter_run_has_its_own_tokens(
    visit: Visitor, browser: Browser, tmp_path: Path
) -> None:
    with visit("?example=person&tab=together") as v:
        settled(v)
        v.wait_drawn()
        v.page.check("#wb-run .smalltokens")
        path = replay_of(v, tmp_path)
    with from_disk(browser, path) as page:
        page.locator("#wb-run .tokens .tok").first.click()
        for index in range(12):
            page.wait_for_function("i => wb.state.selected === i", arg=index)
            page.wait_for_function(LIT)
            allowed = page.evaluate(f"wb.state.steps[{index}].allowed")
            said = page.inner_text("#wb-picture .count")
            assert re.match(rf"(this run allows )?{allowed} (of|token)", said), said
            page.keyboard.press("ArrowRight")


def test_a_step_without_flags_in_the_replay_says_so(
    visit: Visitor, browser: Browser, tmp_path: Path
) -> None:
    with visit("?example=person&tab=together") as v:
        settled(v)
        path = replay_of(v, tmp_path)
    before, rest = path.read_text("utf-8").split('id="recording">')
    held, after = rest.split("</script>", 1)
    recording = json.loads(held)
    recording["flags"] = [one for one in recording["flags"] if "" in one["of"]]
    held = json.dumps(recording).replace("<", "\\u003c")
    path.write_text(f'{before}id="recording">{held}</script>{after}', "utf-8")
    with from_disk(browser, path) as page:
        absent = page.locator("#wb-picture .count", has_text="not in the file")
        absent.wait_for()
        page.locator("#wb-run .tokens .tok").first.click()
        page.wait_for_function(LIT)
        absent.wait_for(state="detached")
        page.keyboard.press("ArrowRight")
        absent.wait_for()
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(LIT)


@pytest.mark.parametrize("look", ["light", "dark"])
def test_a_researcher_forks_a_run_and_takes_its_numbers(
    visit: Visitor, tmp_path: Path, look: str
) -> None:
    with visit("?example=date", dark=look == "dark") as v:
        v.page.wait_for_function("wb.state.steps.length && !wb.state.running")
        at = v.page.evaluate("wb.state.steps.findIndex((step) => step.i > 1 && step.allowed > 1)")
        v.page.locator("#wb-run .tokens .tok").nth(at).click()
        v.shot(f"researcher-1-columns-{look}")
        taken = v.page.evaluate(f"wb.state.steps[{at}].id")
        v.page.locator("#wb-run .insp .may button.cand:not(.taken)").first.click()
        v.page.wait_for_function(f"wb.state.steps[{at}]?.id !== {taken} && !wb.state.running")
        v.page.wait_for_function("wb.state.steps[wb.state.steps.length - 1]?.token.end")
        v.shot(f"researcher-2-fork-{look}")
        with file_of(v, "CSV", tmp_path).open(encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
        assert int(rows[at]["token_id"]) != taken
        for row in rows:
            assert float(row["probability"]) <= float(row["probability_after_mask"]) + 1e-6
            assert 0 < float(row["kept"]) <= 1
            assert float(row["model_ms"]) > 0


def test_nothing_in_a_replay_runs_that_was_only_text(
    visit: Visitor, browser: Browser, tmp_path: Path
) -> None:
    with visit() as v:
        settled(v)
        v.page.fill("#wb-grammar textarea.prompt", PROMPT)
        v.type_grammar(NASTY)
        v.page.wait_for_function(
            "wb.state.compiled?.ok && wb.state.compiled.text === wb.state.text"
        )
        path = replay_of(v, tmp_path)
    with from_disk(browser, path) as page:
        page.wait_for_selector("#wb-run .tok")
        assert page.inner_text("pre.prompt") == PROMPT
        assert NASTY in page.inner_text("#wb-grammar .paint")
        assert page.locator("#wb-grammar b, #wb-run b:has-text('1+1')").count() == 0
