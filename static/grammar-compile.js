/* Compiles what is written, and shows what the server says of it. */

import { sleep } from "./ask.js";
import { createButton, el } from "./dom.js";
import { exampleNow } from "./grammar-card.js";
import { askSearch, showSection } from "./grammar-sections.js";
import { notations } from "./notations.js";
import { emit, grammarOf, state } from "./state.js";
import { several } from "./tokens.js";

/** @import { GrammarCard } from "./grammar-card" */

/** @import { GrammarText } from "./state.js" */
/** @import { Compiled } from "./wire" */
/** A text of which nothing is known, since the server did not answer.
    @type {Compiled} */
const UNKNOWN = { ok: false, looks: "", inside: null, facts: [], ms: 0, phases: [], problems: [], tabs: {} };
const LINT_AFTER = 600;

/** @param {GrammarCard} card */
export function setTyped(card, text, all, byHand) {
  state.text = text;
  card.quiet.typed(byHand);
  state.own = card.prompt.follow(all);
  if (state.own) card.tests.leave();
  else card.tests.comeBack();
  card.unread ||= all;
  card.pasted = all && text.length > 1;
  state.pending = true;
  card.compiling.drop();
  card.verdict.replaceChildren();
  emit("typed");
  card.machine.show(text, true);
  card.compileSoon();
}

/** @param {GrammarCard} card */
export function compile(card) {
  const asked = { ...grammarOf(state), example: exampleNow() };
  showNote(card, asked.example);
  card.looking.drop();
  emit("compiling");
  card.compiling.run(async (ask) =>
    showCompiled(card, asked, { ok: false, ...(await ask(card.server.compile_grammar, asked)) }),
  );
}

/** @param {GrammarCard} card @param {GrammarText & { example: string }} asked
    @param {Compiled & { fault?: string, failure?: string }} answer */
function showCompiled(card, asked, answer) {
  if (answer.fault) answer = { ...UNKNOWN, failure: answer.fault };
  if (card.pasted && answer.looks === "json_schema") {
    card.pasted = false;
    return emit("switch", answer.looks); // a schema is read as it is pasted, without a click
  }
  state.pending = false;
  card.unread &&= !answer.ok;
  state.compiled = /** @type {typeof state.compiled} */ ({ ...asked, ...answer, unread: card.unread });
  showFacts(card, answer);
  card.known = { ...answer, looking: answer.ok };
  showFailure(card, answer);
  if (answer.ok) {
    card.tests.check();
    showRules(card, asked);
  } else {
    card.tests.clear();
    if (card.unread) card.outline.show({});
  }
  emit("compiled", state.compiled);
  if (answer.ok && !card.panel.querySelector("#wb-sec-samples").hidden) card.samples.ask();
  if (answer.ok && !card.panel.querySelector("#wb-sec-words").hidden) card.words.ask();
  if (!card.panel.querySelector("#wb-sec-find").hidden) askSearch(card);
  if (answer.ok) lookCloser(card, asked);
}

/** Say what is wrong, in the list and in the text. @param {GrammarCard} card */
function showProblems(card, list, more = {}) {
  card.known = { ...card.known, ...more, problems: list };
  const shown = card.quiet.shown(list);
  card.editor.problems(shown);
  card.machine.problems(shown);
  card.problems.show({ ...card.known, problems: shown, held: card.quiet.held, speak: card.quiet.speak });
  return shown.length;
}

/** Say why a text is no grammar, and show that section without a click. @param {GrammarCard} card */
export function showFailure(card, answer) {
  const count = showProblems(card, answer.problems) + (answer.failure ? 1 : 0);
  if (!answer.ok) {
    card.verdict.className = count ? "verdict no" : "verdict quiet";
    card.verdict.textContent = count
      ? `✗ ${several(count, "problem")}`
      : answer.problems.length
        ? "unfinished rule"
        : "";
  }
  const isBroken = !answer.ok && !answer.empty && (count > 0 || card.forced);
  // who writes with the syntax card keeps it: the editor and the verdict show the problems too
  const must = Boolean(answer.looks || answer.inside) || (isBroken && card.section !== "syntax");
  if (must !== card.forced) {
    card.forced = must;
    showSection(card, must ? "problems" : card.section);
  }
}

/** @param {GrammarCard} card */
const showRules = (card, asked) =>
  card.outlining.run(async (ask) => {
    const answer = notations[asked.notation].rules ? await ask(card.server.outline_rules, asked) : { ok: true };
    if (answer.ok) card.outline.show(answer);
  });

/** What takes longer, asked once nothing is typed for a while: the first mask, all of the advice.
    @param {GrammarCard} card */
const lookCloser = (card, asked) =>
  card.looking.run(async (ask, wait) => {
    await wait(sleep(LINT_AFTER));
    const mask = await ask(card.server.time_mask, asked);
    card.phases([...state.compiled.phases, ...(mask.phases ?? [])]);
    const lint = await ask(card.server.lint_grammar, asked);
    const errors = mask.problems ?? [],
      said = new Set(errors.map((error) => error.message));
    const found = (lint.ok ? lint.problems : state.compiled.problems).filter((one) => !said.has(one.message));
    showProblems(card, [...errors, ...found], { looking: false, searched: lint.searched });
    state.linted = state.text;
    card.change.ask();
  });

/** @param {GrammarCard} card */
function showFacts(card, answer) {
  card.facts.replaceChildren(...answer.facts.map((fact) => el("span", fact)));
  card.facts.title = answer.facts.join(" · ");
  card.phases(answer.ok ? answer.phases : []);
  if (answer.ok) {
    card.verdict.className = "verdict good";
    const time = `${answer.ms < 10 ? answer.ms.toFixed(1) : Math.round(answer.ms)} ms`;
    card.verdict.replaceChildren("✓", el("span.ms", ` ${time}`));
  }
}

/** Put fixes in the places of what was written, the last first: so the others' places stay.
    @param {GrammarCard} card */
export function applyFixes(card, list) {
  const points = [...state.text];
  let from = Infinity;
  const edits = list.map((problem) => ({ ...(problem.fix_at ?? problem), fix: problem.fix }));
  for (const { start, end, fix } of edits.sort((a, b) => b.start - a.start)) {
    if (end > from) continue; // inside a piece that is already replaced
    points.splice(start, end - start, fix);
    from = start;
  }
  card.editor.replace(points.join(""));
}

/** What there is to see in an example; once it is changed, how to have it back, in the same room.
    @param {GrammarCard} card */
export function showNote(card, untouched) {
  const { title, note: text = "", name } = state.example ?? {};
  card.note.hidden = !text || state.example.notation !== state.notation;
  if (card.note.hidden) return;
  if (untouched || !name) {
    card.note.textContent = card.note.title = text;
    card.note.style.minHeight = "";
    return;
  }
  if (card.note.querySelector("button")) return;
  card.note.style.minHeight = `${card.note.offsetHeight}px`;
  card.note.replaceChildren(
    `Changed from “${title}”. `,
    createButton("Back to the example", { class: "link" }, () => emit("open", { ...state.example, first: false })),
  );
}
