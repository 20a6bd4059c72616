/* The choices over a comparison: which of the runs' texts are shown, against which, and how. */

import { comparisonFiles } from "./compare-exact.js";
import { currentComparison } from "./compare-view.js";
import { createButton, el, radios } from "./dom.js";
import { stagesInWords } from "./stages.js";
import { glyphs } from "./tokens.js";

/** @import { CompareView } from "./compare-view" */

/** A choice of what is shown. @param {CompareView} view */
function pick(view, label, options, chosen, act) {
  const select = el(
    "select",
    ...options.map(([value, title]) => el("option", { value, selected: value === chosen }, title)),
  );
  select.addEventListener("change", () => {
    act(select.value);
    view.table.showAll();
  });
  return el("label.knob", el("span", label), el("span.pickwrap", select));
}

/** Whether the strips of tokens begin where the runs differ. @param {CompareView} view */
function pickSides(view) {
  const comparison = currentComparison(view);
  const sides = el("div.seg.small", { role: "radiogroup", "aria-label": "Strips begin at" });
  const options = [
    ["true", "from the first difference"],
    ["false", "from the beginning"],
  ];
  radios(sides, "data-aligned", options, (value) => {
    comparison.aligned = value === "true";
    view.table.showAll();
  })(String(comparison.aligned));
  return sides;
}

const promptName = (prompt, i) => `${i + 1}: ${glyphs({ text: prompt }).slice(0, 30) || "no prompt"}`;

/** @param {CompareView} view */
function pickPrompt(view) {
  const comparison = currentComparison(view);
  const { prompts, shown } = comparison;
  const options = prompts.map((prompt, i) => [String(i), promptName(prompt, i)]);
  return pick(view, "prompt", options, String(prompts.indexOf(shown.prompt)), (value) => {
    shown.prompt = prompts[Number(value)];
    if (!comparison.running) view.exact.show(comparison);
  });
}

/** @param {CompareView} view */
function pickSeed(view) {
  const comparison = currentComparison(view);
  const { seeds, shown } = comparison;
  const options = seeds.map((seed) => [String(seed), String(seed)]);
  return pick(view, "seed", options, String(shown.seed), (value) => {
    shown.seed = Number(value);
  });
}

/** Which of the runs' texts are shown, against which, and how; and the files of the comparison.
    @param {CompareView} view */
export function showControls(view) {
  const comparison = currentComparison(view);
  const drawn = stagesInWords(comparison.about),
    methods = comparison.methods.map((name) => [name, name]);
  const against = pick(view, "against", methods, comparison.against, (value) => {
    comparison.against = value;
  });
  view
    .find(".shownof")
    .replaceChildren(
      ...(comparison.prompts.length > 1 ? [pickPrompt(view)] : []),
      ...(comparison.seeds.length > 1 ? [pickSeed(view)] : []),
      against,
      pickSides(view),
      el("span.quiet.drawn", drawn && `drawn with ${drawn}`),
    );
  const file = (label, title, act) => createButton(label, { title }, act);
  view.find(".takes").replaceChildren(
    file("CSV", "A row a run", () => comparisonFiles.csv(comparison)),
    file("NDJSON", "Every run with its tokens", () => comparisonFiles.ndjson(comparison)),
  );
}
