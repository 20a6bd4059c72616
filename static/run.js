/* The run card: runs, steps and forks; which branch is shown and which of its tokens is selected. */

import { createAlone } from "./alone.js";
import { createLatest } from "./ask.js";
import { createQuestions } from "./branch-requests.js";
import { createBranches } from "./branches.js";
import { createCallout } from "./callout.js";
import { createChart } from "./chart.js";
import { createToolbar } from "./dom.js";
import { createFold } from "./fold.js";
import { createInspector } from "./inspector.js";
import { bindRunKeys, createAnnouncer, createRunPanel, createRunViews, createWalk } from "./panel.js";
import { createReading } from "./reading.js";
import { again, pressKey, read, rewind, run, select, step, take, writeByHand } from "./run-acts.js";
import { atNext, currentBranch, move } from "./run-card.js";
import { listenToPage } from "./run-page.js";
import { continueElsewhere, play, readRecord, stop } from "./run-records.js";
import { busy, go, open, showBody, showSteps } from "./run-show.js";
import { IDLE } from "./run-state.js";
import { cards, emit, state } from "./state.js";
import { createStream } from "./stream.js";
import { createRunBar, createStrip } from "./strip.js";

/** @import { RunCard } from "./run-card" */
/** @import { Context } from "./wire" */

/** @param {RunCard} card */
function listenToButtons(card) {
  const clicks = {
    go: () => run(card),
    step: () => step(card),
    goon: () => {
      const branch = currentBranch(card);
      if (!state.running && card.branches.isOpen(branch)) play(card, branch);
    },
    halt: () => stop(card),
  };
  for (const [name, act] of Object.entries(clicks)) card.buttons[name].addEventListener("click", () => act());
  card.find(".byhand").addEventListener("click", () => writeByHand(card));
  card.outdated.querySelector("button").addEventListener("click", () => card.buttons.go.click());
  card.find(".readlink").hidden = card.server.read_text === undefined;
  card.find(".readlink button").addEventListener("click", () => card.reading.open());
}

/** The state and the parts that are there from the beginning. @param {Context} context @returns {RunCard} */
function createCard({ element, server }) {
  const find = (selector) => element.querySelector(selector);
  const panel = createRunPanel(find, server, () => busy(card));
  const subject = () => currentBranch(card);
  /** @type {Partial<RunCard>} */
  const parts = {
    find,
    server,
    panel,
    buttons: panel.buttons,
    wait: find(".wait"),
    blank: find(".blank"),
    body: find(".body"),
    outdated: find(".outdated"),
    box: find(".strip"),
    questions: createQuestions(server, panel.settings),
    aloud: createAnnouncer(find(".aloud")),
    phase: IDLE,
    due: 0,
    losses: 0,
    waitsFor: "",
    firstRun: null,
    runNext: false,
    restores: false,
    compared: [],
    looking: createLatest({ busy: (waiting) => card.inspector.wait(waiting || state.running), subject }),
    recording: createLatest({ subject: () => state.example }),
    taking: createLatest({
      busy: (waiting) => {
        move(card, { type: waiting ? "take" : "taken" });
        busy(card);
      },
      subject,
    }),
  };
  const card = /** @type {RunCard} */ (parts); // ``addParts`` adds the others
  return card;
}

/** The parts that show a run: its tokens, the chart, the inspector, the branches.
    @param {RunCard} card @param {typeof createInspector} makeInspector */
function addParts(card, makeInspector) {
  const { find, questions, server } = card,
    now = () => currentBranch(card);
  const uses = {
    select: (index, focus) => select(card, index, focus),
    key: (event, index) => pressKey(card, event, index),
  };
  card.strip = createStrip(find(".tokens"), uses);
  card.chart = createChart(find(".chartbox"), uses);
  card.inspector = makeInspector(find(".insp"), {
    // at the time of a click the branch may be gone, since another example was opened
    take: (index, candidate) => now() && take(card, index, candidate),
    rewind: (index) => now() && rewind(card, index),
    again: (index) => now() && again(card, index),
    explain: (ask, index, tokens) => questions.explain(ask, now(), index, tokens),
    find: (ask, index, query) => questions.search(ask, now(), index, query),
    why:
      server.why === undefined // in a replay
        ? null
        : (ask, index, candidate) => (now() ? questions.why(ask, now(), index, candidate) : null),
    unlit: () => questions.unlit(),
  });
  card.branches = createBranches(find(".branches"), {
    open: (branch) => {
      if (!state.running) open(card, branch);
    },
    begin: () => writeByHand(card),
    read: server.read_text === undefined ? null : () => card.reading.open(), // a replay has no server to ask
  });
  card.walk = createWalk(find(".walk"), {
    count: () => state.steps.length,
    at: () => (atNext(card) ? state.steps.length : state.selected),
    go: (index) => go(card, index, false),
  });
  card.views = createRunViews(find(".key"), {
    chart: card.chart.by,
    shade: card.strip.by,
    steps: () => state.steps,
  });
  card.reading = createReading(find, (text) => read(card, text));
  card.showAlone = createAlone(find);
  return card;
}

/** A replay gives its own inspector and keys.
    @param {Context} context */
export function mountRun(context, { makeInspector = createInspector, bindKeys = bindRunKeys } = {}) {
  const card = createCard(context),
    { branches, buttons, find, panel, questions, server, strip, walk } = addParts(card, makeInspector);
  panel.onTraps(strip.traps);
  const reason = async (ask, index, candidate) => questions.reason(ask, currentBranch(card), index, candidate);
  createCallout(find, server.why === undefined ? null : reason);
  createToolbar(find(".bar"), "Run", ".bar > button, .walk > button, .branches button");
  createFold(find(".optionsfold"), find(".options"), "options");
  createFold(find(".chartfold"), find("#wb-charts"), "charts");
  createToolbar(find(".said"), "The text of the run", ".copytext, .chartfold");
  createRunBar(find, () => run(card));
  card.incoming = createStream("run", {
    take: (message) => readRecord(card, message),
    arrived: () => showSteps(card),
    dropped: (words, advice, begun) => continueElsewhere(card, words, advice, begun),
  });
  bindKeys(find, {
    run() {
      if (!buttons.go.disabled) run(card);
      else if (state.pending) {
        card.runNext = true;
        emit("compile now");
      }
    },
    stop: (words) => stop(card, words),
    step: () => step(card),
    play: walk.toggle,
  });
  listenToButtons(card);
  listenToPage(card);
  /** For exports and drafts: the branch that is shown, as the lines of a recorded run, and how runs are asked for. */
  cards.run = {
    settings: panel.settings,
    apply: panel.apply,
    masked: (count) => (currentBranch(card) ? questions.masked(currentBranch(card), count) : {}),
    records() {
      const branch = currentBranch(card);
      return branch ? branches.records(branch, questions.about(branch)) : [];
    },
  };
  showBody(card, false);
  busy(card);
}
