/* What the run card does when another part of the page says something. */

import { notations } from "./notations.js";
import { read, run } from "./run-acts.js";
import { currentBranch, move, request } from "./run-card.js";
import { stop, WAITING } from "./run-records.js";
import { busy, open, say, showBody } from "./run-show.js";
import { emit, grammarKey, on, state } from "./state.js";

/** @import { RunCard } from "./run-card" */

/** @param {RunCard} card */
function showKernels(card, words) {
  if (words ? state.steps.length : card.waitsFor !== "kernels") return;
  if (words) say(card, words, "kernels");
  else say(card, state.running ? WAITING : "", state.running ? "run" : "");
}

/** @param {RunCard} card */
function expectRun(card, wanted) {
  card.runNext = Boolean(wanted.run);
  card.restores = Boolean(wanted.restore);
  card.compared = card.runNext ? state.steps : [];
}

/** @param {RunCard} card */
function showTyped(card) {
  busy(card);
  emit("live rules", []);
  emit("read in", []);
}

/** @param {RunCard} card */
function showExample(card, example) {
  card.taking.drop();
  card.looking.drop();
  if (state.running) stop(card, "stopped by another example");
  card.runNext = card.restores = false;
  card.compared = [];
  card.walk.halt();
  card.branches.clear();
  Object.assign(state, { steps: [], turn: null });
  move(card, { type: "select nothing" });
  card.strip.clear(0);
  showBody(card, false);
  card.blank.hidden = false;
  say(card, "");
  card.panel.apply({ max_tokens: example.max_tokens, finish: notations[example.notation].finish, ...example.settings });
  card.recording.run(async (ask) => {
    // the other cards take the example meanwhile
    const lines = await (example.name ? ask(card.server.recorded_run, { example: example.name }) : "");
    if (state.running || currentBranch(card)) return;
    if (typeof lines === "string" && lines) showRecorded(card, lines);
    else if (example.first && state.compiled?.ok && state.compiled.text === state.text) run(card);
    else if (example.first) card.firstRun = state.text;
  });
}

/** A run that was made elsewhere, as a branch. @param {RunCard} card */
const adopt = (card, made) => {
  card.panel.apply({ hole: state.hole, ...made.settings });
  open(card, card.branches.add({ ...request(card), ...made }));
};

/** @param {RunCard} card */
function showRecorded(card, lines) {
  adopt(card, { how: "recorded", ...card.branches.read(lines) });
  say(card, "recorded run");
}

/** What the page is opened with runs by itself, so that a visitor sees a finished run first. @param {RunCard} card */
function showCompiled(card, compiled) {
  busy(card);
  card.branches.draw();
  if (currentBranch(card)) card.panel.alarms(currentBranch(card));
  emit("step", state.steps[state.selected] || null);
  const wanted = card.runNext || card.restores || card.firstRun === compiled.text;
  card.firstRun = null;
  const kept = card.restores && card.branches.all().find((branch) => grammarKey(branch) === grammarKey(compiled));
  card.runNext = card.restores = false;
  if (kept) {
    stop(card, "stopped by the run of the example");
    open(card, kept);
    return;
  }
  if (!wanted || !compiled.ok) return;
  if (state.running) stop(card, "stopped by a newer run");
  run(card);
}

/** @param {RunCard} card */
export function listenToPage(card) {
  on("read text", (text) => {
    card.reading.open(text);
    read(card, text);
  });
  on("kernels", (words) => showKernels(card, words));
  on("walk", card.walk.by);
  on("rewrite", (wanted) => expectRun(card, wanted));
  on("typed", () => showTyped(card));
  on("example", (example) => showExample(card, example));
  on("switch", (notation) => card.panel.mustFinish(notations[notation].finish));
  on("adopt", (made) => {
    stop(card, "stopped by a run from elsewhere");
    adopt(card, made);
  });
  on("compiled", (compiled) => showCompiled(card, compiled));
}
