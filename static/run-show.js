/* Shows a branch in the run card, and the token that is selected in it. */

import { atNext, currentBranch, move, shownBranch } from "./run-card.js";
import { isIdle } from "./run-state.js";
import { emit, grammarKey, state } from "./state.js";

/** @import { RunCard } from "./run-card" */

/** Show a branch, from its first token to its last; then where it stands, unless a run is about to fill it.
    @param {RunCard} card */
export function open(card, branch, look = true) {
  card.branches.show(branch);
  state.steps = branch.steps;
  state.ran = grammarKey(branch);
  move(card, { type: "select nothing" });
  card.panel.fault("");
  card.blank.hidden = true;
  say(card, "");
  card.strip.clear(0);
  for (const [index, each] of branch.steps.entries()) card.strip.add(each, index);
  card.chart.mark(-1);
  card.inspector.show(null);
  showSteps(card);
  if (!look) return;
  if (card.branches.isOpen(branch)) showEnd(card);
  else go(card, card.panel.worthALook(state.steps), false);
  busy(card);
}

/** Select a token, or past the last one the token that is not taken yet. @param {RunCard} card */
export function go(card, index, focus) {
  const branch = currentBranch(card);
  const next = Boolean(branch) && index >= state.steps.length && card.branches.isOpen(branch) && !state.running;
  card.looking.drop();
  if (!next && !state.steps[index]) {
    if (atNext(card)) move(card, { type: "select nothing" });
    return;
  }
  move(card, next ? { type: "select next" } : { type: "select", index });
  card.strip.mark(index, focus);
  card.chart.mark(index);
  card.walk.draw();
  busy(card);
  if (next) {
    look(card, branch);
    return;
  }
  state.turn = null;
  card.inspector.show(state.steps[index], index);
  light(state.steps[index]);
}

/** The next token's chances: asked for once, then kept with the branch. @param {RunCard} card */
function look(card, branch) {
  const index = branch.steps.length;
  state.turn = branch.next;
  light(null, branch.next);
  if (branch.next) {
    chances(card, branch);
    return;
  }
  if (!index) say(card, "asking…");
  card.looking.run(async (ask) => {
    const answer = await card.questions.turn(ask, branch);
    if (!index) say(card, "");
    if (!answer.ok) {
      card.panel.fault(answer.why, "", "The next token is not known: ");
      busy(card);
      return;
    }
    if (answer.next.k === "stop") {
      branch.outcome = answer.next;
      card.strip.next(false);
      showSteps(card);
      if (index) go(card, index - 1, false);
      return;
    }
    branch.next = answer.next;
    chances(card, branch);
  });
}

/** @param {RunCard} card */
function chances(card, branch) {
  state.turn = branch.next;
  card.inspector.show(branch.next, branch.steps.length);
  light(null, branch.next);
  busy(card);
}

/** Tell the picture and the editor. */
function light(step, at = step) {
  const here = state.ran === grammarKey(state) ? at : null;
  emit("step", step);
  emit("live rules", here?.rules ?? []);
  emit("read in", here?.read_in ?? []);
}

/** Where a run stands: the next token's chances, or the end. @param {RunCard} card */
export function showEnd(card) {
  if (card.branches.isOpen(currentBranch(card))) {
    card.strip.next(true);
    go(card, state.steps.length, false);
    return;
  }
  go(card, state.steps.length - 1, false);
  card.aloud.say(`${state.steps.length} tokens, ${shownBranch(card).outcome?.words}`);
  busy(card);
}

/** @param {RunCard} card */
export function showSteps(card) {
  card.chart.show(state.steps);
  showBody(card, true);
  card.views.legend();
  card.showAlone(shownBranch(card));
  card.panel.numbers(
    shownBranch(card),
    card.phase.kind === "running"
      ? (state.steps.length - card.phase.before) / Math.max(0.05, (performance.now() - card.phase.started) / 1000)
      : shownBranch(card).outcome?.rate,
  );
  card.walk.draw();
  if (!state.running) return;
  if (state.selected < 0) {
    requestAnimationFrame(() => {
      card.box.scrollTop = card.box.scrollHeight;
    });
    lightPictures(card);
  }
  card.aloud.soon(`${state.steps.length} tokens so far`);
}

/** The pictures follow a run at most three times a second, and take at most a twentieth of the time.
    @param {RunCard} card */
function lightPictures(card) {
  const now = performance.now();
  if (now < card.due) return;
  emit("step", null);
  card.due = now + Math.max(300, 20 * (performance.now() - now));
}

/** @param {RunCard} card */
export function showBody(card, seen) {
  card.body.hidden = card.find(".walkbar").hidden = card.find(".insp").hidden = !seen;
  if (!seen) card.panel.fault("");
}

/** @param {RunCard} card */
export function busy(card) {
  card.panel.busy({
    running: state.running,
    taking: card.phase.kind === "taking",
    open: card.branches.isOpen(currentBranch(card)),
    ready: Boolean(state.compiled?.ok) && !state.pending,
  });
  const isOld = state.steps.length > 0 && state.ran !== grammarKey(state);
  card.outdated.hidden = !isOld;
  card.outdated.querySelector("button").hidden = !state.compiled?.ok;
  for (const part of [card.body, card.find(".insp")]) part.classList.toggle("old", isOld);
  card.branches.lock(!isIdle(card.phase));
  card.reading.lock(!isIdle(card.phase) || !state.compiled?.ok);
}

/** ``what``: what the text says is awaited, if it does.
    @param {RunCard} card @param {string} text @param {RunCard["waitsFor"]} [what] */
export function say(card, text, what = "") {
  card.wait.textContent = text || "";
  card.waitsFor = what;
}
