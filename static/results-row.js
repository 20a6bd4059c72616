/* One row of a results file, opened: its values, and what can be done with it. */

import { createButton, el, showNotice } from "./dom.js";
import { askAbout } from "./results-file.js";
import { shown } from "./results-state.js";

/** @import { ResultsCard } from "./results-state" */
/** @import { OpenedRow } from "./wire" */

/** @param {ResultsCard} results */
export async function unfold(results, ask, n, line, button) {
  const below = line.nextElementSibling;
  if (below?.classList.contains("opened")) {
    below.remove();
    button.setAttribute("aria-expanded", "false");
    return;
  }
  const answer = await askAbout(results, ask, results.server.results_row, { n });
  button.setAttribute("aria-expanded", "true");
  const cell = el("td", { colspan: String(line.children.length) });
  cell.append(answer.ok ? detailOf(results, answer) : el("p.no", { role: "alert" }, answer.why));
  line.after(el("tr.opened", cell));
}

/** @param {ResultsCard} results @param {OpenedRow} row */
function detailOf(results, row) {
  const of = Object.fromEntries(row.values.map((one) => [one.name, one.value]));
  const long = ({ value }) => typeof value === "string" && (value.length > 60 || value.includes("\n"));
  const item = ({ name, value }) =>
    el(
      "div",
      { class: long({ value }) ? "long" : null },
      el("dt", name),
      el(
        "dd",
        long({ value }) ? el("pre", { tabindex: "0", role: "region", "aria-label": name }, value) : shown(value, name),
      ),
    );
  const order = [...row.values.filter((one) => !long(one)), ...row.values.filter(long)];
  return el("div.detail", el("div.knobs", ...actsOn(results, row, of)), el("dl", ...order.map(item)));
}

/** What can be done with a row. @param {ResultsCard} results */
function actsOn(results, row, of) {
  const found = [];
  const button = (label, title, act) => found.push(createButton(label, { title }, act));
  const { grammar, tokens } = row;
  if (grammar) button("Open the grammar in the editor", "With its prompt", () => results.doors.open(grammar));
  const chat = results.about.settings.some(([name]) => name === "chat");
  if (grammar && tokens.length && of.contender && !chat) {
    const setting = Object.fromEntries(results.about.settings);
    const run = {
      grammar,
      tokens,
      method: of.contender,
      seed: of.seed ?? 0,
      temperature: Number(setting.temperature ?? 1),
      model: of.model,
      stop: of.stop ?? "",
      valid: of.valid === true,
    };
    button("Open the run in the workbench", "Its tokens, with all that is known of each", async (event) => {
      const pressed = event.target;
      pressed.disabled = true;
      const why = await results.doors.run(run);
      pressed.disabled = false;
      if (why) showNotice(`Not opened: ${why}`);
    });
  }
  if (!grammar) found.push(el("span.quiet", "This file has no grammar for the row, or one too long for the editor."));
  return found;
}
