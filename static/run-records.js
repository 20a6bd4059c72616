/* A run from its request to its end: its records are shown, and it can stop, fail and be continued. */

import { move, shownBranch } from "./run-card.js";
import { busy, go, say, showSteps } from "./run-show.js";
import { emit, state } from "./state.js";
import { several } from "./tokens.js";

/** @import { RunCard } from "./run-card" */

export const WAITING = "waiting…";
/** A run is continued after at most this number of servers ended during it. */
const MAX_LOSSES = 2;

/** Let the model continue a branch.
    @param {RunCard} card @param {number} [losses] the number of servers that ended during its run */
export function play(card, branch, losses = 0) {
  const settings = card.panel.settings(),
    { finish: mustFinish, max_tokens } = settings,
    tokensLeft = max_tokens - branch.steps.length;
  if (tokensLeft < 1) {
    fail(
      card,
      `the text already has ${several(branch.steps.length, "token")}`,
      "raise 'at most' to continue",
      "Nothing to write: ",
    );
    return;
  }
  card.taking.drop();
  card.looking.drop();
  card.losses = losses;
  branch.outcome = branch.next = null;
  branch.settings = settings;
  move(card, { type: "play", before: branch.steps.length, time: performance.now() });
  card.strip.next(false);
  card.inspector.wait(true);
  card.panel.reserve(card.box, true);
  busy(card);
  say(card, WAITING, "run");
  showSteps(card);
  // the budget of a text that must finish is that of the whole text
  const budget = mustFinish ? max_tokens : tokensLeft;
  card.incoming.begin({ ...card.questions.about(branch), max_tokens: budget });
}

/** Show a record of the run, by its kind. @param {RunCard} card */
export function readRecord(card, message) {
  if (message.k === "status") say(card, message.text);
  if (message.k === "start") {
    shownBranch(card).served = message.model;
    say(card, "");
    move(card, { type: "begin", time: performance.now() });
  }
  if (message.k === "step") card.strip.add(message, shownBranch(card).steps.push(message) - 1);
  if (message.k === "error")
    fail(card, message.message, message.hint, state.steps.length ? "" : "Nothing was written: ");
  if (message.k === "stop") finish(card, message);
}

/** End the run; ``end`` is its last record. @param {RunCard} card */
function finish(card, end) {
  const before = card.phase.kind === "running" ? card.phase.before : 0,
    branch = shownBranch(card);
  move(card, { type: "finish" });
  card.incoming.end();
  card.panel.reserve(card.box, false);
  branch.outcome = end;
  if (card.waitsFor) say(card, "");
  card.inspector.wait(false);
  showSteps(card);
  card.aloud.say(`${state.steps.length} tokens, ${end.words}`);
  if (card.branches.isOpen(branch)) card.strip.next(true);
  if (state.selected < 0) {
    const begin = branch.how === "fork" ? branch.at : before;
    go(card, before ? Math.min(begin, state.steps.length - 1) : firstChange(card), false);
  }
  busy(card);
  emit("finished");
}

/** The first token that differs from the run to compare with; without such a run or token, the one worth a look.
    @param {RunCard} card */
function firstChange(card) {
  const index = card.compared.length ? state.steps.findIndex((step, i) => step.id !== card.compared[i]?.id) : -1;
  card.compared = [];
  return index >= 0 ? index : card.panel.worthALook(state.steps);
}

/** Stop the run, if there is one. @param {RunCard} card @param {string} [words] why it ended */
export function stop(card, words) {
  if (!state.running) return;
  finish(card, { k: "stop", reason: "stopped", words: words || "stopped by you", good: false });
}

/** The server ended during a run: another one, or the same one started again, continues the run.
    @param {RunCard} card */
export function continueElsewhere(card, words, advice, begun) {
  const branch = shownBranch(card),
    isFull = branch.steps.length >= (branch.settings?.max_tokens ?? 0);
  if (!begun || card.losses === MAX_LOSSES || isFull) {
    fail(card, words, advice);
    return;
  }
  play(card, branch, card.losses + 1);
  say(card, "the server ended; another one continues the run");
}

/** Show an error, which ends the run if there is one.
    @param {RunCard} card @param {string} message @param {string} hint @param {string} [before] the words before it */
export function fail(card, message, hint, before) {
  card.panel.fault(message, hint, before);
  if (state.running) finish(card, { k: "stop", reason: "error", words: "ended by an error", good: false });
  else busy(card);
}
