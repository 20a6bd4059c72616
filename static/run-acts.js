/* What a person does with a run: begins it, takes one token, forks it, reads a text. */

import { currentBranch, move, request, shownBranch } from "./run-card.js";
import { fail, play, stop } from "./run-records.js";
import { go, open, say, showEnd, showSteps } from "./run-show.js";
import { isIdle } from "./run-state.js";
import { state } from "./state.js";

/** @import { RunCard } from "./run-card" */

/** @param {RunCard} card */
export function run(card) {
  if (state.running) return;
  if (state.tooLong) {
    fail(card, state.tooLong, "", "Nothing was written: ");
    return;
  }
  open(card, card.branches.add({ how: "run", ...request(card) }), false);
  play(card, currentBranch(card));
}

/** @param {RunCard} card */
export function writeByHand(card) {
  if (state.running || !state.compiled?.ok) return;
  open(card, card.branches.add({ how: "hand", ...request(card) }));
}

/** A given text as a branch: its tokens before and after the mask, the first refused one selected. A run ends for it.
    @param {RunCard} card */
export function read(card, text) {
  if (!state.compiled?.ok) return;
  if (state.running) stop(card, "stopped by a text to read");
  const asked = request(card);
  say(card, "reading…");
  card.taking.run(async (ask) => {
    const answer = await card.questions.read(ask, asked, text);
    move(card, { type: "taken" });
    say(card, "");
    if (!answer.ok) {
      fail(card, answer.why, "", "The text was not read: ");
      return;
    }
    const { steps, end: outcome, model: served } = answer;
    open(card, card.branches.add({ how: "read", ...asked, steps, outcome, served, settings: card.panel.settings() }));
    const refused = steps.findIndex((each) => each.read === "refused");
    if (refused >= 0) go(card, refused, false);
  });
}

/** One token: the one with this id, or the model's own choice for null. @param {RunCard} card */
const takeToken = (card, branch, token, byHandTaken, then = () => {}) =>
  card.taking.run(async (ask) => {
    const answer = await card.questions.take(ask, branch, token);
    move(card, { type: "taken" });
    if (!answer.ok) {
      fail(card, answer.why, "", "That token could not be taken: ");
      return;
    }
    append(card, branch, answer, byHandTaken);
    then();
  });

/** @param {RunCard} card */
function append(card, branch, answer, byHandTaken) {
  branch.served = answer.model;
  branch.next = answer.next.k === "turn" ? answer.next : null;
  branch.outcome = answer.next.k === "stop" ? answer.next : null;
  if (answer.step) {
    card.strip.next(false);
    branch.steps.push({ ...answer.step, hand: byHandTaken });
    card.strip.add(branch.steps[branch.steps.length - 1], branch.steps.length - 1);
  }
  showSteps(card);
  showEnd(card);
}

/** @param {RunCard} card */
export function step(card) {
  if (card.buttons.step.disabled) return;
  card.walk.halt();
  if (!card.branches.isOpen(currentBranch(card)))
    open(card, card.branches.add({ how: "hand", ...request(card) }), false);
  takeToken(card, currentBranch(card), null, false);
}

/** @param {RunCard} card */
export function take(card, index, candidate) {
  if (!isIdle(card.phase)) return;
  const forks = index < shownBranch(card).steps.length;
  if (forks) open(card, card.branches.cut(index, "fork"), false);
  const focus = card.find(".insp").contains(document.activeElement);
  takeToken(card, currentBranch(card), candidate.id, true, () => {
    if (forks && card.branches.isOpen(currentBranch(card))) play(card, currentBranch(card));
    else if (focus) card.inspector.enter();
  });
}

/** @param {RunCard} card */
export function rewind(card, index) {
  if (isIdle(card.phase)) open(card, card.branches.cut(index, "rewind"));
}

/** @param {RunCard} card */
export function again(card, index) {
  if (!isIdle(card.phase)) return;
  card.panel.newSeed();
  open(card, card.branches.cut(index, "rewind"), false);
  play(card, currentBranch(card));
  say(card, "with another seed: the same seed would give the same tokens");
}

/** @param {RunCard} card */
export const select = (card, index, focus = false) => {
  card.walk.halt();
  go(card, index, focus);
};

/** @param {RunCard} card */
export function pressKey(card, event, index) {
  const act = {
    ArrowDown: card.inspector.enter,
    Enter: card.inspector.enter,
    " ": card.walk.toggle,
    r: () => {
      if (index < state.steps.length) rewind(card, index);
    },
    "/": card.inspector.search,
  }[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
}
