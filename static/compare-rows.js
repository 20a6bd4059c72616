/* Rows of the table of a comparison: the numbers of runs, and their text as a strip of tokens. */

import { COLUMNS } from "./compare-columns.js";
import { finishedRuns, groupOf, rowsOf, runBeside, runsOf, shownRun } from "./compare-table-state.js";
import { createButton, el } from "./dom.js";
import { drawStrip, sameTokens } from "./token-strips.js";

/** @import { CompareTable } from "./compare-table-state" */

const WIDE = Object.keys(COLUMNS).length + 1;
const STATE = { waiting: "waiting", writing: "writes…", stopped: "stopped" };

/** @param {CompareTable} shown */
export function rowOf(shown, name) {
  const fold = createButton(el("b", name), { class: "bare fold", "aria-expanded": "false" }, () => unfold(shown, name));
  const state = el("span.state.quiet"),
    cells = Object.keys(COLUMNS).map((key) => el("td", { "data-of": key }));
  const why = el("td.refused", { colspan: String(WIDE - 1), hidden: true });
  const line = stripLine(shown, () => shownRun(shown, name), name);
  const numbers = el("tr.numbers", el("th.way", { scope: "row" }, fold, line.open, state), ...cells, why);
  return {
    fold,
    state,
    cells,
    why,
    line,
    numbers,
    group: el("tbody", { "data-name": name }, numbers, line.row),
    runs: [],
  };
}

/** @param {CompareTable} shown */
export function stripLine(shown, run, name) {
  const box = el("div.strip", { role: "group", "aria-label": `Text of ${name}` });
  const open = createButton(
    "Open",
    {
      class: "bare open",
      title: "This run in the workbench, token by token",
      "aria-label": `Open ${name} in the workbench`,
    },
    () => shown.doors.open(run()),
  );
  return { box, open, row: el("tr.text", el("td", { colspan: String(WIDE) }, box)) };
}

/** The numbers of some runs into cells; a ratio is made with the runs of `all`. @param {CompareTable} shown */
function fillCells(shown, cells, runs, all = shown.comparison.runs) {
  for (const [i, column] of Object.values(COLUMNS).entries())
    fillCell(cells[i], runs.length ? column.of(runs, all) : { shown: "" });
}

export function fillCell(cell, found) {
  cell.title = found.title ?? "";
  cell.replaceChildren(
    el("span", { class: `n ${found.tone ?? ""}` }, found.shown),
    el("span.minor", found.minor ?? ""),
  );
  if (found.bar !== undefined)
    cell.append(
      el(
        "span.cost",
        { "aria-hidden": "true" },
        el("i", { style: `width: ${(100 * Math.min(1, found.bar)).toFixed(1)}%` }),
      ),
    );
}

/** Draws a run's text; says in words where another row has it. @param {CompareTable} shown */
export function showStrip(shown, { box, open, row }, run, member = false) {
  open.disabled = !run?.end || shown.comparison.running;
  const other = run && runBeside(shown, run, shown.comparison.against),
    alike = shown.comparison.aligned && run && run.method !== shown.comparison.against ? shared(shown, run) : "";
  row.hidden = member || Boolean(alike) || (Boolean(run?.why) && !run.steps.length);
  if (!run || row.hidden) return alike;
  drawStrip(box, run, other?.steps.length ? other : null, shown.comparison.against, shown.comparison.aligned);
  box.classList.toggle("writing", run === shown.comparison.writing);
  return "";
}

/** In words whose tokens a run has: of the one it is set against, or of one above; nothing where they are its own.
    @param {CompareTable} shown */
function shared(shown, run) {
  const above = shown.comparison.methods
    .slice(0, shown.comparison.methods.indexOf(run.method))
    .filter((name) => name !== shown.comparison.against);
  return (
    [shown.comparison.against, ...above]
      .map((name) => sameTokens(run, runBeside(shown, run, name), name))
      .find(Boolean) ?? ""
  );
}

/** @param {CompareTable} shown */
function stateOf(shown, name, runs) {
  const failed = runs.find((run) => run.why),
    live = runs.find((run) => run === shown.comparison.writing);
  if (live) return shown.comparison.seeds.length > 1 ? `seed ${live.seed}` : STATE.writing;
  if (failed)
    return runs.some((run) => run.end)
      ? `${runs.filter((run) => run.why).length} of ${runs.length} runs could not be`
      : "";
  const done = runs.filter((run) => run.end).length;
  if (done === runs.length) return shown.doors.about(name)?.title ?? "";
  const now = shown.comparison.running ? STATE.waiting : STATE.stopped;
  return now + (done ? `, ${done} of ${runs.length} runs done` : "");
}

/** One method's rows as its runs stand now. @param {CompareTable} shown */
export function show(shown, name) {
  const rows = rowsOf(shown, name),
    runs = runsOf(shown, name),
    over = finishedRuns(shown, name),
    failed = !over.length ? runs.find((run) => run.why) : null;
  const own = groupOf(shown, name),
    alike = showStrip(shown, rows.line, shownRun(shown, name), Boolean(own)),
    words = stateOf(shown, name, runs);
  rows.state.textContent = (!own && alike) || words;
  rows.state.title = shown.doors.about(name)?.detail ?? "";
  rows.group.classList.toggle("member", Boolean(own));
  rows.group.classList.toggle(
    "live",
    runs.some((run) => run === shown.comparison.writing),
  );
  rows.group.classList.toggle("failed", Boolean(failed));
  rows.why.hidden = !failed;
  for (const cell of rows.cells) cell.hidden = Boolean(failed);
  if (failed) rows.why.replaceChildren(el("span", failed.why));
  else fillCells(shown, rows.cells, over);
  if (own)
    for (const [i, column] of Object.values(COLUMNS).entries())
      rows.cells[i].classList.toggle("equal", !column.cost && rows.cells[i].textContent === own.cells[i].textContent);
  rows.fold.disabled = runs.length < 2 || Boolean(failed);
  if (shown.opened.has(name)) showRuns(shown, name);
}

/** Every run of a method, under it. @param {CompareTable} shown */
function showRuns(shown, name) {
  const rows = rowsOf(shown, name),
    runs = runsOf(shown, name);
  if (rows.runs.length !== runs.length) {
    rows.runs = runs.map((run) => runRow(shown, rows, name, run));
  }
  for (const one of rows.runs) {
    fillCells(shown, one.cells, one.run.end ? [one.run] : [], []);
    one.state.textContent = showStrip(shown, one.line, one.run) || one.run.why;
  }
}

/** @param {CompareTable} shown */
function runRow(shown, rows, name, run) {
  const cells = Object.keys(COLUMNS).map((key) => el("td", { "data-of": key })),
    line = stripLine(shown, () => run, `${name}, seed ${run.seed}`);
  line.row.classList.add("one");
  const which = [
    shown.comparison.prompts.length > 1 ? `prompt ${shown.comparison.prompts.indexOf(run.prompt) + 1}` : "",
    `seed ${run.seed}`,
  ]
    .filter(Boolean)
    .join(", ");
  const state = el("span.state.quiet"),
    numbers = el("tr.numbers.one", el("th.way", { scope: "row" }, el("span", which), line.open, state), ...cells);
  rows.group.append(numbers, line.row);
  return { run, cells, line, numbers, state };
}

/** @param {CompareTable} shown */
function unfold(shown, name) {
  if (!shown.opened.delete(name)) shown.opened.add(name);
  const rows = rowsOf(shown, name);
  rows.fold.setAttribute("aria-expanded", String(shown.opened.has(name)));
  rows.group.classList.toggle("open", shown.opened.has(name));
  if (shown.opened.has(name)) {
    showRuns(shown, name);
    return;
  }
  for (const one of rows.runs) {
    one.numbers.remove();
    one.line.row.remove();
  }
  rows.runs = [];
}
