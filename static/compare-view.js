/* The state of the view that compares methods: the comparison that is shown, and whether one can begin. */

import { el } from "./dom.js";
import { colour } from "./notations.js";
import { chatOf, grammarKey, grammarOf, OWN_TITLE, state } from "./state.js";

/** @import { createLatest } from "./ask.js" */
/** @import { createAuditCard } from "./compare-audit.js" */
/** @import { createCompareChoice } from "./compare-choice.js" */
/** @import { createExactCard } from "./compare-exact.js" */
/** @import { createResultsCard } from "./compare-results.js" */
/** @import { createCompareTable } from "./compare-table.js" */
/** @import { createAnnouncer } from "./panel.js" */
/** @import { GrammarText } from "./state.js" */
/** @import { createStream } from "./stream.js" */
/** @import { CompareSample, CompareStep, Ended, Server } from "./wire" */

/** A run of a comparison: ``end`` is what is known of it after its last token, ``why`` why it could not be made.
    @typedef {{ method: string, prompt: string, seed: number, steps: Omit<CompareStep, "k" | "r">[],
      end: Omit<Ended, "k" | "r" | "late"> | null, why: string }} CompareRun
    @typedef {GrammarText & { methods: string[], prompts: string[], seeds: number, seed: number,
      max_tokens: number, temperature: number, chat: { role: string, content: string }[] | null }} CompareRequest
    @typedef {{ about: CompareRequest, methods: string[], prompts: string[], seeds: number[], runs: CompareRun[],
      against: string, running: boolean, writing: CompareRun | null, aligned: boolean,
      shown: { prompt: string, seed: number }, started: number, model: string, recorded?: string,
      distribution?: Record<string, unknown> }} Comparison */

/** ``dirty``: the methods with new tokens; ``samples``: small languages, whose exact distributions can be computed;
    ``recorded``: the lines of the comparison that the view opens with; ``eager``: it begins when it can.
    @typedef {{
      find: (selector: string) => HTMLElement, buttons: Record<string, HTMLButtonElement>, wait: HTMLElement,
      meter: HTMLElement, bar: HTMLElement, fault: HTMLElement, scroll: HTMLElement, blank: HTMLElement,
      key: HTMLElement, given: HTMLElement, aloud: ReturnType<typeof createAnnouncer>,
      comparison: Comparison | null, dirty: Set<string>, choiceFault: string, progressText: string,
      samples: CompareSample[], choice: ReturnType<typeof createCompareChoice>,
      table: ReturnType<typeof createCompareTable>,
      exact: ReturnType<typeof createExactCard>,
      audit: ReturnType<typeof createAuditCard>,
      incoming: ReturnType<typeof createStream>,
      opening: ReturnType<typeof createLatest>, stored: HTMLElement, chooser: HTMLInputElement,
      resultsCard: ReturnType<typeof createResultsCard> | null, eager: boolean, recorded: string,
      introducing: ReturnType<typeof createLatest>,
      listing: ReturnType<typeof createLatest>, element: HTMLElement,
      server: Server,
    }} CompareView */

/** The comparison that is shown. @param {CompareView} view */
export function currentComparison(view) {
  if (!view.comparison) throw new Error("nothing was compared");
  return view.comparison;
}

export const request = () => ({ ...grammarOf(state), model: state.model, chat: chatOf(state) });

/** @param {CompareView} view */
export const ready = (view) => Boolean(state.compiled?.ok) && !state.pending && Boolean(view.choice.loaded());

/** Why nothing can be compared; nothing where it can, or where that is not known yet. @param {CompareView} view */
function hindrance(view) {
  if (state.pending || !state.compiled || !view.choice.loaded()) return "";
  if (!state.compiled.ok)
    return state.compiled.empty
      ? "There is no grammar yet."
      : "The grammar cannot be read: correct it in the workbench first.";
  return view.choiceFault;
}

/** @param {CompareView} view @param {string} [message] @param {string} [hint] */
export const showFault = (view, message, hint, before = "Not compared: ") => {
  view.fault.hidden = !message;
  view.fault.replaceChildren(el("b", before), (message || "") + (hint ? ` — ${hint}` : ""));
};

/** @param {CompareView} view @param {string} text */
export const showProgress = (view, text) => {
  view.progressText = text;
  busy(view);
};

/** Which buttons can be pressed; next to them the progress, or why nothing can be compared.
    @param {CompareView} view */
export function busy(view) {
  const running = Boolean(view.comparison?.running),
    hinders = running ? "" : hindrance(view);
  view.buttons.go.disabled = running || Boolean(view.choiceFault || view.choice.fieldFault()) || !ready(view);
  view.buttons.halt.disabled = !running;
  view.wait.textContent = hinders || view.progressText;
  view.wait.classList.toggle("warn", Boolean(hinders));
}

/** @param {CompareView} view @param {boolean} closed */
export function fold(view, closed) {
  view.element.querySelector(".setup").classList.toggle("closed", closed);
  view.buttons.fold.setAttribute("aria-expanded", String(!closed));
}

/** @param {CompareView} view */
export function showGrammar(view) {
  const own = state.example?.text?.trimEnd() !== state.text.trimEnd();
  view.find(".given .title").textContent = state.ownTitle || (!own && state.example?.title) || OWN_TITLE;
  view.given.replaceChildren(
    ...colour(state.text.trimEnd(), state.notation).map(([piece, name]) => el("span", { class: name || null }, piece)),
  );
  view.audit.changed(grammarKey(state));
  view.find(".old").hidden = !view.comparison || grammarKey(view.comparison.about) === grammarKey(state);
  view.find(".old").textContent = view.comparison?.recorded
    ? `recorded example “${view.comparison.recorded}”; press Compare to run your own grammar`
    : "of an earlier text of the grammar";
  busy(view);
}
