/* The rows of a results file, which the server filters and sorts and sends in pages. */

import { createLatest } from "./ask.js";
import { createButton, debounce, el, radios } from "./dom.js";
import { askAbout, saveCsv } from "./results-file.js";
import { plot } from "./results-plot.js";
import { unfold } from "./results-row.js";
import { columns, shortened, shown } from "./results-state.js";
import { formatNumber } from "./tokens.js";

/** @import { ResultsCard } from "./results-state" */
/** @import { ResultsRow } from "./wire" */

const PAGE = 50;

/** @param {ResultsCard} results */
export const filterRows = (results) => {
  results.view = { ...results.view, wanted: results.parts.filter.value, offset: 0 };
  loadRows(results);
};

/** @param {ResultsCard} results */
function addFilter(results) {
  const later = debounce(400, () => filterRows(results));
  results.parts.filter = el("input", {
    type: "search",
    placeholder: "text, or tokens > 100 and valid = false",
    "aria-label": "Filter the rows",
    spellcheck: "false",
    oninput: () => later(),
  });
  results.parts.filter.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.stopPropagation();
    later.now();
  });
}

/** @param {ResultsCard} results */
export function rowsPart(results) {
  addFilter(results);
  const which = el("div.seg.small", { role: "radiogroup", "aria-label": "Columns" });
  radios(
    which,
    "data-every",
    [
      ["", "main columns"],
      ["all", `all ${results.about.columns.length}`],
    ],
    (key) => {
      results.view.every = key === "all";
      loadRows(results);
    },
  )("");
  results.parts.csv = createButton("CSV", { title: "The rows of the filter, in this order" }, () => saveCsv(results));
  const page = (label, title, offset) =>
    createButton(label, { class: "icon", title, "aria-label": title }, () => goToPage(results, offset()));
  const last = () => Math.max(0, PAGE * Math.floor((results.parts.count - 1) / PAGE));
  results.parts.pager = [
    page("«", "First page", () => 0),
    page("‹", "Previous page", () => Math.max(0, results.view.offset - PAGE)),
    page("›", "Next page", () => Math.min(last(), results.view.offset + PAGE)),
    page("»", "Last page", last),
  ];
  const [first, previous, next, end] = results.parts.pager;
  const box = { class: "scroll rows", tabindex: "0", role: "region", "aria-label": "Rows" };
  return el(
    "div.rowspart",
    el("div.knobs", results.parts.filter, which, el("span.grow"), results.parts.csv),
    results.parts.wrong,
    el("div", box, el("table", results.parts.head, results.parts.body)),
    el("div.knobs.pager", first, previous, results.parts.total, next, end),
  );
}

/** @param {ResultsCard} results */
function goToPage(results, offset) {
  results.view = { ...results.view, offset };
  loadRows(results);
}

/** @param {ResultsCard} results */
export function loadRows(results) {
  const { sort, down, offset } = results.view;
  results.loading.run(async (ask) =>
    showRows(results, await askAbout(results, ask, results.server.results_rows, { sort, down, offset }), offset),
  );
}

/** @param {ResultsCard} results */
function showRows(results, answer, offset) {
  results.parts.wrong.hidden = Boolean(answer.ok);
  results.parts.wrong.textContent = answer.ok ? "" : answer.why;
  if (!answer.ok) return; // the rows of the last filter stay
  results.parts.count = answer.total;
  const to = Math.min(answer.total, offset + PAGE);
  results.parts.total.textContent = answer.total
    ? `${formatNumber(offset + 1)}–${formatNumber(to)} of ${formatNumber(answer.total)}`
    : "no row";
  for (const [i, button] of results.parts.pager.entries()) button.disabled = i < 2 ? offset === 0 : to >= answer.total;
  results.parts.csv.disabled = !answer.total;
  showHeads(results);
  results.parts.body.replaceChildren(...answer.rows.map((row) => rowOf(results, row)));
  if (results.parts.plotted?.wanted !== results.view.wanted) plot(results);
}

/** @param {ResultsCard} results */
function showHeads(results) {
  const by = (name) => () => {
    const again = results.view.sort === name;
    results.view = {
      ...results.view,
      sort: again && results.view.down ? "" : name,
      down: again && !results.view.down,
      offset: 0,
    };
    loadRows(results);
  };
  const order = (name) => (results.view.sort === name ? (results.view.down ? "descending" : "ascending") : null);
  const focused = document.activeElement?.closest?.("th")?.getAttribute("data-of");
  results.parts.head.replaceChildren(
    el(
      "tr",
      el("th.way", { scope: "col" }, "#"),
      ...columns(results).map(({ name, kind }) =>
        el(
          "th",
          { scope: "col", "data-of": name, "aria-sort": order(name), class: kind === "number" ? "n" : null },
          createButton(shortened(name, 30), { class: "bare", title: `Sort by ${name}` }, by(name)),
        ),
      ),
    ),
  );
  if (focused) results.parts.head.querySelector(`th[data-of="${CSS.escape(focused)}"] button`)?.focus();
}

/** The cells of a row; one that failed says why, since it has no values. @param {ResultsCard} results
    @param {ResultsRow} row */
function cellsOf(results, row) {
  const of = (name) => row.cells[results.about.columns.findIndex((one) => one.name === name)];
  const chosen = columns(results);
  if (of("status") === "failed" && !results.view.every) {
    const said = [el("b", of("key")), ` ${of("error") ?? ""}`];
    return [el("td.failed", { colspan: String(chosen.length) }, ...said)];
  }
  return chosen.map(({ at, kind, name }) =>
    el("td", { class: kind === "number" ? "n" : null }, shown(row.cells[at], name)),
  );
}

/** @param {ResultsCard} results @param {ResultsRow} row */
function rowOf(results, row) {
  const button = el("button.link", { "aria-expanded": "false" }, formatNumber(row.n));
  const made = el("tr", { "data-n": String(row.n) }, el("td.way", button), ...cellsOf(results, row));
  button.setAttribute("aria-label", `Row ${row.n}`);
  const latest = createLatest({ subject: () => made.isConnected });
  button.addEventListener("click", () => latest.run((ask) => unfold(results, ask, row.n, made, button)));
  return made;
}
