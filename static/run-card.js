/* The state of the run card: its parts, what it does, and what the next text does when it is compiled. */

import { methodOf } from "./branches.js";
import { selectedIn, transition } from "./run-state.js";
import { grammarOf, state } from "./state.js";

/** @import { createAlone } from "./alone.js" */
/** @import { createLatest } from "./ask.js" */
/** @import { createQuestions } from "./branch-requests.js" */
/** @import { createBranches } from "./branches.js" */
/** @import { createChart } from "./chart.js" */
/** @import { createInspector } from "./inspector.js" */
/** @import { createAnnouncer, createRunPanel, createRunViews, createWalk } from "./panel.js" */
/** @import { createReading } from "./reading.js" */
/** @import { RunEvent, RunState } from "./run-state.js" */
/** @import { createStream } from "./stream.js" */
/** @import { createStrip } from "./strip.js" */
/** @import { Server, Step } from "./wire" */

/** ``due``: when a run lights the pictures again; ``losses``: the servers that ended while they computed the run;
    ``waitsFor``: what the line under the buttons says is awaited. When the next text is compiled, ``runNext`` starts a
    run, ``restores`` shows its last one, and ``firstRun`` is the text that then runs; ``compared`` are the tokens
    before the grammar was broken.
    @typedef {{
      find: (selector: string) => HTMLElement, server: Server,
      wait: HTMLElement, blank: HTMLElement, body: HTMLElement, outdated: HTMLElement, box: HTMLElement,
      buttons: Record<string, HTMLButtonElement>,
      phase: RunState, due: number, losses: number, waitsFor: "run" | "kernels" | "",
      firstRun: string | null, runNext: boolean, restores: boolean, compared: Step[],
      panel: ReturnType<typeof createRunPanel>, questions: ReturnType<typeof createQuestions>,
      aloud: ReturnType<typeof createAnnouncer>, taking: ReturnType<typeof createLatest>,
      looking: ReturnType<typeof createLatest>, recording: ReturnType<typeof createLatest>,
      strip: ReturnType<typeof createStrip>, chart: ReturnType<typeof createChart>,
      inspector: ReturnType<typeof createInspector>, branches: ReturnType<typeof createBranches>,
      walk: ReturnType<typeof createWalk>, views: ReturnType<typeof createRunViews>,
      showAlone: ReturnType<typeof createAlone>, incoming: ReturnType<typeof createStream>,
      reading: ReturnType<typeof createReading>,
    }} RunCard */

/** @param {RunCard} card @param {RunEvent} event */
export function move(card, event) {
  card.phase = transition(card.phase, event);
  state.running = card.phase.kind === "running";
  state.selected = selectedIn(card.phase);
}

/** The branch that is shown; null before the first one. @param {RunCard} card */
export const currentBranch = (card) => card.branches.now();

/** The branch that is shown, where one is. @param {RunCard} card */
export function shownBranch(card) {
  const branch = currentBranch(card);
  if (!branch) throw new Error("no run is shown");
  return branch;
}

/** @param {RunCard} card */
export const atNext = (card) => card.phase.cursor.kind === "next";

/** The grammar, the prompt and the method of a branch that begins now. @param {RunCard} card */
export const request = (card) => {
  const { prompt, system, model } = state,
    method = methodOf(card.panel.settings());
  return { ...grammarOf(state), prompt, system, model, ...method };
};
