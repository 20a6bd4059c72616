/* The grammar card: the notation, the editor, the time of each step, and sections for problems, tests, rules and
   samples. The sections share a box of one height, so nothing below them moves. */

import { createLatest } from "./ask.js";
import {
  createChangeList,
  createConvertMenu,
  createOutline,
  createPhaseBar,
  createProblemList,
  createSampleList,
} from "./author.js";
import { debounce } from "./dom.js";
import { createEditor } from "./editor.js";
import { markSection } from "./grammar-card.js";
import { applyFixes, compile, setTyped, showFailure, showNote } from "./grammar-compile.js";
import { addKinds, listenToOptions, showConverted, useNotation } from "./grammar-notation.js";
import { chooseSection, listenToTabs, markChange, markTests, showSection } from "./grammar-sections.js";
import { createMachineTab } from "./machine-tab.js";
import { notations } from "./notations.js";
import { createPrompt } from "./prompt.js";
import { createQuiet } from "./quiet.js";
import { createSplitters } from "./splitters.js";
import { cleanTitle, grammarKey, OWN_TITLE, on, state, wholeOf } from "./state.js";
import { saved } from "./storage.js";
import { createSyntaxCard } from "./syntax-card.js";
import { createTestList } from "./tests.js";
import { createWordList } from "./words.js";

/** @import { GrammarCard } from "./grammar-card" */
/** @import { Context, Why } from "./wire" */

/** @param {GrammarCard} card */
function showExample(card, example) {
  const text = (example.text ?? "").replace(/\n$/, "");
  const { start, options = {}, ownTitle } = example;
  Object.assign(state, { text, start, options, ownTitle: cleanTitle(ownTitle) });
  card.unread = true;
  card.facts.replaceChildren();
  card.verdict.replaceChildren();
  useNotation(card, example.notation);
  showNote(card, true);
  card.prompt.open(example);
  card.editor.set(text, example.notation);
  card.machine.show(text);
  state.own = false;
  card.tests.open(example);
  card.samples.open();
  card.change.from(
    wholeOf(state),
    example.title === OWN_TITLE ? "as it was opened" : `“${example.title}” as it was opened`,
  );
  showSection(card, card.section);
  card.compileSoon.now();
}

/** @param {GrammarCard} card */
function switchTo(card, notation) {
  // what stands here is of another notation
  Object.assign(state, { options: notations[notation].begin.options ?? {}, start: "start" });
  useNotation(card, notation);
  card.prompt.follow();
  card.editor.notation(notation);
  card.machine.show(state.text);
  showSection(card, card.forced ? "problems" : card.section);
  card.compileSoon.now();
}

/** @param {GrammarCard} card */
function listenToPage(card) {
  on("example", (example) => showExample(card, example));
  on("switch", (notation) => switchTo(card, notation));
  on("add tests", (added) => {
    card.tests.put(added);
    chooseSection(card, "tests");
  });
  on("compile now", () => card.compileSoon.now());
  on("focus editor", (how) => {
    if (card.machine.focus()) return;
    card.editor.area.focus();
    if (how?.end) card.editor.area.setSelectionRange(card.editor.area.value.length, card.editor.area.value.length);
  });
  on("rewrite", (wanted) => {
    card.editor.replace(wanted.text);
    card.compileSoon.now();
  });
  card.verdict.addEventListener("click", () => state.compiled?.ok || card.panel.scrollIntoView({ block: "center" }));
  on("live rules", (names) => card.editor.live(names));
  on("read in", (spans) => card.editor.readIn(spans));
  let reason = /** @type {Why | null} */ (null); // whose places are marked while no node of the tree is
  on("why", (record) => {
    reason = record;
    card.editor.places(record?.spans ?? []);
  });
  on("tree node", (node) => {
    if (node) card.editor.places([{ start: node.source[0], end: node.source[1] }], "part");
    else card.editor.places(reason?.spans ?? []);
  });
  on("place", (span) => card.machine.focus(span) || card.editor.jump(span));
  on("fix", (problem) => applyFixes(card, [problem]));
  on("fix all", (problems) => applyFixes(card, problems));
}

/** The state and the parts that every grammar has. @param {Context} context @returns {GrammarCard} */
function createCard({ element, server }) {
  const find = (selector) => element.querySelector(selector);
  /** @type {Partial<GrammarCard>} */
  const parts = {
    find,
    server,
    facts: find(".facts"),
    verdict: find(".verdict"),
    note: find(".note"),
    aloud: find(".aloud"),
    layout: find(".layout select"),
    longest: find(".longest input"),
    leftOut: find(".left-out"),
    boxes: { closed: find(".closes input"), order: find(".any-order input"), spellings: find(".any-spelling input") },
    kinds: find(".notation"),
    more: find(".more select"),
    tabs: find(".sections"),
    panel: find(".panel"),
    folder: find(".fold"),
    unread: false,
    pasted: false,
    written: {},
    known: {},
    section: saved.get("section", "tests") ?? "tests",
    forced: false,
    folded: Boolean(saved.get("folded")),
    search: null,
    compiling: createLatest(),
    outlining: createLatest({ subject: () => grammarKey(state) }),
    looking: createLatest({ subject: () => grammarKey(state) }),
    compileSoon: debounce(100, () => compile(card)),
    prompt: createPrompt(find(".promptbox"), server),
    editor: createEditor(find(".editor"), server, (text, all, byHand) => setTyped(card, text, all, byHand)),
    outline: createOutline(find(".outline"), (count) =>
      markSection(card, "rules", count ? String(count) : "", "quiet"),
    ),
    phases: createPhaseBar(find(".phases")),
  };
  const card = /** @type {GrammarCard} */ (parts); // ``addSections`` adds the others
  card.quiet = createQuiet(card.editor.area, () => showFailure(card, state.compiled));
  card.machine = createMachineTab(element.querySelector(".card"), card.editor, server);
  return card;
}

/** @param {GrammarCard} card */
function addSections(card) {
  const { find, server, editor } = card;
  const put = (tests) => card.tests.put(tests);
  card.problems = createProblemList(find(".problems"), ({ count, sign, colour, worst }) =>
    markSection(card, "problems", count ? `${sign} ${count}` : "", colour, worst && ` ${worst}s`),
  );
  card.tests = createTestList(find("#wb-sec-tests"), server, (counts) => markTests(card, counts));
  card.words = createWordList(find("#wb-sec-words"), server, editor);
  card.syntax = createSyntaxCard(find("#wb-sec-syntax"), server, editor);
  card.samples = createSampleList(find("#wb-sec-samples"), server, put);
  const mark = (gained, lost) => markChange(card, gained, lost);
  card.change = createChangeList(find("#wb-sec-change"), server, put, mark);
}

/** @param {Context} context */
export function mountGrammar(context) {
  const card = createCard(context),
    { find, server } = card,
    timing = find(".timing");
  addKinds(card);
  listenToOptions(card);
  createConvertMenu(find(".convert"), server, (converted) => showConverted(card, converted));
  listenToTabs(card);
  addSections(card);
  timing.addEventListener("click", () => {
    const shown = find(".phases").toggleAttribute("hidden");
    timing.setAttribute("aria-expanded", String(!shown));
  });
  createSplitters(find(".card"));
  listenToPage(card);
}
