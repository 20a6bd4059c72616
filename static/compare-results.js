/* Results files: what a file of many runs is, its summary, a plot, and its rows, which the server sorts and filters and
   sends in pages. A file stays in the browser, and is sent again where the server no longer has it. */

import { createLatest } from "./ask.js";
import { createButton, createTable, el } from "./dom.js";
import { readFiles } from "./results-file.js";
import { plotPart } from "./results-plot.js";
import { filterRows, loadRows, rowsPart } from "./results-rows.js";
import { showFailure, showStatus } from "./results-state.js";
import { state } from "./state.js";
import { formatNumber, glyphs, several } from "./tokens.js";

/** @import { ResultsCard, ResultsParts } from "./results-state" */

/** A table of texts whose first row is the head. The first ``names`` columns are names. */
function summaryTable(rows, names) {
  const [head, ...body] = rows;
  const cell = (tag, text, i) => el(tag, { class: i < names ? "way" : null, scope: tag === "th" ? "col" : null }, text);
  return createTable(
    head.map((text, i) => cell("th", text, i)),
    body.map((row) => el("tr", ...row.map((text, i) => cell("td", text, i)))),
  );
}

/** Open files, or without any the one the page is served with. What was open stays where that fails.
    @param {ResultsCard} results */
function open(results, chosen) {
  const wanted = chosen ? [...chosen] : null;
  showStatus(results, "reading the file…");
  results.opening.run(async (ask) => {
    const answer = await readFiles(results, ask, wanted);
    if (!answer.ok) {
      showFailure(results, `Not opened: ${answer.why}`);
      return;
    }
    results.files = wanted;
    results.about = answer;
    results.view = { wanted: "", sort: "", down: false, offset: 0, every: false };
    showStatus(results, "");
    drawFile(results);
  });
}

/** @param {ResultsCard} results */
function drawFile(results) {
  results.card.querySelector(".filename").textContent =
    results.files?.map((file) => file.name).join(", ") ?? state.results ?? "";
  const parts = {
    total: el("span.quiet.total", { "aria-live": "polite" }),
    body: el("tbody"),
    head: el("thead"),
    wrong: el("p.no.wrong", { role: "alert", hidden: true }),
    plot: el("div.plot", { tabindex: "0", role: "region", "aria-label": "Plot" }),
  };
  results.parts = /** @type {ResultsParts} */ (/** @type {object} */ (parts)); // the parts of the card add the others
  results.card
    .querySelector(".content")
    .replaceChildren(
      factsOf(results),
      ...failuresOf(results),
      ...summaryOf(results),
      ...plotPart(results),
      rowsPart(results),
    );
  loadRows(results);
}

/** @param {ResultsCard} results */
function factsOf(results) {
  const settings = results.about.settings.map(([name, value]) => `${name} ${value}`).join(", ");
  return el(
    "p.about",
    el("b", `${several(results.about.rows, "row")}: ${results.about.kind}`),
    results.about.failed ? `, ${formatNumber(results.about.failed)} failed` : "",
    results.about.bad_rows ? `, ${several(results.about.bad_rows, "line")} cannot be read` : "",
    settings ? el("span.quiet", ` · ${settings}`) : "",
  );
}

/** Why rows failed or could not be read. @param {ResultsCard} results */
function failuresOf(results) {
  const lines = [
    ...results.about.reasons.map((one) => [several(one.rows, "row"), one.why, `first: ${one.first}`]),
    ...results.about.bad.map((one) => [`line ${formatNumber(one.row)}`, one.why, ""]),
  ];
  if (!lines.length) return [];
  const items = lines.map(([which, why, first]) =>
    el("li", el("b", which), ` ${glyphs({ text: why })} `, el("span.quiet", glyphs({ text: first }))),
  );
  const show = () => {
    results.parts.filter.value = "status = failed";
    filterRows(results);
    results.parts.filter.focus();
  };
  return [
    el(
      "details.reasons",
      el("summary", `Reasons of ${results.about.failed ? "failures" : "lines that cannot be read"}`),
      el("ul", ...items),
      results.about.failed ? createButton("Show the failed rows", { class: "link" }, show) : "",
    ),
  ];
}

/** @param {ResultsCard} results */
function summaryOf(results) {
  if (!results.about.summary.length) return [];
  const box = { class: "scroll summary", tabindex: "0", role: "region", "aria-label": "Summary" };
  return [el("div", box, summaryTable(results.about.summary, results.about.groups.length))];
}

/** The card of a results file. @param {HTMLElement} card @param {ResultsCard["doors"]} doors */
export function createResultsCard(card, doors) {
  const subject = () => results.about;
  /** @type {Partial<ResultsCard>} */
  const parts = {
    server: doors.server,
    doors,
    card,
    files: null,
    opening: createLatest(),
    loading: createLatest({ subject }),
    plotting: createLatest({ subject }),
    saving: createLatest({
      busy: (waiting) => {
        results.parts.csv.disabled = waiting;
      },
      subject,
    }),
  };
  const results = /** @type {ResultsCard} */ (parts); // the others come with a file
  return { open: (/** @type {Iterable<File> | null} */ files) => open(results, files) };
}
