/* A comparison from its first record to its end. */

import { showControls } from "./compare-controls.js";
import { busy, currentComparison, fold, ready, request, showFault, showProgress } from "./compare-view.js";
import { el } from "./dom.js";
import { formatNumber } from "./tokens.js";

/** @import { CompareView } from "./compare-view" */

/** @param {CompareView} view */
export function compare(view) {
  const { fault: amiss, runs, ...asked } = view.choice.asked();
  if (!view.comparison?.running && !amiss && !view.choice.fieldFault() && ready(view))
    begin(view, { ...request(), ...asked });
}

/** @param {CompareView} view */
function begin(view, about) {
  prepare(view, about);
  showProgress(view, "waiting for the model…");
  view.incoming.begin(about);
}

/** A comparison without any record yet, and its empty table. @param {CompareView} view */
export function prepare(view, about) {
  const { methods, prompts } = about,
    seeds = Array.from({ length: about.seeds }, (_, i) => about.seed + i);
  const runs = prompts.flatMap((prompt) =>
    seeds.flatMap((seed) => methods.map((method) => ({ method, prompt, seed, steps: [], end: null, why: "" }))),
  );
  const against = methods.find((name) => name === (view.comparison?.against ?? "automaton")) ?? methods[0];
  view.comparison = {
    about,
    methods,
    prompts,
    seeds,
    runs,
    against,
    running: true,
    writing: null,
    aligned: view.comparison?.aligned ?? true,
    shown: { prompt: prompts[0], seed: seeds[0] },
    started: performance.now(),
    model: "",
  };
  view.exact.show(null);
  view.opening.drop();
  showFault(view, "");
  view.blank.hidden = true;
  view.scroll.hidden = view.key.hidden = false;
  showVerdict(view, []);
  fold(view, true);
  showControls(view);
  view.table.begin(view.comparison);
  view.element.classList.add("running");
  showMethods(view, methods);
  return view.comparison;
}

/** @param {CompareView} view */
export function readRecord(view, message) {
  const comparison = currentComparison(view);
  const run = comparison.runs[message.r];
  const act = {
    status: () => showProgress(view, message.text),
    start: () => {
      comparison.model = message.model;
      showProgress(view, "");
      comparison.started = performance.now();
    },
    began: () => {
      run.steps = [];
      comparison.writing = run;
    },
    step: () => {
      const { k, r, ...step } = message;
      run.steps.push(step);
    },
    ended: () => {
      for (const [index, s] of message.late) run.steps[index].s = s;
      const { k, r, late, ...end } = message;
      run.end = end;
      comparison.writing = null;
    },
    failed: () => {
      run.why = message.why;
      comparison.writing = null;
    },
    error: () => fail(view, message.message, message.hint),
    stop: () => {
      finish(view, "");
      showVerdict(view, message.verdict ?? []);
    },
  }[message.k];
  act?.();
  if (run) view.dirty.add(run.method);
}

/** Some methods as they stand now, and how far all is. @param {CompareView} view */
export function showMethods(view, methods) {
  const comparison = currentComparison(view);
  // when the text that others are set against has grown, who leaves it is known anew
  for (const name of view.dirty.has(comparison.against) ? comparison.methods : methods) view.table.show(name);
  view.dirty = new Set();
  progress(view);
  busy(view);
}

/** @param {CompareView} view */
function progress(view) {
  const comparison = currentComparison(view);
  const total = comparison.runs.length,
    done = comparison.runs.filter((run) => run.end || run.why).length;
  view.meter.setAttribute("aria-valuemax", String(total));
  view.meter.setAttribute("aria-valuenow", String(done));
  view.bar.style.width = `${(100 * done) / total}%`;
  if (!comparison.running || !comparison.model) return;
  const tokens = comparison.runs.reduce((sum, run) => sum + run.steps.length, 0),
    next = comparison.runs[done];
  showProgress(
    view,
    `run ${Math.min(total, done + 1)} of ` +
      `${total}${next ? ` · ${next.method}${comparison.writing ? "" : " is being prepared"}` : ""} · ` +
      `${formatNumber(tokens)} tokens`,
  );
  view.aloud.soon(`run ${Math.min(total, done + 1)} of ${total}, ${tokens} tokens`);
}

/** @param {CompareView} view */
function finish(view, words) {
  const comparison = currentComparison(view);
  comparison.running = false;
  comparison.writing = null;
  view.incoming.end();
  view.element.classList.remove("running");
  const tokens = comparison.runs.reduce((sum, run) => sum + run.steps.length, 0),
    done = comparison.runs.filter((run) => run.end).length;
  showProgress(
    view,
    `${words ? `${words} · ` : ""}${done} of ${comparison.runs.length} runs · ` +
      `${formatNumber(tokens)} tokens in ${((performance.now() - comparison.started) / 1000).toFixed(1)} s`,
  );
  view.aloud.say(view.progressText);
  showMethods(view, comparison.methods);
  view.table.group();
  view.table.arrange();
  if (comparison.runs.some((run) => run.end)) view.exact.show(comparison);
}

/** @param {CompareView} view */
export function stop(view, words = "stopped by you") {
  if (!view.comparison?.running) return;
  finish(view, words);
}

/** @param {CompareView} view */
export function fail(view, message, hint) {
  if (view.comparison?.running) {
    finish(view, "ended by an error");
    if (!view.comparison.runs.some((run) => run.steps.length || run.why)) clear(view); // nothing to be seen
  }
  showFault(view, message, hint);
}

/** What the table shows, in two lines. @param {CompareView} view */
function showVerdict(view, lines) {
  const box = view.find(".verdict");
  box.replaceChildren(...lines.map((line) => el("p", line)));
  box.hidden = !lines.length;
  if (lines.length) view.aloud.say(`${view.progressText}. ${lines.join(" ")}`);
}

/** As the view is before anything was compared. @param {CompareView} view */
export function clear(view) {
  view.comparison = null;
  view.blank.hidden = false;
  view.scroll.hidden = view.key.hidden = true;
  showVerdict(view, []);
  for (const row of [".shownof", ".takes"]) view.find(row).replaceChildren();
  fold(view, false);
  showFault(view, "");
  showProgress(view, "");
  view.bar.style.width = "0";
  view.exact.show(null);
  busy(view);
}
