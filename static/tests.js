/* Tests: texts with the expected result, checked at every change of the grammar; why one fails. */

import { createLatest } from "./ask.js";
import { bound } from "./bound.js";
import { createButton, el, showNotice } from "./dom.js";
import { emit, grammarKey, on, state, wholeOf } from "./state.js";
import { createTestForm, isEntered, meantText, NEXT, TOLD, writtenText } from "./test-form.js";
import { asTest, countTests, forget, passes } from "./test-state.js";
import { outcomeOf, reasonOf, shownText, signOf } from "./test-text.js";
import { formatNumber, hexOf } from "./tokens.js";
import { createWhyLight } from "./why-light.js";

/** @import { TestList } from "./test-state" */

/** @import { Server } from "./wire" */
const MOST = 50;
const LONGEST = 5000; // tests, and characters of one: the server accepts no more in one request

/** The tests an example brings. */
const testsOf = (example) => {
  if (example.tests) return example.tests.map(asTest);
  const expecting = (texts, expect) => (texts || []).map((text) => ({ text, expect }));
  return [...expecting(example.accepts, "accept"), ...expecting(example.rejects, "reject")].slice(0, MOST);
};

/** Arrow keys over a list of rows of buttons, of which one is a tab stop. */
export function addGridKeys(list) {
  const buttons = [...list.querySelectorAll("button")];
  for (const button of buttons) button.tabIndex = -1;
  const first = list.querySelector("li button:not(.expect)") ?? buttons[0];
  if (first) first.tabIndex = 0;
  if (list.dataset.grid) return;
  list.dataset.grid = "arrows";
  list.addEventListener("focusin", (event) => {
    if (event.target.tagName !== "BUTTON") return;
    for (const button of list.querySelectorAll("button[tabindex='0']")) button.tabIndex = -1;
    event.target.tabIndex = 0;
  });
  list.addEventListener("keydown", (event) => {
    if (event.target.tagName !== "BUTTON" || !event.key.startsWith("Arrow")) return;
    const here = event.target.closest("li"),
      rows = [...list.children];
    const inRow = [...here.querySelectorAll("button")],
      place = inRow.indexOf(event.target);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    let next = step ? inRow[place + step] : null;
    if (!step) {
      const row = rows[rows.indexOf(here) + (event.key === "ArrowDown" ? 1 : -1)];
      next =
        row &&
        ([...row.querySelectorAll("button")].find((button) => button.className === event.target.className) ??
          row.querySelector("button"));
    }
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
}

/** @param {TestList} testList */
const checkTests = (testList) =>
  testList.checking.run(async (ask) => {
    const texts = state.tests.map((test) => test.text);
    const answer = await ask(testList.server.check_texts, { ...wholeOf(state), texts });
    if (!answer.results) return;
    testList.results = new Map(answer.results.map((result) => [result.text, result]));
    show(testList);
  });

/** @param {TestList} testList */
const whyButton = (testList, test, result) =>
  createButton("why?", { class: "link ask", "aria-expanded": String(testList.explained?.test === test) }, () =>
    askWhy(testList, test, result),
  );

const treeButton = (test) =>
  createButton("tree", { class: "link ask tree", title: "Show its parse tree" }, () => emit("show tree", test.text));

/** The characters of a test that a selected node of its parse tree read. @param {TestList} testList */
function markNode(testList, node) {
  const was = testList.marked;
  testList.marked = node?.test === undefined || node.test === null ? null : node;
  if (was || testList.marked) show(testList);
}

/** Ask why a text is rejected; asked again, the answer goes. @param {TestList} testList */
function askWhy(testList, test, result) {
  if (testList.explained?.test === test) {
    forget(testList);
    show(testList);
    return;
  }
  const read = hexOf(test) ?? "",
    at = result.at_end ? { so_far: read, token: null } : { so_far: "", token: read };
  testList.explaining.run(async (ask) => {
    const record = await ask(testList.server.why, { ...wholeOf(state), ...at, tested: true });
    if (state.tests.includes(test)) explain(testList, test, record);
    emit("read text", test.text);
  });
}

/** @param {TestList} testList */
function explain(testList, test, record) {
  testList.explained = { test, record };
  show(testList);
  const panel = testList.list.closest(".panel"),
    li = testList.list.querySelector(".because")?.closest("li");
  if (!li) return; // the tests are being tried again
  panel.scrollTop += li.getBoundingClientRect().top - panel.getBoundingClientRect().top - 4;
  if (record.ok === false) testList.light.hide();
  else testList.light.show(record);
}

/** @param {TestList} testList */
function rowOf(testList, test, index) {
  const { explained } = testList,
    result = testList.results.get(test.text);
  const say = shownText(testList, test, result);
  say.addEventListener("click", () => edit(testList, say, index));
  const expect = createButton(
    test.expect || "try",
    {
      class: `expect ${test.expect || "either"}`,
      title: `${test.expect ? TOLD[test.expect] : "tried only"}; press to change`,
      "aria-label": test.expect ? `${test.expect}: ${TOLD[test.expect]}` : "try: nothing is expected",
    },
    () => change(testList, index, { expect: NEXT[test.expect] ?? "accept" }),
  );
  const drop = createButton("×", { class: "bare drop", "aria-label": "Remove this test", title: "Remove" }, () =>
    remove(testList, index),
  );
  return el(
    "li",
    { class: passes(testList, test) === false ? "failed" : "" },
    signOf(testList, test, result),
    expect,
    el("div.body", say, result ? outcomeOf(testList, test, result) : null),
    el("span.acts", ...(result ? [treeButton(test), result.accepted ? "" : whyButton(testList, test, result)] : [])),
    drop,
    explained && explained.test === test ? reasonOf(explained.record) : null,
  );
}

/** Which button has the keyboard, so that it has it again when the list is made anew. @param {TestList} testList */
function focused(testList) {
  const rows = [...testList.list.children],
    at = rows.findIndex((li) => li.contains(document.activeElement));
  return at < 0
    ? null
    : [at, [...rows[at].querySelectorAll("button")].findIndex((button) => button.contains(document.activeElement))];
}

/** @param {TestList} testList */
function show(testList) {
  if (testList.list.querySelector("textarea")) {
    countTests(testList);
    return;
  } // it is being edited
  const kept = focused(testList);
  testList.list.replaceChildren(...state.tests.map((test, index) => rowOf(testList, test, index)));
  addGridKeys(testList.list);
  if (kept)
    testList.list.children[Math.min(kept[0], testList.list.children.length - 1)]
      ?.querySelectorAll("button")
      [kept[1]]?.focus();
  countTests(testList);
}

const keepDraft = () => document.dispatchEvent(new Event("change"));

/** @param {TestList} testList */
function change(testList, index, what) {
  if (!state.tests[index]) return; // another grammar has come meanwhile
  Object.assign(state.tests[index], what);
  forget(testList);
  show(testList);
  keepDraft();
  if (state.compiled?.ok && "text" in what) checkTests(testList);
}

/** @param {TestList} testList */
function remove(testList, index) {
  forget(testList);
  state.tests.splice(index, 1);
  show(testList);
  keepDraft();
  const next = testList.list.children[Math.min(index, state.tests.length - 1)];
  (next?.querySelector(".say") ?? testList.form).focus();
}

/** Add tests; none is added twice. @param {TestList} testList */
function addTests(testList, tests) {
  const fresh = tests.filter(
    (test) => test.text.length <= LONGEST && !state.tests.some((other) => other.text === test.text),
  );
  state.tests.push(...fresh.slice(0, MOST - state.tests.length));
  if (tests.some((test) => test.text.length > LONGEST))
    showNotice?.(`A test has at most ${formatNumber(LONGEST)} characters.`);
  else if (fresh.some((test) => !state.tests.includes(test)))
    showNotice?.(`There are at most ${MOST} tests; the others were not added.`);
  show(testList);
  if (state.compiled?.ok) checkTests(testList);
  keepDraft();
}

/** @param {TestList} testList */
function edit(testList, say, index) {
  if (!state.tests[index]) return; // a row of the tests before, which go as soon as these are tried
  const area = el("textarea", { rows: 1, "aria-label": "Text to test", spellcheck: "false" });
  area.value = writtenText(state.tests[index].text);
  let open = true;
  const finish = (keep) => {
    if (!open) return false;
    open = false;
    area.remove();
    const written = meantText(area.value).slice(0, LONGEST);
    if (keep && written !== state.tests[index].text) change(testList, index, { text: written });
    else show(testList);
    return true;
  };
  const close = (keep) => {
    if (finish(keep)) testList.list.children[index]?.querySelector(".say")?.focus();
  };
  area.addEventListener("blur", () => finish(true));
  area.addEventListener("keydown", (event) => {
    event.stopPropagation(); // arrows and Delete are the text's
    if (isEntered(event)) {
      event.preventDefault();
      close(true);
    }
    if (event.key === "Escape") close(false);
  });
  say.parentNode.replaceChildren(area);
  area.focus();
}

/** @param {TestList} testList */
function pressKey(testList, event) {
  const at = [...testList.list.children].findIndex((li) => li.contains(event.target));
  if (event.key === "Delete" && at >= 0) {
    event.preventDefault();
    remove(testList, at);
  }
}

/** The grammar is another: nothing is known of the texts. @param {TestList} testList */
function clear(testList) {
  testList.checking.drop();
  testList.results = new Map();
  forget(testList);
  show(testList);
}

/** The example's own tests leave with its text; a line offers to put them back. @param {TestList} testList */
function leave(testList) {
  if (!testList.origin || !state.tests.length || JSON.stringify(state.tests) !== testList.origin.tests) return;
  const [tests, { title }] = [state.tests.splice(0), testList.origin];
  const back = createButton("Put them back", { class: "link" }, () => {
    testList.line.hidden = true;
    addTests(testList, tests);
    testList.form.focus();
  });
  testList.left = { tests, came: testList.origin };
  testList.origin = null; // put back, they are the reader's
  testList.line.replaceChildren(`The ${tests.length} tests of “${title}” left with its text. `, back);
  testList.line.hidden = false;
  forget(testList);
  show(testList);
  keepDraft();
}

/** The example's text is there again: so are its tests, unless others took their place. @param {TestList} testList */
function comeBack(testList) {
  if (testList.left && !state.tests.length) {
    state.tests.push(...testList.left.tests);
    testList.origin = testList.left.came;
    testList.line.hidden = true;
    show(testList);
  }
  testList.left = null;
}

/** @param {TestList} testList */
function open(testList, example) {
  testList.left = null;
  testList.line.hidden = true;
  state.tests = testsOf(example);
  testList.origin = example.name
    ? { title: example.title, tests: JSON.stringify(state.tests) }
    : (example.came ?? null);
  testList.results = new Map();
  testList.explained = null;
  show(testList);
}

/** The list of tests in ``box``; ``counted`` gets the numbers of tests.
    @param {HTMLElement} box @param {Server} server @param {TestList["counted"]} counted */
export function createTestList(box, server, counted) {
  const list = box.querySelector(".tests");
  const line = box.querySelector(".brought");
  const checking = createLatest();
  const explaining = createLatest({ subject: () => grammarKey(wholeOf(state)) });
  list.addEventListener("keydown", (event) => pressKey(testList, event));
  const form = createTestForm(box.querySelector(".addtest"), server, (added) => addTests(testList, added));
  /** @type {TestList} */
  const testList = {
    list,
    line,
    checking,
    results: new Map(),
    explained: null, // the test whose why is shown
    origin: null, // the example of the tests
    left: null, // those that left with its text
    marked: null, // the selected node of the parse tree of a test
    explaining,
    light: createWhyLight(),
    form,
    server,
    counted,
  };
  on("tree node", (node) => markNode(testList, node));
  on("typed", () => forget(testList));
  return {
    ...bound(testList, { check: checkTests, put: addTests, show, clear, leave, comeBack, open }),
    /** The example that the tests came with, for when its grammar is opened again. */
    came: () => testList.origin,
  };
}
