/* Tests: texts with the expected result, checked at every change of the grammar; why one fails. */

import { createLatest } from "./ask.js";
import { el, showNotice } from "./dom.js";
import { emit, grammarKey, on, state, wholeOf } from "./state.js";
import { createTestForm, isEntered, meantText, NEXT, TOLD, writtenText } from "./test-form.js";
import { formatNumber, visibleText } from "./tokens.js";
import { whyNodes } from "./why.js";

/** @import { Servers } from "./wire" */

const MOST = 50,
  LONGEST = 5000; // tests, and characters of one: the server accepts no more in one request

/** A test in either shape that was ever written: a text, or a text with what is expected. */
const asTest = (held) =>
  typeof held === "string" ? { text: held, expect: null } : { text: held.text, expect: held.expect ?? null };

/** The tests an example brings. */
const testsOf = (example) => {
  if (example.tests) return example.tests.map(asTest);
  const expecting = (texts, expect) => (texts || []).map((text) => ({ text, expect }));
  return [...expecting(example.accepts, "accept"), ...expecting(example.rejects, "reject")].slice(0, MOST);
};

/** Where a text fails, in words. */
function placeOf(text, offset) {
  const lines = [...text].slice(0, offset).join("").split("\n"),
    column = `column ${[...lines[lines.length - 1]].length + 1}`;
  return text.includes("\n") ? `line ${lines.length}, ${column}` : column;
}

const hexOf = (text) => [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The list of tests in ``box``; ``counted`` gets the numbers of tests.
    @param {HTMLElement} box @param {Servers["grammar"]} server @param {(counts: any) => void} counted */
export function createTestList(box, server, counted) {
  const list = box.querySelector(".tests"),
    line = box.querySelector(".brought");
  const checking = createLatest();
  let results = new Map(),
    asked = /** @type {any} */ (null), // the test whose why is shown
    came = /** @type {{ title: string, tests: string } | null} */ (null), // the example of the tests
    departed = /** @type {{ tests: any[], came: any } | null} */ (null), // those that left with its text
    marked = /** @type {any} */ (null); // the selected node of the parse tree of a test

  const passes = (test) => {
    const result = results.get(test.text);
    return !result || !test.expect ? null : result.accepted === (test.expect === "accept");
  };

  const check = () =>
    checking.run(async (ask) => {
      const texts = state.tests.map((test) => test.text);
      const answer = await ask(server.check_texts, { ...wholeOf(state), texts });
      if (!answer.results) return;
      results = new Map(answer.results.map((result) => [result.text, result]));
      show();
    });

  function count() {
    const judged = state.tests.filter((test) => passes(test) !== null);
    counted({ all: state.tests.length, judged: judged.length, passed: judged.filter(passes).length });
  }

  /** What came of a test, in words. */
  function outcome(test, result) {
    const said = el("span", { class: "outcome" });
    if (passes(test) === false)
      said.append(el("b", { class: "no" }, "fails: "), result.accepted ? "it is accepted" : "");
    if (!result.accepted)
      said.append(
        result.at_end ? "not finished; expected " : `${placeOf(test.text, result.offset)}: expected `,
        el("b", {}, result.expected || "nothing more"),
      );
    said.title = said.textContent ?? "";
    return said;
  }

  const whyButton = (test, result) =>
    el(
      "button",
      {
        type: "button",
        class: "link ask",
        "aria-expanded": String(asked?.test === test),
        onclick: () => ask(test, result),
      },
      "why?",
    );

  const treeButton = (test) =>
    el(
      "button",
      {
        type: "button",
        class: "link ask tree",
        title: "Show its parse tree",
        onclick: () => emit("show tree", test.text),
      },
      "tree",
    );

  /** The characters of a test that a selected node of its parse tree read. */
  on("tree node", (node) => {
    const was = marked;
    marked = node?.test === undefined || node.test === null ? null : node;
    if (was || marked) show();
  });

  /** The text, with the character that cannot be read underlined. */
  function body(test, result) {
    const { text } = test;
    const say = el("button", { type: "button", class: "say", title: "Edit" });
    if (!text) say.append(el("span", { class: "quiet" }, "the empty text"));
    else if (marked?.test === text) {
      const points = [...text],
        [start, end] = marked.characters;
      const read = el("mark", { class: "innode" }, visibleText(points.slice(start, end).join("")));
      say.append(visibleText(points.slice(0, start).join("")), read, visibleText(points.slice(end).join("")));
    } else if (result && !result.accepted && !result.at_end) {
      const points = [...text];
      const bad = el("span", { class: "squig" });
      bad.append(visibleText(points[result.offset]));
      say.append(
        visibleText(points.slice(0, result.offset).join("")),
        bad,
        visibleText(points.slice(result.offset + 1).join("")),
      );
    } else {
      say.append(visibleText(text));
      if (result && !result.accepted) say.append(el("span", { class: "squig void" }));
    }
    return say;
  }

  const explaining = createLatest({ subject: () => grammarKey(wholeOf(state)) });
  /** Ask why a text is rejected; asked again, the answer goes. */
  function ask(test, result) {
    if (asked?.test === test) {
      forget();
      show();
      return;
    }
    const at = result.at_end ? { so_far: hexOf(test.text), token: null } : { so_far: "", token: hexOf(test.text) };
    explaining.run(async (ask) => {
      const record = await ask(server.why, { ...wholeOf(state), ...at, tested: true });
      if (state.tests.includes(test)) explain(test, record);
      emit("read text", test.text);
    });
  }
  function explain(test, record) {
    asked = { test, record };
    show();
    const panel = list.closest(".panel"),
      li = list.querySelector(".because")?.parentNode;
    if (!li) return; // the tests are being tried again
    panel.scrollTop += li.getBoundingClientRect().top - panel.getBoundingClientRect().top - 4;
    emit("why", record.fault || record.ok === false ? null : record);
  }

  function forget() {
    if (asked) emit("why", null);
    asked = null;
  }

  function because(record) {
    const problem = record.fault || (record.ok === false ? record.why : "");
    return el("div", { class: "because" }, problem || !whyNodes ? problem || record.reason : whyNodes(record));
  }

  const sign = (test, result) => {
    const passed = passes(test);
    if (passed === null)
      return result
        ? el("span", { class: "quiet", title: result.accepted ? "accepted" : "rejected" }, result.accepted ? "✓" : "✗")
        : el("span", { class: "quiet", title: "not tried" }, "·");
    return el(
      "span",
      { class: passed ? "good" : "no", title: passed ? "passes" : "fails" },
      passed ? "✓" : "✗",
      el("span", { class: "sr" }, passed ? " passes: " : " fails: "),
    );
  };

  function row(test, index) {
    const result = results.get(test.text);
    const say = body(test, result);
    say.addEventListener("click", () => edit(say, index));
    const expect = el(
      "button",
      {
        type: "button",
        class: `expect ${test.expect || "either"}`,
        title: `${test.expect ? TOLD[test.expect] : "tried only"}; press to change`,
        "aria-label": test.expect ? `${test.expect}: ${TOLD[test.expect]}` : "try: nothing is expected",
        onclick: () => change(index, { expect: NEXT[test.expect] ?? "accept" }),
      },
      test.expect || "try",
    );
    const drop = el(
      "button",
      {
        type: "button",
        class: "bare drop",
        "aria-label": "Remove this test",
        title: "Remove",
        onclick: () => remove(index),
      },
      "×",
    );
    return el(
      "li",
      { class: passes(test) === false ? "failed" : "" },
      sign(test, result),
      expect,
      el("div", { class: "body" }, say, result ? outcome(test, result) : null),
      el(
        "span",
        { class: "acts" },
        ...(result ? [treeButton(test), result.accepted ? "" : whyButton(test, result)] : []),
      ),
      drop,
      asked?.test === test ? because(asked.record) : null,
    );
  }

  /** Which button has the keyboard, so that it has it again when the list is made anew. */
  function focused() {
    const rows = [...list.children],
      at = rows.findIndex((li) => li.contains(document.activeElement));
    return at < 0 ? null : [at, [...rows[at].querySelectorAll("button")].indexOf(document.activeElement)];
  }

  function show() {
    if (list.querySelector("textarea")) {
      count();
      return;
    } // it is being edited
    const kept = focused();
    list.replaceChildren(...state.tests.map(row));
    addGridKeys(list);
    if (kept) list.children[Math.min(kept[0], list.children.length - 1)]?.querySelectorAll("button")[kept[1]]?.focus();
    count();
  }

  const touched = () => document.dispatchEvent(new Event("change")); // the draft is to be kept

  function change(index, what) {
    if (!state.tests[index]) return; // another grammar has come meanwhile
    Object.assign(state.tests[index], what);
    forget();
    show();
    touched();
    if (state.compiled?.ok && "text" in what) check();
  }

  function remove(index) {
    forget();
    state.tests.splice(index, 1);
    show();
    touched();
    const next = list.children[Math.min(index, state.tests.length - 1)];
    (next?.querySelector(".say") ?? form).focus();
  }

  /** Add tests; none is added twice. */
  function put(tests) {
    const fresh = tests.filter(
      (test) => test.text.length <= LONGEST && !state.tests.some((other) => other.text === test.text),
    );
    state.tests.push(...fresh.slice(0, MOST - state.tests.length));
    if (tests.some((test) => test.text.length > LONGEST))
      showNotice?.(`A test has at most ${formatNumber(LONGEST)} characters.`);
    else if (fresh.some((test) => !state.tests.includes(test)))
      showNotice?.(`There are at most ${MOST} tests; the others were not added.`);
    show();
    if (state.compiled?.ok) check();
    touched();
  }

  function edit(say, index) {
    if (!state.tests[index]) return; // a row of the tests before, which go as soon as these are tried
    const area = el("textarea", { rows: 1, "aria-label": "Text to test", spellcheck: "false" });
    area.value = writtenText(state.tests[index].text);
    let open = true;
    const leave = (keep) => {
      if (!open) return false;
      open = false;
      area.remove();
      const written = meantText(area.value).slice(0, LONGEST);
      if (keep && written !== state.tests[index].text) change(index, { text: written });
      else show();
      return true;
    };
    const close = (keep) => {
      if (leave(keep)) list.children[index]?.querySelector(".say")?.focus();
    };
    area.addEventListener("blur", () => leave(true));
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

  list.addEventListener("keydown", (event) => {
    const at = [...list.children].findIndex((li) => li.contains(event.target));
    if (event.key === "Delete" && at >= 0) {
      event.preventDefault();
      remove(at);
    }
  });
  const form = createTestForm(box.querySelector(".addtest"), server, (added) => put(added));

  on("typed", forget); // what was answered is of another grammar
  return {
    check,
    put,
    show,
    /** The grammar is another: nothing is known of the texts. */
    clear() {
      checking.drop();
      results = new Map();
      forget();
      show();
    },
    /** The example that the tests came with, for when its grammar is opened again. */
    came: () => came,
    /** The example's own tests leave with its text; a line offers to put them back. */
    leave() {
      if (!came || !state.tests.length || JSON.stringify(state.tests) !== came.tests) return;
      const [tests, { title }] = [state.tests.splice(0), came];
      const back = el(
        "button",
        {
          type: "button",
          class: "link",
          onclick: () => {
            line.hidden = true;
            put(tests);
            form.focus();
          },
        },
        "Put them back",
      );
      departed = { tests, came };
      came = null; // put back, they are the reader's
      line.replaceChildren(`The ${tests.length} tests of “${title}” left with its text. `, back);
      line.hidden = false;
      forget();
      show();
      touched();
    },
    /** The example's text is there again: so are its tests, unless others took their place. */
    comeBack() {
      if (departed && !state.tests.length) {
        state.tests.push(...departed.tests);
        came = departed.came;
        line.hidden = true;
        show();
      }
      departed = null;
    },
    open(example) {
      departed = null;
      line.hidden = true;
      state.tests = testsOf(example);
      came = example.name ? { title: example.title, tests: JSON.stringify(state.tests) } : (example.came ?? null);
      results = new Map();
      asked = null;
      show();
    },
  };
}

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
