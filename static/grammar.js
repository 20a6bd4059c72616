/* The grammar card: the notation, the editor, the time of each step, and sections for problems, tests, rules and
   samples. The sections share a box of one height, so nothing below them moves. */

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
import { askServer, emit, grammarKey, grammarOf, on, state, wholeOf } from "./state.js";
import { saved } from "./storage.js";
import { createTestList } from "./tests.js";
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
    style = find(".styles select");
  const LINT_AFTER = 600; // milliseconds after a compilation: pictures come first
  let request = 0,
    looking = 0,
    unread = false; // whether the whole text was replaced, and the new one was not read yet

  const prompt = createPrompt(find(".promptbox"), server);
  const editor = createEditor(find(".editor"), server, (text, all) => {
    state.text = text;
    tests.brought(prompt.follow(all));
    unread ||= all;
    state.pending = true;
    ++request; // answers under way are of another text
    verdict.replaceChildren();
    emit("typed");
    machine.show(text, true);
    compileSoon();
  });
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
    const { styles = [], ask } = notations[notation];
    style.parentNode.hidden = !styles.length;
    style.replaceChildren(...styles.map(({ name, label }) => el("option", { value: name }, label)));
    style.setAttribute("aria-label", ask ?? "");
    style.title = ask ?? "";
    style.value = state.style || (styles[0]?.name ?? "");
  }
  style.addEventListener("change", () => {
    state.style = style.selectedIndex ? style.value : ""; // the usual one needs no room in a link
    state.pending = true;
    prompt.follow();
    emit("typed");
    compileSoon.now();
  });
  /** What stands here is found again in the tab of its notation. */
  function keep() {
    written[state.notation] = {
      ...wholeOf(state),
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
        ` ${[gained && "a text came in", lost && "a text went out"].filter(Boolean).join(", ")}`,
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
      note.textContent = text;
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

  async function compile() {
    const mine = ++request;
    const asked = { ...grammarOf(state), example: exampleNow() };
    tellNote(asked.example);
    emit("compiling");
    /** @type {Compiled & { fault?: string, failure?: string }} */
    let answer = { ok: false, ...(await askServer(server.compile_grammar, asked)) };
    if (answer.fault) answer = { ...UNKNOWN, failure: answer.fault };
    if (mine !== request) return; // something newer was typed meanwhile
    state.pending = false;
    unread &&= !answer.ok;
    state.compiled = /** @type {typeof state.compiled} */ ({ ...asked, ...answer, unread });
    showFacts(answer);
    known = { ...answer, looking: answer.ok };
    tell(answer.problems);
    // then that section is shown without a click
    const must = Boolean(answer.looks || answer.inside) || (!answer.ok && !answer.empty);
    if (must !== forced) {
      forced = must;
      section(must ? "problems" : chosen);
    }
    if (answer.ok) {
      tests.check();
      showRules(asked, mine);
    } else {
      tests.clear();
      if (unread) outline.show({});
    }
    emit("compiled", state.compiled);
    if (answer.ok && !panel.querySelector("#wb-sec-samples").hidden) samples.ask();
    if (answer.ok && !panel.querySelector("#wb-sec-words").hidden) words.ask();
    if (!panel.querySelector("#wb-sec-find").hidden) search.ask();
    lookCloser.later(asked, mine);
  }
  const compileSoon = debounce(100, compile);

  /** @type {Record<string, any>} */
  let known = {};
  /** Say what is wrong, in the list and in the text. */
  function tell(list, more = {}) {
    known = { ...known, ...more, problems: list };
    editor.problems(list);
    machine.problems(list);
    problems.show(known);
  }

  async function showRules(asked, mine) {
    if (!notations[asked.notation].rules) {
      outline.show({});
      return;
    }
    const answer = await askServer(server.outline_rules, asked);
    if (mine === request && answer.ok) outline.show(answer);
  }

  /** What takes longer, asked once nothing is typed for a while: the first mask, all of the advice. */
  const lookCloser = {
    later(asked, mine) {
      clearTimeout(looking);
      if (state.compiled.ok) looking = setTimeout(() => this.now(asked, mine), LINT_AFTER);
    },
    async now(asked, mine) {
      const mask = await askServer(server.time_mask, asked);
      if (mine !== request) return;
      phases([...state.compiled.phases, ...(mask.phases ?? [])]);
      const lint = await askServer(server.lint_grammar, asked);
      if (mine !== request) return;
      const found = lint.ok ? lint.problems : state.compiled.problems;
      tell([...(mask.problems ?? []), ...found], { looking: false, searched: lint.searched });
      emit("linted", found);
      change.ask();
    },
  };

  function showFacts(answer) {
    facts.replaceChildren(...answer.facts.map((fact) => el("span", {}, fact)));
    facts.title = answer.facts.join(" · ");
    phases(answer.ok ? answer.phases : []);
    if (answer.ok) {
      verdict.className = "verdict good";
      const time = `${answer.ms < 10 ? answer.ms.toFixed(1) : Math.round(answer.ms)} ms`;
      verdict.replaceChildren("✓", el("span", { class: "ms" }, ` ${time}`));
    } else {
      verdict.className = "verdict no";
      verdict.textContent = answer.empty
        ? ""
        : `✗ ${answer.problems.length < 2 ? "1 problem" : `${answer.problems.length} problems`}`;
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

  // -- the page ------------------------------------------------------------------------------------
  on("example", (example) => {
    const text = example.text.replace(/\n$/, "");
    Object.assign(state, { text, start: example.start, style: example.style || "" });
    use(example.notation);
    tellNote(true);
    prompt.open(example);
    editor.set(text, example.notation);
    machine.show(text);
    tests.open(example);
    samples.open();
    change.from(
      wholeOf(state),
      example.title === "Your own" ? "as it was opened" : `“${example.title}” as it was opened`,
    );
    section(chosen);
    compileSoon.now();
  });
  on("switch", (notation) => {
    // what stands here is of another notation
    Object.assign(state, { style: notations[notation].begin.style || "", start: "start" });
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
    if (how?.select) editor.area.select();
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
