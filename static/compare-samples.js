/* The small languages to try, and the recorded comparison that the view opens with. */

import { prepare, readRecord, showMethods } from "./compare-records.js";
import { showGrammar, showProgress } from "./compare-view.js";
import { createButton } from "./dom.js";
import { emit, state } from "./state.js";

/** @import { CompareView } from "./compare-view" */
/** @import { CompareSample } from "./wire" */

/** One of the examples in this view, compared when it is compiled.
    @param {CompareView} view @param {CompareSample} one */
export function compareSample(view, one) {
  const { prompts, whose, ...others } = view.choice.settings();
  view.eager = true;
  emit("open", { ...one, compare: others });
}

/** The small languages to try; and where nothing was compared yet, the recorded comparison of one.
    @param {CompareView} view */
export const introduce = (view) =>
  view.introducing.run(async (ask) => {
    if (!view.samples.length) {
      const answer = await ask(view.server.compare_opening, { model: state.model });
      if (answer.fault) return;
      ({ samples: view.samples, recorded: view.recorded } = answer);
      const buttons = view.samples.map((one) => createButton(one.title, {}, () => compareSample(view, one)));
      view.find("p.samples").append(...buttons);
    }
    if (!view.comparison && !view.eager && view.recorded && !state.example?.compare) replay(view, view.recorded);
  });

/** Show a recorded comparison, as if its records arrived now.
    @param {CompareView} view @param {string} lines */
function replay(view, lines) {
  const [about, ...records] = lines
    .trim()
    .split("\n")
    .map((/** @type {string} */ each) => JSON.parse(each));
  const comparison = prepare(view, about);
  comparison.recorded = about.title;
  comparison.distribution = records.pop();
  for (const each of records) readRecord(view, each);
  showMethods(view, comparison.methods);
  showProgress(view, "recorded comparison");
  showGrammar(view);
}
