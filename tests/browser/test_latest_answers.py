"""Each question of the page is asked twice, and the first answer arrives last: the second one stays.

The first answer is held back in the browser until the second is shown. It arrives although the page
closes the connection, as behind a proxy that reads on; once as it is, once as an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser.server import TOKEN
from tests.tasks.test_row_store import results
from workbench.app.ui.questions import QUESTIONS
from workbench.base.resources import GRAMMARS

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive]

#: Holds the first answer to the question ``held.name`` back until ``held.release()``. ``held.answers``
#: replaces answers of the server, ``held.error`` the first one by an error. Files and copies are kept.
HOLD = """
window.held = { name: null, sent: [], answers: [], error: false, release: null, released: 0 };
window.files = [];
const plain = window.fetch;
window.fetch = async (resource, options) => {
  if (!held.name || !String(resource).endsWith(`wb/ask/${held.name}`)) return plain(resource, options);
  const number = held.sent.push(JSON.parse(options.body)) - 1, { signal, ...others } = options;
  const ready = held.answers[number];
  const answer = ready ? new Response(JSON.stringify(ready)) : await plain(resource, number ? options : others);
  if (number) return answer;
  await new Promise((release) => { held.release = release; });
  setTimeout(() => { held.released += 1; }, 50);
  return held.error ? new Response(JSON.stringify({ fault: "the older question failed" })) : answer;
};
const blobs = new Map(), address = URL.createObjectURL;
URL.createObjectURL = (blob) => { const made = address.call(URL, blob); blobs.set(made, blob); return made; };
const click = HTMLAnchorElement.prototype.click;
HTMLAnchorElement.prototype.click = function () {
  if (this.download) blobs.get(this.href)?.text().then((text) => files.push(text));
  else click.call(this);
};
Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { files.push(text); } } });
window.print = () => files.push(document.querySelector(".sheets")?.textContent ?? "");
"""

Act = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """A question that two acts of a visitor ask; ``shown`` is true where the second answer is shown."""

    first: Act
    second: Act
    shown: str
    where: str = "?example=time"
    before: Act = lambda _: None
    #: Answers instead of the server's.
    answers: tuple[Mapping[str, Any] | str, ...] = ()
    #: An element whose text the late answer leaves as it is.
    still: str = ""


@dataclass(frozen=True)
class Single:
    """A question without two subjects: ``act`` asks it at most once, so no answer is overtaken."""

    reason: str
    act: Act
    where: str = "?example=time"


def js(code: str, argument: Any = None) -> Act:
    return lambda v: v.page.evaluate(code, argument)


def emit(name: str, detail: Any = None) -> Act:
    return js("([name, detail]) => { wb.emit(name, detail); }", [name, detail])


def click(selector: str) -> Act:
    return lambda v: v.page.locator(selector).first.click()


def fill(selector: str, text: str) -> Act:
    return lambda v: v.page.fill(selector, text)


def choose(selector: str, label: str) -> Act:
    return lambda v: v.page.select_option(selector, label=label)


def wait(expression: str) -> Act:
    return lambda v: v.page.wait_for_function(expression)


def acts(*each: Act) -> Act:
    return lambda v: [act(v) for act in each]


def typed(text: str) -> Act:
    """Type a grammar."""
    return fill("#wb-grammar textarea.text", text)


def read(text: str) -> Act:
    """Type a grammar, and wait until it is compiled and drawn."""
    return acts(typed(text), drawn)


def drawn(v: Any) -> None:
    v.page.wait_for_function("wb.state.compiled?.text === wb.state.text && !wb.state.pending")
    v.wait_drawn()


def opened(text: str, notation: str = "regex", **others: Any) -> Act:
    return emit("open", {"text": text, "notation": notation, **others})


def text_has(selector: str, *texts: str, but: str = "") -> str:
    """An expression: the text of the first element has these texts, and not that one."""
    return (
        f"(() => {{ const text = document.querySelector({json.dumps(selector)})?.textContent ?? '';"
        f" return {json.dumps(texts)}.every((one) => text.includes(one))"
        f" && !({json.dumps(but)} && text.includes({json.dumps(but)})); }})()"
    )


def section(name: str) -> Act:
    return click(f"#wb-grammar [data-section={name}]")


def view(name: str) -> Act:
    return emit("look", name)


def audits(v: Any) -> None:
    """Audit, also where no other engine is installed and the button is disabled."""
    start = v.page.locator("#wb-compare .audit .start")
    v.page.wait_for_selector("#wb-compare .way[aria-checked]", state="attached")
    start.evaluate("(button) => { button.disabled = false; }")
    start.click()


#: A file is one that the second request wrote, and the only one.
def one_file(*texts: str) -> str:
    return f"files.length === 1 && {json.dumps(texts)}.every((one) => files[0].includes(one))"


RULES = "start ::= {0} ','; {0} ::= 'a';"
ABC = "initial s\nfinal t\ns -> t : a\n"
JFLAP = (
    "<structure><type>fa</type><automaton><state id='0' name='{0}'><initial/></state>"
    "<state id='1' name='end'><final/></state><transition><from>0</from><to>1</to>"
    "<read>a</read></transition></automaton></structure>"
)
MODEL = {"state": "ready", "title": "", "may_open": False, "compiling": False}
MODELS = [{"name": name, "text": name, "state": "ready", "title": ""} for name in ("one", "two")]
ITEMS = "dialog.coursemaker [name=items]"
STORED = "#wb-compare .stored"
NO_CELL = {"notes": [], "say": "right", "right": True, "ok": True}


TEXT = "#wb-grammar textarea.text"
#: Runs as they were recorded, of different lengths.
RECORDED = tuple(
    (GRAMMARS / f"{name}.trace.ndjson").read_text("utf-8") for name in ("person", "date")
)


def press(selector: str, key: str) -> Act:
    return lambda v: v.page.press(selector, key)


def drawing(v: Any) -> None:
    """A drawn machine."""
    opened(ABC, "machine")(v)
    v.page.wait_for_selector(".machine .st")


def two_models(v: Any) -> None:
    """The menu of models has two."""
    body = json.dumps({**MODEL, "text": "two models", "models": MODELS})

    def answer(route: Any) -> None:
        route.fulfill(status=200, content_type="application/json", body=body)

    v.page.route("**/wb/ask/model_state", answer)
    emit("slow answer")(v)
    v.page.wait_for_selector("#wb-header .models li:nth-child(2)", state="attached")
    v.page.unroute("**/wb/ask/model_state")


def by_hand(prompt: str) -> Act:
    """Choose the tokens of a text by hand, under another prompt."""
    return acts(opened("[a-z]{3}", prompt=prompt), drawn, click("#wb-run .byhand"))


def shelved(v: Any) -> None:
    view("learn")(v)
    click("#wb-exercise [data-tab=exercises]")(v)
    v.page.wait_for_selector("#wb-exercise .exlist li")


def exercise(title: str) -> Act:
    return acts(shelved, click(f"#wb-exercise .exlist li button:has-text('{title}')"))


def exercise_opened(title: str) -> Act:
    bar = text_has("#wb-exercise .exbar h2", title)
    return acts(exercise(title), wait(f"{bar} && wb.state.compiled"))


def maker(v: Any) -> None:
    read("(ab)+")(v)
    shelved(v)
    click("#wb-exercise .exlist button:has-text('Make an exercise')")(v)
    v.page.wait_for_selector("dialog.maker .conditions input")
    for name in ("title", "task"):
        v.page.fill(f"dialog.maker [name={name}]", "one")


def course_maker(v: Any) -> None:
    shelved(v)
    click("#wb-exercise .exlist button:has-text('Make a course')")(v)
    v.page.wait_for_selector("dialog.coursemaker[open]")
    v.page.fill(ITEMS, "yes_or_no")
    v.page.fill("dialog.coursemaker [name=title]", "one")


def compared(v: Any) -> None:
    """Compare two methods on a small language."""
    view("compare")(v)
    v.page.wait_for_selector("#wb-compare .way[aria-checked]")
    more = v.page.locator("#wb-compare .moreways")
    if more.get_attribute("aria-expanded") == "false":
        more.click()
    v.page.locator("#wb-compare .sets button", has_text="none").click()
    for name in ("unconstrained", "automaton"):
        v.page.click(f"#wb-compare .way[data-name='{name}']")
    v.page.click("#wb-compare .go:enabled")
    v.page.wait_for_selector("#wb-compare .halt:disabled", state="attached")


def stored(name: str) -> Act:
    """Choose a file of results."""

    def act(v: Any) -> None:
        view("compare")(v)
        v.page.set_input_files(f"{STORED} input[type=file]", str(v.folder / f"{name}.parquet"))

    return act


def stored_rows(v: Any) -> None:
    stored("one")(v)
    v.page.wait_for_selector(f"{STORED} .rows tbody tr[data-n]")
    v.page.wait_for_selector(f"{STORED} .plot svg")


def lesson(name: str) -> str:
    return f"#wb-learn .shelves [data-lesson={name}]"


def in_lessons(v: Any) -> None:
    view("learn")(v)
    v.page.wait_for_selector("#wb-learn .leaf")


def built(v: Any) -> None:
    read("(ab|ac)*d")(v)
    click("#wb-picture .bar > .built")(v)
    v.page.wait_for_selector("dialog.construction[open] .acts:not([hidden])")


def ran(v: Any) -> None:
    v.wait_run()
    v.wait_drawn()


def running(prompt: str) -> Act:
    """Begin a run of a long text."""
    return acts(
        opened("[ab]{400}", prompt=prompt, max_tokens=400), drawn, click("#wb-run .go"),
        wait("wb.state.running && wb.state.steps.length > 2"),
    )  # fmt: skip


def reading(text: str) -> Act:
    """Let the model read a text under the mask."""
    return acts(
        fill("#wb-run .reading textarea", text), click("#wb-run .reading button:not(.bare):enabled")
    )


FILM = "#wb-learn .film"
CONVERT = "#wb-grammar .convert"

CASES: Mapping[str, Case | Single] = {
    # -- the header and the footer ---------------------------------------------------------------
    "model_state": Case(
        js("document.querySelectorAll('#wb-header .models li button')[0].click()"),
        js("document.querySelectorAll('#wb-header .models li button')[1].click()"),
        text_has("#wb-header .models .name", "model two"),
        before=two_models,
        answers=tuple({**MODEL, "text": f"model {n}", "models": MODELS} for n in ("one", "two")),
    ),
    "open_model": Case(
        acts(fill("#wb-header .openmodel input", "one"), js("document.querySelector('#wb-header .models form').requestSubmit()")),
        acts(fill("#wb-header .openmodel input", "two"), js("document.querySelector('#wb-header .models form').requestSubmit()")),
        text_has("#wb-header .models .name", "no model two") + " && wb.state.model === ''",
        where=f"?token={TOKEN}&example=time",
        before=click("#wb-header button.model"),
        answers=({"name": "older"}, {"fault": "no model two"}),
    ),
    "open_example": Case(
        choose("#wb-header .pickwrap select", "JSON"),
        choose("#wb-header .pickwrap select", "Duration"),
        "wb.state.example.title === 'Duration'",
    ),
    "about": Case(
        click("footer .about, #wb-footer .about"),
        acts(js("document.querySelector('#wb-footer dialog, dialog:has(.versions)').close()"), click("#wb-footer .about")),
        text_has(".versions", "two", but="one"),
        answers=({"versions": [["x", "one"]], "limits": []}, {"versions": [["x", "two"]], "limits": []}),
    ),
    # -- the grammar -----------------------------------------------------------------------------
    "compile_grammar": Case(
        acts(typed("a+"), wait("held.sent.length === 1")), typed("b+"),
        "wb.state.compiled.text === 'b+' && !wb.state.pending",
    ),
    "check_texts": Case(
        read("b+"), read("a+"),
        text_has("#wb-grammar .tests", "aaa", but="fails"),
        before=js("() => { wb.state.tests = [{ text: 'aaa', expect: 'accept' }]; }"),
    ),
    "lint_grammar": Case(
        acts(read("(a|a)b"), wait("held.sent.length === 1")), read("ab"),
        text_has("#wb-grammar #wb-sec-problems", "", but="looking"),
    ),
    "time_mask": Case(
        acts(read("(a|a)b"), wait("held.sent.length === 1")), read("ab"),
        text_has("#wb-grammar #wb-sec-problems", "", but="looking"),
    ),
    "outline_rules": Case(
        read(RULES.format("one")), read(RULES.format("two")),
        text_has("#wb-grammar .outline", "two", but="one"),
        where="?example=json",
    ),
    "tell_in_words": Case(
        read("a+"), read("b{3}"), text_has("#wb-sec-words", "b", but="a+"),
        before=acts(read("c"), section("words")),
    ),
    "sample_texts": Case(
        read("a{3}"), read("b{3}"), text_has("#wb-sec-samples", "bbb", but="aaa"),
        before=acts(read("c"), section("samples")),
    ),
    "what_changed": Case(
        acts(read("a{3}"), wait("held.sent.length === 1")), read("b{3}"),
        text_has("#wb-sec-change .changes", "bbb", but="aaa"),
        before=acts(opened("c"), drawn, section("change")),
    ),
    "convert_grammar": Case(
        acts(click(f"{CONVERT} > button"), click(f"{CONVERT} li button:has-text('to KBNF')")),
        click(f"{CONVERT} li button:has-text('to GBNF')"),
        "wb.state.notation === 'gbnf'",
        before=acts(opened("(ab)+"), drawn),
    ),
    "arrange_machine": Case(
        opened(ABC, "machine"), opened(ABC.replace("t", "two"), "machine"),
        "document.querySelectorAll('.machine .st').length === 2"
        " && document.querySelector('[data-part=\"state two\"]')",
        before=acts(opened("", "machine"), lambda v: v.page.wait_for_selector(".sketch")),
    ),
    "machine_from_file": Case(
        typed(JFLAP.format("one")), typed(JFLAP.format("two")),
        "wb.state.text.includes('two') && !wb.state.text.includes('<')",
        before=acts(drawing, click("#wb-grammar .drawing button:text-is('Text')")),
    ),
    "machine_path": Case(
        acts(fill(".stepper input", "a"), press(".stepper input", "Enter")),
        acts(fill(".stepper input", "b"), press(".stepper input", "Enter")),
        text_has(".stepper [role=status]", "two", but="one"),
        before=acts(drawing, click("#wb-grammar .drawing button:text-is('Step')"), wait(text_has(".stepper [role=status]", "beginning"))),
        answers=tuple(
            {"ok": True, "sets": [{"states": [n], "inside": [], "final": True, "edges": []}]}
            for n in ("one", "two")
        ),
    ),
    "read_prompt": Case(
        acts(fill("#wb-grammar textarea.prompt", "one"), wait("held.sent.length === 1")),
        fill("#wb-grammar textarea.prompt", "two"),
        text_has("#wb-grammar .reads", "2 tokens"),
        before=acts(
            js(
                """() => { wb.emit("model", { chat: true, name: "" });
                document.querySelector("#wb-grammar .chat input").click();
                document.querySelector("#wb-grammar details.read").open = true; }"""
            ),
            wait("document.querySelector('#wb-grammar .reads').textContent"),
        ),
        answers=tuple({"ok": True, "tokens": [], "count": n, "most": 9, "too_long": ""} for n in (1, 2)),
    ),
    "completions": Case(
        press(TEXT, "Control+Space"),
        acts(opened("start ::= st", "kbnf"), press(TEXT, "Control+Space")),
        "!document.querySelector('#wb-complete').hidden && wb.state.notation === 'kbnf'",
        before=opened("start: st", "lark"),
        still="#wb-complete",
    ),
    "syntax_card": Case(
        acts(opened("start ::= 'a';", "kbnf"), wait("held.sent.length === 1")), opened('start: "a"', "lark"),
        text_has("#wb-sec-syntax", "%import", but="::="),
        before=acts(section("syntax"), wait(text_has("#wb-sec-syntax", "[^…]"))),
    ),
    "find_matches": Case(
        fill("#wb-sec-find textarea", "a"), fill("#wb-sec-find textarea", "a b a"),
        text_has("#wb-sec-find .status", "2 matches"),
        before=acts(read("a"), section("find"), lambda v: v.page.wait_for_selector("#wb-sec-find textarea")),
    ),
    # -- the picture -----------------------------------------------------------------------------
    "draw_machine": Case(
        acts(typed("aaa"), wait("held.sent.length === 1")), typed("bbb"),
        "wb.state.drawn.text === 'bbb' && !document.querySelector('#wb-picture .pic.stale')",
        before=acts(ran, lambda v: v.open_tab("characters")),
    ),
    "draw_flags": Case(
        acts(click(".tok >> nth=2"), wait("held.sent.length === 1")), click(".tok >> nth=9"),
        text_has("#wb-picture .count", "two", but="one"),
        where="?example=person",
        before=acts(ran, lambda v: v.open_tab("together")),
        answers=tuple({"ok": True, "count": n, "state": "0", "flags": []} for n in ("one", "two")),
    ),
    "draw_railroad": Case(
        acts(typed("aaa"), wait("held.sent.length === 1")), typed("bbb"),
        "wb.state.drawn.text === 'bbb' && !document.querySelector('#wb-picture .pic.stale')",
        before=lambda v: v.open_tab("railroad"),
    ),
    "draw_parse_tree": Case(
        emit("show tree", "aa"), emit("show tree", "aaa"),
        text_has("#wb-picture .pic.main svg", "aaa"),
        before=read("a+"),
        answers=(),
    ),
    "find_states": Case(
        fill("#wb-picture .findbox input", "1"), fill("#wb-picture .findbox input", "2"),
        "document.querySelector('#wb-found b')?.textContent === '2'",
        before=lambda v: v.open_tab("characters"),
    ),
    "about_state": Case(
        click("#wb-picture .pic.main .node >> nth=1"), click("#wb-picture .pic.main .node >> nth=2"),
        text_has("#wb-picture .foot", "two", but="one"),
        before=acts(read("abcde"), lambda v: v.open_tab("characters")),
        answers=tuple({"ok": True, "reads": "", "returns": n, "tokens": 0, "places": [], "reached": ""} for n in ("one", "two")),
    ),
    "take_code": Case(
        # the code is written where it is in view
        acts(fill("#wb-grammar textarea.prompt", "one"), js("document.querySelector('.takeaway pre').scrollIntoView()"), wait("held.sent.length === 1")),
        acts(fill("#wb-grammar textarea.prompt", "two"), js("document.querySelector('.takeaway pre').scrollIntoView()")),
        text_has(".takeaway pre", "two", but="one"),
        before=acts(drawn, js("document.querySelector('.takeaway pre').scrollIntoView()"), wait("document.querySelector('.takeaway pre').textContent")),
    ),
    "take_machine": Case(
        acts(js("document.querySelector('.takeaway .files').scrollIntoView()"), click(".takeaway .files button:text-is('JSON')")),
        acts(read("bbb"), click(".takeaway .files button:text-is('JSON')")),
        one_file("two"),
        before=read("aaa"),
        answers=tuple({"name": n, "type": "text/plain", "base64": b} for n, b in (("1", "b25l"), ("2", "dHdv"))),
    ),
    "take_replay": Case(
        click(".takeaway .files button:text-is('Replay')"),
        acts(fill("#wb-grammar textarea.prompt", "two"), click("#wb-run .go"), ran, click(".takeaway .files button:text-is('Replay')")),
        one_file("two"),
        before=ran,
        answers=tuple({"html": f"{n} MARK", "mark": "MARK", "version": "", "drawn": {}} for n in ("one", "two")),
    ),
    "draw_tikz": Case(
        acts(click("#wb-picture .exports > button"), click("#wb-picture .exports button:text-is('Copy TikZ')")),
        acts(lambda v: v.open_tab("tokens"), click("#wb-picture .exports > button"), click("#wb-picture .exports button:text-is('Copy TikZ')")),
        one_file("two"),
        before=lambda v: v.open_tab("characters"),
        answers=tuple({"ok": True, "tikz": text} for text in ("one", "two")),
    ),
    "about_edge": Case(
        click("#wb-picture .pic.main [data-edges], #wb-picture .pic.main .edge text >> nth=0"), click("#wb-picture .pic.main [data-edges], #wb-picture .pic.main .edge text >> nth=1"),
        text_has("#wb-picture .edgebox", "two", but="one"),
        before=acts(read("[a-z][0-9][A-Z]"), lambda v: v.open_tab("tokens")),
        answers=tuple({"ok": True, "tokens": [n], "count": 1} for n in ("one", "two")),
    ),
    "construction_list": Case(
        click("#wb-picture .bar > .built"),
        acts(read("b|c"), click("#wb-picture .bar > .built")),
        "document.querySelector('dialog.construction').open && document.querySelector('dialog.construction .film')"
        " && document.querySelector('dialog.construction').getAttribute('aria-busy') === 'false'",
        before=read("a"),
    ),
    "construction_film": Case(
        lambda v: v.page.select_option("dialog.construction [name=construction]", "minimal"),
        lambda v: v.page.select_option("dialog.construction [name=construction]", "subsets"),
        "document.querySelectorAll('dialog.construction .film').length === 1"
        " && document.querySelector('dialog.construction .player:not([hidden])')"
        " && document.querySelector('dialog.construction [name=construction]').value === 'subsets'",
        before=built,
    ),
    "frame_tikz": Case(
        click("dialog.construction [data-act=copy]"),
        acts(lambda v: v.page.keyboard.press("Home"), click("dialog.construction [data-act=copy]")),
        one_file("two"),
        before=built,
        answers=tuple({"ok": True, "tikz": text} for text in ("one", "two")),
    ),
    # -- lessons ---------------------------------------------------------------------------------
    "lesson_list": Single("all lessons have one list", acts(view("learn"), view("workbench"), view("learn"))),
    "lesson": Case(
        click(lesson("stacks")), click(lesson("wide")),
        "!document.querySelector('#wb-learn .shelves [aria-busy]')"
        " && document.querySelector('#wb-learn [aria-current=page]')?.dataset.lesson === 'wide'"
        " && location.search.includes('wide')",
        before=in_lessons,
    ),
    "lesson_figure": Case(
        click("#wb-learn .steps button[data-step='1']"), click("#wb-learn .steps button[data-step='0']"),
        f"document.querySelectorAll('{FILM} svg').length && !document.querySelector('#wb-learn .lesson.loading')"
        " && document.querySelector('#wb-learn .steps [aria-current=true]').dataset.step === '0'",
        before=in_lessons,
    ),
    "lesson_answer": Case(
        acts(click("#wb-learn .quiz button[type=submit]")),
        acts(click("#wb-learn .steps button[data-step='2']"), click("#wb-learn .quiz button[type=submit]")),
        text_has("#wb-learn .quiz .reply", "right two"),
        where="?learn=machines&step=1",
        before=lambda v: v.page.wait_for_selector("#wb-learn .quiz button"),
        answers=({**NO_CELL, "say": "right one"}, {**NO_CELL, "say": "right two"}),
    ),
    "lesson_why": Case(
        click(f"{FILM} .hand .token.no >> nth=0"), click(f"{FILM} .hand .token.no >> nth=1"),
        f"document.querySelector('{FILM} .because:not([hidden])')?.textContent",
        where="?learn=stacks&step=4",
        before=lambda v: v.page.wait_for_selector(f"{FILM} .hand .token.no"),
        still=f"{FILM} .because",
    ),
    # -- exercises -------------------------------------------------------------------------------
    "exercise_list": Single(
        "all exercises have one list",
        acts(view("learn"), click("#wb-exercise [data-tab=exercises]"), view("workbench"), view("learn")),
    ),
    "exercise": Case(
        exercise("Yes or no"), exercise("A quoted string"),
        text_has("#wb-exercise .exbar h2", "A quoted string", but="Yes or no"),
    ),
    "check_exercise": Case(
        click("#wb-exercise .check"),
        acts(exercise_opened("A quoted string"), click("#wb-exercise .check")),
        text_has("#wb-exercise .result", "two", but="one"),
        before=exercise_opened("Yes or no"),
        answers=tuple({"ok": False, "why": n} for n in ("one", "two")),
    ),
    "exercise_answer": Case(
        click("#wb-exercise button.answer"),
        acts(exercise_opened("A quoted string"), click("#wb-exercise button.answer")),
        text_has("#wb-exercise .result pre", '"', but="yes"),
        before=exercise_opened("Yes or no"),
    ),
    "suggest_examples": Case(
        click("dialog.maker .suggest"), click("dialog.maker .suggest"),
        "document.querySelector('dialog.maker [name=accepts]').value === 'two'"
        " && document.querySelector('dialog.maker form').getAttribute('aria-busy') === 'false'",
        before=maker,
        answers=tuple({"ok": True, "accepts": [n], "rejects": []} for n in ("one", "two")),
    ),
    "make_exercise": Case(
        click("dialog.maker [type=submit]"), click("dialog.maker [type=submit]"),
        "document.querySelector('dialog.maker .made input')?.value.endsWith('x=two')",
        before=maker,
        answers=tuple({"ok": True, "link": f"x={n}"} for n in ("one", "two")),
    ),
    "make_course": Case(
        click("dialog.coursemaker [type=submit]"), click("dialog.coursemaker [type=submit]"),
        "document.querySelector('dialog.coursemaker .made input')?.value.endsWith('c=two')",
        before=course_maker,
        answers=tuple({"ok": True, "link": f"c={n}"} for n in ("one", "two")),
    ),
    "solution_sheet": Case(
        click("dialog.coursemaker .sheet"), click("dialog.coursemaker .solutions"),
        one_file("solutions"),
        before=course_maker,
        answers=({"ok": True, "exercises": []},) * 2,
    ),
    "course": Case(
        js("() => { location.hash = 'c=one'; }"), js("() => { location.hash = 'c=two'; }"),
        text_has("#wb-exercise .exlist h2", "two"),
        before=drawn,
        answers=tuple({"ok": True, "title": n, "items": []} for n in ("one", "two")),
    ),
    # -- comparisons -----------------------------------------------------------------------------
    "contender_list": Case(
        view("compare"), acts(view("workbench"), view("compare")),
        "document.querySelectorAll('#wb-compare .way[aria-checked]').length > 5",
        before=drawn,
    ),
    "compare_opening": Case(
        view("compare"), acts(view("workbench"), view("compare")),
        "document.querySelectorAll('#wb-compare .samples button').length === 3",
        before=drawn,
    ),
    "compared_run": Case(
        click("#wb-compare .results .open >> nth=0"), click("#wb-compare .results .open >> nth=1"),
        "document.querySelectorAll('#wb-run .branches [aria-pressed]').length === 1 && wb.state.view === 'workbench'",
        where="?example=yes_or_no",
        before=acts(drawn, ran, opened("yes|no"), drawn, compared),
        still="#wb-run .branches",
    ),
    "distribution": Case(
        compared, click("#wb-compare .go:enabled"),
        text_has("#wb-compare .exact", "two", but="one"),
        before=acts(opened("yes|no"), drawn),
        answers=tuple({"ok": False, "why": f"reason {n}"} for n in ("one", "two")),
    ),
    "audit_engines": Case(
        audits,
        acts(opened("b"), wait("wb.state.compiled.text === 'b'"), view("compare"), audits),
        text_has("#wb-compare .audit", "two", but="one"),
        before=acts(opened("a"), drawn, view("compare")),
        answers=tuple({"ok": False, "why": n} for n in ("one", "two")),
    ),
    "send_results": Case(
        stored("one"), stored("two"),
        text_has(f"{STORED} .filename", "two.parquet") + f" && document.querySelector('{STORED} tr[data-n]')",
    ),
    "open_results": Case(
        stored("one"), stored("two"),
        text_has(f"{STORED} .filename", "two.parquet") + f" && document.querySelector('{STORED} tr[data-n]')",
    ),
    "results_rows": Case(
        acts(fill(f"{STORED} input[type=search]", "tokens > 1"), wait("held.sent.length === 1")),
        fill(f"{STORED} input[type=search]", "no such text"),
        text_has(f"{STORED} .total", "no row"),
        before=stored_rows,
    ),
    "results_plot": Case(
        lambda v: v.page.select_option(f"{STORED} .plots select", index=0),
        lambda v: v.page.select_option(f"{STORED} .plots select", index=1),
        text_has(f"{STORED} .plot", "reason two"),
        before=stored_rows,
        answers=tuple({"ok": False, "why": f"reason {n}"} for n in ("one", "two")),
    ),
    "results_row": Case(
        click(f"{STORED} tr[data-n] button >> nth=0"), click(f"{STORED} tr[data-n] button >> nth=0"),
        f"document.querySelectorAll('{STORED} tr.opened').length === 1",
        before=stored_rows,
    ),
    "results_csv": Case(
        click(f"{STORED} .knobs button:text-is('CSV')"),
        acts(stored("two"), wait(text_has(f"{STORED} .filename", "two.parquet")), click(f"{STORED} .knobs button:text-is('CSV')")),
        one_file("two"),
        before=stored_rows,
        answers=tuple({"ok": True, "text": n, "next": 1, "total": 1} for n in ("one", "two")),
    ),
    # -- runs ------------------------------------------------------------------------------------
    "recorded_run": Case(
        choose("#wb-header .pickwrap select", "JSON"),
        choose("#wb-header .pickwrap select", "Date"),
        f"wb.state.example.title === 'Date' && wb.state.steps.length === {len(RECORDED[1].splitlines())} - 3",
        answers=RECORDED,
    ),
    "draft_models": Case(
        emit("model", {"name": "a", "models": MODELS}), emit("model", {"name": "b", "models": MODELS}),
        "[...document.querySelector('#wb-run select.draft').options].at(-1)?.value === 'two'",
        answers=tuple({"ok": True, "drafts": [{"name": n, "title": n}]} for n in ("one", "two")),
    ),
    "explain_tokens": Case(
        js("document.querySelectorAll('#wb-run .tok')[1].click()"), js("document.querySelectorAll('#wb-run .tok')[3].click()"),
        text_has("#wb-run .insp .wanted", "reason two", but="reason one"),
        before=ran,
        answers=tuple({"reasons": [f"reason {n}"] * 30} for n in ("one", "two")),
    ),
    "why": Case(
        click("#wb-run .insp .cand.x >> nth=0"), click("#wb-run .insp .cand.x >> nth=1"),
        "document.querySelector('#wb-run .whybox:not([hidden])')",
        before=acts(ran, js("document.querySelectorAll('#wb-run .tok')[1].click()"), lambda v: v.page.wait_for_selector("#wb-run .insp .cand.x")),
        still="#wb-run .whybox",
    ),
    "turn": Case(
        by_hand("one"), by_hand("two"),
        "wb.state.turn && document.querySelector('#wb-run .insp .tokenfacts table')"
        # the short reasons of refused tokens are shown later than the tokens
        " && document.querySelector('#wb-run .insp .cand.x .w[title]')"
        " && !document.querySelector('#wb-run .insp.waiting')",
        before=ran,
        still="#wb-run .insp",
    ),
    "take_token": Case(
        click("#wb-run .step:enabled"),
        acts(by_hand("two"), wait("wb.state.turn"), click("#wb-run .step:enabled"), wait("wb.state.steps.length === 1")),
        "wb.state.steps.length === 1 && !document.querySelector('#wb-run .step').disabled",
        before=acts(ran, by_hand("one"), wait("wb.state.turn")),
        still="#wb-run .tokens",
    ),
    "read_text": Case(
        reading("14"),
        acts(by_hand("two"), wait("wb.state.turn"), reading("abc")),
        "wb.state.steps.map((step) => step.token.text).join('') === 'abc'"
        " && document.querySelector('#wb-run .outcome').textContent",
        before=acts(ran, click("#wb-run .readbutton")),
        still="#wb-run .tokens",
    ),
    "find_tokens": Case(
        fill("#wb-run .lookup input", "a"), fill("#wb-run .lookup input", "th"),
        text_has("#wb-run .hits", "th", but="Ada"),
        before=acts(ran, js("document.querySelectorAll('#wb-run .tok')[1].click()")),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of results."""
    made = tmp_path_factory.mktemp("results")
    for name, rows in (("one", 20), ("two", 30)):
        results(made / f"{name}.parquet", rows)
    return made


def test_every_question_of_the_page_has_a_case() -> None:
    assert set(CASES) == set(QUESTIONS), "a new question needs a case that overtakes it"


@pytest.mark.parametrize("late", ["answer", "error"])
@pytest.mark.parametrize(
    "question", [name for name, case in CASES.items() if isinstance(case, Case)]
)
def test_the_first_answer_comes_last(visit: Any, folder: Path, question: str, late: str) -> None:
    case = CASES[question]
    assert isinstance(case, Case)
    with visit(case.where, before=HOLD) as v:
        v.folder = folder
        v.page.wait_for_function("wb.state.compiled")
        case.before(v)
        held = {"name": question, "error": late == "error", "answers": list(case.answers)}
        v.page.evaluate("changes => { Object.assign(held, changes); }", held)
        case.first(v)
        v.page.wait_for_function("held.sent.length === 1")
        case.second(v)
        v.page.wait_for_function("held.sent.length >= 2 && held.release !== null")
        v.page.wait_for_function(case.shown)
        text = f"document.querySelector({json.dumps(case.still or 'title')})?.innerText ?? ''"
        before = v.page.evaluate(text)
        v.page.evaluate("held.release()")
        v.page.wait_for_function("held.released > 0")
        v.page.wait_for_timeout(100)
        assert v.page.evaluate(f"Boolean({case.shown})")
        assert v.page.evaluate(text) == before
        assert "the older question failed" not in v.page.inner_text("body")
        assert v.page.locator("[aria-busy=true]:visible").count() == 0
        sent = v.page.evaluate("held.sent")
        assert sent.count(sent[0]) == sent[:2].count(sent[0]), "the older one is not asked again"


@pytest.mark.parametrize(
    "question", [name for name, case in CASES.items() if isinstance(case, Single)]
)
def test_a_question_without_two_subjects_is_asked_once(visit: Any, question: str) -> None:
    case = CASES[question]
    assert isinstance(case, Single)
    with visit(case.where, before=HOLD) as v:
        v.page.wait_for_function("wb.state.compiled")
        v.page.evaluate("name => { held.name = name; }", question)
        case.act(v)
        v.page.wait_for_function("held.release !== null")
        v.page.evaluate("held.release()")
        v.page.wait_for_function("held.released > 0")
        case.act(v)
        assert v.page.evaluate("held.sent.length") == 1, case.reason
