/* Opens runs in the workbench: one of the comparison, or one of a file of results. */

import { createLatest } from "./ask.js";
import { showFault, showProgress } from "./compare-view.js";
import { late } from "./late.js";
import { stagesOf } from "./stages.js";
import { emit, grammarKey, on, state, systemOf } from "./state.js";

/** @import { CompareView } from "./compare-view" */

const OPENING = "asking the model about every token…";

/** Requests for a run that is opened; what the line of progress said before is shown again after one.
    @param {() => CompareView} view */
export function createOpening(view) {
  let before = "";
  return createLatest({
    busy: (waiting) => {
      if (waiting && view().progressText !== OPENING) before = view().progressText;
      showProgress(view(), waiting ? OPENING : before);
    },
    subject: () => view().comparison,
  });
}

/** One run in the workbench: its tokens again, with all that is known of each. @param {CompareView} view */
export function openRun(view, run) {
  const { comparison } = view;
  if (!run?.end || !comparison || comparison.running) return;
  const about = { ...comparison.about, prompt: run.prompt, seed: run.seed, method: run.method };
  view.opening.run(async (ask) => {
    const answer = await ask(view.server.compared_run, { ...about, prefix: run.steps.map((step) => step.id) });
    if (answer.ok) adoptRun(about, answer, run.end);
    else showFault(view, answer.why, "", "Not opened: ");
  });
}

/** A run whose tokens the server has explained becomes a branch of the workbench. */
function adoptRun(run, answer, end) {
  const system = systemOf(run.chat);
  if (grammarKey(run) !== grammarKey(state)) emit("open", { ...run, system, prompt: run.prompt, tests: [] });
  else emit("look", "workbench");
  const { temperature, max_tokens } = run,
    { constraint, finish, monitor } = answer,
    way = { constraint, lookahead: answer.lookahead ?? undefined, finish, monitor: monitor || undefined };
  const outcome = { k: /** @type {const} */ ("stop"), reason: end.stop, words: end.words, good: end.valid };
  setTimeout(() =>
    emit("adopt", {
      how: "compared",
      method: run.method,
      steps: answer.steps,
      served: answer.model,
      prompt: run.prompt,
      system,
      settings: { temperature, max_tokens, seed: run.seed, ...stagesOf(run), ...way },
      ...way,
      outcome,
    }),
  );
}

/** Open files of results; without any, the file that the page is served with. @param {CompareView} view */
async function openResults(view, files) {
  try {
    view.resultsCard ??= (await late("compare-results.js")).createResultsCard(view.stored, {
      server: view.server,
      open: (grammar) => emit("open", { ...grammar, tests: [] }),
      run: (value) => openStoredRun(view, value),
    });
  } catch {
    view.find(".stored [role=status]").textContent = "the server did not answer; is it still running?";
    return;
  }
  view.resultsCard?.open(files);
}

/** A run of a results file in the workbench; returns why it cannot be opened, or nothing.
    @param {CompareView} view */
function openStoredRun(view, { grammar, tokens, stop, valid, model, ...run }) {
  const about = { ...grammar, ...run, chat: null, max_tokens: Math.max(64, tokens.length), model: state.model };
  return view.opening.run(async (ask) => {
    const answer = await ask(view.server.compared_run, { ...about, prefix: tokens });
    if (answer.ok && answer.model !== model) return `the model that wrote it, ${model}, is not the chosen one`;
    if (!answer.ok) return answer.why;
    adoptRun(about, answer, { stop, valid, words: valid ? "accepted" : `ended: ${stop}` });
    return "";
  });
}

/** @param {CompareView} view */
function openFiles(view, files) {
  if (!files?.length) return;
  openResults(view, [...files].slice(0, 3));
  view.stored.scrollIntoView({ block: "start" });
}

/** Files are chosen with a button or dropped; the one that the page is served with is opened with the view.
    @param {CompareView} view */
export function listenToFiles(view) {
  for (const button of view.element.querySelectorAll(".choosefile"))
    button.addEventListener("click", () => view.chooser.click());
  view.chooser.addEventListener("change", () => {
    openFiles(view, view.chooser.files);
    view.chooser.value = ""; // the same file can be chosen again
  });
  if (state.results) {
    view.stored.parentElement?.prepend(view.stored);
    let waiting = true;
    on("view", (name) => {
      if (!waiting || name !== "compare") return;
      waiting = false;
      openResults(view, null);
    });
  }
  const dropped = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  view.element.addEventListener("dragover", (event) => {
    if (!dropped(event)) return;
    event.preventDefault();
    view.stored.classList.add("over");
  });
  view.element.addEventListener("dragleave", (event) => {
    if (!view.element.contains(/** @type {Node | null} */ (event.relatedTarget))) view.stored.classList.remove("over");
  });
  view.element.addEventListener("drop", (event) => {
    view.stored.classList.remove("over");
    if (!dropped(event)) return;
    event.preventDefault();
    openFiles(view, event.dataTransfer?.files);
  });
}
