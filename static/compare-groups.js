/* Groups of methods that wrote the same tokens in every run. */

import { COLUMNS } from "./compare-columns.js";
import { fillCell, show, showStrip, stripLine } from "./compare-rows.js";
import { finishedRuns, rowsOf, runsOf, shownRun } from "./compare-table-state.js";
import { el } from "./dom.js";
import { several } from "./tokens.js";

/** @import { CompareTable } from "./compare-table-state" */

const OPEN = 5;

/** Groups the methods whose runs are all over and have the same tokens, run for run. @param {CompareTable} shown */
export function groupEqual(shown) {
  const written = (/** @type {string} */ name) => {
    const runs = runsOf(shown, name);
    return runs.every((run) => run.end) ? JSON.stringify(runs.map((run) => run.steps.map((step) => step.id))) : name;
  };
  shown.groups = [...Map.groupBy(shown.comparison.methods, written).values()]
    .filter((names) => names.length > 1)
    .map((names) => groupNames(shown, names));
  showAll(shown);
}

/** @param {CompareTable} shown */
function groupNames(shown, names) {
  const lead = names.includes(shown.comparison.against) ? shown.comparison.against : names[0],
    count = finishedRuns(shown, lead).reduce((sum, run) => sum + run.steps.filter((step) => !step.end).length, 0),
    runs = finishedRuns(shown, lead).length;
  const fold = el("button.bare.fold", { "aria-expanded": "true" }, el("b", `${names.length} methods`));
  const words = `wrote the same ${several(count, "token")}${runs > 1 ? ` in ${runs} runs` : ""}`;
  const cells = Object.keys(COLUMNS).map((key) => el("td", { "data-of": key })),
    line = stripLine(shown, () => shownRun(shown, lead), `${names.length} methods`);
  const numbers = el(
    "tr.numbers",
    el("th.way", { scope: "row" }, fold, line.open, el("span.state.quiet", { title: names.join(", ") }, words)),
    ...cells,
  );
  const made = {
    names,
    lead,
    cells,
    line,
    body: el("tbody.same", { "data-lead": lead }, numbers, line.row),
  };
  const reveal = (open) => {
    fold.setAttribute("aria-expanded", String(open));
    for (const name of names) rowsOf(shown, name).group.hidden = !open;
  };
  fold.addEventListener("click", () => reveal(fold.getAttribute("aria-expanded") !== "true"));
  reveal(names.length <= OPEN && innerWidth > 640); // a phone shows few columns, and members have no numbers in them
  return made;
}

/** A group's numbers: those of its members where they agree, else from where to where they go.
    @param {CompareTable} shown */
function showGroup(shown, { names, lead, cells, line }) {
  Object.values(COLUMNS).forEach((column, i) => {
    const found = names
      .map((name) => column.of(finishedRuns(shown, name), shown.comparison.runs))
      .filter((each) => each.value !== null)
      .sort((a, b) => a.value - b.value);
    const [low, high] = [found[0], found[found.length - 1]];
    fillCell(
      cells[i],
      !found.length
        ? { shown: "—" }
        : low.shown === high.shown
          ? { ...low, bar: undefined }
          : { shown: `${low.shown.replace(/\/s$/, "")}–${high.shown.replace(/^×/, "")}` },
    );
  });
  showStrip(shown, line, shownRun(shown, lead));
}

/** @param {CompareTable} shown */
export function showAll(shown) {
  for (const group of shown.groups) showGroup(shown, group);
  for (const name of shown.comparison.methods) show(shown, name);
}
