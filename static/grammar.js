/* The grammar card: the notation, the editor, the time of each step, and sections for problems, tests, rules and
   samples. The sections share a box of one height, so nothing below them moves. */

import { createLatest, sleep } from "./ask.js";
import {
  createChangeList,
  createConvertMenu,
  createOutline,
  createPhaseBar,
  createProblemList,
  createSampleList,
} from "./author.js";
import { debounce, el, markChosen, roving, scrollIntoRow, showNotice } from "./dom.js";
import { createEditor } from "./editor.js";
import { late } from "./late.js";
import { createMachineTab } from "./machine-tab.js";
import { notations } from "./notations.js";
import { createPrompt } from "./prompt.js";
import { createQuiet } from "./quiet.js";
import { createSplitters } from "./splitters.js";
import { cleanTitle, emit, grammarKey, grammarOf, OWN_TITLE, on, state, wholeOf } from "./state.js";
import { saved } from "./storage.js";
import { createSyntaxCard } from "./syntax-card.js";
import { createTestList } from "./tests.js";
import { several } from "./tokens.js";
import { createWordList } from "./words.js";

/** @import { Compiled, Context } from "./wire" */

/** A text of which nothing is known, since the server did not answer.
    @type {Compiled} */
const UNKNOWN = { ok: false, looks: "", inside: null, facts: [], ms: 0, phases: [], problems: [], tabs: {} };

/** @param {Context<"grammar">} context */
export function mountGrammar({ element, server }) {
  const find = (selector) => element.querySelector(selector);
  const facts = find(".facts"),
    verdict = find(".verdict"),
    note = find(".note"),
    aloud = find(".aloud"),
    layout = find(".layout select"),
    longest = find(".longest input"),
    closes = find(".closes input");
  const LINT_AFTER = 600; // milliseconds after a compilation: pictures come first
  const compiling = createLatest(),
    outlining = createLatest({ subject: () => grammarKey(state) }),
    looking = createLatest({ subject: () => grammarKey(state) });
  let unread = false; // whether the whole text was replaced, and the new one was not read yet

  const prompt = createPrompt(find(".promptbox"), server);
  const editor = createEditor(find(".editor"), server, (text, all, byHand) => {
    state.text = text;
    quiet.typed(byHand);
    state.own = prompt.follow(all);
    if (state.own) tests.leave();
    else tests.comeBack();
    unread ||= all;
    state.pending = true;
    compiling.drop();
    verdict.replaceChildren();
    emit("typed");
    machine.show(text, true);
    compileSoon();
  });
  const quiet = createQuiet(editor.area, () => complain(state.compiled));
  const machine = createMachineTab(element.querySelector(".card"), editor, server);

  // -- notations -----------------------------------------------------------------------------------
  const kinds = find(".notation"),
    written = {}; // what was last written in each, and where it starts
  kinds.append(
    ...Object.entries(notations).map(([name, { label, tab }]) =>
      el("button", { type: "button", role: "radio", "data-notation": name, title: label }, tab ?? label),
    ),
  );

  /** Read and colour the text as that notation. */
  function use(notation) {
    state.notation = notation;
    const tab = kinds.querySelector(`[data-notation="${notation}"]`);
    markChosen(kinds, "aria-checked", tab);
    scrollIntoRow(kinds, tab);
    editor.area.placeholder = `For example: ${notations[notation].begin.text}`;
    button("rules").hidden = !notations[notation].rules;
    machine.use(notation);
    const { layout: option, choices } = notations[notation];
    closes.parentNode.hidden = !choices.closed;
    closes.checked = Boolean(state.options.closed);
    layout.parentNode.hidden = longest.parentNode.hidden = !option;
    if (!option) return;
    layout.replaceChildren(
      ...choices[option.name].map((name) => el("option", { value: name }, option.labels[name] ?? name)),
    );
    layout.setAttribute("aria-label", option.title);
    layout.title = option.title;
    showLayout();
  }
  /** Any blanks may be limited to a number in a row: then the option is that number. */
  function showLayout() {
    const { layout: option, choices, numbers } = notations[state.notation];
    const value = state.options[option.name] ?? choices[option.name][0],
      limited = typeof value === "number";
    layout.value = limited ? "any" : value;
    longest.value = limited ? String(value) : "";
    longest.setAttribute("aria-invalid", "false");
    longest.parentNode.hidden = layout.value !== "any" || !numbers.includes(option.name);
  }
  /** Read the grammar with another choice of an option; the default needs no room in a link. */
  function setOption(name, value) {
    const { [name]: _, ...others } = state.options;
    state.options = value === notations[state.notation].choices[name][0] ? others : { ...others, [name]: value };
    state.pending = true;
    prompt.follow();
    emit("typed");
    compileSoon.now();
  }
  const setLayout = (value) => {
    setOption(notations[state.notation].layout.name, value);
    showLayout();
  };
  layout.addEventListener("change", () => setLayout(layout.value));
  longest.addEventListener("change", () => {
    const wrong = !longest.validity.valid;
    longest.setAttribute("aria-invalid", String(wrong));
    if (!wrong) setLayout(longest.value ? Number(longest.value) : "any");
  });
  closes.addEventListener("change", () => setOption("closed", closes.checked));
  /** What stands here is found again in the tab of its notation. */
  function keep() {
    written[state.notation] = {
      ...wholeOf(state),
      ownTitle: state.ownTitle,
      ...prompt.kept(),
      tests: state.tests,
      came: tests.came(),
    };
  }
  /** An exercise stays open, with its tests, when its answer is written in another notation. */
  const ofExercise = () => {
    const { exercise, title } = state.example ?? {};
    return exercise ? { exercise, title, tests: state.tests, from: "exercise" } : {};
  };
  /** Turn to what was last written in a notation. */
  function turn({ dataset: { notation } }) {
    if (notation === state.notation) return;
    keep();
    emit("open", { ...(written[notation] ?? notations[notation].begin), notation, ...ofExercise() });
  }
  kinds.addEventListener("click", (event) => {
    const kind = event.target.closest("button");
    if (kind) turn(kind);
  });
  roving(kinds, turn);
  createConvertMenu(find(".convert"), server, (converted) => {
    if (converted.notation === state.notation) {
      editor.write(converted.text.trimEnd()); // so that it can be undone
      return;
    }
    keep();
    emit("open", { ...converted, ...ofExercise() });
  });

  // -- sections ------------------------------------------------------------------------------------
  const tabs = find(".sections"),
    panel = find(".panel");
  const button = (name) => tabs.querySelector(`[data-section="${name}"]`),
    folder = find(".fold");
  let chosen = saved.get("section", "tests") ?? "tests",
    forced = false,
    folded = Boolean(saved.get("folded"));
  if (!button(chosen)) chosen = "tests";

  /** Show a section; a grammar that cannot be read has nothing but problems. */
  function section(name) {
    const shown = button(name).hidden ? "tests" : name;
    markChosen(tabs, "aria-selected", button(shown));
    for (const each of panel.children) each.hidden = each.dataset.section !== shown;
    panel.scrollTop = 0;
    panel.hidden = folded && !forced; // problems that keep the grammar from being read are always shown
    folder.setAttribute("aria-expanded", String(!panel.hidden));
    if (shown === "samples") samples.ask();
    if (shown === "words") words.ask();
    if (shown === "syntax") syntax.ask();
    if (shown === "find") search.ask();
    if (shown === "change") change.ask();
  }
  function choose(name) {
    chosen = name;
    forced = false;
    saved.set("section", name);
    fold(false);
  }
  /** Hide the sections and leave their room to the editor, or show them again. */
  function fold(hide) {
    folded = hide;
    saved.set("folded", hide);
    section(forced ? "problems" : chosen);
  }
  folder.addEventListener("click", () => fold(!panel.hidden));
  tabs.addEventListener("click", (event) => {
    const tab = event.target.closest("button");
    if (tab) choose(tab.dataset.section);
  });
  roving(tabs, (tab) => choose(tab.dataset.section));

  const mark = (name, text, colour, aloud) =>
    button(name)
      .querySelector(".n")
      .replaceChildren(
        ...(text ? [" ", el("span", { class: colour }, text), el("span", { class: "sr" }, aloud ?? "")] : []),
      );
  const problems = createProblemList(find(".problems"), ({ count, sign, colour, worst }) =>
    mark("problems", count ? `${sign} ${count}` : "", colour, worst && ` ${worst}s`),
  );
  const tests = createTestList(find("#wb-sec-tests"), server, ({ all, judged, passed }) => {
    const failing = passed < judged;
    const said = judged ? `${passed} of ${judged} tests pass` : "";
    if (aloud.textContent !== said) aloud.textContent = said;
    mark(
      "tests",
      judged ? `${failing ? "✗ " : ""}${passed} of ${judged} pass` : all ? String(all) : "",
      failing ? "no" : judged ? "good" : "quiet",
    );
  });
  let searching = /** @type {any} */ (null);
  const search = {
    async ask() {
      try {
        const { createSearch } = await late("search.js");
        searching ??= createSearch(find("#wb-sec-find"), server, (count) => mark("find", count, "quiet"));
        searching.ask();
      } catch {
        showNotice("The search in a text could not be loaded. Open Find again to retry.");
      }
    },
  };
  const outline = createOutline(find(".outline"), (count) => mark("rules", count ? String(count) : "", "quiet"));
  const words = createWordList(find("#wb-sec-words"), server, editor);
  const syntax = createSyntaxCard(find("#wb-sec-syntax"), server, editor);
  const samples = createSampleList(find("#wb-sec-samples"), server, (added) => tests.put(added));
  const change = createChangeList(
    find("#wb-sec-change"),
    server,
    (added) => tests.put(added),
    (gained, lost) => {
      mark(
        "change",
        gained || lost ? [gained && "+", lost && "−"].filter(Boolean).join(" ") : "",
        "warn",
        ` ${[gained && "gained a text", lost && "lost a text"].filter(Boolean).join(", ")}`,
      );
    },
  );
  const phases = createPhaseBar(find(".phases")),
    timing = find(".timing");
  timing.addEventListener("click", () => {
    const shown = find(".phases").toggleAttribute("hidden");
    timing.setAttribute("aria-expanded", String(!shown));
  });

  // -- compiling -----------------------------------------------------------------------------------
  /** The example's name while its text is untouched: some have their own tokens. */
  const exampleNow = () =>
    state.example && grammarKey(state.example).trimEnd() === grammarKey(wholeOf(state)).trimEnd()
      ? state.example.name
      : "";

  /** What there is to see in an example; once it is changed, how to have it back, in the same room. */
  function tellNote(untouched) {
    const { title, note: text, name } = state.example ?? {};
    note.hidden = !text || state.example.notation !== state.notation;
    if (note.hidden) return;
    if (untouched || !name) {
      note.textContent = note.title = text;
      note.style.minHeight = "";
      return;
    }
    if (note.querySelector("button")) return;
    note.style.minHeight = `${note.offsetHeight}px`;
    note.replaceChildren(
      `Your own version of “${title}”. `,
      el(
        "button",
        { type: "button", class: "link", onclick: () => emit("open", { ...state.example, first: false }) },
        "Back to the example",
      ),
    );
  }

  function compile() {
    const asked = { ...grammarOf(state), example: exampleNow() };
    tellNote(asked.example);
    looking.drop();
    emit("compiling");
    compiling.run(async (ask) => take(asked, { ok: false, ...(await ask(server.compile_grammar, asked)) }));
  }
  /** @param {any} asked @param {Compiled & { fault?: string, failure?: string }} answer */
  function take(asked, answer) {
    if (answer.fault) answer = { ...UNKNOWN, failure: answer.fault };
    state.pending = false;
    unread &&= !answer.ok;
    state.compiled = /** @type {typeof state.compiled} */ ({ ...asked, ...answer, unread });
    showFacts(answer);
    known = { ...answer, looking: answer.ok };
    complain(answer);
    if (answer.ok) {
      tests.check();
      showRules(asked);
    } else {
      tests.clear();
      if (unread) outline.show({});
    }
    emit("compiled", state.compiled);
    if (answer.ok && !panel.querySelector("#wb-sec-samples").hidden) samples.ask();
    if (answer.ok && !panel.querySelector("#wb-sec-words").hidden) words.ask();
    if (!panel.querySelector("#wb-sec-find").hidden) search.ask();
    if (answer.ok) lookCloser(asked);
  }
  const compileSoon = debounce(100, compile);

  /** @type {Record<string, any>} */
  let known = {};
  /** Say what is wrong, in the list and in the text. */
  function tell(list, more = {}) {
    known = { ...known, ...more, problems: list };
    const shown = quiet.shown(list);
    editor.problems(shown);
    machine.problems(shown);
    problems.show({ ...known, problems: shown, held: quiet.held, speak: quiet.speak });
    return shown.length;
  }
  /** Say why a text is no grammar, and show that section without a click. */
  function complain(answer) {
    const count = tell(answer.problems) + (answer.failure ? 1 : 0);
    if (!answer.ok) {
      verdict.className = count ? "verdict no" : "verdict quiet";
      verdict.textContent = count ? `✗ ${several(count, "problem")}` : answer.problems.length ? "unfinished rule" : "";
    }
    const isBroken = !answer.ok && !answer.empty && (count > 0 || forced);
    // who writes with the syntax card keeps it: the editor and the verdict show the problems too
    const must = Boolean(answer.looks || answer.inside) || (isBroken && chosen !== "syntax");
    if (must !== forced) {
      forced = must;
      section(must ? "problems" : chosen);
    }
  }

  const showRules = (asked) =>
    outlining.run(async (ask) => {
      const answer = notations[asked.notation].rules ? await ask(server.outline_rules, asked) : { ok: true };
      if (answer.ok) outline.show(answer);
    });

  /** What takes longer, asked once nothing is typed for a while: the first mask, all of the advice. */
  const lookCloser = (asked) =>
    looking.run(async (ask, wait) => {
      await wait(sleep(LINT_AFTER));
      const mask = await ask(server.time_mask, asked);
      phases([...state.compiled.phases, ...(mask.phases ?? [])]);
      const lint = await ask(server.lint_grammar, asked);
      const errors = mask.problems ?? [],
        said = new Set(errors.map((error) => error.message));
      const found = (lint.ok ? lint.problems : state.compiled.problems).filter((one) => !said.has(one.message));
      tell([...errors, ...found], { looking: false, searched: lint.searched });
      emit("linted", found);
      change.ask();
    });

  function showFacts(answer) {
    facts.replaceChildren(...answer.facts.map((fact) => el("span", {}, fact)));
    facts.title = answer.facts.join(" · ");
    phases(answer.ok ? answer.phases : []);
    if (answer.ok) {
      verdict.className = "verdict good";
      const time = `${answer.ms < 10 ? answer.ms.toFixed(1) : Math.round(answer.ms)} ms`;
      verdict.replaceChildren("✓", el("span", { class: "ms" }, ` ${time}`));
    }
  }

  /** Put fixes in the places of what was written, the last first: so the others' places stay. */
  function mendAll(list) {
    const points = [...state.text];
    let from = Infinity;
    const edits = list.map((problem) => ({ ...(problem.fix_at ?? problem), fix: problem.fix }));
    for (const { start, end, fix } of edits.sort((a, b) => b.start - a.start)) {
      if (end > from) continue; // inside a piece that is already replaced
      points.splice(start, end - start, fix);
      from = start;
    }
    editor.replace(points.join(""));
  }

  createSplitters(element.querySelector(".card"));

  // -- the page ------------------------------------------------------------------------------------
  on("example", (example) => {
    const text = example.text.replace(/\n$/, "");
    const { start, options = {}, ownTitle } = example;
    Object.assign(state, { text, start, options, ownTitle: cleanTitle(ownTitle) });
    unread = true;
    facts.replaceChildren();
    verdict.replaceChildren();
    use(example.notation);
    tellNote(true);
    prompt.open(example);
    editor.set(text, example.notation);
    machine.show(text);
    state.own = false;
    tests.open(example);
    samples.open();
    change.from(
      wholeOf(state),
      example.title === OWN_TITLE ? "as it was opened" : `“${example.title}” as it was opened`,
    );
    section(chosen);
    compileSoon.now();
  });
  on("switch", (notation) => {
    // what stands here is of another notation
    Object.assign(state, { options: notations[notation].begin.options ?? {}, start: "start" });
    use(notation);
    prompt.follow();
    editor.notation(notation);
    machine.show(state.text);
    section(chosen);
    compileSoon.now();
  });
  on("add tests", (added) => {
    tests.put(added);
    choose("tests");
  });
  on("compile now", () => compileSoon.now());
  on("focus editor", (how) => {
    if (machine.focus()) return;
    editor.area.focus();
    if (how?.end) editor.area.setSelectionRange(editor.area.value.length, editor.area.value.length);
  });
  on("rewrite", (wanted) => {
    editor.replace(wanted.text);
    compileSoon.now();
  });
  on("live rules", (names) => editor.live(names));
  on("read in", (spans) => editor.readIn(spans));
  on("why", (record) => editor.places?.(record?.spans ?? []));
  on("tree node", (node) => editor.places?.(node ? [{ start: node.source[0], end: node.source[1] }] : [], "part"));
  on("place", (span) => machine.focus(span) || editor.jump(span));
  on("mend", (problem) => mendAll([problem]));
  on("mend all", mendAll);
}
